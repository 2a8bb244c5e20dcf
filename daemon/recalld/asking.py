"""Asking the person about what waits to be confirmed: through Claude, in an injection, once a memory and never again."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import apsw
import msgspec

from recalld.inject import MAX_UTF16, Group, Selection, block, estimate_tokens
from recalld.model import Scope, Type, timestamp
from recalld.scored import COLUMNS, Row, Scored, scored, with_handles
from recalld.store.injections import Considered, Receipt
from recalld.store.turns import Where

AT_ONCE = 3
"""So many are asked about in one injection; the others have their turn in the next."""
MAX_TOKENS = 300
"""What all questions of an injection may cost; a memory that is longer by itself is only shown by `recalld inbox`."""
HEADING = (
    "waiting for the user's confirmation (not in force: ask once whether each holds, at a fitting moment; "
    "`recalld confirm ID` or `recalld reject ID` takes the answer)"
)
REASON = "asked whether it holds"


def waiting(db: apsw.Connection, at: Where, session_id: str | None = None) -> tuple[Scored, ...]:
    """The pending memories of this place that nobody was asked about yet, oldest first.

    session_id: only those that were said in it. So a prompt is asked about nothing but its own conversation; what comes
    from elsewhere waits for the start of a session. A project is not told, not even as a question, what was said outside
    of all projects; but for what a person prefers.
    """
    rows: Sequence[tuple[Any, ...]] = db.execute(
        f"""select {COLUMNS} from memories indexed by memories_pending where status = 'pending'
            and (project_id is ?1 or scope = ?2 or (scope = ?3 and type = ?4))
            and (?6 is null or source_session = ?6)
            and id not in (select memory from questions) order by seq limit ?5""",
        (at.project_id, Scope.ORG, Scope.USER, Type.PREFERENCE, AT_ONCE, session_id),
    ).fetchall()
    return tuple(with_handles(db, [scored(Row(*row), 0.0, 0.0) for row in rows]))


def count(db: apsw.Connection, at: Where) -> int:
    """How many memories of this place wait to be confirmed, asked about or not."""
    number: int = db.execute(
        """select count(*) from memories indexed by memories_pending where status = 'pending'
           and (scope <> ? or project_id is ?)""",
        (Scope.PROJECT, at.project_id),
    ).get
    return number


def with_questions(selection: Selection, questions: Sequence[Scored]) -> Selection:
    """`selection` with those of `questions` that there is room for as a group behind it, noted in the receipt."""
    fitting: list[Scored] = []
    for item in questions:
        tokens, utf16 = _size((Group(HEADING, (*fitting, item)),), selection)
        if tokens <= MAX_TOKENS and utf16 <= MAX_UTF16:
            fitting.append(item)
    if not fitting:
        return selection
    group = Group(HEADING, tuple(fitting))
    noted = (Considered(memory=item.id, score=0.0, similarity=0.0, given=False, reason=REASON) for item in fitting)
    return msgspec.structs.replace(
        selection,
        groups=(*selection.groups, group),
        considered=(*selection.considered, *noted),
        tokens=selection.tokens + _size((group,), selection)[0],
    )


def asked(db: apsw.Connection, receipt: Receipt, now: datetime) -> None:
    """Remember which questions went out, so that none is put twice."""
    for item in receipt.items:
        if item.reason == REASON:
            db.execute("insert or ignore into questions values (?, ?)", (item.memory, timestamp(now)))


def _size(groups: tuple[Group, ...], selection: Selection) -> tuple[int, int]:
    """What the groups cost beside the selection, in tokens, and how long the whole block is then, in UTF-16 units."""
    before, after = block(None, selection.groups), block(None, (*selection.groups, *groups))
    return estimate_tokens(after) - estimate_tokens(before), len(after.encode("utf-16-le")) // 2
