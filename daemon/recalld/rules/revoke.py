"""What a sentence gives up: `scrap the polling`, `we dropped Redis for sessions`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from recalld.rules import vetoes
from recalld.rules.split import Sentence, size
from recalld.rules.table import Language
from recalld.rules.vetoes import Statement

_DIRECTIVE = re.compile(
    r"^(?:(?:actually|please|ok|okay|so|and|no|well|yes|then|let's|now),? )*(?:scrap|scratch|"
    r"forget|ditch|abandon|revoke|retire|olvida|vergiss)\b"
)
_ORDERED_AWAY = re.compile(
    r"^(?:(?:actually|please|ok|okay|so|and|no|well|yes|then|now),? )*(?:drop|kill|remove|lose|get rid of|throw out|rip out|"
    r"kick out|away with) (?P<what>[^,.;:!?]{3,60})[.!]?$"
)
_RULE = re.compile(
    r"\b(?:rule|convention|policy|requirement|guideline|restriction|ban|agreement)\b|规则|规定|约定|规矩|[那这]条"
)


def is_directive(given: Statement) -> bool:
    """An order to drop something, or a rule declared void: no memory itself."""
    if _DIRECTIVE.search(given.bare):
        return True
    begin, end = vetoes.clauses(given.bare, given.language)[0]
    first = given.bare[begin:end]
    return _RULE.search(first) is not None and any(pattern.search(first) for pattern in given.language.revokes)


def named(given: Statement) -> str:
    """What a kept statement gives up or puts something else in place of; "" if nothing, or only a number, which names nothing."""
    found = _first(given.text, given.bare, (*given.language.revokes, *given.language.instead))
    return "" if found.replace(".", "").isdigit() else found


def alone(one: Sentence, language: Language) -> str:
    """What `one` gives up, though nothing else in it is to be kept; "" if nothing, or if the speaker only wonders."""
    return "" if vetoes.unsettled(one.bare, language) else _first(one.text, one.bare, language.revokes)


def ordered_away(said: Sequence[Sentence], place: int) -> str:
    """What the sentence before the one at `place` orders to drop, where that order alone could mean the code."""
    before = said[place - 1] if place else None
    match = _ORDERED_AWAY.match(before.bare) if before else None
    return before.text[match.start("what") : match.end("what")] if before and match else ""


def rest(given: Statement) -> Statement | None:
    """What follows the clause that gives something up, if it stands by itself: `forget the tabs, two spaces always`."""
    spans = vetoes.clauses(given.bare, given.language)[1:]
    if not spans:
        return None
    begin = spans[0][0]
    left = replace(given, text=given.text[begin:], bare=given.bare[begin:])
    if size(left.bare) < 2 or left.language.dangling.search(left.bare) or not vetoes.best_cue(left.bare, left.language):
        return None
    return left


def _first(text: str, bare: str, patterns: tuple[re.Pattern[str], ...]) -> str:
    for pattern in patterns:
        if match := pattern.search(bare):
            return text[match.start("what") : match.end("what")].strip(" ,，.。:：")
    return ""
