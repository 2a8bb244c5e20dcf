"""The command `tune`: the threshold that the owner's own history speaks for."""

from __future__ import annotations

import argparse
from typing import Any

from recalld.cli import output
from recalld.cli.calls import LONG_S, ask
from recalld.cli.command import Command, Told
from recalld.paths import find

KEY = "memory.similarity_threshold"


def _options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--apply", action="store_true", help="write what is proposed into the configuration")


def tune(arguments: argparse.Namespace) -> Told:
    """Show what another similarity threshold would change, and change it where that is wanted."""
    import msgspec  # late, like all below: every command imports this module

    from recalld import config
    from recalld.cli import config_file
    from recalld.evaluate import tuning
    from recalld.store.labels import Asked

    path = find().config
    memory = config.load(path).memory
    history = msgspec.convert(ask("labels", timeout_s=LONG_S), list[Asked])
    found = tuning.tune(history, memory.similarity_threshold, memory.max_items_per_prompt)
    applied = arguments.apply and found.proposed is not None
    if applied:
        config_file.put(path, KEY, str(found.proposed))
    told = msgspec.to_builtins(found) | {"applied": applied, "path": str(path)}
    return Told(told, _show)


def _show(told: dict[str, Any]) -> None:
    labels = ", ".join(f"{number:,} {name}" for name, number in told["labels"].items())
    lines: list[Any] = [f"judged memories in {output.plural(told['prompts'], 'prompt')}: {labels}"]
    if told["prompts"]:
        table = output.grid(12, 11, 8, 9, 11, 8, 8)
        titles = ("", "threshold", "given", "prompts", "precision", "recall", "F1")
        table.add_row(*(output.text(title, "dim") for title in titles))
        for name, row in (("in use", told["current"]), ("best", told["best"])):
            cells = (f"{row['threshold']:.2f}", f"{row['given']:,}", f"{row['prompts']:,}",
                     *(f"{row[part]:.3f}" for part in ("precision", "recall", "f1")))  # fmt: skip
            table.add_row(output.text(name), *(output.text(cell) for cell in cells))
        low, high = told["likely"]
        lines += [table, f"in 90 of 100 samples of the prompts the best one lies between {low:.2f} and {high:.2f}"]
    if told["proposed"] is None:
        lines.append(f"nothing to change: {told['reason']}")
    elif told["applied"]:
        lines.append(f"{KEY} = {told['proposed']} ({told['path']})")
    else:
        lines.append(f"proposed: {told['proposed']:.2f}, {told['reason']}; `recalld tune --apply` sets it")
    output.show(*(output.text(line) if isinstance(line, str) else line for line in lines))


COMMANDS = (
    Command("tune", "[--apply]", "find the similarity threshold that your own history speaks for", _options, tune,
            ("recalld tune", "recalld tune --apply")),
)  # fmt: skip
