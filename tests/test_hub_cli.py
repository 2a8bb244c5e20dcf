"""The commands of `recalld hub`, against a real PostgreSQL: from an empty database to leaving it, and what goes wrong."""

from __future__ import annotations

import json
import socket
import stat
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from unittest import mock
from urllib.parse import urlsplit

import pytest

from conftest import Home, command
from hub_homes import children, contents, done, home_of, refused, said
from pg import Hub, hub, server
from recalld.cli import complete
from recalld.cli.hub import _show_status
from recalld.config import masked
from test_cli import on_terminal
from test_cli_terminal import table, typed
from web_house import until

__all__ = ["hub"]


@pytest.fixture
def laptop(tmp_path: Path) -> Home:
    return home_of(tmp_path / "laptop")


@pytest.fixture
def desktop(tmp_path: Path) -> Home:
    return home_of(tmp_path / "desktop")


def other_password(dsn: str) -> str:
    return dsn.replace(str(urlsplit(dsn).password), "w" * 12)


# --- from nothing to in step, and back ---


def test_from_an_empty_database_to_two_machines_in_step(laptop: Home, desktop: Home) -> None:
    """And each step can be told as JSON. The administrator's address is needed once."""
    database = server().database("template0")
    admin = server().admin_dsn(database)
    sql = done(laptop, "hub", "init", "-", "--org", "acme", "--dry-run", text=admin)["sql"]
    assert "create table" in sql and "no hub" in refused(laptop, "hub", "join", text=admin)
    made = done(laptop, "hub", "init", "--org", "acme", "--member", "ann", text=admin)
    assert made["created"] and len(made["applied"]) >= 1
    laptop.environ["RECALLD_HUB_ADMIN_DSN"] = admin
    again = done(laptop, "hub", "init", "--org", "acme")
    assert (again["created"], again["applied"], again["join"]) == (False, [], None)
    assert "acme was there already" in said(laptop, "hub", "init", "--org", "acme")[1]
    _, other, _ = said(laptop, "hub", "init", "--org", "globex")
    assert "the hub was up to date" in other and "globex is made, and you are its owner" in other

    joined = done(laptop, "hub", "join", "--device", "laptop", text=made["join"])
    assert (joined["org"], joined["member"], joined["role"], joined["device"]) == ("acme", "ann", "owner", "laptop")
    assert done(laptop, "hub", "join", text=made["join"])["device_id"] == joined["device_id"]
    done(laptop, "add", "Orders live in PostgreSQL.")
    done(laptop, "add", "Answer briefly.", "--scope", "user")
    secret = done(laptop, "add", "The door code is on the fridge.", "--scope", "user")["id"]
    assert done(laptop, "edit", secret, "--local-only", "on")["local_only"]
    assert done(laptop, "hub", "share", "user")["sync"]["pushed"] == 1
    assert done(laptop, "hub", "share", "project")["sync"]["pushed"] == 1

    done(desktop, "hub", "join", "--device", "desktop", text=made["join"])
    assert contents(desktop) == set()  # joining shares nothing
    done(desktop, "hub", "share", "user")
    done(desktop, "hub", "share", "project")
    assert contents(desktop) == {"Orders live in PostgreSQL.", "Answer briefly."}
    done(laptop, "delete", done(laptop, "list", "--scope", "project")[0]["id"])
    assert done(laptop, "hub", "sync")["pushed"] == 1
    assert done(desktop, "hub", "sync")["deleted"] == 1
    assert contents(desktop) == {"Answer briefly."}

    state = done(desktop, "hub", "status")
    assert {one["stream"].partition(":")[0]: one["sends"] for one in state["streams"]} == {
        "org": False,
        "project": True,
        "user": True,
    }
    _, shown, _ = said(desktop, "hub")
    assert "ann of acme (owner), here: desktop" in shown and "what holds for you everywhere (1 memory)" in shown
    done(desktop, "hub", "leave")
    assert done(desktop, "hub", "status")["joined"] is False
    assert contents(desktop) == {"Answer briefly."}
    assert "belongs to no hub" in refused(desktop, "hub", "sync")
    server().drop(database)


def test_what_one_has_shared_can_be_taken_back(hub: Hub, laptop: Home, desktop: Home) -> None:
    """`unshare` alone leaves it there; with --delete-mine it is gone from the hub and from others, and stays here."""
    bob = hub.member("bob")
    done(laptop, "hub", "join", text=hub.owner)
    done(desktop, "hub", "join", text=bob)
    done(laptop, "add", "Orders live in PostgreSQL.")
    for home in (laptop, desktop):
        done(home, "hub", "share", "project")
    done(laptop, "hub", "unshare", "project")
    assert done(desktop, "hub", "sync")["skipped"] == 0
    assert contents(desktop) == {"Orders live in PostgreSQL."}
    done(laptop, "hub", "share", "project")
    done(laptop, "hub", "unshare", "project", "--delete-mine", "--yes")
    done(desktop, "hub", "sync")
    assert (contents(laptop), contents(desktop)) == ({"Orders live in PostgreSQL."}, set())
    assert "PostgreSQL" not in json.dumps(hub.query("select body from recalld.memories"), default=str)
    assert "is not shared" in refused(laptop, "hub", "unshare", "project", "--yes")


def test_sharing_works_offline_and_is_told_later(hub: Hub, laptop: Home) -> None:
    done(laptop, "hub", "join", text=hub.owner)
    done(laptop, "add", "Answer briefly.", "--scope", "user")
    config = laptop.paths.config.read_text()
    laptop.paths.config.write_text(config.replace(f":{server().port}/", f":{_free_port()}/"))
    code, out, errors = said(laptop, "hub", "share", "user")
    assert code == 0 and "shared with your own machines: 1 memory" in out
    assert "the hub is told later" in errors and errors.count("\n") == 1
    laptop.paths.config.write_text(config)
    assert done(laptop, "hub", "sync")["pushed"] == 1


def test_leaving_with_all_of_ones_own_costs_no_machine_of_ones_own_a_word(
    hub: Hub, laptop: Home, desktop: Home, tmp_path: Path
) -> None:
    """Not the one that wrote it, not the one that had not heard of it yet; another member loses it."""
    other = home_of(tmp_path / "other")
    for home, dsn in ((laptop, hub.owner), (desktop, hub.owner), (other, hub.member("bob"))):
        done(home, "hub", "join", text=dsn)
        done(home, "hub", "share", "project")
    done(desktop, "add", "Orders live in PostgreSQL.")
    done(desktop, "hub", "sync")
    done(other, "hub", "sync")
    assert (contents(laptop), contents(other)) == (set(), {"Orders live in PostgreSQL."})
    done(laptop, "add", "Prices are in cents.")
    done(laptop, "hub", "leave", "--delete-mine", "--yes")
    for home in (desktop, other):
        done(home, "hub", "sync")
    assert contents(laptop) == {"Orders live in PostgreSQL.", "Prices are in cents."}
    assert (contents(desktop), contents(other)) == ({"Orders live in PostgreSQL."}, set())


def test_leaving_with_all_of_ones_own_waits_until_the_hub_answers(hub: Hub, laptop: Home) -> None:
    """Since what of it only the hub has would be lost: it fails in one line, and nothing is left yet."""
    done(laptop, "hub", "join", text=hub.owner)
    config = laptop.paths.config.read_text()
    laptop.paths.config.write_text(config.replace(f":{server().port}/", f":{_free_port()}/"))
    assert "refused" in refused(laptop, "hub", "leave", "--delete-mine", "--yes")
    assert done(laptop, "hub", "status")["joined"]
    code, _, errors = said(laptop, "hub", "leave")
    assert code == 0 and "the hub was not told" in errors
    assert "belongs to no hub" in refused(laptop, "hub", "leave")


def test_what_others_lose_by_it_needs_a_yes_where_nobody_can_be_asked(hub: Hub, laptop: Home) -> None:
    done(laptop, "hub", "join", text=hub.owner)
    done(laptop, "hub", "share", "user")
    hub.member("bob")
    for words in (("unshare", "user", "--delete-mine"), ("leave", "--delete-mine"), ("members", "remove", "bob")):
        assert "--yes says that it is meant" in refused(laptop, "hub", *words)
    state = done(laptop, "hub", "status")
    assert state["joined"] and any(one["sends"] for one in state["streams"])
    assert not [row for row in done(laptop, "hub", "members") if row["removed_at"]]


def test_what_stays_out_is_named_and_the_rest_counted(
    hub: Hub, laptop: Home, desktop: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    """In `hub status`; `doctor` says that there is such a thing."""
    done(laptop, "hub", "join", text=hub.member("bob"))
    memory = done(laptop, "add", "We write British English.", "--scope", "org")["id"]
    done(laptop, "hub", "share", "org")
    _, shown, _ = said(laptop, "hub", "status")
    assert f"{memory}: only maintainers and owners" in " ".join(shown.split())
    told = done(laptop, "hub", "status")
    told |= {"skipped": 1_022, "skipped_rows": [{"id": f"m-{n}", "reason": "it is torn"} for n in range(20)]}
    _show_status(told)
    shown = capsys.readouterr().out
    assert "m-19: it is torn" in shown and "and 1,002 more" in shown
    daemon = laptop.start_daemon()
    try:
        until(lambda: laptop.client.call("status")["hub"]["state"] == "synced")
        (found,) = (check for check in json.loads(said(laptop, "doctor", "--json")[1]) if check["check"] == "hub")
        assert found["ok"] and "`recalld hub status` names them" in found["detail"]
    finally:
        daemon.stop()


# --- members ---


def test_members_come_are_changed_and_go(hub: Hub, laptop: Home, desktop: Home) -> None:
    """A member who was removed, or whose password was made anew, is told so in a line."""
    done(laptop, "hub", "join", text=hub.owner)
    bob = done(laptop, "hub", "members", "add", "bob")["join"]
    done(desktop, "hub", "join", text=bob)
    assert "owner" in refused(desktop, "hub", "members", "add", "eve")
    done(laptop, "hub", "members", "role", "bob", "maintainer")
    rows = {row["name"]: row["role"] for row in done(laptop, "hub", "members")}
    assert rows == {"olga": "owner", "bob": "maintainer"}

    anew = done(laptop, "hub", "members", "rotate", "bob")["join"]
    assert "authentication failed" in refused(desktop, "hub", "sync")
    done(desktop, "hub", "join", text=anew)
    mine = done(desktop, "hub", "members", "rotate")["join"]
    assert mine != anew
    done(desktop, "hub", "sync")  # it has taken its own new password

    done(laptop, "hub", "members", "remove", "bob", "--yes")
    assert "authentication failed" in refused(desktop, "hub", "sync")
    assert [row["name"] for row in done(laptop, "hub", "members") if row["removed_at"]] == ["bob"]
    actions = [entry["action"] for entry in done(laptop, "hub", "audit")]
    assert {"member-add", "member-remove", "rotate", "join"} <= set(actions)
    assert len(done(laptop, "hub", "audit", "--limit", "2")) == 2
    assert done(laptop, "hub", "audit", "--since", "2099-01-01") == []
    lines = [line.split()[2:] for line in said(laptop, "hub", "audit")[1].splitlines()]
    assert ["olga", "member-add", "bob"] in lines and any(line[0].startswith("olga/") for line in lines)


def test_a_new_password_is_told_though_the_settings_cannot_take_it(hub: Hub, laptop: Home) -> None:
    """The old one is void by then, and nobody else has the new one."""
    done(laptop, "hub", "join", text=hub.owner)
    with mock.patch("recalld.cli.config_file.put", side_effect=OSError("no space left")):
        code, out, errors = said(laptop, "hub", "members", "rotate")
    assert code == 0 and "no space left; `recalld hub join` takes the new address" in errors
    assert "authentication failed" in refused(laptop, "hub", "sync")
    done(laptop, "hub", "join", text=out.splitlines()[-2])
    done(laptop, "hub", "sync")


def test_all_that_the_hub_has_of_one_can_be_had(hub: Hub, laptop: Home) -> None:
    """In a file that is its owner's alone."""
    done(laptop, "hub", "join", text=hub.owner)
    done(laptop, "add", "Answer briefly.", "--scope", "user")
    done(laptop, "hub", "share", "user")
    file = laptop.root / "mine.json"
    done(laptop, "hub", "export", str(file))
    assert "Answer briefly." in file.read_text() and stat.S_IMODE(file.stat().st_mode) == 0o600
    assert done(laptop, "hub", "export")["member"]["name"] == "olga"


# --- what goes wrong, in one line that holds no password ---


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        return int(free.getsockname()[1])


@pytest.fixture
def plain() -> Iterator[int]:
    """The port of a server that knows no TLS."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def refuse() -> None:
            while True:
                try:
                    connection, _ = listening.accept()
                except OSError:
                    return
                with connection:
                    connection.recv(8)
                    connection.sendall(b"N")
                    connection.recv(8)

        threading.Thread(target=refuse, daemon=True).start()
        yield listening.getsockname()[1]


PASSWORD = "-".join(("pass", "w0rd", "7" * 6))
WRONG: dict[str, tuple[Callable[[Hub, int], str], str]] = {
    "no DSN": (lambda hub, port: f"nonsense {PASSWORD}", "this is no DSN"),
    "host unknown": (lambda hub, port: f"postgresql://ann:{PASSWORD}@nowhere.invalid/hub", "nowhere.invalid"),
    "nobody listens": (lambda hub, port: f"postgresql://ann:{PASSWORD}@127.0.0.1:{_free_port()}/hub", "refused"),
    "wrong password": (lambda hub, port: hub.owner.replace(str(urlsplit(hub.owner).password), PASSWORD), "authentication failed"),
    "no database": (lambda hub, port: hub.owner.replace(hub.database, "nothing"), '"nothing" does not exist'),
    "no TLS": (lambda hub, port: f"postgresql://ann:{PASSWORD}@127.0.0.1:{port}/hub?sslmode=require", "does not support SSL"),
    "in the clear": (lambda hub, port: f"postgresql://ann:{PASSWORD}@db.example/hub?sslmode=disable", "in the clear"),
    "no hub there": (lambda hub, port: server().admin_dsn("postgres"), "recalld hub init"),
}  # fmt: skip


@pytest.fixture(scope="module")
def standing() -> Iterator[Hub]:
    """A hub for tests that change nothing there."""
    made = Hub(server())
    yield made
    made.server.drop(made.database)


@pytest.mark.parametrize("what", WRONG)
def test_an_address_that_leads_nowhere_is_refused_in_one_line(
    standing: Hub, plain: int, laptop: Home, what: str
) -> None:
    """And nothing is joined by it."""
    make, sentence = WRONG[what]
    line = refused(laptop, "hub", "join", text=make(standing, plain))
    assert sentence in line and PASSWORD not in line
    assert not laptop.paths.config.exists()
    assert done(laptop, "hub", "status")["joined"] is False


def test_a_hub_of_another_version_says_who_has_to_be_upgraded(hub: Hub, laptop: Home) -> None:
    hub.query("delete from recalld.migrations where version = (select max(version) from recalld.migrations)")
    assert "`recalld hub init` again" in refused(laptop, "hub", "join", text=hub.owner)
    hub.query(
        "insert into recalld.migrations (version, name, program, serves) values (9999, 'later', 'recalld 9', 9999)"
    )
    assert "upgrade recalld" in refused(laptop, "hub", "init", hub.admin, "--org", "acme")
    assert "upgrade recalld here" in refused(laptop, "hub", "join", text=hub.owner)


def test_a_home_belongs_to_one_member_at_a_time(hub: Hub, laptop: Home) -> None:
    """Of one org; another needs `leave` first."""
    done(laptop, "hub", "join", text=hub.owner)
    for dsn in (hub.org("globex", "gus"), hub.member("bob")):
        assert "`recalld hub leave` comes first" in refused(laptop, "hub", "join", text=dsn)
    namesake = Hub(server())  # all is called the same there
    try:
        assert "`recalld hub leave` comes first" in refused(laptop, "hub", "join", text=namesake.owner)
        assert namesake.query("select count(*) from recalld.devices") == [(0,)]
    finally:
        server().drop(namesake.database)
    assert done(laptop, "hub", "status")["member"] == "olga"
    done(laptop, "hub", "leave")
    assert done(laptop, "hub", "join", text=hub.org("initech", "ina"))["org"] == "initech"


def test_what_was_not_said_is_asked_for_or_refused(laptop: Home) -> None:
    assert "nothing was given" in refused(laptop, "hub", "join")
    for words in (("sync",), ("members",), ("share", "user"), ("audit",), ("export",)):
        assert "belongs to no hub" in refused(laptop, "hub", *words)
    assert "--encrypt is for the scope user" in refused(laptop, "hub", "share", "project", "--encrypt")
    assert "there is no key here" in refused(laptop, "hub", "phrase")


# --- on a terminal ---


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["hub", "sh"], {"share"}),
        (["hub", "share", ""], {"user", "project", "org"}),
        (["hub", "share", "project", "--project", ""], "projects"),
        (["hub", "members", ""], {"add", "remove", "role", "rotate"}),
        (["hub", "members", "add", "bob", "--role", ""], {"member", "maintainer", "owner"}),
        (["hub", "export", ""], "files"),
    ],
)
def test_a_shell_finishes_what_is_begun(words: list[str], expected: object) -> None:
    found = complete.wanted(json.loads(json.dumps(table())), words)
    if not isinstance(found, str):
        found = {word for word, _ in found if word.startswith(words[-1])}
    assert found == expected


def test_a_terminal_is_asked_for_the_address_and_before_much_is_deleted(hub: Hub, laptop: Home) -> None:
    """What is typed there is not shown, and anything but yes changes nothing."""
    shown = typed(command("hub", "join"), laptop, [("", "DSN"), (f"{hub.owner}\n", "belongs to olga of acme")])
    assert str(urlsplit(hub.owner).password) not in shown
    done(laptop, "add", "Answer briefly.", "--scope", "user")
    done(laptop, "hub", "share", "user")
    for words in (("unshare", "user", "--delete-mine"), ("leave", "--delete-mine"), ("members", "remove", "olga")):
        typed(command("hub", *words), laptop, [("", "[y/N]"), ("n\n", "nothing was changed")])
    assert done(laptop, "hub", "status")["joined"]
    assert hub.query("select count(*) from recalld.memories where not deleted") == [(1,)]


def test_the_first_sync_shows_how_far_it_is(hub: Hub, laptop: Home) -> None:
    done(laptop, "hub", "join", text=hub.owner)
    done(laptop, "add", "Answer briefly.", "--scope", "user")
    shown = on_terminal(laptop, "hub", "share", "user")
    assert "synchronising" in shown and "100%" in shown and "1 memory" in shown


# --- the key ---


def test_the_key_seals_on_whatever_was_forgotten_at_the_hub_and_nobody_elses_scope(
    hub: Hub, laptop: Home, desktop: Home
) -> None:
    """One machine ends it with what it shared, or the hub is restored from before; an address of another member is no way."""
    for home in (laptop, desktop):
        done(home, "hub", "join", text=hub.owner)
    words = done(laptop, "hub", "share", "user", "--encrypt")["phrase"]
    done(desktop, "hub", "share", "user", "--encrypt", text=words)
    done(laptop, "hub", "unshare", "user", "--delete-mine", "--yes")
    assert hub.query("select seal_check from recalld.members where seal_check is not null") == []
    assert "there is no key here" in refused(laptop, "hub", "phrase")
    done(desktop, "add", "The heliotrope is watered on Mondays.", "--scope", "user")
    assert done(desktop, "hub", "sync")["pushed"] == 1
    assert hub.query("select body, sealed is not null from recalld.memories where stream is not null") == [(None, True)]

    done(desktop, "config", "set", "hub.dsn", hub.member("bob"))
    assert "the settings lead to bob of acme" in refused(desktop, "hub", "sync")
    assert hub.query("select seal_check from recalld.members where name = 'bob'") == [(None,)]


def test_who_leaves_is_told_the_words_that_open_it_again(hub: Hub, laptop: Home, desktop: Home) -> None:
    done(laptop, "hub", "join", text=hub.owner)
    words = done(laptop, "hub", "share", "user", "--encrypt")["phrase"]
    assert "goes on sharing" in said(laptop, "hub", "join", text=hub.owner)[1]
    shown = said(laptop, "hub", "leave")[1]
    assert words.split() == shown.rpartition("the hub has of you:")[2].split()
    assert done(laptop, "hub", "status")["joined"] is False
    done(desktop, "hub", "join", text=hub.owner)
    assert done(desktop, "hub", "leave")["phrase"] is None


# --- passwords ---


@pytest.mark.parametrize(
    ("dsn", "shown"),
    [
        ("postgresql://ann:{}@db/hub", "postgresql://ann:***@db/hub"),
        ("postgres://ann:{}@db/hub?sslmode=require", "postgres://ann:***@db/hub?sslmode=require"),
        ("host=db user=ann password={}", "host=db user=ann password=***"), ("postgresql//ann:{}@db/hub", "***"),
        ("ann:{}@db/hub", "***"), ("garbage pass={}", "***"), ("", ""),
    ],
)  # fmt: skip
def test_an_address_is_shown_without_its_password_and_an_unknown_form_not_at_all(dsn: str, shown: str) -> None:
    assert masked(dsn.format("p@ss:w" + "ord/1")) == shown


def test_the_password_is_in_the_settings_alone(hub: Hub, laptop: Home) -> None:
    """Which are their owner's alone: in no command line, environment, log, or answer."""
    password = str(urlsplit(hub.owner).password)
    done(laptop, "hub", "join", text=hub.owner)
    config = laptop.paths.config
    assert password in config.read_text() and stat.S_IMODE(config.stat().st_mode) == 0o600
    daemon = laptop.start_daemon()
    try:
        until(lambda: laptop.client.call("status")["hub"]["state"] == "synced")
        (child,) = children(daemon.pid)
        seen = [Path(f"/proc/{pid}/{part}").read_bytes().decode(errors="replace")
                for pid in (child, daemon.pid) for part in ("cmdline", "environ")]  # fmt: skip
        for words in (("config", "show"), ("status",), ("doctor",), ("hub", "status"), ("logs",)):
            for form in ((), ("--json",)):
                seen.append("".join(map(str, said(laptop, *words, *form))))
        seen.append("".join(map(str, said(laptop, "config", "set", "hub.dsn", other_password(hub.owner)))))
        until(lambda: laptop.client.call("status")["hub"]["state"] == "failed")
        assert "authentication failed" in laptop.client.call("status")["hub"]["error"]
        (found,) = (check for check in json.loads(said(laptop, "doctor", "--json")[1]) if check["check"] == "hub")
        assert (found["ok"], "authentication failed" in found["detail"]) == (False, True)
        seen += [file.read_text() for file in laptop.paths.log.iterdir()]
    finally:
        daemon.stop()
    assert not [text for text in seen if password in text or "w" * 12 in text]


def test_a_password_file_may_hold_it_instead(hub: Hub, laptop: Home) -> None:
    """libpq's own: then it is in no settings at all."""
    where = urlsplit(hub.owner)
    file = laptop.root / "pass"
    file.write_text(f"127.0.0.1:{where.port}:*:{where.username}:{where.password}\n")
    file.chmod(0o600)
    done(laptop, "config", "set", "hub.passfile", str(file))
    bare = f"postgresql://{where.username}@127.0.0.1:{where.port}{where.path}"
    done(laptop, "hub", "join", text=bare)
    done(laptop, "hub", "share", "user")
    assert str(where.password) not in laptop.paths.config.read_text()
