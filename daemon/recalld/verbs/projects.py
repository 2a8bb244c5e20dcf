"""Verbs about projects."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import apsw
import msgspec

from recalld import project
from recalld.errors import InputError
from recalld.store import projects, search
from recalld.store.projects import ProjectInfo
from recalld.verbs.context import Context, chosen_projects, locate


class Projects(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Nothing to say."""


def list_(db: apsw.Connection, context: Context, request: Projects) -> list[ProjectInfo]:
    """All known projects."""
    return projects.list_projects(db)


class Change(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`name P TEXT`, `merge P INTO`, `relink P FOLDER`, `purge P`."""

    action: Literal["name", "merge", "relink", "purge"]
    project: str
    value: str = ""
    cwd: str = ""


def change(db: apsw.Connection, context: Context, request: Change) -> list[ProjectInfo]:
    """Put right what was guessed wrong about a project."""
    number = _one(db, context, request.project, request.cwd)
    match request.action:
        case "name":
            projects.rename(db, number, context.redact(request.value))
        case "merge":
            projects.merge(db, number, _one(db, context, request.value, request.cwd))
            context.follow(db)
            search.drop(db, search.partition("project", number))
        case "relink":
            place = locate(context, str(Path(request.cwd or "/") / request.value))
            if not isinstance(place, project.Place):
                raise InputError(f"{request.value}: no folder that can be a project")
            projects.relink(db, number, place, context.now)
        case "purge":
            projects.purge(db, number)
            context.follow(db)
            search.drop(db, search.partition("project", number))
    return projects.list_projects(db)


def _one(db: apsw.Connection, context: Context, reference: str, cwd: str) -> int:
    found = chosen_projects(db, context, reference, cwd)
    if not found or len(found) != 1:
        raise InputError(f"{reference!r} does not name one project; `recalld projects` lists them")
    return found[0]
