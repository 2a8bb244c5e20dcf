"""What a sentence gives up: `scrap the polling`, `we dropped Redis for sessions`."""

from __future__ import annotations

import re
from dataclasses import replace

from recalld.rules import vetoes
from recalld.rules.split import Sentence, size
from recalld.rules.table import Language
from recalld.rules.vetoes import Statement

_DIRECTIVE = re.compile(
    r"^(?:(?:actually|please|ok|okay|so|and|no|well|yes|then|let's|now),? )*(?:scrap|scratch|"
    r"forget|ditch|abandon|revoke|retire|olvida|vergiss)\b"
)


def is_directive(given: Statement) -> bool:
    """An order to drop something, which is no memory itself."""
    return _DIRECTIVE.search(given.bare) is not None


def named(given: Statement) -> str:
    """What a kept statement gives up or puts something else in place of; "" if nothing."""
    return _first(given.text, given.bare, (*given.language.revokes, *given.language.instead))


def alone(one: Sentence, language: Language) -> str:
    """What `one` gives up, though nothing else in it is to be kept; "" if nothing, or if the speaker only wonders."""
    return "" if vetoes.unsettled(one.bare, language) else _first(one.text, one.bare, language.revokes)


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
