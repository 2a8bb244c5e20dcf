"""The documents that are made from the code are those of this code."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
from pathlib import Path

import pytest

DOCS = Path(__file__).parent.parent / "docs"


def script(name: str):
    spec = importlib.util.spec_from_file_location(name, DOCS / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_manual_page_is_the_commands() -> None:
    """docs/recalld.1 has every command and option as it is now; `docs/make_man.py` writes it anew."""
    assert (DOCS / "recalld.1").read_text() == script("make_man").page()


@pytest.mark.skipif(not shutil.which("groff"), reason="there is no groff here")
def test_the_manual_page_is_sound_roff() -> None:
    """groff has nothing to warn of."""
    done = subprocess.run(["groff", "-man", "-ww", "-Tutf8", "-z", DOCS / "recalld.1"], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
