"""What one candidate does to the memories near it."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from consolidate_book import START, Book, memory
from recalld.config import ConflictConfig
from recalld.consolidate import (
    Add,
    Change,
    Conflict,
    Drop,
    Past,
    Relate,
    Supersede,
    Touch,
    Update,
    candidate,
    check,
    plan,
)
from recalld.llm.protocol import Action, Operation
from recalld.model import Candidate, Memory, Neighbour, Origin, Scope, Status, Type, timestamp

NOW = START + timedelta(hours=1)
MARK = ConflictConfig()
LAST = ConflictConfig(policy="last-write-wins")
RANKED = ConflictConfig(policy="source-priority", source_priority=("cli", "claude-code"))

PORT = memory("m-0", "The label service listens on port 7010.")
OTHER_PORT = "The label service listens on port 7020."


def near(*memories: Memory) -> list[Neighbour]:
    return [Neighbour(found, 0.7, 0.7) for found in memories]


def decide(
    content: str, *memories: Memory, policy: ConflictConfig = MARK, source: str = "claude-code", **fields: Any
) -> list[Change]:
    options = {name: fields.pop(name) for name in ("past", "blocked", "confirm") if name in fields}
    return plan(Candidate(content=content, **fields), near(*memories), policy, NOW, source, **options)


def only(changes: list[Change]) -> Any:
    (change,) = changes
    return change


def test_something_new_is_added() -> None:
    """Without neighbours nothing else happens."""
    change = only(decide("Invoices are sent on the first of the month."))
    assert (type(change), change.status, change.related, change.supersedes) == (Add, Status.ACTIVE, (), ())


def test_something_said_again_is_touched() -> None:
    """The text stays; the turn becomes a source."""
    assert only(decide("the label service listens on 7010", PORT, prompt_id="p9")) == Touch(
        id="m-0", confidence=0.9, prompt_id="p9"
    )


def test_a_person_s_word_raises_the_confidence() -> None:
    """Said again without the hedge, a guess becomes certain and takes the firm words."""
    guess = memory("m-0", "Maybe the label service listens on port 7010.", confidence=0.4)
    change = only(decide("The label service listens on port 7010.", guess, confidence=0.9))
    assert (type(change), change.confidence, change.content) == (Update, 0.9, "The label service listens on port 7010.")


def test_the_assistant_repeating_a_memory_raises_nothing() -> None:
    """No feedback loop: what was injected and said back only counts as seen."""
    assert only(decide(PORT.content, PORT, origin=Origin.ASSISTANT, confidence=1.0)).confidence == 0.9


def test_more_precise_words_update() -> None:
    """A new version with the tags of both, planned on the version that was seen."""
    stored = memory("m-0", "The parser needs Rust.", tags=("tech:rust",), version=3)
    change = only(decide("The parser needs Rust 1.78 for its lints.", stored, tags=("area:build",)))
    assert (type(change), change.version, change.tags) == (Update, 3, ("tech:rust", "area:build"))


def test_a_refinement_is_linked_too() -> None:
    """The new words may touch on something else that is known."""
    stored, other = memory("m-0", "The parser needs Rust."), memory("m-1", "The Rust lints fail on the old compiler.")
    update, link = decide("The parser needs Rust 1.78 for its lints.", stored, other)
    assert (update.id, link) == ("m-0", Relate(id="m-0", other="m-1"))


def test_related_memories_are_linked() -> None:
    """The same thing, another statement."""
    stored = memory("m-0", "The label service is written in Go.")
    assert only(decide("The label service keeps its queue in Redis.", stored)).related == ("m-0",)


def test_both_sides_of_a_contradiction_stay_and_are_marked() -> None:
    """merge-mark, the default."""
    change = only(decide(OTHER_PORT, PORT))
    assert (change.conflicts, change.supersedes, change.superseded_by) == (("m-0",), (), None)


def test_the_last_word_wins_where_that_is_the_policy() -> None:
    """The loser is superseded, not erased."""
    change = only(decide(OTHER_PORT, PORT, policy=LAST))
    assert (change.conflicts, change.supersedes) == ((), ("m-0",))


@pytest.mark.parametrize(
    ("stored", "new", "outcome"),
    [
        ("claude-code", "cli", "new"),
        ("cli", "claude-code", "stored"),
        ("cli", "cli", "both"),
        ("cursor", "cli", "new"),
        ("cli", "cursor", "stored"),
        ("cursor", "codex", "both"),
    ],
)
def test_the_source_that_stands_first_wins(stored: str, new: str, outcome: str) -> None:
    """Unlisted sources stand last; between equals nobody has won, so both are marked."""
    older = memory("m-0", PORT.content, source=stored)
    change = only(decide(OTHER_PORT, older, policy=RANKED, source=new))
    assert (change.supersedes, change.superseded_by, change.conflicts) == {
        "new": (("m-0",), None, ()),
        "stored": ((), "m-0", ()),
        "both": ((), None, ("m-0",)),
    }[outcome]


def test_a_change_with_a_cue_supersedes() -> None:
    """`replaces`, or the statement's own words."""
    for content, replaces in ((OTHER_PORT, True), ("The label service listens on port 7020, not 7010.", False)):
        change = only(decide(content, PORT, replaces=replaces))
        assert (change.supersedes, change.conflicts) == (("m-0",), ())


def test_a_cue_about_something_else_replaces_nothing() -> None:
    """ "The importer now skips empty lines" leaves what else is known of the importer alone."""
    stored = memory("m-0", "The importer only accepts UTF-8 files.")
    change = only(decide("The importer now skips empty lines.", stored, replaces=True))
    assert (change.supersedes, change.conflicts) == ((), ())


def test_the_successor_of_a_pinned_memory_is_pinned() -> None:
    """Else a pinned rule would be lost with its first change."""
    assert only(decide(OTHER_PORT, memory("m-0", PORT.content, pinned=True), replaces=True)).pinned


def test_giving_something_up_supersedes_it() -> None:
    """Without a successor there is nobody it is superseded by."""
    stored = memory("m-0", "Lines have at most 100 characters.", version=2)
    change = only(decide("", stored, revokes="the rule about 100 characters", prompt_id="p3"))
    assert change == Supersede(id="m-0", version=2, by=None, prompt_id="p3")


def test_words_that_only_give_up_are_no_memory() -> None:
    """Once the rule is gone, "the rule no longer applies" need not be kept; where there was none, it is news."""
    stored = memory("m-0", "Lines have at most 100 characters.")
    content, revokes = "The rule about 100 characters no longer applies.", "the rule about 100 characters"
    assert isinstance(only(decide(content, stored, revokes=revokes)), Supersede)
    assert isinstance(only(decide("We no longer support Windows 7.", stored, revokes="Windows 7")), Add)


def test_giving_up_what_nobody_knows_is_dropped() -> None:
    """And stores nothing."""
    assert isinstance(only(decide("", PORT, revokes="the polling")), Drop)


def test_what_is_given_up_and_what_comes_instead_are_one_change() -> None:
    """The new memory names the old one."""
    stored = memory("m-0", "Errors are sent to Rollbar.")
    change = only(decide("Errors are sent to Glitchtip.", stored, revokes="Rollbar", replaces=True))
    assert (type(change), change.supersedes) == (Add, ("m-0",))


def test_what_is_said_again_is_not_given_up() -> None:
    """Not even if its words were taken for something given up."""
    assert isinstance(only(decide(PORT.content, PORT, revokes="that the label service listens on 7010")), Touch)


def test_a_return_to_what_is_stored_ends_the_other() -> None:
    """Of two in conflict, the one said again with a cue takes the place of the other."""
    one, other = memory("m-0", PORT.content), memory("m-1", OTHER_PORT)
    touch, given_up = decide(OTHER_PORT, one, other, replaces=True)
    assert isinstance(touch, Touch)
    assert given_up == Supersede(id="m-0", version=1, by="m-1")


def test_a_project_does_not_end_what_holds_everywhere() -> None:
    """A project's exception to a personal rule stands beside it; given up without a successor, the rule goes."""
    habit = memory("m-0", "Use single quotes.", scope=Scope.USER, type=Type.PREFERENCE)
    change = only(decide("Use double quotes.", habit, revokes="single quotes", replaces=True))
    assert (type(change), change.supersedes, change.conflicts) == (Add, (), ())
    assert isinstance(only(decide("", habit, revokes="single quotes")), Supersede)


@pytest.mark.parametrize("content", [OTHER_PORT, "the label service listens on 7010"])
def test_a_guess_changes_nothing_that_is_known(content: str) -> None:
    """Neither the value nor the time it was last said."""
    assert isinstance(only(decide(content, PORT, confidence=0.4)), Drop)
    assert decide("", PORT, revokes="port 7010 of the label service", confidence=0.4)[0] == Drop(
        reason="nothing stored is meant by what is given up", content="port 7010 of the label service"
    )


def test_a_guess_about_something_new_is_kept_as_one() -> None:
    """With its low confidence, out of injection."""
    change = only(decide("Perhaps the archive moves to Oslo.", confidence=0.4))
    assert (change.status, change.candidate.confidence) == (Status.ACTIVE, 0.4)


def test_a_certain_statement_takes_the_place_of_another_guess() -> None:
    """A guess is no side of a conflict."""
    change = only(decide(OTHER_PORT, memory("m-0", PORT.content, confidence=0.4)))
    assert (change.conflicts, change.supersedes) == ((), ("m-0",))


@pytest.mark.parametrize("type_", [Type.PREFERENCE, Type.DECISION])
def test_only_the_person_changes_what_the_person_prefers_or_decided(type_: Type) -> None:
    """The assistant's other word is dropped, a tool's too."""
    stored = memory("m-0", "Answer in German.", type=type_)
    for origin in (Origin.ASSISTANT, Origin.TOOL):
        assert isinstance(only(decide("Answer in English.", stored, origin=origin, replaces=True)), Drop)


def test_the_assistant_may_report_a_changed_fact() -> None:
    """It made the change itself."""
    assert only(decide(OTHER_PORT, PORT, origin=Origin.ASSISTANT, replaces=True)).supersedes == ("m-0",)


def test_a_preference_that_nobody_stated_waits() -> None:
    """Whatever `confirm` says; and it settles nothing before it is confirmed."""
    change = only(decide("Use spaces for indentation.", origin=Origin.ASSISTANT, type=Type.PREFERENCE))
    assert change.status is Status.PENDING


@pytest.mark.parametrize(
    ("confirm", "content", "type_", "explicit", "status"),
    [
        ("off", "We deploy on Fridays.", Type.DECISION, False, Status.ACTIVE),
        ("important", "We deploy on Fridays.", Type.DECISION, False, Status.PENDING),
        ("important", "The production database is in Oslo.", Type.FACT, False, Status.PENDING),
        ("important", "生产库在上海。", Type.FACT, False, Status.PENDING),
        ("important", "The mascot is an otter.", Type.FACT, False, Status.ACTIVE),
        ("all", "The mascot is an otter.", Type.FACT, False, Status.PENDING),
        ("all", "The mascot is an otter.", Type.FACT, True, Status.ACTIVE),
    ],
)
def test_what_has_to_be_confirmed(confirm: str, content: str, type_: Type, explicit: bool, status: Status) -> None:
    """`confirm` decides; what is asked for by hand is confirmed by that."""
    assert only(decide(content, type=type_, explicit=explicit, confirm=confirm)).status is status


def test_what_waits_changes_nothing_yet() -> None:
    """Neither a conflict nor a successor before the person agrees."""
    change = only(decide(OTHER_PORT, PORT, replaces=True, confirm="all"))
    assert (change.status, change.supersedes, change.conflicts) == (Status.PENDING, (), ())


def test_what_waits_is_asked_for_once() -> None:
    """Said again, a waiting memory is touched, not doubled; asked for by hand, it counts."""
    waiting = memory("m-0", "We deploy on Fridays.", status=Status.PENDING)
    assert isinstance(only(decide("We deploy on Fridays.", waiting, confirm="all")), Touch)
    change = only(decide("We deploy on Fridays.", waiting, confirm="all", explicit=True))
    assert (change.status, change.supersedes) == (Status.ACTIVE, ("m-0",))


def test_what_was_deleted_is_not_added() -> None:
    """But what the same statement gives up is given up."""
    stored = memory("m-0", "Errors are sent to Rollbar.")
    changes = decide("Errors are sent to Glitchtip.", stored, revokes="Rollbar", blocked=True)
    assert [type(change) for change in changes] == [Supersede, Drop]


@pytest.mark.parametrize("status", [Status.SUPERSEDED, Status.ARCHIVED, Status.ACTIVE])
def test_a_turn_extracted_again_brings_nothing_back(status: Status) -> None:
    """B98: neither in the same nor in other words; nor the text before an edit."""
    past = (Past(memory("m-0", PORT.content, status=status), ("The label service listens on port 7000.",)),)
    for content in (PORT.content, "label service: port 7010", "The label service listens on port 7000."):
        assert isinstance(only(decide(content, past=past, prompt_id="p1")), Drop)
    assert isinstance(only(decide("The label service is written in Go.", past=past, prompt_id="p1")), Add)


def test_a_late_extraction_does_not_overrule_what_was_said_after_it() -> None:
    """Turn 5 comes out of the queue after turn 40."""
    later = memory("m-0", OTHER_PORT, last_seen=timestamp(NOW + timedelta(hours=2)))
    assert isinstance(only(decide(PORT.content, later, replaces=True)), Drop)
    assert isinstance(only(decide("", later, revokes="port 7020")), Drop)


def test_newer_progress_takes_the_place_of_older() -> None:
    """Other work in progress stays."""
    one = memory("m-0", "The parser rewrite is half done.", type=Type.PROGRESS)
    other = memory("m-1", "The invoice layout waits for legal.", type=Type.PROGRESS)
    change = plan(
        Candidate(content="The parser rewrite is finished.", type=Type.PROGRESS),
        [Neighbour(one, 0.8, 0.5), Neighbour(other, 0.2, 0.0)],
        MARK,
        NOW,
        "claude-code",
    )
    assert only(change).supersedes == ("m-0",)


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=60), st.text(max_size=60), st.text(max_size=30), st.booleans())
def test_any_texts_can_be_planned_and_said_twice(one: str, other: str, revokes: str, replaces: bool) -> None:
    """No text breaks the comparison, and saying the same again never adds a memory."""
    book = Book()
    book.say("t0", Candidate(content=other))
    book.say("t1", Candidate(content=one, revokes=revokes, replaces=replaces))
    book.say("t2", Candidate(content=one))
    before = len(book.memories)
    book.say("t3", Candidate(content=one))
    assert len(book.memories) == before


def operation(op: Action, **fields: Any) -> Operation:
    return Operation(op=op, evidence="...", prompt_id="p1", **fields)


def proposed(op: Action, *memories: Memory, policy: ConflictConfig = MARK, **fields: Any) -> Any:
    options = {name: fields.pop(name) for name in ("past", "blocked", "confirm") if name in fields}
    return check(operation(op, **fields), near(*memories), policy, NOW, "claude-code", **options)


def test_a_model_s_addition_is_compared_like_any_other() -> None:
    """It may say again what is known."""
    assert isinstance(
        only(proposed(Action.ADD, PORT, content="Port 7010 is where the label service listens.")), Touch | Add
    )
    assert isinstance(only(proposed(Action.ADD, PORT, content="the label service listens on 7010")), Touch)


@pytest.mark.parametrize("op", [Action.UPDATE, Action.SUPERSEDE, Action.TOUCH, Action.CONFLICT])
def test_invented_ids_are_refused(op: Action) -> None:
    """Whatever was to be done with them."""
    assert isinstance(only(proposed(op, PORT, id="m-404", content=OTHER_PORT)), Drop)


def test_each_operation_becomes_its_change() -> None:
    """The model says which memory is meant and how."""
    assert only(proposed(Action.TOUCH, PORT, id="m-0")) == Touch(id="m-0", confidence=0.9, prompt_id="p1")
    assert only(proposed(Action.SUPERSEDE, PORT, id="m-0")) == Supersede(id="m-0", version=1, prompt_id="p1")
    assert only(proposed(Action.SUPERSEDE, PORT, id="m-0", content="Labels come by mail.")).supersedes == ("m-0",)
    assert only(proposed(Action.CONFLICT, PORT, id="m-0", content="Labels come by mail.")).conflicts == ("m-0",)
    updated = only(proposed(Action.UPDATE, PORT, id="m-0", content="The label service listens on port 7010 over TLS."))
    assert (updated.id, updated.content) == ("m-0", "The label service listens on port 7010 over TLS.")


def test_policy_holds_for_a_model_s_conflict_too() -> None:
    """The model finds the contradiction, the owner's policy settles it."""
    change = only(proposed(Action.CONFLICT, PORT, id="m-0", content=OTHER_PORT, policy=LAST))
    assert (change.conflicts, change.supersedes) == ((), ("m-0",))


def test_a_successor_that_is_stored_already_is_not_doubled() -> None:
    """The old one is superseded by the one that is there; a conflict is opened between the two."""
    other = memory("m-1", OTHER_PORT)
    given_up, seen = proposed(Action.SUPERSEDE, PORT, other, id="m-0", content=OTHER_PORT)
    assert (given_up.by, seen.id) == ("m-1", "m-1")
    opened, _ = proposed(Action.CONFLICT, PORT, other, id="m-0", content=OTHER_PORT)
    assert opened == Conflict(older="m-0", newer="m-1")


@pytest.mark.parametrize("op", [Action.UPDATE, Action.SUPERSEDE, Action.CONFLICT])
def test_what_a_model_may_not_do(op: Action) -> None:
    """Guess, overrule the person, bring back what was deleted or edited away."""
    rule = memory("m-0", "Answer in German.", type=Type.PREFERENCE)
    english = {"id": "m-0", "content": "Answer in English."}
    past = (Past(memory("m-7", "Answer in English.", status=Status.SUPERSEDED)),)
    for fields in ({"hedged": True}, {"origin": Origin.ASSISTANT}, {"blocked": True}, {"past": past}):
        assert isinstance(only(proposed(op, rule, **english, **fields)), Drop)
    assert isinstance(only(proposed(op, memory("m-0", "x y", status=Status.SUPERSEDED), **english)), Drop)


def test_a_change_without_a_text_is_refused() -> None:
    """Only giving up needs none."""
    assert isinstance(only(proposed(Action.UPDATE, PORT, id="m-0")), Drop)
    assert isinstance(only(proposed(Action.CONFLICT, PORT, id="m-0", content="  ")), Drop)


def test_an_update_that_has_nothing_to_do_with_its_memory_is_stored_beside_it() -> None:
    """A wrong id must not cost the memory that bears it."""
    assert isinstance(only(proposed(Action.UPDATE, PORT, id="m-0", content="The mascot is an otter.")), Add)


def test_a_hedged_operation_makes_a_hedged_candidate() -> None:
    """At most 0.5, whatever confidence the model names."""
    assert candidate(operation(Action.ADD, content="x", hedged=True, confidence=0.95)).confidence == 0.5
    assert candidate(operation(Action.ADD, content=" x ", confidence=7.0)).confidence == 1.0
