"""What the daemon itself takes, seen from a client's socket: prompts and Stops one after the other."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

import msgspec

from recalld.bench import texts
from recalld.bench.scratch import Home
from recalld.bench.spread import Spread, spread
from recalld.client import Client
from recalld.errors import UnavailableError

WARM_UP = 5


class SocketTimes(msgspec.Struct, frozen=True):
    """prompt, stop: from connecting to the end of the answer. given: how many prompts got memories.

    cpu_ms: the daemon's processor time for a prompt, which other work on the machine hardly changes (None: no /proc).
    """

    prompt: Spread
    stop: Spread
    given: int
    cpu_ms: float | None


def measure(home: Home, prompts: int, cpu_s: Callable[[], float | None]) -> SocketTimes:
    """Submit so many different prompts, each in a session of its own; then end each turn. Receipts are on.

    cpu_s: the processor time that the daemon has used so far.

    First all prompts and then all Stops: nobody types so fast that a turn's extraction would run beside the next
    prompt each time.
    """
    client = Client(home.paths.socket)
    numbers = range(-WARM_UP, prompts)
    before = cpu_s()
    asked = [_submit(client, home, number) for number in numbers]
    used = None if before is None else (cpu_s() or before) - before
    ended = [_end(client, home, number) for number in numbers]
    given = sum(bool(answer) for _, answer in asked[WARM_UP:])
    return SocketTimes(
        prompt=spread([ms for ms, _ in asked[WARM_UP:]]), stop=spread(ended[WARM_UP:]), given=given,
        cpu_ms=None if used is None else round(used * 1000 / len(numbers), 2),
    )  # fmt: skip


def _submit(client: Client, home: Home, number: int) -> tuple[float, dict[str, Any]]:
    prompt = texts.prompt(number + WARM_UP, home.held)
    return _hook(client, "prompt", _turn(home, number) | {"hook_event_name": "UserPromptSubmit", "prompt": prompt})


def _end(client: Client, home: Home, number: int) -> float:
    answer = {"hook_event_name": "Stop", "last_assistant_message": "Done, and it works."}
    ms, _ = _hook(client, "stop", _turn(home, number) | answer)
    return ms


def _turn(home: Home, number: int) -> dict[str, Any]:
    return {"session_id": f"socket-{number}", "cwd": str(home.here), "prompt_id": f"socket-{number}"}


def _hook(client: Client, event: str, fields: dict[str, Any]) -> tuple[float, dict[str, Any]]:
    request = f"hook {event} entrypoint=cli\n".encode() + json.dumps(fields).encode()
    begun = time.perf_counter()
    reply = client.exchange(request)
    ms = (time.perf_counter() - begun) * 1000
    if not reply:
        raise UnavailableError(f"the daemon did not answer a {event} in time")
    return ms, json.loads(reply)
