"""Sentence vectors from a static model: token vectors looked up, weighed and averaged. No network, no torch.

A model is a folder in the model2vec layout (`config.json`, `tokenizer.json`, `model.safetensors`). The one of the
package is read directly, since importing model2vec keeps 48 MiB more in memory; any other by model2vec itself. A test
holds their vectors equal.
"""

from __future__ import annotations

import ctypes
import gc
import hashlib
import json
import re
import struct
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recalld.errors import UnavailableError

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray
    from tokenizers import Tokenizer

BUILTIN = "builtin"
BUILTIN_NAME = "zhen2-256"
MAX_TOKENS = 512
PASSAGE_CHARS = 600
"""A longer text gets one vector a passage: the mean over a page resembles everything a little."""
MAX_PASSAGES = 16

_FILES = ("config.json", "tokenizer.json", "model.safetensors")
_DTYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "I64": "<i8", "I32": "<i4", "I8": "i1"}
_BREAK = re.compile(r"(?<=[.!?;\n。！？；])")


class Embedder:
    """A loaded model. Thread-safe: nothing changes after loading.

    name: recorded with each vector; vectors of another name must not be compared with these.
    dim: the length of a vector.
    """

    def __init__(
        self,
        name: str,
        tokenizer: Tokenizer,
        table: NDArray[Any],
        weights: NDArray[Any] | None,
        mapping: NDArray[Any] | None,
    ) -> None:
        """table: a row a token, or a row a number of `mapping`, which has one a token. weights: a factor a token."""
        self.name = name
        self.dim = int(table.shape[1])
        self._tokenizer, self._table, self._weights, self._mapping = tokenizer, table, weights, mapping
        tokenizer.no_padding()
        tokenizer.enable_truncation(MAX_TOKENS)
        self._unknown = _unknown_token(tokenizer)

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One row a text, in order, of length 1; a text without a letter or digit has the zero row."""
        import numpy as np

        rows = np.zeros((len(texts), self.dim), dtype=np.float32)
        for row, ids in zip(rows, self.tokens(texts), strict=True):
            if ids:
                row[:] = self.token_vectors(ids).mean(axis=0)
        norms = np.linalg.norm(rows, axis=1, keepdims=True)
        np.divide(rows, norms, out=rows, where=norms > 0)
        return rows

    def tokens(self, texts: Sequence[str]) -> list[list[int]]:
        """The ids of the model's tokens in each text, at most MAX_TOKENS."""
        if len(texts) == 1:  # a batch wakes other threads, which takes longer than one text does
            found = [self._tokenizer.encode(_sound(texts[0]), add_special_tokens=False)]
        else:
            found = self._tokenizer.encode_batch_fast([_sound(text) for text in texts], add_special_tokens=False)
        return [[token for token in encoding.ids if token != self._unknown] for encoding in found]

    def token_vectors(self, ids: Sequence[int]) -> NDArray[np.float32]:
        """The weighed vectors of `ids`, one row each; the longer the row, the more the token says."""
        import numpy as np

        index = np.asarray(ids, dtype=np.int64)
        rows: NDArray[np.float32] = self._table[index if self._mapping is None else self._mapping[index]].astype(
            np.float32
        )
        if self._weights is not None:
            rows *= self._weights[index][:, None]
        return rows


def load(name: str, models: Path) -> Embedder:
    """The model `name`: `builtin`, a folder, or a Hugging Face id, which is fetched once into `models`.

    Only a Hugging Face id not yet in `models` uses the network. Raises UnavailableError.
    """
    try:
        embedder = _load(name, models)
        embedder.encode(["warm"])
    except ImportError as error:
        raise UnavailableError(f"the embedding model cannot be loaded: {error}") from error
    _give_memory_back()
    return embedder


def passages(text: str, names: Sequence[str] = ()) -> list[str]:
    """What the vectors of a memory are made of: `text` with its other names, a long one in pieces.

    The pieces have about PASSAGE_CHARS each, cut between sentences where there are any; at most MAX_PASSAGES.
    """
    text = " ".join((text, *names))
    if len(text) <= PASSAGE_CHARS * 5 // 4:
        return [text]
    pieces = [""]
    for sentence in _BREAK.split(text[: PASSAGE_CHARS * MAX_PASSAGES]):
        for start in range(0, len(sentence), PASSAGE_CHARS):
            part = sentence[start : start + PASSAGE_CHARS]
            if len(pieces[-1]) + len(part) > PASSAGE_CHARS and pieces[-1].strip():
                pieces.append("")
            pieces[-1] += part
    return [piece for piece in pieces if piece.strip()][:MAX_PASSAGES] or [text]


def _load(name: str, models: Path) -> Embedder:
    if name == BUILTIN:
        return _builtin(Path(str(resources.files("recalld") / "embedding_model")))
    folder = Path(name).expanduser()
    if not folder.is_dir():
        folder = _fetched(name, models)
    missing = [file for file in _FILES if not (folder / file).is_file()]
    if missing:
        raise UnavailableError(f"{folder} is no model2vec model: {', '.join(missing)} missing")
    with (folder / "model.safetensors").open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return _other(f"{name}@{digest[:12]}", folder)


def _builtin(folder: Path) -> Embedder:
    """The model of the package, its matrix mapped into memory: 50 MiB in all, where model2vec itself takes 98."""
    from tokenizers import Tokenizer

    try:
        tensors = _tensors(folder / "model.safetensors")
        tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        return Embedder(BUILTIN_NAME, tokenizer, tensors["embeddings"], tensors["weights"], None)
    except Exception as error:  # tokenizers raises bare Exception
        raise UnavailableError(f"the model of the package cannot be read: {error!r}") from error


def _other(name: str, folder: Path) -> Embedder:
    """Any model of the model2vec layout, as model2vec itself reads it."""
    from model2vec import StaticModel

    try:
        model = StaticModel.from_pretrained(folder)
        return Embedder(name, model.tokenizer, model.embedding, model.weights, model.token_mapping)
    except Exception as error:  # tokenizers raises bare Exception
        raise UnavailableError(f"no usable model2vec model in {folder}: {error!r}") from error


def _fetched(name: str, models: Path) -> Path:
    """The folder of the Hugging Face model `name` inside `models`."""
    if not re.fullmatch(r"[\w.-]+/[\w.-]+", name):
        raise UnavailableError(f"embed.model: {name!r} is neither 'builtin', nor a folder, nor a Hugging Face id")
    folder = models / name.replace("/", "--")
    if all((folder / file).is_file() for file in _FILES):
        return folder
    from huggingface_hub import snapshot_download

    try:
        snapshot_download(name, local_dir=folder, allow_patterns=list(_FILES))
    except Exception as error:  # whatever the network, the hub or the disk has to say
        raise UnavailableError(f"embed.model: {name!r} cannot be fetched: {error}") from error
    return folder


def _tensors(path: Path) -> dict[str, NDArray[Any]]:
    """The arrays of a safetensors file, mapped, not read: pages no token of ours needs never become memory."""
    import numpy as np

    with path.open("rb") as file:
        (length,) = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(length))
    mapped = np.memmap(path, dtype=np.uint8, mode="r", offset=8 + length)
    arrays: dict[str, NDArray[Any]] = {}
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        start, end = entry["data_offsets"]
        arrays[name] = mapped[start:end].view(_DTYPES[entry["dtype"]]).reshape(entry["shape"])
    return arrays


def _unknown_token(tokenizer: Any) -> int | None:
    """The id that stands for a token the model does not know, if it has one."""
    model = tokenizer.model
    if hasattr(model, "unk_token"):
        return None if model.unk_token is None else tokenizer.token_to_id(model.unk_token)
    unknown: int | None = json.loads(tokenizer.to_str())["model"].get("unk_id")
    return unknown


def _sound(text: str) -> str:
    """`text` without lone surrogates, which the tokenizer refuses, cut where the tokens surely end."""
    return text[: MAX_TOKENS * 16].encode("utf-8", "replace").decode("utf-8")


def _give_memory_back() -> None:
    """Loading leaves megabytes of freed memory in the C heap; glibc gives it back only when asked."""
    gc.collect()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
