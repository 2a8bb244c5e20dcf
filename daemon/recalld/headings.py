"""Under which heading a memory stands in a list or a file for people."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

Row = dict[str, Any]


def groups(rows: Sequence[Row]) -> list[tuple[str, list[Row]]]:
    """The memories under headings: pinned ones, each project's, the user's own, the team's."""
    titles: dict[str, list[Row]] = {}
    for row in rows:
        if row["pinned"]:
            title = "pinned"
        elif row["scope"] == "user":
            title = "you, in every project"
        elif row["scope"] == "org":
            title = "team"
        else:
            title = row["project"] or "a project that is gone"
        titles.setdefault(title, []).append(row)
    order = {"pinned": 0, "you, in every project": 2, "team": 3}
    return sorted(titles.items(), key=lambda item: order.get(item[0], 1))
