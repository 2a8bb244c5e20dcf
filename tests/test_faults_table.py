"""The table of faults fits the tree: each row names a test that names the row, and text that the file holds once."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from mutation_run import ROOT, Row, load

ROWS = load()


@cache
def _functions(path: str) -> dict[str, str]:
    """The functions of a file by name, with their docstrings."""
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    found = (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
    return {node.name: ast.get_docstring(node) or "" for node in found}


@pytest.mark.parametrize("row", ROWS, ids=[f"{row.id}-{number}" for number, row in enumerate(ROWS)])
def test_a_row_fits_the_tree(row: Row) -> None:
    assert re.fullmatch(r"B\d\d", row.id)
    assert row.promise.endswith(".")
    if not row.test:
        assert row.untested or row.later
        return
    path, *_, name = re.sub(r"\[.*", "", row.test).split("::")
    assert row.id in f"{name} {_functions(path)[name]}"
    held = Path(ROOT, row.file).read_text(encoding="utf-8").count(row.find)
    assert held == 1, f"{row.file} holds the text {held} times"
    assert row.find != row.replace
