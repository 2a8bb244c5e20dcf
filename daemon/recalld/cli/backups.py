"""Commands that keep a copy of the database and go back to one: backup restore-backup."""

from __future__ import annotations

import argparse
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from recalld.cli import output
from recalld.cli.command import Command, yes
from recalld.errors import InputError
from recalld.paths import Paths, find

LIST = "list"


def _backup_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", nargs="?", type=Path, metavar="FILE", help="a new file (default: one of recalld's own)")


def backup(arguments: argparse.Namespace) -> int:
    """Copy the database, whoever is at work on it."""
    from recalld import config, maintain  # late: both need the store

    paths = find()
    if not paths.database.exists():
        raise InputError("nothing is remembered yet, so there is nothing to copy")
    target = arguments.file.absolute() if arguments.file else None
    if target and target.exists():
        raise InputError(f"{target} is there already; name a new file")
    paths.ensure()
    keep = config.load(paths.config).keep
    made = maintain.back_up_now(paths.database, paths.backups, target, output.utc_now(), keep)
    if arguments.json:
        output.print_json({"path": str(made), "bytes": made.stat().st_size})
    else:
        print(f"backup: {made} ({made.stat().st_size / 2**20:.1f} MiB)")
    return 0


def _restore_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file", nargs="?", metavar="FILE|list", help="which one: its name or path (default: the newest that is good)"
    )
    yes(parser)


def restore_backup(arguments: argparse.Namespace) -> int:
    """List the backups, or put one in the place of the database."""
    paths = find()
    if arguments.file == LIST:
        return _list(paths, as_json=arguments.json)
    copy = _chosen(paths, arguments.file)
    at = output.whole_time(_at(copy))
    question = f"go back to {copy.name} of {at}? What was remembered since then is put aside"
    if not output.confirmed(question, given=arguments.yes):
        raise InputError("nothing was changed")
    aside = _put_back(paths, copy)
    if arguments.json:
        output.print_json({"restored": str(copy), "aside": str(aside) if aside.exists() else None})
    else:
        print(f"{copy} of {at} is the database now")
        if aside.exists():
            print(f"the one before is kept for 30 days in {aside}")
    return 0


def _put_back(paths: Paths, copy: Path) -> Path:
    from recalld.install import control
    from recalld.store import rescue

    paths.ensure()
    with control.alone(paths):
        return rescue.put_back(paths.database, paths.backups, copy, output.utc_now())


def _chosen(paths: Paths, name: str | None) -> Path:
    """The backup that is meant. Raises InputError where it cannot be used."""
    from recalld.store import rescue

    if name is None:
        for copy in rescue.copies(paths.backups):
            if not rescue.unusable(copy, paths.database):
                return copy
        raise InputError(f"there is no good backup in {paths.backups}")
    path = Path(name) if Path(name).exists() else paths.backups / name
    if reason := rescue.unusable(path, paths.database):
        raise InputError(f"{path} cannot be restored: {reason}")
    return path.absolute()


def _list(paths: Paths, *, as_json: bool) -> int:
    from recalld.store import rescue

    rows: list[dict[str, Any]] = [
        {
            "path": str(copy),
            "at": _at(copy),
            "bytes": copy.stat().st_size,
            "problem": rescue.unusable(copy, paths.database) or None,
        }
        for copy in rescue.copies(paths.backups)
    ]
    if as_json:
        output.print_json(rows)
    elif rows:
        table = output.grid(16, 10, None)
        for row in rows:
            size = f"{row['bytes'] / 2**20:.1f} MiB"
            bad = f": {row['problem']}" if row["problem"] else ""
            table.add_row(output.whole_time(row["at"]), size.rjust(10), output.text(Path(row["path"]).name + bad))
        output.show(table)
    else:
        print(f"there is no backup in {paths.backups} yet; `recalld backup` makes one")
    return 0


def _at(copy: Path) -> str:
    return datetime.fromtimestamp(copy.stat().st_mtime, UTC).isoformat()


COMMANDS = (
    Command("backup", "[FILE]", "a copy of the database, made while everything goes on", _backup_options, backup,
            ("recalld backup", "recalld backup ~/memories-before-the-move.db")),
    Command("restore-backup", "[FILE | list]", "go back to a backup; the present database is put aside",
            _restore_options, restore_backup,
            ("recalld restore-backup list", "recalld restore-backup memories-20260504.db")),
)  # fmt: skip
