"""The embedding model is exchanged while the daemon serves; a failing one costs nothing but the search by meaning."""

from __future__ import annotations

import contextlib
import json
import shutil
import sqlite3
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from claude_client import until
from conftest import Home
from recalld import embed
from recalld.model import new_id
from recalld.store import changes
from recalld.store.connection import open_writer, transaction
from recalld.store.migrate import migrate

BUILTIN = Path(embed.__file__).with_name("embedding_model")
AT = "2026-01-31T08:05:00.000Z"


def small_model(folder: Path, dim: int = 64) -> Path:
    """The built-in model with the first `dim` columns of its matrix."""
    folder.mkdir(parents=True)
    for name in ("config.json", "tokenizer.json"):
        shutil.copy(BUILTIN / name, folder / name)
    tensors = embed._tensors(BUILTIN / "model.safetensors")
    tensors["embeddings"] = np.ascontiguousarray(tensors["embeddings"][:, :dim])
    names = {np.dtype(dtype): name for name, dtype in embed._DTYPES.items()}
    header: dict[str, Any] = {}
    offset = 0
    for name, tensor in tensors.items():
        end = offset + tensor.nbytes
        header[name] = {"dtype": names[tensor.dtype], "shape": tensor.shape, "data_offsets": [offset, end]}
        offset = end
    text = json.dumps(header).encode()
    data = b"".join(tensor.tobytes() for tensor in tensors.values())
    (folder / "model.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + data)
    return folder


def seed(home: Home, number: int) -> None:
    """So many memories of user scope, as somebody with sqlite3 might put them in."""
    home.paths.ensure()
    db = open_writer(home.paths.database)
    migrate(db, home.paths.backups)
    with transaction(db):
        for each in range(number):
            db.execute(
                """insert into memories (id, scope, type, content, source, origin, confidence, status, first_seen,
                       last_seen, created_at, updated_at)
                   values (?, 'user', 'fact', ?, 'cli', 'user', 1, 'active', ?, ?, ?, ?)""",
                (new_id(), f"Service number {each} listens on port {10_000 + each}.", AT, AT, AT, AT),
            )
    db.close()


def use(home: Home, model: str | Path) -> None:
    (home.recalld / "config.toml").write_text(f'[embed]\nmodel = "{model}"\n[extract]\nbackend = "rules"\n')


def asked(home: Home, query: str, *values: Any) -> Any:
    with contextlib.closing(sqlite3.connect(f"file:{home.paths.database}?mode=ro", uri=True)) as db:
        return db.execute(query, values).fetchone()[0]


def widths(home: Home) -> dict[int, int]:
    """How many vectors there are of each width."""
    with contextlib.closing(sqlite3.connect(f"file:{home.paths.database}?mode=ro", uri=True)) as db:
        if not db.execute("select 1 from sqlite_schema where name = 'vec_user'").fetchone():
            return {}
        return dict(db.execute("select length(value), count(*) from vec_user group by 1").fetchall())


def model(home: Home) -> dict[str, str]:
    return dict(home.client.call("status")["model"])


def ready(home: Home, name: str, number: int, width: int) -> Callable[[], bool]:
    def probe() -> bool:
        now = model(home)
        return now["id"].startswith(name) and now["state"] == "ready" and widths(home) == {width: number}

    return probe


def found(home: Home, query: str) -> list[str]:
    return [hit["memory"]["content"] for hit in home.client.call("search", query=query, cwd=str(home.project))]


def test_a_changed_model_is_exchanged_while_search_goes_on(home: Home, tmp_path: Path) -> None:
    """B31: every memory has a new vector in the end, none is lost, the old vectors are gone, and so is the old id."""
    seed(home, 300)
    use(home, "builtin")
    running = home.start_daemon()
    until("all have vectors", ready(home, "zhen2-256", 300, 256))
    small = small_model(tmp_path / "small")
    use(home, small)
    while not ready(home, str(small), 300, 64)():
        assert "Service number 7 listens on port 10007." in found(home, "service number 7 port 10007")
        assert len(widths(home)) <= 1, "vectors of two widths side by side"
    assert asked(home, "select count(*) from memories where status = 'active'") == 300
    stored = asked(home, "select name from embed_models join meta on value = model_id and key = 'embed_model'")
    assert stored == model(home)["id"]
    assert asked(home, "select count(*) from vectors join embed_models using (model_id) where name <> ?", stored) == 0
    assert "Service number 7 listens on port 10007." in found(home, "port of service number 7")
    running.stop()


def test_killed_while_it_makes_vectors_it_goes_on_at_the_next_start(home: Home, tmp_path: Path) -> None:
    """B31: kill -9 in the middle, then a restart completes."""
    seed(home, 4000)
    small = small_model(tmp_path / "small")
    use(home, small)
    running = home.start_daemon()
    until("some have vectors", lambda: widths(home))
    running.process.kill()
    running.process.communicate()
    begun = widths(home)[64]
    assert 0 < begun < 4000
    before = asked(home, "select max(rowid) from vectors")
    assert before == begun == asked(home, "select count(*) from vectors")
    running = home.start_daemon()
    until("all have vectors", ready(home, str(small), 4000, 64))
    assert asked(home, "select count(*) from memories where status = 'active'") == 4000
    running.stop()


def test_a_model_that_fails_pauses_vectors_visibly_and_touches_none(home: Home, tmp_path: Path) -> None:
    """B29: text search goes on, nothing of another model or width is written, and going back needs no new vectors."""
    seed(home, 50)
    running = home.start_daemon()
    until("all have vectors", ready(home, "zhen2-256", 50, 256))
    broken = small_model(tmp_path / "broken")
    (broken / "model.safetensors").write_bytes(b"\x00" * 100)
    use(home, broken)
    until("it is seen", lambda: model(home)["state"].startswith("vectors paused: "))
    assert model(home)["id"] == str(broken)
    home.client.call("add", text="The invoices are printed by Gutenberg.", scope="user")
    assert found(home, "who prints the invoices")[0] == "The invoices are printed by Gutenberg."
    assert "Service number 7 listens on port 10007." in found(home, "service number 7 port 10007")
    assert widths(home) == {256: 50}
    use(home, "builtin")
    until("it is back", ready(home, "zhen2-256", 51, 256))
    assert asked(home, "select count(*) from embed_models") == 1
    running.stop()


def test_a_model_that_was_missing_is_used_once_it_is_there(home: Home, tmp_path: Path) -> None:
    """B29, B33: tried again with growing pauses, and it never holds a hook up; the memories get their vectors then."""
    seed(home, 20)
    use(home, tmp_path / "later")
    running = home.start_daemon()
    until("it is seen", lambda: model(home)["state"].startswith("vectors paused: "))
    assert "Service number 7 listens on port 10007." in found(home, "service number 7 port 10007")
    assert widths(home) == {}
    small_model(tmp_path / "made").rename(tmp_path / "later")
    until("it is used", ready(home, str(tmp_path / "later"), 20, 64))
    running.stop()


def test_a_daemon_without_a_network_embeds_with_the_model_it_has(home: Home) -> None:
    """B33: nothing but local sockets, and a model from a hub that nobody can reach beside it."""
    seed(home, 20)
    proxy = "http://127.0.0.1:9"  # where nobody listens
    offline = {"HTTPS_PROXY": proxy, "HTTP_PROXY": proxy, "https_proxy": proxy, "http_proxy": proxy}
    running = home.start_daemon(**offline)
    until("all have vectors", ready(home, "zhen2-256", 20, 256), 15)
    use(home, "minishlab/no-such-model")
    until("it is seen", lambda: model(home)["state"].startswith("vectors paused: "))
    assert "Service number 7 listens on port 10007." in found(home, "service number 7 port 10007")
    running.stop()


def test_vectors_of_a_model_no_longer_in_use_are_not_written(tmp_path: Path) -> None:
    """B29: whoever still holds the old model when another has taken over changes nothing."""
    db = open_writer(tmp_path / "memories.db")
    migrate(db, tmp_path)
    old, new = (embed.load(name, tmp_path) for name in ("builtin", str(small_model(tmp_path / "small"))))
    with transaction(db):
        held = changes.Vectors(changes.use_model(db, old.name, old.dim), old)
        used = changes.Vectors(changes.use_model(db, new.name, new.dim), new)
        changes.put_vectors(db, held, [(1, "user", "We use pnpm.", "[]")])
        assert not db.table_exists("main", "vec_user")
        changes.put_vectors(db, used, [(1, "user", "We use pnpm.", "[]")])
        changes.put_vectors(db, held, [(2, "user", "We use npm.", "[]")])
        assert db.execute("select key >> 4, length(value) from vec_user").fetchall() == [(1, 64)]
    db.close()


@pytest.fixture(autouse=True)
def _quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
