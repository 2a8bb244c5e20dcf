"""The hook is a pipe that never harms the session it runs in, whatever stands at its two ends."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import random
import select
import signal
import socket
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from recalld import paths

HOOK = Path(__file__).parents[1] / "hooks" / "hook.py"
EVENTS = ("session-start", "prompt", "stop", "session-end")
GENEROUS_S = {"session-start": 2.5, "prompt": 1.0, "stop": 1.0, "session-end": 1.0}  # the promise is 1 and 0.3
INPUT = b'{"session_id": "s", "prompt_id": "p", "last_assistant_message": "done"}'
REPLY = json.dumps({"hookSpecificOutput": {"hookEventName": "UserPromptSubmit", "additionalContext": 'a "{" \\ 汉'}})

Serve = Callable[[socket.socket], None]


class Result:
    """What one run of the hook left: checked at once against what every run must keep to."""

    def __init__(self, event: str, done: subprocess.CompletedProcess[bytes], seconds: float) -> None:
        assert done.returncode == 0
        assert done.stderr == b""
        assert seconds < GENEROUS_S.get(event, 1.0), f"{event} took {seconds:.2f} s"
        self.out = done.stdout
        if self.out:
            said = json.loads(self.out.decode())
            assert isinstance(said, dict)
            assert not {"decision", "continue"} & set(said)


class Hook:
    """The script with a home of its own."""

    def __init__(self, folder: Path) -> None:
        self.home = folder
        self.socket = folder / "recalld.sock"
        self.spool = folder / "spool"
        self.env = {"HOME": str(folder), "RECALLD_HOME": str(folder), "PATH": os.defpath}

    def argv(self, event: str, *args: str) -> list[str]:
        return [sys.executable, "-I", "-S", str(HOOK), event, *args]

    def __call__(
        self, event: str, *args: str, data: bytes = INPUT, env: dict[str, str] | None = None, cwd: Path | None = None
    ) -> Result:
        started = time.monotonic()
        done = subprocess.run(
            self.argv(event, *args),
            input=data,
            capture_output=True,
            check=False,
            env=self.env | (env or {}),
            cwd=cwd,
            timeout=20,
        )
        return Result(event, done, time.monotonic() - started)

    def begin(self, event: str, *args: str, **options: Any) -> subprocess.Popen[bytes]:
        """The same, left running: its input is all there from the start."""
        file = self.home / "input"
        if not file.exists():  # another run may be reading it
            file.write_bytes(INPUT)
        with file.open("rb") as data:
            return subprocess.Popen(
                self.argv(event, *args),
                stdin=data,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=self.env,
                **options,
            )

    def spooled(self) -> list[bytes]:
        return [file.read_bytes() for file in sorted(self.spool.glob("*.hook"))]


@pytest.fixture
def hook(tmp_path: Path) -> Hook:
    return Hook(tmp_path)


def load() -> ModuleType:
    spec = importlib.util.spec_from_file_location("hook", HOOK)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def read_all(peer: socket.socket) -> bytes:
    data = b""
    while chunk := peer.recv(1 << 16):
        data += chunk
    return data


@contextlib.contextmanager
def serving(path: Path, serve: Serve) -> Iterator[None]:
    """A real listener at `path` that gives each connection to `serve`."""
    listener = socket.socket(socket.AF_UNIX)
    with contextlib.chdir(path.parent):  # the folder's name may be longer than a socket's path can be
        listener.bind(path.name)
    listener.listen(64)

    def accept() -> None:
        while True:
            peer, _ = listener.accept()
            with peer, contextlib.suppress(OSError):
                if not stopping.is_set():
                    serve(peer)
            if stopping.is_set():
                return

    stopping = threading.Event()
    thread = threading.Thread(target=accept)
    thread.start()
    try:
        yield
    finally:
        stopping.set()
        with socket.socket(socket.AF_UNIX) as last, contextlib.chdir(path.parent):
            last.connect(path.name)
        thread.join()
        listener.close()


def answering(reply: bytes, seen: list[bytes] | None = None) -> Serve:
    def serve(peer: socket.socket) -> None:
        request = read_all(peer)
        if seen is not None:
            seen.append(request)
        peer.sendall(reply)

    return serve


@pytest.mark.parametrize("event", EVENTS)
def test_the_request_is_one_header_line_and_the_input_untouched(hook: Hook, event: str) -> None:
    seen: list[bytes] = []
    data = '{"prompt": "汉 😀"}'.encode() + b"\xff\x00\n"
    env = {"CLAUDE_CODE_ENTRYPOINT": "cli", "CLAUDE_PROJECT_DIR": "/a b/=\n汉"}
    with serving(hook.socket, answering(b"{}", seen)):
        assert hook(event, str(hook.socket), data=data, env=env).out == b""
    header, _, payload = seen[0].partition(b"\n")
    assert payload == data
    assert header.split() == [
        b"hook",
        event.encode(),
        b"entrypoint=cli",
        b"project=/a%20b/%3D%0A%E6%B1%89",
        b"pid=%d" % os.getpid(),
    ]
    assert hook.spooled() == []


@pytest.mark.parametrize("event", ["session-start", "prompt"])
def test_a_whole_reply_is_printed_as_it_came(hook: Hook, event: str) -> None:
    with serving(hook.socket, answering(REPLY.encode())):
        assert hook(event, str(hook.socket)).out == REPLY.encode()


@pytest.mark.parametrize("event", ["stop", "session-end"])
def test_the_end_of_a_turn_prints_nothing(hook: Hook, event: str) -> None:
    with serving(hook.socket, answering(REPLY.encode())):
        assert hook(event, str(hook.socket)).out == b""
    assert hook.spooled() == []


@pytest.mark.parametrize(
    "reply",
    [
        b"",
        b"null",
        b"[]",
        b"{",
        b"hello",
        b"{hello}",
        b'{"a": 1}{"b": 2}',
        b"{}{}",
        b'{}\n{"a": 1}',
        b'{"a": "\xff"}',
        b'{"a": "line\nline"}',
        b"\x00",
        b'{"a" "b"}',
        b"Traceback (most recent call last):",
        REPLY.encode()[:-1],
        REPLY.encode()[:40],
        b'{"a": "' + b"x" * (1 << 17) + b'"}',
        b'{"a":' * 20000 + b"1" + b"}" * 20000,
        b"{" + b'"a":[' * 9000 + b"1," * 9000,
    ],
    ids=lambda reply: repr(reply[:20]),
)
def test_what_is_no_answer_is_not_printed_and_a_turn_is_kept(hook: Hook, reply: bytes) -> None:
    with serving(hook.socket, answering(reply)):
        assert hook("prompt", str(hook.socket)).out == b""
        assert hook("stop", str(hook.socket)).out == b""
    assert [request.split()[1] for request in hook.spooled()] == [b"prompt", b"stop"]


@pytest.mark.parametrize("reply", [b'{"decision": "block", "reason": "no"}', b'{"continue": false}'])
def test_nothing_on_the_socket_can_block_the_user(hook: Hook, reply: bytes) -> None:
    """B58: else whatever answers on the socket can keep a turn from ending."""
    with serving(hook.socket, answering(reply)):
        for event in EVENTS:
            assert hook(event, str(hook.socket)).out == b""


def hang(peer: socket.socket) -> None:
    """Take the request, then say nothing until the other side has closed (POLLHUP comes unasked)."""
    read_all(peer)
    poll = select.poll()
    poll.register(peer, 0)
    poll.poll(3000)


def dribble(peer: socket.socket) -> None:
    read_all(peer)
    with contextlib.suppress(OSError):
        for byte in b'{"systemMessage": "' + b"x" * 10_000:
            peer.sendall(bytes([byte]))
            threading.Event().wait(0.001)


def slam(peer: socket.socket) -> None:
    peer.recv(1)


@pytest.mark.parametrize("serve", [hang, dribble, slam])
@pytest.mark.parametrize("event", EVENTS)
def test_a_peer_that_never_finishes_costs_one_deadline(hook: Hook, event: str, serve: Serve) -> None:
    """B55: else the answer to a session's start comes in the middle of the session."""
    with serving(hook.socket, serve):
        assert hook(event, str(hook.socket)).out == b""
    assert len(hook.spooled()) == (event in ("prompt", "stop"))


def test_a_stopped_daemon_or_one_with_a_full_queue_does_not_hold_anyone_up(hook: Hook) -> None:
    code = "import socket,sys; s=socket.socket(socket.AF_UNIX); s.bind(sys.argv[1]); s.listen(0); print(flush=True); input()"
    daemon = subprocess.Popen(
        [sys.executable, "-c", code, str(hook.socket)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    with daemon:
        assert daemon.stdout
        daemon.stdout.readline()
        daemon.send_signal(signal.SIGSTOP)
        try:
            runs = [hook.begin("stop", str(hook.socket)) for _ in range(6)]
            for process in runs:
                assert process.communicate(timeout=10) == (b"", b"")
                assert process.returncode == 0
        finally:
            daemon.kill()
    assert len(hook.spooled()) == 6


@pytest.mark.parametrize("event", EVENTS)
def test_without_a_daemon_nothing_is_said_and_the_turn_is_kept(hook: Hook, event: str) -> None:
    assert hook(event, str(hook.socket)).out == b""
    hook.socket.touch()  # no socket at all
    assert hook(event, str(hook.socket)).out == b""
    hook.socket.unlink()
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(hook.socket))
    assert hook(event, str(hook.socket)).out == b""
    kept = hook.spooled()
    assert len(kept) == (3 if event in ("prompt", "stop") else 0)
    assert all(request.startswith(b"hook " + event.encode() + b" ") and request.endswith(INPUT) for request in kept)


def test_the_spool_is_for_its_owner_alone(hook: Hook) -> None:
    home = hook.home / "new" / "home"
    hook("stop", str(hook.socket), env={"RECALLD_HOME": str(home)})
    for path in (home.parent, home, home / "spool"):
        assert stat.S_IMODE(path.stat().st_mode) == 0o700
    (file,) = (home / "spool").iterdir()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert file.suffix == ".hook"
    assert [part.isdigit() for part in file.stem.split("-")] == [True, True]


def test_the_spool_beside_a_socket_is_found_without_the_variable(hook: Hook) -> None:
    home = hook.home / "elsewhere"
    (home / "spool").mkdir(parents=True)
    hook("stop", str(home / "recalld.sock"), env={"RECALLD_HOME": ""})
    assert len(list((home / "spool").iterdir())) == 1
    hook("stop", str(hook.home / "nowhere" / "recalld.sock"), env={"RECALLD_HOME": "", "XDG_STATE_HOME": "relative"})
    assert len(list((hook.home / ".local/state/recalld/spool").iterdir())) == 1


def test_a_relative_home_is_meant_from_where_the_hook_was_called(hook: Hook) -> None:
    hook("stop", env={"RECALLD_HOME": "r"}, cwd=hook.home)
    hook("stop", str(hook.socket), env={"RECALLD_HOME": "r"}, cwd=hook.home)
    assert len(list((hook.home / "r" / "spool").iterdir())) == 2


def test_a_spool_that_cannot_be_written_is_no_error(hook: Hook) -> None:
    hook.spool.touch()
    assert hook("stop", str(hook.socket)).out == b""
    hook.spool.unlink()
    hook.spool.symlink_to(hook.home / "gone")
    assert hook("stop", str(hook.socket)).out == b""
    assert hook("stop", str(hook.socket), env={"RECALLD_HOME": "/proc/none"}).out == b""


def test_a_full_disk_leaves_nothing_half_written(hook: Hook) -> None:
    limited = ["/bin/sh", "-c", 'ulimit -f 1; exec "$@"', "sh", *hook.argv("stop", str(hook.socket))]
    done = subprocess.run(
        limited, input=b'{"a": "' + b"x" * 100_000 + b'"}', capture_output=True, check=False, env=hook.env
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert list(hook.spool.iterdir()) == []


def test_the_spool_stops_growing(hook: Hook) -> None:
    hook.spool.mkdir()
    for number in range(1000):
        (hook.spool / f"{number}-1.hook").touch()
    hook("stop", str(hook.socket))
    assert len(list(hook.spool.iterdir())) == 1000
    for number in range(1, 1000):
        (hook.spool / f"{number}-1.hook").unlink()
    os.truncate(hook.spool / "0-1.hook", (1 << 26) + 1)
    hook("stop", str(hook.socket))
    assert len(list(hook.spool.iterdir())) == 1


@pytest.mark.parametrize("event", EVENTS)
def test_disabled_means_nothing_happens(hook: Hook, event: str) -> None:
    seen: list[bytes] = []
    with serving(hook.socket, answering(REPLY.encode(), seen)):
        hook(event, str(hook.socket), "/bin/false", env={"RECALLD_DISABLE": "1"})
    assert seen == []
    hook(event, env={"RECALLD_DISABLE": "1"})
    assert [path.name for path in hook.home.iterdir()] == ["recalld.sock"]


@pytest.mark.parametrize(
    "data", [b"", b"\x00", b"\xff\xfe{", b"{", b"[]", b"null", b'{"a": "\\ud800"}', b"\x1b]0;x\x07"]
)
def test_broken_input_is_no_error(hook: Hook, data: bytes) -> None:
    with serving(hook.socket, answering(b"{}")):
        for event in EVENTS:
            assert hook(event, str(hook.socket), data=data).out == b""


def test_ten_megabytes_arrive_and_are_kept(hook: Hook) -> None:
    seen: list[bytes] = []
    data = json.dumps({"last_assistant_message": "x" * 10_000_000}).encode()
    with serving(hook.socket, answering(b"{}", seen)):
        hook("stop", str(hook.socket), data=data)
    # Where the deadline ended the sending, the daemon got a part of it, and the spool has all.
    assert len(data) in [len(request.partition(b"\n")[2]) for request in (*seen, *hook.spooled())]
    hook.socket.unlink()
    hook("stop", str(hook.socket), data=data)
    assert hook.spooled()[-1].partition(b"\n")[2] == data


@pytest.mark.parametrize("event", EVENTS)
def test_an_input_that_never_ends_costs_one_deadline_and_is_kept_if_whole(hook: Hook, event: str) -> None:
    inputs = [(INPUT, int(event in ("prompt", "stop")))]
    if event == "stop":
        inputs = [(b"", 0), (INPUT[:-1], 0), *inputs]
    for data, kept in inputs:
        started = time.monotonic()
        process = subprocess.Popen(
            hook.argv(event, str(hook.socket)), stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=hook.env
        )
        with process:
            assert process.stdin and process.stdout
            with contextlib.suppress(BrokenPipeError):
                process.stdin.write(data)
                process.stdin.flush()
            assert process.stdout.read() == b""
            assert process.wait(10) == 0
            assert time.monotonic() - started < GENEROUS_S[event]
        assert len(hook.spooled()) == kept


def test_an_endless_flood_is_cut_off(hook: Hook) -> None:
    with open("/dev/zero", "rb") as zeros:
        done = subprocess.run(
            hook.argv("stop", str(hook.socket)), stdin=zeros, capture_output=True, check=False, env=hook.env, timeout=10
        )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert hook.spooled() == []


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-", ">/dev/full"])
def test_closed_streams_are_no_error(hook: Hook, closed: str) -> None:
    with serving(hook.socket, answering(REPLY.encode())):
        for event in EVENTS:
            shell = ["/bin/sh", "-c", f'exec "$@" {closed}', "sh", *hook.argv(event, str(hook.socket))]
            done = subprocess.run(shell, input=INPUT, capture_output=True, check=False, env=hook.env, timeout=10)
            assert (done.returncode, done.stdout, done.stderr) in ((0, b"", b""), (0, REPLY.encode(), b""))


def test_a_reader_that_has_gone_is_no_error(hook: Hook) -> None:
    read, write = os.pipe()
    os.close(read)
    with serving(hook.socket, answering(REPLY.encode())):
        done = subprocess.run(
            hook.argv("prompt", str(hook.socket)),
            input=INPUT,
            stdout=write,
            stderr=subprocess.PIPE,
            check=False,
            env=hook.env,
        )
    os.close(write)
    assert (done.returncode, done.stderr) == (0, b"")


def test_an_interrupt_is_silent(hook: Hook) -> None:
    reached = threading.Event()

    def serve(peer: socket.socket) -> None:
        reached.set()
        hang(peer)

    with serving(hook.socket, serve):
        process = hook.begin("session-start", str(hook.socket))
        assert reached.wait(5)
        process.send_signal(signal.SIGINT)
        assert process.communicate(timeout=10) == (b"", b"")
        assert process.returncode == 0


def test_a_working_folder_that_is_gone_is_no_matter(hook: Hook) -> None:
    folder = hook.home / "gone"
    folder.mkdir()
    shell = ["/bin/sh", "-c", 'rmdir "$PWD"; exec "$@"', "sh", *hook.argv("prompt", str(hook.socket))]
    with serving(hook.socket, answering(REPLY.encode())):
        done = subprocess.run(shell, input=INPUT, capture_output=True, check=False, env=hook.env, cwd=folder)
    assert (done.returncode, done.stdout, done.stderr) == (0, REPLY.encode(), b"")


def test_a_socket_deeper_than_its_path_may_be_long_is_reached(hook: Hook) -> None:
    """B13: by its bare name, from within its folder."""
    folder = hook.home / ("d" * 100) / ("e" * 100)
    folder.mkdir(parents=True)
    with serving(folder / "recalld.sock", answering(REPLY.encode())):
        assert hook("prompt", str(folder / "recalld.sock")).out == REPLY.encode()
        assert hook("prompt", env={"RECALLD_HOME": str(folder)}).out == REPLY.encode()
        relative = str(Path(folder.name) / "recalld.sock")
        assert hook("prompt", relative, cwd=folder.parent).out == REPLY.encode()


@pytest.mark.parametrize("event", ["", "Stop", "--help", "session_start"])
def test_an_unknown_event_does_nothing(hook: Hook, event: str) -> None:
    assert hook(event, str(hook.socket)).out == b""
    assert list(hook.home.iterdir()) == []


def test_locale_warnings_and_site_customisation_change_nothing(hook: Hook) -> None:
    (hook.home / "sitecustomize.py").write_text("print('noise')\n")
    env = {
        "PYTHONPATH": str(hook.home),
        "PYTHONWARNINGS": "default",
        "PYTHONUTF8": "0",
        "PYTHONVERBOSE": "1",
        "PYTHONIOENCODING": "cp932",
    }
    for locale in ("C", "POSIX", "C.UTF-8"):
        with serving(hook.socket, answering(REPLY.encode())):
            assert hook("prompt", str(hook.socket), env=env | {"LC_ALL": locale}).out == REPLY.encode()
        hook.socket.unlink()


# START


def starter(hook: Hook, seconds: float) -> list[str]:
    """A command that notes its process id and open files, then stays for a while."""
    script = hook.home / "start.sh"
    script.write_text(
        f'ls -l /proc/$$/fd > "{hook.home}/$$.files"; pwd > "{hook.home}/$$.cwd"; '
        f'mv "{hook.home}/$$.files" "{hook.home}/$$.started"; exec sleep {seconds}\n'
    )
    return ["/bin/sh", str(script)]


def wait_for(found: Callable[[], object]) -> None:
    """Return once `found` is true; the pause is between looks, not the time waited for."""
    until = time.monotonic() + 10
    while not found():
        assert time.monotonic() < until
        threading.Event().wait(0.01)


def started(hook: Hook) -> list[Path]:
    return sorted(hook.home.glob("*.started"))


def test_twelve_hooks_at_once_start_one_daemon(hook: Hook) -> None:
    """B07: however many find nobody there, one of them starts somebody."""
    command = starter(hook, 1)
    runs = [hook.begin(EVENTS[number % 4], str(hook.socket), *command) for number in range(12)]
    for process in runs:
        assert process.communicate(timeout=10) == (b"", b"")
        assert process.returncode == 0
    wait_for(lambda: started(hook))
    hook("prompt", str(hook.socket), *command)
    assert len(started(hook)) == 1


def test_the_daemon_is_detached_and_inherits_no_file(hook: Hook) -> None:
    """B08: nothing that Claude Code holds open lives on in it."""
    read, write = os.pipe()
    os.set_inheritable(write, True)
    process = hook.begin("stop", str(hook.socket), *starter(hook, 5), pass_fds=[write], cwd="/usr")
    os.close(write)
    assert process.communicate(timeout=10) == (b"", b"")  # ends although the daemon lives on
    assert os.read(read, 1) == b""
    os.close(read)
    wait_for(lambda: started(hook))
    pid = int(started(hook)[0].stem)
    try:
        assert os.getsid(pid) == pid
        targets = {line.split(" -> ")[1] for line in started(hook)[0].read_text().splitlines() if "->" in line}
        assert targets <= {"/dev/null", str(hook.home / "start.sh"), str(hook.home / f"{pid}.files")}
        assert (hook.home / f"{pid}.cwd").read_text().strip() == str(hook.home)
    finally:
        os.kill(pid, signal.SIGKILL)


def test_a_session_start_gets_the_answer_of_the_daemon_it_started(hook: Hook) -> None:
    daemon = hook.home / "daemon.py"
    daemon.write_text(
        "import socket, sys\n"
        "s = socket.socket(socket.AF_UNIX); s.bind(sys.argv[1]); s.listen()\n"
        "c, _ = s.accept()\n"
        "while c.recv(65536): pass\n"
        "c.sendall(sys.argv[2].encode()); c.close()\n"
    )
    command = [sys.executable, "-I", "-S", str(daemon), str(hook.socket), REPLY]
    assert hook("session-start", str(hook.socket), *command).out == REPLY.encode()


@pytest.mark.parametrize(("age_s", "starts"), [(3, 0), (11, 1), (-3600, 1), (1e9, 1)])
def test_a_start_is_tried_again_after_ten_seconds_whatever_the_clock_did(hook: Hook, age_s: float, starts: int) -> None:
    lock = hook.home / "start.lock"
    lock.write_text("1")
    os.utime(lock, (time.time() - age_s, time.time() - age_s))
    hook("stop", str(hook.socket), *starter(hook, 0))
    if starts:
        wait_for(lambda: started(hook))
    assert len(started(hook)) == starts
    assert (abs(time.time() - lock.stat().st_mtime) < 3) == (starts == 1)


@pytest.mark.parametrize("command", ["/no/such/program", "/"])
def test_a_start_that_fails_is_silent_and_the_turn_is_kept(hook: Hook, command: str) -> None:
    for event in EVENTS:
        assert hook(event, str(hook.socket), command).out == b""
    assert len(hook.spooled()) == 2


# As a plugin: no socket is named


def test_the_plugin_says_once_how_to_get_a_daemon(hook: Hook) -> None:
    for event in ("prompt", "stop", "session-end"):
        assert hook(event).out == b""
    said = json.loads(hook("session-start").out)
    assert list(said) == ["systemMessage"]
    assert f"'{HOOK.parents[1]}/install.sh'" in said["systemMessage"]
    assert hook("session-start").out == b""


def test_the_plugin_alone_keeps_nothing(hook: Hook) -> None:
    env = {"RECALLD_HOME": ""}
    for event in ("session-start", *EVENTS):
        hook(event, env=env)
    kept = {str(path.relative_to(hook.home)) for path in hook.home.rglob("*") if path.is_file()}
    assert kept == {".local/state/recalld/plugin-notice"}


@pytest.mark.parametrize(
    "env",
    [
        {"RECALLD_HOME": "/x/../y"},
        {"RECALLD_HOME": "~/r"},
        {"RECALLD_HOME": "~"},
        {"RECALLD_HOME": "relative/r"},
        {"XDG_STATE_HOME": "/state"},
        {"XDG_STATE_HOME": "/state/"},
        {"XDG_STATE_HOME": "relative"},
        {"XDG_STATE_HOME": ""},
        {},
    ],
    ids=str,
)
def test_hook_and_daemon_agree_where_things_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, env: dict[str, str]
) -> None:
    module = load()
    for name in ("RECALLD_HOME", "XDG_STATE_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in ({"HOME": str(tmp_path)} | env).items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(module.posix, "environ", dict(os.environb))
    found = paths.find()
    assert Path(os.fsdecode(module.default_socket())) == found.socket
    assert Path(os.fsdecode(module.state_folder())) == found.state


def test_the_runtime_folder_is_used_where_it_is_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    module = load()
    monkeypatch.delenv("RECALLD_HOME", raising=False)
    monkeypatch.setattr(module.posix, "environ", {b"HOME": b"/home/x"})
    monkeypatch.setattr(module.posix, "stat", lambda path: os.stat_result([0o40700, 0, 0, 0, os.getuid()] + [0] * 5))
    assert module.default_socket() == b"/run/user/%d/recalld/recalld.sock" % os.getuid()
    monkeypatch.setattr(module.posix, "stat", lambda path: os.stat_result([0o40700, 0, 0, 0, 12345] + [0] * 5))
    assert module.default_socket() == b"/home/x/.local/state/recalld/recalld.sock"


# What counts as one object


def anything(chance: random.Random, depth: int) -> object:
    scalars: list[object] = [None, True, False, 0, -1.5e-7, 10**20, "", 'q"\\\n\t{}[],:', "汉😀\ud83d", "\\", '\\"']
    if depth == 0 or chance.random() < 0.4:
        return chance.choice(scalars)
    if chance.random() < 0.4:
        return [anything(chance, depth - 1) for _ in range(chance.randrange(4))]
    return {str(chance.choice(scalars)): anything(chance, depth - 1) for _ in range(chance.randrange(4))}


def test_each_json_object_is_one_and_no_beginning_of_it_is() -> None:
    is_object = load().is_object
    chance = random.Random(7)
    for number in range(400):
        value = anything(chance, 5)
        text = json.dumps(value, indent=chance.choice([None, 1])).encode()
        assert is_object(text) == isinstance(value, dict), text
        whole = json.dumps({"a": value, "b": anything(chance, 3)}, ensure_ascii=number % 2 == 0)
        data = whole.encode("utf-8", "replace")
        assert is_object(data)
        assert is_object(b" \n" + data + b"\n")
        assert not any(is_object(data[:end]) for end in range(len(data)))
        assert not is_object(data + data)


def test_two_hundred_strange_inputs_and_answers_leave_the_session_alone(hook: Hook) -> None:
    chance = random.Random(11)
    pieces = [b"{", b"}", b'"', b"\\", b"[", b"]", b":", b",", b"\x00", b"\xff", b"\n", b'"a"', b"1", "汉".encode()]
    pieces += [b'"decision"', b'"block"', b"{}", b"true", INPUT]

    def strange() -> bytes:
        return b"".join(chance.choices(pieces, k=chance.randrange(12)))

    def serve(peer: socket.socket) -> None:
        read_all(peer)
        peer.sendall(strange())

    with serving(hook.socket, serve):
        for number in range(200):
            hook(EVENTS[number % 4], str(hook.socket), data=strange())
