"""The hub as a device meets it: pull, push, share and wait, over a real PostgreSQL, and over lines that are bad."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from hub_items import body, item, steps
from pg import Hub, hub
from recalld import hubwire
from recalld.doors.socket import MAX_REQUEST_BYTES
from recalld.hub import admin, connection, postgres, sync
from recalld.hub.connection import way
from recalld.hub.postgres import Remote
from recalld.hubwire import ORG, HubError, Item, Result
from recalld.model import new_id

__all__ = ["hub"]

SHOP, SITE = "project:remote:github.com/acme/shop", "project:name:site"


def contents(remote: Remote, stream: str, cursor: int = 0) -> list[str]:
    return [str(row.body["content"]) for row in remote.pull(stream, cursor).rows if row.body]


def change(old: Item, text: str, base_version: int, **fields: object) -> Item:
    return msgspec.structs.replace(item(old.stream, text, base_version=base_version, **fields), id=old.id)  # type: ignore[arg-type]


def test_what_one_device_pushes_another_of_the_same_member_pulls_as_it_was(hub: Hub) -> None:
    with hub.device(hub.owner) as laptop, hub.device(hub.owner, "phone") as phone:
        me = laptop.whoami()
        assert (me.org, me.member, me.role, me.sealed) == ("acme", "olga", "owner", None)
        assert me.stream == phone.whoami().stream
        said = "emoji \U0001f980, quotes \" ' \\ , tab \t, newline \n, \\u0000 spelt out, \\N, \\."
        told = item(me.stream, said, tags=("a", "b"), client="claude-code", steps=steps("", said))
        assert laptop.push([told]) == [Result(id=told.id, outcome="stored", version=1)]
        page = phone.pull(me.stream, 0)
        row = page.rows[0]
        assert hubwire.checked(row.body or {}) == told.body
        assert (row.digest, row.version, row.member, row.device, row.client) == (
            told.digest,
            1,
            "olga",
            "laptop",
            "claude-code",
        )
        assert [step.content for step in row.steps] == ["", said]
        assert {step.actor for step in row.steps} == {"olga/laptop:cli"}
        assert (page.begins, page.cursor, page.more) == (0, row.seq, False)
        assert phone.pull(me.stream, page.cursor).rows == ()


def test_a_push_compares_and_sets(hub: Hub) -> None:
    with hub.device(hub.owner) as laptop, hub.device(hub.owner, "phone") as phone:
        mine = laptop.whoami().stream
        first = item(mine, "one")
        laptop.push([first])
        assert laptop.push([first]) == [Result(id=first.id, outcome="same", version=1)]
        assert phone.push([change(first, "two", 1)]) == [Result(id=first.id, outcome="stored", version=2)]
        assert laptop.push([change(first, "three", 1)]) == [Result(id=first.id, outcome="stale", version=2)]
        assert laptop.push([change(first, "two", 1)]) == [Result(id=first.id, outcome="same", version=2)]
        unknown = item(mine, "never seen", base_version=7)
        assert laptop.push([unknown]) == [Result(id=unknown.id, outcome="stale", version=0)]
        assert contents(laptop, mine) == ["two"]


def test_b81_a_deleted_memory_stays_deleted_whatever_comes_in_whatever_order(hub: Hub) -> None:
    """B81: deletion wins over every version, is final, and takes its texts along."""
    with hub.device(hub.owner) as laptop, hub.device(hub.owner, "phone") as phone:
        mine = laptop.whoami().stream
        told = item(mine, "the canary", steps=steps("canary before"))
        laptop.push([told])
        phone.push([change(told, "the canary, edited", 1, steps=steps("canary again"))])
        gone = item(mine, deleted=True, id_=told.id, base_version=1)  # the laptop has not seen the edit
        assert laptop.push([gone]) == [Result(id=told.id, outcome="stored", version=3)]
        assert laptop.push([gone]) == [Result(id=told.id, outcome="same", version=3)]
        for late in (change(told, "edited offline", 2), change(told, "edited offline", 3), told):
            assert phone.push([late]) == [Result(id=told.id, outcome="gone", version=3)]
        row = phone.pull(mine, 0).rows[0]
        assert (row.deleted, row.body, row.steps) == (True, None, ())
        assert hub.query("select count(*) from recalld.events e where e::text like '%%canary%%'") == [(0,)]
        never = msgspec.structs.replace(item(mine, deleted=True), digest=b"")  # a deletion need not tell of what
        assert laptop.push([never])[0].outcome == "stored"
        assert phone.push([item(mine, "of the same id", id_=never.id)])[0].outcome == "gone"


def test_b67_a_nul_spoils_its_own_item_alone(hub: Hub) -> None:
    """B67: nine of ten arrive; the one is refused in a sentence, and neither is sent again and again."""
    with hub.device(hub.owner) as remote:
        mine = remote.whoami().stream
        texts = [f"memory {n}" for n in range(10)]
        texts[4] = "holds \0 in the middle"
        items = [item(mine, text) for text in texts]
        items.append(item(mine, "spelt out: \\u0000"))
        items.append(msgspec.structs.replace(items[0], id=new_id(), body=body("a lone \ud800 surrogate")))
        told = remote.push(items)
        assert [one.outcome for one in told] == ["stored"] * 4 + ["refused"] + ["stored"] * 6 + ["refused"]
        assert [one.id for one in told] == [one.id for one in items]
        assert all("cannot be stored" in told[n].reason for n in (4, 11))
        assert len(contents(remote, mine)) == 10


def test_pages_follow_each_other_without_gap_or_repetition(hub: Hub) -> None:
    with hub.device(hub.owner) as remote:
        mine = remote.whoami().stream
        items = [item(mine, f"memory {n}") for n in range(25)]
        remote.push(items[:15])
        remote.push(items[15:])
        remote.withdraw(mine, [items[3].id])
        seen, cursor, sizes, more = [], 0, [], True
        while more:
            page = remote.pull(mine, cursor, 10)
            assert page.begins == cursor
            seen += [one.id for one in (*page.rows, *page.withdrawn)]
            sizes.append(len(page.rows) + len(page.withdrawn))
            cursor, more = page.cursor, page.more
        assert sizes == [10, 10, 5]
        assert seen == [one.id for one in items if one != items[3]] + [items[3].id]


def test_what_has_news_is_asked_before_it_is_pulled(hub: Hub) -> None:
    bob = hub.member("bob")
    with hub.device(hub.owner) as olga, hub.device(bob) as other:
        for one in (olga, other):
            one.share(SHOP)
        his = other.whoami().stream
        told = item(SHOP, "news")
        olga.push([told, item(ORG, "for all")])
        other.push([item(his, "bob's")])
        theirs = {SHOP: 0, ORG: 0, his: 0, SITE: 0}
        assert other.news(theirs) == {SHOP, ORG, his}
        assert olga.news(theirs) == {SHOP, ORG}
        seen = {stream: other.pull(stream, 0).cursor for stream in theirs}
        assert other.news(seen) == frozenset()
        olga.withdraw(SHOP, [told.id])
        assert other.news(seen) == {SHOP}
        assert other.news({}) == frozenset()


def test_a_hub_that_was_restored_and_written_to_since_does_not_know_the_mark(hub: Hub) -> None:
    server, other = hub.server, hub.org("rival", "eve")
    with hub.device(hub.owner) as remote:
        mine = remote.whoami().stream
        remote.push([item(mine, "before the dump")])
        early = remote.mark()
        remote.close()
        server.run(f"create database {hub.database}_dump template {hub.database}")
        remote.push([item(mine, "after the dump"), item(mine, "and more")])
        late = remote.mark()
        assert (remote.knows(early), remote.knows(late)) == (True, True)
        remote.close()
        server.drop(hub.database)
        server.run(f"alter database {hub.database}_dump rename to {hub.database}")
        with hub.device(hub.owner, "another") as first:
            hub.device(hub.owner, "a third").close()  # each event again has the number of one that was lost
            first.push([item(mine, f"written first {n}") for n in range(9)])
            seq = late.split("@")[0]
            assert hub.query("select count(*) from recalld.events where seq = %s::bigint and action = 'push'", seq) == [
                (1,)
            ]
            assert (first.knows(early), first.knows(late)) == (True, False)
    with Remote(other) as foreign:
        assert not foreign.knows(early)


def test_an_empty_stream_and_an_empty_push_are_nothing_special(hub: Hub) -> None:
    with hub.device(hub.owner) as remote:
        page = remote.pull(ORG, 0)
        assert (page.rows, page.cursor, page.more) == ((), 0, False)
        assert remote.push([]) == []
        assert remote.withdraw(ORG, []) == []
        assert remote.streams() == [(ORG, 0), (remote.whoami().stream, 0)]


def test_the_history_of_a_memory_comes_from_all_who_changed_it_and_only_once(hub: Hub) -> None:
    bob = hub.member("bob")
    with hub.device(hub.owner) as olga, hub.device(bob, "desk") as other:
        for remote in (olga, other):
            remote.share(SHOP)
        told = item(SHOP, "one", steps=steps("zero"))
        olga.push([told])
        cursor = other.pull(SHOP, 0).cursor
        other.push([change(told, "two", 1, steps=steps("one"))])
        other.push([change(told, "three", 2, steps=steps("two"))])
        assert [(step.content, step.actor) for step in olga.pull(SHOP, 0).rows[0].steps] == [
            ("zero", "olga/laptop:cli"), ("one", "bob/desk:cli"), ("two", "bob/desk:cli"),
        ]  # fmt: skip
        assert [step.content for step in olga.pull(SHOP, cursor).rows[0].steps] == ["one", "two"]


def test_what_was_done_long_ago_goes_and_a_page_of_the_worst_has_a_bound(hub: Hub) -> None:
    """Of a memory, the steps of the newest push, and of older ones as many as 50 pushes and 128 KiB hold."""
    bob = hub.member("bob " + "\N{GRINNING FACE}" * 96)
    with hub.device(hub.owner) as olga, hub.device(bob, "\N{GRINNING FACE}" * 100) as other:
        for remote in (olga, other):
            remote.share(SHOP)
        small, large, many = item(SHOP, "of small steps"), item(SHOP, "of large steps"), item(SHOP, "of many steps")
        other.push([small, large, many])
        for n in range(1, 61):
            other.push([change(small, f"small {n}", n, steps=steps(f"step {n}"))])
        found = olga.pull(SHOP, 0).rows[-1]
        assert [step.content for step in found.steps] == [f"step {n}" for n in range(11, 61)]
        kept = hub.query("select count(*) from recalld.events where id = %s and body is not null", small.id)
        assert kept == [(50,)]

        for n in range(1, 5):
            other.push([change(large, f"large {n}", n, steps=steps(*[f"{n}" * 4_000] * 62))])
            found = olga.pull(SHOP, 0).rows[-1]
            assert {step.content[0] for step in found.steps} == {str(n)}
            assert len(found.steps) == 50
        kept = hub.query("select count(*) from recalld.events where id = %s and body is not null", large.id)
        assert kept == [(1,)]
        other.push([change(many, "many", 1, steps=steps(*[""] * 2_000))])
        assert len(olga.pull(SHOP, 0).rows[-1].steps) == 50

        told = str(msgspec.json.encode(admin.export(bob)))
        assert all(f'"step {n}"' in told for n in (11, 60)) and '"step 10"' not in told
        worst = [item(SHOP, "x" * 64_000, steps=steps(*["y" * 4_000] * 62)) for _ in range(100)]
        assert {one.outcome for one in other.push(worst)} == {"stored"}
        page = olga.pull(SHOP, found.seq, sync.PAGE)
        assert len(page.rows) >= sync.PAGE - 1
        assert len(msgspec.json.encode(page)) < MAX_REQUEST_BYTES * 0.9


def test_what_a_later_client_added_stays_when_this_one_edits(hub: Hub) -> None:
    with hub.device(hub.owner) as remote:
        mine = remote.whoami().stream
        told = item(mine, "one", tags=("a",), expires_at="2027-01-31T08:05:00.000Z")
        remote.push([told])
        later = "update recalld.memories set body = body || jsonb_build_object('of_later', %s::text) where id = %s"
        hub.query(later, "kept", told.id)
        remote.push([change(told, "two", 1)])
        kept = hub.query(
            "select body ->> 'of_later', body ->> 'content', body -> 'tags', body -> 'expires_at' from recalld.memories"
        )
        assert kept == [("kept", "two", [], None)]
        assert remote.pull(mine, 0).rows[0].body == msgspec.to_builtins(change(told, "two", 1).body)
        hub.query(later, "x" * 65_000, told.id)
        long = "three " * 200  # with that, more than a memory may hold: it is taken as it is sent
        assert remote.push([change(told, long, 2)])[0].outcome == "stored"
        kept = hub.query("select body ->> 'of_later', body ->> 'content' from recalld.memories")
        assert kept == [(None, long)]
        remote.push([item(mine, deleted=True, id_=told.id, base_version=3)])
        assert hub.query("select body from recalld.memories") == [(None,)]


def test_who_holds_the_hub_locked_is_told_as_that(hub: Hub) -> None:
    to = way(hub.owner)
    with hub.server.superuser(hub.database) as holding, holding.transaction(), connection.connect(to) as waiting:
        holding.execute("select from recalld.orgs for update")
        for limit in ("select", "set local lock_timeout = '200ms'"):
            with pytest.raises(HubError, match="is busy: another client keeps it locked; it is tried again") as error:  # noqa: SIM117
                with connection.transaction(waiting, to, seconds=0.5):
                    waiting.execute(limit)
                    waiting.execute("select recalld.set_seal_check(null)")
            assert error.value.away


def test_a_memory_that_moves_leaves_its_old_stream_with_all_that_was_said_there(hub: Hub) -> None:
    bob = hub.member("bob")
    with hub.device(hub.owner) as olga, hub.device(bob) as other:
        mine = olga.whoami().stream
        for remote in (olga, other):
            remote.share(SHOP)
        told = item(mine, "mine alone", steps=steps("a private draft"))
        olga.push([told])
        moved = msgspec.structs.replace(item(SHOP, "for the shop", base_version=1), id=told.id)
        assert olga.push([moved])[0].outcome == "stored"
        assert [one.id for one in olga.pull(mine, 0).withdrawn] == [told.id]
        assert olga.pull(mine, 0).rows == ()
        row = other.pull(SHOP, 0).rows[0]
        assert (row.version, row.steps) == (2, ())
        assert hub.query("select count(*) from recalld.events e where e::text like '%%private%%'") == [(0,)]
        back = msgspec.structs.replace(item(mine, "mine again", base_version=2), id=told.id)
        assert olga.push([back])[0].outcome == "stored"
        assert other.pull(SHOP, 0).rows == ()
        assert [one.id for one in other.pull(SHOP, row.seq).withdrawn] == [told.id]
        assert olga.pull(mine, 0).withdrawn == ()
        assert contents(olga, mine) == ["mine again"]


def test_who_shared_a_memory_takes_it_back_and_alone_brings_it_again(hub: Hub) -> None:
    bob = hub.member("bob")
    with hub.device(hub.owner) as olga, hub.device(bob) as other:
        for remote in (olga, other):
            remote.share(SHOP)
        told, his, dead = item(SHOP, "olga's", steps=steps("older")), item(SHOP, "bob's"), item(SHOP, "dead")
        olga.push([told, dead])
        other.push([his, item(SHOP, deleted=True, id_=dead.id)])
        cursor = other.pull(SHOP, 0).cursor
        unknown = item(SHOP, "unknown").id
        outcomes = {one.id: one.outcome for one in olga.withdraw(SHOP, [told.id, his.id, dead.id, unknown])}
        assert outcomes == {told.id: "stored", his.id: "refused", dead.id: "gone", unknown: "same"}
        assert olga.withdraw(SHOP, [told.id]) == [Result(id=told.id, outcome="same", version=2)]
        page = other.pull(SHOP, cursor)
        assert ([one.id for one in page.withdrawn], page.rows) == ([told.id], ())
        assert [one.mine for one in page.withdrawn] == [False]
        assert [(one.id, one.mine) for one in olga.pull(SHOP, cursor).withdrawn] == [(told.id, True)]
        assert hub.query("select count(*) from recalld.memories m where m.body is not null") == [(1,)]
        assert other.push([change(told, "kept offline", 1)])[0].outcome == "stale"
        assert other.push([change(told, "mine now", 0)])[0].outcome == "refused"
        assert olga.push([change(told, "shared again", 0)])[0].outcome == "stored"
        assert contents(other, SHOP, page.cursor) == ["shared again"]


def test_unsharing_ends_the_view_and_takes_along_what_is_asked(hub: Hub) -> None:
    bob = hub.member("bob")
    with hub.device(hub.owner) as olga, hub.device(bob) as other:
        for remote in (olga, other):
            remote.share(SHOP)
            remote.share(SITE)
        olga.push([item(SHOP, "olga's"), item(SITE, "olga's site")])
        other.push([item(SHOP, "bob's")])
        other.unshare(SHOP)
        assert contents(other, SHOP) == []
        assert other.push([item(SHOP, "later")])[0].outcome == "refused"
        assert contents(olga, SHOP) == ["olga's", "bob's"]
        assert [stream for stream, _ in other.streams()] == [ORG, SITE, other.whoami().stream]
        other.unshare(SHOP, delete_mine=True)  # may be said twice, and later
        assert contents(olga, SHOP) == ["olga's"]
        assert [one.mine for one in olga.pull(SHOP, 0).withdrawn] == [False]
        olga.unshare(SITE, delete_mine=True)
        assert contents(other, SITE) == []


def test_each_device_follows_projects_of_its_own_and_the_member_sees_what_any_follows(hub: Hub) -> None:
    bob = hub.member("bob")
    with hub.device(bob) as laptop, hub.device(bob, "desk") as desk, hub.device(hub.owner) as olga:
        for remote in (laptop, desk, olga):
            remote.share(SHOP)
        laptop.share(SITE)
        olga.push([item(SHOP, "olga's")])
        laptop.unshare(SHOP)
        assert contents(desk, SHOP) == ["olga's"]
        assert desk.push([item(SHOP, "bob's")])[0].outcome == "stored"
        laptop.leave()
        assert {stream for stream, _ in desk.streams()} == {ORG, SHOP, desk.whoami().stream}
        hub.query("update recalld.devices set left_at = now() where name = 'desk'")  # as an administrator may
        assert contents(desk, SHOP) == []
        for name in ("laptop", "desk"):
            hub.device(bob, name).close()
        assert {stream for stream, _ in desk.streams()} == {ORG, SHOP, desk.whoami().stream}  # the laptop starts anew
        desk.unshare(SHOP)
        assert olga.news({SHOP: 0}) == {SHOP}


def test_a_device_that_left_is_out_until_it_joins_again(hub: Hub) -> None:
    with hub.device(hub.owner) as laptop, hub.device(hub.owner, "phone") as phone:
        mine = laptop.whoami().stream
        laptop.push([item(mine, "one")])
        phone.push([item(mine, "two")])
        laptop.leave()
        with pytest.raises(HubError, match="has left it"):
            laptop.push([item(mine, "three")])
        assert laptop.whoami().device_id is None
        assert contents(phone, mine) == ["one", "two"]
        phone.leave(delete_mine=True)
        assert hub.query("select count(*) from recalld.memories where body is not null") == [(0,)]
    with hub.device(hub.owner) as again:
        assert again.whoami().device_id
        assert len(again.pull(mine, 0).withdrawn) == 2


def test_the_scope_org_is_written_by_maintainers_and_read_by_all(hub: Hub) -> None:
    mia, bob = hub.member("mia", "maintainer"), hub.member("bob")
    with hub.device(mia) as keeper, hub.device(bob) as other:
        told = item(ORG, "we squash our commits")
        assert keeper.push([told])[0].outcome == "stored"
        assert contents(other, ORG) == ["we squash our commits"]
        assert other.push([change(told, "we do not", 1)])[0].outcome == "refused"
        other.share(ORG)  # says nothing but that it would send
        admin.set_role(hub.owner, "bob", "maintainer")
        assert other.push([change(told, "we do not", 1)])[0].outcome == "stored"
        admin.set_role(hub.owner, "bob", "member")
        assert other.push([change(told, "we do", 2)])[0].outcome == "refused"


def test_a_change_wakes_those_who_wait(hub: Hub) -> None:
    with hub.device(hub.owner) as laptop, hub.device(hub.owner, "phone") as phone:
        mine = laptop.whoami().stream
        assert phone.wait(0)  # whatever came before it listened
        assert not phone.wait(0.05)
        before = time.monotonic()
        waking = threading.Timer(0.1, laptop.push, [[item(mine, "news")]])
        waking.start()
        assert phone.wait(30)
        assert time.monotonic() - before < 15
        waking.join()
        assert not phone.wait(0)


def test_many_changes_wake_once_and_what_changes_nothing_wakes_nobody(hub: Hub) -> None:
    bob = hub.member("bob")
    with hub.device(hub.owner) as laptop, hub.device(hub.owner, "phone") as phone, hub.device(bob) as other:
        mine = laptop.whoami().stream
        phone.wait(0)
        items = [item(mine, f"memory {n}") for n in range(10)]
        for one in items:
            laptop.push([one])
        wakings = 0
        while phone.wait(0.5):
            wakings += 1
        assert 1 <= wakings <= 5
        vain = [items[0], change(items[1], "stale", 7), item(SHOP, "refused"), item(mine, "holds \0")]
        assert [one.outcome for one in laptop.push(vain)] == ["same", "stale", "refused", "refused"]
        assert laptop.push([]) == []
        assert other.push([item(ORG, "not bob's to say")])[0].outcome == "refused"
        assert laptop.withdraw(mine, [vain[2].id])[0].outcome == "same"
        assert not phone.wait(0.3)
        laptop.push([*vain, item(mine, "one is news")])
        assert phone.wait(30)


def test_who_tells_without_end_holds_nobody_in_waiting(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[float] = []

    def hears(_: object, timeout_s: float) -> bool:
        told.append(timeout_s)
        return True

    with hub.device(hub.owner) as remote:
        remote.wait(0)
        monkeypatch.setattr(postgres, "_hears", hears)
        assert remote.wait(5)
    assert told[0] == 5
    assert len(told) == 1 + postgres._WAKINGS


def test_copy_carries_the_batches_both_ways(hub: Hub) -> None:
    role = hub.query("select pg_role from recalld.members where name = 'olga'")[0][0]
    hub.query(f"alter role {role} set log_statement = 'all'")
    before = (hub.server.folder / "log").stat().st_size
    with hub.device(hub.owner) as remote:
        mine = remote.whoami().stream
        remote.push([item(mine, f"memory {n}") for n in range(1_000)])
        assert len(remote.pull(mine, 0, 1_000).rows) == 1_000
    log = (hub.server.folder / "log").read_text()[before:]
    assert log.count("statement: copy recalld.incoming (batch, n, item) from stdin") == 1
    assert log.count("to stdout (format binary)") == 1
    assert log.lower().count("insert into") == 0


def test_a_broken_connection_is_replaced_and_a_lost_ear_too(hub: Hub) -> None:
    with hub.device(hub.owner) as remote:
        mine = remote.whoami().stream
        remote.wait(0)
        hub.query(
            "select pg_terminate_backend(pid) from pg_stat_activity where usename like 'recalld%%' and datname = current_database()"
        )
        assert remote.push([item(mine, "still here")])[0].outcome == "stored"
        with pytest.raises(HubError) as error:
            remote.wait(5)
        assert error.value.away
        assert remote.wait(5)
        held = hub.query(
            "select count(*) from pg_stat_activity where usename like 'recalld%%' and datname = current_database()"
        )
        assert held[0][0] <= 2


@pytest.fixture
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "GRACE_S", 0.5 - connection.STATEMENT_S)
    for module in (connection, postgres):
        monkeypatch.setattr(module, "CONNECT_S", 1)
    monkeypatch.setitem(connection._DEFAULTS, "connect_timeout", 1)


@pytest.mark.usefixtures("hurried")
def test_b48_a_black_hole_is_given_up_in_bounded_time(hub: Hub) -> None:
    """B48: a host that takes the connection and never says a word."""
    with socket.create_server(("127.0.0.1", 0)) as hole:
        dsn = hub.owner.replace(f":{hub.server.port}/", f":{hole.getsockname()[1]}/")
        with Remote(dsn) as remote, pytest.raises(HubError) as error:
            remote.whoami()
        assert error.value.away
        assert "\n" not in str(error.value)


@pytest.mark.usefixtures("hurried")
def test_b48_a_line_that_stalls_in_the_middle_is_given_up_and_works_again_later(hub: Hub) -> None:
    """B48: nothing waits for it without end."""
    with stalling_proxy(hub.server.port) as (port, flowing):
        dsn = hub.owner.replace(f":{hub.server.port}/", f":{port}/")
        with hub.device(dsn) as remote:
            mine = remote.whoami().stream
            flowing.clear()
            with pytest.raises(HubError) as error:
                remote.push([item(mine, "into the void")])
            assert error.value.away
            with pytest.raises(HubError):
                remote.wait(0)
            flowing.set()
            assert remote.push([item(mine, "and back")])[0].outcome == "stored"


@pytest.mark.usefixtures("hurried")
def test_b48_a_line_that_stalls_once_it_is_to_listen_is_given_up(hub: Hub) -> None:
    with stalling_proxy(hub.server.port, b"listen ") as (port, flowing):
        dsn = hub.owner.replace(f":{hub.server.port}/", f":{port}/") + "?sslmode=disable"
        with hub.device(dsn) as remote:
            with pytest.raises(HubError) as error:
                remote.wait(0)
            assert error.value.away
            assert not flowing.is_set()
            flowing.set()
            assert remote.push([item(remote.whoami().stream, "the work goes on")])[0].outcome == "stored"


@contextlib.contextmanager
def stalling_proxy(port: int, word: bytes = b"\0 no such word") -> Iterator[tuple[int, threading.Event]]:
    """Passes bytes on while the event is set; takes them and says nothing while it is not, as from `word` on."""
    flowing, ends = threading.Event(), []
    flowing.set()

    def pass_on(near: socket.socket, far: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while part := near.recv(1 << 16):
                if word in part:
                    flowing.clear()
                flowing.wait()
                far.sendall(part)
            far.shutdown(socket.SHUT_RDWR)

    def accept() -> None:
        with contextlib.suppress(OSError):
            while True:
                pair = server.accept()[0], socket.create_connection(("127.0.0.1", port))
                ends.extend(pair)
                for near, far in (pair, pair[::-1]):
                    threading.Thread(target=pass_on, args=(near, far)).start()

    with socket.create_server(("127.0.0.1", 0)) as server:
        accepting = threading.Thread(target=accept)
        accepting.start()
        try:
            yield server.getsockname()[1], flowing
        finally:
            flowing.set()
            for end in (server, *ends):
                with contextlib.suppress(OSError):
                    end.shutdown(socket.SHUT_RDWR)
            accepting.join()
            for end in ends:
                end.close()


def test_each_way_to_fail_is_one_line_without_the_password(hub: Hub) -> None:
    password = hub.owner.split(":")[2].split("@")[0]
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    cases = {
        hub.owner.replace(f":{hub.server.port}/", f":{port}/"): ("refused", True),
        hub.owner.replace(password, password[::-1]): ("authentication failed.*members rotate", False),
        hub.owner.replace(f"/{hub.database}", "/no_such"): ("does not exist", False),
        hub.owner.replace(f"/{hub.database}", "/postgres"): ("there is no hub in|permission denied", False),
    }
    for dsn, (words, away) in cases.items():
        with pytest.raises(HubError, match=words) as error, Remote(dsn) as remote:
            remote.whoami()
        text = str(error.value)
        assert "\n" not in text
        assert "127.0.0.1" in text
        assert password not in text
        assert password[::-1] not in text
        assert error.value.away == away
        assert error.value.__cause__ is None
    for broken in (
        f"host=x password={password} nonsense",
        f"postgresql://h/?x={password}",
    ):
        with pytest.raises(HubError, match="this is no DSN") as error:
            Remote(broken)
        assert password not in str(error.value)
    assert password not in repr(way(hub.owner))


def test_a_passfile_keeps_the_password_out_of_the_dsn(hub: Hub, tmp_path: Path) -> None:
    who, rest = hub.owner.removeprefix("postgresql://").split("@")
    user, password = who.split(":")
    file = tmp_path / "pass"
    file.write_text(f"127.0.0.1:{hub.server.port}:{hub.database}:{user}:{password}\n")
    file.chmod(0o600)
    with Remote(f"postgresql://{user}@{rest}", passfile=str(file)) as remote:
        assert remote.whoami().member == "olga"
    assert admin.members(f"postgresql://{user}@{rest}", str(file))[0].name == "olga"
    assert password not in way(f"postgresql://{user}@{rest}", str(file)).line


def test_to_another_host_the_way_is_verified_or_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PGHOST", raising=False)
    for far in (
        "postgresql://u@hub.example/db",
        "host=10.0.0.7 user=u",
        "postgresql://u@127.0.0.1,hub.example/db",
        "postgresql://u@127.hub.example/db",
        "host=localhost hostaddr=10.0.0.7",
        "host=localhost.hub.example",
        "service=hub",
    ):
        found = way(far)
        assert found["sslmode"] == "verify-full"
        assert found["sslrootcert"]
        for unsure in ("disable", "allow", "prefer"):
            asked = f"{far}?sslmode={unsure}" if "//" in far else f"{far} sslmode={unsure}"
            with pytest.raises(HubError, match=f"sslmode={unsure} would send memories"):
                way(asked)
        asked = f"{far}?sslmode=require" if "//" in far else f"{far} sslmode=require"
        assert way(asked)["sslmode"] == "require"
    for near in (
        "postgresql://u@127.0.0.1/db",
        "postgresql://u@localhost/db",
        "postgresql://u@[::1]/db",
        "host=/run/postgresql",
        "dbname=x",
    ):
        assert "sslmode" not in way(near)
    monkeypatch.setenv("PGHOST", "hub.example")
    assert way("dbname=x")["sslmode"] == "verify-full"


def test_a_certificate_that_is_not_the_servers_is_refused(hub: Hub, tmp_path: Path) -> None:
    named = hub.owner.replace("@127.0.0.1:", "@localhost:") + "?hostaddr=127.0.0.1&sslmode=verify-full"
    certificate = tmp_path / "root.crt"
    certificate.write_bytes(hub.server.certificate.read_bytes())
    with Remote(f"{named}&sslrootcert={certificate}") as remote:
        assert remote.whoami().member == "olga"
    for dsn in (named, f"{named}&sslrootcert={certificate}".replace("@localhost:", "@elsewhere:")):
        with Remote(dsn) as remote, pytest.raises(HubError, match="certificate") as error:
            remote.whoami()
        assert not error.value.away


def test_the_dsn_that_a_member_gets_leads_where_the_owners_leads(hub: Hub) -> None:
    asked = hub.owner + "?sslmode=require"
    dsn = admin.add(asked, "bob", "member")
    assert dsn.endswith(f"@127.0.0.1:{hub.server.port}/{hub.database}?sslmode=require")
    with Remote(dsn) as remote:
        assert remote.whoami().member == "bob"
    by_socket = (
        hub.admin.replace(f"@127.0.0.1:{hub.server.port}/", "@/") + f"?host={hub.server.folder}&port={hub.server.port}"
    )
    made = admin.init(by_socket, org="second", member="sam", program="tests")
    assert made.join
    with Remote(made.join) as remote:
        assert (remote.whoami().org, remote.whoami().member) == ("second", "sam")


def test_the_digest_does_not_depend_on_when_and_hides_behind_a_key() -> None:
    one = body("x")
    assert hubwire.digest(one) == hubwire.digest(
        msgspec.structs.replace(one, updated_at="2027-01-31T08:05:00.000Z", last_seen="2027-01-31T08:05:00.000Z")
    )
    assert hubwire.digest(one) != hubwire.digest(msgspec.structs.replace(one, content="y"))
    assert hubwire.digest(hubwire.checked(msgspec.to_builtins(one) | {"of_a_later_version": 1})) == hubwire.digest(one)


def test_nothing_but_the_hub_itself_loads_psycopg() -> None:
    loads = "import sys, recalld.cli.main, recalld.app, recalld.verbs.registry, recalld.hubwire; print([m for m in sys.modules if 'psycopg' in m])"
    done = subprocess.run([sys.executable, "-c", loads], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
