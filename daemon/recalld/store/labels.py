"""What the owner's own history says of past injections: which memories were used, praised, useless, or missed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import apsw
import msgspec

Verdict = Literal["useful", "useless", "missed"]


class Weighed(msgspec.Struct, frozen=True):
    """A memory that was weighed for a prompt. used: by the answer, None where nobody could tell. verdict: the person's last."""

    similarity: float
    given: bool
    reason: str
    used: bool | None
    verdict: Verdict | None


class Asked(msgspec.Struct, frozen=True):
    """A prompt and what was weighed for it, in order. unseen: missed memories that were not even weighed."""

    injection_id: int
    items: tuple[Weighed, ...]
    unseen: int


def history(db: apsw.Connection, limit: int) -> list[Asked]:
    """The newest `limit` prompts that something is known of, newest first."""
    found: Sequence[tuple[Any, ...]] = db.execute(
        """select injection_id from injections j where event = 'UserPromptSubmit' and (
               exists (select 1 from injection_items i where i.injection_id = j.injection_id and i.used is not null)
               or exists (select 1 from feedback f where f.injection_id = j.injection_id))
           order by injection_id desc limit ?""",
        (limit,),
    ).fetchall()
    return [_asked(db, number) for (number,) in found]


def _asked(db: apsw.Connection, injection_id: int) -> Asked:
    verdicts: dict[str, Verdict] = dict(
        db.execute("select memory, verdict from feedback where injection_id = ? order by feedback_id", (injection_id,))
    )
    rows: Sequence[tuple[Any, ...]] = db.execute(
        """select memory, similarity, given, reason, used from injection_items where injection_id = ? and similarity > 0
           order by rank""",
        (injection_id,),
    ).fetchall()
    items = tuple(
        Weighed(similarity, bool(given), reason, None if used is None else bool(used), verdicts.get(memory))
        for memory, similarity, given, reason, used in rows
    )
    weighed = {row[0] for row in rows}
    return Asked(
        injection_id, items, sum(said == "missed" and memory not in weighed for memory, said in verdicts.items())
    )
