"""What the command line, HTTP and MCP do alike: a time as a person types it, and a found memory as it is shown."""

from __future__ import annotations

from datetime import datetime
from typing import Any


def when(text: str) -> str:
    """A point in time as typed. A date without a zone is meant in this process's, and the daemon may live in another."""
    try:
        return datetime.fromisoformat(text.strip()).astimezone().isoformat()
    except ValueError:
        return text  # a period; or what nobody can read, which is told where it is asked for


def shown(found: dict[str, Any]) -> dict[str, Any]:
    """What `search` found, as one flat object: the memory, and how well it fits."""
    return {**found["memory"], "score": found["score"], "similarity": found["similarity"]}
