"""A sentence taken apart: what it is about, what it says of that, and what it denies.

Words alone cannot tell "8080 of staging" from "8081 of admin", nor "use tabs" from "do not use tabs". So each word
(Chinese: each character) becomes an atom that knows its place (before, at or after the verb), its sign and its kind.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from recalld.statement import words

Kind = Literal["word", "name", "number", "han"]
Place = Literal["head", "verb", "tail"]
MarkKind = Literal["frame", "bound", "act", "trait", "verb"]
HAN = "\u3005\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\u3040-\u30ff"
"""Characters written without spaces, for a regular expression."""
HARD = frozenset({"number", "name"})
"""What has to agree for two statements to be the same."""

_ENDINGS = (
    ("ations", ""), ("ation", ""), ("ments", ""), ("ment", ""), ("ies", "y"), ("sses", "ss"), ("ings", ""), ("ing", ""),
    ("ed", ""), ("ss", "ss"), ("us", "us"), ("is", "is"), ("es", ""), ("ly", ""), ("s", ""),
)  # fmt: skip


class Atom(msgspec.Struct, frozen=True):
    """One word or Chinese character.

    run: characters of one run share it. joint: the verb or preposition before it. marked: it is (part of) a mark that
    shapes the sentence, and compared as such.
    """

    text: str
    kind: Kind
    place: Place
    positive: bool
    run: int
    joint: str = ""
    marked: bool = False


class Mark(msgspec.Struct, frozen=True):
    """pair: which of the pairs; a verb is one of its own. side: of that pair. text: as found.

    of: the words it is said of, stems and pairs of characters; may be empty for an act or a trait. denied: a "not"
    stands before it.
    """

    pair: str
    side: str
    text: str
    of: frozenset[str]
    kind: MarkKind
    denied: bool = False


class Marks(msgspec.Struct, frozen=True):
    """The marks of a sentence, all words that it mentions, and where the marks that shape it stand in the text."""

    found: tuple[Mark, ...] = ()
    mentioned: frozenset[str] = frozenset()
    spans: tuple[tuple[int, int], ...] = ()


class Statement(msgspec.Struct, frozen=True):
    """What `parse` makes of a sentence.

    verb: the first verb, as far as it tells one kind of statement from another: "" for "is", "at" for all that place
    something ("runs on", "lives in", "走"), "use", else its stem.
    open: it says "we use X" without what for, so that another "we use Y" may hold beside it.
    changes: it says itself that it alters what was so before.
    """

    atoms: tuple[Atom, ...]
    environments: frozenset[str]
    platforms: frozenset[str]
    verb: str
    open: bool
    changes: bool
    bigrams: frozenset[str]
    singles: frozenset[str]
    texts: frozenset[str]
    marks: Marks

    @property
    def negative(self) -> bool:
        """Whether nothing but a denial is said of the subject."""
        said = [atom for atom in self.atoms if atom.place != "head"] or list(self.atoms)
        return bool(said) and not any(atom.positive for atom in said)


def stem(word: str) -> str:
    """An English word without its ending: near enough to bring `cached`, `caches` and `caching` together."""
    word = words.SYNONYMS.get(word, word)
    if len(word) <= 3 or not word.isascii() or not word.isalpha():
        return word
    for suffix, rest in _ENDINGS:
        if word.endswith(suffix) and len(word) - len(suffix) >= 3:
            word = word[: len(word) - len(suffix)] + rest
            break
    if len(word) > 4 and word[-1] == word[-2] and word[-1] not in "lsz":
        word = word[:-1]
    if word.endswith("e") and len(word) > 3:
        word = word[:-1]
    return words.SYNONYMS.get(word, word)
