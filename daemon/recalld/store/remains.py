"""A damaged database, read as far as it goes, row by row."""

from __future__ import annotations

import contextlib
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw

from recalld.store import key
from recalld.store.connection import ABLE, open_raw, open_reader, snapshot, translated

Row = dict[str, Any]

BOUND_S = 10.0
"""So long is one table of a damaged database read; the newest rows come first."""
SPAN = 10_000
"""Where the end of a table cannot be read, its rows are looked for so far behind the backup's last one."""

_STEPS = 10_000
_BROKEN = (apsw.CorruptError, apsw.NotADBError, apsw.IOError, UnicodeDecodeError)
_ROOTS = {"projects", "sessions", "turns", "jobs", "memories"}


class Remains:
    """A damaged database that is read as far as it goes.

    version: of its schema; 0 where this does not tell where the tables are. missed: the tables that were not read whole.
    """

    def __init__(self, db: apsw.Connection) -> None:
        """The connection is the caller's to close."""
        self._db = db
        db.pragma("writable_schema", True)  # SQLite then goes on behind a part of the schema it cannot read
        db.pragma("query_only", True)
        self._until = time.monotonic() + BOUND_S
        db.set_progress_handler(lambda: time.monotonic() > self._until, _STEPS)
        self.missed: set[str] = set()
        self.version = self._version()

    def _version(self) -> int:
        with contextlib.suppress(*_BROKEN, apsw.SQLError):
            names = {name for (name,) in self._db.execute("select name from sqlite_schema")}
            return int(self._db.pragma("user_version")) if names >= _ROOTS else 0
        return 0

    def rows(self, table: str, known: int) -> Iterator[Row]:
        """All rows that can be read of a table with a row number, newest first. known: the last number in the backup.

        Where a range of numbers cannot be read, its halves are, down to the single row.
        """
        self._until = time.monotonic() + BOUND_S
        names = self._columns(table)
        ranges = [(1, self._last(table, known))]
        while ranges:
            low, high = ranges.pop()
            try:
                query = f"select rowid, * from {table} not indexed where rowid between ? and ? order by rowid desc"
                for number, *values in self._db.execute(query, (low, high)):
                    yield dict(zip(names, values, strict=True))
                    high = number - 1
            except _BROKEN:
                self.missed.add(table)
                if low < high:
                    middle = (low + high) // 2
                    ranges += [(low, middle), (middle + 1, high)]
            except (apsw.InterruptError, apsw.SQLError, ValueError):
                self.missed.add(table)
                return

    def of(self, table: str, column: str, value: Any) -> list[Row]:
        """The rows with this value in a column; none where they cannot be read."""
        with contextlib.suppress(*_BROKEN, apsw.InterruptError, apsw.SQLError, ValueError):
            found = self._db.execute(f"select * from {table} where {column} = ?", (value,)).fetchall()
            return [dict(zip(self._columns(table), values, strict=True)) for values in found]
        self.missed.add(table)
        return []

    def _columns(self, table: str) -> list[str]:
        with contextlib.suppress(*_BROKEN, apsw.InterruptError):
            return [row[1] for row in self._db.execute(f"pragma table_info({table})")]
        return []

    def _last(self, table: str, known: int) -> int:
        with contextlib.suppress(*_BROKEN, apsw.InterruptError, apsw.SQLError):
            return int(self._db.execute(f"select max(rowid) from {table} not indexed").get or 0)
        return known + SPAN


@contextlib.contextmanager
def opened(path: Path, home: Path) -> Iterator[Remains]:
    """A damaged database to be read. home: the database whose key it has. Raises StoreError."""
    with translated(path), contextlib.closing(open_raw(path, key.of(path, home, able=ABLE))) as db:
        yield Remains(db)


def lend(torn: Path, good: Path) -> None:
    """Put the pages of a backup's schema in the place of those in a damaged copy that does not say where its tables are.

    Both are plain, and a backup is a copy page by page: its tables begin where those of the original do. Raises StoreError.
    """
    with opened(torn, good) as one:
        if one.version:
            return
    with contextlib.closing(open_reader(good)) as db, snapshot(db):
        size = int(db.pragma("page_size"))
        pages = [int(number) for (number,) in db.execute("select pageno from dbstat where name = 'sqlite_schema'")]
    with translated(torn), good.open("rb") as source, torn.open("r+b") as target:
        for page in pages:
            source.seek((page - 1) * size)
            target.seek((page - 1) * size)
            target.write(source.read(size))
        if Path(f"{torn}-wal").exists():
            target.seek(18)
            target.write(b"\2\2")  # so that it is read (https://www.sqlite.org/fileformat.html, 1.3)
        target.seek(28)
        target.write(bytes(4))  # the backup's number of pages is not its own: SQLite then takes the file's


def copied(database: Path, torn: Path) -> None:
    """The damaged files, as they lie there, under another name. Raises StoreError."""
    with translated(database):
        for part in ("", "-wal"):
            with contextlib.suppress(FileNotFoundError):
                shutil.copyfile(f"{database}{part}", f"{torn}{part}")
