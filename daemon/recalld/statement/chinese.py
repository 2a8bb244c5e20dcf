"""Runs of Chinese characters: cut at verbs, signs and glue, kept as characters between."""

from __future__ import annotations

import re

from recalld.statement import words
from recalld.statement.atoms import stem
from recalld.statement.reading import Reading

_TOKEN = re.compile(
    f"(?P<env>{'|'.join(sorted((e for e in words.ENVIRONMENTS if not e.isascii()), key=len, reverse=True))})"
    f"|每?(?:周|星期|礼拜)(?P<weekday>[一二三四五六日天])|(?P<keep>{words.HAN_KEEP})|(?P<negation>{words.HAN_NEGATION})|(?P<joint>{words.HAN_JOINTS})|(?P<verb>{words.HAN_VERBS})"
    f"|(?P<count>[两二三四五六七八九十](?=[个人名位条项])|[一两二三四五六七八九十](?=[张次天秒周年种台份层]|小时|分钟|遍|个月))|(?P<glue>{words.HAN_GLUE})|(?P<other>.)"
)
_VERB = {
    verb: kind
    for kind, verbs in (("", words.HAN_IS), ("use", words.HAN_USE), ("at", words.HAN_AT))
    for verb in verbs.split("|")
}


def read_run(reading: Reading, run: str, start: int) -> None:
    """Read the characters `run` at `start`."""
    reading.run += 1
    for token in _TOKEN.finditer(run):
        at, text = start + token.start(), token.group()
        if token["env"]:
            reading.environments.add(words.ENVIRONMENTS[text])
            reading.run += 1
        elif token["negation"]:
            _negation(reading)
        elif token["joint"]:
            _joint(reading, text)
        elif token["glue"]:
            reading.run += 1
        elif token["weekday"]:
            if text.startswith("每"):
                _content(reading, "每周", at)
            reading.add(stem(words.HAN_WEEKDAYS[token["weekday"]]), "name", at)
        elif token["verb"] and reading.place == "head" and reading.atoms:
            _verb(reading, text, at)
        elif token["count"]:
            reading.add(str(words.CHINESE_DIGITS[text]), "number", at)
        else:
            _content(reading, text, at)


def _negation(reading: Reading) -> None:
    reading.deny()
    reading.run += 1
    if reading.place == "head" and reading.atoms:
        reading.place = "tail"


def _joint(reading: Reading, text: str) -> None:
    if reading.verb is None:
        reading.verb = _VERB.get(text, text)
    reading.run += 1
    reading.joint = text
    reading.open_verb = reading.open_verb or text in words.HAN_OPEN
    reading.place = "tail"


def _verb(reading: Reading, text: str, at: int) -> None:
    reading.run += 1
    for offset, character in enumerate(text):
        reading.add(character, "han", at + offset, place="verb")
    reading.run += 1
    reading.place = "tail"
    reading.joint = text


def _content(reading: Reading, text: str, at: int) -> None:
    if text.startswith("每") and reading.atoms:
        reading.place = "tail"
    if reading.place == "tail" and text in words.HAN_PURPOSE:
        reading.purpose = True
        reading.run += 1
        return
    for offset, character in enumerate(text):
        reading.add(character, "han", at + offset)
