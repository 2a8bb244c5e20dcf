"""What a sentence gives up: `scrap the polling`, `we dropped Redis for sessions`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from recalld.rules import vetoes
from recalld.rules.split import Sentence, size
from recalld.rules.table import Language
from recalld.rules.tags import tags_of
from recalld.rules.vetoes import Statement

_DIRECTIVE = re.compile(
    r"^(?:(?:actually|please|ok|okay|so|and|no|well|yes|then|let's|now),? )*(?:scrap|scratch|"
    r"forget|ditch|abandon|revoke|retire|olvida|vergiss)\b"
)
_ORDERED_AWAY = re.compile(
    r"^(?:(?:actually|please|ok|okay|so|and|no|well|yes|then|now),? )*(?:drop|kill|remove|lose|get rid of|throw out|rip out|"
    r"kick out|away with) (?P<what>[^,.;:!?]{3,60})[.!]?$"
)
_GOES_FIRST = (
    r"^(?:(?:actually|please|ok|okay|so|and|no|well|yes|then|now|let's|let us|we|we'll),? )*(?:drop|kill|remove|ditch|scrap|"
    r"scratch|abandon|get rid of|throw out|rip out|stop using) (?P<what>[^,.;:!?]{2,60}?)"
)
_EXCHANGE = re.compile(
    r"(?!.*\bthis (?:file|folder|function|method|class|component|module|script|test|line|case|branch|commit|pr)\b)"
    + _GOES_FIRST
    + r"(?:[,;:]| and) (?:(?:and|then|now|so|we|we'll|let's) )*(?:use|go with|take|switch to|move to|adopt) "
    r"(?P<now>[^,.;:!?]{2,60}?)(?: instead| now| from now on)*[.!]?$"
)
_BEFORE_A_STATEMENT = re.compile(_GOES_FIRST + r"[,;] (?=(?:our|we|the|from now)\b)")
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
    found = found or _first(given.sentence.text, given.sentence.bare, (_BEFORE_A_STATEMENT,))
    return "" if found.replace(".", "").isdigit() else found


def alone(one: Sentence, language: Language) -> str:
    """What `one` gives up, though nothing else in it is to be kept; "" if nothing, or if the speaker only wonders."""
    return "" if vetoes.unsettled(one.bare, language) else _first(one.text, one.bare, language.revokes)


def ordered_away(said: Sequence[Sentence], place: int) -> str:
    """What the sentence before the one at `place` orders to drop, where that order alone could mean the code."""
    before = said[place - 1] if place else None
    match = _ORDERED_AWAY.match(before.bare) if before else None
    return before.text[match.start("what") : match.end("what")] if before and match else ""


def exchanged(one: Sentence) -> tuple[str, str] | None:
    """What a sentence orders to drop and what to use in its place, where both are names; else it may mean the code."""
    if not (match := _EXCHANGE.match(one.bare)):
        return None
    gone, now = (one.text[match.start(part) : match.end(part)] for part in ("what", "now"))
    return (gone, now) if _is_named(gone) and _is_named(now) else None


def _is_named(words: str) -> bool:
    return words[0].isupper() or any(tag.startswith("tech:") for tag in tags_of(words.split(" ", maxsplit=1)[0]))


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
