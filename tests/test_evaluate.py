"""Judging labelled files: read as documented, scored as documented, by the product's own code, in a scratch store."""

from __future__ import annotations

import asyncio
import gzip
import json
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from recalld import recall
from recalld.bench import scratch
from recalld.cli.main import main
from recalld.client import Client
from recalld.config import Config
from recalld.errors import InputError, UnavailableError
from recalld.evaluate import documents, files, judge, plot, ranking, reliability, report, scores, sweep
from recalld.evaluate.result import Result
from recalld.model import Scope, Type
from recalld.paths import find
from recalld.percentile import percentile

Lines = list[dict[str, Any]]

CORPORA: Lines = [
    {"corpus": "kitchen", "docs": [
        {"id": "k1", "text": "The oven of the bakery is calibrated every second Monday.", "speaker": "Odile", "date": "2025-03-01", "session": "S1"},
        {"id": "k2", "text": "The oven of the bakery is calibrated every second Monday.", "speaker": "Odile", "date": "2025-03-01", "session": "S1"},
        {"id": "k3", "text": "Flour is delivered by the mill in Kestrel Lane.", "speaker": "assistant", "date": "March-15-2024", "session": "S2"},
        {"id": "k4", "text": "面团要在冷藏室里发酵十八个小时。", "speaker": "", "date": "", "session": ""},
        {"id": "k5", "text": "The till crashes when a coupon is entered twice.", "name": "coupon_bug", "aliases": ["double voucher"]},
    ], "queries": [
        {"q": "how often is the oven calibrated?", "rel": ["k1", "k2"], "cat": "exact"},
        {"q": "面团发酵多久？", "rel": ["k4"], "cat": "zh"},
        {"q": "double voucher", "rel": ["k5"], "cat": "alias"},
        {"q": "what about submarines?", "rel": []},
    ]},
    {"corpus": "garden", "docs": [{"id": "g1", "text": "The oven in the garden is built of clay."}],
     "queries": [{"q": "how often is the oven calibrated?", "rel": ["g1"]}]},
]  # fmt: skip

RECALL: Lines = [
    {"kind": "memory", "project": "mill", "id": "m1", "scope": "project", "type": "fact",
     "content": "The grinder driver talks Modbus RTU at 19200 baud."},
    {"kind": "memory", "project": "mill", "id": "m2", "scope": "user", "type": "preference", "content": "Answer briefly.",
     "broad": True},
    {"kind": "memory", "project": "dock", "id": "d1", "scope": "user", "type": "fact",
     "content": "The grinder driver of my own workshop talks CAN."},
    {"kind": "prompt", "project": "mill", "id": "p1", "text": "which baud rate does the grinder driver use for Modbus RTU?",
     "relevant": ["m1"], "ok": []},
    {"kind": "prompt", "project": "mill", "id": "p2", "text": "continue", "relevant": [], "ok": []},
    {"kind": "prompt", "project": "dock", "id": "p3", "text": "continue", "relevant": [], "ok": ["d1"]},
]  # fmt: skip

DIALOGUES: Lines = [
    {"id": "x1", "lang": "en", "tier": "rules", "turns": [
        {"prompt": "We decided to use pnpm for the whole monorepo.", "answer": "Fine.", "tool_text": "Always use yarn."}],
     "expect": [{"type": "decision", "must": ["PNPM", "mono"], "scope": "project", "min_conf": 0.6}], "forbid": ["yarn"]},
    {"id": "x2", "lang": "en", "tier": "rules", "turns": [{"prompt": "what is pnpm?", "answer": "A package manager."}],
     "expect": [], "forbid": ["."]},
    {"id": "x3", "lang": "zh", "tier": "rules", "turns": [{"prompt": "记住：测试库的端口是 5433。", "answer": "好的。"}],
     "expect": [{"must": ["5434"], "scope": None}], "forbid": ["测试库"]},
]  # fmt: skip

LIVES: Lines = [
    {"id": "l1", "lang": "en", "tier": "rules", "steps": [
        {"say": {"prompt": "Remember: the staging database listens on port 5433.", "answer": "Noted."}},
        {"replay": 0},
        {"remember": "Release branches are cut every second Wednesday.", "type": "fact"},
        {"delete": "RELEASE branches"},
        {"edit": ["5433", "The staging database listens on port 6000."]},
        {"replay": 0}],
     "final": {"active": [["staging", "6000"]], "superseded": [], "conflict": [], "absent": ["5433", "Wednesday"], "count_max": 1}},
    {"id": "l2", "lang": "en", "tier": "llm", "steps": [
        {"remember": "The importer is half done, the CSV part is missing.", "type": "progress"}, {"days": 200}],
     "final": {"active": [], "absent": ["half done"], "count_max": 0}},
    {"id": "l3", "lang": "en", "tier": "llm", "steps": [{"remember": "The API is written in Go."}],
     "final": {"active": [["Rust"]], "superseded": [["Go"]], "conflict": [["Go", "Rust"]], "absent": ["API"], "count_max": 0}},
]  # fmt: skip


def written(path: Path, lines: Lines) -> Path:
    path.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines))
    return path


def judged(path: Path, lines: Lines, **options: Any) -> Result:
    cases = [files.read(written(path, lines))]
    return asyncio.run(judge.judge(cases, Config(), path.parent, {}, judge.Options(**options), lambda: None))[0]


def without(lines: Lines, *labels: str) -> Lines:
    return [
        {
            name: [{k: v for k, v in item.items() if k not in labels} for item in value] if name == "queries" else value
            for name, value in line.items()
            if name not in labels
        }
        for line in lines
    ]


# Files --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("lines", "kind", "number"),
    [(CORPORA, "retrieval", 2), (RECALL, "recall", 6), (DIALOGUES, "extraction", 3), (LIVES, "lifecycle", 3)],
)
def test_the_four_kinds_are_told_apart_by_their_fields_plain_or_compressed(
    tmp_path: Path, lines: Lines, kind: str, number: int
) -> None:
    plain = written(tmp_path / "cases.jsonl", lines)
    packed = tmp_path / "packed"
    packed.write_bytes(gzip.compress(b"\xef\xbb\xbf" + plain.read_bytes() + b"\n\n"))
    for path in (plain, packed):
        file = files.read(path)
        assert (file.kind, len(file.cases)) == (kind, number)


@pytest.mark.parametrize(
    "line",
    ['{"broken', "[1]", "{}", '{"kind": "other"}', '{"id": "x", "turns": [{"prompt": 1}]}',
     '{"id": "x", "turns": [], "forbid": ["("]}', '{"id": "x", "steps": [{"say": {"prompt": "a"}, "days": 1}]}',
     '{"id": "x", "steps": [{"replay": 0}]}', '{"corpus": "c", "docs": [], "queries": []}'],
)  # fmt: skip
def test_a_wrong_line_is_named_with_its_file_and_number(tmp_path: Path, line: str) -> None:
    path = tmp_path / "cases.jsonl"
    path.write_text(json.dumps(DIALOGUES[0]) + "\n\n" + line + "\n")
    with pytest.raises(InputError, match=r"cases\.jsonl:3: .+"):
        files.read(path)


def test_a_file_that_is_missing_empty_or_damaged_is_named(tmp_path: Path) -> None:
    (tmp_path / "empty").write_text("\n")
    (tmp_path / "damaged").write_bytes(gzip.compress(b"{}")[:-4])
    for name in ("missing", "empty", "damaged"):
        with pytest.raises(InputError, match=name):
            files.read(tmp_path / name)


# Measures -----------------------------------------------------------------------------------------------------------


def test_measures_of_a_ranking() -> None:
    ranked, relevant = ["a", "b", "c", "d", "e", "f"], ["b", "f", "x"]
    assert scores.recall_at(ranked, relevant, 5) == pytest.approx(1 / 3)
    assert scores.recall_at(ranked, relevant, 10) == pytest.approx(2 / 3)
    assert scores.reciprocal_rank(ranked, relevant) == pytest.approx(0.5)
    assert scores.ndcg_at(ranked, relevant, 10) == pytest.approx((0.63093 + 0.35621) / (1 + 0.63093 + 0.5), abs=1e-4)
    assert scores.reciprocal_rank(ranked, ["x"]) == 0
    assert [percentile([5, 1, 4, 2, 3], part) for part in (0.5, 0.95, 1.0)] == [3, 5, 5]


def test_what_is_ok_or_broad_counts_neither_for_nor_against() -> None:
    """Micro-averages over prompts; silence is about prompts with nothing relevant."""
    prompts = [
        (["r1", "ok", "bad"], ["r1", "r2"], ["ok"]),
        (["ok"], [], ["ok"]),
        (["bad"], [], []),
        ([], [], []),
    ]
    precision, recall, f1, silent = sweep.injected(prompts)
    assert (precision, recall, silent) == pytest.approx((1 / 3, 1 / 2, 2 / 3))
    assert f1 == pytest.approx(0.4)


@pytest.mark.parametrize(
    ("text", "day"),
    [("2025-06-12", "2025-06-12"), ("March-15-2024", "2024-03-15"), ("1:56 pm on 8 May, 2023", "2023-05-08"),
     ("2026-01-05T09:00:00Z", "2026-01-05"), ("some day", None), ("", None), (None, None)],
)  # fmt: skip
def test_dates_are_read_as_they_are_written(text: str | None, day: str | None) -> None:
    found = documents.moment_of(text)
    assert (found.date().isoformat() if found else None) == day


# The four kinds -----------------------------------------------------------------------------------------------------


def test_each_corpus_is_a_project_and_keeps_every_document(tmp_path: Path) -> None:
    """Also two documents of the same words; none of another corpus is ever ranked."""
    result = judged(tmp_path / "corpora", CORPORA)
    ranked = {(item["corpus"], item["q"]): item["ranked"] for item in result.details}
    assert set(ranked[("kitchen", "how often is the oven calibrated?")][:2]) == {"k1", "k2"}
    assert ranked[("garden", "how often is the oven calibrated?")] == ["g1"]
    assert ranked[("kitchen", "面团发酵多久？")][0] == "k4"
    assert ranked[("kitchen", "double voucher")][0] == "k5"
    assert [item["q"] for item in result.details[:4]] == [query["q"] for query in CORPORA[0]["queries"]]


def test_corpora_of_one_name_are_two_projects(tmp_path: Path) -> None:
    twins = [{**CORPORA[1]}, {**CORPORA[0], "corpus": "garden"}]
    ranked = [item["ranked"] for item in judged(tmp_path / "twins", twins).details]
    assert ranked[0] == ["g1"]
    assert all("g1" not in found for found in ranked[1:])


def test_retrieval_is_reported_as_documented(tmp_path: Path) -> None:
    result = judged(tmp_path / "corpora", CORPORA)
    (told,) = report.as_json([result], details=False)
    assert "plain FTS5, to compare" in report.as_text([result], details=False)
    assert list(told) == ["kind", "r5", "r10", "ndcg10", "mrr", "query_ms", "by_cat"]
    assert (told["kind"], told["r5"], told["mrr"]) == ("retrieval", 1.0, 1.0)
    assert set(told["query_ms"]) == {"p50", "p95"}
    assert told["by_cat"]["zh"]["r5"] == 1.0


def test_as_injected_lets_threshold_and_budget_decide_in_retrieval_too(tmp_path: Path) -> None:
    all_of_them = judged(tmp_path / "a", CORPORA)
    injected = judged(tmp_path / "b", CORPORA, as_injected=True)
    asked = "what about submarines?"
    assert next(item["ranked"] for item in injected.details if item["q"] == asked) == []
    assert sum(len(item["ranked"]) for item in injected.details) < sum(
        len(item["ranked"]) for item in all_of_them.details
    )


def test_recall_sets_tell_what_is_really_injected(tmp_path: Path) -> None:
    """Each prompt in a session of its own, in its own project: another's memories of user scope are not there."""
    result = judged(tmp_path / "recall", RECALL)
    assert [item["injected"] for item in result.details] == [["m1"], [], []]
    (told,) = report.as_json([result], details=False)
    rows = told.pop("reliability")
    assert told == {"kind": "recall", "precision": 1.0, "recall": 1.0, "f1": 1.0, "silent": 1.0}
    assert [(row["n"], row["relevant"]) for row in rows] == [(1, 1.0)]
    assert rows[0]["low"] <= rows[0]["similarity"] <= rows[0]["high"]
    assert "of the items scored" in report.as_text([result], details=False)


def test_the_reliability_table_holds_each_scored_item_once() -> None:
    def item(name: str, similarity: float) -> recall.Scored:
        return recall.Scored(seq=1, id=name, scope=Scope.USER, type=Type.FACT, content=name, similarity=similarity)

    def labelled(silent: bool, *items: recall.Scored) -> sweep.Labelled:
        return sweep.Labelled(ranking.Ranked(items, {}, silent, 0.0), {"yes", "top"}, {"neutral"})

    rows = reliability.table(
        [
            labelled(False, item("yes", 0.52), item("no", 0.58), item("neutral", 0.55), item("top", 1.0)),
            labelled(False, item("no", 0.01)),
            labelled(True, item("yes", 0.95)),
        ]
    )
    assert [tuple(row) for row in rows] == [(0.0, 0.1, 1, 0.01, 0.0), (0.5, 0.6, 2, 0.55, 0.5), (0.9, 1.0, 1, 1.0, 1.0)]
    assert reliability.table([]) == ()


def test_a_prompt_asked_twice_is_given_the_same_twice(tmp_path: Path) -> None:
    """Sessions and use counts of one prompt do not touch the next."""
    again = [*RECALL, {**RECALL[3], "id": "p9"}]
    assert [item["injected"] for item in judged(tmp_path / "recall", again).details] == [["m1"], [], [], ["m1"]]


def test_extraction_is_scored_as_documented(tmp_path: Path) -> None:
    result = judged(tmp_path / "dialogues", DIALOGUES)
    (told,) = report.as_json([result], details=True)
    assert told["tiers"] == {"rules": {"positive": [1, 2], "negative": [1, 1]}, "llm": "not run"}
    assert told["forbid_hits"] == 1
    assert told["neutral_per_turn"] == 0.0
    assert [failure["id"] for failure in told["failures"]] == ["x3"]
    assert "5434" in told["failures"][0]["why"]
    assert "forbidden" in told["failures"][0]["why"]
    (stored,) = told["details"][0]["stored"]
    assert set(stored) == {"type", "scope", "content", "confidence", "status", "origin"}
    assert told["details"][1] == {"id": "x2", "stored": []}
    assert result.notes[0] == "by language: en 2 of 2, zh 0 of 1"


def test_a_memory_that_nobody_spoke_of_is_neutral(tmp_path: Path) -> None:
    case = {**DIALOGUES[0], "expect": [{"must": ["nothing of the kind"]}], "forbid": []}
    assert judged(tmp_path / "dialogues", [case]).scores["neutral_per_turn"] == 1.0


def test_lives_are_lived_step_by_step_with_simulated_days(tmp_path: Path) -> None:
    (told,) = report.as_json([judged(tmp_path / "lives", LIVES)], details=True)
    assert told["tiers"] == {"rules": [1, 1], "llm": [1, 2]}
    (failure,) = told["failures"]
    assert failure["id"] == "l3"
    for part in (
        "not active: Rust",
        "not superseded: Go",
        "no conflict: Go | Rust",
        "not absent: API",
        "1 active, at most 0",
    ):
        assert part in failure["why"]
    assert told["details"][2]["memories"] == [
        {"content": "The API is written in Go.", "type": "fact", "status": "active", "conflicts": []}
    ]


@pytest.mark.parametrize("lines", [CORPORA, RECALL, DIALOGUES, LIVES])
def test_without_labels_there_are_details_and_no_scores(tmp_path: Path, lines: Lines) -> None:
    bare = without(lines, "rel", "relevant", "ok", "expect", "forbid", "final", "tier")
    (told,) = report.as_json([judged(tmp_path / "bare", bare, swept=True)], details=True)
    (labelled,) = report.as_json([judged(tmp_path / "labelled", lines)], details=True)
    assert list(told) == ["kind", "details"]
    assert [_timeless(item) for item in told["details"]] == [_timeless(item) for item in labelled["details"]]


def _timeless(detail: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in detail.items() if name != "ms"}


def test_the_sweep_at_the_threshold_in_use_is_what_was_injected(tmp_path: Path) -> None:
    """The curve is made from rankings, the scores by the service; they cannot drift apart unseen."""
    result = judged(tmp_path / "recall", RECALL, swept=True)
    assert result.curve is not None
    used = next(p for p in result.curve if p.threshold == Config().memory.similarity_threshold)
    assert [round(value, 4) for value in (used.precision, used.recall, used.f1, used.silent)] == [
        result.scores[name] for name in ("precision", "recall", "f1", "silent")
    ]
    assert result.curve[0].recall == 1.0
    assert result.curve[-1].recall == 0.0


def test_ten_cases_leave_the_same_rows_through_the_socket_of_a_real_daemon(tmp_path: Path) -> None:
    cases = [{"id": f"c{number}", "turns": turns} for number, turns in enumerate(TEN)]
    details = judged(tmp_path / "cases", cases).details
    expected = {
        item["id"]: sorted((s["content"], s["type"], s["scope"], s["status"]) for s in item["stored"])
        for item in details
    }
    assert _through_the_socket(tmp_path / "home", cases) == expected
    assert sum(map(len, expected.values())) >= 8


TEN: list[Lines] = [
    [{"prompt": "We decided to use pnpm for the whole monorepo.", "answer": "Fine."}],
    [{"prompt": "Remember: the staging database listens on port 5433.", "answer": "Noted."},
     {"prompt": "The staging database now listens on port 5500.", "answer": "Noted."}],
    [{"prompt": "what is a monad?", "answer": "A monoid in the category of endofunctors."}],
    [{"prompt": "记住：发布分支每两周的周三切出。", "answer": "好的。"}],
    [{"prompt": "maybe we could use Rust for the parser, not sure", "answer": "Possible."}],
    [{"prompt": "Never commit generated files in this repo.", "answer": "Understood."}],
    [{"prompt": "We decided that invoices are rendered on the server.", "answer": "Fine."},
     {"prompt": "We decided that invoices are rendered on the server.", "answer": "I know."}],
    [{"prompt": "不要在这个项目里用 moment，改用 dayjs。", "answer": "好。"}],
    [{"prompt": "The webhook tests failed because the clock of the runner was wrong. Remember that.", "answer": "Ok."}],
    [{"prompt": "continue", "answer": "Done."}, {"prompt": "We agreed on OpenAPI 3.1 for the public API.", "answer": "Good."}],
]  # fmt: skip


def _through_the_socket(root: Path, cases: Lines) -> dict[str, list[tuple[str, ...]]]:
    """The memories that each case leaves in the store of a real daemon, by case, each in a project of its own."""
    home = scratch.Home(find({"RECALLD_HOME": str(root)}), root / "work", 0)
    home.paths.ensure()
    home.paths.config.write_text(scratch.CONFIG)
    with scratch.daemon(home) as running:
        running.until_model()
        for number in range(max(len(case["turns"]) for case in cases)):
            for case in cases:
                if number < len(case["turns"]):
                    _say(running.client, root / "work" / case["id"], case["id"], number, case["turns"][number])
            running.until(lambda status: status["jobs"]["ready"] + status["jobs"]["running"] == 0)
        rows = running.client.call("list", project="all", status="all")
    stored: dict[str, list[tuple[str, ...]]] = defaultdict(list)
    for row in rows:
        stored[row["source_session"]].append((row["content"], row["type"], row["scope"], row["status"]))
    return {case["id"]: sorted(stored[case["id"]]) for case in cases}


def _say(client: Client, folder: Path, session: str, number: int, turn: dict[str, Any]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    fields = {"session_id": session, "cwd": str(folder), "prompt_id": f"{session}-{number}"}
    for event, more in (
        ("prompt", {"hook_event_name": "UserPromptSubmit", "prompt": turn["prompt"]}),
        ("stop", {"hook_event_name": "Stop", "last_assistant_message": turn["answer"]}),
    ):
        reply = client.exchange(f"hook {event} entrypoint=cli\n".encode() + json.dumps(fields | more).encode())
        assert json.loads(reply) is not None


# The command --------------------------------------------------------------------------------------------------------


@pytest.fixture
def owner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The owner's home; nothing may be written there."""
    home = tmp_path / "owner"
    home.mkdir()
    monkeypatch.setenv("RECALLD_HOME", str(home))
    return home


def test_the_command_prints_an_object_a_file_and_never_touches_the_owners_store(
    owner: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    paths = [str(written(tmp_path / "a.jsonl", RECALL)), str(written(tmp_path / "b.jsonl", DIALOGUES))]
    assert main(["eval", *paths, "--json", "--details"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [item["kind"] for item in told] == ["recall", "extraction"]
    assert all(item["details"] for item in told)
    assert list(owner.iterdir()) == []


def test_the_command_tells_people_what_failed_and_why(
    owner: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["eval", str(written(tmp_path / "b.jsonl", DIALOGUES))]) == 0
    out = capsys.readouterr().out
    assert "b.jsonl: extraction, 3 cases" in out
    assert "positive 1 of 2, negative 1 of 1" in out
    assert "x3: expected 5434" in out


def test_a_broken_file_is_one_line_and_exit_code_1(
    owner: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "broken.jsonl"
    path.write_text("{\n")
    assert main(["eval", str(path)]) == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.count("\n") == 1
    assert "broken.jsonl:1" in said.err


def test_a_backend_that_cannot_be_used_is_refused_rather_than_replaced(
    owner: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "claude"))
    path = written(tmp_path / "b.jsonl", DIALOGUES)
    assert main(["eval", str(path), "--backend", "anthropic"]) == 1
    assert "--backend anthropic cannot be used" in capsys.readouterr().err


def test_the_plot_is_one_page_that_needs_nothing_else(owner: Path, tmp_path: Path) -> None:
    page = tmp_path / "threshold.html"
    assert main(["eval", str(written(tmp_path / "<b>.jsonl", RECALL)), "--plot", str(page)]) == 0
    html = page.read_text()
    assert html.count("<polyline") == 4
    assert "&lt;b&gt;.jsonl" in html
    assert "http" not in html
    assert "<script" not in html


def test_a_plot_that_cannot_be_drawn_is_refused_before_the_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(InputError, match=r"\.html or \.png"):
        plot.check(tmp_path / "threshold.pdf")
    with pytest.raises(UnavailableError, match=r"recalld\[plot\]"):
        plot.check(tmp_path / "threshold.png")
    with pytest.raises(InputError, match="only labelled"):
        plot.draw(tmp_path / "threshold.html", [judged(tmp_path / "lives", LIVES[2:])], 0.5)


def test_the_embedding_model_of_the_settings_is_the_one_that_is_judged(tmp_path: Path) -> None:
    config = Config(embed=type(Config().embed)(model=str(tmp_path / "none")))
    cases = [files.read(written(tmp_path / "recall", RECALL))]
    with pytest.raises(UnavailableError):
        asyncio.run(judge.judge(cases, config, tmp_path, {}, judge.Options(), lambda: None))
