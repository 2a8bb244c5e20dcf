"""How fast transcripts are read."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import msgspec

from recalld import transcript
from recalld.bench import texts
from recalld.errors import UnavailableError

TURNS = 400
RESULT_CHARS = 40_000
"""Most of a real transcript is what tools returned."""
ROUNDS = 3


class Reading(msgspec.Struct, frozen=True):
    """mb_per_s: millions of bytes a second, the best of ROUNDS. new_turn_ms: for reading what one turn added."""

    mb: float
    mb_per_s: float
    new_turn_ms: float


def measure(path: Path, turns: int = TURNS) -> Reading:
    """Write a transcript at `path` and read it. Raises UnavailableError where a turn was not found in it."""
    with path.open("w", encoding="utf-8") as file:
        for number in range(turns):
            file.writelines(json.dumps(record) + "\n" for record in _turn(number))
    size = path.stat().st_size
    best = min(_read(path, 0, turns) for _ in range(ROUNDS))
    with path.open("a", encoding="utf-8") as file:
        file.writelines(json.dumps(record) + "\n" for record in _turn(turns))
    return Reading(round(size / 1e6, 1), round(size / 1e6 / best, 1), round(_read(path, size, 1) * 1000, 2))


def _read(path: Path, offset: int, turns: int) -> float:
    begun = time.perf_counter()
    found = transcript.read(path, offset)
    took_s = time.perf_counter() - begun
    if len(found.turns) != turns:
        raise UnavailableError(f"{len(found.turns)} of {turns} turns were found in the transcript")
    return took_s


def _turn(number: int) -> list[dict[str, Any]]:
    """The records of a turn: the prompt, a tool call and its long result, the answer, and the client's own note."""
    result = (f'{number}: {texts.memory(number)[0]} "quoted" \\ path/to/file.py:{number}\n' * 800)[:RESULT_CHARS]
    call = {"type": "tool_use", "id": f"t{number}", "name": "Bash", "input": {"command": "make test"}}
    returned = {"type": "tool_result", "tool_use_id": f"t{number}", "content": result}
    steps: list[dict[str, Any]] = [
        {"type": "user", "promptId": f"p{number}", "message": {"role": "user", "content": texts.question(number)}},
        {"type": "assistant", "message": {"id": f"m{number}", "role": "assistant", "stop_reason": "tool_use", "content": [call]}},
        {"type": "user", "promptId": f"p{number}", "toolUseResult": {"stdout": result, "stderr": "", "interrupted": False},
         "message": {"role": "user", "content": [returned]}},
        {"type": "assistant", "message": {"id": f"n{number}", "role": "assistant", "stop_reason": "end_turn",
                                          "content": [{"type": "text", "text": "Done, and the tests pass."}]}},
        {"type": "system", "subtype": "turn_duration", "durationMs": 1000},
    ]  # fmt: skip
    common = {"isSidechain": False, "userType": "external", "entrypoint": "cli", "cwd": "/work", "sessionId": "bench",
              "version": "2.1.197", "gitBranch": "main", "timestamp": "2026-01-31T08:05:00.000Z"}  # fmt: skip
    return [common | step | {"uuid": f"u{number}-{place}"} for place, step in enumerate(steps)]
