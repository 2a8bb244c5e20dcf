"""Commands of `recalld` without the start of an interpreter, which is most of what a short one costs.

A process that has imported what they need already forks for each command: so every one is a real process with its own
environment, working directory, descriptors and exit code, as `python -m recalld` is. What a fresh interpreter makes of
its environment is not tried here: `conftest.command` and whatever else the tests start has one.
"""

from __future__ import annotations

import atexit
import functools
import importlib
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NoReturn

COMMANDS = ("recalld.direct",)
"""What commands import that find no daemon, beside the command line itself."""
MCP = ("recalld.mcp.server", "mcp.server.stdio")
"""What `recalld mcp` imports."""
OF_THE_INTERPRETER = ("PYTHON", "LC_", "LANG", "LD_")
"""Variables that count at its start; a command that has others than this process is none for here."""


def same_interpreter(environ: Mapping[str, str], path: str) -> bool:
    """Whether `environ` would start an interpreter as this process's would, but for PYTHONPATH, which is `path`."""

    def read(values: Mapping[str, str]) -> dict[str, str]:
        return {name: value for name, value in values.items() if name.startswith(OF_THE_INTERPRETER)}

    return read(environ) == read(os.environ) | {"PYTHONPATH": path}


def run(
    words: Sequence[str], environ: Mapping[str, str], cwd: Path, timeout_s: float
) -> subprocess.CompletedProcess[str]:
    """`recalld WORDS...` with nothing on its stdin. Raises TimeoutExpired, with the command killed."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err, socket.socket(socket.AF_UNIX) as asked:
        asked.settimeout(timeout_s)
        try:
            with open(os.devnull, "rb") as nothing:
                files = (nothing.fileno(), out.fileno(), err.fileno())
                code = _ask(asked, _address(COMMANDS), words, environ, cwd, files)
        except TimeoutError as error:
            raise subprocess.TimeoutExpired(list(words), timeout_s) from error
        texts = []
        for file in (out, err):
            file.seek(0)
            texts.append(file.read().decode("utf-8"))
    return subprocess.CompletedProcess(["recalld", *words], code, *texts)


def command(modules: Sequence[str], *words: str) -> list[str]:
    """A command line that is `recalld WORDS...`, with the caller's streams, in a process that had `modules` imported."""
    return [sys.executable, "-I", "-S", __file__, "join", _address(tuple(modules)), *words]


def _ask(
    asked: socket.socket, address: str, words: Sequence[str], environ: Mapping[str, str], cwd: str | Path,
    files: Sequence[int],
) -> int:  # fmt: skip
    """Have a command run with these descriptors as its streams; its exit code. Raises TimeoutError, with it killed."""
    asked.connect(address)
    socket.send_fds(asked, [b"."], list(files))
    with asked.makefile("rw", encoding="utf-8") as lines:
        lines.write(json.dumps({"words": list(words), "environ": dict(environ), "cwd": str(cwd)}) + "\n")
        lines.flush()
        pid = int(lines.readline())
        try:
            return int(lines.readline() or -signal.SIGKILL)
        except TimeoutError:
            os.kill(pid, signal.SIGKILL)
            raise


@functools.cache
def _address(modules: tuple[str, ...]) -> str:
    """Where a process with these modules listens; begun at the first call, it ends with this one."""
    folder = tempfile.TemporaryDirectory(prefix="recalld-forked-")
    address = os.path.join(folder.name, "s")
    package = Path(__file__).resolve().parents[1] / "daemon"
    process = subprocess.Popen(
        [sys.executable, __file__, "serve", address, *modules], env={**os.environ, "PYTHONPATH": str(package)}, cwd="/",
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    )  # fmt: skip
    assert process.stdin
    assert process.stdout
    assert process.stdout.readline() == b"ready\n"

    def end() -> None:
        process.communicate()
        folder.cleanup()

    atexit.register(end)
    return address


def _serve(address: str, *modules: str) -> None:
    """Fork for each connection, until stdin ends."""
    import gc
    import selectors

    import recalld.cli.main

    for module in modules:
        importlib.import_module(module)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    with socket.socket(socket.AF_UNIX) as listening, selectors.DefaultSelector() as both:
        listening.bind(address)
        listening.listen(64)
        print("ready", flush=True)
        both.register(0, selectors.EVENT_READ)
        both.register(listening, selectors.EVENT_READ)
        gc.freeze()
        while 0 not in [key.fileobj for key, _ in both.select()]:
            connection, _ = listening.accept()
            if os.fork() == 0:
                both.close()
                listening.close()
                _command(connection, recalld.cli.main.main)
            connection.close()


def _command(connection: socket.socket, main: functools.partial[int]) -> NoReturn:
    """Be the command that `connection` tells of, and tell it the exit code."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    _, given, _, _ = socket.recv_fds(connection, 1, 3)
    lines = connection.makefile("rw", encoding="utf-8")
    asked = json.loads(lines.readline())
    print(os.getpid(), file=lines, flush=True)
    for number, target in enumerate(given):
        os.dup2(target, number)
        os.close(target)
    os.environ.clear()
    os.environ.update(asked["environ"])
    time.tzset()
    os.chdir(asked["cwd"])
    sys.argv = ["recalld", *asked["words"]]
    code = 1
    try:
        code = main()
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    except Exception:  # noqa: BLE001  # as an interpreter does
        traceback.print_exc()
    sys.stdout.flush()
    sys.stderr.flush()
    atexit._run_exitfuncs()
    print(code, file=lines, flush=True)
    os._exit(code)


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        sys.path.pop(0)  # this folder, which no command has
        _serve(*sys.argv[2:])
    else:
        with socket.socket(socket.AF_UNIX) as ours:
            sys.exit(_ask(ours, sys.argv[2], sys.argv[3:], os.environ, Path.cwd(), (0, 1, 2)))
