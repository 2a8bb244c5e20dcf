"""A hub with many devices and many memories: what must be true of it, and figures.

    python tests/hub_load.py                                  # 200 devices, 1,000,000 memories, 3 minutes; about 15 in all
    python tests/hub_load.py --devices 20 --memories 20000 --minutes 0.5

Starts a PostgreSQL of its own (tests/pg.py) with the settings that real ones have, fills it through real pushes, lets the
devices work at a person's rate and then as fast as they can, and ends with a table. Exit code 1 for each broken promise:
each memory arrives once and in order at every device that may see it and nowhere else; a page is read through its index.
Devices and server share this machine, so the figures are of both together.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import random
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

from psycopg import sql

import hub_fleet
import pg
from hub_fleet import DEVICES_A_MEMBER, Device, Person, Seen
from hub_homes import children
from pg import Hub
from recalld.bench.spread import spread
from recalld.hub import connection, postgres
from recalld.hub.postgres import Remote
from recalld.hub.sync import PAGE

SETTINGS = """
fsync = on
full_page_writes = on
wal_level = replica
max_connections = {connections}
shared_buffers = 512MB
max_wal_size = 4GB
autovacuum_naptime = 30s
"""
SHARE = {"user": 0.3, "org": 0.1}
"""Of an org's memories; the rest is of its projects, a third of that of the first one."""
MANY = 1_000
"""From so many memories of a stream on, its pages must be read through the index."""
KIB, MIB = 1024, 1024 * 1024
_context: Any = multiprocessing.get_context("spawn")
_barrier: Any = None


class Plan(NamedTuple):
    """A run. every_s: each device says something so often. processes: in which the devices are."""

    devices: int = 200
    memories: int = 1_000_000
    minutes: float = 3.0
    every_s: float = 60.0
    processes: int = 4


class Run(NamedTuple):
    """What came of it. table: (what, figure). seen: of each phase, by device. wrong: each broken promise in a sentence."""

    table: list[tuple[str, str]]
    seen: list[list[Seen]]
    wrong: list[str]


class Job(NamedTuple):
    """Memories of one org to be filled in, in this order: (DSN, device, stream, how many)."""

    parts: list[tuple[str, str, str, int]]


def load(plan: Plan, settings: str = "", say: Callable[[str], None] = lambda _: None) -> Run:
    """Do it all; settings: of the server, beside those of the tests, if it begins now. `say` is told what begins."""
    with mock.patch.object(pg, "_CONF", pg._CONF + settings):
        server = pg.server()
    hub = Hub(server)
    try:
        return _load(plan, hub, say)
    finally:
        server.drop(hub.database)


def _load(plan: Plan, hub: Hub, say: Callable[[str], None]) -> Run:
    measured = _Measured(hub)
    say("members and projects")
    members = hub_fleet.people(hub, max(4, plan.devices // DEVICES_A_MEMBER))
    jobs = _jobs(members, plan.memories)
    processes = min(plan.processes, max(1, plan.devices // 4))
    global _barrier  # noqa: PLW0603  # processes get it when they begin
    _barrier = _context.Barrier(plan.devices)
    with ProcessPoolExecutor(processes, _context, _begin, (_barrier,)) as pool:
        say(f"registering {plan.devices} devices")
        found = hub_fleet.devices(hub, members, plan.devices)
        say(f"filling in {plan.memories:,} memories")
        measured.fill(pool, jobs, plan.memories)
        hub.query("vacuum analyze")
        measured.sizes(plan.memories)
        say("one org and several")
        measured.pushes(members, plan.memories)
        say("reading")
        measured.reads(members[0])
        seen = []
        for every_s, share in ((plan.every_s, 0.7), (0.0, 0.3)):
            say(f"{plan.devices} devices, each says something {f'every {every_s:g} s' if every_s else 'all the time'}")
            seen.append(measured.live(pool, found, every_s, plan.minutes * 60 * share, processes))
    measured.churn()
    return Run(measured.table, seen, measured.wrong)


def _begin(barrier: Any) -> None:
    global _barrier  # noqa: PLW0603
    _barrier = barrier
    os.nice(max(0, 10 - os.nice(0)))


def _jobs(members: Sequence[Person], memories: int) -> list[Job]:
    """Who fills in what, an org a job: it takes one push at a time anyway."""
    by_org: dict[str, list[Person]] = defaultdict(list)
    for one in members:
        by_org[one.org].append(one)
    jobs = []
    for org in by_org.values():
        mine = memories * len(org) // len(members)
        parts = [(org[0].dsn, "org", int(mine * SHARE["org"]))]
        parts += [(one.dsn, one.own, int(mine * SHARE["user"] / len(org))) for one in org]
        projects = {stream: one.dsn for one in org for stream in one.streams[2:]}
        rest = mine - sum(amount for _, _, amount in parts)
        first, *others = sorted(projects)
        parts += [(projects[stream], stream, rest * 2 // 3 // len(others)) for stream in others]
        parts.append((projects[first], first, mine - sum(amount for _, _, amount in parts)))
        jobs.append(Job([(dsn, pg.device_id("first", dsn), stream, amount) for dsn, stream, amount in parts]))
    return jobs


def _fill(job: Job) -> list[float]:
    """Seconds that each push of 1,000 took."""
    took = []
    for dsn, device, stream, amount in job.parts:
        with Remote(dsn, device_id=device) as remote:
            for items in hub_fleet.batches(stream, amount):
                begun = time.perf_counter()
                told = remote.push(items)
                took.append(time.perf_counter() - begun)
                assert {one.outcome for one in told} == {"stored"}, told[0]
    return took


def _live(found: list[Device], every_s: float, begin: float, until: float) -> list[Seen]:
    return hub_fleet.live(found, every_s, begin, until, _barrier)


class _Kept:
    """In the place of the query of a page; keeps it as it is sent."""

    def __init__(self) -> None:
        self._page, self.said = postgres._PAGE, ""

    def format(self, **words: Any) -> sql.Composed:
        made = self._page.format(**words)
        self.said = made.as_string()
        return made


class _Measured:
    """The table, and how it is measured."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        self.table: list[tuple[str, str]] = []
        self.wrong: list[str] = []

    def note(self, what: str, figure: str) -> None:
        self.table.append((what, figure))

    def fill(self, pool: ProcessPoolExecutor, jobs: list[Job], memories: int) -> None:
        wal, cpu, begun = self._wal(), self._cpu(), time.monotonic()
        list(pool.map(_fill, jobs))
        took = time.monotonic() - begun
        self.note("fill, through push of 1,000, orgs at once", f"{memories / took:,.0f} memories/s ({took:.0f} s)")
        self.note("  processor time of the server", f"{(self._cpu() - cpu) / memories * 1e6:,.0f} us a memory")
        self.note("  WAL", f"{(self._wal() - wal) / memories / KIB:.2f} KiB a memory")
        (stored,) = self._hub.query("select count(*) from recalld.memories")
        if stored != (memories,):
            self.wrong.append(f"{memories} memories were pushed, {stored[0]} are there")

    def sizes(self, memories: int) -> None:
        """Of what one memory needs; memories and events apart."""
        for table in ("memories", "events"):
            ((heap, index),) = self._hub.query(
                """select sum(pg_table_size(inhrelid)), sum(pg_indexes_size(inhrelid)) from pg_inherits
                   where inhparent = ('recalld.' || %s)::regclass""", table)  # fmt: skip
            self.note(f"size of {table}", f"{heap / memories:,.0f} B a memory + {index / memories:,.0f} B of indexes")
        ((text,),) = self._hub.query(
            "select avg(octet_length(body::text)) from (select body from recalld.memories limit 1000) of_them"
        )
        self.note("  the JSON of a memory", f"{text:,.0f} B")

    def pushes(self, members: Sequence[Person], memories: int) -> None:
        """One writer, four in one org, four in four orgs; less of it where there are few memories."""
        same = [one for one in members if one.org == members[0].org][:4]
        apart = list({one.org: one for one in members}.values())[:4]
        for size, most in ((1, 100), (100, 20), (1000, 4)):
            amount = min(most, memories // size // 50)
            for name, writers in (("1 writer", same[:1]), (f"{len(same)} in one org", same),
                                  (f"{len(apart)} in as many orgs", apart)):  # fmt: skip
                if amount:
                    self.note(f"push of {size:,}, {name}", _pushed(writers, size, amount))

    def reads(self, reader: Person) -> None:
        """First sync of one device, and the plan of a page in the middle of a large stream."""
        with Remote(reader.dsn, device_id=pg.device_id("first", reader.dsn)) as remote:
            streams = sorted(remote.streams(), key=lambda one: -one[1])
            stream, there = streams[0]
            for most in (10_000, 100_000):
                for page in (PAGE, 1000):
                    rows, took, cpu = self._read(remote, stream, min(most, there), page)
                    self.note(f"first sync of {rows:,}, pages of {page:,}",
                              f"{took:.1f} s, {rows / took:,.0f} rows/s, server {cpu / rows * 1e6:.0f} us a row")  # fmt: skip
        self.note(f"plan of a page of {PAGE}", self._plan(reader, stream, there))

    def _read(self, remote: Remote, stream: str, most: int, size: int) -> tuple[int, float, float]:
        rows, cursor, cpu, begun = 0, 0, self._cpu(), time.perf_counter()
        seqs = [0]
        while rows < most:
            page = remote.pull(stream, cursor, size)
            rows, cursor = rows + len(page.rows), page.cursor
            seqs += [row.seq for row in page.rows]
            if not page.more:
                break
        if seqs != sorted(set(seqs)):
            self.wrong.append("the pages of a stream were not in order")
        return rows, time.perf_counter() - begun, self._cpu() - cpu

    def _plan(self, reader: Person, stream: str, there: int) -> str:
        """As the member's own role, from the middle of the stream."""
        (found,) = self._hub.query("""select percentile_disc(0.5) within group (order by m.seq) from recalld.memories m
            join recalld.orgs o using (org_id) where m.stream = %s and o.name = %s""", stream, reader.org)  # fmt: skip
        kept = _Kept()
        with mock.patch.object(postgres, "_PAGE", kept), Remote(reader.dsn) as remote:
            remote.pull(stream, found[0], PAGE)
        query = kept.said
        inner = query[query.index("(") + 1 : query.rindex(") to stdout")]
        with connection.connect(connection.way(reader.dsn)) as member:
            member.execute(b"select count(*) from recalld.migrations")
            lines = [row[0] for row in member.execute(f"explain (analyze, buffers, timing off) {inner}".encode())]
        text = "\n".join(lines)
        if there >= MANY and (
            "_org_id_stream_seq_idx" not in text or any(f"Seq Scan on {t}" in text for t in ("memories_", "events_"))
        ):
            self.wrong.append(f"a page is not read through its index:\n{text}")
        buffers = next((line.strip() for line in lines if "Buffers" in line), "")
        spent = [line.strip() for line in lines if line.strip().startswith(("Planning Time", "Execution Time"))]
        return ", ".join([*spent, buffers]) + ("\n" + text if "RECALLD_PLAN" in os.environ else "")

    def live(
        self, pool: ProcessPoolExecutor, found: list[Device], every_s: float, seconds: float, processes: int
    ) -> list[Seen]:
        """All devices at work; then what each has got is compared with what it should have."""
        starts = dict(self._hub.query("select name, seq from recalld.orgs"))
        found = [one._replace(starts=starts[one.person.org]) for one in found]
        random.Random(1).shuffle(found)
        begin = time.monotonic() + 1 + len(found) * 0.05
        until = begin + seconds
        jobs = [pool.submit(_live, found[n::processes], every_s, begin, until) for n in range(processes)]
        rows, peak = self._events(), (0, 0.0, 0.0)
        time.sleep(max(0, begin - time.monotonic()))
        cpu, own, wal, commits = self._cpu(), _fleet_cpu(), self._wal(), self._commits()
        while time.monotonic() < until:
            time.sleep(min(seconds / 4, until - time.monotonic()) if until > time.monotonic() else 0)
            peak = max(peak, self._memory())
        spent, own = self._cpu() - cpu, _fleet_cpu() - own
        commits, wal = self._commits() - commits, self._wal() - wal
        seen = [one for job in jobs for one in job.result()]
        self._note_live(seen, seconds, every_s)
        self.note("  processor time", f"server {spent / seconds:.2f} cores, devices {own / seconds:.2f} cores")
        self.note("  transactions", f"{commits / seconds:,.0f}/s; WAL {wal / seconds / KIB:,.0f} KiB/s")
        self.note("  connections", f"{peak[0]}, each {peak[2]:.1f} MiB of its own; the server {peak[1]:,.0f} MiB")
        self.note("  events", f"+{self._events() - rows:,}")
        return seen

    def _note_live(self, seen: list[Seen], seconds: float, every_s: float) -> None:
        late = _check(seen, self.wrong)
        sent = sum(len(one.sent) for one in seen)
        name = f"every {every_s:g} s" if every_s else "as fast as they can"
        self.note(f"{len(seen)} devices, {name}", f"{sent / seconds:,.1f} memories/s sent, "
                  f"{sum(len(one.arrived) for one in seen) / seconds:,.0f}/s seen")  # fmt: skip
        lost = sum(one.lost for one in seen)
        self.note("  cycles", f"{sum(one.cycles for one in seen) / seconds:,.0f}/s, {lost} were not answered in time")
        if late:
            found = spread([one * 1000 for one in late])
            self.note(
                "  until another device has it", f"p50 {found.p50:,.0f}, p95 {found.p95:,.0f}, p99 {found.p99:,.0f} ms"
            )

    def churn(self) -> None:
        """What updates leave behind in the small tables."""
        for table in ("orgs", "devices"):
            ((updates, hot, dead, vacuums, size),) = self._hub.query(
                """select n_tup_upd, n_tup_hot_upd, n_dead_tup, autovacuum_count, pg_total_relation_size(relid)
                   from pg_stat_user_tables where relid = ('recalld.' || %s)::regclass""", table)  # fmt: skip
            self.note(f"updates of {table}", f"{updates:,}, {hot / max(1, updates):.1%} HOT, {dead} dead, "
                      f"{vacuums} autovacuums, {size / KIB:,.0f} KiB")  # fmt: skip
        ((size,),) = self._hub.query("select pg_total_relation_size('recalld.incoming')")
        self.note("staging of pushes", f"{size / MIB:,.1f} MiB, empty between them")

    def _events(self) -> int:
        return int(
            self._hub.query("select sum(n_tup_ins) from pg_stat_user_tables where relname like 'events_%%'")[0][0]
        )

    def _wal(self) -> int:
        return int(self._hub.query("select pg_current_wal_lsn() - '0/0'")[0][0])

    def _commits(self) -> int:
        return int(
            self._hub.query("select xact_commit from pg_stat_database where datname = %s", self._hub.database)[0][0]
        )

    def _cpu(self) -> float:
        """Seconds of processor time that the server has had, ended connections too."""
        postmaster = self._hub.server.process.pid
        own = _ticks(postmaster)
        return sum([*own, *(sum(_ticks(pid)[:2]) for pid in children(postmaster))]) / os.sysconf("SC_CLK_TCK")

    def _memory(self) -> tuple[int, float, float]:
        """Connections of members, MiB of the whole server (shared pages once), and what one connection has for itself."""
        ears = [pid for (pid,) in self._hub.query("select pid from pg_stat_activity where usename like 'recalld\\_%%'")]
        pids = [self._hub.server.process.pid, *children(self._hub.server.process.pid)]
        own = sum(_kib(pid, "Private_Dirty") for pid in ears) / KIB / max(1, len(ears))
        return len(ears), sum(_kib(pid, "Pss") for pid in pids) / KIB, own


def _pushed(writers: Sequence[Person], size: int, amount: int) -> str:
    """So many pushes of each, all at once."""
    work = [list(hub_fleet.batches(one.own, size * amount, size)) for one in writers]
    times: list[float] = []
    ready = threading.Barrier(len(writers))

    def push(writer: Person, mine: list[list[Any]]) -> None:
        with Remote(writer.dsn, device_id=pg.device_id("first", writer.dsn)) as remote:
            remote.whoami()
            ready.wait(60)
            for items in mine:
                begun = time.perf_counter()
                remote.push(items)
                times.append((time.perf_counter() - begun) * 1000)

    with ThreadPoolExecutor(len(writers)) as threads:
        list(threads.map(push, writers, work))
    found = spread(times)
    rate = len(writers) * size / (sum(times) / len(times) / 1000)
    return f"{rate:,.0f} memories/s; p50 {found.p50:,.1f}, p95 {found.p95:,.1f}, p99 {found.p99:,.1f} ms"


def _check(seen: Sequence[Seen], wrong: list[str]) -> list[float]:
    """Compare what each device has got with what it should have; returns the seconds until others had each memory."""
    audience: dict[tuple[str, str], dict[str, float]] = defaultdict(dict)
    for one in seen:
        wrong.extend(one.wrong)
        for memory_id, (stream, due) in one.sent.items():
            audience[one.device.person.org, stream][memory_id] = due
    late = []
    for one in seen:
        seqs: dict[str, int] = defaultdict(int)
        got: dict[str, set[str]] = defaultdict(set)
        for stream, memory_id, seq, at in one.arrived:
            if seq <= seqs[stream] or memory_id in got[stream]:
                wrong.append(f"{one.device.id}: {memory_id} came twice or out of order")
            seqs[stream] = seq
            got[stream].add(memory_id)
            if memory_id not in one.sent:
                late.append(at - audience[one.device.person.org, stream].get(memory_id, at))
        for stream in one.device.person.streams:
            should = set(audience[one.device.person.org, stream])
            if got.pop(stream, set()) != should:
                wrong.append(f"{one.device.id} has not exactly what {stream} holds")
        if got:
            wrong.append(f"{one.device.id} has got something of {', '.join(got)}")
    return late


def _ticks(pid: int) -> list[int]:
    """User and system time of a process, and of its ended children."""
    try:
        return [int(part) for part in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:15]]
    except OSError:
        return [0, 0, 0, 0]


def _fleet_cpu() -> float:
    """Seconds of processor time of the devices' processes."""
    mine = [process.pid for process in multiprocessing.active_children() if process.pid]
    return sum(sum(_ticks(pid)[:2]) for pid in [os.getpid(), *mine]) / os.sysconf("SC_CLK_TCK")


def _kib(pid: int, what: str) -> int:
    """Of a process's memory, in KiB; 0 once it has ended."""
    try:
        text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    except OSError:
        return 0
    return int(next(line for line in text.splitlines() if line.startswith(f"{what}:")).split()[1])


def plan_of(words: Sequence[str]) -> Plan:
    """The plan that the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in Plan()._asdict().items():
        parser.add_argument(f"--{name.replace('_', '-')}", type=type(default), default=default)
    return Plan(**vars(parser.parse_args(words)))


def main() -> int:
    """Do it, print the table, and what was wrong."""
    begun = time.monotonic()
    print(f"{os.cpu_count()} processors, load {os.getloadavg()[0]:.1f} before", flush=True)
    plan = plan_of(sys.argv[1:])
    run = load(plan, SETTINGS.format(connections=2 * plan.devices + 60),
               lambda what: print(f"{time.monotonic() - begun:6.0f} s  {what}", file=sys.stderr, flush=True))  # fmt: skip
    print(f"load {os.getloadavg()[0]:.1f} after; {time.monotonic() - begun:.0f} s in all\n")
    for what, figure in run.table:
        print(f"{what:46} {figure}")
    for line in run.wrong:
        print(f"BROKEN: {line}", file=sys.stderr)
    return bool(run.wrong)


if __name__ == "__main__":
    sys.exit(main())
