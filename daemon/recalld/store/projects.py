"""Projects: seeing them, and putting right what was guessed wrong.

Every function runs inside a transaction that the caller began; `list_projects` and `by_reference` only read.
"""

from __future__ import annotations

import os
from datetime import datetime
from pathlib import Path

import apsw
import msgspec

from recalld.errors import InputError
from recalld.store import hub
from recalld.store.places import Place, clean_name, find, folder_id, record, resolve, rows

__all__ = [
    "Place",
    "ProjectInfo",
    "by_reference",
    "clean_name",
    "find",
    "list_projects",
    "merge",
    "purge",
    "relink",
    "rename",
    "resolve",
]


class ProjectInfo(msgspec.Struct, frozen=True):
    """A project as `recalld projects` shows it; memories: those not deleted."""

    id: int
    name: str
    identities: tuple[str, ...]
    places: tuple[str, ...]
    memories: int
    created_at: str
    last_seen_at: str


def name(db: apsw.Connection, project: int | None) -> str | None:
    """What the project is called; None for none."""
    found: str | None = db.execute("select name from projects where project_id = ?", (project,)).get
    return found


def list_projects(db: apsw.Connection) -> list[ProjectInfo]:
    """All projects, the last seen first."""
    identities = _grouped(db, "select project_id, identity from project_identities order by identity")
    places = _grouped(db, "select project_id, path from project_places order by last_seen_at desc, path")
    counts = "select project_id, count(*) from memories where scope = 'project' and status <> 'deleted' group by 1"
    memories = dict(db.execute(counts))
    return [
        ProjectInfo(id_, name, identities.get(id_, ()), places.get(id_, ()), memories.get(id_, 0), created, seen)
        for id_, name, created, seen in db.execute(
            "select project_id, name, created_at, last_seen_at from projects order by last_seen_at desc, project_id"
        )
    ]


def by_reference(db: apsw.Connection, reference: str, cwd: Path) -> list[int]:
    """The project a person means: `all`, `#ID`, a name, or a path (relative to `cwd`) in or under a known place.

    One id, except for `all`. Raises InputError where none or several fit; the text lists the choices.
    """
    known = list_projects(db)
    if reference == "all":
        return [info.id for info in known]
    if reference.startswith("#"):
        fitting = [info for info in known if str(info.id) == reference[1:]]
    elif "/" in reference or reference in (".", "..", "~"):
        return [_by_path(db, reference, cwd)]
    else:
        wanted = clean_name(reference)
        fitting = [info for info in known if info.name == wanted]
        fitting = fitting or [info for info in known if info.name.casefold() == wanted.casefold()]
    if not fitting:
        raise InputError(f"no project {reference!r}: `recalld projects` lists them")
    if len(fitting) > 1:
        choices = ", ".join(f"#{info.id} ({next(iter((*info.identities, *info.places)), '-')})" for info in fitting)
        raise InputError(f"{len(fitting)} projects are named {reference!r}: {choices}; name one by its #number")
    return [fitting[0].id]


def rename(db: apsw.Connection, project: int, name: str) -> None:
    """Give `project` another name to show; what it is known by stays. Raises InputError."""
    _must_exist(db, project)
    if not (clean := clean_name(name)):
        raise InputError("a project's name must not be empty")
    db.execute("update projects set name = ? where project_id = ?", (clean, project))


def merge(db: apsw.Connection, source: int, target: int) -> None:
    """Move all that `source` has to `target` and remove `source`. Raises InputError.

    The moved memories wait in `changes` for their new indexes; the caller drops those of `source`.
    """
    _must_exist(db, source)
    _must_exist(db, target)
    if source == target:
        raise InputError("a project cannot be merged with itself")
    for table in (
        "memories", "turns", "sessions", "injections", "usage", "project_identities", "project_places", "hub_streams",
    ):  # fmt: skip
        db.execute(f"update {table} set project_id = ? where project_id = ?", (target, source))
    db.execute(
        "update projects set last_seen_at = max(last_seen_at, (select last_seen_at from projects where project_id = ?))"
        " where project_id = ?",
        (source, target),
    )
    db.execute("delete from projects where project_id = ?", (source,))


def relink(db: apsw.Connection, project: int, place: Place, now: datetime) -> None:
    """Say that `place` is `project`, whatever was thought of it. Raises InputError.

    The place's identities come along (and with a remote, its other clones); places of the project that no longer
    exist are forgotten.
    """
    _must_exist(db, project)
    for identity in place.identities:
        db.execute(
            "insert into project_identities (identity, project_id) values (?1, ?2)"
            " on conflict do update set project_id = ?2",
            (identity, project),
        )
    for row in list(rows(db, "project_id = ?", project)):
        if row.path != place.root and folder_id(row.path) is None:
            db.execute("delete from project_places where path = ?", (row.path,))
    record(db, project, place, now)


def purge(db: apsw.Connection, project: int) -> None:
    """Delete `project` and all that was said in it, for good: memories with their history, turns, receipts, places.

    What was spent stays in the ledger, without the project. Sessions stay as bare marks of how far their transcripts
    were read: without them the same turns would be learnt again. Call it with `changes` worked off; the caller drops
    the project's indexes. Needs foreign keys switched on. Raises InputError.
    """
    _must_exist(db, project)
    hub.forget_project(db, project)
    of_project = "(select {} from memories where project_id = ?)"
    db.execute(f"delete from vectors where seq in {of_project.format('seq')}", (project,))
    for table in ("feedback", "injection_items"):
        db.execute(f"delete from {table} where memory in {of_project.format('id')}", (project,))
    for table in ("memories", "changes", "injections", "turns"):
        db.execute(f"delete from {table} where project_id = ?", (project,))
    db.execute("update usage set project_id = null where project_id = ?", (project,))
    db.execute("update sessions set cwd = '' where project_id = ?", (project,))
    db.execute("delete from projects where project_id = ?", (project,))


def _grouped(db: apsw.Connection, sql: str) -> dict[int, tuple[str, ...]]:
    groups: dict[int, tuple[str, ...]] = {}
    for project, text in db.execute(sql):
        groups[project] = (*groups.get(project, ()), text)
    return groups


def _by_path(db: apsw.Connection, reference: str, cwd: Path) -> int:
    path = Path(os.path.realpath(cwd / os.path.expanduser(reference)))
    for folder in (path, *path.parents):
        for row in rows(db, "path = ?", str(folder)):
            return row.project_id
    raise InputError(f"no project at {path}: `recalld projects` lists them")


def _must_exist(db: apsw.Connection, project: int) -> None:
    if db.execute("select 1 from projects where project_id = ?", (project,)).fetchone() is None:
        raise InputError(f"no project #{project}")
