"""What a sentence says about itself: a question, a guess, an order for this task, somebody else's words."""

from __future__ import annotations

import re
from dataclasses import dataclass

from recalld.model import Type
from recalld.rules.split import Sentence, size
from recalld.rules.table import Cue, Language

_WHENEVER = re.compile(
    r"^(?:and |so |also |please )*(?:whenever|every time|each time|always when|when(?:ever)? you|"
    r"if you)\b|^(?:每次|每当|凡是|以后|今后|immer wenn|cada vez)"
)
_LASTING = (Type.DECISION, Type.LESSON, Type.PROGRESS)  # hold although "for now" or "today" is said beside them
_OUTRIGHT = 0.95  # of a cue such as "my name is", which nobody but the speaker can say
_CERTAIN = 0.93
_LEADING = 0.9  # of a cue that announces alone
_LEAD = 4  # words
_BRACKETS = ("()", "（）", "[]", "【】")
_BLANK = re.compile(r"_{2,}")


@dataclass(frozen=True)
class Statement:
    """A sentence without the clauses that ask for work; `text` and `bare` run in parallel."""

    text: str
    bare: str
    sentence: Sentence
    language: Language
    cut: bool


def statement(sentence: Sentence, language: Language) -> Statement:
    """What is left of `sentence` without the requests at its ends and without a tag question."""
    end = len(sentence.bare)
    if tag := language.tag.search(sentence.bare):
        end = tag.start()
    spans = clauses(sentence.bare[:end], language)
    whole = sentence.bare[:end]
    kept = list(spans)
    least = 2 if _asks_to_keep(whole[: kept[0][1] + 1], language) else 1
    while len(kept) > least and _droppable(whole[kept[-1][0] : kept[-1][1]], language) and not _WHENEVER.search(whole):
        kept.pop()
    while len(kept) > 1 and _leads_in(whole, kept, language):
        kept.pop(0)
    begin, stop = kept[0][0], kept[-1][1]
    if kept == spans:
        stop = end
    text, bare = sentence.text[begin:stop], sentence.bare[begin:stop]
    return Statement(text, bare, sentence, language, kept != spans)


def clauses(bare: str, language: Language) -> list[tuple[int, int]]:
    """Where the clauses of `bare` begin and end, parted outside brackets; connecting words belong to no clause."""
    spans, begin = [], 0
    for match in language.clause.finditer(bare):
        inside = bare[begin : match.start()]
        if not inside.strip() or any(inside.count(pair[0]) > inside.count(pair[1]) for pair in _BRACKETS):
            continue
        spans.append((begin, match.start()))
        begin = match.end()
    spans.append((begin, len(bare)))
    return spans


def _asks_to_keep(lead: str, language: Language) -> bool:
    """`Remember:` or `Lesson:` alone; what follows it is meant to be kept, however it begins."""
    said = lead.endswith((":", "：")) and size(lead) <= _LEAD
    return said and any(cue.sure >= _LEADING and cue.pattern.search(lead) for cue in language.cues)


def _droppable(clause: str, language: Language) -> bool:
    return (
        (_is_task(clause, language) or language.question.search(clause) is not None)
        and not language.durable.search(clause)
        and not any(cue.sure >= 0.9 and cue.pattern.search(clause) for cue in language.cues)
    )


def _leads_in(bare: str, spans: list[tuple[int, int]], language: Language) -> bool:
    """A request in front of the statement: `rename it, we use snake case`."""
    first, rest = bare[spans[0][0] : spans[0][1]], bare[spans[1][0] : spans[-1][1]]
    if language.durable.search(first) or size(rest) < 4 or _asks_to_keep(bare[: spans[0][1] + 1], language):
        return False
    found = best_cue(rest, language)
    return _is_task(first, language) and found is not None and found.type is not Type.PREFERENCE


def _is_task(clause: str, language: Language) -> bool:
    return language.task.search(clause.strip()) is not None


def is_task(given: Statement) -> bool:
    """An order for the task at hand, without a word that makes it hold longer."""
    return _is_task(given.bare, given.language) and not given.language.durable.search(given.bare)


def best_cue(bare: str, language: Language) -> Cue | None:
    """The surest cue in `bare`; among equals the first of the table."""
    found = [cue for cue in language.cues if cue.pattern.search(bare)]
    return max(found, key=lambda cue: cue.sure) if found else None


def dropped(given: Statement, found: Cue | None, keep: float) -> bool:
    """Whether the wording rules out that this is to be kept; keep: the classifier's opinion, which may outweigh "today"."""
    language, bare = given.language, given.bare
    if language.banter.search(given.sentence.bare) or language.unsure.search(given.sentence.bare):
        return True
    if any(
        pattern.search(bare)
        for pattern in (
            language.question,
            language.undecided,
            language.hypothetical,
            language.trivial,
        )
    ):
        return True
    if language.hearsay.search(bare) and not (found and found.sure > _OUTRIGHT):
        return True
    if len(_BLANK.sub("", bare)) * 2 < len(bare):
        return True
    if keep < _CERTAIN and language.temporary.search(bare):
        lasting = found and (found.explicit or found.type in _LASTING or (found.scope and found.type is Type.FACT))
        return not lasting
    return False


def unsettled(bare: str, language: Language) -> bool:
    """Whether the speaker asks, guesses, supposes, jokes or reports what others say."""
    return any(
        pattern.search(bare)
        for pattern in (
            language.question,
            language.undecided,
            language.hypothetical,
            language.hearsay,
            language.hedge,
            language.unsure,
            language.banter,
            language.temporary,
        )
    )


def hedges(given: Statement) -> int:
    """How many times the speaker hedges."""
    return sum(1 for _ in given.language.hedge.finditer(given.sentence.bare))
