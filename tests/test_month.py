"""A month of one developer in three projects, and the store it must leave: tests/data/month.jsonl, written without the code.

A fault that is known stands in the data as `known_miss`, with its cause: each must still be there, and no other may be.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterable, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from recalld import embed, maintain, wire
from recalld.config import Config, ExtractConfig
from recalld.evaluate.house import TURN, House, house
from recalld.model import Memory, Scope, Status

ROWS = [json.loads(line) for line in (Path(__file__).parent / "data" / "month.jsonl").read_text("utf-8").splitlines()][
    1:
]
CHECKED = [number for number, row in enumerate(ROWS) if "kind" in row or "do" in row]
SECRETS = {
    "aws": "AKIA" + "QX7R2LMD" + "4ZTPWE6V",
    "pw": "Hv" + "7!tuo" + "_94kq",
}
PRIVATE = ("Marta", "裁两个人")
CONFIG = Config(extract=ExtractConfig(backend="rules"))
PROBE = "probe-"
WEEK, WORKING_DAYS = 7, 5
BETWEEN = timedelta(minutes=90)
"""From one session to the next."""


class Month:
    """The month as it is lived. faults: what was not as expected, and where, by the number of the row."""

    def __init__(self, home: House) -> None:
        self.home = home
        self.faults: dict[int, dict[str, str]] = {}
        self._begun = home.now
        self._places: dict[str, str] = {}
        self._session = ""
        self._slept = 0

    async def live(self) -> None:
        """Every row in its order; the upkeep is done at the end of each day, at weekends too."""
        for number, row in enumerate(ROWS):
            if "kind" not in row:
                await self._morning(row["day"])
            if "kind" in row:
                await self._end_session()
                self.faults[number] = await self._look(row)
            elif "do" in row:
                await self._end_session()
                self.faults[number] = await self._act(row)
            else:
                await self._say(number, row)
        await self._end_session()

    async def _morning(self, day: int) -> None:
        """Sleep until the morning of this working day."""
        ahead = (day - 1) // WORKING_DAYS * WEEK + (day - 1) % WORKING_DAYS
        if self._slept < ahead:
            await self._end_session()
        while self._slept < ahead:
            await self.home.learn()
            await self.home.store.act("maintain", None, False, maintain.tidy, self.home.now, CONFIG.keep)
            self._slept += 1
            self.home.now = self._begun + timedelta(days=self._slept)

    async def _say(self, number: int, row: dict[str, Any]) -> None:
        common = {"session_id": row["session"], "cwd": self._place(row["project"])}
        if row["session"] != self._session:
            await self._end_session()
            self._session = row["session"]
            await self._hook("session-start", **common, source="startup")
        prompt, answer = _filled(row["prompt"]), row["answer"]
        prompt_id = f"turn-{number}"
        await self._hook("prompt", **common, prompt=prompt, prompt_id=prompt_id)
        self.home.now += TURN
        if answer is not None:
            await self._hook("stop", **common, prompt_id=prompt_id, last_assistant_message=answer)
            assert await self.home.learn() is None

    async def _end_session(self) -> None:
        if self._session:
            await self._hook("session-end", session_id=self._session, cwd="/", reason="other")
            assert await self.home.learn() is None
            self._session = ""
            self.home.now += BETWEEN

    async def _act(self, row: dict[str, Any]) -> dict[str, str]:
        """What the person does by hand."""
        self._place(row["project"])
        held = [memory for memory in await self._active(row["project"]) if row["find"] in memory.content]
        if row["do"] == "resolve":
            waiting = await self.home.call("conflicts", cwd=self._place(row["project"]))
            sides = [
                (one.conflict_id, side)
                for one in waiting
                for side, memory in (("A", one.older), ("B", one.newer))
                if row["find"] in memory.content
            ]
            for conflict, side in sides[:1]:
                await self.home.call("resolve", conflict=conflict, keep=side)
            return {} if sides else {"no conflict": row["find"]}
        if row["do"] == "delete" and held:
            await self.home.call("delete", ids=[memory.id for memory in held])
        elif held:
            await self.home.call("edit", id=held[0].id, text=row["text"])
        return {} if held else {f"nothing to {row['do']}": row["find"]}

    async def _look(self, row: dict[str, Any]) -> dict[str, str]:
        if row["kind"] == "store":
            return _store_faults(row, [memory for memory in await self.home.stored() if _within(memory, row["scope"])])
        session = PROBE + _name(ROWS.index(row))
        common = {"session_id": session, "cwd": self._place(row["project"])}
        if row["kind"] == "start":
            block = await self._hook("session-start", **common, source="startup")
        else:
            block = await self._hook("prompt", **common, prompt=row["prompt"], prompt_id=session)
        await self.home.store.write(_forget_probes)
        self.home.now += TURN
        return _block_faults(row, block)

    async def _active(self, scope: str) -> list[Memory]:
        return [m for m in await self.home.stored() if _within(m, scope) and m.status is Status.ACTIVE]

    def _place(self, project: str) -> str:
        if project not in self._places:
            self._places[project] = self.home.project(project)
        return self._places[project]

    async def _hook(self, event: str, **payload: Any) -> str:
        """What a hook of Claude Code would send; the context it gets."""
        reply = await self.home.service.hook(wire.Request("hook", event, {}, json.dumps(payload).encode()))
        await self.home.service.drain()
        output = json.loads(reply or b"{}").get("hookSpecificOutput", {})
        return str(output.get("additionalContext", ""))


def _forget_probes(db: Any) -> None:
    """A probe is no part of the month."""
    for table in ("turns", "injections", "sessions"):
        db.execute(f"delete from {table} where session_id like '{PROBE}%'")


def _within(memory: Memory, scope: str) -> bool:
    if scope == "any":
        return True
    return memory.scope is Scope.USER if scope == "user" else memory.project == scope


def _store_faults(row: dict[str, Any], stored: Sequence[Memory]) -> dict[str, str]:
    active = [memory for memory in stored if memory.status is Status.ACTIVE]
    superseded = [memory for memory in stored if memory.status is Status.SUPERSEDED]
    faults = {f"not active: {_one(wanted)}": "" for wanted in row["active"] if not _matching(active, wanted)}
    faults |= {f"not superseded: {_one(w)}": "" for w in row["superseded"] if not _matching(superseded, w)}
    for pattern in row["absent"]:
        if found := _matching(active, [pattern]):
            faults[f"not absent: {pattern}"] = _told(found)
    for wanted in row["once"]:
        if len(found := _matching(active, wanted)) > 1:
            faults[f"more than once: {_one(wanted)}"] = _told(found)
    low, high = row["count"]
    if not low <= len(active) <= high:
        faults["count"] = f"{len(active)}: {_told(active)}"
    if row["scope"] != "any":
        faults |= _conflict_faults(row["conflict"], active)
    return faults


def _conflict_faults(pairs: Iterable[Sequence[str]], active: Sequence[Memory]) -> dict[str, str]:
    by_id = {memory.id: memory for memory in active}
    flagged = {frozenset((m.id, other)) for m in active for other in m.conflicts}
    faults, expected = {}, set()
    for first, second in pairs:
        met = {
            frozenset((a.id, b.id))
            for a in _matching(active, [first])
            for b in _matching(active, [second])
            if frozenset((a.id, b.id)) in flagged
        }
        expected |= met
        if not met:
            faults[f"no conflict: {first} | {second}"] = ""
    for pair in flagged - expected:
        faults["needless conflict"] = _told([by_id[one] for one in pair if one in by_id])
    return faults


def _block_faults(row: dict[str, Any], block: str) -> dict[str, str]:
    if row.get("silent"):
        return {"not silent": block} if block else {}
    faults = {f"not injected: {p}": block for p in row["must"] if not re.search(p, block, re.IGNORECASE)}
    return faults | {f"injected: {p}": block for p in row["must_not"] if re.search(p, block, re.IGNORECASE)}


def _matching(memories: Iterable[Memory], patterns: Sequence[str]) -> list[Memory]:
    return [m for m in memories if all(re.search(pattern, m.content, re.IGNORECASE) for pattern in patterns)]


def _one(patterns: Sequence[str]) -> str:
    return " + ".join(patterns)


def _told(memories: Iterable[Memory]) -> str:
    return " / ".join(memory.content for memory in memories)


def _filled(text: str) -> str:
    return re.sub(r"\{SECRET:([a-z]+)\}", lambda found: SECRETS[found[1]], text)


def _name(number: int) -> str:
    row = ROWS[number]
    what = row.get("kind") or row["do"]
    return f"{row['day']}-{what}-{row.get('scope') or row['project']}-{number}"


class Outcome(NamedTuple):
    """faults: by the number of the row. written: words found in the database, and in which table. upkept: what the upkeep did to a memory that nothing was due for."""

    faults: dict[int, dict[str, str]]
    written: dict[str, str]
    upkept: list[Any]


@pytest.fixture(scope="module")
def month(tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    folder = tmp_path_factory.mktemp("month") / "home"

    async def whole() -> Outcome:
        async with house(folder, CONFIG, embed.load("builtin", Path()), {}) as home:
            lived = Month(home)
            await lived.live()
            standing = _matching(await home.stored(), ["integer cents"])[0]
            events = await home.call("history", id=standing.id)
            upkept = [event for event in events if event.actor == "maintain"]
            return Outcome(lived.faults, await home.store.read(_written), upkept)

    return asyncio.run(whole())


def _written(db: Any) -> dict[str, str]:
    tables = [name for (name,) in db.execute("select name from sqlite_master where type = 'table'").fetchall()]
    return {
        word: table
        for table in tables
        for row in db.execute(f'select * from "{table}"').fetchall()
        for word in (*SECRETS.values(), *PRIVATE)
        if word in str(row)
    }


@pytest.mark.parametrize("number", CHECKED, ids=_name)
def test_the_month_leaves_what_was_expected_of_it(month: Outcome, number: int) -> None:
    known, found = ROWS[number].get("known_miss", {}), month.faults[number]
    new = {what: where for what, where in found.items() if what not in known}
    mended = [what for what in known if what not in found]
    assert (new, mended) == ({}, [])


def test_no_secret_of_the_month_is_anywhere_in_the_database(month: Outcome) -> None:
    assert [word for word in SECRETS.values() if word in month.written] == []


def test_nothing_private_of_the_month_is_anywhere_in_the_database(month: Outcome) -> None:
    assert [word for word in PRIVATE if word in month.written] == []


def test_the_upkeep_leaves_alone_what_is_not_due(month: Outcome) -> None:
    assert month.upkept == []
