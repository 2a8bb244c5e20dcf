"""Makes `weights.npz` from labelled sentences: `python -m recalld.rules.train SENTENCES... [--check]`.

Each file holds JSON lines (also .gz) with `text role label scope before`. Softmax regression with an L2 penalty on the
features of `classify`, by limited-memory BFGS from zero: the same data on the same machine gives the same file.
`--check` prints five-fold cross-validation instead, sentences that share their `before` kept together.
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recalld import embed
from recalld.rules import classify

_PENALTY = 2.0
_ROUNDS = 150
_MEMORY = 10

Array = NDArray[Any]


def main(arguments: list[str]) -> None:
    """Train, or cross-validate, with the files named in `arguments`."""
    parser = argparse.ArgumentParser(description="Train the classifier of the offline extraction.")
    parser.add_argument("sentences", nargs="+", type=Path)
    parser.add_argument("--check", action="store_true", help="cross-validate, write nothing")
    given = parser.parse_args(arguments)
    rows = [json.loads(line) for path in given.sentences for line in _lines(path)]
    features, kinds, user = prepared(rows)
    if given.check:
        _check(rows, features, kinds, user)
        return
    weights = fit(features, kinds, user)
    target = Path(__file__).with_name("weights.npz")
    np.savez_compressed(target, weights=weights.astype(np.float16))
    _say(f"{target}: {weights.shape[0]} x {weights.shape[1]}, {target.stat().st_size} bytes, {len(rows)} sentences")


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")


def _lines(path: Path) -> list[str]:
    data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    return [line for line in data.decode().splitlines() if line.strip()]


def prepared(rows: list[dict[str, Any]]) -> tuple[Array, Array, Array]:
    """Features (rows, WIDTH), class numbers, and 1/0/-1 for user scope/project scope/neither."""
    texts = [row["text"] for row in rows]
    features = classify.matrix(
        texts,
        [row["before"] or "" for row in rows],
        embed.load(embed.BUILTIN, Path()).encode(texts),
        assistant=[row["role"] == "assistant" for row in rows],
    )
    kinds = np.array([classify.CLASSES.index(row["label"]) for row in rows])
    user = np.array([{"user": 1, "project": 0}.get(row["scope"], -1) for row in rows])
    return features, kinds, user


def fit(features: Array, kinds: Array, user: Array) -> Array:
    """Weights (WIDTH, classes + 1); the last column tells user from project scope."""
    known = user >= 0
    columns = [_softmax_fit(features, np.eye(len(classify.CLASSES))[kinds])]
    pair = _softmax_fit(features[known], np.eye(2)[user[known]])
    columns.append((pair[:, 1] - pair[:, 0])[:, None])
    return np.hstack(columns)


def _softmax_fit(features: Array, wanted: Array) -> Array:
    count = wanted.shape[1]

    def loss(flat: Array) -> tuple[float, Array]:
        weights = flat.reshape(-1, count)
        scores = features @ weights
        scores -= scores.max(axis=1, keepdims=True)
        norms = np.log(np.exp(scores).sum(axis=1, keepdims=True))
        value = float(-(wanted * (scores - norms)).sum() + _PENALTY / 2 * (flat @ flat))
        gradient = features.T @ (np.exp(scores - norms) - wanted) + _PENALTY * weights
        return value, gradient.ravel()

    return minimize(loss, np.zeros(features.shape[1] * count)).reshape(-1, count)


def minimize(loss: Callable[[Array], tuple[float, Array]], start: Array) -> Array:
    """L-BFGS with a halving line search (Nocedal & Wright, Numerical Optimization, algorithm 7.4)."""
    point, (value, gradient) = start, loss(start)
    steps: list[tuple[Array, Array]] = []
    for _ in range(_ROUNDS):
        direction = -_two_loops(gradient, steps)
        slope = float(direction @ gradient)
        length = 1.0 if steps else 1.0 / max(1.0, float(np.linalg.norm(gradient)))
        while True:
            moved = point + length * direction
            new_value, new_gradient = loss(moved)
            if new_value <= value + 1e-4 * length * slope or length < 1e-9:
                break
            length /= 2
        change, turn = moved - point, new_gradient - gradient
        if float(change @ turn) > 1e-10:
            steps = [*steps[-_MEMORY + 1 :], (change, turn)]
        if value - new_value < 1e-6 * max(1.0, abs(value)):
            return moved
        point, value, gradient = moved, new_value, new_gradient
    return point


def _two_loops(gradient: Array, steps: list[tuple[Array, Array]]) -> Array:
    result, shares = gradient.copy(), []
    for change, turn in reversed(steps):
        share = (change @ result) / (change @ turn)
        shares.append(share)
        result -= share * turn
    if steps:
        change, turn = steps[-1]
        result *= (change @ turn) / (turn @ turn)
    for (change, turn), share in zip(steps, reversed(shares), strict=True):
        result += (share - (turn @ result) / (change @ turn)) * change
    return result


def _check(rows: list[dict[str, Any]], features: Array, kinds: Array, user: Array) -> None:
    folds = np.array([zlib.crc32((row["before"] or row["text"]).encode()) % 5 for row in rows])
    found = np.zeros((len(rows), len(classify.CLASSES) + 1))
    for fold in range(5):
        inside = folds != fold
        weights = fit(features[inside], kinds[inside], user[inside]).astype(np.float16).astype(np.float32)
        scores = features[~inside] @ weights
        chances = np.exp(scores[:, :-1] - scores[:, :-1].max(axis=1, keepdims=True))
        found[~inside] = np.hstack([chances / chances.sum(axis=1, keepdims=True), scores[:, -1:] > 0])
    durable, keep = kinds > 0, 1 - found[:, 0]
    for threshold in (0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9):
        chosen = keep >= threshold
        hits = (chosen & durable).sum()
        _say(f"{threshold:.2f}  precision {hits / max(1, chosen.sum()):.3f}  recall {hits / durable.sum():.3f}")
    named = found[:, 1:-1].argmax(axis=1) + 1
    _say(f"type right {(named == kinds)[durable].mean():.3f}, scope right {(found[:, -1] == user)[durable].mean():.3f}")


if __name__ == "__main__":
    main(sys.argv[1:])
