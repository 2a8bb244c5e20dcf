"""Prose to sentences, in Latin and CJK writing, mixed or not."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from recalld.rules.blocks import paragraphs, reported

_LONGEST = 800  # characters; more is no sentence
_ABBREVIATION = re.compile(
    r"(?i)(?<![a-z])(?:e\.g|i\.e|etc|vs|approx|resp|incl|cf|fig|sec|mr|mrs|ms|dr|st|z\.\s?B|"
    r"d\.\s?h|bzw|ca|usw|p\.\s?ej|sr|sra|inc|ltd|jan|feb|aug|sept|oct|nov|dec)\.$"
)
_END = re.compile(
    r"(?<=[.!?])[\"')\]”’]*\s+(?=\S)|"
    r"(?<=[。！？!?；])[”’」』）\"')]*\s*(?=[^\s”’」』）\"')。！？!?…；])|(?<=…)\s+(?=\S)|"
    r"(?<=[~～])\s+(?=\S)"
)
_SEMICOLON = re.compile(  # not in front of a clause that is about the one before
    r"(?<=\w{2});\s+(?!(?:it|its|it's|they|they're|them|their|he|she|this|that|these|those|otherwise|which)\b)(?=\S+\s+\S+)"
)
_CODE_SPAN = re.compile(r"`[^`\n]{1,200}`")
_QUOTES = re.compile(
    r"\"[^\"\n]{2,400}\"|“[^”\n]{2,400}”|「[^」\n]{2,400}」|『[^』\n]{2,400}』|«[^»\n]{2,400}»|"
    r"„[^“\n]{2,400}“|(?<![\w])'[^'\n]{2,400}'(?![\w])|《[^》\n]{1,100}》"
)
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]")
_KANA = re.compile(r"[\u3040-\u309f]|[\u30a0-\u30ff]{2}")
_STOP_WORDS = {
    "de": (
        "der die das den dem ein eine und oder nicht kein keine ist sind wir ich du auf mit für von immer "
        "nur bitte dass wird werden haben hat mir uns unser unsere alle bei nach zum zur ab jetzt mehr "
        "auch sich nie als aus noch wieder bin kannst merk dir "
    ),
    "es": (
        "el la los las un una y o no es son que de del en con por para siempre nunca solo se lo mi "
        "nuestro nuestra todos todas usa usamos usar recuerda ahora más pero como está están hay ya "
        "decidimos cuando porque quiero prefiero "
    ),
    "fr": (
        "le la les un une et ou ne pas est sont que de du en avec par pour toujours jamais seulement se "
        "ce mon notre nos tous on nous je il elle dans sur plus mais comme être ont a été au aux "
    ),
    "en": (
        "the a an and or not is are was we i you it of in on with for to from always never only please "
        "that this my our all by at be have has do don't use no any when so but as if they them "
    ),
}
_WORDS = {code: frozenset(words.split()) for code, words in _STOP_WORDS.items()}


@dataclass(frozen=True)
class Sentence:
    """text: as written. bare: the same with code spans and quotations blanked, for looking at wording only.

    before: the sentence before it in the same text, "" for the first.
    """

    text: str
    bare: str
    lang: str
    before: str
    paragraph: int


def sentences(text: str) -> list[Sentence]:
    """The sentences of `text`, in order, without code, logs, quotes and tables."""
    found: list[Sentence] = []
    for number, lines in enumerate(paragraphs(text)):
        for piece in (piece for line in lines for piece in _pieces(line) if not reported(piece)):
            before = found[-1].text if found else ""
            found.append(Sentence(piece, bare(piece), language(piece), before, number))
    return [one for one in found if len(one.text) <= _LONGEST]


def _pieces(line: str) -> Iterator[str]:
    protected = _QUOTES.sub(_protect, _CODE_SPAN.sub(_protect, line))
    begin = 0
    for end in [match.span() for match in _END.finditer(protected)] + [(len(line), len(line))]:
        piece = line[begin : end[0]]
        if end[0] < len(line) and _ABBREVIATION.search(piece):
            continue
        tail = line[end[0] : end[1]].strip()
        for part in _semicolons(piece + tail):
            if part.strip(" \t-–—*•,，;；。.!！?？…"):
                yield part.strip()
        begin = end[1]


def _semicolons(piece: str) -> list[str]:
    return _SEMICOLON.split(piece) if ";" in piece else [piece]


def _protect(match: re.Match[str]) -> str:
    """The same length, so that places stay right, with nothing inside that could end a sentence."""
    inside = match[0][1:-1]
    if match[0][-1] in '”」』"' and inside[-1:] in ".!?。！？":
        return match[0][0] + "Q" * (len(inside) - 1) + inside[-1] + match[0][-1]
    return match[0][0] + "Q" * len(inside) + match[0][-1]


def bare(text: str) -> str:
    """`text` in lower case with the inside of quotations and code spans blanked (`_`); exactly as long as `text`."""
    blanked = _CODE_SPAN.sub(_blank, text.replace("’", "'"))
    blanked = _QUOTES.sub(_blank, blanked)
    lowered = blanked.lower()
    return lowered if len(lowered) == len(text) else blanked


def _blank(match: re.Match[str]) -> str:
    return match[0][0] + "_" * (len(match[0]) - 2) + match[0][-1]


def language(text: str) -> str:
    """`zh`, `ja`, `de`, `es`, `fr` or `en`; `en` where nothing tells."""
    if _KANA.search(text):
        return "ja"
    if _CJK.search(text):
        return "zh"
    words = re.findall(r"[a-zà-ÿ']+", text.lower())
    scores = {lang: sum(word in known for word in words) for lang, known in _WORDS.items()}
    accents = {"de": "äöüß", "es": "ñ¿¡áíóú", "fr": "êèçàùœ"}
    for lang, letters in accents.items():
        scores[lang] += any(letter in text.lower() for letter in letters)
    best = max(scores, key=lambda lang: scores[lang])
    return best if scores[best] > scores["en"] else "en"


def is_cjk(lang: str) -> bool:
    """Whether the language is written without spaces."""
    return lang in ("zh", "ja")


def size(text: str) -> int:
    """Length in words; two CJK characters count as one."""
    cjk = len(_CJK.findall(text))
    return cjk // 2 + len(re.findall(r"[A-Za-zÀ-ÿ0-9][\w'./:@-]*", text))
