"""A real boot: Debian under systemd in a container without a network, and recalld in it as its user would have it.

    sudo tests/boot.py [--suite trixie]

Needs Linux, root, debootstrap and systemd-nspawn. The system is made once and kept in the cache; each run works on a
copy. Prints what was done and seen, and ends with 1 where a promise did not hold.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

from packaging.markers import Marker

REPOSITORY = Path(__file__).resolve().parent.parent
CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "recalld-tests"
PACKAGES = "systemd,systemd-sysv,dbus,dbus-user-session,libpam-systemd,python3,python3-venv,procps,make,git"
QUIET_S = 10.0
BUILDING = ("editables", "hatchling", "packaging", "pathspec", "pluggy", "trove-classifiers")
"""What builds recalld's own wheel, and an editable installation."""
BOOT_S = 60.0
WATCHDOG_S = 100.0
"""The unit's WatchdogSec, its time to stop a process that hangs, and its pause before a restart, with room."""

START = {"cwd": "/home/dev/shop", "transcript_path": "", "hook_event_name": "SessionStart", "source": "startup"}
OUTSIDE = """#!/bin/sh
# What a process of the service may write: one line each, `path yes|no`.
for path in ~/.local/share/recalld/probe ~/.local/state/recalld/probe ~/.claude/probe ~/.bashrc ~/shop/probe /usr/probe /etc/probe
do
    if (echo >> "$path") 2>/dev/null; then echo "$path yes"; else echo "$path no"; fi
done > ~/.local/state/recalld/written.$1
"""


class BrokenError(AssertionError):
    """A promise did not hold."""


class Machine:
    """The booted system. Commands run in it, as `dev` unless said otherwise."""

    def __init__(self, root: Path, wheels: Path) -> None:
        self._root = root
        self._wheels = wheels
        self._nspawn: subprocess.Popen[bytes] | None = None
        self._leader = 0

    def boot(self) -> None:
        """Start it and wait until the manager of `dev`, who lingers, runs."""
        command = ["systemd-nspawn", "--quiet", "-D", str(self._root), "-b", "--register=no", "--keep-unit",
                   "--private-network", f"--bind-ro={self._wheels}:/wheels"]  # fmt: skip
        self._nspawn = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.STDOUT,
            env={**os.environ, "SYSTEMD_NSPAWN_UNIFIED_HIERARCHY": "1"},
        )  # fmt: skip
        self._leader = int(waited("its first process", self._child))
        waited("the manager of dev", lambda: self.run("systemctl --user is-system-running", check=False) != "offline"
               and Path(f"/proc/{self._leader}/root/run/user/1000/bus").exists())  # fmt: skip

    def _child(self) -> str:
        assert self._nspawn is not None
        if self._nspawn.poll() is not None:
            raise BrokenError(f"systemd-nspawn ended with {self._nspawn.returncode}")
        return Path(f"/proc/{self._nspawn.pid}/task/{self._nspawn.pid}/children").read_text().split(" ")[0]

    def halt(self) -> None:
        """Shut it down in order, at the latest by killing its first process."""
        if self._nspawn is None:
            return
        os.kill(self._leader, signal.SIGRTMIN + 4)  # systemd's own: power off
        try:
            self._nspawn.wait(60)
        except subprocess.TimeoutExpired:
            os.kill(self._leader, signal.SIGKILL)
            self._nspawn.wait()
        self._nspawn = None

    def run(self, command: str, *, given: str = "", user: str = "dev", check: bool = True) -> str:
        """What a shell command prints. Raises BrokenError where it fails."""
        entered = ["nsenter", "-t", str(self._leader), "-m", "-u", "-i", "-n", "-p", "-C", "--"]
        login = "export XDG_RUNTIME_DIR=/run/user/1000 PATH=$HOME/.local/bin:/usr/bin:/bin LANG=C.UTF-8; cd; "
        done = subprocess.run(
            [*entered, "runuser", "-u", user, "--", "env", "-i", f"HOME=/home/{user}" if user != "root" else "HOME=/root",
             "/bin/sh", "-c", login + command],
            input=given, capture_output=True, text=True, check=False,
        )  # fmt: skip
        if check and done.returncode:
            raise BrokenError(f"{command}: {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout.strip()

    def main_pid(self) -> str:
        """The daemon's process, as the service manager knows it; `0` for none."""
        return self.run("systemctl --user show -P MainPID recalld.service")


def waited(what: str, seen: object, patience_s: float = BOOT_S) -> str:
    """The first true answer of `seen()`. Raises BrokenError after `patience_s`."""
    end = time.monotonic() + patience_s
    while time.monotonic() < end:
        with contextlib.suppress(OSError):
            if answer := seen():  # type: ignore[operator]
                return str(answer)
        time.sleep(0.2)
    raise BrokenError(f"{what}: not within {patience_s:.0f} s")


def prepared(suite: str) -> Path:
    """A Debian system in the cache, made if need be."""
    system = CACHE / f"debian-{suite}"
    if not system.exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        new = Path(tempfile.mkdtemp(dir=CACHE))
        subprocess.run(["debootstrap", "--variant=minbase", f"--include={PACKAGES}", suite, str(new)], check=True,
                       stdout=subprocess.DEVNULL)  # fmt: skip
        new.chmod(0o755)
        new.rename(system)
    return system


def wheels_for(root: Path) -> Path:
    """A folder with a wheel of everything recalld and its tests need, for the Python of that system."""
    version = next(path.name for path in (root / "usr/lib").glob("python3.[0-9]*"))[len("python") :]
    folder = CACHE / f"wheels-{version}"
    folder.mkdir(exist_ok=True)
    fetch = ["pip3", "download", "--quiet", "--disable-pip-version-check", "--dest", str(folder),
             "--only-binary=:all:", "--no-deps", f"--python-version={version}"]  # fmt: skip
    # pip would read the markers for the Python that runs it. The hashes are looked at when the wheels are installed.
    about = {"python_version": version, "python_full_version": f"{version}.0"}
    locked = re.findall(
        r"^(\S+==\S+)(?: ; (.+?))? \\$", (REPOSITORY / "requirements-dev.lock").read_text(), re.MULTILINE
    )
    wanted = [name for name, marker in locked if not marker or Marker(marker).evaluate(about)]
    subprocess.run([*fetch, *wanted, *BUILDING], check=True, stderr=subprocess.DEVNULL)
    return folder


def copy_repository(target: Path) -> None:
    """What git has of this checkout, and what it would take, as it lies here."""
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--deduplicate"]
    files = subprocess.run(listed, cwd=REPOSITORY, capture_output=True, check=True).stdout
    for name in filter(lambda name: (REPOSITORY / name).exists(), files.decode().rstrip("\0").split("\0")):
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(REPOSITORY / name, target / name)


@contextlib.contextmanager
def machine(suite: str) -> Iterator[Machine]:
    """A copy of the system with the user `dev`, who lingers, and this repository in the home; not booted yet."""
    system = prepared(suite)
    with tempfile.TemporaryDirectory(prefix="recalld-boot-", dir=CACHE) as scratch:
        root = Path(scratch) / "root"
        subprocess.run(["cp", "-a", "--reflink=auto", str(system), str(root)], check=True)
        subprocess.run(["chroot", str(root), "useradd", "-m", "-u", "1000", "-s", "/bin/bash", "dev"], check=True)
        linger = root / "var/lib/systemd/linger/dev"
        linger.parent.mkdir(parents=True, exist_ok=True)
        linger.touch()
        home = root / "home/dev"
        copy_repository(home / "recalld")
        (home / "shop/.git").mkdir(parents=True)
        (home / ".claude").mkdir()
        (home / ".claude/settings.json").write_text('{\n  "theme": "dark"\n}\n')
        (home / "outside.sh").write_text(OUTSIDE)
        subprocess.run(["chroot", str(root), "chown", "-R", "dev:dev", "/home/dev"], check=True)
        booted = Machine(root, wheels_for(root))
        try:
            yield booted
        finally:
            booted.halt()


def hook(booted: Machine) -> tuple[str, float]:
    """What the installed hook prints at the start of a new session, and the seconds it took."""
    settings = json.loads(booted.run("cat .claude/settings.json"))
    entry = settings["hooks"]["SessionStart"][0]["hooks"][0]
    command = shlex.join([entry["command"], *entry["args"]])
    begun = time.monotonic()
    reply = booted.run(command, given=json.dumps({**START, "session_id": str(uuid.uuid4())}))
    return reply, time.monotonic() - begun


def listing(booted: Machine) -> set[str]:
    """All files, links and sockets of the user that there are, caches of pip aside."""
    found = booted.run(
        "find ~ /run/user/1000/recalld /tmp -not -type d -not -path '*/.cache/*' 2>/dev/null; true"
    ).splitlines()
    return {name for name in found if not name.startswith("/tmp/systemd-private")}


def check(promise: str, kept: object, seen: str) -> None:
    """Print a promise with what was seen; raise BrokenError where it was not kept."""
    print(f"  {'kept ' if kept else 'BROKEN'} {promise}: {seen}", flush=True)
    if not kept:
        raise BrokenError(promise)


def installs(booted: Machine) -> None:
    """The two commands of the README, without a network."""
    print("./install.sh", flush=True)
    begun = time.monotonic()
    out = booted.run("cd recalld && PIP_NO_INDEX=1 PIP_FIND_LINKS=/wheels ./install.sh 2>&1")
    for line in out.splitlines():
        print(f"    {line}")
    check("it proves itself", "The word that proves" in out, f"{time.monotonic() - begun:.0f} s")
    state = booted.run(
        "systemctl --user is-enabled recalld.socket; systemctl --user is-active recalld.socket recalld.service"
    )
    check("socket and service are up", state.split() == ["enabled", "active", "active"], state.replace("\n", ", "))
    said = booted.run("systemd-analyze --user verify ~/.config/systemd/user/recalld.service 2>&1", check=False)
    check("systemd-analyze verify is silent", not said, said or "nothing said")
    booted.run("cd shop && recalld add --pin 'Deploys go out on Tuesdays.'")


def comes_by_the_socket(booted: Machine) -> None:
    """A stopped daemon is started by the first hook."""
    print("systemctl --user stop recalld.service", flush=True)
    booted.run("systemctl --user stop recalld.service")
    check("nothing runs", booted.main_pid() == "0", "MainPID 0")
    begun = time.monotonic()
    waited("the memory", lambda: "Tuesdays" in hook(booted)[0])
    check(
        "hooks at the socket start it and get the memory", booted.main_pid() != "0", f"{time.monotonic() - begun:.2f} s"
    )


def survives_kill(booted: Machine) -> None:
    """kill -9: the manager starts another, and the hook that comes first is answered."""
    pid = booted.main_pid()
    print(f"kill -9 {pid}", flush=True)
    begun = time.monotonic()
    booted.run(f"kill -9 {pid}")
    reply = waited("the memory after kill -9", lambda: "Tuesdays" in hook(booted)[0])
    check("the memory is back", reply, f"after {time.monotonic() - begun:.1f} s, process {booted.main_pid()}")


def survives_stop(booted: Machine) -> None:
    """SIGSTOP: hooks fail open, the watchdog ends the process, another one answers."""
    pid = booted.main_pid()
    print(f"kill -STOP {pid}", flush=True)
    begun = time.monotonic()
    booted.run(f"kill -STOP {pid}")
    reply, took = hook(booted)
    check("meanwhile a hook is silent and quick", not reply and took < 2, f"{took:.2f} s")
    waited("another process", lambda: booted.main_pid() not in (pid, "0"), WATCHDOG_S)
    waited("the memory after SIGSTOP", lambda: "Tuesdays" in hook(booted)[0])
    check("the watchdog replaced it", booted.main_pid() != pid, f"after {time.monotonic() - begun:.0f} s")


def refuses_a_newer_database(booted: Machine) -> None:
    """A database that it cannot open: one start for each hook, however long the hook's connection waited."""
    print("pragma user_version = 99", flush=True)
    set_to = (
        "~/.local/share/recalld/venv/bin/python -c \"import sqlite3; db = sqlite3.connect('/home/dev/.local/share/recalld/"
        "memories.db'); print(db.execute('pragma user_version').fetchone()[0]); db.execute('pragma user_version = {}'); "
        'db.commit()"'
    )
    count = "journalctl --user -u recalld.service --no-pager | grep -c 'written by a newer recalld'"
    booted.run("systemctl --user stop recalld.service")
    version = booted.run(set_to.format(99))
    hook(booted)
    waited("the refusal", lambda: booted.run(count, check=False) != "0")
    time.sleep(QUIET_S)  # nothing may happen, which nobody tells of
    refusals = booted.run(count)
    check("a hook starts it once, not again and again", refusals == "1", f"{refusals} in {QUIET_S:.0f} s")
    booted.run(set_to.format(version))
    check("and with its own database it is back", waited("the memory", lambda: "Tuesdays" in hook(booted)[0]), "yes")


def stays_inside(booted: Machine) -> None:
    """A process with the service's own sandbox writes to its folders and nowhere else."""
    print("a script run by the service (ExecStartPost), and the same by hand", flush=True)
    folder = "~/.config/systemd/user/recalld.service.d"
    drop_in = "[Service]\\nExecStartPost=/bin/sh /home/dev/outside.sh service\\n"
    booted.run(f"mkdir -p {folder} && printf '{drop_in}' > {folder}/probe.conf")
    booted.run("systemctl --user daemon-reload && systemctl --user restart recalld.service && sh outside.sh hand")
    seen = {name: dict(line.split() for line in booted.run(f"cat ~/.local/state/recalld/written.{name}").splitlines())
            for name in ("service", "hand")}  # fmt: skip
    inside = {path for path in seen["hand"] if re.search(r"recalld/|\.claude/", path)}
    check(
        "its own folders can be written",
        all(seen["service"][path] == "yes" for path in inside),
        ", ".join(sorted(inside)),
    )
    outside = {path for path in seen["service"] if path not in inside}
    check("nothing else can", all(seen["service"][path] == "no" for path in outside), ", ".join(sorted(outside)))
    by_hand = {path for path in outside if seen["hand"][path] == "yes"}
    check("though the user may write there", len(by_hand) == 2, ", ".join(sorted(by_hand)))
    booted.run(f"rm -r {folder} ~/.local/share/recalld/probe ~/.local/state/recalld/probe ~/.claude/probe shop/probe "
               "~/.local/state/recalld/written.*; sed -i '$d' ~/.bashrc; "
               "systemctl --user daemon-reload; systemctl --user restart recalld.service")  # fmt: skip


def survives_reboot(booted: Machine) -> None:
    """A reboot: nobody logs in, a hook is answered."""
    print("reboot", flush=True)
    booted.halt()
    booted.boot()
    begun = time.monotonic()
    waited("the memory", lambda: "Tuesdays" in hook(booted)[0])
    check("hooks get the memory, with nobody logged in", True, f"{time.monotonic() - begun:.2f} s")


def leaves(booted: Machine, before: set[str]) -> None:
    """Uninstalled, with the memories: the same files as before."""
    print("./install.sh --purge --yes", flush=True)
    booted.run("cd recalld && ./install.sh --purge --yes 2>&1")
    after = listing(booted)
    check("no file is left, none is missing", after == before, f"{len(before)} files before, {len(after)} after "
          + " ".join(sorted(after ^ before)))  # fmt: skip
    check(
        "the settings are as they were", booted.run("cat .claude/settings.json") == '{\n  "theme": "dark"\n}', "equal"
    )
    units = booted.run("systemctl --user list-units --all 'recalld*' --no-legend", check=False)
    check("no unit is known", not units, units or "none")
    check("no process is left", not booted.run("pgrep -u dev -f '[r]ecalld/venv'", check=False), "none")


def main() -> int:
    """Boot, go through all of it, shut down."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--suite", default="bookworm", help="the Debian release (default: bookworm)")
    arguments = parser.parse_args()
    if os.getuid() or not all(map(shutil.which, ("debootstrap", "systemd-nspawn", "nsenter", "pip3"))):
        print("boot.py: needs root, pip3, debootstrap and systemd-nspawn (Debian: systemd-container)", file=sys.stderr)
        return 2
    with machine(arguments.suite) as booted:
        booted.boot()
        print(
            booted.run("sed -n 's/PRETTY_NAME=//p' /etc/os-release; systemctl --version | head -n 1; python3 --version")
        )
        before = listing(booted)
        try:
            installs(booted)
            comes_by_the_socket(booted)
            survives_kill(booted)
            survives_stop(booted)
            refuses_a_newer_database(booted)
            stays_inside(booted)
            survives_reboot(booted)
            leaves(booted, before)
        except BrokenError as failed:
            print(f"boot.py: {failed}", file=sys.stderr)
            print(booted.run("journalctl --user -n 50 --no-pager 2>&1", check=False), file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
