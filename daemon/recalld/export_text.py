"""An export as text: a line an item, so that a reader can name the line."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from itertools import groupby
from typing import Any

from recalld.carried import LISTS
from recalld.headings import groups

Items = Iterator[tuple[str, dict[str, Any]]]


def as_json(head: dict[str, Any], items: Items, *, plain: bool = False) -> Iterator[str]:
    """The lines of one JSON object. items: (list, item), ordered as LISTS. plain: in ASCII alone."""
    yield json.dumps(head, ensure_ascii=plain)[:-1] + ","
    left = list(LISTS)
    for name, members in groupby(items, key=lambda pair: pair[0]):
        while left[0] != name:
            yield f'"{left.pop(0)}": [],'
        left.pop(0)
        yield f'"{name}": ['
        held: str | None = None
        for _, item in members:
            if held is not None:
                yield held + ","
            held = json.dumps(item, ensure_ascii=plain)
        yield (held or "") + ("\n]," if left else "\n]")
    for number, name in enumerate(left, 1):
        yield f'"{name}": []' + ("," if number < len(left) else "")
    yield "}"


def as_lines(head: dict[str, Any], items: Items, *, plain: bool = False) -> Iterator[str]:
    """JSON lines: the head, then an object with one key a line."""
    yield json.dumps(head, ensure_ascii=plain)
    for name, item in items:
        yield json.dumps({LISTS[name]: item}, ensure_ascii=plain)


def as_markdown(head: dict[str, Any], items: Items, *, plain: bool = False) -> Iterator[str]:
    """What is in force, to be read by people: by project and type. It cannot be imported."""
    rows = [item for name, item in items if name == "memories" and item["status"] == "active"]
    yield f"# Memories\n\nExported by recalld at {head['exported_at'][:16].replace('T', ' ')} UTC."
    for title, members in sorted(groups(rows), key=lambda pair: pair[0] != "pinned"):
        yield f"\n## {_inline(title)}"
        for kind, same in groupby(sorted(members, key=lambda row: row["type"]), key=lambda row: row["type"]):
            yield f"\n### {kind}\n"
            for row in same:
                tags = "".join(f" `{_inline(tag)}`" for tag in row["tags"])
                yield f"- {_inline(row['content'])} ({row['last_seen'][:10]}, {row['id'][:8]}){tags}"


SHAPES = {"json": as_json, "jsonl": as_lines, "markdown": as_markdown}


def items(page: dict[str, Any], following: Callable[[int], dict[str, Any]]) -> Items:
    """Everything of an export that begins with `page`. following: the page behind the `next` of another."""
    for name in ("projects", "conflicts"):
        for item in page[name]:
            yield name, item
    while True:
        for item in page["memories"]:
            yield "memories", item
        if page["next"] is None:
            return
        page = following(page["next"])


def _inline(text: str) -> str:
    """`text` on one line, with what Markdown would read as a sign of its own marked as text."""
    return re.sub(r"([\\*_<>\[\]#|])", r"\\\1", " ".join(text.split()))
