"""The systemd units and the launchd agent, and how their managers are called."""

from __future__ import annotations

import os
import plistlib
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from recalld import doctor
from recalld.errors import UnavailableError
from recalld.install import assets, launchd, service, settings, systemd, tools
from recalld.paths import Paths

TEMPLATES = assets.units()


class Recorder:
    """Stands in for the one call to a service manager: notes the command, answers or fails as told."""

    def __init__(self, answers: dict[str, str] | None = None, failing: Sequence[str] = ()) -> None:
        self.commands: list[str] = []
        self._answers = answers or {}
        self._failing = failing

    def __call__(self, command: Sequence[str]) -> str:
        line = " ".join(command)
        self.commands.append(line)
        if any(word in line for word in self._failing):
            raise UnavailableError(f"{line}: no")
        return next((answer for part, answer in self._answers.items() if part in line), "")


@pytest.fixture(params=["plain", "a b 中文 100%x $y"])
def home(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    made = tmp_path / str(request.param)
    made.mkdir()
    return made


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    """A folder with a short name: a service manager takes a socket's path of about 100 bytes only."""
    with tempfile.TemporaryDirectory(prefix="r-") as folder:
        yield Path(folder)


@pytest.fixture
def paths(home: Path) -> Paths:
    return Paths(data=home / "data", config_dir=home / "config", state=home / "state", runtime=home / "run")


@pytest.fixture
def command(home: Path) -> Path:
    program = home / "venv" / "bin" / "recalld"
    program.parent.mkdir(parents=True)
    shutil.copy("/bin/true", program)
    return program


def rendered(paths: Paths, command: Path, *, version: int = 252, sandbox: bool = True) -> dict[str, str]:
    places = {"RECALLD_HOME": str(paths.data)}
    claude = [command.parents[3] / ".claude"]
    return systemd.render(TEMPLATES, paths, command, claude, places, version=version, sandbox=sandbox)


def assignments(unit: str, key: str) -> list[str]:
    return re.findall(rf"^{key}=(.*)$", unit, flags=re.MULTILINE)


def verify(folder: Path) -> str:
    """What `systemd-analyze` has to say about our units; it ends with 0 for unknown keys, so all it says counts."""
    runtime = folder / "runtime"
    runtime.mkdir(mode=0o700)
    done = subprocess.run(
        ["systemd-analyze", "--user", "verify", *map(str, sorted(folder.glob("recalld.*")))],
        env={**os.environ, "XDG_RUNTIME_DIR": str(runtime)},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout + done.stderr + ("" if done.returncode == 0 else f"code {done.returncode}")


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="needs systemd-analyze")
@pytest.mark.parametrize("sandbox", [True, False])
def test_systemd_has_nothing_to_say_about_the_units(
    paths: Paths, command: Path, tmp_path: Path, *, sandbox: bool
) -> None:
    """The generated units verify in silence, whatever the home is called."""
    folder = tmp_path / "units"
    folder.mkdir()
    for name, text in rendered(paths, command, sandbox=sandbox).items():
        (folder / name).write_text(text, encoding="utf-8")
    assert verify(folder) == ""


def test_the_units_hold_absolute_paths(paths: Paths, command: Path) -> None:
    """B57: program and socket are absolute, since a user manager knows neither our PATH nor our folders."""
    units = rendered(paths, command)
    escaped = str(command).replace("%", "%%")
    assert assignments(units[systemd.SERVICE], "ExecStart") in ([f"{escaped} run"], [f'"{escaped}" run'])
    assert assignments(units[systemd.SOCKET], "ListenStream") == [str(paths.socket).replace("%", "%%")]
    assert assignments(units[systemd.SOCKET], "SocketMode") == ["0600"]
    assert assignments(units[systemd.SOCKET], "DirectoryMode") == ["0700"]
    assert len(assignments(units[systemd.SERVICE], "Environment")) == 1


def test_the_sandbox_leaves_our_folders_and_the_login_of_claude_writable(paths: Paths, command: Path) -> None:
    """PrivateUsers= is there, without which the rest is ignored; our folders and Claude's can be written."""
    service = rendered(paths, command)[systemd.SERVICE]
    assert assignments(service, "PrivateUsers") == ["yes"]
    assert assignments(service, "ProtectSystem") == ["strict"]
    (writable,) = assignments(service, "ReadWritePaths")
    for folder in (paths.data, paths.config_dir, paths.state, paths.runtime, command.parents[3] / ".claude"):
        assert f"-{folder}".replace("%", "%%") in writable
    bare = rendered(paths, command, sandbox=False)[systemd.SERVICE]
    assert "PrivateUsers" not in bare
    assert "Also=recalld.socket" in bare


def test_a_newer_database_makes_no_restart_loop(paths: Paths, command: Path) -> None:
    """Failures are restarted with a pause, but the code for a newer database ends it."""
    service = rendered(paths, command)[systemd.SERVICE]
    assert assignments(service, "Type") == ["notify"]
    assert assignments(service, "Restart") == ["on-failure"]
    assert assignments(service, "RestartPreventExitStatus") == ["78"]
    assert assignments(service, "RestartSec") == ["5"]
    assert not assignments(service, "RestartSteps")
    assert assignments(rendered(paths, command, version=254)[systemd.SERVICE], "RestartSteps") == ["5"]


@pytest.mark.parametrize("name", ['a"b', "a'b", "a\\b", "x" * 120])
def test_a_path_that_no_unit_can_hold_is_refused(name: str, tmp_path: Path) -> None:
    """Quotes in the program's path and a socket's path over the kernel's limit mean: no service, not a broken one."""
    folder = tmp_path / name
    paths = Paths(folder, folder, folder, folder)
    with pytest.raises(UnavailableError, match="systemd"):
        rendered(paths, folder / "venv" / "bin" / "recalld")


def test_installing_opens_the_socket_and_starts_the_new_program(tmp_path: Path) -> None:
    """Units are written, enabled, and what ran before is replaced."""
    run = Recorder()
    systemd.install({systemd.SOCKET: "s", systemd.SERVICE: "t"}, tmp_path / "user", run)
    assert (tmp_path / "user" / systemd.SERVICE).read_text() == "t"
    assert run.commands == [
        "systemctl --user daemon-reload",
        "systemctl --user enable recalld.socket",
        "systemctl --user stop recalld.service recalld.socket",
        "systemctl --user reset-failed recalld.service recalld.socket",
        "systemctl --user start recalld.socket recalld.service",
    ]


def test_uninstalling_leaves_no_file_even_without_a_manager(tmp_path: Path) -> None:
    """Units and the link that `enable` made go, also where systemctl fails; a second time does nothing."""
    where = tmp_path / "systemd" / "user"
    run = Recorder(failing=["systemctl"])
    (where / "sockets.target.wants").mkdir(parents=True)
    (where / "sockets.target.wants" / systemd.SOCKET).symlink_to(where / systemd.SOCKET)
    for name in (systemd.SOCKET, systemd.SERVICE):
        (where / name).write_text("x")
    assert systemd.uninstall(where, run) == [where / systemd.SOCKET, where / systemd.SERVICE]
    assert list(tmp_path.iterdir()) == []
    assert systemd.uninstall(where, run) == []


def test_other_units_stay(tmp_path: Path) -> None:
    """A folder that holds another unit is not touched beyond ours."""
    other = tmp_path / "other.service"
    other.write_text("x")
    (tmp_path / systemd.SERVICE).write_text("x")
    systemd.uninstall(tmp_path, Recorder())
    assert list(tmp_path.iterdir()) == [other]


def test_a_manager_of_another_home_is_none_of_ours(tmp_path: Path) -> None:
    """Only a user manager that starts services in this very home is used."""
    run = Recorder({"show-environment": f"LANG=C\nHOME={tmp_path}\n"})
    assert systemd.available(tmp_path, run)
    assert not systemd.available(tmp_path / "other", run)
    assert not systemd.available(tmp_path, Recorder(failing=["show-environment"]))


def test_the_state_is_told_in_systemds_words() -> None:
    """`active (running)`, as systemctl puts it."""
    assert systemd.state(Recorder({"show": "ActiveState=active\nSubState=running\n"})) == "active (running)"


def test_the_launchd_agent_holds_absolute_paths(paths: Paths, command: Path) -> None:
    """The property list survives a round trip with program, socket, its mode, logs and variables."""
    agent = plistlib.loads(launchd.render(TEMPLATES, paths, command, {"RECALLD_HOME": str(paths.data)}))
    assert agent["Label"] == "dev.recalld"
    assert agent["ProgramArguments"] == [str(command), "run"]
    assert agent["Sockets"] == {"Listeners": {"SockPathName": str(paths.socket), "SockPathMode": 0o600}}
    assert agent["StandardErrorPath"] == str(paths.log / "launchd.log")
    assert agent["EnvironmentVariables"] == {"RECALLD_HOME": str(paths.data)}
    assert agent["KeepAlive"] == {"Crashed": True}


def test_the_service_of_another_home_is_none_of_ours(
    paths: Paths, command: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only the home whose socket the service has is in its charge; uninstalling another leaves it alone."""
    user = tmp_path / "user"
    monkeypatch.setenv("HOME", str(user))
    environ = {"HOME": str(user)}
    assert service.in_charge(paths, environ) is None
    where = systemd.folder(environ)
    systemd.install(rendered(paths, command), where, Recorder())
    other = Paths(tmp_path, tmp_path, tmp_path, tmp_path)
    assert service.in_charge(paths, environ) == "systemd"
    assert service.in_charge(other, environ) is None
    assert service.uninstall(other, environ, Recorder()) == []
    assert service.uninstall(paths, environ, Recorder()) == [where / systemd.SOCKET, where / systemd.SERVICE]
    not_loaded = Recorder(failing=[f"print gui/{os.getuid()}/"])
    launchd.install(launchd.render(TEMPLATES, paths, command, {}), launchd.file(user), not_loaded)
    assert service.in_charge(paths, environ) == "launchd"
    assert service.in_charge(other, environ) is None
    assert service.uninstall(paths, environ, not_loaded) == [launchd.file(user)]
    assert service.in_charge(paths, environ) is None


def test_without_a_graphical_session_the_users_domain_is_used() -> None:
    """Over SSH there is no gui domain."""
    assert launchd.domain(Recorder(failing=["gui/"])) == f"user/{os.getuid()}"


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (["/nonexistent/systemctl"], "No such file"),
        (["sh", "-c", "echo first >&2; echo last >&2; exit 3"], ": last"),
        (["sh", "-c", "exit 3"], "code 3"),
    ],
)
def test_a_failing_tool_is_told_in_one_line(command: list[str], message: str) -> None:
    """Missing, failing or silent: one line that says which command and why."""
    with pytest.raises(UnavailableError, match=message) as caught:
        tools.run(command)
    assert "\n" not in str(caught.value)


def test_a_tool_that_hangs_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """No installation waits for a hung manager."""
    monkeypatch.setattr(tools, "TIMEOUT_S", 0.05)
    with pytest.raises(UnavailableError, match="no answer"):
        tools.run(["sleep", "60"])


def test_a_program_that_fails_has_ended_and_one_that_hangs_or_is_not_there_has_not() -> None:
    """What it printed is for whoever called it; stdin is empty, and bytes that are no text are survived."""
    done = tools.finished(["sh", "-c", "cat; printf 'a\\377'; echo why >&2; exit 3"], os.environ, 10)
    assert (done.returncode, done.stdout, done.stderr) == (3, "a\ufffd", "why\n")
    with pytest.raises(UnavailableError, match=r"^sleep: no answer in 0 s$"):
        tools.finished(["sleep", "60"], os.environ, 0.05)
    with pytest.raises(UnavailableError, match=r"^the tool: No such file"):
        tools.finished(["/nowhere/tool"], os.environ, 10, name="the tool")


def test_a_tool_finds_the_user_manager_without_its_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    """Under su and cron XDG_RUNTIME_DIR is unset though the manager is there."""
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)

    assert tools.run(["sh", "-c", 'echo "$XDG_RUNTIME_DIR"']) == f"/run/user/{os.getuid()}\n"


@pytest.mark.parametrize(
    "script", ["#!{python}\nimport sys\n", "#!/bin/sh\n'''exec' \"{python}\" \"$0\" \"$@\"\n' '''\n"]
)
def test_doctor_names_the_interpreter_that_an_upgrade_took_away(
    paths: Paths, command: Path, home: Path, monkeypatch: pytest.MonkeyPatch, script: str
) -> None:
    """B57: a service whose program has lost its Python ends with 203 each time; hooks that start it do nothing."""
    monkeypatch.setenv("HOME", str(home))
    paths.ensure()
    python = home / "python3.11"
    command.write_text(script.format(python=python))
    systemd.install(rendered(paths, command), systemd.folder({}), Recorder())
    settings.add_hooks(
        home / ".claude" / "settings.json",
        settings.entries(assets.interpreter(), assets.hook_script(), paths.socket, [str(command), "run"]),
        paths.backups,
    )

    def checks() -> dict[str, doctor.Check]:
        return {check.check: check for check in doctor.examine(paths, {"HOME": str(home), "PATH": os.defpath})}

    found = checks()
    for name in ("service", "hooks"):
        assert f"{command} is run by {python}, which is not there" in found[name].detail
        assert found[name].fix == "recalld install"
    python.symlink_to("/bin/true")
    found = checks()
    assert all(str(python) not in found[name].detail for name in ("service", "hooks"))
    command.unlink()
    assert f"{command} is not there" in checks()["service"].detail
