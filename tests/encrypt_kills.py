"""Kills `encrypt on` or `off` at each of its steps, one after the other, and looks at what is left. For test_encrypt.py.

    python encrypt_kills.py on|off KEY_FILE SENTENCE

Run in an environment that has the library; RECALLD_HOME is encrypted, with the key in KEY_FILE. Each try is a process of its
own, forked here, which an audit hook kills by SIGKILL at the n-th file that it opens for
writing or renames in the home.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
from pathlib import Path

from recalld.install import encryption, overlay
from recalld.paths import Paths, find
from recalld.store import key
from recalld.store.connection import open_reader

RENAMES = ("os.rename", "os.utime")
WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT
ENOUGH = 400


def main() -> int:
    action, key_file, sentence = sys.argv[1], Path(sys.argv[2]), sys.argv[3]
    paths = find()
    overlay.provide = overlay.remove = lambda *_: True  # it stays, since this very process needs it
    if action == "on":
        switch(paths, "off", key_file)
    start = paths.data.with_name("start")
    shutil.copytree(paths.data, start)
    wrong: list[str] = []
    states: set[str] = set()
    for number in range(1, ENOUGH):
        shutil.rmtree(paths.data)
        shutil.copytree(start, paths.data)
        if not killed(paths, action, key_file, number):
            break
        states.add("plain" if key.plain(paths.database) else "encrypted")
        wrong += [f"{number}: {line}" for line in looked_at(paths, sentence)]
        if killed(paths, action, key_file, 0):
            wrong.append(f"{number}: it cannot be finished")
        wrong += [f"{number}, finished: {line}" for line in looked_at(paths, sentence)]
        wrong += [f"{number}: left {file}" for file in unfinished(paths, action, sentence)]
    shutil.rmtree(paths.data)
    shutil.copytree(start, paths.data)
    print(json.dumps({"kills": number - 1, "wrong": wrong, "states": sorted(states)}))
    return 0


def switch(paths: Paths, action: str, key_file: Path) -> None:
    for _ in encryption.on(paths, key_file) if action == "on" else encryption.off(paths, None):
        pass


def killed(paths: Paths, action: str, key_file: Path, at: int) -> bool:
    """Whether the process that does it was killed, at its step `at`; it must not fail in any other way."""
    child = os.fork()
    if child == 0:
        count = 0

        def audit(event: str, arguments: tuple[object, ...]) -> None:
            nonlocal count
            writes = event in RENAMES or (event == "open" and isinstance(arguments[2], int) and arguments[2] & WRITES)
            if writes and str(arguments[0]).startswith(str(paths.data)):
                count += 1
                if count == at:
                    os.kill(os.getpid(), signal.SIGKILL)

        sys.addaudithook(audit)
        try:
            switch(paths, action, key_file)
        except BaseException as error:  # noqa: BLE001
            os.write(2, f"{at}: {type(error).__name__}: {error}\n".encode())
            os._exit(1)
        os._exit(0)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if status not in (0, -signal.SIGKILL):
        raise SystemExit(f"step {at} ended with {status}")
    return status != 0


def looked_at(paths: Paths, sentence: str) -> list[str]:
    """What is wrong with the database or one of its copies."""
    wrong = []
    for file in encryption.files(paths):
        db = open_reader(file)
        try:
            if db.execute("pragma quick_check").get != "ok":
                wrong.append(f"{file} is damaged")
            if db.execute("select content from memories").get != sentence:
                wrong.append(f"{file} has lost the memory")
        finally:
            db.close()
    if len(encryption.files(paths)) != 2:
        wrong.append("a file is missing")
    return wrong


def unfinished(paths: Paths, action: str, sentence: str) -> list[str]:
    """Files that are not as they shall be, and those that should not be there."""
    left = [str(file) for file in encryption.files(paths) if key.plain(file) is (action == "on")]
    left += [str(file) for file in paths.data.rglob("*part*")]
    if action == "on":
        left += [str(f) for f in paths.data.rglob("*") if f.is_file() and sentence.encode() in f.read_bytes()]
    return left


if __name__ == "__main__":
    sys.exit(main())
