"""The HTTP door: what each route promises, asked of a real process."""

from __future__ import annotations

import json
import os
import signal
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from conftest import Home, failed, memory
from recalld.web.door import LISTENERS
from test_daemon import hook, said
from web_house import Web, alive, until, web_of


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Web]:
    """One daemon for the tests that only ask."""
    with web_of(tmp_path_factory.mktemp("web")) as made:
        yield made


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Web]:
    """A daemon for one test, which may kill it."""
    with web_of(tmp_path) as made:
        yield made


# Memories ------------------------------------------------------------------------------------------------------------


def test_a_memory_is_written_read_changed_and_deleted(web: Web) -> None:
    made = web.ask("POST", "/memories", {"content": "Releases are cut on Tuesdays.", "type": "decision"})
    assert made.status == 201
    path = made.headers["Location"]
    assert (path, made.headers["ETag"]) == (f"/memories/{made.data['id']}", '"1"')
    read = web.ask("GET", path)
    assert (read.status, read.data, read.headers["ETag"]) == (200, made.data, '"1"')
    assert (read.data["scope"], read.data["source"], read.data["type"]) == ("user", "http", "decision")
    wanted = {"content": "Releases are cut on Wednesdays.", "tags": ["area:release"], "pinned": True, "expires": "90d"}
    changed = web.ask("PATCH", path, {"version": 1, "type": "fact", **wanted})
    assert (changed.status, changed.headers["ETag"]) == (200, '"2"')  # all fields, one version
    assert [changed.data[name] for name in ("content", "tags", "pinned", "type")] == [
        "Releases are cut on Wednesdays.", ["area:release"], True, "fact",
    ]  # fmt: skip
    assert changed.data["expires_at"]
    assert web.ask("PATCH", path, {"version": 2, "expires": None}).data["expires_at"] is None
    steps = web.get(f"{path}/history")
    assert [(step["action"], step["actor"], step["content"]) for step in steps][:2] == [
        ("insert", "http", ""), ("update", "http", "Releases are cut on Tuesdays."),
    ]  # fmt: skip
    gone = web.ask("DELETE", path)
    assert (gone.status, gone.body) == (204, b"")
    assert web.ask("GET", path).status == 404
    assert web.ask("DELETE", path).status == 404
    assert "Wednesdays" not in web.ask("GET", "/export").body.decode()


def test_a_stale_patch_changes_nothing_and_is_told_what_is_there(web: Web) -> None:
    """B20."""
    made = web.add("The cache lives for 5 minutes.")
    path = f"/memories/{made['id']}"
    assert web.ask("PATCH", path, {"pinned": True}, headers={"If-Match": '"1"'}).status == 200
    for stale in (
        {"body": {"pinned": False, "version": 1}},
        {"body": {"pinned": False}, "headers": {"If-Match": '"1"'}},
        {"body": {"pinned": False, "version": 2}, "headers": {"If-Match": '"1"'}},
        {"body": {"pinned": False, "version": 1}, "headers": {"If-Match": '"2"'}},
    ):
        refused = web.ask("PATCH", path, **stale)
        assert (refused.status, refused.headers["Content-Type"]) == (409, "application/problem+json")
        assert refused.data["current"] == web.get(path)
    same = web.ask("PATCH", path, {"pinned": True, "version": 1})  # nothing would change, and yet it saw another
    assert same.status == 409
    assert web.ask("PATCH", path, {"pinned": False}).status == 428
    assert web.ask("PATCH", path, {"pinned": False}, headers={"If-Match": "1"}).status == 422
    assert web.get(path)["pinned"] is True


def test_write_is_what_memtether_calls_add_and_search_finds_it(web: Web) -> None:
    made = web.ask("POST", "/write", {"content": "The billing service speaks gRPC.", "tags": ["tech:grpc"]}).data
    (found, *_) = web.get("/search?q=which+protocol+does+billing+speak&limit=3")
    assert found["id"] == made["id"]
    assert 0 < found["similarity"] <= 1 and found["score"] > 0
    assert web.get("/search?q=billing&tag=tech:rest") == []


def test_what_belongs_to_a_project_is_found_by_its_name_and_its_path(web: Web) -> None:
    made = web.add("The shop sells tea.", project=str(web.home.project))
    assert (made["scope"], made["project"]) == ("project", "shop")
    for name in ("shop", str(web.home.project)):
        assert made["id"] in [one["id"] for one in web.get(f"/memories?project={name}&scope=project")["items"]]
    assert "shop" in [one["name"] for one in web.get("/projects")]
    moved = web.ask("PATCH", f"/memories/{made['id']}", {"version": 1, "scope": "user"}).data
    assert (moved["scope"], moved["project"]) == ("user", None)
    back = web.ask("PATCH", f"/memories/{made['id']}", {"version": 2, "project": "shop"}).data
    assert (back["scope"], back["project"]) == ("project", "shop")
    assert web.ask("GET", "/memories?project=nowhere").status == 422
    assert web.ask("POST", "/write", {"content": "x y z", "scope": "project"}).status == 422


def test_bulk_does_one_thing_to_all_or_to_none(web: Web) -> None:
    ids = [web.add(f"The colour number {number} is blue.")["id"] for number in range(3)]

    def bulk(action: str, which: list[str] = ids, **more: Any) -> Any:
        answer = web.ask("POST", "/bulk", {"action": action, "ids": which, **more})
        assert answer.status == 200, answer
        return answer.data["memories"]

    assert [one["pinned"] for one in bulk("pin")] == [True] * 3
    pinned = web.get("/memories?pinned=true")
    assert set(ids) <= {one["id"] for one in pinned["items"]} and all(one["pinned"] for one in pinned["items"])
    assert not set(ids) & {one["id"] for one in web.get("/memories?pinned=false&limit=500")["items"]}
    assert [one["pinned"] for one in bulk("unpin")] == [False] * 3
    assert [one["tags"] for one in bulk("tag", tags=["area:colour"])] == [["area:colour"]] * 3
    assert {"tag": "area:colour", "memories": 3} in web.get("/tags")
    assert [one["tags"] for one in bulk("untag", tags=["area:colour"])] == [[]] * 3
    assert [one["status"] for one in bulk("archive")] == ["archived"] * 3
    assert [one["status"] for one in bulk("restore")] == ["active"] * 3
    assert [one["scope"] for one in bulk("move", scope="org")] == ["org"] * 3
    refused = web.ask("POST", "/bulk", {"action": "delete", "ids": [ids[0], "m-" + "0" * 20]})
    assert refused.status == 404
    assert web.get(f"/memories/{ids[0]}")["status"] == "active"
    bulk("delete")
    assert [web.ask("GET", f"/memories/{one}").status for one in ids] == [404] * 3


def test_feedback_counts(web: Web) -> None:
    made = web.add("The linter is strict.")
    answer = web.ask("POST", f"/memories/{made['id']}/feedback", {"verdict": "useful"})
    assert (answer.status, answer.data["useful_count"]) == (200, 1)


def test_pages_neither_repeat_nor_skip_while_memories_come_in(own: Web) -> None:
    before = {own.add(f"Fact number {number} stands.")["id"] for number in range(25)}
    for sort in ("newest", "oldest", "used"):
        seen: list[str] = []
        cursor = ""
        while True:
            page = own.get(f"/memories?limit=4&sort={sort}" + (f"&cursor={cursor}" if cursor else ""))
            assert page["total"] >= len(before)
            seen += [one["id"] for one in page["items"]]
            own.add(f"Meanwhile {sort} {len(seen)} was said.")
            if not (cursor := page["next_cursor"]) or len(seen) > 200:
                break
            if sort == "oldest" and len(seen) >= len(before):
                break  # each page there meets what came in: it would not end
        assert len(seen) == len(set(seen))
        assert before <= set(seen), sort
    wrong = own.get("/memories?limit=1&sort=newest")["next_cursor"]
    assert own.ask("GET", f"/memories?sort=used&cursor={wrong}").status == 422
    assert own.ask("GET", "/memories?cursor=AAAA").status == 422


# What is to settle, receipts, the rest ------------------------------------------------------------------------------


def test_conflicts_are_listed_and_settled(own: Web) -> None:
    older, newer = own.add("The API listens on port 8080."), own.add("The API listens on port 9090.")
    (conflict,) = own.get("/conflicts")
    assert (conflict["older"]["id"], conflict["newer"]["id"]) == (older["id"], newer["id"])
    path = f"/conflicts/{conflict['conflict_id']}/resolve"
    settled = own.ask("POST", path, {"keep": "B"}).data
    assert [one["id"] for one in settled["kept"]] == [newer["id"]]
    assert [one["id"] for one in settled["superseded"]] == [older["id"]]
    assert own.get("/conflicts") == []
    assert own.ask("POST", path, {"keep": "B"}).status == 404


def test_what_was_given_and_why_is_in_its_receipt(own: Web) -> None:
    made = own.add("The API of the shop listens on port 8080.", project=str(own.home.project))
    session = "5c1de0aa-0000-4000-8000-000000000001"
    hook(own.home, "session-start", said(own.home, "session-start", "p1", session, source="startup"))
    page = own.get("/receipts?project=shop&limit=1")
    (short,) = page["items"]
    assert (short["session_id"], short["event"], short["project"]) == (session, "SessionStart", "shop")
    assert (short["given"], short["considered"] >= 1, short["used"]) == (1, True, None)
    full = own.get(f"/receipts/{short['injection_id']}")
    (item,) = [item for item in full["items"] if item["given"]]
    assert item["memory"] == made["id"]
    assert full["memories"][made["id"]]["content"] == made["content"]
    assert {"reason", "score", "similarity", "used"} <= set(item)
    assert own.get(f"/receipts?session={session[:8]}")["items"] == [short]
    assert own.get("/receipts?session=ffff")["items"] == []
    hook(own.home, "session-start", said(own.home, "session-start", "p2", session[:-1] + "2", source="startup"))
    first = own.get("/receipts?limit=1")
    assert own.get(f"/receipts?limit=1&cursor={first['next_cursor']}") == {"items": [short], "next_cursor": None}
    assert own.ask("GET", "/receipts/99").status == 404


def test_the_rest_of_the_routes_answer(web: Web) -> None:
    web.add("Something to count.")
    assert web.get("/health") == {"status": "ok", "version": web.get("/status")["version"]}
    assert web.get("/status")["http"] == {"state": "serving", "url": web.url, "error": None}
    assert web.get("/stats?days=7")["by_day"][-1]["added"] > 0
    assert "http" in [check["check"] for check in web.get("/doctor")]
    assert web.get("/inbox") == []
    assert web.ask("POST", "/pause").data == {"paused": True}
    assert web.get("/status")["paused"] is True
    assert web.ask("POST", "/resume").data == {"paused": False}
    assert web.ask("POST", "/undo", {}).status == 422
    refused = web.ask("GET", "/nothing/here")
    assert (refused.status, refused.data["title"]) == (404, "Not Found")
    other = web.ask("PUT", "/memories")
    assert (other.status, set(other.headers["Allow"].split(", "))) == (405, {"GET", "HEAD", "POST"})
    assert web.ask("HEAD", "/memories").body == b""


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/memories?limit=501", 422), ("/memories?limit=x", 422), ("/memories?colour=red", 422),
        ("/memories?limit=1&limit=2", 422), ("/memories/xyz", 422), ("/memories/m-00000000000000000000", 404),
        ("/search", 422), ("/search?q=x&since=yesterday", 422), ("/search?q=x&since=2026-13-45", 422),
        ("/receipts/0", 422), ("/stats?days=0", 422),
    ],
)  # fmt: skip
def test_a_wrong_question_is_refused_in_one_line(web: Web, path: str, status: int) -> None:
    answer = web.ask("GET", path)
    assert (answer.status, answer.headers["Content-Type"]) == (status, "application/problem+json")
    assert answer.data["status"] == status
    assert "\n" not in answer.data["detail"]


def test_what_is_exported_comes_in_elsewhere_and_is_known_here(
    own: Web, tmp_path_factory: pytest.TempPathFactory
) -> None:
    own.add("The shop sells tea.", project=str(own.home.project))
    own.add("Tests come first.")
    whole, lines = own.ask("GET", "/export").body, own.ask("GET", "/export?format=jsonl").body
    assert "# Memories" in own.ask("GET", "/export?format=markdown").body.decode()
    kinds = {"application/json": whole, "application/x-ndjson": lines}
    for kind, file in kinds.items():
        known = own.ask("POST", "/import", raw=file, headers={"Content-Type": kind})
        assert known.data == {"added": 0, "updated": 0, "known": 2, "deleted_here": 0, "projects": 0}
    with web_of(tmp_path_factory.mktemp("other")) as other:
        rehearsed = other.ask("POST", "/import?dry_run=true", raw=whole)
        assert (rehearsed.data["added"], other.get("/memories")["total"]) == (2, 0)
        assert other.ask("POST", "/import", raw=whole).data["added"] == 2
        assert other.get("/memories")["total"] == 2
    broken = own.ask("POST", "/import", raw=b'{"format": "recalld"')
    assert broken.status == 422 and "the file:1" in broken.data["detail"]


def test_the_import_of_the_command_line_takes_what_http_exports(web: Web, tmp_path: Path) -> None:
    web.add("Exports are alike.")
    file = tmp_path / "export.json"
    file.write_bytes(web.ask("GET", "/export").body)
    assert web.home.json("import", str(file))["known"] >= 1


# Events --------------------------------------------------------------------------------------------------------------


class Stream:
    """A listener to /events."""

    def __init__(self, web: Web) -> None:
        self.connection = web.connect()
        self.connection.request("GET", "/events", headers={"Authorization": f"Bearer {web.token}"})
        self.answer = self.connection.getresponse()
        assert self.answer.headers["Content-Type"].startswith("text/event-stream")

    def next(self) -> tuple[str, dict[str, int]]:
        """The next event, as soon as it comes."""
        lines: list[str] = []
        while line := self.answer.readline().decode().strip():
            lines.append(line)
        if lines[:1] == [": still here"]:
            return self.next()
        fields = dict(line.split(": ", 1) for line in lines)
        return fields["event"], json.loads(fields["data"])


def test_a_change_by_another_program_arrives(web: Web) -> None:
    stream = Stream(web)
    name, first = stream.next()
    assert name == "ready"
    memory(web.home, "Told by the command line.")
    name, then = stream.next()
    assert name == "change"
    assert then["memories"] > first["memories"] and then["revision"] > first["revision"]
    stream.connection.close()


def test_who_goes_away_leaves_its_place_to_others(web: Web) -> None:
    for _ in range(LISTENERS + 5):
        stream = Stream(web)
        stream.next()
        stream.connection.close()
        stream.answer.close()


def test_listening_ends_with_the_door(own: Web) -> None:
    stream = Stream(own)
    stream.next()
    own.home.json("ui", "--off")
    until(lambda: not alive(own.pid))
    assert stream.answer.read() == b""  # in order: the stream is whole, the connection is not just cut
    stream.connection.close()


# The process ---------------------------------------------------------------------------------------------------------


def test_off_means_off_and_on_again_needs_no_restart(own: Web) -> None:
    assert own.home.json("status")["http"]["state"] == "serving"
    own.home.json("ui", "--off")
    until(lambda: not alive(own.pid))
    until(lambda: own.home.json("status")["http"] == {"state": "off", "url": None, "error": None})
    assert not own.home.paths.http_facts.exists()
    with pytest.raises(ConnectionRefusedError):
        own.ask("GET", "/health")
    before, daemon = own.pid, own.daemon.pid
    own.find()
    assert own.pid != before and own.home.json("status")["pid"] == daemon
    assert own.get("/health")["status"] == "ok"


def test_a_home_without_the_setting_serves_no_http(home: Home, daemon: Any) -> None:
    assert home.json("status")["http"]["state"] == "off"
    assert not home.paths.http_facts.exists() and not home.paths.http_token.exists()


def test_a_killed_door_comes_back_where_it_was(own: Web) -> None:
    """B08."""
    port, pid = own.port, own.pid
    os.kill(pid, signal.SIGKILL)
    until(lambda: own.home.json("status")["http"]["state"] == "serving" and not alive(pid))
    own.find()
    assert (own.port, own.pid != pid) == (port, True)
    assert own.get("/health")["status"] == "ok"


def test_a_killed_daemon_takes_its_door_along(own: Web) -> None:
    """B05."""
    own.daemon.process.kill()
    own.daemon.process.wait()
    until(lambda: not alive(own.pid))


def test_the_door_ends_with_the_daemon(own: Web) -> None:
    own.daemon.stop()
    assert not alive(own.pid)
    assert not own.home.paths.http_facts.exists()


def test_a_port_that_is_taken_is_said_and_another_one_helps(own: Web) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        line = failed(own.home.run("ui", "--no-open", "--port", str(port)))
        assert f"port {port} cannot be had" in line and "http.port 0" in line
        checks = json.loads(own.home.run("doctor", "--json").stdout)
        (check,) = [check for check in checks if check["check"] == "http"]
        assert not check["ok"] and str(port) in check["detail"]
    own.home.json("ui", "--no-open", "--port", "0")
    own.find()
    assert own.get("/health")["status"] == "ok"


def test_the_browser_is_opened_here_and_not_over_ssh(web: Web, tmp_path: Path) -> None:
    script, opened = tmp_path / "browser", tmp_path / "opened"
    script.write_text(f'#!/bin/sh\necho "$1" > {opened}\n')
    script.chmod(0o755)
    here = web.home.run("ui", BROWSER=f"{script} %s")
    assert here.stdout == f"the viewer is open: {web.url}\n"
    url, _, code = opened.read_text().strip().partition("/#code=")
    assert url == web.url
    assert web.ask("POST", "/login", {"code": code}, token=None).status == 200
    opened.unlink()
    there = web.home.run("ui", BROWSER=f"{script} %s", SSH_CONNECTION="192.0.2.1 1 192.0.2.2 22")
    assert f"\n{web.url}/#code=" in there.stdout
    assert not opened.exists()


def test_the_settings_file_keeps_its_comments(home: Home) -> None:
    home.recalld.mkdir()
    home.paths.config.write_text("# mine\n[memory]\nnotice = false  # quiet\n")
    home.json("ui", "--off")
    text = home.paths.config.read_text()
    assert text.startswith("# mine\n[memory]\nnotice = false  # quiet\n")
    assert "enabled = false" in text


def test_a_half_request_keeps_nobody_waiting(web: Web) -> None:
    halves = []
    for _ in range(30):
        half = web.connect()
        half.connect()
        assert half.sock
        half.sock.sendall(b"POST /memories HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nAuthor" % web.port)
        halves.append(half)
    slow = web.connect()
    slow.putrequest("POST", "/memories", skip_host=True)
    for name, value in {"Host": f"127.0.0.1:{web.port}", "Authorization": f"Bearer {web.token}",
                        "Content-Type": "application/json", "Content-Length": "1000"}.items():  # fmt: skip
        slow.putheader(name, value)
    slow.endheaders(b'{"content":')
    assert web.get("/health")["status"] == "ok"
    assert web.get("/memories?limit=1")["total"] >= 0
    for half in [*halves, slow]:
        half.close()


def test_many_at_once_are_all_answered(web: Web) -> None:
    answers: list[int] = []

    def work(number: int) -> None:
        answers.append(web.ask("POST", "/memories", {"content": f"Writer {number} was here."}).status)
        answers.append(web.ask("GET", "/memories?limit=5").status)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(answers) == [200] * 16 + [201] * 16
