"""The launchd agent: its property list, the calls of launchctl, and the socket that launchd hands over."""

from __future__ import annotations

import errno
import json
import os
import plistlib
import shutil
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from conftest import PACKAGE
from recalld.errors import UnavailableError
from recalld.install import assets, launchd
from recalld.paths import Paths

# The keys that launchd.plist(5) of macOS documents, as far as an agent like ours could have them, with their types.
KEYS: dict[str, tuple[type, ...]] = {
    "Label": (str,), "Program": (str,), "ProgramArguments": (list,), "EnableTransactions": (bool,),
    "KeepAlive": (bool, dict), "RunAtLoad": (bool,), "WorkingDirectory": (str,), "EnvironmentVariables": (dict,),
    "Umask": (int, str), "ExitTimeOut": (int,), "ThrottleInterval": (int,), "StandardInPath": (str,),
    "StandardOutPath": (str,), "StandardErrorPath": (str,), "SoftResourceLimits": (dict,), "HardResourceLimits": (dict,),
    "Nice": (int,), "ProcessType": (str,), "AbandonProcessGroup": (bool,), "LowPriorityIO": (bool,),
    "Sockets": (dict,), "LimitLoadToSessionType": (str, list), "AssociatedBundleIdentifiers": (str, list),
}  # fmt: skip
KEEP_ALIVE = {"SuccessfulExit": bool, "PathState": dict, "OtherJobEnabled": dict, "Crashed": bool}
SOCKET = {
    "SockType": str, "SockPassive": bool, "SockNodeName": str, "SockServiceName": str, "SockFamily": str,
    "SockProtocol": str, "SockPathName": str, "SecureSocketWithKey": str, "SockPathOwner": int, "SockPathGroup": int,
    "SockPathMode": int, "Bonjour": list, "MulticastGroup": str,
}  # fmt: skip
PROCESS_TYPES = ("Background", "Standard", "Adaptive", "Interactive")
SUN_PATH_BYTES = 104
"""sizeof(sockaddr_un.sun_path) on macOS, the final NUL included."""

LAUNCHCTL = """#!{python}
import os, sys
state, calls = {state!r}, {calls!r}
words = sys.argv[1:]
open(calls, "a").write(" ".join(words) + "\\n")
loaded = os.path.exists(state)
def end(text, code):
    print(text, file=sys.stderr)
    sys.exit(code)
if words[0] == "print" and "/dev.recalld" not in words[1]:
    sys.exit(0 if words[1].startswith({domain!r}) else 113)
if words[0] == "print":
    if not loaded:
        end('Could not find service "dev.recalld" in domain for port', 113)
    left = int(open(state).read())
    if left:  # on its way out: gone when it was asked after often enough
        open(state, "w").write(str(left - 1))
        if left == 1:
            os.unlink(state)
    print("gui/501/dev.recalld = {{\\n\\tactive count = 1\\n\\tstate = running\\n}}")
elif words[0] == "bootstrap":
    if loaded:
        end("Bootstrap failed: 5: Input/output error", 5)
    open(state, "w").write("0")
elif words[0] == "bootout":
    if not loaded:
        end("Boot-out failed: 3: No such process", 3)
    open(state, "w").write({slow!r}) if {slow!r} != "0" else os.unlink(state)
elif words[0] == "kickstart" and not loaded:
    end('Could not find service "dev.recalld" in domain for port', 113)
"""


class Mac:
    """A home with a `launchctl` on the PATH that knows one agent, and notes how it is called."""

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch, *, domain: str = "gui/", slow: int = 0) -> None:
        self.where = launchd.file(root)
        self._calls, self.state = root / "calls", root / "loaded"
        program = root / "bin" / "launchctl"
        program.parent.mkdir()
        program.write_text(
            LAUNCHCTL.format(
                python=sys.executable, state=str(self.state), calls=str(self._calls), domain=domain, slow=str(slow)
            )
        )
        program.chmod(0o755)
        monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
        self.target = f"{domain}{os.getuid()}"

    def calls(self) -> list[str]:
        """What changed something since the last look, in order."""
        lines = self._calls.read_text().splitlines() if self._calls.exists() else []
        self._calls.unlink(missing_ok=True)
        return [line for line in lines if not line.startswith("print")]


@pytest.fixture
def mac(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Mac:
    return Mac(tmp_path, monkeypatch)


def rendered(root: Path, **places: str) -> dict[str, Any]:
    paths = Paths(root / "data", root / "config", root / "state", root / "run")
    agent: dict[str, Any] = plistlib.loads(launchd.render(assets.units(), paths, root / "bin" / "recalld", places))
    return agent


def wrong(agent: dict[str, Any]) -> list[str]:
    """The keys of an agent that Apple's manual has not, or has with another type."""
    found = [key for key, value in agent.items() if type(value) not in KEYS.get(key, ())]
    keep = agent.get("KeepAlive")
    if isinstance(keep, dict):
        found += [key for key, value in keep.items() if type(value) is not KEEP_ALIVE.get(key)]
    for listener in agent.get("Sockets", {}).values():
        found += [key for key, value in listener.items() if type(value) is not SOCKET.get(key)]
    return found


def test_every_key_is_one_that_launchd_documents(tmp_path: Path) -> None:
    """launchd ignores what it does not know in silence, so a misspelt key would simply have no effect."""
    agent = rendered(tmp_path, RECALLD_HOME="/x")
    assert wrong(agent) == []
    assert agent["ProcessType"] in PROCESS_TYPES
    assert all(type(word) is str for word in agent["ProgramArguments"])
    assert all(type(value) is str for value in agent["EnvironmentVariables"].values())
    misspelt = {**agent, "StandardErrPath": "/x", "ThrottleInterval": "10", "KeepAlive": {"Crash": True}}
    assert wrong(misspelt) == ["ThrottleInterval", "StandardErrPath", "Crash"]


def test_it_is_started_by_its_socket_and_again_after_a_crash_only(tmp_path: Path) -> None:
    """An error that starting again cannot help must make no loop: SuccessfulExit would."""
    agent = rendered(tmp_path)
    assert agent["RunAtLoad"] is False
    assert agent["KeepAlive"] == {"Crashed": True}
    assert agent["Umask"] == 0o077
    assert agent["Sockets"]["Listeners"]["SockPathMode"] == 0o600


def test_what_goes_wrong_before_the_log_is_open_is_in_the_log_folder(tmp_path: Path) -> None:
    """In a file of its own, since launchd appends to it and never turns it over."""
    agent = rendered(tmp_path)
    assert agent["StandardOutPath"] == agent["StandardErrorPath"] == str(tmp_path / "state" / "log" / "launchd.log")


@pytest.mark.parametrize("name", ["a b", "中文 é", "<&>\"'", "100%$HOME", "new\nline"])
def test_any_path_survives_the_property_list(tmp_path: Path, name: str) -> None:
    """Escaped as XML needs it, and read again by what reads the installed file."""
    root = tmp_path / name
    agent = rendered(root, RECALLD_HOME=str(root))
    assert agent["ProgramArguments"] == [str(root / "bin" / "recalld"), "run"]
    assert agent["EnvironmentVariables"]["RECALLD_HOME"] == str(root)
    where = tmp_path / "agent.plist"
    where.write_bytes(plistlib.dumps(agent))
    assert launchd.program_in(where) == root / "bin" / "recalld"
    assert launchd.socket_in(where) == root / "run" / "recalld.sock"


def test_what_no_property_list_or_socket_can_hold_is_refused(tmp_path: Path) -> None:
    """A control character in a path and one longer than the kernel's limit: no service, not a broken one."""
    for root, reason in ((tmp_path / "bell\a", "launchd"), (tmp_path / ("x" * SUN_PATH_BYTES), "too long")):
        with pytest.raises(UnavailableError, match=reason):
            rendered(root)


def test_installing_twice_and_removing_twice(mac: Mac) -> None:
    """Not loaded: it is loaded and started. Loaded: unloaded first. Removed: unloaded; and nothing the second time."""
    agent = f"{mac.target}/{launchd.LABEL}"
    begun = [f"enable {agent}", f"bootstrap {mac.target} {mac.where}", f"kickstart {agent}"]
    for _ in range(2):
        launchd.install(b"plist", mac.where)
        assert mac.calls() == [f"bootout {agent}", *begun]
        assert launchd.state() == "running"
    assert launchd.uninstall(mac.where) == [mac.where]
    assert mac.calls() == [f"bootout {agent}"]
    assert not mac.state.exists()
    assert launchd.uninstall(mac.where) == []
    assert mac.calls() == []


def test_starting_loads_only_what_is_not_loaded(mac: Mac) -> None:
    """A second bootstrap would be refused; a kickstart of what runs does nothing."""
    agent = f"{mac.target}/{launchd.LABEL}"
    launchd.start(mac.where)
    assert mac.calls() == [f"bootstrap {mac.target} {mac.where}", f"kickstart {agent}"]
    launchd.start(mac.where)
    assert mac.calls() == [f"kickstart {agent}"]
    launchd.stop()
    with pytest.raises(UnavailableError, match="No such process"):
        launchd.stop()


def test_an_agent_that_is_slow_to_go_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`bootout` comes back early; what is bootstrapped before the old one is gone fails with an I/O error."""
    mac = Mac(tmp_path, monkeypatch, slow=3)
    monkeypatch.setattr(launchd, "_POLL_S", 0.0)
    launchd.install(b"plist", mac.where)
    launchd.install(b"plist", mac.where)
    for _ in range(5):  # and it stays: it is the new one that was started, not the old one that goes
        assert launchd.state() == "running"


def test_over_ssh_the_users_own_domain_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where nobody is logged in at the screen there is no gui domain."""
    mac = Mac(tmp_path, monkeypatch, domain="user/")
    assert launchd.available()
    launchd.install(b"plist", mac.where)
    assert f"bootstrap user/{os.getuid()} {mac.where}" in mac.calls()


# libSystem's function, with one argument more by way of the environment: what it shall answer.
STAND_IN = """
#include <errno.h>
#include <stdlib.h>
#include <string.h>
int launch_activate_socket(const char *name, int **fds, size_t *count) {
    const char *answer = getenv("ANSWER");
    if (strcmp(name, "Listeners") != 0) return ENOENT;
    if (answer[0] == 'E') return atoi(answer + 1);
    *count = (size_t)atoi(answer);
    *fds = malloc((*count + 1) * sizeof(int));
    for (size_t i = 0; i < *count; i++) (*fds)[i] = atoi(getenv("FIRST")) + (int)i;
    return 0;
}
"""
ASK = """
import json, logging, os, sys
sys.platform = "darwin"
logging.basicConfig(level=logging.INFO)
from recalld import system
found = system.inherited_socket(os.environ)
first = int(os.environ["FIRST"])
def is_open(number):
    try:
        return os.fstat(number) is not None
    except OSError:
        return False
print(json.dumps({
    "descriptor": found.fileno() if found else None,
    "name": found.getsockname() if found else None,
    "inheritable": found.get_inheritable() if found else None,
    "open": [is_open(first), is_open(first + 1)],
}))
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if sys.platform != "linux" or not (compiler := shutil.which("cc")):
        pytest.skip("needs a C compiler, and a loader that takes LD_PRELOAD")
    folder = tmp_path_factory.mktemp("launchd")
    (folder / "stand_in.c").write_text(STAND_IN)
    made = folder / "stand_in.so"
    subprocess.run([compiler, "-shared", "-fPIC", "-o", made, folder / "stand_in.c"], check=True)
    return made


def asked(library: Path, folder: Path, answer: str, service: str = "dev.recalld") -> tuple[dict[str, Any], str]:
    """What a daemon under macOS' launchd would make of an answer, and what it logs."""
    with socket.socket(socket.AF_UNIX) as listening:
        before = Path.cwd()
        os.chdir(folder)
        listening.bind("s")
        os.chdir(before)
        listening.listen()
        first, second = listening.fileno(), os.dup2(listening.fileno(), listening.fileno() + 1)
        environ = {
            **os.environ, "LD_PRELOAD": str(library), "ANSWER": answer, "FIRST": str(first), "PYTHONPATH": str(PACKAGE),
            **({"XPC_SERVICE_NAME": service} if service else {}),
        }  # fmt: skip
        done = subprocess.run(
            [sys.executable, "-c", ASK], env=environ, capture_output=True, text=True, pass_fds=(first, second)
        )
        os.close(second)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    found["expected"] = first
    return found, done.stderr


def test_the_socket_of_launchd_is_taken_over(library: Path, tmp_path: Path) -> None:
    """Through the real call: the descriptor is the one that was handed over, and no child inherits it."""
    found, said = asked(library, tmp_path, "1")
    assert (found["descriptor"], found["name"], said) == (found["expected"], "s", "")
    assert found["inheritable"] is False


def test_of_several_sockets_the_first_is_served_and_the_rest_is_closed(library: Path, tmp_path: Path) -> None:
    """An open one that nobody accepts from would let its clients hang."""
    found, _ = asked(library, tmp_path, "2")
    assert found["descriptor"] == found["expected"]
    assert found["open"] == [True, False]


@pytest.mark.parametrize(
    ("answer", "logged"),
    [
        ("0", ""),
        (f"E{errno.ESRCH}", ""),
        (f"E{errno.ENOENT}", os.strerror(errno.ENOENT)),
        (f"E{errno.EALREADY}", os.strerror(errno.EALREADY)),
    ],
)
def test_without_a_socket_of_launchds_the_daemon_opens_its_own(
    library: Path, tmp_path: Path, answer: str, logged: str
) -> None:
    """None, not managed by launchd (a terminal), not in the property list, taken already: said where it is odd."""
    found, said = asked(library, tmp_path, answer)
    assert found["descriptor"] is None
    assert logged in said
    assert bool(said) == bool(logged)


def test_outside_of_launchd_it_is_not_even_asked(library: Path, tmp_path: Path) -> None:
    """A daemon that a hook has started."""
    found, _ = asked(library, tmp_path, "1", service="")
    assert found["descriptor"] is None
