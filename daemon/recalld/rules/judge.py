"""The classifier's opinion of sentences, or none where no model is loaded."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from recalld.model import Type

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Encode = Callable[[Sequence[str]], NDArray[Any]]


@dataclass(frozen=True)
class Opinion:
    """All None without a model.

    keep: chance that the sentence is worth keeping. type: the likeliest kind. user: chance that it is in user scope.
    share: of the likeliest kind among all kinds.
    """

    keep: float | None = None
    type: Type | None = None
    user: float | None = None
    share: float = 0.0


class Judge:
    """Asks the classifier, if there is an encoder to ask it with."""

    def __init__(self, encode: Encode | None) -> None:
        self._encode = encode

    def opinions(self, said: Sequence[tuple[str, str]], *, assistant: bool = False) -> list[Opinion]:
        """One opinion for each pair of a sentence and the one before it."""
        if self._encode is None or not said:
            return [Opinion()] * len(said)
        from recalld.rules import classify  # numpy: only once a model is there

        texts, befores = [text for text, _ in said], [before for _, before in said]
        rows = classify.matrix(texts, befores, self._encode(texts), assistant=[assistant] * len(said))
        found = []
        for chances in classify.probabilities(rows).tolist():
            kinds = chances[1 : len(classify.CLASSES)]
            best = max(range(len(kinds)), key=kinds.__getitem__)
            share = kinds[best] / max(1e-9, sum(kinds))
            found.append(Opinion(1 - chances[0], Type(classify.CLASSES[best + 1]), chances[-1], share))
        return found
