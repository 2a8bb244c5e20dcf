"""Words of Latin scripts: verbs, signs, names, glue."""

from __future__ import annotations

import re

from recalld.statement import words
from recalld.statement.atoms import stem
from recalld.statement.quantities import scaled, unit
from recalld.statement.reading import Reading

QUOTES = frozenset("\"'`“”‘’「」")
_VERB_STEMS = frozenset(stem(verb) for verb in words.VERBS)
_LIGHT_STEMS = frozenset(stem(verb) for verb in words.LIGHT_VERBS)
_PLACING_STEMS = frozenset(stem(verb) for verb in words.PLACING)
_OPEN_STEMS = frozenset(stem(verb) for verb in words.OPEN_VERBS)


def read_word(reading: Reading, raw: str, following: str, start: int) -> None:
    """Read the word `raw` at `start`; `following` is the next one in small letters, "" at the end."""
    word = _lowered(raw)
    base = stem(word.removesuffix("'s"))
    titled = len(raw) > 1 and raw.istitle() and word in words.GLUE and _goes_on(reading.previous)
    if titled or _quoted(reading.text, raw, start):
        reading.add(base, "name", start)
    elif (word in words.NEGATORS and not (len(raw) > 2 and raw.isupper())) or word.endswith("n't"):
        reading.positive = word == "without" and reading.positive
        if word in words.COPULAS and reading.place == "head":
            reading.place = "tail"
        reading.joint = ""
    elif word in words.GONE and (reading.previous in words.COPULAS or not reading.atoms):
        reading.deny()
    elif word in words.NUMBER_WORDS and (word != "one" or unit(following)):
        reading.add(scaled(words.NUMBER_WORDS[word], unit(following) or ("", 1)), "number", start)
    elif reading.previous in words.NUMBER_WORDS and unit(word):
        return
    elif word in words.ENVIRONMENTS and (word != "local" or following in words.PLACES):
        reading.environments.add(words.ENVIRONMENTS[word])
    elif _is_verb(reading, word, base, following):
        _verb(reading, word, base, start)
    elif word in words.GLUE or word in words.COPULAS:
        _glue(reading, word)
    else:
        _content(reading, raw, word, base, following, start)


def opens_with_order(tokens: list[str]) -> bool:
    """Whether the words begin with an order or a "we use": then nothing before the verb is the subject."""
    for place, word in enumerate(tokens):
        if word not in words.SUBJECTLESS:
            return word in words.IMPERATIVES or (place > 0 and stem(word) in _VERB_STEMS)
    return False


def _content(reading: Reading, raw: str, word: str, base: str, following: str, start: int) -> None:
    if following.isalnum() and _may_be_verb(reading, raw):
        reading.subject = len(reading.atoms)
    if word in words.PLATFORMS:
        reading.platforms.add(words.PLATFORMS[word])
        reading.add(words.PLATFORMS[word], "name", start)
    elif base in words.WEEKDAYS or word in words.WEEKDAYS:
        reading.add(base, "name", start)
    elif reading.chinese or re.search(r"[\d_./@#+]", word) or (not raw[1:].islower() and len(raw) > 1):
        reading.add(base if word.isalpha() else word, "name", start)
    elif raw[:1].isupper() and (reading.atoms or reading.led) and reading.previous not in ".:;":
        reading.add(base, "name", start)
    else:
        for part in word.split("-"):
            if part and part not in words.GLUE:
                reading.add(stem(part), "word", start)


def _is_verb(reading: Reading, word: str, base: str, following: str) -> bool:
    if word in words.COPULAS:
        return reading.place == "head" and (bool(reading.atoms) or bool(reading.environments))
    if base not in _VERB_STEMS or reading.place == "verb":
        return False
    if reading.place == "tail":
        participle = reading.previous in words.COPULAS and word.endswith(("ed", "en", "t", "ing"))
        return base in _LIGHT_STEMS or participle or (not reading.atoms and word in words.IMPERATIVES)
    known_subject = bool(reading.atoms) or bool(reading.environments) or reading.previous in words.PRONOUNS
    if not known_subject or following in words.COPULAS or reading.previous in words.DETERMINERS - {"to"}:
        return False
    return word.endswith(("s", "ed")) or reading.previous.endswith("s") or reading.previous in words.BEFORE_VERB


def _may_be_verb(reading: Reading, raw: str) -> bool:
    """Whether an unknown word looks like the verb of a single subject ("Mira mentors")."""
    ends = raw.islower() and raw.endswith("s") and not raw.endswith(("ss", "us", "is"))
    alone = len(reading.atoms) == 1 and reading.atoms[0].joint == "" and reading.place == "head"
    noun = alone and reading.atoms[0].text not in _VERB_STEMS and not reading.previous.endswith("s")
    return ends and noun and not reading.subject


def _verb(reading: Reading, word: str, base: str, start: int) -> None:
    reading.place = "tail"
    if not reading.verb:
        reading.verb = "" if word in words.COPULAS else "at" if base in _PLACING_STEMS else base
    reading.open_verb = reading.open_verb or base in _OPEN_STEMS
    reading.joint = base
    if base not in _LIGHT_STEMS and base not in _OPEN_STEMS and word not in words.COPULAS:
        reading.add(base, "word", start, place="verb")


def _glue(reading: Reading, word: str) -> None:
    if word in words.PREPOSITIONS:
        reading.joint = word
        if reading.place == "tail" and word in {"for", "as"}:
            reading.purpose = True


def _goes_on(previous: str) -> bool:
    """Whether no sentence begins after this word: a capital then makes a name ("written in Go", "needs Go")."""
    return previous in words.MID_SENTENCE or stem(previous) in _VERB_STEMS


def _quoted(text: str, raw: str, start: int) -> bool:
    """Whether the word stands in quotes alone: then it is meant as a word, not as what it says."""
    return text[max(0, start - 1) : start] in QUOTES and text[start + len(raw) :][:1] in QUOTES


def _lowered(raw: str) -> str:
    """In small letters, without the plural of an abbreviation (PRs, APIs)."""
    raw = raw.strip(".:'")
    return (raw[:-1] if len(raw) > 2 and raw.endswith("s") and raw[:-1].isupper() else raw).lower()
