"""Reading a sentence into a statement, English and Chinese mixed as they come."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from recalld.statement import chinese, english, words
from recalld.statement.atoms import HAN, Statement
from recalld.statement.quantities import quantity
from recalld.statement.reading import Reading

_TOKEN = re.compile(
    rf"(?P<han>[{HAN}]+)"
    r"|(?P<clock>\d{1,2}[:：]\d{2}(?!\d))"
    r"|(?P<number>(?<![A-Za-z_\d.])\d+(?:[.,]\d+)*)(?![\w]*_)(?P<unit>\s?(?:%|[A-Za-z]+(?![A-Za-z_/\d])|毫秒|秒钟?|分钟|小时|天|个月|周|年|万|点钟?))?"
    r"|(?P<word>[./@#~]*[^\W\d_][^\W_]*(?:[-_.+/@:#'’](?=[^\s,;])[^\W_]+)*\+{0,2}#?)"
    r"|(?P<break>[.,;:!?。，；：！？、()（）\n—]|->|=>)"
)


@lru_cache(maxsize=512)
def parse(content: str) -> Statement:
    """`content` as a statement. Pure, some 0.1 ms a sentence; the last few hundred are kept."""
    reading = Reading(unicodedata.normalize("NFKC", content).replace("’", "'"))
    tokens = list(_TOKEN.finditer(reading.text))
    if english.opens_with_order([token.group().lower() for token in tokens[:8]]):
        reading.place = "tail"
    for index, token in enumerate(tokens):
        following = tokens[index + 1].group().lower() if index + 1 < len(tokens) else ""
        _read(reading, token, following)
        reading.previous = token.group().lower()
    return reading.statement()


def _read(reading: Reading, token: re.Match[str], following: str) -> None:
    start = token.start()
    if token["break"]:
        reading.begin_clause(token["break"])
    elif token["han"]:
        chinese.read_run(reading, token["han"], start)
    elif token["clock"]:
        reading.add(token["clock"].lstrip("0"), "number", start)
    elif token["number"]:
        _read_number(reading, token)
    else:
        if token["word"].lower() in words.BREAKS:
            reading.begin_clause(",")
        english.read_word(reading, token["word"], following, start)


def _read_number(reading: Reading, token: re.Match[str]) -> None:
    unit = (token["unit"] or "").strip()
    text, united = quantity(token["number"], unit, reading.text[: token.start()])
    reading.add(text, "number", token.start())
    if unit and not united:
        english.read_word(reading, unit, "", token.start("unit"))
