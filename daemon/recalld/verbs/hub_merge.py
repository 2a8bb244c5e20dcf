"""Comparing what is here with what is at the hub and with what both had in common last. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Collection
from typing import Any

import msgspec

from recalld.carried import Step
from recalld.config import ConflictConfig
from recalld.hubwire import Body

TOGETHER = (
    ("type",), ("tags",), ("aliases",), ("confidence",), ("status", "superseded_by"), ("pinned",), ("expires_at",),
    ("related",), ("conflicts",),
)  # fmt: skip
"""What is compared one by one; where both sides changed it, the hub's order decides."""
FIELDS = tuple(name for names in TOGETHER for name in names)


class Known(msgspec.Struct, frozen=True, kw_only=True):
    """What both sides had in common: the fields as JSON would have them, and of the text only a hash."""

    text: str
    fields: dict[str, Any]


def known(body: Body) -> Known:
    """What is kept of `body` to compare with later."""
    plain = msgspec.json.decode(msgspec.json.encode(body))
    fields = {name: plain[name] for name in FIELDS}
    fields |= {name: sorted(fields[name]) for name in ("related", "conflicts")}
    return Known(text=hashlib.sha256(body.content.encode()).hexdigest(), fields=fields)


def base_of(body: Body) -> str:
    """`known` as it is stored."""
    return msgspec.json.encode(known(body)).decode()


def read(base: str | None) -> Known | None:
    """`known` as it was stored."""
    return None if base is None else msgspec.json.decode(base, type=Known)


def merged(ours: Body, theirs: Body, base: Known | None, content: str) -> Body:
    """`theirs` with `content`, and with each field that only we changed."""
    if base is None:
        return msgspec.structs.replace(theirs, content=content)
    ours_alone = [name for names in TOGETHER if _changed(ours, base, names) and not _changed(theirs, base, names)
                  for name in names]  # fmt: skip
    return msgspec.structs.replace(theirs, content=content, **{name: getattr(ours, name) for name in ours_alone})


def _changed(body: Body, base: Known, names: Collection[str]) -> bool:
    now = known(body).fields
    return any(now[name] != base.fields.get(name) for name in names)


def ours_is_news(ours: Body, theirs: Body, base: Known | None, steps: Collection[Step]) -> bool:
    """Whether both sides changed the text. What theirs was written over, knowing it, is no news."""
    if ours.content == theirs.content or any(step.content == ours.content for step in steps):
        return False
    return base is None or known(ours).text != base.text != known(theirs).text


def text_is_ours(ours: Body, theirs: Body, base: Known | None, steps: Collection[Step]) -> bool:
    """Whether we alone changed the text."""
    if base is None or any(step.content == ours.content for step in steps):
        return False
    return known(ours).text != base.text == known(theirs).text


def ours_wins(ours: Body, theirs: Body, rules: ConflictConfig) -> bool:
    """Whether, by the rules, our text takes the place of theirs, which the hub had first."""
    if rules.policy == "source-priority":
        order = {source: place for place, source in enumerate(rules.source_priority)}
        mine, other = (order.get(body.source, len(order)) for body in (ours, theirs))
        if mine != other:
            return mine < other
    return rules.policy != "merge-mark"


def copy_id(memory_id: str, text: str, turn: int) -> str:
    """The id of the memory that keeps our text beside theirs: the same on every device, so that it is made once."""
    words = f"{memory_id}\n{text}" + (f"\n{turn}" if turn else "")
    return "m-" + hashlib.sha256(words.encode()).hexdigest()[:20]


def same_sentence(one: str, other: str) -> bool:
    """Whether two texts are the same sentence, but for case and blanks."""
    return " ".join(one.split()).casefold() == " ".join(other.split()).casefold()
