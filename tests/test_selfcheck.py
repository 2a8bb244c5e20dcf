"""An installation proves itself with a memory of its own, and leaves nothing of that behind."""

from __future__ import annotations

import sqlite3

from conftest import Daemon, Home, memory
from recalld.install import assets, selfcheck


def test_the_self_check_is_counted_as_nobodys(home: Home, daemon: Daemon) -> None:
    """No injection, no use of the owner's memories, no session; and a question to the owner is not spent on it."""
    pinned = memory(home, "I work with pnpm.", "--scope", "user", "--pin")
    waiting = memory(home, "I prefer tabs.", "--scope", "user", "--type", "preference")
    with sqlite3.connect(home.paths.database) as db:
        db.execute("update memories set status = 'pending' where id = ?", (waiting,))
    db.close()
    hook = [str(assets.interpreter()), "-I", "-S", str(assets.hook_script()), "session-start", str(home.paths.socket)]

    assert "The word that proves" in selfcheck.remember_and_recall(home.paths, hook)

    told = home.client.call("stats")
    assert (told["injections"]["events"], told["injections"]["given"]) == (0, 0)
    assert home.client.call("show", id=pinned)["hit_count"] == 0
    with sqlite3.connect(home.paths.database) as db:
        assert [db.execute(f"select count(*) from {table}").fetchone()[0] for table in ("questions", "sessions")] == [
            0,
            0,
        ]
    db.close()
