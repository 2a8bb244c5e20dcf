"""What one MCP client may see: its own project or projects, and what holds everywhere. Never another project by accident."""

from __future__ import annotations

import os
from typing import Any
from urllib.parse import unquote, urlsplit

import msgspec

from recalld.errors import InputError
from recalld.mcp.calls import Calls

ALL = "all"
CLIENT_HEADER = "x-recalld-client"
"""By which a client says its name over HTTP."""


class Bounds(msgspec.Struct, frozen=True):
    """The projects of a client: `name` (`all` opens every one), else those of `folders`; neither: only user scope."""

    name: str | None = None
    folders: tuple[str, ...] = ()

    def within(self) -> dict[str, Any]:
        """All of it, as the verbs of `verbs.bounds` take it."""
        return {"project": self.name} if self.name else {"cwds": self.folders}

    def default(self) -> dict[str, str]:
        """Where a call is about that names no project, as verbs take it: the first folder; no folder at all."""
        if self.name and self.name != ALL:
            return {"project": self.name}
        return {"cwd": self.folders[0] if self.folders else ""}


def named(reference: str | None, cwd: str) -> Bounds:
    """The bounds that `--project REFERENCE` sets: a name, a path (relative to `cwd`), or `all`."""
    if not reference:
        return Bounds()
    if "/" in reference or reference in (".", "..", "~"):
        return Bounds(folders=(os.path.join(cwd, os.path.expanduser(reference)),))
    return Bounds(name=reference)


def rooted(uris: list[str]) -> Bounds:
    """The bounds that a client's roots set: those of its URIs that are local folders."""
    folders = []
    for uri in uris:
        parts = urlsplit(uri)
        path = unquote(parts.path)
        if parts.scheme == "file" and parts.netloc in ("", "localhost") and os.path.isabs(path) and "\0" not in path:
            folders.append(os.path.normpath(path))
    return Bounds(folders=tuple(dict.fromkeys(folders)))


class Desk:
    """What a tool works with: calls in the name of `source`, kept within `bounds`."""

    def __init__(self, calls: Calls, bounds: Bounds, source: str) -> None:
        self._calls = calls
        self._source = source
        self.bounds = bounds

    def read(self, verb: str, /, **arguments: Any) -> Any:
        """What a verb that changes nothing answers. Raises RecalldError."""
        return self._calls.ask(verb, arguments)

    def write(self, verb: str, /, **arguments: Any) -> Any:
        """What a verb that changes something answers. Raises RecalldError."""
        return self._calls.ask(verb, {"source": self._source, **arguments}, writes=True)

    def place(self, wanted: str | None) -> dict[str, str]:
        """The project a call is about, as verbs take it: the client's own, or the one of its own that it names.

        Raises InputError for any other, with the same words whether there is such a project or not.
        """
        if not wanted:
            return self.bounds.default()
        if self.bounds.name == ALL:
            return {"project": wanted, "cwd": "/"}
        own = self.read("which", **self.bounds.within())
        places = [{"cwd": folder} for folder in self.bounds.folders] or [self.bounds.default()]
        for known, place in zip(own, places, strict=False):
            if _means(wanted, known, place):
                return place
        names = [known["name"] for known in own if known["name"]]
        sees = f"{', '.join(names)} and what holds everywhere" if names else "only what holds everywhere"
        raise InputError(
            f"project {wanted!r} is not open to this client, which sees {sees}; the owner can open another one to it"
            " (`recalld mcp --project NAME`)"
        )

    def visible(self, reference: str) -> dict[str, Any]:
        """The memory of this id (or its beginning), where the client may see it. Raises NotFoundError."""
        memory: dict[str, Any] = self.read("visible", id=reference, **self.bounds.within())
        return memory


def _means(wanted: str, known: dict[str, Any], place: dict[str, str]) -> bool:
    if known["name"] and wanted.strip().casefold() == known["name"].casefold():
        return True
    if known["id"] and wanted == f"#{known['id']}":
        return True
    return "cwd" in place and os.path.realpath(wanted) == os.path.realpath(place["cwd"])
