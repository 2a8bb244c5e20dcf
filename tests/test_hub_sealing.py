"""End-to-end encryption of a member's own stream: what the hub gets tells it nothing, and only the right key opens it."""

from __future__ import annotations

import msgspec
import pytest

from recalld import hubwire
from recalld.carried import Step
from recalld.errors import InputError
from recalld.hub import sealing
from recalld.hub.sealing import Sealer
from recalld.hubwire import Body, Item, Row, SealedSteps
from recalld.model import Origin, Scope, Status, Type

KEY = bytes(range(32))
ME, MINE = "7d1c", hubwire.user_stream("7d1c")
ID, OTHER = "m-" + "1" * 20, "m-" + "2" * 20
WHEN = "2026-01-01T00:00:00.000Z"
CANARIES = ("heliotrope", "quokka", "zephyr", "marimba", "obelisk", "kumquat", "m-" + "9" * 20)


def body(content: str = "The heliotrope is watered on Mondays.") -> Body:
    return Body(
        scope=Scope.USER, type=Type.FACT, content=content, tags=("quokka",), aliases=("zephyr",), source="marimba",
        origin=Origin.USER, confidence=0.9, status=Status.ACTIVE, first_seen=WHEN, last_seen=WHEN, created_at=WHEN,
        updated_at=WHEN, superseded_by="m-" + "9" * 20, branch="obelisk",
    )  # fmt: skip


def item(of: Body | None = None, stream: str = MINE) -> Item:
    of = of or body()
    step = Step(version=1, action="insert", actor="kumquat", content="The heliotrope was dry.", type=Type.FACT,
                status=Status.ACTIVE, at=WHEN)  # fmt: skip
    return Item(
        id=ID, stream=stream, base_version=0, body=of, digest=hubwire.digest(of), client=of.source, steps=(step,)
    )


def down(sent: Item, **other: object) -> Row:
    """What the hub would give for what it was given."""
    steps = (SealedSteps("ann/laptop", sent.sealed_steps),) if sent.sealed_steps else ()
    row = Row(
        id=sent.id, stream=sent.stream, seq=1, version=1, body=None, sealed=sent.sealed, digest=sent.digest, member="ann",
        device="laptop", client=sent.client, sealed_steps=steps,
    )  # fmt: skip
    return msgspec.structs.replace(row, **other)


def test_the_phrase_brings_the_key_back_however_it_is_typed() -> None:
    phrase = sealing.phrase(KEY)
    assert len(phrase.split()) == 24
    for typed in (phrase, phrase.upper(), "\n ".join(phrase.title().split())):
        assert sealing.key_of(typed) == KEY
    assert len({sealing.new_key() for _ in range(50)}) == 50


def test_a_wrong_phrase_is_refused_and_not_repeated() -> None:
    words = sealing.phrase(KEY).split()
    swapped = [words[1], words[0], *words[2:]]
    for typed, why in (
        (words[:23], "24 words, these are 23"), (["xyzzy", *words[1:]], "word 1"), (swapped, "one is wrong, or their order"),
    ):  # fmt: skip
        with pytest.raises(InputError, match=why) as raised:
            sealing.key_of(" ".join(typed))
        assert "xyzzy" not in str(raised.value) and words[5] not in str(raised.value)
    assert sealing.check(KEY) != sealing.check(sealing.new_key())


def test_what_goes_up_says_nothing() -> None:
    """No text, tag, alias, source, branch or other memory's id, no step of the history, and no length to the byte."""
    sent = Sealer(ME, KEY).close(item())
    for form in (msgspec.json.encode(sent), sent.sealed or b"", sent.sealed_steps or b"", sent.digest):
        assert not [word for word in CANARIES if word.encode() in form]
    assert (sent.body, sent.steps, sent.client) == (None, (), "")
    assert sent.digest != hubwire.digest(body())
    lengths = {len(Sealer(ME, KEY).close(item(body("x" * count))).sealed or b"") for count in range(1, 200)}
    assert len(lengths) <= 2
    long = item(body("x" * 60_000))
    assert len(Sealer(ME, KEY).close(long).sealed or b"") <= hubwire.MAX_SEALED_BYTES


def test_what_comes_down_is_what_went_up() -> None:
    sealer, original = Sealer(ME, KEY), item()
    again = sealer.open(down(sealer.close(original)))
    assert again.body is not None and hubwire.checked(again.body) == original.body
    assert (again.digest, again.client, again.sealed) == (original.digest, "marimba", None)
    assert [(step.actor, step.content) for step in again.steps] == [("ann/laptop:kumquat", "The heliotrope was dry.")]
    assert sealer.close(original).sealed != sealer.close(original).sealed
    assert sealer.close(original).digest == sealer.close(original).digest  # equal bodies stay recognisable to the hub


def test_nothing_opens_but_what_this_key_sealed_for_this_memory() -> None:
    """Another key, member or memory, a changed byte, a text in another's place, a text in the clear, or nothing at all."""
    sealer = Sealer(ME, KEY)
    sent = sealer.close(item())
    assert sent.sealed
    changed = sent.sealed[:-1] + bytes([sent.sealed[-1] ^ 1])
    clear = msgspec.to_builtins(body())
    strangers = (Sealer(ME, sealing.new_key()), Sealer("other", KEY))
    rows = [
        down(sent, id=OTHER), down(sent, sealed=changed), down(sent, sealed=sent.sealed_steps), down(sent, sealed=b""),
        down(sent, sealed=b"\x02" + sent.sealed[1:]), down(sent, sealed=b"\x01short"), down(sent, sealed=None, body=clear),
    ]  # fmt: skip
    own = [
        (stranger, down(sent, stream=hubwire.user_stream(who)))
        for stranger, who in zip(strangers, (ME, "other"), strict=True)
    ]
    for holder, row in (*((sealer, row) for row in rows), *own):
        with pytest.raises(ValueError, match="encrypted"):
            holder.open(row)


def test_no_part_of_what_is_sealed_does_harm() -> None:
    """Nor what a later version put inside."""
    sealer = Sealer(ME, KEY)
    whole = sealer.close(item()).sealed or b""
    other = sealer._seal(ID, b"body", b'{"body": 1}')
    for part in (other, *(whole[:length] for length in range(len(whole)))):
        with pytest.raises(ValueError):
            sealer.open(down(item(), sealed=part, body=None))


def test_only_what_is_the_members_own_is_sealed() -> None:
    sealer = Sealer(ME, KEY)
    for stream in (hubwire.ORG, hubwire.project_stream("remote:github.com/acme/shop"), hubwire.user_stream("other")):
        assert sealer.close(item(stream=stream)) == item(stream=stream)
        row = down(item(stream=stream), body=msgspec.to_builtins(body()), sealed=None)
        assert sealer.open(row) == row
    gone = Item(id=ID, stream=MINE, base_version=2, deleted=True, digest=b"")
    assert sealer.close(gone) == gone
    assert sealer.open(down(gone, deleted=True)).deleted


def test_of_a_history_too_long_to_send_the_newest_part_goes() -> None:
    step = item().steps[0]
    steps = tuple(msgspec.structs.replace(step, version=number, content="y" * 9_000) for number in range(1, 30))
    sealer = Sealer(ME, KEY)
    sent = sealer.close(msgspec.structs.replace(item(), steps=steps))
    assert sent.sealed_steps and len(sent.sealed_steps) <= hubwire.MAX_SEALED_BYTES
    versions = [step.version for step in sealer.open(down(sent)).steps]
    assert versions == list(range(versions[0], 30)) and len(versions) > 5
