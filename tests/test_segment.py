"""Text becomes the words that a question about it would use."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recalld import segment


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("useAuthStore", {"use", "auth", "store", "useauthstore"}),
        ("snake_case_name", {"snake", "case", "name", "snakecasename"}),
        ("multi-stage build", {"multi", "stage", "multistage", "build"}),
        ("src/lib/pyramid.rs", {"src", "lib", "pyramid", "rs", "pyramidrs"}),
        ("HTTPServer", {"http", "server", "httpserver"}),
        ("Postgres16 and v3.12", {"postgres", "16", "postgres16", "v3", "12", "v312"}),
        ("C++, C# and .NET", {"cpp", "csharp", "dotnet"}),
        ("--tile-size", {"tile", "size", "tilesize"}),
    ],
)
def test_code_is_found_by_its_parts_and_as_a_whole(text: str, words: set[str]) -> None:
    assert words <= set(segment.index_text(text).lower().split())


def test_chinese_is_found_by_characters_and_pairs_and_code_in_it_stands_alone() -> None:
    words = segment.index_text("先执行build-core再发布").split()
    assert {"先", "执行", "build", "core", "buildcore", "发布"} <= set(words)


def test_japanese_and_korean_are_cut_too() -> None:
    assert "並列" in segment.index_text("テストは並列で実行しない").split()
    assert "테스" in segment.index_text("테스트").split()


def test_wide_letters_and_compatibility_forms_are_one_word() -> None:
    assert segment.terms("ＡＢＣ ﬁx") == segment.terms("ABC fix")


def test_a_query_of_stop_words_asks_for_nothing() -> None:
    assert segment.terms("what is it that you want me to do") == []
    assert segment.terms("这个的是吗") == []
    assert segment.terms("") == []


def test_terms_are_bounded_and_said_once() -> None:
    assert segment.terms("deploy deploy Deploy") == ["deploy"]
    assert len(segment.terms(" ".join(f"word{i}" for i in range(5_000)))) == segment.MAX_TERMS


def test_a_match_expression_holds_only_quoted_strings() -> None:
    assert segment.match(["a", 'b"c']) == '"a" OR "b""c"'


@given(st.text(max_size=300))
def test_any_text_at_all_can_be_segmented(text: str) -> None:
    assert all(word and not word.isspace() for word in segment.index_text(text).split(" ") if word)
    assert all(term == term.lower() for term in segment.terms(text) if term.isascii())
