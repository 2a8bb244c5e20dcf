"""Commands that carry memories out and in: export import."""

from __future__ import annotations

import argparse
import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from recalld.cli import output
from recalld.cli.calls import LONG_S, ask
from recalld.cli.command import Command, here, place, yes
from recalld.errors import InputError

FORMATS = ("json", "jsonl", "markdown")
TRANSCRIPTS = "transcripts"
BATCH = 500
"""So many memories go to the daemon at once."""


def _export_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--format", choices=FORMATS, default="json", help="markdown is for reading only (json)")
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="into FILE, readable by you only (stdout)")
    place(parser, "only this project and what holds everywhere: its NAME or a PATH in it (default: all)")


def export(arguments: argparse.Namespace) -> int:
    """Write everything that is remembered."""
    from recalld.cli import export_file  # late: it brings msgspec

    shapes = {"json": export_file.as_json, "jsonl": export_file.as_lines, "markdown": export_file.as_markdown}
    first = ask("export", timeout_s=LONG_S, project=arguments.project, cwd=here())
    with output.progress("exporting", first["total"] if arguments.output else 0) as tick:
        plain = arguments.output is None and not output.wide()
        lines = shapes[arguments.format](first["head"], _items(first, arguments.project, tick), plain=plain)
        if arguments.output is None:
            for line in lines:
                print(line)
            return 0
        _write(arguments.output, lines)
    if arguments.json:
        output.print_json({"path": str(arguments.output), "memories": first["total"]})
    else:
        print(f"{output.plural(first['total'], 'memory', 'memories')} in {arguments.output}")
    return 0


def _items(page: dict[str, Any], project: str | None, tick: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """Everything of the export, page after page."""
    for name in ("projects", "conflicts"):
        for item in page[name]:
            yield name, item
    while True:
        for item in page["memories"]:
            yield "memories", item
        tick(len(page["memories"]))
        if page["next"] is None:
            return
        page = ask("export", timeout_s=LONG_S, project=project, cwd=here(), after=page["next"])


def _write(path: Path, lines: Iterator[str]) -> None:
    """All lines or no file."""
    import tempfile  # late: every command imports this module

    handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with open(handle, "w", encoding="utf-8") as file:
            file.writelines(f"{line}\n" for line in lines)
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def _import_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "source",
        metavar="FILE|transcripts",
        help="an export of recalld, claude-mem, mem0 or MemTether, or the word `transcripts`",
    )
    parser.add_argument("path", nargs="?", type=Path, metavar="PATH",
                        help="with transcripts: a file or folder of them (default: all of Claude Code's)")  # fmt: skip
    parser.add_argument("--dry-run", action="store_true", help="only tell what would come in, and what it may cost")
    yes(parser)


def import_(arguments: argparse.Namespace) -> int:
    """Take in an export, or the past of Claude Code."""
    if arguments.source == TRANSCRIPTS:
        from recalld.cli.past import run

        return run(arguments)
    if arguments.path is not None:
        raise InputError("a second path only goes with `recalld import transcripts`")
    from recalld.cli import foreign_file

    path = Path(arguments.source)
    if foreign := foreign_file.read(path):
        return _adopt(*foreign, dry_run=arguments.dry_run, as_json=arguments.json)
    return _import_file(path, dry_run=arguments.dry_run, as_json=arguments.json)


def _import_file(path: Path, *, dry_run: bool, as_json: bool) -> int:
    import msgspec

    from recalld.cli import export_file

    parsed = export_file.read(path)
    counts = dict.fromkeys(("added", "updated", "known", "deleted_here", "projects"), 0)
    common = {"head": msgspec.to_builtins(parsed.head), "projects": msgspec.to_builtins(parsed.projects)}
    parts = [parsed.memories[at : at + BATCH] for at in range(0, len(parsed.memories), BATCH)] or [[]]
    with output.progress("importing", len(parsed.memories)) as tick:
        for number, part in enumerate(parts, 1):
            last = msgspec.to_builtins(parsed.conflicts) if number == len(parts) else []
            done = ask(
                "import-rehearse" if dry_run else "import", writes=not dry_run, timeout_s=LONG_S, **common,
                memories=msgspec.to_builtins(part), conflicts=last,
            )  # fmt: skip
            for name in ("added", "updated", "known", "deleted_here"):
                counts[name] += done[name]
            # Projects are new to the first part only; a rehearsal makes none.
            counts["projects"] = max(counts["projects"], done["projects"])
            tick(len(part))
    if as_json:
        output.print_json({"dry_run": dry_run, **counts})
    else:
        print(_report(counts, "would be" if dry_run else "were"))
    return 0


def _adopt(source: str, items: list[Any], *, dry_run: bool, as_json: bool) -> int:
    """Take in the memories of another program."""
    import msgspec

    counts: dict[str, int] = dict.fromkeys(("added", "pending", "updated", "known"), 0)
    left_out: dict[str, int] = {}
    with output.progress("importing", len(items)) as tick:
        for at in range(0, len(items), BATCH):
            part = msgspec.to_builtins(items[at : at + BATCH])
            done = ask("adopt", writes=True, timeout_s=LONG_S, program=source, items=part, cwd=here(), dry_run=dry_run)
            for name in counts:
                counts[name] += done[name]
            for reason, number in done["left_out"].items():
                left_out[reason] = left_out.get(reason, 0) + number
            tick(len(part))
    if as_json:
        output.print_json({"dry_run": dry_run, "source": source, **counts, "left_out": left_out})
        return 0
    were = "would be" if dry_run else "were"
    waiting = f" ({counts['pending']:,} wait in the inbox)" if counts["pending"] else ""
    print(f"{source}: {output.plural(counts['added'], 'memory', 'memories')} {were} added{waiting}, "
          f"{counts['updated']:,} brought up to date; {counts['known']:,} known already")  # fmt: skip
    for reason, number in left_out.items():
        print(f"left out: {number:,} ({output.safe(reason)})")
    return 0


def _report(counts: dict[str, int], were: str) -> str:
    new = output.plural(counts["projects"], "new project")
    parts = [
        f"{output.plural(counts['added'], 'memory', 'memories')} {were} added ({new}), {counts['updated']:,} brought up to date"
    ]
    parts.append(f"{counts['known']:,} known already")
    if counts["deleted_here"]:
        parts.append(f"{counts['deleted_here']:,} left out: they were deleted here")
    return "; ".join(parts)


COMMANDS = (
    Command("export", "[--format F] [--output FILE]", "everything that is remembered, as a file", _export_options, export,
            ("recalld export --output memories.json", "recalld export --format markdown --project shop > shop.md")),
    Command("import", "FILE | transcripts [PATH]", "take in an export, or Claude Code's own past",
            _import_options, import_,
            ("recalld import memories.json --dry-run", "recalld import transcripts --dry-run",
             "recalld import ~/.claude-mem/claude-mem.db --dry-run",
             "recalld import transcripts ~/.claude/projects/-home-me-shop")),
)  # fmt: skip
