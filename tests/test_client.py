"""The library: typed answers from a real daemon, the same from both clients, and clear errors."""

from __future__ import annotations

import asyncio
import inspect
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from importlib import resources
from pathlib import Path
from typing import Any

import pytest

import recalld
from conftest import Daemon, Home, memory
from model_stub import ModelStub, Script
from recalld import client as library
from recalld.answers import Found
from recalld.client import AsyncClient, Client
from recalld.client.asking import Verb
from recalld.client.changing import Changing
from recalld.client.looking import Looking
from recalld.errors import ConflictError, InputError, RecalldError, UnavailableError
from recalld.model import Memory, Status
from recalld.verbs import registry

EXAMPLE = Path(__file__).resolve().parents[1] / "docs" / "examples" / "ask_and_write_back.py"
# These are of use to recalld's own commands only, or are methods under other names.
UNWRAPPED = {"labels", "past", "past-look", "past-offsets", "adopt", "import", "import-rehearse", "export", "handed",
             "tags-rename", "projects-change", "complete", "revision", "which", "visible", "line", "hub-state", "hub-join",
             "hub-leave", "hub-share", "hub-unshare", "hub-announced", "hub-key", "hub-seal", "hub-outbox", "hub-settle",
             "hub-take", "hub-sweep", "hub-mark", "hub-fold"}  # fmt: skip


class Awaited:
    """An `AsyncClient` whose methods return at once, so that one test is for both."""

    def __init__(self, client: AsyncClient) -> None:
        self._client = client

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def call(*given: Any, **named: Any) -> Any:
            found = getattr(self._client, name)(*given, **named)
            return asyncio.run(_all(found) if inspect.isasyncgen(found) else found)

        return call


async def _all(pages: Any) -> list[Any]:
    return [page async for page in pages]


@pytest.fixture(params=["sync", "async"])
def asked(request: pytest.FixtureRequest, home: Home, daemon: Daemon) -> Any:
    """A client of the daemon, of either kind."""
    kind = Client if request.param == "sync" else AsyncClient
    made = kind(home.paths.socket, source="script", cwd=str(home.project))
    return made if request.param == "sync" else Awaited(made)


def test_a_script_can_do_everything_with_a_memory(asked: Any) -> None:
    """Answers are the domain's own types; what is written carries the program's name."""
    made = asked.add("The API listens on port 8080.", type="decision", tags=("area:api",))
    assert isinstance(made, Memory)
    assert (made.source, made.project, made.tags, made.status) == ("script", "shop", ("area:api",), Status.ACTIVE)
    (hit,) = asked.search("api port")
    assert isinstance(hit, Found)
    assert (hit.memory.id, 0 < hit.similarity <= 1) == (made.id, True)
    assert asked.list(type="decision") == [asked.show(made.id[:10])] == [made]
    assert asked.edit(made.id, "The API listens on port 8081.", version=made.version).version == made.version + 1
    with pytest.raises(ConflictError, match="has changed since"):
        asked.edit(made.id, "The API listens on port 1.", version=made.version)
    assert [step.actor for step in asked.history(made.id)] == ["script", "script"]
    assert asked.pin(made.id)[0].pinned
    assert not asked.unpin(made.id)[0].pinned
    assert asked.tag(made.id, add=("env:dev",), remove=("area:api",)).tags == ("env:dev",)
    assert [count.tag for count in asked.tags()] == ["env:dev"]
    assert asked.rename_tag("env:dev", "env:test")[0].tags == ("env:test",)
    assert asked.feedback(made.id, "useful").useful_count == 1
    patched = asked.patch(made.id, content="The API listens on port 8082.", tags=("env:prod",), expires="90d")
    assert (patched.content, patched.tags, patched.expires_at is None) == (
        "The API listens on port 8082.",
        ("env:prod",),
        False,
    )
    assert asked.patch(made.id, expires="", content="The API listens on port 8081.").expires_at is None
    assert asked.retag(made.id, add=("env:dev",))[0].tags == ("env:prod", "env:dev")
    page = asked.browse(limit=1, sort="oldest")
    assert ([row.id for row in page.items], page.next_cursor, page.total) == ([made.id], None, 1)
    assert asked.receipts().items == ()
    assert asked.archive(made.id)[0].status is Status.ARCHIVED
    assert asked.restore(made.id)[0].status is Status.ACTIVE
    assert asked.move(made.id, scope="user")[0].scope == "user"
    assert [info.name for info in asked.projects()] == ["shop"]
    assert asked.stats(7).memories.by_status == {"active": 1}
    assert asked.status().memories == 1
    assert [page.total for page in asked.export()] == [1]
    assert asked.export_page(limit=1).memories[0].id == made.id
    assert (asked.inbox(), asked.conflicts()) == ([], [])
    assert asked.delete(made.id)[0].content == "The API listens on port 8081."
    assert asked.list() == []


def test_what_waits_is_settled_by_a_script(asked: Any, home: Home) -> None:
    import sqlite3

    kept, refused = asked.add("Logs go to Loki."), asked.add("Invoices are PDF files.")
    older, newer = asked.add("Tea is sold in tins."), asked.add("Cups are made of glass.")
    with sqlite3.connect(home.paths.database) as db:
        db.execute("update memories set status = 'pending' where id in (?, ?)", (kept.id, refused.id))
        db.execute("insert into conflicts (older, newer, opened_at) values (?, ?, '2026-01-01T00:00:00.000Z')",
                   (older.id, newer.id))  # fmt: skip
    db.close()
    assert {row.id for row in asked.inbox()} == {kept.id, refused.id}
    assert asked.confirm(kept.id)[0].status is Status.ACTIVE
    assert asked.reject(refused.id)[0].id == refused.id
    (conflict,) = asked.conflicts()
    settled = asked.resolve(conflict.conflict_id, "B")
    assert ([row.id for row in settled.kept], [row.id for row in settled.superseded]) == ([newer.id], [older.id])
    for verb, why in ((asked.undo, "nothing"), (asked.why, "nothing"), (lambda: asked.receipt(7), "no receipt 7")):
        with pytest.raises(InputError, match=why):
            verb()


def test_every_verb_of_the_daemon_is_within_reach() -> None:
    """As a method of the library, but for those that only recalld's own commands use."""
    methods = {name for part in (Looking, Changing) for name, value in vars(part).items() if isinstance(value, Verb)}
    assert set(registry.VERBS) - UNWRAPPED == methods - {"status", "export_page", "rename_tag"}
    for name in methods:
        assert inspect.getdoc(getattr(Client, name))
    assert "query" in inspect.signature(Client(Path("/x")).search).parameters


def test_types_come_along() -> None:
    """A program that is checked with mypy sees them."""
    assert resources.files(recalld).joinpath("py.typed").is_file()
    assert set(library.__all__) == {"Client", "AsyncClient"}


@pytest.mark.parametrize("kind", [Client, lambda *given: Awaited(AsyncClient(*given))])
def test_without_a_daemon_the_way_out_is_named(home: Home, kind: Any) -> None:
    """The commands open the database themselves; the library says that nobody answers."""
    with pytest.raises(UnavailableError, match="recalld start") as raised:
        kind(home.paths.socket).list()
    assert str(home.paths.socket) in str(raised.value)


@pytest.fixture
def silent(tmp_path: Path) -> Iterator[Callable[[bytes], Path]]:
    """A socket where a listener takes a request, sends these bytes, and keeps the connection if there are none."""
    listening, kept = socket.socket(socket.AF_UNIX), []
    path = tmp_path / "s"
    before = Path.cwd()
    os.chdir(tmp_path)
    listening.bind("s")
    os.chdir(before)
    listening.listen()

    def serve(reply: bytes) -> Path:
        def answer() -> None:
            connection, _ = listening.accept()
            kept.append(connection)
            if reply:
                while connection.recv(1 << 16):
                    pass
                connection.sendall(reply)
                connection.close()

        threading.Thread(target=answer, daemon=True).start()
        return path

    yield serve
    for one in (*kept, listening):
        one.close()


@pytest.mark.parametrize("kind", [Client, lambda *given: Awaited(AsyncClient(*given))])
def test_a_daemon_that_hangs_is_left_in_time(silent: Any, kind: Any) -> None:
    with pytest.raises(UnavailableError, match=r"no answer within 0\.1 s"):
        kind(silent(b""), 0.1).list()


@pytest.mark.parametrize("kind", [Client, lambda *given: Awaited(AsyncClient(*given))])
@pytest.mark.parametrize(
    ("reply", "kind_of_error", "words"),
    [
        (b'{"ok": [', UnavailableError, "cut short"),
        (b'{"error": "no", "kind": "InputError"}', InputError, "^no$"),
        (b'{"error": "no", "kind": "annotations"}', RecalldError, "^no$"),
        (b'{"error": "no", "kind": "SystemExit"}', RecalldError, "^no$"),
    ],
)
def test_what_the_daemon_says_wrong_is_raised(
    silent: Any, kind: Any, reply: bytes, kind_of_error: type[Exception], words: str
) -> None:
    """By its own name where that is one of ours, as RecalldError otherwise."""
    with pytest.raises(kind_of_error, match=words):
        kind(silent(reply), 5.0).list()


def test_any_depth_of_folder_will_do(tmp_path: Path) -> None:
    """AF_UNIX takes about 100 bytes; the socket of a long path is reached, by many threads at once, and stays reached."""
    home = Home(tmp_path)
    home.recalld = tmp_path / ("deep" * 30)
    home.environ["RECALLD_HOME"] = str(home.recalld)
    running = home.start_daemon()
    before = Path.cwd()
    try:
        reached: list[int] = []
        client = Client(home.paths.socket)
        threads = [threading.Thread(target=lambda: reached.append(client.status().pid)) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

        async def several() -> list[int]:
            also = AsyncClient(home.paths.socket)
            return [status.pid for status in await asyncio.gather(*(also.status() for _ in range(8)))]

        assert reached + asyncio.run(several()) == [running.pid] * 16
        assert Path.cwd() == before
    finally:
        running.stop()


@pytest.mark.parametrize("way", [[], ["--async"]])
def test_the_example_works(home: Home, daemon: Daemon, way: list[str]) -> None:
    """It gives the model what is known, shows the conclusion, and stores it where that is wanted."""
    memory(home, "The API listens on port 8080.")
    script = Script(reply="It listens on 8080.\nREMEMBER: The API's port is open to the office network.")
    with ModelStub(script) as model:
        environ = {**home.environ, "ANTHROPIC_BASE_URL": model.url, "ANTHROPIC_API_KEY": "k"}
        for more, seen in (([], "to remember: The API's port"), (["--remember"], "remembered: The API's port")):
            words = [sys.executable, str(EXAMPLE), *way, *more, "Which port does the API listen on?"]
            done = subprocess.run(words, cwd=home.project, env=environ, capture_output=True, text=True, timeout=60)
            assert (done.returncode, done.stderr) == (0, "")
            assert seen in done.stdout
        assert "The API listens on port 8080." in model.requests[0].body["system"]
    stored = {row["content"]: row for row in home.json("list")}
    assert stored["The API's port is open to the office network."]["source"] == "example"
