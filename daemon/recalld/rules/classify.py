"""A small linear model for what is stated without any cue word.

It sees the embedding of the sentence, its words and letter pairs (hashed), what the tables of its language find in it,
and who said it. `train.py` makes the weights.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Sequence
from functools import cache
from importlib import resources
from io import BytesIO
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from recalld.rules.languages import table_of
from recalld.rules.split import bare as blank
from recalld.rules.split import is_cjk, language, size
from recalld.rules.vetoes import best_cue

if TYPE_CHECKING:
    from numpy.typing import NDArray

CLASSES = ("none", "fact", "preference", "decision", "lesson", "progress")
BUCKETS = 4096
EMBEDDED = 256
_EMBEDDING_SCALE = 6.0  # unit vectors have small entries; this puts them on a par with the other features
_WORD = re.compile(r"[a-zà-ÿ']+|\d+|[^\w\s]|[\u3040-\u30ff\u3400-\u9fff]")
_FLAGS = (
    "question",
    "hypothetical",
    "undecided",
    "generated",
    "hearsay",
    "banter",
    "hedge",
    "unsure",
    "temporary",
    "task",
    "durable",
    "dangling",
    "changed",
    "personal",
    "trivial",
    "causes",
)
_BEFORE_FLAGS = (
    "question",
    "hypothetical",
    "generated",
    "hearsay",
    "task",
    "temporary",
    "unsure",
    "banter",
    "dangling",
    "durable",
)
SURFACE = len(_FLAGS) + len(_BEFORE_FLAGS) + len(CLASSES) + 12
WIDTH = EMBEDDED + BUCKETS + SURFACE


def surface(text: str, before: str, *, assistant: bool) -> list[float]:
    """What wording, length and writing tell; SURFACE numbers of about 0..1."""
    bare, code = blank(text), language(text)
    table = table_of(code)
    values = [float(getattr(table, flag).search(bare) is not None) for flag in _FLAGS]
    if before:
        earlier, told = blank(before), table_of(language(before))
        values += [float(getattr(told, flag).search(earlier) is not None) for flag in _BEFORE_FLAGS]
    else:
        values += [0.0] * len(_BEFORE_FLAGS)
    found = best_cue(bare, table)
    label = "none" if found is None else found.type.value if found.type else "none"
    values += [found.sure if found and name == label else 0.0 for name in CLASSES]
    length = size(text)
    values += [
        1.0,
        float(assistant),
        float(bool(before)),
        min(length, 40) / 20,
        float(length < 4),
        float(length > 25),
        float("`" in text or re.search(r"\w[_/.]\w", text) is not None),
        float(re.search(r"\d", text) is not None),
        float(text[-1:] in ":："),
        float(text[:1].islower()),
        float(found is not None and found.explicit),
        float(is_cjk(code)),
    ]
    return values


def buckets(text: str, before: str, *, assistant: bool) -> dict[int, float]:
    """Hashed words, word pairs and CJK letter pairs of the sentence, and its author's role with the first word."""
    bare = blank(text)
    words = _WORD.findall(re.sub(r"\d", "0", bare))
    grams = [f"w {word}" for word in words]
    grams += [f"p {left} {right}" for left, right in pairwise(words)]
    grams += [f"f {' '.join(words[:2])}", f"r {assistant} {' '.join(words[:1])}"]
    if before:
        grams += [f"b {word}" for word in _WORD.findall(blank(before))[:12]]
    value = 1.6 / max(4, len(grams)) ** 0.5
    counted: dict[int, float] = {}
    for gram in grams:
        place = zlib.crc32(gram.encode()) % BUCKETS
        counted[place] = counted.get(place, 0.0) + value
    return counted


def matrix(
    texts: Sequence[str], befores: Sequence[str], vectors: NDArray[Any], *, assistant: Sequence[bool]
) -> NDArray[Any]:
    """The features, one row a text, float32: embedding, buckets, surface."""
    import numpy as np  # here, so that the daemon starts without it

    rows = np.zeros((len(texts), WIDTH), np.float32)
    for row, text, before, role in zip(rows, texts, befores, assistant, strict=True):
        for place, value in buckets(text, before, assistant=role).items():
            row[EMBEDDED + place] = value
        row[EMBEDDED + BUCKETS :] = surface(text, before, assistant=role)
    rows[:, :EMBEDDED] = vectors[:, :EMBEDDED] * _EMBEDDING_SCALE
    return rows


def probabilities(rows: NDArray[Any]) -> NDArray[Any]:
    """For each row the probabilities of CLASSES, and last that it is about the user rather than the project."""
    import numpy as np

    scores = rows @ weights()
    kinds = np.exp(scores[:, :-1] - scores[:, :-1].max(axis=1, keepdims=True))
    kinds /= kinds.sum(axis=1, keepdims=True)
    user = 1 / (1 + np.exp(-scores[:, -1:]))
    result: NDArray[Any] = np.hstack([kinds, user])
    return result


@cache
def weights() -> NDArray[Any]:
    """The shipped weights, (WIDTH, CLASSES + 1), float32."""
    import numpy as np

    with np.load(BytesIO(resources.files("recalld.rules").joinpath("weights.npz").read_bytes())) as stored:
        loaded: NDArray[Any] = stored["weights"].astype(np.float32)
    return loaded
