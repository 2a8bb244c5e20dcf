"""Verbs by which a door that shows only some projects finds out which these are, and what belongs to them."""

from __future__ import annotations

import apsw
import msgspec

from recalld import project
from recalld.errors import InputError, NotFoundError
from recalld.model import Memory, Scope
from recalld.store import memories, projects
from recalld.verbs.context import Context, chosen_projects, locate


class Within(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Projects: one by name, or those of folders. Without either there is only what holds everywhere."""

    project: str | None = None
    cwds: tuple[str, ...] = ()


class Which(Within, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which projects these are."""


class Known(msgspec.Struct, frozen=True):
    """A project: its number, None where nothing is known of it yet, and its name; both None where there is no project."""

    id: int | None
    name: str | None


def which(db: apsw.Connection, context: Context, request: Which) -> list[Known]:
    """The project that is named, else that of each folder, in their order. Raises InputError for an unknown name."""
    if request.project:
        found = chosen_projects(db, context, request.project, "")
        return [Known(number, projects.name(db, number)) for number in found or ()]
    return [_of_folder(db, context, cwd) for cwd in request.cwds]


def _of_folder(db: apsw.Connection, context: Context, cwd: str) -> Known:
    place = locate(context, cwd)
    if not isinstance(place, project.Place):
        return Known(None, None)
    number = projects.find(db, place)
    return Known(number, projects.name(db, number) or place.name)


class Visible(Within, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A memory, by id or its beginning, and the projects it may belong to."""

    id: str


def visible(db: apsw.Connection, context: Context, request: Visible) -> Memory:
    """The memory, if it holds everywhere or belongs to one of the projects.

    Raises NotFoundError, with the same words whether it is another project's or is not there.
    """
    hidden = NotFoundError(f"no memory {request.id!r} here; give its id as a search shows it")
    try:
        memory = memories.find(db, request.id)
    except InputError as error:
        raise hidden from error
    if memory.scope is not Scope.PROJECT or memories.project_of(db, memory.id) in _numbers(db, context, request):
        return memory
    raise hidden


def _numbers(db: apsw.Connection, context: Context, request: Within) -> set[int]:
    if request.project:
        found = chosen_projects(db, context, request.project, "")
        return {info.id for info in projects.list_projects(db)} if found is None else set(found)
    return {number for cwd in request.cwds for number in chosen_projects(db, context, None, cwd) or ()}
