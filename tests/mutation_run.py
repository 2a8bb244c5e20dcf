"""Takes one mechanism at a time out of the product and sees whether the test that keeps its promise fails.

The rows are in `faults/*.toml`: `[[row]]` with `id`, `promise` (what breaks without it) and either `test`, `file`,
`find` and `replace`, or `untested` or `later` with the reason. What is run is a copy of the tree in a temp folder, with
a virtual environment of its own that finds `recalld` in that copy alone: hooks, daemons and commands that a test starts
run the changed code too, even where they ignore PYTHONPATH.
"""

from __future__ import annotations

import argparse
import math
import os
import queue
import re
import shutil
import signal
import subprocess
import sys
import sysconfig
import tempfile
import time
import tomllib
import venv
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec

ROOT = Path(__file__).resolve().parents[1]
ROWS = Path(__file__).parent / "faults"
PATIENCE_S = 420.0
"""For one run of one test; pytest's own limit ends it sooner where that still can."""
HEAD = """# Faults, and the tests that keep them away

Each row is a fault that users of such software met. The test named fails when the mechanism behind the promise is taken
out of the code: `tests/mutation_run.py` tries that row by row, and wrote this table. Last column: `yes`, the test failed
without the mechanism, as it must; `not in this run`: the run had no time left for it.

"""


class Row(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One line of the table: a mutation and the test that must notice it, or the reason why there is none."""

    id: str
    promise: str
    test: str = ""
    file: str = ""
    find: str = ""
    replace: str = ""
    untested: str = ""
    later: str = ""

    def __post_init__(self) -> None:
        if bool(self.untested or self.later) == bool(self.test and self.file and self.find):
            raise ValueError(f"{self.id}: needs test, file and find, or a reason why there is none")


class Tree:
    """A copy of the project in `folder`, and the means to run its tests. unchanged: how they end as the code is."""

    def __init__(self, folder: Path, unchanged: dict[str, tuple[str, str]]) -> None:
        self.folder, self.root, self.unchanged = folder, folder / "tree", unchanged
        self.python = self.root / ".venv" / "bin" / "python"
        unwanted = shutil.ignore_patterns(".git", ".venv", ".mypy_cache", ".ruff_cache", ".pytest_cache", ".hypothesis")
        shutil.copytree(ROOT, self.root, ignore=unwanted, symlinks=True)
        venv.create(self.python.parents[1], symlinks=True)
        script = self.python.with_name("recalld")
        script.write_text(f"#!{self.python}\nimport sys\nfrom recalld.cli.main import main\nsys.exit(main())\n")
        script.chmod(0o755)
        library = Path(sysconfig.get_path("purelib"))
        place = next(self.python.parents[1].glob("lib/python*/site-packages"))
        # A .pth names folders whose own .pth files, that of the editable installation among them, are not read.
        (place / "copy.pth").write_text(f"{self.root / 'daemon'}\n{library}\n")
        command = [str(self.python), "-I", "-c", "import recalld; print(recalld.__file__)"]
        found = subprocess.run(command, capture_output=True, text=True, check=True, cwd=folder).stdout
        if not found.startswith(str(self.root)):
            raise RuntimeError(f"the copy would run {found}")

    def run(self, test: str) -> tuple[str, str]:
        """How `test` ends, as `passed`, `failed`, `skipped` or `broken`, and what pytest printed."""
        foreign = ("PYTHON", "RECALLD_HOME", "VIRTUAL_ENV")
        environ = {name: value for name, value in os.environ.items() if not name.startswith(foreign)}
        scratch = f"--basetemp={self.folder / 't'}"
        command = [str(self.python), "-m", "pytest", "-x", "-p", "no:cacheprovider", scratch, test]
        with subprocess.Popen(
            command, cwd=self.root, env=environ, text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, start_new_session=True,
        ) as process:  # fmt: skip
            try:
                printed, _ = process.communicate(timeout=PATIENCE_S)
            except subprocess.TimeoutExpired:
                process.kill()
                printed = "no end within the time allowed"
            finally:
                self._end_what_is_left()
        if process.returncode == 0:
            return "passed" if re.search(r"\d passed", printed) else "skipped", printed
        # 1: a test failed. Everything else but the kill above: the test did not even run.
        return "failed" if process.returncode in {1, -signal.SIGKILL} else "broken", printed

    def _end_what_is_left(self) -> None:
        """Kill what this copy's tests left running: command line or environment names `folder`."""
        for entry in Path("/proc").glob("[0-9]*"):
            try:
                if str(self.folder).encode() in (entry / "cmdline").read_bytes() + (entry / "environ").read_bytes():
                    os.kill(int(entry.name), signal.SIGKILL)
            except OSError:
                continue

    def check(self, row: Row, number: int) -> tuple[str, str]:
        """The last column for `row`, and what pytest printed. number: distinct for each row of this tree."""
        path = self.root / row.file
        before, stamp = path.read_text(encoding="utf-8"), path.stat()
        if before.count(row.find) != 1:
            return f"NO: {row.file} holds `find` {before.count(row.find)} times", ""
        if row.test not in self.unchanged:
            self.unchanged[row.test] = self.run(row.test)
        outcome, printed = self.unchanged[row.test]
        if outcome != "passed":
            return ("not here (skipped)" if outcome == "skipped" else f"NO: {outcome} unchanged"), printed
        try:
            path.write_text(before.replace(row.find, row.replace), encoding="utf-8")
            os.utime(path, (number, number))  # else a change of the same length in the same second goes unseen
            outcome, printed = self.run(row.test)
        finally:
            path.write_text(before, encoding="utf-8")
            os.utime(path, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
        return {"failed": "yes", "passed": "NO: survives"}.get(outcome, f"NO: {outcome} with the change"), printed


def load(folder: Path = ROWS) -> list[Row]:
    """All rows, by id; raises ValueError, with the file's name, for one that is not as it should be."""
    rows: list[Row] = []
    for path in sorted(folder.glob("*.toml")):
        try:
            rows += msgspec.convert(tomllib.loads(path.read_text(encoding="utf-8")), dict[str, list[Row]])["row"]
        except (ValueError, KeyError) as error:
            raise ValueError(f"{path}: {error}") from error
    return sorted(rows, key=lambda row: row.id)


def run(rows: Iterable[Row], jobs: int, end: float) -> Iterator[tuple[Row, str]]:
    """Each row with its last column, in their order; each worker has a tree of its own. Progress goes to stderr.

    end: on the monotonic clock; a row whose turn comes later is not run.
    """
    with tempfile.TemporaryDirectory(prefix="mutants-", ignore_cleanup_errors=True) as folder:
        trees: queue.SimpleQueue[Tree] = queue.SimpleQueue()
        unchanged: dict[str, tuple[str, str]] = {}
        for name in range(jobs):
            trees.put(Tree(Path(folder, str(name)), unchanged))

        def one(numbered: tuple[int, Row]) -> tuple[Row, str]:
            number, row = numbered
            if reason := row.untested or row.later:
                return row, f"{'later' if row.later else 'untested'}: {reason}"
            tree = trees.get()
            if time.monotonic() > end:
                trees.put(tree)
                return row, "not in this run"
            try:
                verdict, printed = tree.check(row, number)
            finally:
                trees.put(tree)
            detail = f"\n{printed}" if verdict.startswith("NO") else ""
            print(f"{row.id} {row.test}: {verdict}{detail}", file=sys.stderr, flush=True)
            return row, verdict

        with ThreadPoolExecutor(jobs) as pool:
            yield from pool.map(one, enumerate(rows, start=1))


def table(results: Iterable[tuple[Row, str]]) -> str:
    """The rows as Markdown."""
    lines = ["| row | test | what its removal breaks | killed? |", "|---|---|---|---|"]
    for row, verdict in results:
        cells = (row.id, f"`{row.test}`" if row.test else "", row.promise, verdict)
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--row", action="append", help="only this row; may be repeated")
    parser.add_argument("--jobs", type=int, default=1, help="how many at a time (default 1)")
    parser.add_argument("--minutes", type=float, default=math.inf, help="begin no row after so long")
    parser.add_argument("--write", type=Path, metavar="FILE", help="write the table there, too")
    options = parser.parse_args()
    if options.row and options.write:
        parser.error("a table of some rows is not written")
    rows = [row for row in load() if not options.row or row.id in options.row]
    if not rows:
        parser.error("no such row")
    results = list(run(rows, options.jobs, time.monotonic() + 60 * options.minutes))
    print(table(results), end="")
    if options.write:
        options.write.write_text(HEAD + table(results), encoding="utf-8")
    return int(any(verdict.startswith("NO") for _, verdict in results))


if __name__ == "__main__":
    sys.exit(main())
