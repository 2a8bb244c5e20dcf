"""Measuring: what is measured is what users get, and a run tells the truth about itself."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from recalld.bench import minilm, reading, report, run, scratch, texts
from recalld.bench.spread import spread
from recalld.cli.main import main


def test_memories_are_many_different_sentences_in_two_languages() -> None:
    made = [texts.memory(number)[0] for number in range(10_000)]
    assert len(set(made)) > 9_900
    assert sum(not sentence.isascii() for sentence in made) == 2_500
    assert made == [texts.memory(number)[0] for number in range(10_000)]


def test_five_hundred_prompts_are_different_ones() -> None:
    assert len({texts.prompt(number, 900) for number in range(500)}) == 500


def test_a_question_is_about_its_memory() -> None:
    for number in (0, 3, 17, 4_711):
        shared = set(texts.memory(number)[0]) & set(texts.question(number))
        assert len(shared) > 3


@pytest.mark.parametrize(("size", "held"), [(1_000, 900), (10_000, 9_900), (100_000, 10_000), (1_000_000, 20_000)])
def test_the_project_at_hand_has_as_many_memories_as_the_numbers_speak_of(size: int, held: int) -> None:
    assert scratch.in_project(size) == held


def test_percentiles_are_measured_values() -> None:
    found = spread([float(number) for number in range(1, 101)])
    assert (found.p50, found.p95, found.p99, found.n) == (50, 95, 99, 100)


def test_every_turn_of_the_measured_transcript_is_found(tmp_path: Path) -> None:
    """A fast reader that skipped turns would measure nothing; the measurement itself refuses that."""
    found = reading.measure(tmp_path / "transcript.jsonl", turns=5)
    assert found.mb_per_s > 0
    assert found.new_turn_ms > 0


def test_a_whole_run_with_real_processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hooks that got no memory and a daemon that failed would end the run; all numbers are there and make sense."""
    monkeypatch.setenv("HOME", str(tmp_path))
    effort = run.Effort(hooks=3, prompts=12, dense=3, turns=5, rest_s=0.1)
    told: list[str] = []
    found = run.run((200,), effort, told.append, lambda _: None)
    assert set(found.hooks) == {"UserPromptSubmit", "SessionStart", "Stop"}
    assert all(times["hook"].p50 > 0 < times["bare"].p50 for times in found.hooks.values())
    (sized,) = found.sizes
    assert (sized.memories, sized.in_project) == (200, 180)
    assert 0 < sized.daemon.given <= sized.daemon.prompt.n == 12
    assert 0 < found.resting.serves_s <= found.resting.model_s
    assert told
    text = report.as_text(found)
    assert (sized.minilm is None) == (minilm.find() is None)
    for part in ("UserPromptSubmit", "200", "MB/s", "cores, load", "MiniLM"):
        assert part in text
    assert not (tmp_path / ".claude").exists()


def test_minilm_is_measured_only_where_it_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    if (model := minilm.find()) is not None:
        vectors = model.encode(
            ["which database do the orders use?", "The orders database is PostgreSQL.", "The logo is blue."]
        )
        assert vectors[0] @ vectors[1] > 2 * abs(vectors[0] @ vectors[2])
    monkeypatch.setattr(minilm, "MODEL", ("no_such_package", "model.onnx"))
    assert minilm.find() is None


@pytest.mark.parametrize("sizes", ["", "ten", "5", "1000,-1"])
def test_sizes_that_make_no_sense_are_wrong_use(sizes: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["bench", "--sizes", sizes, "--json"])
    assert ended.value.code == 2
    assert "--sizes" in capsys.readouterr().err


def test_the_command_takes_sizes_in_any_order(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[tuple[int, ...]] = []

    def measured(sizes: tuple[int, ...], *_: object) -> dict[str, list[int]]:
        asked.append(sizes)
        return {"sizes": list(sizes)}

    monkeypatch.setattr(run, "run", measured)
    assert main(["bench", "--quick", "--sizes", "10_000,1000", "--json"]) == 0
    assert asked == [(1_000, 10_000)]
    assert json.loads(capsys.readouterr().out) == {"sizes": [1_000, 10_000]}
