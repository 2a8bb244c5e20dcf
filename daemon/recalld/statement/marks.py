"""The small words that turn a sentence round: before and after, with and without, from and to, 先 and 再.

`Statement.atoms` leave them out or take them for one word among many, so that sentences of opposite meaning look
alike. Here each of them becomes a mark: which pair it is of, which side of it, and the words it is said of.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator

import msgspec

from recalld.statement import words
from recalld.statement.atoms import HAN, Mark, Marks, stem
from recalld.statement.pairs import SIGNS, Sign

MOST_OF = 2
"""So many words behind (or before) a mark are what it is said of."""

_SHAPING = frozenset({"frame", "bound"})
# Words in which the characters of a mark mean something else.
_HAN_WHOLE = (
    "目前|当前|提前|前面|前缀|前者|前台|后缀|后续|后者|今后|往后|前后|优先(?!于)|首先|内存|内容|内核|内置|国内|再次|再生"
    "|到期|达到|得到|收到|从属|由于|路由|理由|自由|只读|方向|向量|以内存|被动"
)


class _Token(msgspec.Struct, frozen=True):
    """counts: as a word that a mark can be said of. stop: no mark is said of what stands beyond."""

    start: int
    end: int
    text: str
    sign: Sign | None = None
    counts: bool = True
    stop: bool = False
    denies: bool = False

    @property
    def character(self) -> bool:
        """Whether it is a Chinese character by itself."""
        return len(self.text) == 1 and not self.text.isascii()


_HAN_VERBS = frozenset(words.HAN_VERBS.split("|"))
_VERBS = frozenset(stem(verb) for verb in words.VERBS) | frozenset(
    stem(verb)
    for verb in ("invoke", "depend", "extend", "inherit", "override", "replace", "trigger", "notify", "copy", "feed")
)
_PHRASES = "|".join(
    re.escape(word) for word in sorted(SIGNS, key=len, reverse=True) if not word.isalpha() or not word.isascii()
)
_TOKEN = re.compile(
    rf"(?P<whole>{_HAN_WHOLE})"
    rf"|(?P<phrase>(?<![A-Za-z])(?:{_PHRASES})(?![A-Za-z]))"
    rf"|(?P<hanverb>{words.HAN_VERBS}|{words.HAN_NEGATION}|{words.HAN_JOINT}|是|用|为)"
    rf"|(?P<han>[{HAN}])|(?P<word>[^\W\d_][\w'+#/.-]*\w|[^\W\d_])|(?P<number>\d[\d.,:]*\d|\d)|(?P<stop>[.,;:!?。，；：！？、()（）\n—])",
    re.IGNORECASE,
)
_BREAKS = frozenset(".,;:!?。，；：！？\n")
_STOPS = words.COPULAS | words.NEGATORS - {"stop"} | words.PREPOSITIONS - {"each", "every"}
_HAN_DENIAL = re.compile(words.HAN_NEGATION)
_HAN_SKIPPED = frozenset("的了都就还把请在要需之们个这那时候每次")


def read_marks(text: str) -> Marks:
    """The marks in `text`."""
    tokens = [_token(found) for found in _TOKEN.finditer(text)]
    marks: list[Mark] = []
    spans: list[tuple[int, int]] = []
    denied = False
    for index, token in enumerate(tokens):
        denied = (denied or token.denies) and token.text not in _BREAKS
        if (sign := token.sign) is None:
            continue
        of = _said_of(reversed(tokens[:index]) if sign.behind else iter(tokens[index + 1 :]))
        if of or sign.kind in {"act", "trait"}:
            marks += [Mark(pair, side, token.text, of, sign.kind, denied) for pair, side in sign.sides]
        if of and sign.kind in _SHAPING:
            spans.append((token.start, token.end))
    mentioned = frozenset(token.text for token in tokens if token.counts) | _pairs(tokens)
    return Marks(tuple(marks), mentioned, tuple(spans))


def _token(found: re.Match[str]) -> _Token:
    start, end, text = found.start(), found.end(), found.group().lower()
    if found["hanverb"]:
        verb, denies = text in _HAN_VERBS, bool(_HAN_DENIAL.fullmatch(text))
        sign = Sign(((text, text),), "verb") if verb else None
        return _Token(start, end, text, sign, counts=verb, stop=not verb, denies=denies)
    if found["word"]:
        return _word(start, end, text)
    sign = SIGNS[text] if found["phrase"] else None
    frame = sign is not None and sign.kind in _SHAPING
    ends = frame or bool(found["stop"])
    return _Token(start, end, text, sign, counts=not ends and text not in _HAN_SKIPPED, stop=ends)


def _word(start: int, end: int, word: str) -> _Token:
    base = stem(word.removesuffix("'s"))
    if (sign := SIGNS.get(base)) is not None:
        shaping = sign.kind in _SHAPING or word in words.PREPOSITIONS
        return _Token(start, end, base, sign, counts=not shaping, stop=shaping)
    if word in _STOPS:
        return _Token(start, end, word, counts=False, stop=True, denies=word in words.NEGATORS)
    if word in words.GLUE or word in words.DETERMINERS:
        return _Token(start, end, word, counts=False)
    return _Token(start, end, base, Sign(((base, base),), "verb") if base in _VERBS else None)


def _said_of(around: Iterator[_Token]) -> frozenset[str]:
    """The next words, up to what ends them; Chinese in pairs of characters, a single one by itself."""
    taken: list[_Token] = []
    count = 0.0
    for token in around:
        if token.stop or count >= MOST_OF:
            break
        if token.counts:
            taken.append(token)
            count += 0.5 if token.character else 1.0
    taken.sort(key=lambda token: token.start)
    of = _pairs(taken) | {token.text for token in taken if not token.character}
    return of or frozenset(token.text for token in taken)


def _pairs(tokens: list[_Token]) -> frozenset[str]:
    """Chinese characters that stand side by side, in pairs."""
    return frozenset(
        one.text + other.text
        for one, other in itertools.pairwise(tokens)
        if one.end == other.start and one.character and other.character
    )
