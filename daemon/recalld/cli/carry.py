"""Commands that carry memories out and in: export import."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from recalld import whole_file
from recalld.cli import output
from recalld.cli.calls import LONG_S, ask
from recalld.cli.command import Command, Told, here, place, yes
from recalld.errors import InputError

FORMATS = ("json", "jsonl", "markdown")
TRANSCRIPTS = "transcripts"
RULES = "rules"
SHOWN = 30
"""So many items of a dry run are shown to a person; `--json` has all."""
BATCH = 500
"""So many memories go to the daemon at once."""


def _export_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--format", choices=FORMATS, default="json", help="markdown is for reading only (json)")
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="into FILE, readable by you only (stdout)")
    parser.add_argument("--schema", action="store_true", help="print the JSON Schema of such a file instead")
    place(parser, "only this project and what holds everywhere: its NAME or a PATH in it (default: all)")


def export(arguments: argparse.Namespace) -> Told | int:
    """Write everything that is remembered."""
    from recalld import export_text  # late: it brings msgspec

    if arguments.schema:
        from recalld.carried import schema

        return Told(schema(), output.print_json)
    first, deleted = _page(arguments.project), 0
    with output.progress("exporting", first["total"] if arguments.output else 0) as tick:

        def following(after: int) -> dict[str, Any]:
            page = _page(arguments.project, after)
            return counted(page)

        def counted(page: dict[str, Any]) -> dict[str, Any]:
            nonlocal deleted
            tick(len(page["memories"]))
            deleted += sum(memory["status"] == "deleted" for memory in page["memories"])
            return page

        counted(first)
        plain = arguments.output is None and not output.wide()
        items = export_text.items(first, following)
        lines = export_text.SHAPES[arguments.format](first["head"], items, plain=plain)
        if arguments.output is None:
            for line in lines:
                print(line)
            return 0
        write(arguments.output, lines)
    gone = f", and the marks of {deleted:,} deleted" if deleted else ""
    line = f"{output.plural(first['total'] - deleted, 'memory', 'memories')} in {arguments.output}{gone}"
    told = {"path": str(arguments.output), "memories": first["total"], "deleted": deleted}
    return Told(told, lambda _: print(line))


def _page(project: str | None, after: int | None = None) -> dict[str, Any]:
    page: dict[str, Any] = ask("export", timeout_s=LONG_S, project=project, cwd=here(), after=after)
    return page


def write(path: Path, lines: Iterable[str]) -> None:
    """All lines, for the owner alone, or no file."""
    with whole_file.written(path) as file:
        file.writelines(f"{line}\n".encode() for line in lines)


def _import_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "source",
        metavar="FILE|transcripts|rules",
        help="an export of recalld, claude-mem, mem0 or MemTether, or one of the words `transcripts` and `rules`",
    )
    parser.add_argument("path", nargs="?", type=Path, metavar="PATH",
                        help="with transcripts: a file or folder of them (default: all of Claude Code's); with rules: a "
                             "project's folder or one file (default: this folder)")  # fmt: skip
    parser.add_argument("--dry-run", action="store_true", help="only tell what would come in, what not and why")
    yes(parser)


def import_(arguments: argparse.Namespace) -> Told | int:
    """Take in an export, or the past of Claude Code."""
    if arguments.source == TRANSCRIPTS:
        from recalld.cli.past import run

        return run(arguments)
    if arguments.source == RULES:
        return _import_rules(arguments.path or Path(here()), dry_run=arguments.dry_run)
    if arguments.path is not None:
        raise InputError("a second path only goes with `recalld import transcripts` and `recalld import rules`")
    from recalld.cli import foreign_file

    path = Path(arguments.source)
    if foreign := foreign_file.read(path):
        program, statements = foreign
        return _adopt({program: statements}, {}, cwd=here(), dry_run=arguments.dry_run)
    return _import_file(path, dry_run=arguments.dry_run)


def _import_file(path: Path, *, dry_run: bool) -> Told:
    from recalld import export_file  # late, as above

    parsed = export_file.read(path)
    done = []
    with output.progress("importing", len(parsed.memories)) as tick:
        for part in export_file.parts(parsed, BATCH):
            verb = "import-rehearse" if dry_run else "import"
            done.append(ask(verb, writes=not dry_run, timeout_s=LONG_S, **part))
            tick(len(part["memories"]))
    told = {"dry_run": dry_run, **export_file.counted(done)}
    items = {"items": [item for part in done for item in part["items"]]} if dry_run else {}
    return Told(told | items, _say_imported)


def _say_imported(told: dict[str, Any]) -> None:
    print(_report(told))
    _say_items(told)


def _import_rules(path: Path, *, dry_run: bool) -> Told:
    """Propose what the rule files of other assistants say."""
    from recalld.cli import rule_files

    rules = rule_files.read(path)
    return _adopt(rules.found, rules.left_out, cwd=str(rules.folder), dry_run=dry_run, propose=True)


def _adopt(found: dict[str, list[Any]], left_out: dict[str, int], **given: Any) -> Told:
    """Take in the statements of other programs, by the program's name. left_out: what was already, by reason."""
    import msgspec

    counts = dict.fromkeys(("added", "pending", "updated", "known"), 0)
    items: list[dict[str, str]] = []
    with output.progress("importing", sum(map(len, found.values()))) as tick:
        for program, statements in found.items():
            for at in range(0, len(statements), BATCH):
                part = msgspec.to_builtins(statements[at : at + BATCH])
                done = ask("adopt", writes=True, timeout_s=LONG_S, program=program, items=part, **given)
                for name in counts:
                    counts[name] += done[name]
                for reason, number in done["left_out"].items():
                    left_out[reason] = left_out.get(reason, 0) + number
                items += done["items"]
                tick(len(part))
    told = {"dry_run": given["dry_run"], "source": ", ".join(found) or RULES, **counts, "left_out": left_out}
    return Told({**told, "items": items} if given["dry_run"] else told, _say_adopted)


def _say_adopted(told: dict[str, Any]) -> None:
    were = output.were(told["added"], dry_run=told["dry_run"])
    waiting = f" ({told['pending']:,} wait in the inbox)" if told["pending"] else ""
    print(f"{told['source']}: {output.plural(told['added'], 'memory', 'memories')} {were} added{waiting}, "
          f"{told['updated']:,} brought up to date; {told['known']:,} known already")  # fmt: skip
    for reason, number in told["left_out"].items():
        print(f"left out: {number:,} ({output.safe(reason)})")
    _say_items(told)
    if told["pending"] and not told["dry_run"]:
        print("see them with: recalld inbox; answer with: recalld confirm ID... or recalld reject ID...")


def _say_items(told: dict[str, Any]) -> None:
    """Each item of a dry run with its outcome; what was deleted there has nothing to show."""
    items = [item for item in told.get("items", ()) if item["content"]]
    for item in items[:SHOWN]:
        print(f"  {item['outcome']}: {output.safe(item['content'])}")
    if len(items) > SHOWN:
        print(f"  and {len(items) - SHOWN:,} more; --json shows all")


def _report(counts: dict[str, Any]) -> str:
    new = output.plural(counts["projects"], "new project")
    were = output.were(counts["added"], dry_run=counts["dry_run"])
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
    Command("import", "FILE | transcripts | rules [PATH]", "take in an export, Claude Code's past, or others' rules",
            _import_options, import_,
            ("recalld import memories.json --dry-run", "recalld import transcripts --dry-run",
             "recalld import ~/.claude-mem/claude-mem.db --dry-run",
             "recalld import transcripts ~/.claude/projects/-home-me-shop", "recalld import rules --dry-run")),
)  # fmt: skip
