"""What the rules know of one language; a further language is one more table."""

from __future__ import annotations

import re
from dataclasses import dataclass

from recalld.model import Scope, Type


@dataclass(frozen=True)
class Cue:
    """Wording that announces something to keep.

    type: None where the cue only says "keep this" and the content decides. sure: 0..1; the surer, the less the classifier has to agree (`weigh`).
    explicit: the person asks for it to be remembered.
    """

    pattern: re.Pattern[str]
    type: Type | None
    sure: float
    scope: Scope | None = None
    explicit: bool = False


@dataclass(frozen=True)
class Language:
    """All patterns are searched in `Sentence.bare` (lower case, quotations blanked) unless said otherwise.

    tag: a question mark's worth of agreement at the end of a statement ("..., right?"); cut before the rest is looked at.
    question, hypothetical, undecided, generated (a text is to be written or translated), hearsay, banter: never kept.
    hedge: lowers confidence. unsure: the speaker says that they do not know; never kept.
    temporary: only for now; wins over all but decisions. task: the start of a clause that asks for work.
    durable: holds beyond this task; turns an imperative into a rule.
    dangling: starts with a word that points outside the sentence. opener: chatter to cut off the front, repeatedly.
    clause: where a sentence may be cut. revokes: group `what` is given up, which is enough to act on. instead: the same, where only a kept statement may
    say so. changed: the statement changes an earlier one.
    personal: about the speaker, so in user scope. imperative: how a rule without a subject begins.
    """

    code: str
    tag: re.Pattern[str]
    question: re.Pattern[str]
    hypothetical: re.Pattern[str]
    undecided: re.Pattern[str]
    generated: re.Pattern[str]
    hearsay: re.Pattern[str]
    banter: re.Pattern[str]
    hedge: re.Pattern[str]
    unsure: re.Pattern[str]
    temporary: re.Pattern[str]
    task: re.Pattern[str]
    durable: re.Pattern[str]
    dangling: re.Pattern[str]
    opener: re.Pattern[str]
    clause: re.Pattern[str]
    changed: re.Pattern[str]
    personal: re.Pattern[str]
    trivial: re.Pattern[str]
    revokes: tuple[re.Pattern[str], ...]
    instead: tuple[re.Pattern[str], ...]
    cues: tuple[Cue, ...]
    causes: re.Pattern[str]


def words(*patterns: str) -> re.Pattern[str]:
    """One pattern of many, at word borders."""
    return re.compile(r"(?<![\w'])(?:" + "|".join(patterns) + r")(?![\w'])")


def anywhere(*patterns: str) -> re.Pattern[str]:
    """One pattern of many, wherever it stands (writing without spaces)."""
    return re.compile("|".join(patterns))


def cue(type_: Type | None, sure: float, *patterns: str, scope: Scope | None = None, explicit: bool = False) -> Cue:
    """A cue found at word borders."""
    return Cue(words(*patterns), type_, sure, scope, explicit)


def sign(type_: Type | None, sure: float, *patterns: str, scope: Scope | None = None, explicit: bool = False) -> Cue:
    """As `cue`, for writing without spaces."""
    return Cue(anywhere(*patterns), type_, sure, scope, explicit)
