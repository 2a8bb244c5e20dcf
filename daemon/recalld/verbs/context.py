"""What a verb works with besides the database and its own arguments."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

import apsw

from recalld import project
from recalld.config import Config
from recalld.errors import InputError
from recalld.store import changes, projects
from recalld.store.changes import Vectors
from recalld.store.turns import Where

ALL = "all"


@dataclass(frozen=True)
class Context:
    """The surroundings of one call.

    actor: who asks, for the history. source: the client, kept as a memory's `source`.
    batch: what `undo` takes back together. home: the owner's home folder, which is no project.
    """

    config: Config
    now: datetime
    actor: str
    source: str
    batch: str | None
    vectors: Vectors | None
    redact: Callable[[str], str]
    home: Path

    def by(self, source: str) -> Context:
        """The same in the name of `source`."""
        return replace(self, actor=source, source=source)

    def with_config(self, config: Config) -> Context:
        """The same under other settings."""
        return replace(self, config=config)

    def local_only(self, db: apsw.Connection, project_id: int | None) -> bool:
        """Whether the settings keep this project's text from every remote model."""
        kept = {name.casefold() for name in self.config.privacy.local_only}
        name = projects.name(db, project_id) if kept else None
        return name is not None and name.casefold() in kept

    def follow(self, db: apsw.Connection) -> None:
        """Let indexes and history follow what was changed so far, so that the next search sees it."""
        changes.follow(db, self.vectors, self.actor, self.batch, self.now)


def locate(context: Context, cwd: str) -> project.Place | project.Excluded | None:
    """The place of a folder; None where only user scope applies."""
    place = project.locate(Path(cwd), context.config.projects, context.home) if cwd else None
    return project.masked(place, context.redact) if isinstance(place, project.Place) else place


def here(db: apsw.Connection, context: Context, cwd: str) -> Where:
    """Where `cwd` is, its project made if need be. Needs a write transaction."""
    place = locate(context, cwd)
    if not isinstance(place, project.Place):
        return Where(cwd=project.masked_path(cwd, context.redact))
    return where(place, project.masked_path(cwd, context.redact), projects.resolve(db, place, context.now))


def where(place: project.Place, cwd: str, project_id: int | None) -> Where:
    """The place as turns and memories record it."""
    return Where(cwd=cwd, project_id=project_id, branch=place.branch, worktree=place.worktree, commit=place.commit)


def chosen_projects(db: apsw.Connection, context: Context, reference: str | None, cwd: str) -> tuple[int, ...] | None:
    """The projects that `reference` names: None for `all`; that of `cwd` where nothing is named.

    Raises InputError where the name is unknown or stands for several.
    """
    if reference == ALL:
        return None
    if reference:
        return tuple(projects.by_reference(db, reference, Path(cwd or "/")))
    place = locate(context, cwd)
    found = projects.find(db, place) if isinstance(place, project.Place) else None
    return () if found is None else (found,)


def one_project(db: apsw.Connection, context: Context, reference: str | None, cwd: str) -> Where:
    """The project to write to: the named one, else that of `cwd`. Needs a write transaction."""
    if not reference:
        return here(db, context, cwd)
    found = chosen_projects(db, context, reference, cwd)
    if not found or len(found) != 1:
        raise InputError(f"project {reference}: name one project to write to")
    return Where(cwd=project.masked_path(cwd, context.redact), project_id=found[0])
