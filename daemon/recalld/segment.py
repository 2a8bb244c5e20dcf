"""Text as words that full-text search can find: Chinese and Japanese by characters, code by its parts.

SQLite's `unicode61` takes a whole run of Chinese for one word and cuts `useAuthStore` nowhere. So the text is written
into the index already cut: characters and pairs of characters for scripts without spaces, and each compound
(`useAuthStore`, `multi-stage`, `src/pyramid.rs`) as its parts and as one word without the joints. Any plain sqlite3
can read such an index; a tokenizer in Python would be 5-10 times slower.
"""

from __future__ import annotations

import re
import unicodedata

MAX_QUERY_CHARS = 20_000
MAX_TERMS = 48

# Scripts written without spaces: Han, kana, Hangul (its particles stick to words), Thai, Lao, Myanmar, Khmer.
_UNSPACED = "\u3005-\u3007\u3040-\u30ff\u3130-\u318f\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\U00020000-\U0003ffff"
_RUN = re.compile(rf"(?P<unspaced>[{_UNSPACED}]+)|(?P<word>(?:[^\W{_UNSPACED}]|_)+(?:[-.](?:[^\W{_UNSPACED}]|_)+)*)")
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_FOREIGN_PART = re.compile(r"[^\W\d_]+|\d+")
_JOINT = re.compile(r"[-._]+")
_NAMES = tuple(
    (re.compile(rf"(?i)(?<!\w){re.escape(name)}(?!\w)"), word)
    for name, word in (("c++", "cpp"), ("c#", "csharp"), ("f#", "fsharp"), (".net", "dotnet"))
)
"""Names that would lose the sign that makes them."""

_ENGLISH = """
a about above actually after again all almost already also always am an and any anyway are aren around as at
back be because been before being below between both but by came can cannot come comes coming could couldn d did
didn do does doesn doing don down during each else even ever everything few for from further gave get gets
getting give given gives go goes going gone gonna got guess had hadn happen happens has hasn have haven having
he hello help her here hers hey hi him his how i if in into is isn it its itself just keep keeps kind know let
like ll look lot m make many may maybe me mean means might more most much must my myself need never no nor not
nothing now of off often oh ok okay on once one only onto or other our ours out over own perhaps please pretty
put quite rather re really right s said same say saying says see seem seems seen sees shall she should shouldn
simply since so some somehow something sometimes soon still stuff such super sure t take tell than thank thanks
that the their theirs them then there these they thing things this those though through to too took tried tries
try trying under until up upon us use used using usually ve very want wants was wasn way we well went were weren
what when where whether which while who whom whose why will with without won wonder works would wouldn yeah yes
yet you your yours
"""
# German, Spanish, French: the few that occur in any sentence.
_OTHERS = """
der die das und ist nicht ein eine einen dem den des mit auf für von zu im es ich wir sie wie was warum bitte el
la los las un una y de del que en por para con se lo como qué cómo le les une et est pas dans pour sur ce cette
qui comment pourquoi
"""
STOP = frozenset((_ENGLISH + _OTHERS).split())
PARTICLES = frozenset("的了是我你他她它们和与或也就都而及着过吗呢吧啊呀哦嗯么这那个把被让很还")
"""Chinese characters that only join words; a pair of characters with one of them is rarely a word."""
CHINESE_STOP = PARTICLES | frozenset("在有没不一为对从到给会能要想请帮下上里")


def index_text(text: str) -> str:
    """`text` as it goes into the index: words and characters between spaces."""
    return " ".join(piece for match in _RUN.finditer(_normal(text)) for piece in _pieces(match))


def terms(text: str, limit: int = MAX_TERMS) -> list[str]:
    """What to look for to find `text`: its words and characters as in the index, once each, without stop words.

    Lower case, in the order of the text, at most `limit`; empty when it holds nothing but stop words.
    """
    found: dict[str, None] = {}
    for match in _RUN.finditer(_normal(text[:MAX_QUERY_CHARS])[:MAX_QUERY_CHARS]):
        for piece in _pieces(match):
            term = piece.lower()
            if not is_stop(term):
                found[term] = None
        if len(found) >= limit:
            break
    return list(found)[:limit]


def match(words: list[str]) -> str:
    """The FTS5 expression for any of `words`; every one is a quoted string, so none is ever syntax (NUL would end it)."""
    return " OR ".join('"' + word.replace('"', '""').replace("\0", "") + '"' for word in words)


def is_stop(term: str) -> bool:
    """Whether a word in lower case says nothing about a subject: stop words, single letters, Chinese function words."""
    if term in STOP:
        return True
    if all(char in CHINESE_STOP for char in term):
        return True
    return len(term) == 1 and (term.isascii() and not term.isdigit())


def _normal(text: str) -> str:
    text = unicodedata.normalize("NFKC", text)
    for pattern, word in _NAMES:
        text = pattern.sub(f" {word} ", text)
    return text


def _pieces(match: re.Match[str]) -> list[str]:
    """The index words of one run: characters and pairs, or a word with its parts."""
    run = match["unspaced"]
    if run:
        return [*run, *(run[i : i + 2] for i in range(len(run) - 1))]
    word = match["word"]
    parts = (_PART if word.isascii() else _FOREIGN_PART).findall(word)
    if len(parts) <= 1:
        return [word.strip("_")] if word.strip("_") else []
    segments = [segment for segment in _JOINT.split(word) if segment]
    pieces = [part for part in parts if len(part) > 1 or part.isdigit()]
    pieces += [segment for segment in segments if segment not in parts]
    if len(segments) > 1:
        pieces.append("".join(segments).lower())
    return pieces
