"""Extraction without a model backend: a turn to candidates, by wording and a small classifier. Offline, milliseconds.

Order of the files: `blocks` (whose words are these) -> `split` (sentences) -> `vetoes` (questions, guesses, orders)
-> `languages` (a table each) and `classify` (what is said without a cue) -> `rewrite` (one self-contained sentence).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from recalld.model import Candidate, Turn
from recalld.rules.answer import from_answer
from recalld.rules.choice import from_answers, from_pick
from recalld.rules.judge import Judge
from recalld.rules.prompt import from_text

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["extract"]

_MOST = 10  # candidates a turn; a person does not state more


def extract(turn: Turn, encode: Callable[[Sequence[str]], NDArray[Any]] | None) -> list[Candidate]:
    """What is worth keeping of `turn`, in the order it was said.

    encode: sentences to unit vectors, one row each; without it only explicit wording is found.
    """
    judge = Judge(encode)
    found = from_pick(turn) or from_text(turn.prompt, judge, turn.prompt_id)
    found += from_answers(turn, judge)
    if not turn.interrupted:
        found += from_answer(turn, judge)
    return _settled(found)


def _settled(found: list[Candidate]) -> list[Candidate]:
    """Without repeats; where the turn also names what comes instead, giving something up is no memory of its own."""
    replaced = any(one.content and not one.revokes for one in found)
    settled: dict[str, Candidate] = {}
    for said in found:
        bare = said.revokes and replaced and _only_revokes(said)
        one = msgspec.structs.replace(said, content="", tags=()) if bare else said
        settled.setdefault(one.content.casefold() or f"-{one.revokes}", one)
    return list(settled.values())[:_MOST]


def _only_revokes(one: Candidate) -> bool:
    """Little is said beyond what is given up."""
    return len(one.content) < len(one.revokes) + 40
