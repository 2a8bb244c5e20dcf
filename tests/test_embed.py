"""The built-in model: small, offline, and the same vectors as its own library makes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from recall_store import embedder
from recalld import embed
from recalld.errors import UnavailableError

PACKAGE = Path(embed.__file__).parents[1]


def test_vectors_are_of_length_one_and_empty_text_has_none() -> None:
    rows = embedder().encode(["deploy on Friday", "部署", "", "?! …", "x"])
    assert rows.shape == (5, embedder().dim)
    assert rows.dtype == np.float32
    assert np.linalg.norm(rows, axis=1).round(4).tolist() == [1, 1, 0, 0, 1]


def test_meaning_crosses_languages() -> None:
    chinese, english, other = embedder().encode(
        ["部署前先跑数据库迁移", "run the database migrations before deploying", "the logo is blue"]
    )
    assert chinese @ english > 0.5 > 0.2 > chinese @ other


def test_lone_surrogates_and_long_texts_are_no_error() -> None:
    assert embedder().encode(["\ud83d broken", "word " * 50_000]).shape[0] == 2


def test_the_matrix_stays_as_it_is_in_the_file() -> None:
    assert embedder()._table.dtype == np.int8
    assert isinstance(embedder()._table.base, np.memmap | np.ndarray)


def test_vectors_are_those_of_model2vec() -> None:
    """The library that defines the format, where it is installed, agrees."""
    model2vec = pytest.importorskip("model2vec")
    texts = ["useAuthStore keeps the token", "支付回调要验签", "", "Grüße aus Köln", "a" * 500]
    theirs = model2vec.StaticModel.from_pretrained(str(Path(embed.__file__).with_name("embedding_model")))
    assert np.allclose(embedder().encode(texts), theirs.encode(texts), atol=1e-5)


def test_loading_and_encoding_touch_no_network_and_little_memory() -> None:
    """In a process of its own, with sockets that refuse: below 80 MiB with numpy, tokenizer and model."""
    script = """
import json, resource, socket, sys
from pathlib import Path
def refuse(*_, **__): raise AssertionError("the network was asked")
socket.socket = socket.create_connection = socket.getaddrinfo = refuse
from recalld import embed
assert "numpy" not in sys.modules and "tokenizers" not in sys.modules
model = embed.load("builtin", Path("/nowhere"))
model.encode(["hello", "部署"] * 50)
status = Path("/proc/self/status")
rss = int(status.read_text().split("VmRSS:")[1].split()[0]) / 1024 if status.exists() else 0
print(json.dumps({"name": model.name, "mib": rss, "hub": "huggingface_hub" in sys.modules}))
"""
    run = subprocess.run(
        [sys.executable, "-c", script], env={"PYTHONPATH": str(PACKAGE)}, capture_output=True, text=True, check=True
    )
    told = json.loads(run.stdout)
    assert told["name"] == embed.BUILTIN_NAME
    assert told["mib"] < 80
    assert not told["hub"]


def test_a_model_that_is_not_there_is_said_so(tmp_path: Path) -> None:
    with pytest.raises(UnavailableError, match="neither"):
        embed.load("no such model", tmp_path)
    (tmp_path / "half").mkdir()
    with pytest.raises(UnavailableError, match="missing"):
        embed.load(str(tmp_path / "half"), tmp_path)


def test_a_damaged_model_is_said_so(tmp_path: Path) -> None:
    for name in ("config.json", "tokenizer.json", "model.safetensors"):
        (tmp_path / name).write_bytes(b"{}")
    with pytest.raises(UnavailableError, match="no usable"):
        embed.load(str(tmp_path), tmp_path)


def test_a_folder_of_ones_own_is_named_by_what_it_holds() -> None:
    folder = Path(embed.__file__).with_name("embedding_model")
    model = embed.load(str(folder), Path("/nowhere"))
    assert model.name.startswith(f"{folder}@")
    assert np.array_equal(model.encode(["a b"]), embedder().encode(["a b"]))


def test_short_texts_are_one_passage_and_long_ones_several() -> None:
    assert embed.passages("One sentence.") == ["One sentence."]
    assert embed.passages("") == [""]
    assert embed.passages("Answers are short.", ("verbosity",)) == ["Answers are short. verbosity"]
    page = "This is a sentence about something. " * 200
    pieces = embed.passages(page)
    assert 8 <= len(pieces) <= embed.MAX_PASSAGES
    assert max(map(len, pieces)) <= embed.PASSAGE_CHARS
    assert page.startswith(pieces[0])
    assert len(embed.passages("没有标点" * 10_000)) == embed.MAX_PASSAGES
