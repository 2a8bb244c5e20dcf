"""The HTTP door's boundaries: who may come in, from where, how often and with how much."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import json
import os
import secrets
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from conftest import PATIENCE_S
from recalld.web import keys
from recalld.web.guard import OPEN, REQUESTS_S, STATIC, WRITES_S, Bucket, Guard
from recalld.web.routes import ROUTES, Route
from web_house import Reply, Web, web_of

linux = pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="needs /proc")
as_root = pytest.mark.skipif(os.getuid() != 0, reason="needs root")
GUARDED = [route for route in ROUTES if route.path not in OPEN and not route.path.startswith(STATIC)]
CANARY = "The canary of the coal mine is yellow."


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Web]:
    with web_of(tmp_path_factory.mktemp("web")) as made:
        made.add(CANARY)
        yield made


def path_of(route: Route) -> str:
    return route.path.format(id="m-0", number=1, name="x")


# Without the token ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("route", GUARDED, ids=lambda route: f"{route.method} {route.path}")
def test_no_route_with_data_answers_without_the_token(web: Web, route: Route) -> None:
    """B84."""
    wrong = {"Authorization": f"Bearer {secrets.token_urlsafe(32)}"}
    basic = {"Authorization": f"Basic {web.token}"}
    for headers in ({}, wrong, basic, {"Authorization": web.token}, {"Cookie": f"token={web.token}"}):
        answer = web.ask(route.method, path_of(route), {}, token=None, headers=headers)
        assert (answer.status, answer.headers["WWW-Authenticate"]) == (401, 'Bearer realm="recalld"')
        assert CANARY not in answer.body.decode()
    for name in ("token", "access_token"):
        assert web.ask(route.method, f"{path_of(route)}?{name}={web.token}", {}, token=None).status == 401


def test_a_path_that_is_not_there_is_no_way_round_the_token(web: Web) -> None:
    for path in (
        "/nothing",
        "/mcp",
        "//memories",
        "/static/../memories",
        "/Memories",
        "/memories/",
        "/health/../memories",
    ):
        assert web.ask("GET", path, token=None).status in (401, 404), path
        assert CANARY not in web.ask("GET", path, token=None).body.decode()


def test_what_is_open_holds_no_data(web: Web) -> None:
    """B84."""
    assert web.ask("GET", "/health", token=None).status == 200
    described = web.ask("GET", "/openapi.json", token=None)
    assert described.status == 200 and described.data["openapi"] == "3.1.0"
    page = web.ask("GET", "/docs", token=None)
    assert (page.status, page.headers["Content-Type"]) == (200, "text/html; charset=utf-8")
    again = web.ask("GET", "/docs", token=None, headers={"If-None-Match": page.headers["ETag"]})
    assert (again.status, again.body) == (304, b"")
    for path in (
        "/static/../serve.py",
        "/static/%2e%2e%2fserve.py",
        "/static/..",
        "/static/.hidden.js",
        "/static/serve.py",
    ):
        assert web.ask("GET", path, token=None).status == 404, path


def test_the_token_is_its_owners_alone(web: Web) -> None:
    for file in (web.home.paths.http_token, web.home.paths.http_facts):
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert len(web.token) >= 43


def test_a_token_that_others_could_read_is_made_anew(tmp_path: Path) -> None:
    """B84."""
    file = tmp_path / "http.token"
    made = keys.token(file)
    assert keys.token(file) == made
    file.chmod(0o644)
    assert keys.token(file) != made
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    file.unlink()
    file.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError):
        keys.token(file)


@linux
def test_no_secret_is_on_a_command_line_or_in_the_environment(web: Web) -> None:
    for name in ("cmdline", "environ"):
        assert web.token.encode() not in Path(f"/proc/{web.pid}/{name}").read_bytes()
    environ = Path(f"/proc/{web.pid}/environ").read_bytes()
    assert b"ANTHROPIC" not in environ


# From elsewhere ------------------------------------------------------------------------------------------------------


@linux
def test_only_the_loopback_interface_is_listened_on(web: Web) -> None:
    """B84."""
    listening = [
        line.split()[1]
        for table in ("tcp", "tcp6")
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]
        if line.split()[3] == "0A" and line.split()[1].endswith(f":{web.port:04X}")
    ]
    assert listening == [f"0100007F:{web.port:04X}"]


@pytest.mark.parametrize(
    "host", ["evil.test", "evil.test:{port}", "127.0.0.1", "127.0.0.1:1", "localhost.evil.test:{port}", ""]
)
def test_a_name_that_was_led_here_is_not_served(web: Web, host: str) -> None:
    """B84, by DNS rebinding."""
    for path in ("/memories", "/", "/health"):
        answer = raw(web, "GET", path, {"Host": host.format(port=web.port), "Authorization": f"Bearer {web.token}"})
        assert answer.status == 403
        assert CANARY not in answer.body.decode()


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "LOCALHOST", "[::1]"])
def test_our_own_names_are_served(web: Web, host: str) -> None:
    headers = {"Host": f"{host}:{web.port}", "Authorization": f"Bearer {web.token}"}
    assert raw(web, "GET", "/memories", headers).status == 200


def raw(web: Web, method: str, path: str, headers: dict[str, str]) -> Reply:
    """A request with these headers and no others."""
    connection = web.connect()
    connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
    for name, value in headers.items():
        connection.putheader(name, value)
    connection.endheaders()
    answer = connection.getresponse()
    found = Reply(answer.status, answer.headers, answer.read())
    connection.close()
    return found


@pytest.mark.parametrize(
    "origin", ["https://evil.test", "http://evil.test", "null", "https://127.0.0.1:{port}", "http://127.0.0.1:1"]
)
@pytest.mark.parametrize("method", ["GET", "POST", "OPTIONS"])
def test_a_page_of_another_origin_gets_nothing(web: Web, origin: str, method: str) -> None:
    """B84."""
    headers = {"Origin": origin.format(port=web.port)}
    for token in ("", None):
        answer = web.ask(method, "/memories", token=token, headers=headers)
        assert answer.status == 403
        assert not [name for name in answer.headers if name.lower().startswith("access-control-")]


def test_our_own_page_is_served_without_any_permission_to_others(web: Web) -> None:
    answer = web.ask("GET", "/memories", headers={"Origin": web.url})
    assert answer.status == 200
    assert not [name for name in answer.headers if name.lower().startswith("access-control-")]


def test_every_answer_says_what_a_browser_may_do_with_it(web: Web) -> None:
    for answer in (
        web.ask("GET", "/memories"),
        web.ask("GET", "/memories", token=None),
        web.ask("GET", "/docs"),
        web.ask("GET", "/nothing"),
    ):
        assert answer.headers["Content-Security-Policy"].startswith("default-src 'none'; script-src 'self'")
        assert "unsafe" not in answer.headers["Content-Security-Policy"]
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert answer.headers["Referrer-Policy"] == "no-referrer"
        assert answer.headers["Cross-Origin-Resource-Policy"] == "same-origin"
        assert "server" not in answer.headers and "set-cookie" not in answer.headers
    assert web.ask("GET", "/memories").headers["Cache-Control"] == "no-store"


# How much, how often -------------------------------------------------------------------------------------------------


def test_a_body_that_is_too_large_is_not_read(web: Web) -> None:
    connection = web.connect()
    connection.putrequest("POST", "/memories")
    for name, value in {
        "Authorization": f"Bearer {web.token}",
        "Content-Type": "application/json",
        "Content-Length": str((1 << 20) + 1),
    }.items():
        connection.putheader(name, value)
    connection.endheaders()
    assert connection.getresponse().status == 413
    connection.close()


def test_a_body_that_says_nothing_of_its_size_is_measured(web: Web) -> None:
    """B84."""
    connection = web.connect()
    headers = {"Authorization": f"Bearer {web.token}", "Content-Type": "application/json"}
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # it has answered and gone
        connection.request("POST", "/memories", iter([b"x" * (1 << 16)] * 17), headers, encode_chunked=True)
    assert connection.getresponse().status == 413
    connection.close()


def test_a_bucket_lets_through_what_it_may_and_fills_again() -> None:
    now = [0.0]
    bucket = Bucket(10, lambda: now[0])
    assert [bucket.takes() for _ in range(21)] == [True] * 20 + [False]
    now[0] = 0.5
    assert [bucket.takes() for _ in range(6)] == [True] * 5 + [False]
    now[0] = 100.0
    assert sum(bucket.takes() for _ in range(30)) == 20


def test_strangers_do_not_use_up_what_the_owner_may_ask() -> None:
    """And whoever writes too often may still read."""
    guard = Guard(served, keys.Keys("owner", lambda: 0.0), 80, lambda: 0.0)

    def status(method: str, authorization: str, path: str = "/memories") -> int:
        headers = [(b"host", b"127.0.0.1:80"), (b"authorization", authorization.encode())]
        sent: list[Any] = []

        async def send(message: Any) -> None:
            sent.append(message)

        scope = {"type": "http", "method": method, "path": path, "headers": headers}
        asyncio.run(guard(scope, None, send))  # type: ignore[arg-type]
        return int(sent[0]["status"])

    assert [status("POST", "Bearer x", "/login") for _ in range(REQUESTS_S)] == [200] * REQUESTS_S
    assert [status("GET", "Bearer x") for _ in range(REQUESTS_S)] == [401] * REQUESTS_S
    assert status("GET", "Bearer x") == 429
    assert [status("POST", "Bearer owner") for _ in range(2 * WRITES_S)] == [200] * 2 * WRITES_S
    assert status("POST", "Bearer owner") == 429
    assert status("GET", "Bearer owner") == 200


async def served(scope: Any, receive: Any, send: Any) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})


def test_who_writes_too_often_has_to_wait(tmp_path: Path) -> None:
    """B84: asked without waiting for the answers, so that no slow machine makes it less often."""
    with web_of(tmp_path) as web, socket.create_connection(("127.0.0.1", web.port), timeout=PATIENCE_S) as connection:
        head = f"POST /nothing HTTP/1.1\r\nHost: 127.0.0.1:{web.port}\r\nAuthorization: Bearer {web.token}\r\n"
        connection.sendall((head + "Content-Length: 0\r\n\r\n").encode() * 500)
        came = b""
        while b" 429 " not in came:
            part = connection.recv(1 << 16)
            assert part, came[-2000:]
            came += part
        assert came.count(b" 404 ") >= 2 * WRITES_S
        assert b"retry-after: 1\r\n" in came
        assert web.get("/memories")["total"] == 0


# Bodies and headers --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", ""]
)
def test_what_a_form_could_send_is_no_body(web: Web, kind: str) -> None:
    """B84: a form of another site needs nobody's leave to send these."""
    answer = web.ask("POST", "/memories", raw=b'{"content": "Sent by a form."}', headers={"Content-Type": kind})
    assert answer.status == 415


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b'"x"',
        b"\xff\xfe",
        b'{"content": "\\ud83d"}',
        b'{"content": "\xff"}',
        b'{"content": 1}',
        b"[" * 100_000,
    ],
)
def test_a_broken_body_is_refused(web: Web, body: bytes) -> None:
    answer = web.ask("POST", "/memories", raw=body)
    assert answer.status in (400, 422), answer
    assert answer.headers["Content-Type"] == "application/problem+json"


def test_control_characters_and_secrets_do_not_come_in(web: Web) -> None:
    key = "sk-ant-" + "api03-" + "Zx9" * 12
    made = web.add(f"NUL \u0000 and bell \u0007 and {key} in one sentence.", tags=[f"k:{key}"[:60]])
    stored = web.ask("GET", f"/memories/{made['id']}").body.decode()
    assert "\\u0000" not in stored and key not in stored


def test_the_name_of_a_client_is_kept_as_the_source_and_checked(web: Web) -> None:
    headers = {"X-Recalld-Client": "viewer"}
    made = web.ask("POST", "/write", {"content": "Said in the viewer."}, headers=headers)
    assert made.data["source"] == "viewer"
    for bad in ("Viewer", "a b", "x" * 41, ""):
        assert web.ask("GET", "/memories", headers={"X-Recalld-Client": bad}).status == 422


# The viewer's way in -------------------------------------------------------------------------------------------------


def test_a_code_opens_one_session_once(web: Web) -> None:
    """B84."""
    code = web.ask("POST", "/login-codes").data["code"]
    assert web.ask("POST", "/login", {"code": "x" * 43}, token=None).status == 401
    opened = web.ask("POST", "/login", {"code": code}, token=None)
    assert opened.status == 200
    session = opened.data["token"]
    assert session not in (code, web.token)
    assert web.get("/memories", token=session)["total"] >= 1
    assert web.ask("POST", "/login", {"code": code}, token=None).status == 401
    assert web.ask("GET", "/memories", token=code).status == 401


def test_codes_and_sessions_end() -> None:
    now = [0.0]
    known = keys.Keys("owner", lambda: now[0])
    late, code = known.code(), known.code()
    session = known.login(code)
    assert session and known.knows(f"Bearer {session}") and known.knows("bearer owner")
    now[0] = keys.CODE_S
    assert known.login(late) is None
    now[0] = keys.SESSION_S
    assert not known.knows(f"Bearer {session}")
    for _ in range(3 * keys.MOST):
        known.code()
    assert len(known._codes) == keys.MOST


@linux
@as_root
def test_another_users_process_cannot_use_a_code(web: Web) -> None:
    """It may have read it from the browser's command line."""
    program = """
import encodings.idna, http.client, json, os, sys
os.setuid(65534)
connection = http.client.HTTPConnection("127.0.0.1", int(sys.argv[1]))
connection.request("POST", "/login", json.dumps({"code": sys.argv[2]}), {"Content-Type": "application/json"})
print(connection.getresponse().status)
"""
    code = web.ask("POST", "/login-codes").data["code"]
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", program, str(web.port), code],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )
    assert (done.stdout, done.stderr) == ("401\n", "")
    assert web.ask("POST", "/login", {"code": code}, token=None).status == 200


CROWD = """
import encodings.idna, socket, sys, os
os.setuid(int(sys.argv[2]))
said, held = sys.argv[3].encode(), []
for _ in range(300):
    try:
        held.append(socket.create_connection(("127.0.0.1", int(sys.argv[1])), timeout=5))
        if said:  # and wait until the body is waited for
            held[-1].sendall(said)
            held[-1].recv(100)
    except OSError:  # turned away
        pass
print("there", flush=True)
sys.stdin.read()
"""
HALF = (
    "POST /login HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: application/json\r\nContent-Length: 9\r\n"
    "Expect: 100-continue\r\n\r\n"
)


@linux
@pytest.mark.parametrize(
    ("uid", "said"),
    [(os.getuid(), ""), pytest.param(65534, "", marks=as_root), pytest.param(65534, HALF, marks=as_root)],
    ids=["own, silent", "another's, silent", "another's, half a body"],
)
def test_a_crowd_of_connections_does_not_keep_the_owner_out(web: Web, uid: int, said: str) -> None:
    """Idle ones make room, and another user's are turned away; what runs as the owner could read the token anyway."""
    words = [sys.executable, "-I", "-S", "-c", CROWD, str(web.port), str(uid), said.format(port=web.port)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as crowd:
        assert crowd.stdout and crowd.stdin
        assert crowd.stdout.readline() == "there\n"
        for _ in range(5):
            assert web.get("/memories")["total"] >= 1
        crowd.stdin.close()


@linux
def test_half_a_head_and_half_a_body_are_ended_alike(web: Web) -> None:
    """Without a token, too: neither keeps its place for longer than the other."""
    with (
        socket.create_connection(("127.0.0.1", web.port), timeout=PATIENCE_S) as head,
        socket.create_connection(("127.0.0.1", web.port), timeout=PATIENCE_S) as body,
    ):
        head.sendall(b"GET /memories HTTP/1.1\r\n")
        body.sendall(HALF.format(port=web.port).encode() + b"{")
        assert body.recv(1000).startswith(b"HTTP/1.1 100 ")
        assert head.recv(1000) == b""
        head.close()
        body.settimeout(PATIENCE_S / 3)
        assert body.recv(1000).startswith(b"HTTP/1.1 408 ")


# The process ---------------------------------------------------------------------------------------------------------


@linux
def test_the_door_holds_nothing_of_the_daemons(web: Web) -> None:
    """B08: no listening socket, no lock, no database."""
    ours = {os.readlink(entry) for entry in Path(f"/proc/{web.daemon.pid}/fd").iterdir()}
    held = [os.readlink(entry) for entry in Path(f"/proc/{web.pid}/fd").iterdir()]
    assert not [name for name in held if name.startswith(str(web.home.recalld))]
    sockets = {name for name in held if name.startswith("socket:")} & ours
    assert not sockets


def test_a_hook_is_answered_while_the_door_is_gone_and_while_it_is_busy(web: Web) -> None:
    from test_daemon import hook, said

    told: list[Any] = []
    with socket.create_connection(("127.0.0.1", web.port)) as half:
        half.sendall(b"GET /memories HTTP/1.1\r\n")
        answer = hook(web.home, "session-start", said(web.home, "session-start", "p1", source="startup"))
        told.append(json.loads(answer.stdout))
    assert CANARY in json.dumps(told)


def test_http_is_spoken_no_other_way(web: Web) -> None:
    """Two lengths, a broken head: refused, and the next request is served."""
    for text in (b"GET /memories HTTP/1.1\r\n\r\n", b"\x16\x03\x01\r\n\r\n",
                 b"POST /memories HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nx"):  # fmt: skip
        with socket.create_connection(("127.0.0.1", web.port), timeout=PATIENCE_S) as connection:
            connection.sendall(text)
            reply = http.client.HTTPResponse(connection)
            reply.begin()
            assert reply.status in (400, 401, 403)
            reply.close()
    assert web.get("/memories")["total"] >= 1
