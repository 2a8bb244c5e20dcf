"""How a receipt looks: what was given to Claude, what was weighed and left out, and why."""

from __future__ import annotations

from typing import Any

from recalld.cli import output

EVENTS = {"SessionStart": "at the start of the session", "UserPromptSubmit": "with a prompt"}
REASON_COLUMNS = 30
"""A longer reason is cut; those of today have fewer."""


def show(explained: dict[str, Any]) -> None:
    """Print what the verb `why` answered."""
    receipt, memories = explained["receipt"], explained["memories"]
    items = receipt["items"]
    given = [item for item in items if item["given"]]
    left = [item for item in items if not item["given"]]
    weighed = f"{len(given)} of {output.plural(len(items), 'memory', 'memories')} given"
    parts: list[Any] = [
        output.text(f"{output.whole_time(receipt['at'])}, {EVENTS.get(receipt['event'], receipt['event'])}", "bold"),
        output.text(f"session {receipt['session_id']}", "dim"),
        output.text(f"{weighed} · {receipt['tokens']} tokens · {receipt['ms']:.1f} ms", "dim"),
    ]
    if receipt["query"]:
        parts.append(output.text(f"> {' '.join(receipt['query'].split())}"))
    if not items:
        parts += ["", output.text("nothing was weighed: nothing known there had to do with it")]
    short = output.shortened(item["memory"] for item in items)
    for title, members in (("given", given), ("left out", left)):
        if members:
            parts += ["", output.text(title, "bold"), _table(members, memories, short)]
    output.show(*parts)


def _table(items: list[dict[str, Any]], memories: dict[str, Any], short: dict[str, str]) -> Any:
    if output.narrow():
        return _stacked(items, memories, short)
    reasons = max(len(item["reason"]) for item in items)
    table = output.grid(5, 5, min(reasons, REASON_COLUMNS), None, max(len(short[item["memory"]]) for item in items))
    table.add_row(*(output.text(title, "dim") for title in ("score", "fits", "why", "memory", "id")))
    for item in items:
        table.add_row(
            output.text(f"{item['score']:.2f}"),
            output.text(f"{item['similarity']:.2f}"),
            output.text(item["reason"], "green" if item["given"] else "yellow"),
            output.text(_content(item, memories)),
            output.text(short[item["memory"]], "cyan"),
        )
    return table


def _stacked(items: list[dict[str, Any]], memories: dict[str, Any], short: dict[str, str]) -> Any:
    table = output.grid(None)
    for item in items:
        facts = (f"score {item['score']:.2f}", f"fits {item['similarity']:.2f}", item["reason"], short[item["memory"]])
        table.add_row(output.stacked(output.text(_content(item, memories)), *facts))
    return table


def _content(item: dict[str, Any], memories: dict[str, Any]) -> str:
    memory = memories.get(item["memory"])
    return memory["content"] if memory and memory["content"] else "(deleted since)"
