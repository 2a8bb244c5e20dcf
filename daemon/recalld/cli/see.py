"""Commands that look: list search show history why status."""

from __future__ import annotations

import argparse
import functools
from typing import Any

from recalld.cli import output, receipts, state, ui
from recalld.cli.calls import ask
from recalld.cli.command import Command, Told, chosen, filters, here, place
from recalld.ends import shown, when
from recalld.headings import groups

Rows = list[dict[str, Any]]

LIST_LIMIT = 1000
SEARCH_LIMIT = 20


def _list_options(parser: argparse.ArgumentParser) -> None:
    filters(parser, LIST_LIMIT)


def list_(arguments: argparse.Namespace) -> Told:
    """List memories."""
    return Told(ask("list", **chosen(arguments)), functools.partial(_show_list, limit=arguments.limit))


def _show_list(rows: Rows, limit: int) -> None:
    """Under headings."""
    if not rows:
        print("nothing is remembered here yet; `recalld list --project all` shows what is known elsewhere")
        return
    short, now = output.shortened(row["id"] for row in rows), output.utc_now()
    parts: list[Any] = []
    for title, members in groups(rows):
        parts += [output.text(title, "bold"), output.memory_table(members, now, short, "hit_count"), ""]
    count = output.plural(len(rows), "memory", "memories")
    more = " shown; --limit shows more" if len(rows) == limit else ""
    output.show(*parts, output.text(f"{count}{more}", "dim"))


def _search_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("query", nargs="+", metavar="QUERY", help="a question, or words")
    filters(parser, SEARCH_LIMIT)
    parser.add_argument("--since", type=when, metavar="DATE", help="said on that day or later, as 2026-01-31")
    parser.add_argument("--until", type=when, metavar="DATE", help="said before that day")


def search(arguments: argparse.Namespace) -> Told:
    """Show what fits a question, the best first."""
    query = " ".join(arguments.query)
    found = ask("search", query=query, since=arguments.since, until=arguments.until, **chosen(arguments))
    return Told([shown(item) for item in found], _show_found)


def _show_found(rows: Rows) -> None:
    if rows:
        short = output.shortened(row["id"] for row in rows)
        output.show(output.memory_table(rows, output.utc_now(), short, "similarity"))
    else:
        print("nothing fits")


def _one(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", metavar="ID", help="its id, or the start of it")


def show(arguments: argparse.Namespace) -> Told:
    """Show one memory."""
    return Told(ask("show", id=arguments.id), _show_memory)


def _show_memory(row: dict[str, Any]) -> None:
    """In words."""
    table = output.grid(14, None)
    for name, value in _fields(row):
        table.add_row(output.text(name, "dim"), output.text(value))
    output.show(output.text(row["content"] or "(deleted: its text is gone)", "bold"), "", table)


def _fields(row: dict[str, Any]) -> list[tuple[str, str]]:
    """A memory's fields in words, without those that say nothing."""
    where = {"user": "you, in every project", "org": "the team", "project": f"project {row['project'] or '-'}"}
    said = f"by {row['origin']}, through {row['source']}"
    session = f", in session {row['source_session']}" if row["source_session"] else ""
    given = f"{output.plural(row['hit_count'], 'time')}, last {output.whole_time(row['last_used'])}"
    fields = {
        "id": row["id"],
        "holds for": where[row["scope"]],
        "type": row["type"],
        "status": row["status"] + (", pinned" if row["pinned"] else ""),
        "confidence": f"{row['confidence']:.2f}",
        "tags": ", ".join(row["tags"]),
        "aliases": ", ".join(row["aliases"]),
        "said": said + session,
        "first said": output.whole_time(row["first_seen"]),
        "last said": output.whole_time(row["last_seen"]),
        "given": given if row["hit_count"] else "never",
        "proved useful": output.plural(row["useful_count"], "time") if row["useful_count"] else "",
        "branch": row["branch"] or "",
        "worktree": row["worktree"] or "",
        "commit": row["commit"] or "",
        "ends": output.whole_time(row["expires_at"]) if row["expires_at"] else "",
        "in conflict with": ", ".join(row["conflicts"]),
        "related to": ", ".join(row["related"]),
        "replaces": ", ".join(row["supersedes"]),
        "replaced by": row["superseded_by"] or "",
        "local only": "yes: no remote model sees it" if row["local_only"] else "",
        "stored": output.whole_time(row["created_at"]),
        "changed": f"{output.whole_time(row['updated_at'])} (version {row['version']})",
    }
    return [(name, value) for name, value in fields.items() if value]


def history(arguments: argparse.Namespace) -> Told:
    """Show a memory's life, oldest first."""
    return Told(ask("history", id=arguments.id), _show_history)


def _show_history(steps: Rows) -> None:
    table = output.grid(None) if output.narrow() else output.grid(16, 10, 12, None)
    for step in steps:
        facts = (output.whole_time(step["at"]), step["action"], step["actor"])
        content = output.text(step["content"] or "(no text)")
        if output.narrow():
            table.add_row(output.stacked(content, *facts))
        else:
            table.add_row(output.text(facts[0], "dim"), output.text(facts[1]), output.text(facts[2], "dim"), content)
    output.show(table)


def _why_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("session", nargs="?", metavar="SESSION", help="the start of a session's id (default: the last)")
    place(parser, "the last injection in this project: its NAME, a PATH in it, or all")


def why(arguments: argparse.Namespace) -> Told:
    """Show the last receipt."""
    return Told(ask("why", session=arguments.session, project=arguments.project, cwd=here()), receipts.show)


def _status_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--line", action="store_true", help="only a few words on this project, for a prompt or a status"
                        " bar; with --json also the setting that makes them Claude Code's status line")  # fmt: skip


def status(arguments: argparse.Namespace) -> Told:
    """Show what the daemon says of itself."""
    if arguments.line:
        return state.line()
    return Told(state.status(), state.show)


COMMANDS = (
    Command("list", "", "what is remembered here, pinned first, then the newest", _list_options, list_,
            ("recalld list", "recalld list --project all --type decision", "recalld list --status pending,archived")),
    Command("search", "QUERY", "the memories that fit a question best", _search_options, search,
            ("recalld search which database", "recalld search 部署 --project all --since 2026-01-01")),
    Command("show", "ID", "one memory with all that is known of it", _one, show, ("recalld show 1a2b3c",)),
    Command("history", "ID", "what a memory was before, and who changed it", _one, history, ("recalld history 1a2b3c",)),
    Command("why", "[SESSION]", "what was last given to Claude, what was left out, and why", _why_options, why,
            ("recalld why", "recalld why 3f2c --json")),
    ui.COMMANDS[0]._replace(name="browse", usage="", summary="look through it all in a browser, as `ui` does",
                            examples=("recalld browse", "recalld browse --no-open")),
    Command("status", "[--line]", "what the daemon is doing", _status_options, status,
            ("recalld status", "recalld status --json", "recalld status --line")),
)  # fmt: skip
