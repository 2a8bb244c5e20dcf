"""The indexes: what is asked for is found, only where it may be, and nothing of what was deleted stays."""

from __future__ import annotations

import random
import string
from datetime import timedelta
from pathlib import Path

import apsw
import numpy as np
import pytest

from recall_store import NOW, Shelf, embedder
from recalld import segment
from recalld.config import MemoryConfig
from recalld.errors import StoreError
from recalld.model import Origin
from recalld.proposals import Filters
from recalld.query import build
from recalld.recall import rank
from recalld.store import meaning, search
from recalld.store.connection import open_reader, transaction


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    return Shelf(tmp_path)


def lexical(shelf: Shelf, text: str, place: str = "p1") -> list[str]:
    return shelf.contents(search.lexical(shelf.db, place, segment.terms(text), 10))


def nearest(shelf: Shelf, text: str, place: str = "p1", limit: int = 5) -> list[str]:
    return shelf.contents(search.nearest(shelf.db, place, embedder().encode([text])[0], limit))


@pytest.mark.parametrize(
    ("query", "content"),
    [
        ("迁移", "部署前先跑数据库迁移"),
        ("並列", "テストは並列で実行しない"),
        ("build-core", "先执行build-core再发布"),
        ("multi-stage", "use multi-stage build"),
        ("stage: multi", "use multi-stage build"),
        ("authStore", "the token lives in useAuthStore"),
        ("use_auth_store", "the token lives in useAuthStore"),
        ("pyramid.rs", "overflow in crates/core/src/pyramid.rs is checked"),
        ("deploying", "we deploy on Thursdays"),
        ("Müller", "ask Mueller or Muller"),
    ],
)
def test_the_right_memory_is_found_by_its_words(shelf: Shelf, query: str, content: str) -> None:
    """B35: also by parts of a compound, and by what would be syntax."""
    shelf.add_all(["the logo is blue", "数据要备份", "never store secrets", content])
    assert lexical(shelf, query)[0] == content


def test_tags_and_aliases_are_found_like_words(shelf: Shelf) -> None:
    shelf.add("answers are short", tags=("area:communication",), aliases=("verbosity",))
    assert lexical(shelf, "verbosity") == lexical(shelf, "communication") == ["answers are short"]
    assert lexical(shelf, "area") == []


def test_no_text_whatever_is_query_syntax(shelf: Shelf) -> None:
    """B34: random and hostile text, through the whole way of a prompt, raises nothing."""
    shelf.add("use multi-stage build")
    letters = random.Random(3)
    hostile = ["it's", "lib/a.py", "v3.12", "C++", "a:b", "NEAR(x)", '"', "*", "-", "AND", "OR NOT", "^", "{}", "col:"]
    hostile += ["((", "content:x", "x NEAR/2 y", '" OR "', "'; drop table memories; --", "\x00", "\ud800", "🦀" * 50]
    noise = ["".join(letters.choices(string.printable, k=letters.randint(1, 60))) for _ in range(5_000)]
    for text in hostile + noise:
        search.lexical(shelf.db, "p1", segment.terms(text), 5)
    for text in hostile + noise[:300]:
        rank(shelf.db, Shelf.place, build(text, "", NOW), None, NOW, MemoryConfig())


def test_each_partition_is_a_world_of_its_own(shelf: Shelf) -> None:
    """B27: 600 nearer memories of another project take nothing from the one of this project."""
    with transaction(shelf.db):
        for seq in range(1_000, 1_600):
            search.put_text(shelf.db, "p2", seq, "the payment webhook retries", (), ())
            search.put_vector(shelf.db, "p2", seq, embedder().encode(["the payment webhook retries"])[0])
    shelf.add("webhooks are retried three times")
    assert lexical(shelf, "payment webhook retries") == ["webhooks are retried three times"]
    assert nearest(shelf, "payment webhook retries") == ["webhooks are retried three times"]


def test_what_is_kept_in_memory_follows_every_change_and_rollback(shelf: Shelf) -> None:
    """Counts of words and signs of vectors are read once an edition; an edition never comes back."""
    one = shelf.add("webhooks are retried three times")

    def known() -> tuple[int, list[str]]:
        return search.frequencies(shelf.db, "p1", ["webhook"])[1]["webhook"], nearest(shelf, "webhook retries")

    assert known() == (1, ["webhooks are retried three times"])
    assert known() == (1, ["webhooks are retried three times"])
    with pytest.raises(ZeroDivisionError), transaction(shelf.db):
        for table in ("put_text", "put_vector"):
            given = ("webhook backup", (), ()) if table == "put_text" else (embedder().encode(["webhook backup"])[0],)
            getattr(search, table)(shelf.db, "p1", 900, *given)
        assert known()[0] == 2
        raise ZeroDivisionError
    assert known() == (1, ["webhooks are retried three times"])
    shelf.add("a webhook has a timeout")
    assert known()[0] == 2
    shelf.change("update memories set status = 'deleted', content = '' where id = ?", one)
    assert known() == (1, ["a webhook has a timeout"])


def test_merging_puts_an_index_together_and_changes_nothing_else(shelf: Shelf) -> None:
    for number in range(30):
        shelf.add(f"note {number} about the webhook")
    before = sorted(lexical(shelf, "webhook"))
    rounds = 0
    with transaction(shelf.db):
        while search.merge(shelf.db, "p1"):
            rounds += 1
    assert rounds < 10
    assert sorted(lexical(shelf, "webhook")) == before
    assert search.sound(shelf.db, "p1")
    with transaction(shelf.db):
        assert not search.merge(shelf.db, "p1")
        assert not search.merge(shelf.db, "p77")


def test_filters_come_before_the_nearest(shelf: Shelf) -> None:
    """B27: what a filter admits is found however many nearer memories it leaves out."""
    old = shelf.add("backups are kept for a week", at=NOW - timedelta(days=300), tags=("env:prod",))
    vector = embedder().encode(["how long are backups kept"])[0]
    with transaction(shelf.db):
        for seq in range(1_000, 1_400):
            search.put_text(shelf.db, "p1", seq, "how long backups are kept", (), ())
            search.put_vector(shelf.db, "p1", seq, vector)
    seq = shelf.seq(old)
    assert [hit.seq for hit in search.nearest(shelf.db, "p1", vector, 5, {seq})] == [seq]
    assert [hit.seq for hit in search.lexical(shelf.db, "p1", ["backups"], 5, {seq})] == [seq]
    for narrow in (Filters(until=NOW - timedelta(days=30)), Filters(tags=("env:prod",))):
        found = rank(shelf.db, ("p1",), build("how long are backups kept"), embedder(), NOW, MemoryConfig(), narrow)
        assert [item.id for item in found] == [old]


def test_an_edit_leaves_one_vector_and_one_row(shelf: Shelf) -> None:
    """B28: fifty edits later, and what another partition finds is the same."""
    kept = shelf.add("the port is 1")
    other = shelf.add("user scope", project=None)
    before = search.nearest(shelf.db, "user", embedder().encode(["scope"])[0], 5)
    for port in range(2, 52):
        shelf.change("update memories set content = ? where id = ?", f"the port is {port}", kept)
    assert shelf.db.execute("select count(*) from vec_p1").get == 1
    assert len(meaning._signs(shelf.db, "p1")[0]) == 1
    assert lexical(shelf, "port") == lexical(shelf, "51") == ["the port is 51"]
    assert lexical(shelf, "50") == []
    exact = search.cosines(shelf.db, "p1", embedder().encode(["the port is 51"])[0], [shelf.seq(kept)])
    assert exact[shelf.seq(kept)] == pytest.approx(1, abs=0.001)
    assert search.nearest(shelf.db, "user", embedder().encode(["scope"])[0], 5) == before
    assert before[0].seq == shelf.seq(other)


def test_only_active_memories_are_found(shelf: Shelf) -> None:
    """B28: by its words and by its vector."""
    memory = shelf.add("we deploy on Thursdays")
    shelf.change("update memories set status = 'superseded' where id = ?", memory)
    assert lexical(shelf, "deploy") == nearest(shelf, "deploy") == []
    shelf.change("update memories set status = 'active' where id = ?", memory)
    assert lexical(shelf, "deploy") == nearest(shelf, "deploy") == ["we deploy on Thursdays"]


def test_nothing_of_a_deleted_memory_is_left_in_the_file(shelf: Shelf) -> None:
    """B26: neither its words, stemmed or whole, nor its vector, in the database or its log."""
    words = ("Xylophonequartz", "zweihundertsieben")
    memory = shelf.add(f"the codeword is {words[0]} {words[1]}", aliases=("Qwertzalias",))
    shelf.add("another memory stays")
    key = shelf.seq(memory) << meaning.CHUNK_BITS
    keys, signs = meaning._signs(shelf.db, "p1")
    traces = [
        shelf.db.execute("select value from vec_p1 where key = ?", (key,)).get,
        signs[keys == key].tobytes(),
    ]
    shelf.db.pragma("wal_checkpoint", "truncate")
    traces += [word.lower().encode()[:9] for word in (*words, "Qwertzalias")]
    assert all(trace in _bytes(shelf) or trace in _bytes(shelf).lower() for trace in traces)
    with transaction(shelf.db):
        search.remove(shelf.db, "p1", shelf.seq(memory))
        shelf.db.execute("update memories set content = '', aliases = '[]', status = 'deleted' where id = ?", (memory,))
        shelf.db.execute("delete from changes")
        shelf.db.execute("update history set content = ''")
    shelf.db.pragma("wal_checkpoint", "truncate")
    assert [trace for trace in traces if trace in _bytes(shelf) or trace in _bytes(shelf).lower()] == []


def test_the_file_does_not_grow_with_what_comes_and_goes(shelf: Shelf) -> None:
    """B26: five thousand come and go, and the file is that of the twenty that stayed."""
    vector = embedder().encode(["something to remember for a while"])[0]
    with transaction(shelf.db):
        for seq in range(100, 120):
            search.put_text(shelf.db, "p1", seq, f"note {seq} that stays", (), ())
            search.put_vector(shelf.db, "p1", seq, vector)
    shelf.db.pragma("wal_checkpoint", "truncate")
    fresh = shelf.path.stat().st_size
    for start in range(0, 5_000, 500):
        with transaction(shelf.db):
            for seq in range(10_000 + start, 10_500 + start):
                search.put_text(shelf.db, "p1", seq, f"something to remember for a while {seq}", (), ())
                search.put_vector(shelf.db, "p1", seq, vector)
                search.remove(shelf.db, "p1", seq)
    shelf.db.pragma("wal_checkpoint", "truncate")
    assert shelf.path.stat().st_size < 3 * fresh
    assert search.frequencies(shelf.db, "p1", ["note"]) == (20, {"note": 20})


def test_missing_tables_and_unknown_partitions_are_empty(shelf: Shelf) -> None:
    reader = open_reader(shelf.path)
    vector = embedder().encode(["anything"])[0]
    assert search.lexical(reader, "p99", ["anything"], 5) == []
    assert search.nearest(reader, "p99", vector, 5) == []
    assert search.vectors(reader, "p99", [1]) == search.cosines(reader, "p99", vector, [1]) == {}
    assert search.frequencies(reader, "p99", ["a"]) == (0, {})
    assert search.sound(shelf.db, "p99")


def test_a_zero_vector_is_neither_stored_nor_asked(shelf: Shelf) -> None:
    shelf.add("!?! …")
    shelf.add("words")
    assert shelf.db.execute("select count(*) from vec_p1").get == 1
    assert search.nearest(shelf.db, "p1", np.zeros(256, dtype=np.float32), 5) == []


def test_a_long_text_is_near_through_its_best_passage(shelf: Shelf) -> None:
    text = "The weather was fine and nobody said anything. " * 60 + "The certificate is renewed by cert-manager. " * 5
    memory = shelf.add(text)
    shelf.add("the weather was fine")
    vector, whole = embedder().encode(["who renews the certificate", text])
    found = search.cosines(shelf.db, "p1", vector, [shelf.seq(memory)])[shelf.seq(memory)]
    assert found > 2 * float(vector @ whole)
    best = search.nearest(shelf.db, "p1", vector, 5)[0]
    assert (best.seq, round(best.value, 2)) == (shelf.seq(memory), round(found, 2))
    assert len(search.vectors(shelf.db, "p1", [shelf.seq(memory)])) == 1
    shelf.change("update memories set status = 'archived' where id = ?", memory)
    assert shelf.db.execute("select count(*) from vec_p1").get == 1


def test_the_exact_cosine_decides_the_order(shelf: Shelf) -> None:
    texts = [
        f"rule {i}: {w}" for i, w in enumerate(["tabs", "spaces", "deploy on Friday", "法语", "port 80", "redis"] * 8)
    ]
    shelf.add_all(texts)
    vector = embedder().encode(["when do we deploy?"])[0]
    exact = np.sort(embedder().encode(texts) @ vector)[::-1]
    hits = search.nearest(shelf.db, "p1", vector, 5)
    assert np.allclose([hit.value for hit in hits], exact[:5], atol=0.02)


def test_vectors_of_another_width_are_refused_not_compared(shelf: Shelf) -> None:
    memory = shelf.add("stored with the old model")
    with pytest.raises(StoreError, match="dimensions"):
        search.cosines(shelf.db, "p1", np.ones(384, dtype=np.float32), [shelf.seq(memory)])


def test_dropping_the_vectors_leaves_the_text(shelf: Shelf) -> None:
    shelf.add("we deploy on Thursdays")
    with transaction(shelf.db):
        search.drop_vectors(shelf.db, "p1")
    assert nearest(shelf, "deploy") == []
    assert lexical(shelf, "deploy") == ["we deploy on Thursdays"]
    assert search.partitions(shelf.db) == {"p1"}
    with transaction(shelf.db):
        search.drop(shelf.db, "p1")
    assert search.partitions(shelf.db) == set()


def test_a_damaged_or_incomplete_index_is_seen(shelf: Shelf) -> None:
    memory = shelf.add("we deploy on Thursdays")
    assert search.sound(shelf.db, "p1")
    with transaction(shelf.db):
        shelf.db.execute("delete from fts_p1 where rowid = ?", (shelf.seq(memory),))
    assert not search.sound(shelf.db, "p1")
    with transaction(shelf.db):
        search.put_text(shelf.db, "p1", shelf.seq(memory), "we deploy on Thursdays", (), ())
        shelf.db.execute("update fts_p1_content set c0 = 'something else'")
    assert not search.sound(shelf.db, "p1")


def test_sqlite_vec_is_loaded_without_numpy() -> None:
    """The daemon serves before its model is there, and small."""
    import subprocess
    import sys

    script = (
        "import sys, apsw; from recalld.store import search; db = apsw.Connection(':memory:'); search.load_vec(db);"
        "print(db.execute('select vec_version()').get, 'numpy' in sys.modules)"
    )
    package = str(Path(search.__file__).parents[2])
    run = subprocess.run(
        [sys.executable, "-c", script], env={"PYTHONPATH": package}, capture_output=True, text=True, check=True
    )
    assert run.stdout.split()[1] == "False"
    with pytest.raises(apsw.SQLError):
        apsw.Connection(":memory:").execute("select load_extension('x')")


def test_what_the_assistant_said_comes_after_what_the_user_said(shelf: Shelf) -> None:
    shelf.add("we could cache the catalogue in Redis", origin=Origin.ASSISTANT)
    own = shelf.add("the catalogue cache lives in Redis")
    found = rank(shelf.db, ("p1",), build("catalogue cache in Redis"), embedder(), NOW, MemoryConfig())
    assert found[0].id == own


def _bytes(shelf: Shelf) -> bytes:
    return b"".join(path.read_bytes() for path in shelf.path.parent.glob("memories.db*"))
