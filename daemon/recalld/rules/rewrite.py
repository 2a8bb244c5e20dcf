"""A statement to the sentence that is stored: without chatter in front, and holding without its surroundings."""

from __future__ import annotations

import re

from recalld.rules.split import bare as blank
from recalld.rules.split import is_cjk, size
from recalld.rules.table import Language
from recalld.rules.vetoes import Statement, clauses

_CLOSING = re.compile(r"(?:[\s,，;；:：–—、.。!！~～…]|(?<=\s)-)+$")  # "acme-" keeps its dash
_TRAILING = " \t\n,，;；:：-–—、.。!！~～…"
_OPENING = " \t,，;；:：-–—、.。!！~～…*•"
_IDENTIFIER = re.compile(r"^[\w./@$-]*[0-9_./@$][\w./@$-]*|^\w+[A-Z]|^`|^\w+\(")
_OPEN_END = re.compile(
    r"\b(?:for|of|with|about|to|on|in|by|from|like|than|use|do|keep|want|prefer|take|avoid|need|"
    r"drop|call|make) (?:that|this|it|them|those|these)(?:\W*$|,? (?:from now on|always|"
    r"everywhere|instead|again|please|in (?:the )?future|too|every time|by default|"
    r"going forward)\b)|\b(?:is|are|was|were|do|does|have|has|can|will|should|be|the|a|an|of)\W*$"
)
_ANNOUNCED = re.compile(r"[^,，;；:：]{3,40}[:：] ?(?=\S+ \S+ \S|[\u3040-\u9fff]{6})")  # "that's final then: ..."
_GOES_ON = re.compile(  # what is done stands in the sentence before
    r"(?:next|after that|then|tomorrow)(?: up)?,? (?:is|are|comes?|we|i)\b|(?:what|all that) (?:still )?(?:remains|is left|is missing)\b"
)
_FRAGMENT = 8  # words
_MARK = "[redacted:"
_MASKED_ASIDE = re.compile(r"\s?[(（][^()（）]*\[redacted:[a-z0-9-]+\][^()（）]*[)）]")
_MASKED_SECOND = re.compile(  # "the account is called x and its password is ..."
    r"\s+(?:and|with) (?:(?:its|the|their|his|her|an?|my|our) )?(?:[\w-]+ ){0,3}(?:is |are |= ?|: ?)?\[redacted:[a-z0-9-]+\]"
)
_MASKED_LOGIN = re.compile(r"(?<=[\w:/]):?\[redacted:[a-z0-9-]+\]@")
_FILLER = re.compile(
    r"[,]? whether (?:we|you|i|they) (?:like it|want it|want to) or not|[,]? (?:as you know|"
    r"to be honest|tbh|you know|i swear|obviously|for what it's worth|honestly|by the way|btw|"
    r"no joke|i guess)(?=[.,;!]|$)",
    re.IGNORECASE,
)
_LONGEST = 400  # characters; whoever needs more is not stating one fact


def spoken(text: str, bare: str, language: Language) -> str:
    """`text` without an introduction that only asks for it to be remembered."""
    stripped, rest = _without_opener(text, bare, language)
    asks = [cue for cue in language.cues if cue.explicit]
    told = bare[: len(bare) - len(rest)]
    return stripped if any(cue.pattern.search(told) for cue in asks) else text


def stripped(given: Statement) -> str:
    """The wording of `given` without chatter in front."""
    return _without_opener(given.text, given.bare, given.language)[1]


def content(given: Statement) -> str:
    """The sentence to store, or "" where nothing self-contained is left."""
    text, bare = _without_opener(given.text, given.bare, given.language)
    text, bare = _without_masks(text, bare, given.language)
    if (
        _leans(bare, given.language)
        and (told := _ANNOUNCED.match(bare))
        and not _leans(bare[told.end() :], given.language)
    ):
        text, bare = text[told.end() :], bare[told.end() :]
    if _leans(bare, given.language):
        before = _before(given)
        if not before:
            return ""
        text = f"{before}; {text[0].lower()}{text[1:]}" if not is_cjk(given.language.code) else f"{before}，{text}"
    elif _GOES_ON.match(bare) and (before := _before(given)):
        text = f"{before}; {text[0].lower()}{text[1:]}"
    return finish(text, given.language.code)


def _leans(bare: str, language: Language) -> bool:
    """Whether the sentence does not hold without the one before."""
    if language.dangling.search(bare):
        return True
    return language.code == "en" and size(bare) <= _FRAGMENT and "," not in bare and _OPEN_END.search(bare) is not None


def _without_opener(text: str, bare: str, language: Language) -> tuple[str, str]:
    for _ in range(6):
        opener = language.opener.match(bare)
        if not opener or size(bare[opener.end() :]) < 2:
            break
        text, bare = text[opener.end() :], bare[opener.end() :]
        skip = len(bare) - len(bare.lstrip(_OPENING))
        text, bare = text[skip:], bare[skip:]
    return text, bare


def _without_masks(text: str, bare: str, language: Language) -> tuple[str, str]:
    """Without the clauses that only told a secret; of a URL only the password goes."""
    if _MARK not in text:
        return text, bare
    text = _MASKED_SECOND.sub("", _MASKED_ASIDE.sub("", _MASKED_LOGIN.sub("@", text)))
    if _MARK in text:
        spans = clauses(blank(text), language)
        told = [text[begin:end] for begin, end in spans if _MARK not in text[begin:end]]
        joined = ("，" if is_cjk(language.code) else ", ").join(told)
        if size(joined) < 3:
            return "", ""  # nothing but the secret was told
        if not language.dangling.search(blank(joined)):
            text = joined
    return text, blank(text)


def _before(given: Statement) -> str:
    """The sentence before, if it is a plain short statement that can stand in front of this one."""
    before = given.sentence.before
    bare, language = blank(before), given.language
    if not before or size(before) > 25 or size(before) < 3 or before.rstrip().endswith((":", "：")):
        return ""
    if any(
        pattern.search(bare)
        for pattern in (
            language.question,
            language.task,
            language.generated,
            language.hearsay,
            language.hypothetical,
            language.dangling,
            language.unsure,
            language.banter,
        )
    ):
        return ""
    text, _ = _without_opener(before, bare, language)
    return text.strip(_TRAILING)


_RENAMED = re.compile(
    r"^(?P<subject>(?:the|our|my) [^,.;]{2,50}?) (?:was|is|has been|got) (?:renamed|moved|changed|replaced)"
    r"(?:,| and|;)(?: and)? (?:it's|it is|it|now)(?: now)? (?=\w)",
    re.IGNORECASE,
)


def finish(text: str, code: str) -> str:
    """`text` as one written sentence: capital first (unless it is an identifier), one full stop, no line breaks."""
    text = _CLOSING.sub("", re.sub(r"\s+", " ", _FILLER.sub("", text)).lstrip(_TRAILING))
    text = _RENAMED.sub(
        lambda told: told["subject"] + (" is " if "'s" in told[0] or " is " in told[0][-5:] else " "), text
    )
    if not text or len(text) > _LONGEST:
        return ""
    if (text[0] in "\"“「'" and text[-1] in "\"”」'") or text[-1] in "?？":
        return text
    if not is_cjk(code) and not _IDENTIFIER.match(text.split(" ")[0]):
        text = text[0].upper() + text[1:]
    return text + ("。" if is_cjk(code) else ".")
