"""Commands that judge recalld itself: eval, tune, bench."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from recalld.cli import output, tune
from recalld.cli.command import Command, Told
from recalld.paths import find

BACKENDS = ("rules", "anthropic", "claude")
SMALLEST = 100
"""Memories that `bench` wants in a store."""


def eval_options(parser: argparse.ArgumentParser) -> None:
    """Those of `eval`."""
    parser.add_argument("files", nargs="+", metavar="FILE", type=Path, help="JSON lines, plain or .gz")
    parser.add_argument("--details", action="store_true", help="what was ranked, injected or stored for each case")
    parser.add_argument("--backend", choices=BACKENDS, default="rules", help="who extracts (rules)")
    parser.add_argument(
        "--as-injected", action="store_true", help="retrieval: only what passes threshold and budget counts as found"
    )
    parser.add_argument("--plot", type=Path, metavar="FILE", help="draw scores by threshold into FILE (.html or .png)")


def eval_(arguments: argparse.Namespace) -> Told:
    """Score labelled cases."""
    import asyncio  # late, like all below: every command imports this module

    from recalld import config  # late: with them comes the whole daemon
    from recalld.evaluate import files, judge, plot, report

    if arguments.plot:
        plot.check(arguments.plot)
    cases = [files.read(path) for path in arguments.files]
    paths = find()
    settings = config.load(paths.config)
    options = judge.Options(
        backend=arguments.backend, as_injected=arguments.as_injected, swept=arguments.plot is not None
    )
    with _progress(judge.size(cases)) as tick, _silent_log():
        results = asyncio.run(judge.judge(cases, settings, paths.models, os.environ, options, tick))
    if arguments.plot:
        plot.draw(arguments.plot, results, settings.memory.similarity_threshold)
    told = report.as_json(results, details=arguments.details) if arguments.json else None
    return Told(told, lambda _: print(output.safe(report.as_text(results, details=arguments.details))))


@contextlib.contextmanager
def _progress(total: int) -> Iterator[Callable[[], None]]:
    """A bar on the terminal, where there is one; the block's function moves it on by one."""
    if not (sys.stderr and sys.stderr.isatty()):
        yield lambda: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("judging", total=total)
        yield lambda: progress.advance(task)


@contextlib.contextmanager
def _silent_log() -> Iterator[None]:
    """Nothing is logged on the terminal: what fails in a case stands in the result."""
    import logging

    logger = logging.getLogger("recalld")
    before = logger.level
    logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        logger.setLevel(before)


def bench_options(parser: argparse.ArgumentParser) -> None:
    """Those of `bench`."""
    parser.add_argument("--quick", action="store_true", help="fewer rounds, and the smallest store only")
    parser.add_argument(
        "--sizes", type=_sizes, metavar="N,N...", help="memories in the store (1000,10000,100000); a million takes long"
    )


def bench(arguments: argparse.Namespace) -> Told:
    """Measure this installation on this machine."""
    import msgspec

    from recalld.bench import report, run

    effort = run.QUICKLY if arguments.quick else run.Effort()
    sizes = arguments.sizes or (run.QUICK if arguments.quick else run.SIZES)
    with _steps() as (say, tick):
        measured = run.run(sizes, effort, say, tick)
    return Told(msgspec.to_builtins(measured), lambda _: print(report.as_text(measured)))


def _sizes(text: str) -> tuple[int, ...]:
    """Numbers, in ascending order. Raises ValueError, as argparse wants it."""
    sizes = tuple(sorted({int(part) for part in text.split(",")}))
    if sizes[0] < SMALLEST:
        raise ValueError(text)
    return sizes


@contextlib.contextmanager
def _steps() -> Iterator[tuple[Callable[[str], None], Callable[[int], None]]]:
    """What is being done, on the terminal, where there is one."""
    if not (sys.stderr and sys.stderr.isatty()):
        yield (lambda _: None), (lambda _: None)
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("bench", total=None)
        yield (
            lambda step: progress.update(task, description=step, completed=0),
            lambda number: progress.advance(task, number),
        )


COMMANDS = (
    Command("eval", "FILE...", "score recalld on labelled cases, in a scratch store", eval_options, eval_,
            ("recalld eval cases.jsonl", "recalld eval --json --details dialogues.jsonl.gz",
             "recalld eval --plot threshold.html recall.jsonl")),
    *tune.COMMANDS,
    Command("bench", "[--quick] [--sizes N,N]", "measure hooks, prompts, memory and start", bench_options, bench,
            ("recalld bench --quick", "recalld bench --sizes 1000,100000 --json")),
)  # fmt: skip
