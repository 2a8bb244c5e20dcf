"""One table of what can be asked, and every door: each gives the same answers and leaves the same rows.

A new verb is a row of STEPS. A new door is a class with `ask`, and a column of the rows that it offers; what it does not
offer is done by the socket meanwhile, so that its home stays equal.
"""

from __future__ import annotations

import contextlib
import io
import json
import re
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import pytest

from conftest import Home
from mcp_client import Wire, tool_call, wire
from recalld.cli import main
from recalld.errors import RecalldError
from web_house import Web, until

HERE = "{here}"
"""The folder of the project, in a row."""
REFUSED = "refused"
SILENT = "said nothing"
"""What a door answers that only tells that it is done."""
PATH_OF_ID = re.compile(r"\{(\w+)\}")


class Step(NamedTuple):
    """One thing to ask, door by door. `{name}` stands for the id that the step `name` made.

    cli: the words of the command. http: method, path, body. mcp: the tool, its arguments. None: the door has no such thing.
    part: where in the answer of HTTP, and of MCP, that of the verb stands.
    """

    name: str
    verb: str
    asked: dict[str, Any]
    cli: tuple[str, ...] | None = None
    http: tuple[Any, ...] | None = None
    mcp: tuple[str, dict[str, Any]] | None = None
    part: tuple[str, str] = ("", "")


def bulk(action: str, name: str, **more: Any) -> tuple[str, str, dict[str, Any]]:
    return "POST", "/bulk", {"action": action, "ids": [f"{{{name}}}"], **more}


TEA, CUPS = "The API listens on port 8080.", "Cups are made of glass."
STEPS = (
    Step("tea", "add", {"text": TEA, "type": "decision", "tags": ["area:api"], "cwd": HERE},
         ("add", TEA, "--type", "decision", "--tag", "area:api"),
         ("POST", "/memories", {"content": TEA, "type": "decision", "tags": ["area:api"], "project": HERE}),
         ("mem_write", {"content": TEA, "type": "decision", "tags": ["area:api"]}), part=("", "memory")),
    Step("user", "add", {"text": "Answer briefly.", "scope": "user", "type": "preference", "cwd": HERE},
         ("add", "Answer briefly.", "--scope", "user", "--type", "preference"),
         ("POST", "/write", {"content": "Answer briefly.", "scope": "user", "type": "preference"}),
         ("mem_write", {"content": "Answer briefly.", "scope": "user", "type": "preference"}), part=("", "memory")),
    Step("known", "add", {"text": TEA, "cwd": HERE}, ("add", TEA), ("POST", "/write", {"content": TEA, "project": HERE}),
         ("mem_write", {"content": TEA}), part=("", "memory")),
    Step("ends", "add", {"text": CUPS, "expires": "2099-01-01", "cwd": HERE}, ("add", CUPS, "--expires", "2099-01-01"),
         ("POST", "/write", {"content": CUPS, "expires": "2099-01-01", "project": HERE}),
         ("mem_write", {"content": CUPS, "expires": "2099-01-01"}), part=("", "memory")),
    Step("empty", "add", {"text": "<private>x</private>", "cwd": HERE}, ("add", "<private>x</private>"),
         ("POST", "/write", {"content": "<private>x</private>", "project": HERE}),
         ("mem_write", {"content": "<private>x</private>"})),
    Step("list", "list", {"cwd": HERE}, ("list",), ("GET", "/memories?project={here}&status=active"), part=("items", "")),
    Step("found", "search", {"query": "which port?", "cwd": HERE}, ("search", "which port?"),
         ("GET", "/search?q=which%20port%3F&project={here}"), ("mem_search", {"query": "which port?"}), part=("", "memories")),
    Step("shown", "show", {"id": "{tea}"}, ("show", "{tea}"), ("GET", "/memories/{tea}")),
    Step("unknown", "show", {"id": "m-00000000000000000000"}, ("show", "m-00000000000000000000"),
         ("GET", "/memories/m-00000000000000000000")),
    Step("edited", "edit", {"id": "{tea}", "text": "The API listens on port 8081.", "version": 1},
         ("edit", "{tea}", "The API listens on port 8081."),
         ("PATCH", "/memories/{tea}", {"content": "The API listens on port 8081.", "version": 1}),
         ("mem_update", {"id": "{tea}", "content": "The API listens on port 8081.", "version": 1}), part=("", "memory")),
    Step("stale", "edit", {"id": "{tea}", "text": "Port 1.", "version": 1}, None,
         ("PATCH", "/memories/{tea}", {"content": "Port 1.", "version": 1}),
         ("mem_update", {"id": "{tea}", "content": "Port 1.", "version": 1})),
    Step("history", "history", {"id": "{tea}"}, ("history", "{tea}"), ("GET", "/memories/{tea}/history")),
    Step("pinned", "pin", {"ids": ["{tea}"]}, ("pin", "{tea}"), bulk("pin", "tea"), part=("memories", "")),
    Step("unpinned", "unpin", {"ids": ["{tea}"]}, ("unpin", "{tea}"), bulk("unpin", "tea"), part=("memories", "")),
    Step("tagged", "retag", {"ids": ["{tea}"], "add": ["env:dev"]}, None, bulk("tag", "tea", tags=["env:dev"]),
         part=("memories", "")),
    Step("untagged", "retag", {"ids": ["{tea}"], "remove": ["area:api"]}, None, bulk("untag", "tea", tags=["area:api"]),
         part=("memories", "")),
    Step("one-tag", "tag", {"id": "{ends}", "add": ["area:cups"]}, ("tag", "{ends}", "area:cups")),
    Step("tags", "tags", {"cwd": HERE}, ("tags",), ("GET", "/tags?project={here}")),
    Step("renamed", "tags-rename", {"old": "area:cups", "new": "area:glass", "cwd": HERE},
         ("tags", "rename", "area:cups", "area:glass")),
    Step("useful", "feedback", {"id": "{tea}", "verdict": "useful", "cwd": HERE}, ("feedback", "{tea}", "useful"),
         ("POST", "/memories/{tea}/feedback", {"verdict": "useful"}), ("mem_feedback", {"id": "{tea}", "verdict": "useful"})),
    Step("archived", "archive", {"ids": ["{ends}"]}, ("archive", "{ends}"), bulk("archive", "ends"), part=("memories", "")),
    Step("restored", "restore", {"ids": ["{ends}"]}, ("restore", "{ends}"), bulk("restore", "ends"), part=("memories", "")),
    Step("moved", "move", {"ids": ["{ends}"], "scope": "user", "cwd": HERE}, ("move", "{ends}", "--scope", "user"),
         bulk("move", "ends", scope="user"), part=("memories", "")),
    *(Step(name, "add", {"text": text, "cwd": HERE}) for name, text in (
        ("older", "Carts are kept in Redis."), ("newer", "Mails are sent by Postmark."),
        ("kept", "Logs go to Loki."), ("refused", "Invoices are PDF files."))),
    Step("meanwhile", "sql", {}),
    Step("inbox", "inbox", {"cwd": HERE}, ("inbox",), ("GET", "/inbox?project={here}"), ("mem_pending", {"action": "list"}),
         part=("", "memories")),
    Step("confirmed", "confirm", {"ids": ["{kept}"]}, ("confirm", "{kept}"), bulk("confirm", "kept"),
         ("mem_pending", {"action": "confirm", "ids": ["{kept}"]}), part=("memories", "memories")),
    Step("rejected", "reject", {"ids": ["{refused}"]}, ("reject", "{refused}"), bulk("reject", "refused"),
         ("mem_pending", {"action": "reject", "ids": ["{refused}"]}), part=("memories", "-")),
    Step("conflicts", "conflicts", {"cwd": HERE}, ("conflicts",), ("GET", "/conflicts?project={here}")),
    Step("settled", "resolve", {"conflict": 1, "keep": "B"}, ("resolve", "1", "--keep", "B"),
         ("POST", "/conflicts/1/resolve", {"keep": "B"})),
    Step("settled-again", "resolve", {"conflict": 1, "keep": "A"}, ("resolve", "1", "--keep", "A"),
         ("POST", "/conflicts/1/resolve", {"keep": "A"})),
    Step("undone", "undo", {}, ("undo",), ("POST", "/undo")),
    Step("why", "why", {"cwd": HERE}, ("why",)),
    Step("projects", "projects", {}, ("projects",), ("GET", "/projects")),
    Step("stats", "stats", {"days": 7}, ("stats", "--days", "7"), ("GET", "/stats?days=7")),
    Step("deleted", "delete", {"ids": ["{tea}"]}, ("delete", "{tea}"), ("DELETE", "/memories/{tea}"),
         ("mem_forget", {"id": "{tea}"}), part=("", "-")),
    Step("back", "add", {"text": "The API listens on port 8081.", "cwd": HERE}, ("add", "The API listens on port 8081."),
         ("POST", "/write", {"content": "The API listens on port 8081.", "project": HERE}),
         ("mem_write", {"content": "The API listens on port 8081."}), part=("", "memory")),
    Step("paused", "pause", {}, ("pause",), ("POST", "/pause")),
    Step("resumed", "resume", {}, ("resume",), ("POST", "/resume")),
    Step("hub", "hub-state", {}, ("hub", "status")),
    Step("export", "export", {}, ("export",), ("GET", "/export")),
)  # fmt: skip


class Door(Protocol):
    """A way in. `offers` says whether it has what a step asks; `ask` returns the answer in the shape of the verb's."""

    column: str

    def ask(self, step: Step) -> Any: ...


class Socket:
    """The daemon's own socket: what the others are held against."""

    column = "verb"

    def __init__(self, home: Home) -> None:
        self._home = home

    def ask(self, step: Step) -> Any:
        if step.verb == "sql":
            return meanwhile(self._home, step.asked)
        return self._home.client.call(step.verb, **step.asked)


class Cli:
    """The command line, in this very process."""

    column = "cli"

    def __init__(self, home: Home) -> None:
        self._home = home

    def ask(self, step: Step) -> Any:
        said, complaints = io.StringIO(), io.StringIO()
        assert step.cli
        with (
            contextlib.chdir(self._home.project),
            contextlib.redirect_stdout(said),
            contextlib.redirect_stderr(complaints),
        ):
            code = main.main([*step.cli, "--json"])
        if code:
            raise RecalldError(complaints.getvalue())
        return json.loads(said.getvalue())


class Http:
    """The HTTP door."""

    column = "http"

    def __init__(self, web: Web) -> None:
        self._web = web

    def ask(self, step: Step) -> Any:
        assert step.http
        answer = self._web.ask(*step.http)
        if answer.status >= 400:
            assert answer.headers["Content-Type"] == "application/problem+json"
            raise RecalldError(answer.data["detail"])
        if answer.status == 204:
            return SILENT
        return answer.data[step.part[0]] if step.part[0] else answer.data


class Mcp:
    """The tools of `recalld mcp`."""

    column = "mcp"

    def __init__(self, on: Wire) -> None:
        self._on = on
        self._number = 0

    def ask(self, step: Step) -> Any:
        assert step.mcp
        self._number += 1
        self._on.send(tool_call(self._number, step.mcp[0], **step.mcp[1]))
        done = self._on.answer(self._number)["result"]
        if done.get("isError"):
            raise RecalldError(done["content"][0]["text"])
        data = done["structuredContent"]
        return SILENT if step.part[1] == "-" else data[step.part[1]] if step.part[1] else data


def meanwhile(home: Home, names: dict[str, Any]) -> str:
    """What only time brings about: two that contradict each other, two that wait."""
    with contextlib.closing(sqlite3.connect(home.paths.database)) as db, db:
        of = {row[1]: row[0] for row in db.execute("select id, content from memories")}
        db.execute("insert into conflicts (older, newer, opened_at) values (?, ?, '2026-01-01T00:00:00.000Z')",
                   (of["Carts are kept in Redis."], of["Mails are sent by Postmark."]))  # fmt: skip
        db.execute(
            "update memories set status = 'pending' where content in ('Logs go to Loki.', 'Invoices are PDF files.')"
        )
    return SILENT


def filled(value: Any, names: dict[str, str]) -> Any:
    """A row's part with ids and the folder in the place of names."""
    if isinstance(value, str):
        return PATH_OF_ID.sub(lambda found: names[found[1]], value)
    if isinstance(value, dict):
        return {key: filled(part, names) for key, part in value.items()}
    return type(value)(filled(part, names) for part in value) if isinstance(value, list | tuple) else value


def life(home: Home, door: Door, socket: Socket) -> dict[str, Any]:
    """What the door answers to each step that it offers, and in the end the rows."""
    names, answers = {"here": str(home.project)}, {}
    for row in STEPS:
        offered = row.verb != "sql" and getattr(row, door.column) is not None
        step = Step(row.name, row.verb, *(filled(part, names) for part in row[2:6]), row.part)  # type: ignore[arg-type]
        try:
            said = (door if offered else socket).ask(step)
        except RecalldError as error:
            assert "\n" not in str(error).strip()
            said = REFUSED
        if isinstance(said, dict) and "id" in said and row.verb == "add":
            names[row.name] = said["id"]
        if offered:
            answers[row.name] = said
    return {"answers": answers, "rows": rows(home), "names": names}


TABLES = {
    "memories": "* from memories order by seq",
    "history": "memory, version, action, content, type, status from history order by history_id",
    "conflicts": "* from conflicts order by 1",
    "related": "* from related order by 1, 2",
    "tombstones": "memory, terms from tombstones order by deleted_at",
    "feedback": "memory, verdict from feedback order by rowid",
    "changes": "* from changes",
    "projects": "name from projects order by 1",
    "places": "path from project_places order by 1",
}


def rows(home: Home) -> dict[str, Any]:
    """All that the steps may have left."""
    with contextlib.closing(sqlite3.connect(home.paths.database)) as db:
        db.row_factory = sqlite3.Row
        return {name: [dict(row) for row in db.execute(f"select {query}")] for name, query in TABLES.items()}


IDS = re.compile(r"m-[0-9a-f]{20}")
TIMES = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
OWN = {
    "source",
    "actor",
    "ms",
    "p50_ms",
    "p95_ms",
    "key",
    "fingerprint",
    "inode",
    "device",
    "exported_at",
    "since",
    "score",
}
"""What no two doors, homes or moments share."""
NOWHERE = {"branch", "worktree", "commit"}
"""Where something was said that holds everywhere: HTTP has no folder to say it in."""


def plain(value: Any, names: dict[str, str]) -> Any:
    """An answer without what no two homes share: ids are the names of their steps, times and folders are one."""
    if isinstance(value, dict):
        left = OWN | NOWHERE if value.get("scope") == "user" else OWN
        return {key: plain(part, names) for key, part in value.items() if key not in left}
    if isinstance(value, list | tuple):
        return [plain(part, names) for part in value]
    if isinstance(value, float):
        return round(value, 2)
    if isinstance(value, str):
        known = {whole: name for name, whole in names.items() if name not in ("known", "back")}
        text = IDS.sub(lambda found: known.get(found[0], "another"), value)
        return TIMES.sub("TIME", text.replace(names["here"], "HERE"))
    return value


def agreed(said: Any, expected: Any) -> bool:
    """Whether a door says what the socket does; it may leave fields of a memory out, and add what explains it."""
    if said == SILENT:
        return expected != REFUSED
    if isinstance(said, dict) and isinstance(expected, dict):
        if "memory" in expected and "memory" not in said:  # what was found, in one with how well it fits
            expected = {**expected["memory"], **{name: part for name, part in expected.items() if name != "memory"}}
        shared = said.keys() & expected.keys()
        return (bool(shared) or said == expected) and all(agreed(said[name], expected[name]) for name in shared)
    if isinstance(said, list) and isinstance(expected, list):
        return len(said) == len(expected) and all(map(agreed, said, expected))
    return bool(said == expected)


@contextlib.contextmanager
def opened(name: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Home, Door]]:
    """A fresh home in `folder`, and the door of this name to it."""
    folder.mkdir()
    home = Home(folder)
    for variable in ("HOME", "RECALLD_HOME", "CLAUDE_CONFIG_DIR"):
        monkeypatch.setenv(variable, home.environ[variable])
    web = Web(home) if name == "http" else None
    running = web.daemon if web else home.start_daemon()
    until(lambda: home.client.status().model["state"] not in ("loading", "not loaded"))
    try:
        if name == "mcp":
            with wire(home, "--project", str(home.project)) as on:
                yield home, Mcp(on)
        else:
            yield home, Http(web) if web else Cli(home) if name == "cli" else Socket(home)
    finally:
        running.stop()


@pytest.fixture(scope="module")
def by_socket(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the socket answers and leaves."""
    with (
        pytest.MonkeyPatch.context() as patch,
        opened("socket", tmp_path_factory.mktemp("s") / "h", patch) as (home, door),
    ):
        lived = life(home, door, Socket(home))
    return {part: plain(lived[part], lived["names"]) for part in ("answers", "rows")}


@pytest.mark.parametrize("name", ["cli", "http", "mcp"])
def test_every_door_gives_the_same_and_leaves_the_same(
    name: str, by_socket: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Step by step: the answer; and in the end every row, down to history, tombstones and indexes that wait."""
    with opened(name, tmp_path / "h", monkeypatch) as (home, door):
        lived = life(home, door, Socket(home))
    answers = plain(lived["answers"], lived["names"])
    differ = {step: (said, by_socket["answers"][step]) for step, said in answers.items()
              if not agreed(said, by_socket["answers"][step])}  # fmt: skip
    assert differ == {}
    left = plain(lived["rows"], lived["names"])
    assert {table: (left[table], held) for table, held in by_socket["rows"].items() if left[table] != held} == {}


def test_the_table_has_every_verb_that_people_use() -> None:
    """A verb without a row here is one that only recalld's own parts use, or another row's twin."""
    from recalld.verbs import registry

    asked = {step.verb for step in STEPS}
    own = {"complete", "labels", "past", "past-look", "past-offsets", "adopt", "import", "import-rehearse", "browse",
           "revision", "receipts", "receipt", "patch", "projects-change", "which", "visible", "handed", "line", "hub-join",
           "hub-leave", "hub-share", "hub-unshare", "hub-announced", "hub-key", "hub-seal", "hub-outbox", "hub-settle",
           "hub-take", "hub-sweep", "hub-mark", "hub-fold"}  # fmt: skip
    assert set(registry.VERBS) - asked - own == set()
    assert not own & asked
