"""What the offline extraction keeps of a turn, and what it leaves alone."""

import asyncio
import json
import re
import time
from pathlib import Path
from typing import Any

import pytest

from recalld import embed, redact, rules
from recalld.config import Config, PrivacyConfig
from recalld.evaluate import files, judge
from recalld.model import Answer, Candidate, Origin, Scope, Turn, Type

ENCODE = embed.load(embed.BUILTIN, Path("/nowhere")).encode
FOLDER = Path(__file__).parent / "dialogues"
SECRET = "pLum7" + "-Quartz-" + "4!"  # stands for {secret} in the dialogues; they forbid `plum7`


def lines(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (FOLDER / name).read_text().replace("{secret}", SECRET).splitlines()]


DIALOGUES = lines("rules.jsonl")
MASK = redact.Redactor(PrivacyConfig()).redact


def turn(prompt: str, answer: str = "Done.", **more: Any) -> Turn:
    return Turn(
        prompt_id="p1", session_id="s1", prompt=MASK(redact.clean(prompt)), answer=MASK(redact.clean(answer)),
        started_at="2031-01-02T03:04:05.000Z", **more,
    )  # fmt: skip


def kept(prompt: str, answer: str = "Done.", **more: Any) -> list[Candidate]:
    return rules.extract(turn(prompt, answer, **more), ENCODE)


def only(prompt: str, answer: str = "Done.", **more: Any) -> Candidate:
    (one,) = kept(prompt, answer, **more)
    return one


def stored(dialogue: dict[str, Any]) -> list[Candidate]:
    """What is stored of a dialogue, turn after turn."""
    found, context = [], ""
    for said in dialogue["turns"]:
        found += [one for one in kept(said["prompt"], said["answer"], context=context) if one.content]
        context = said["answer"]
    return found


def says(one: Candidate, wanted: dict[str, Any]) -> bool:
    told = all(re.search(part, one.content, re.IGNORECASE) for part in wanted["must"])
    return told and wanted["scope"] in (None, one.scope) and one.confidence >= wanted.get("sure", 0)


def of(kind: str) -> list[dict[str, Any]]:
    return [dialogue for dialogue in DIALOGUES if dialogue["kind"] == kind]


def test_what_people_state_is_kept_and_nothing_besides() -> None:
    """451 dialogues in five languages: the statement is kept in its scope, the request beside it is not."""
    missed, besides = [], 0
    for dialogue in of("states"):
        found = stored(dialogue)
        besides += sum(not any(says(one, wanted) for wanted in dialogue["expect"]) for one in found)
        told = all(any(says(one, wanted) for one in found) for wanted in dialogue["expect"])
        hit = [part for part in dialogue["forbid"] for one in found if re.search(part, one.content, re.IGNORECASE)]
        if not told or hit:
            missed.append((dialogue["id"], [one.content for one in found]))
    assert len(missed) <= 0.03 * len(of("states")), missed
    assert besides <= 0.1 * len(of("states"))


def test_what_is_kept_has_its_type() -> None:
    """A decision is no preference; where both would do, the dialogue says so."""
    right = total = 0
    for dialogue in of("states"):
        found = stored(dialogue)
        for wanted in dialogue["expect"]:
            said = [one.type for one in found if says(one, wanted)]
            total += bool(said)
            right += any(one in wanted["types"] for one in said)
    assert right >= 0.95 * total


def test_more_than_half_of_what_is_only_implied_is_kept() -> None:
    """No cue word says so; what must not be stored of these turns is not."""
    met = 0
    for dialogue in of("implied"):
        found = stored(dialogue)
        met += all(any(says(one, wanted) for one in found) for wanted in dialogue["expect"])
        assert not [
            one for one in found if any(re.search(part, one.content, re.IGNORECASE) for part in dialogue["forbid"])
        ]
    assert met >= 0.6 * len(of("implied"))


def test_statements_live_on_as_they_were_meant(tmp_path: Path) -> None:
    """47 lives of a store: repeated, refined, replaced, given up, contradicted, deleted, expired."""
    path = tmp_path / "lives.jsonl"
    path.write_text("".join(json.dumps(life, ensure_ascii=False) + "\n" for life in lines("lives.jsonl")))
    (result,) = asyncio.run(
        judge.judge([files.read(path)], Config(), tmp_path, {}, judge.Options(), lambda: None),
    )
    passed, total = result.scores["tiers"]["rules"]
    assert total == 47
    assert passed >= total - 1, result.scores["failures"]


def test_turns_that_state_nothing_leave_nothing() -> None:
    """Questions, guesses, hypotheses, orders, pastes, texts to be written, jokes, temporary things."""
    assert [(dialogue["id"], one.content) for dialogue in of("silent") for one in stored(dialogue)] == []


def test_ordinary_work_leaves_at_most_one_memory_in_twenty_turns() -> None:
    """Reports of errors and descriptions of what is to be done are no knowledge."""
    found = [one.content for dialogue in of("work") for one in stored(dialogue)]
    assert len(found) <= len(of("work")) / 20, found


@pytest.mark.parametrize(
    ("prompt", "content", "type_", "scope"),
    [
        ("ok btw we've decided to use Zig for the tools, so please fix the build", "We've decided to use Zig for the tools.", Type.DECISION, Scope.PROJECT),
        ("Remember: the scale reports grams. Why is it off?", "The scale reports grams.", Type.FACT, Scope.PROJECT),
        ("from now on answer in one paragraph", "Answer in one paragraph.", Type.PREFERENCE, Scope.USER),
        ("never deploy on fridays, thanks", "Never deploy on fridays.", Type.PREFERENCE, Scope.PROJECT),
        ("my name is Ines", "My name is Ines.", Type.FACT, Scope.USER),
        ("Lesson learned: the relay sticks below zero degrees.", "The relay sticks below zero degrees.", Type.LESSON, Scope.PROJECT),
        ("status: the pump driver is merged", "Status: the pump driver is merged.", Type.PROGRESS, Scope.PROJECT),
        ("We use npm, so fix the CI", "We use npm.", Type.FACT, Scope.PROJECT),
        ("记住：泵站编号是四位数", "泵站编号是四位数。", Type.FACT, Scope.PROJECT),
        ("以后回答先给结论", "回答先给结论。", Type.PREFERENCE, Scope.USER),
        ("我们决定改用 Zig 写工具，把构建脚本改一下", "改用 Zig 写工具。", Type.DECISION, Scope.PROJECT),
        ("Merke dir, dass die Waage in Gramm misst.", "Die Waage in Gramm misst.", Type.FACT, Scope.PROJECT),
        ("Recuerda que la bomba se apaga a las diez.", "La bomba se apaga a las diez.", Type.FACT, Scope.PROJECT),
        ("覚えておいて：ポンプは10時に止まります。", "ポンプは10時に止まります。", Type.FACT, Scope.PROJECT),
    ],
)  # fmt: skip
def test_one_clean_sentence_is_made(prompt: str, content: str, type_: Type, scope: Scope) -> None:
    """Chatter in front and the request behind are gone; language, type and scope are right."""
    one = only(prompt)
    assert (one.content, one.type, one.scope, one.origin) == (content, type_, scope, Origin.USER)
    assert one.confidence >= 0.7


def test_asking_to_remember_is_marked() -> None:
    """`explicit` may bring back what was deleted; a plain statement may not."""
    assert only("remember that the pump has two speeds").explicit
    assert not only("we decided on two speeds for the pump").explicit


def test_a_guess_is_kept_below_the_threshold_or_not_at_all() -> None:
    """One hedge lowers confidence, a doubt said outright drops the sentence."""
    assert [one.confidence for one in kept("I believe we decided on two speeds for the pump.")] == [0.5]
    assert kept("I think the pump is maybe on port 7, not sure") == []
    assert kept("泵好像是 7 号口吧，记不清了") == []


def test_what_points_elsewhere_is_resolved_or_left_out() -> None:
    """A pronoun is only stored together with the sentence it points to."""
    assert kept("use that from now on") == []
    assert kept("it always needs two restarts") == []
    (one,) = kept("The gateway is a Moxa NPort. It drops idle connections after 5 minutes.")
    assert "Moxa" in one.content
    assert "5 minutes" in one.content


def test_a_secret_and_the_clause_around_it_stay_out() -> None:
    """The place is kept, the value is not, nor a memory that says nothing but a mask."""
    word = "Tr0ub" + "4dor!"
    one = only(f"Remember that the log database is read only: postgres://ro:{word}@db.example.net/log")
    assert one.content == "The log database is read only: postgres://ro@db.example.net/log."
    assert kept(f"the bastion password is {word}, log in and check the disk") == []


def test_giving_something_up_is_told_with_and_without_what_comes_instead() -> None:
    """`revokes` names it in the turn's words; alone it has no content, and the replacement says that it replaces."""
    gone, now = kept("Scrap the nightly sync. From now on scores are pushed by the app.")
    assert (gone.content, gone.revokes) == ("", "the nightly sync")
    assert now.content == "Scores are pushed by the app."
    assert now.replaces
    assert only("forget the rule about 80 columns, it no longer applies").content == ""
    assert only("之前 Flink 那套方案废弃了，统一改用 Spark。").revokes == "Flink"
    assert kept("should we scrap the nightly sync?") == []


def test_an_order_to_use_something_else_is_a_decision_where_both_are_named() -> None:
    """B98: the sentence alone says what is given up; an order about the code at hand is not meant to last."""
    swap = only("drop Sidekiq, use Oban for background jobs")
    assert (swap.content, swap.revokes) == ("Use Oban for background jobs instead of Sidekiq.", "Sidekiq")
    assert only("ok let's get rid of redis and use Valkey instead").revokes == "redis"
    assert only("Drop Moment, our date library is Luxon.").revokes == "Moment"
    here = "drop React, use Vue in this component"
    for order in ("drop the loop, use a comprehension", "remove the unused import and use pathlib instead", here):
        assert kept(order) == []
    assert kept("should we drop Sidekiq and use Oban?") == []


def test_a_list_under_a_heading_is_kept_line_by_line() -> None:
    """Each line is a memory of its own."""
    found = kept("Remember:\n- staging listens on port 5433\n- production listens on port 5432\n\nnow run the tests")
    assert [one.content for one in found] == ["Staging listens on port 5433.", "Production listens on port 5432."]


def test_reports_of_progress_stay_together() -> None:
    """Where the work stands is one memory, not one a sentence."""
    one = only("The pump driver is finished. Next up is the valve.")
    assert one.type is Type.PROGRESS
    assert "valve" in one.content


@pytest.mark.parametrize(
    "prompt",
    [
        "> we always use tabs here\n\nis that so?",
        "```\n# remember: never call this twice\n```\nwhat does it mean",
        "what is this?\n2031-01-02 03:04:05 INFO we decided to always retry",
        "Traceback (most recent call last):\n  File 'x.py'\nValueError: must never be empty",
        "| rule | always |\n|---|---|\n| tabs | never |",
        "diff --git a/x b/x\n+# always use tabs\n-# never use tabs\nreview it",
        'Here is a customer mail: "We always deploy on Mondays." Draft an answer.',
        "Implement this plan:\n1. Always validate\n2. Never log the body",
        "Translate: We decided to move to Oslo. From now on the office closes at five.",
    ],
)
def test_pasted_and_quoted_text_is_nobodys_word(prompt: str) -> None:
    """Code, logs, diffs, tables, quotes, plans and texts to work on may give orders: they are not the user's."""
    assert kept(prompt) == []


def test_the_assistant_only_contributes_what_it_found_out() -> None:
    """A cause is a lesson with its origin; advice, plans, offers and reports of work are nothing."""
    one = only(
        "why does the pump stop?", "Root cause: the relay times out after 3 s while the valve needs 5 s. I raised it."
    )
    assert (one.type, one.origin) == (Type.LESSON, Origin.ASSISTANT)
    assert "relay" in one.content
    for answer in (
        "Always check the relay first. You should never skip it.",
        "I fixed the relay and ran all tests.",
        "Shall I go on?",
    ):
        assert kept("look at the pump", answer) == []
    assert kept("should we always lock?", "We decided on locks. I prefer them, remember that they are cheap.") == []


def test_an_interrupted_turn_keeps_the_prompt() -> None:
    """What the person said counts; the half answer does not."""
    found = kept(
        "we decided on two speeds for the pump", "Root cause: the relay times out because of", interrupted=True
    )
    assert [one.content for one in found] == ["We decided on two speeds for the pump."]


@pytest.mark.parametrize(
    ("question", "answer", "content"),
    [
        ("Which cache backend?", "Redis with 60 s TTL", "Cache backend: Redis with 60 s TTL."),
        ("Where should the uploads go?", "S3, bucket upl-eu", "Uploads: S3, bucket upl-eu."),
        ("缓存用什么？", "Redis，过期 60 秒", "缓存：Redis，过期 60 秒。"),
        ("Run `sudo apt install x`", "no, never use sudo", "Never use sudo."),
    ],
)
def test_an_answer_to_a_question_becomes_a_sentence(question: str, answer: str, content: str) -> None:
    """The question's subject stands in front of a short answer; a refusal with a reason stands for itself."""
    assert only("go on", answers=(Answer(question, answer),)).content == content


@pytest.mark.parametrize(
    ("question", "answer"), [("Should I run the tests?", "yes"), ("Which one?", "not sure yet"), ("Proceed?", "later")]
)
def test_permissions_and_shrugs_are_no_decisions(question: str, answer: str) -> None:
    """Only a choice is."""
    assert kept("go on", answers=(Answer(question, answer),)) == []


def test_picking_an_option_stores_the_option() -> None:
    """`B.` alone says nothing; the option's text and the reason do."""
    listed = "Which queue do we want?\nOption A: Celery with Redis. Option B: a Postgres table. Option C: SQS."
    one = only("B. one thing less to babysit", "ok", context=listed)
    assert one.content == "Queue: a Postgres table; one thing less to babysit."
    assert one.type is Type.DECISION
    assert kept("b", "ok", context="Done.") == []


def test_tags_come_from_a_small_vocabulary() -> None:
    """What is named outright, with its namespace; ordinary words that are also products are not taken for them."""
    assert only("we decided: production runs Postgres in Docker").tags == (
        "tech:postgres",
        "tech:docker",
        "env:production",
    )
    assert only("we decided to go for two speeds, the rest stays").tags == ()


def test_explicit_statements_need_no_model() -> None:
    """Without an encoder the cues of the language alone decide."""
    found = rules.extract(turn("we decided on two speeds for the pump. The kiln is old."), None)
    assert [one.content for one in found] == ["We decided on two speeds for the pump."]


def test_a_turn_takes_milliseconds_and_a_paste_no_longer_than_a_breath() -> None:
    """A paste of a megabyte is looked at from its ends only."""
    begun = time.thread_time()
    for dialogue in DIALOGUES[:100]:
        stored(dialogue)
    assert time.thread_time() - begun < 5
    begun = time.thread_time()
    for hostile in ("的" * 780, "please " * 110, "说" * 780, "and so " * 110):
        kept(hostile)
    kept("what is this?\n" + "We always use the other one, and (never) [this] `one`; it runs on port 80. " * 13_000)
    assert time.thread_time() - begun < 3


@pytest.mark.parametrize(
    "prompt", ["", " \n", "\ufffd", "?", "...", "` `` ```", "\u3000。！", "Ａ" * 5000, "a, " * 3000, "((((" * 2000]
)
def test_odd_texts_do_no_harm(prompt: str) -> None:
    """Nothing is found, nothing is raised."""
    assert kept(prompt) == []


def test_training_gives_the_same_weights_again() -> None:
    """The shipped weights can be made anew from the same sentences, bit for bit, and fit the features."""
    from recalld.rules import classify, train

    rows = lines("sentences.jsonl")
    features, kinds, user = train.prepared(rows[:40])
    first, again = (train.fit(features, kinds, user) for _ in range(2))
    assert first.tobytes() == again.tobytes()
    assert first.shape == classify.weights().shape == (classify.WIDTH, len(classify.CLASSES) + 1)


@pytest.mark.parametrize(
    "prompt",
    [
        "24/05/02 11:20:41 WARN BlockManager: Block rdd_3 was lost on worker-2",
        "is this fine? 2026-05-02T11:20:41Z gateway ERROR upstream closed the connection early",
        "这段正常吗?\n[pool-3] WARN com.acme.Mailer - the queue is nearly full, 940 of 1000",
        "3 failed, 88 passed, 2 skipped in 14.20s",
        "Tests: 2 failed, 31 passed, 33 total",
        "An error occurred (ExpiredToken) when calling the PutObject operation",
        "error: login denied for key [redacted:aws-key] in region us-east-1",
        "street, zip code, city, country",
        "姓名、电话、地址、邮编",
        "The default limit of the query is 10, but I get 20 rows.",
        "The user is called twice on every reload.",
        "Let's use recursion for the inner loop.",
        "Show me the commits in all projects.",
    ],
)
def test_output_of_programs_lists_and_faults_are_not_kept(prompt: str) -> None:
    """Also where a line of a log stands alone."""
    assert kept(prompt) == []


@pytest.mark.parametrize(
    ("prompt", "type_", "scope"),
    [
        ("The default batch size of the importer is 500.", Type.FACT, Scope.PROJECT),
        ("Preview listens on port 4173.", Type.FACT, Scope.PROJECT),
        ("The timeout for the bank's API is 8 seconds.", Type.FACT, Scope.PROJECT),
        ("The read-only user of the replica is called reporter.", Type.FACT, Scope.PROJECT),
        ("预发集群的 redis 是 redis-pre-01。", Type.FACT, Scope.PROJECT),
        ("支付接口的限流是每分钟 300 次。", Type.FACT, Scope.PROJECT),
        ("All topic names start with acme-.", Type.PREFERENCE, Scope.PROJECT),
        ("Let's use Zod for all the request validation.", Type.DECISION, Scope.PROJECT),
        ("The retry limit for mails is now 5 instead of 3.", None, Scope.PROJECT),
        ("我们的 Node 已经升级到 20。", Type.DECISION, Scope.PROJECT),
        ("Next is the import of the price list.", Type.PROGRESS, Scope.PROJECT),
        ("What remains is the migration of the old images.", Type.PROGRESS, Scope.PROJECT),
        ("The exporter works in staging, only the retry logic is left.", Type.PROGRESS, Scope.PROJECT),
        ("In every project I want tests to run before a commit.", None, Scope.USER),
        ("不管哪个项目,变量名一律用英文。", None, Scope.USER),
        ("所有项目都一样:接口必须写文档。", None, Scope.USER),
    ],
)
def test_plain_statements_are_kept(prompt: str, type_: Type | None, scope: Scope) -> None:
    """A value, a name or a place of something, what comes next, and what holds in every project."""
    one = only(prompt)
    assert one.scope is scope
    assert type_ in (None, one.type)


@pytest.mark.parametrize(
    ("prompt", "content"),
    [
        (
            "Table names always start with dim_ or fact_; they never carry a date.",
            "Table names always start with dim_ or fact_; they never carry a date.",
        ),
        ("日志表的分区键一律叫 log_date,写成 yyyyMMdd。", "日志表的分区键一律叫 log_date,写成 yyyyMMdd。"),
        ("The importer is finished. Next is the exporter.", "The importer is finished; next is the exporter."),
    ],
)
def test_sentences_keep_their_second_half(prompt: str, content: str) -> None:
    """What follows a semicolon or a comma belongs to what it is about."""
    assert only(prompt).content == content


def test_a_changed_mind_gives_up_what_it_names() -> None:
    """`I changed my mind about A: B` keeps B and gives up A; a number alone names nothing that could be given up."""
    one = only("I changed my mind about tabs: from now on indent with two spaces, please.")
    assert (one.revokes, one.replaces) == ("tabs", True)
    assert only("The retry limit for mails is now 5 instead of 3.").revokes == ""
