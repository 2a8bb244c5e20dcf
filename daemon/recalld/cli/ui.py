"""The command that opens the viewer."""

from __future__ import annotations

import argparse
import json
import os
import time
from typing import Any

from recalld.cli.command import Command, Told
from recalld.errors import UnavailableError
from recalld.paths import Paths, find

SERVE_S = 20.0
POLL_S = 0.1
ANSWER_S = 5.0


def _options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--no-open", action="store_true", help="only print the address")
    parser.add_argument("--off", action="store_true", help="switch the viewer and the HTTP interface off")
    parser.add_argument("--port", type=_port, metavar="N", help="serve there from now on; 0: any port that is free")


def _port(text: str) -> int:
    """Raises ValueError, as argparse wants it."""
    if not 0 <= (number := int(text)) < 1 << 16:
        raise ValueError(text)
    return number


def ui(arguments: argparse.Namespace) -> Told:
    """Have the HTTP door serve, and open its page with a code that lets this browser in."""
    from recalld.cli import config_file  # late: it brings tomlkit
    from recalld.install import control, running

    paths = find()
    paths.ensure()
    if arguments.port is not None:
        config_file.put(paths.config, "http.port", str(arguments.port))
    if arguments.off:
        config_file.put(paths.config, "http.enabled", "false")
        return Told({"enabled": False}, lambda _: print("off: nothing serves HTTP"))
    config_file.put(paths.config, "http.enabled", "true")
    if running.status(paths) is None:
        control.start(paths)
    url = _wait(paths)
    page = f"{url}/#code={_code(paths, url)}"
    opened = not arguments.no_open and _open(page)
    shown = (
        f"the viewer is open: {url}" if opened else f"open this within a minute, in a browser on this machine:\n{page}"
    )
    return Told({"enabled": True, "url": url, "page": page, "opened": opened}, lambda _: print(shown))


def _wait(paths: Paths) -> str:
    """Where it serves, as soon as it does. Raises UnavailableError."""
    from recalld.install import running

    deadline = time.monotonic() + SERVE_S
    door: dict[str, Any] = {"state": "off", "error": None}
    while time.monotonic() < deadline:
        door = (running.status(paths) or {}).get("http") or door
        if door["state"] == "serving":
            return str(door["url"])
        if door["state"] == "failed":
            raise UnavailableError(f"the viewer cannot be served: {door['error']}")
        time.sleep(POLL_S)
    raise UnavailableError(f"the viewer did not serve within {SERVE_S:.0f} s; `recalld logs` tells why")


def _code(paths: Paths, url: str) -> str:
    """A login code. Only now is the token shown to whoever listens at `url`: the daemon has said that it is ours."""
    import http.client  # late: no other command needs it

    connection = http.client.HTTPConnection(url.removeprefix("http://"), timeout=ANSWER_S)
    try:
        token = paths.http_token.read_text().strip()
        connection.request("POST", "/login-codes", headers={"Authorization": f"Bearer {token}"})
        answer = connection.getresponse()
        said = json.loads(answer.read())
    except (OSError, ValueError, http.client.HTTPException) as error:
        raise UnavailableError(
            f"{url}: does not answer as it should ({error}); `recalld restart` starts it anew"
        ) from error
    finally:
        connection.close()
    if answer.status != 201:
        raise UnavailableError(f"{url}: {said.get('detail')}")
    return str(said["code"])


def _open(page: str) -> bool:
    """Whether a browser was opened. None is over SSH, where it would be on the other machine, and on no screen."""
    import sys
    import webbrowser

    if os.environ.get("SSH_CONNECTION") or os.environ.get("SSH_TTY"):
        return False
    graphical = sys.platform == "darwin" or any(
        os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")
    )
    return graphical and webbrowser.open(page)


COMMANDS = (
    Command("ui", "[--off]", "open the viewer in a browser; turns the HTTP interface on", _options, ui,
            ("recalld ui", "recalld ui --no-open", "recalld ui --port 8765", "recalld ui --off")),
)  # fmt: skip
