"""The files of other memory programs: claude-mem's database or export, mem0's and MemTether's JSON."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from recalld.errors import InputError
from recalld.foreign import Foreign
from recalld.model import Scope, Type

MAX_BYTES = 1 << 28
_SQLITE = b"SQLite format 3\0"

# What claude-mem observed; its reports of work done (feature, refactor, change) are no memories.
_OBSERVED = {"decision": Type.DECISION, "bugfix": Type.LESSON, "discovery": Type.FACT}
_TETHERED = {
    "decision": Type.DECISION,
    "preference": Type.PREFERENCE,
    "incident": Type.LESSON,
    "experience": Type.LESSON,
}
_TEXTS = ("memory", "content", "text", "data", "value", "fact")


def read(path: Path) -> tuple[str, list[Foreign]] | None:
    """The program that wrote `path` and its memories, oldest first; None where none of those we know did.

    Raises InputError for a file that is broken.
    """
    if path.exists() and not path.is_file():
        raise InputError(f"{path}: no regular file; what comes through a pipe has to be stored first")
    with path.open("rb") as file:
        head = file.read(len(_SQLITE))
    if head == _SQLITE:
        found: tuple[str, Iterable[Foreign]] | None = ("claude-mem", _from_database(path))
    elif path.stat().st_size > MAX_BYTES:
        return None
    else:
        found = _from_json(path)
    if found is None:
        return None
    return found[0], sorted(found[1], key=lambda item: item.at or "")


def _from_json(path: Path) -> tuple[str, Iterable[Foreign]] | None:
    try:
        data = json.loads(path.read_bytes())
    except (ValueError, RecursionError):
        return None
    if not isinstance(data, dict):
        return ("mem0", _of_mem0(path, data)) if isinstance(data, list) and data else None
    if data.get("schema_name") == "memtether.memory_exchange":
        return "memtether", _of_memtether(path, _list(path, data, "facts"))
    if isinstance(data.get("observations"), list):
        return "claude-mem", _observed(row for row in data["observations"] if isinstance(row, dict))
    for name in ("results", "memories"):
        if "format" not in data and isinstance(data.get(name), list) and data[name]:
            return "mem0", _of_mem0(path, data[name])
    return None


def _list(path: Path, data: dict[str, Any], name: str) -> list[Any]:
    if not isinstance(found := data.get(name), list):
        raise InputError(f"{path}: {name} is no list")
    return found


def _of_mem0(path: Path, rows: list[Any]) -> Iterator[Foreign]:
    """What mem0 knows is about its user."""
    for number, row in enumerate(rows, 1):
        if not isinstance(row, dict):
            raise InputError(f"{path}: entry {number} is no object")
        text = next((row[name] for name in _TEXTS if isinstance(row.get(name), str) and row[name].strip()), "")
        if not text:
            raise InputError(f"{path}: entry {number} has no text; nothing was taken from the file")
        tags = row.get("categories")
        made = row.get("updated_at") or row.get("created_at")
        yield Foreign(text=text, scope=Scope.USER, tags=_strings(tags), at=_string(made))


def _of_memtether(path: Path, rows: list[Any]) -> Iterator[Foreign]:
    """Facts in force; what was superseded or retired there does not come back here."""
    for number, row in enumerate(rows, 1):
        if not isinstance(row, dict) or not isinstance(row.get("content"), str):
            raise InputError(f"{path}: fact {number} has no content; nothing was taken from the file")
        if row.get("status", "active") != "active":
            continue
        scope, kind = _string(row.get("scope")) or "shared", _string(row.get("type")) or ""
        project = scope.partition(":")[2] if scope.startswith("project:") else None
        tags = row.get("tags")
        sure = row.get("confidence")
        yield Foreign(
            text=row["content"], type=_TETHERED.get(kind, Type.FACT), scope=Scope.PROJECT if project else Scope.USER,
            project=project, tags=_strings(tags.split(",") if isinstance(tags, str) else tags),
            confidence=float(sure) if isinstance(sure, int | float) else 0.7, at=_string(row.get("recorded_at")),
        )  # fmt: skip


def _from_database(path: Path) -> Iterator[Foreign]:
    """claude-mem's own file, opened for reading only."""
    try:
        db = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)
        db.row_factory = sqlite3.Row
        try:
            rows = [dict(row) for row in db.execute("select * from observations order by created_at_epoch")]
        finally:
            db.close()
    except sqlite3.Error as error:
        raise InputError(f"{path}: not a database of claude-mem ({error})") from error
    return _observed(rows)


def _observed(rows: Iterable[dict[str, Any]]) -> Iterator[Foreign]:
    """The facts of each observation, or its title where it has none."""
    for row in rows:
        kind = _OBSERVED.get(str(row.get("type")))
        if kind is None:
            continue
        facts = row.get("facts")
        if isinstance(facts, str):
            try:
                facts = json.loads(facts)
            except ValueError:
                facts = [facts]
        texts = _strings(facts) or _strings([row.get("title") or row.get("text")])
        for text in texts:
            yield Foreign(text=text, type=kind, project=_string(row.get("project")) or "", at=_epoch(row))


def _epoch(row: dict[str, Any]) -> str | None:
    """Milliseconds since 1970, or seconds in early versions."""
    at = row.get("created_at_epoch")
    if isinstance(at, int) and 0 < at < 1 << 45:
        return datetime.fromtimestamp(at / 1000 if at > 1 << 36 else at, UTC).isoformat()
    return _string(row.get("created_at"))


def _string(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def _strings(value: Any) -> tuple[str, ...]:
    return (
        tuple(part.strip() for part in value if isinstance(part, str) and part.strip())
        if isinstance(value, list)
        else ()
    )
