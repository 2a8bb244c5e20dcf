"""A development container that reaches this machine's daemon by a mounted socket: paths, projects, and a real one."""

from __future__ import annotations

import itertools
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from claude_client import until
from conftest import Home
from recalld import config, wire
from recalld.errors import ConfigError
from recalld.install import settings
from recalld.project import containers
from test_daemon import HOOK, settled

PATHS = {
    "/workspaces": "~/work",
    "/workspaces/shop": "/srv/shop/",
    "/": "/other",
    "/home/dev/.claude/": "~/.claude-dev",
}
ANSWER = "We will deploy with Argo CD."


@pytest.mark.parametrize(
    ("inside", "outside"),
    [
        ("/workspaces/shop", "/srv/shop"),
        ("/workspaces/shop/src/a b", "/srv/shop/src/a b"),
        ("/workspaces/shopping", "/home/me/work/shopping"),
        ("/workspaces", "/home/me/work"),
        ("/workspaces/shop/../tools", "/home/me/work/tools"),
        ("/home/dev/.claude/projects/x/1.jsonl", "/home/me/.claude-dev/projects/x/1.jsonl"),
        ("/elsewhere", "/other/elsewhere"),
        ("", ""),
    ],
)
def test_the_longest_prefix_of_whole_names_decides(inside: str, outside: str) -> None:
    """And `..` leads nowhere else than it does in the container."""
    assert containers.on_host(inside, PATHS, Path("/home/me")) == outside


def test_without_a_prefix_a_path_stays_as_it_is() -> None:
    """Most sessions are no container's."""
    assert containers.on_host("/home/me/work/x", {"/workspaces": "/w"}, Path("/home/me")) == "/home/me/work/x"


def test_every_path_of_an_event_is_translated() -> None:
    """Where it works, where it was started, and where its transcript is."""
    said = {
        "session_id": "s", "cwd": "/workspaces/shop/src", "hook_event_name": "Stop", "last_assistant_message": ANSWER,
        "transcript_path": "/home/dev/.claude/projects/x/1.jsonl",
    }  # fmt: skip
    event = wire.parse_hook("stop", json.dumps(said).encode(), {"project": "/workspaces/shop"})
    assert event
    moved = containers.at_home(event, PATHS, Path("/home/me"))
    assert (moved.cwd, moved.project_dir) == ("/srv/shop/src", "/srv/shop")
    assert moved.transcript_path == "/home/me/.claude-dev/projects/x/1.jsonl"
    assert containers.at_home(event, {}, Path("/home/me")) is event


@pytest.mark.parametrize("line", ['"workspaces" = "/w"', '"/workspaces" = "w"', '"/workspaces" = ""'])
def test_half_a_path_is_refused_with_its_line(line: str) -> None:
    """It would be a path from wherever the daemon happens to be."""
    with pytest.raises(ConfigError, match=r"config.toml:2: containers.paths: "):
        config.parse(f"[containers]\npaths = {{ {line} }}\n", "config.toml")


def test_what_the_document_shows_can_be_used_as_it_stands() -> None:
    """docs/containers.md: its JSON names each of our events as we register them, its settings are valid."""
    text = (Path(__file__).parents[1] / "docs" / "containers.md").read_text(encoding="utf-8")
    container, hooks = (json.loads(block) for block in re.findall(r"```json\n(.*?)```", text, re.DOTALL))
    mounts = [dict(part.partition("=")[::2] for part in mount.split(",")) for mount in container["mounts"]]
    targets = {mount["target"] for mount in mounts}
    assert set(hooks["hooks"]) == set(settings.HOOK_EVENTS)
    for event, ((entry,),) in (
        (event, [group["hooks"] for group in groups]) for event, groups in hooks["hooks"].items()
    ):
        assert settings.is_ours(entry)
        script, name, socket = entry["args"][-3:]
        assert (name, entry["timeout"]) == (settings.HOOK_EVENTS[event], settings.TIMEOUTS_S[event])
        assert {os.path.dirname(script), os.path.dirname(socket)} <= targets
        assert "readonly" in next(mount for mount in mounts if mount["target"] == os.path.dirname(script))
    (shown,) = re.findall(r"```toml\n(.*?)```", text, re.DOTALL)
    assert config.parse(shown, "config.toml").containers.paths["/workspaces/shop"] == "~/work/shop"


# A container as far as it matters here: a file system of its own that has the project and the socket's folder only.
CONTAINER = """
set -eu
root=$1 project=$2 sockets=$3 hooks=$4 python=$5 prefix=$6
shift 6
mount -t tmpfs tmpfs "$root"
for folder in /usr /bin /lib /lib64 "$prefix"; do
    if [ -e "$folder" ]; then mkdir -p "$root$folder"; mount --bind "$folder" "$root$folder"; fi
done
mkdir -p "$root/workspaces/shop" "$root/run/recalld" "$root/opt/recalld" "$root/home/dev" "$root/dev"
mount --bind "$project" "$root/workspaces/shop"
mount --bind "$sockets" "$root/run/recalld"
mount --bind -o ro "$hooks" "$root/opt/recalld"
exec chroot "$root" /usr/bin/env -i HOME=/home/dev PWD=/workspaces/shop "$@"
"""


def in_container(home: Home, *command: str, said: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    root = home.root / "container"
    root.mkdir(exist_ok=True)
    base = sys._base_executable  # type: ignore[attr-defined]
    return subprocess.run(
        ["unshare", "--mount", "sh", "-c", CONTAINER, "sh", root, home.project, home.paths.runtime, HOOK.parent, base,
         sys.base_prefix, *command],
        input=json.dumps(said or {}), capture_output=True, text=True, timeout=60,
    )  # fmt: skip


def hook(home: Home, event: str, **said: str) -> str:
    """What a hook in the container prints; it is silent on stderr and ends with 0."""
    words = [sys._base_executable, "-I", "-S", "/opt/recalld/hook.py", event, "/run/recalld/recalld.sock"]  # type: ignore[attr-defined]
    transcript = "/home/dev/.claude/projects/-workspaces-shop/s1.jsonl"
    common = {"session_id": "s1", "cwd": "/workspaces/shop", "transcript_path": transcript}
    done = in_container(home, *words, said={**common, **said})
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def can_mount() -> bool:
    if os.geteuid() != 0 or sys.platform != "linux":
        return False
    probe = "mount -t tmpfs tmpfs /mnt"
    return subprocess.run(["unshare", "--mount", "sh", "-c", probe], capture_output=True).returncode == 0


@pytest.mark.skipif(not can_mount(), reason="only root can make a mount namespace")
@pytest.mark.parametrize("known", ["by path", "by name"])
def test_a_container_shares_the_memory_of_this_machine(home: Home, known: str) -> None:
    """Its project is this machine's; what is said in it is learnt without its transcript, and given on both sides.

    By name: its folder is nowhere on this machine, as with a volume of its own; `[projects] map` says which it is.
    """
    home.paths.ensure()
    if known == "by path":
        home.paths.config.write_text(f'[containers]\npaths = {{ "/workspaces/shop" = "{home.project}" }}\n')
    else:
        home.paths.config.write_text(
            f'[projects]\nmap = {{ "/workspaces/shop" = "shop", "{home.project}" = "shop" }}\n'
        )
    running = home.start_daemon()
    assert in_container(home, "/bin/sh", "-c", "ls /workspaces /run /home").stdout.split() == [
        "/home:", "dev", "/run:", "recalld", "/workspaces:", "shop",
    ]  # fmt: skip
    home.json("add", "The orders service listens on port 8080.")
    number = itertools.count()

    def given() -> str:
        """A hook on a busy machine may be too late, and what was chosen then is not given to that session again."""
        more = {"session_id": f"asks{next(number)}", "prompt": "Which port has orders?"}
        return hook(home, "prompt", hook_event_name="UserPromptSubmit", **more)

    reply = until("it is given something", given)
    assert "8080" in json.loads(reply)["hookSpecificOutput"]["additionalContext"]
    hook(
        home, "prompt", hook_event_name="UserPromptSubmit", prompt_id="p2", prompt="We deploy with Argo CD from now on."
    )
    hook(home, "stop", hook_event_name="Stop", prompt_id="p2", last_assistant_message=ANSWER)
    until("the turn is learnt", lambda: settled(home, 2) or settled(home, 1))
    assert any("Argo CD" in memory["content"] for memory in home.json("list"))
    assert [project["name"] for project in home.json("projects")] == ["shop"]
    running.stop()


@pytest.mark.skipif(not can_mount(), reason="only root can make a mount namespace")
def test_a_turn_in_a_container_waits_for_a_daemon_that_is_away(home: Home) -> None:
    """In the spool beside the socket, which is this machine's."""
    home.paths.ensure()
    home.paths.config.write_text(f'[containers]\npaths = {{ "/workspaces/shop" = "{home.project}" }}\n')
    hook(home, "prompt", hook_event_name="UserPromptSubmit", prompt_id="p1", prompt="We deploy with Argo CD.")
    hook(home, "stop", hook_event_name="Stop", prompt_id="p1", last_assistant_message=ANSWER)
    running = home.start_daemon()
    until("the spool is taken in", lambda: settled(home, 1))
    assert any("Argo CD" in memory["content"] for memory in home.json("list"))
    running.stop()
