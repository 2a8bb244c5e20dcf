"""Numbers with their units, in one writing: `one minute` and `60 s`, `6 pm` and `18:00`."""

from __future__ import annotations

import re

from recalld.statement import words
from recalld.statement.atoms import stem


def unit(word: str) -> tuple[str, float] | None:
    """The dimension and factor of a unit, None where `word` is none."""
    word = word.lower()
    return words.UNITS.get(word) or words.UNITS.get(stem(word)) or words.UNITS.get(word.rstrip("s"))


def quantity(digits: str, unit_word: str, before: str) -> tuple[str, bool]:
    """A number as written, in base units, and whether the unit went into it.

    before: the text in front of it, where Chinese says which half of the day is meant.
    """
    digits = digits.replace(",", "" if re.fullmatch(r"\d{1,3}(,\d{3})+", digits) else ".")
    if unit_word.lower() in words.HOURS and digits.isdigit():
        return _clock(int(digits), unit_word.lower(), before), True
    if (base := unit(unit_word)) is not None and digits.count(".") < 2:
        return scaled(float(digits), base), True
    return digits, False


def scaled(value: float, base: tuple[str, float]) -> str:
    """`value` in the base unit of its dimension."""
    dimension, factor = base
    value *= factor
    return (str(int(value)) if value == int(value) else f"{value:g}") + dimension


def _clock(hour: int, unit_word: str, before: str) -> str:
    if hour == 12 and unit_word == "am":
        hour = 0
    afternoon = unit_word == "pm" or before.rstrip().endswith(words.AFTERNOON)
    return f"{hour + 12 if afternoon and hour < 12 else hour}:00"
