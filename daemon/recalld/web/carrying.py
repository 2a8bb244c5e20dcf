"""Routes that carry memories out and in: in pages, so that a large store is no large message to the daemon."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from starlette.responses import Response, StreamingResponse

from recalld import export_file, export_text
from recalld.client import Client
from recalld.web.door import Call

BATCH = 100
"""So many memories at once, so that whoever asks for something else meanwhile gets a turn."""
CHUNK_CHARS = 1 << 16
MEDIA = {"json": "application/json", "jsonl": "application/x-ndjson", "markdown": "text/markdown; charset=utf-8"}
ENDINGS = {"json": "json", "jsonl": "jsonl", "markdown": "md"}


async def export(call: Call) -> Response:
    """Everything that is remembered, as a file."""
    form, project = call.query.format, call.query.project
    wanted = {} if project == "all" else {"project": project}
    first = await call.ask("export", **wanted)
    client = Client(call.door.paths.socket, source=call.source, cwd="")
    items = export_text.items(first, lambda after: client.call("export", **wanted, after=after))
    lines = export_text.SHAPES[form](first["head"], items)
    named = {"Content-Disposition": f'attachment; filename="recalld.{ENDINGS[form]}"'}
    return StreamingResponse(_chunks(lines), media_type=MEDIA[form], headers=named)


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
