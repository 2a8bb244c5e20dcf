"""Routes that carry memories out and in: in pages, so that a large store is no large message to the daemon."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from starlette.responses import Response, StreamingResponse

from recalld import export_file
from recalld.client import Client
from recalld.web.door import Call

BATCH = 100
"""So many memories at once, so that whoever asks for something else meanwhile gets a turn."""
CHUNK_CHARS = 1 << 16
MEDIA = {"json": "application/json", "jsonl": "application/x-ndjson", "markdown": "text/markdown; charset=utf-8"}
SHAPES = {"json": export_file.as_json, "jsonl": export_file.as_lines, "markdown": export_file.as_markdown}
ENDINGS = {"json": "json", "jsonl": "jsonl", "markdown": "md"}


async def export(call: Call) -> Response:
    """Everything that is remembered, as a file."""
    form, project = call.query.format, call.query.project
    wanted = {} if project == "all" else {"project": project}
    first = await call.ask("export", **wanted)
    client = Client(call.door.paths.socket, source=call.source, cwd="")
    lines = SHAPES[form](first["head"], _items(client, first, wanted))
    named = {"Content-Disposition": f'attachment; filename="recalld.{ENDINGS[form]}"'}
    return StreamingResponse(_chunks(lines), media_type=MEDIA[form], headers=named)


def _items(client: Client, page: dict[str, Any], wanted: dict[str, str]) -> Iterator[tuple[str, dict[str, Any]]]:
    for name in ("projects", "conflicts"):
        for item in page[name]:
            yield name, item
    while True:
        for item in page["memories"]:
            yield "memories", item
        if page["next"] is None:
            return
        page = client.call("export", **wanted, after=page["next"])


def _chunks(lines: Iterator[str]) -> Iterator[str]:
    """The lines, many at a time: each time is a change of threads."""
    held: list[str] = []
    size = 0
    for line in lines:
        held.append(line + "\n")
        size += len(line)
        if size > CHUNK_CHARS:
            yield "".join(held)
            held, size = [], 0
    yield "".join(held)


async def import_(call: Call) -> Any:
    """Take in an export; it is checked whole before anything is stored."""
    parsed = await asyncio.to_thread(export_file.parse, call.body, Path("the file"))
    verb = "import-rehearse" if call.query.dry_run else "import"
    return export_file.counted([await call.ask(verb, **part) for part in export_file.parts(parsed, BATCH)])
