"""How long the baseline of search takes on the same memories: one plain full-text table for all projects."""

from __future__ import annotations

import contextlib
import sqlite3
import time
from pathlib import Path

from recalld.bench import texts
from recalld.bench.scratch import Home
from recalld.bench.spread import Spread, spread
from recalld.evaluate import plain


def measure(home: Home, prompts: int, folder: Path) -> Spread:
    """Milliseconds for the five best by bm25 of the project's memories, in this process, without daemon or receipt."""
    times = []
    with contextlib.closing(sqlite3.connect(folder / "plain.db")) as db:
        db.execute("attach ? as filled", (str(home.paths.database),))
        db.execute(plain.TABLE)
        db.execute("insert into plain select content, project_id from filled.memories where status = 'active'")
        db.commit()
        (project,) = db.execute(
            "select project_id from filled.project_places where path = ?", (str(home.here.resolve()),)
        ).fetchone()
        for number in range(prompts):
            asked = plain.expression(texts.prompt(number, home.held))
            begun = time.perf_counter()
            db.execute(
                "select content from plain where plain match ? and place = ? order by bm25(plain) limit 5",
                (asked, project),
            ).fetchall()
            times.append((time.perf_counter() - begun) * 1000)
    return spread(times)
