"""The README's two commands on other systems: `sudo .venv/bin/python tests/matrix.py`.

Each row is a fresh Debian in a folder, without a network but with the folder of wheels that it would fetch: a release,
with uv or without, root or a user, and a home of an uncommon name. `./install.sh` has to prove itself, `make test` to
set up and run a part of the tests, `./install.sh --purge` to leave what was there before. Ends with 1 if one did not.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import boot

PART = "tests/test_hook.py tests/test_store.py tests/test_daemon.py"
LIMIT_S = 900.0
UNSHARED = ["unshare", "--net", "--mount", "--pid", "--fork", "--kill-child"]


class Row(NamedTuple):
    """One system to try. user: who installs; home: their home folder."""

    suite: str
    uv: bool
    user: str
    home: str


ROWS = (
    Row("bookworm", uv=False, user="dev", home="/home/dev"),
    Row("bookworm", uv=True, user="dev", home="/home/dev with space"),
    Row("bookworm", uv=False, user="root", home="/root"),
    Row("trixie", uv=False, user="dev", home="/home/开发"),
    Row("trixie", uv=True, user="dev", home="/home/dev"),
    Row("trixie", uv=True, user="root", home="/root"),
)


@contextmanager
def system(row: Row) -> Iterator[Path]:
    """A fresh copy of the system with the user, the repository in the home, the wheels and perhaps uv."""
    base = boot.prepared(row.suite)
    with tempfile.TemporaryDirectory(prefix="recalld-matrix-", dir=boot.CACHE) as scratch:
        root = Path(scratch) / "root"
        subprocess.run(["cp", "-a", "--reflink=auto", str(base), str(root)], check=True)
        if row.user != "root":
            subprocess.run(["chroot", root, "useradd", "-m", "-d", row.home, row.user], check=True)
        boot.copy_repository(root / row.home.lstrip("/") / "recalld")
        subprocess.run(["chroot", root, "chown", "-R", f"{row.user}:", row.home], check=True)
        subprocess.run(["cp", "-a", boot.wheels_for(root), str(root / "wheels")], check=True)
        if row.uv:
            uv = shutil.which("uv")
            assert uv, "needs uv"
            shutil.copy2(uv, root / "usr/local/bin/uv")
        yield root


def run(root: Path, row: Row, command: str) -> tuple[bool, str]:
    """Whether a shell command in the repository ended well, and what it said."""
    environ = {"HOME": row.home, "PATH": "/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C.UTF-8", "PIP_NO_INDEX": "1",
               "PIP_FIND_LINKS": "/wheels", "UV_FIND_LINKS": "/wheels", "UV_OFFLINE": "1"}  # fmt: skip
    outside = 'ip link set lo up && mount -t proc proc "$0/proc" && exec chroot "$0" runuser -u "$1" -- sh -c "cd ~/recalld && $2"'
    done = subprocess.run(
        [*UNSHARED, "/bin/sh", "-c", outside, root, row.user, command],
        env=environ, capture_output=True, text=True, check=False, timeout=LIMIT_S,
    )  # fmt: skip
    return done.returncode == 0, done.stdout + done.stderr


def files(root: Path, row: Row) -> set[str]:
    """What lies in the home, the repository and caches aside."""
    home = root / row.home.lstrip("/")
    found = (str(path.relative_to(home)) for path in home.rglob("*") if not path.is_dir() or path.is_symlink())
    return {name for name in found if not name.startswith(("recalld/", ".cache/"))}


def tried(row: Row) -> list[str]:
    """The row's cells: Python, then a word for each step."""
    with system(row) as root:
        before = files(root, row)
        begun = time.monotonic()
        installed, said = run(root, row, "./install.sh --no-service")
        took = time.monotonic() - begun
        python = run(root, row, "python3 --version")[1].split()[-1]
        proved = installed and "The word that proves" in said
        tested, told = run(root, row, f"make test T='{PART}'")
        purged, _ = run(root, row, "./install.sh --purge --yes")
        left = files(root, row) - before
        if not proved:
            print(said, file=sys.stderr)
        if not tested:
            print(
                "\n".join(re.findall(r"^(?:FAILED|ERROR|E  ).*", told, re.MULTILINE)) or told[-2000:], file=sys.stderr
            )
        return [python, f"{took:.0f} s" if proved else "FAILED", told.strip().splitlines()[-1] if tested else "FAILED",
                "nothing left" if purged and not left else f"FAILED: {len(left)} files left"]  # fmt: skip


def main() -> int:
    """Try each row and print the table."""
    if os.getuid() or not all(map(shutil.which, ("debootstrap", "unshare", "ip", "pip3", "uv"))):
        print("matrix.py: needs root, pip3, uv, ip, unshare and debootstrap", file=sys.stderr)
        return 2
    print(
        "| system | Python | with | user | home | ./install.sh | make test | --purge |\n|---|---|---|---|---|---|---|---|"
    )
    worst = 0
    for row in ROWS:
        python, *cells = tried(row)
        worst = max(worst, int(any("FAILED" in cell for cell in cells)))
        with_ = "uv" if row.uv else "pip"
        print(
            f"| Debian {row.suite} | {python} | {with_} | {row.user} | `{row.home}` | {' | '.join(cells)} |", flush=True
        )
    return worst


if __name__ == "__main__":
    sys.exit(main())
