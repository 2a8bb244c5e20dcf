"""What is released: the same bytes each time, with everything in it, and a list of what it is made of."""

from __future__ import annotations

import gzip
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

import recalld

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "docs"))

import make_release  # noqa: E402
import make_sbom  # noqa: E402

EPOCH = "1700000000"
KEPT = ("daemon", "docs", "hooks", "systemd", "skills", "tests", ".claude-plugin", "pyproject.toml", "README.md",
        "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "LICENSE", "install.sh", "requirements.lock", "requirements-dev.lock",
        "Makefile", ".gitignore")  # fmt: skip


def uv() -> bool:
    return bool(shutil.which("uv")) and subprocess.run(["uv", "--version"], capture_output=True).returncode == 0


@pytest.fixture(scope="module")
def builds(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, Path]]:
    """Two builds, from two copies of the tree that differ in place, file times and the mask of modes."""
    if not uv():
        pytest.skip("needs uv")
    made = []
    for number, mask in ((1, 0o022), (2, 0o077)):
        root = tmp_path_factory.mktemp(f"tree{number}") / ("x" * number)
        before = os.umask(mask)
        try:
            root.mkdir()
            for name in KEPT:
                source = ROOT / name
                if source.is_dir():
                    shutil.copytree(
                        source, root / name, copy_function=shutil.copyfile,
                        ignore=shutil.ignore_patterns("__pycache__", ".mypy_cache", ".ruff_cache"),
                    )  # fmt: skip
                else:
                    shutil.copyfile(source, root / name)
            for path in root.rglob("*"):
                os.utime(path, (number * 1e9, number * 1e9))
            made.append(make_release.build(root, root.parent / "dist", {"SOURCE_DATE_EPOCH": EPOCH}))
        finally:
            os.umask(before)
    yield made[0], made[1]


@pytest.mark.timeout(300)
def test_two_builds_are_the_same(builds: tuple[Path, Path]) -> None:
    """Byte by byte, wherever and whenever they are made: anyone can see that an upload is what the tag says."""
    first, second = map(make_release.digests, builds)
    assert len(first) == 2
    assert first == second


@pytest.mark.timeout(300)
def test_the_wheel_has_everything(builds: tuple[Path, Path]) -> None:
    """What is in the checkout and needed on a user's machine: nothing is fetched later."""
    (wheel,) = builds[0].glob("*.whl")
    with zipfile.ZipFile(wheel) as opened:
        names = opened.namelist()
        manual = [name for name in names if name.endswith("share/man/man1/recalld.1")]
        assert len(manual) == 1
        assert opened.read(manual[0]) == (ROOT / "docs/recalld.1").read_bytes()
        (metadata,) = [name for name in names if name.endswith(".dist-info/METADATA")]
        assert f"Version: {recalld.__version__}\n" in opened.read(metadata).decode()
    for folder, place in (
        ("daemon/recalld", "recalld"), ("hooks", "recalld/assets/hooks"), ("systemd", "recalld/assets/systemd"),
        ("skills", "recalld/assets/skills"), (".claude-plugin", "recalld/assets/.claude-plugin"),
    ):  # fmt: skip
        source = ROOT / folder
        files = [
            path.relative_to(source) for path in source.rglob("*") if path.is_file() and "__pycache__" not in path.parts
        ]
        assert files
        missing = [str(path) for path in files if f"{place}/{path}" not in names and path.suffix != ".pyc"]
        assert missing == [], folder
    for name in ("recalld/py.typed", "recalld/embedding_model/model.safetensors", "recalld/web/static/index.html",
                 "recalld/store/migrations/0001_initial.sql"):  # fmt: skip
        assert name in names
    assert not [name for name in names if name.endswith(".pyc") or "/tests/" in name]


@pytest.mark.timeout(300)
def test_the_source_archive_builds_and_is_tested_by_itself(builds: tuple[Path, Path]) -> None:
    """The wheel is built from it; the tests and documents are in it, and nothing of whoever packed it."""
    (archive,) = builds[0].glob("*.tar.gz")
    with tarfile.open(fileobj=gzip.open(archive)) as opened:
        members = opened.getmembers()
    names = {member.name.split("/", 1)[1] for member in members if "/" in member.name}
    assert {
        "install.sh",
        "requirements.lock",
        "Makefile",
        "tests/conftest.py",
        "docs/release.md",
        "hooks/hook.py",
        "pyproject.toml",
    } <= names
    assert {member.uname for member in members} <= {"", "root"}
    assert {member.mtime for member in members} == {int(EPOCH)}


def test_the_list_of_parts_has_every_package_of_the_lock(monkeypatch: pytest.MonkeyPatch) -> None:
    """CycloneDX 1.6: each with its version and digests, once; the model too; and the same each time."""
    monkeypatch.setenv("SOURCE_DATE_EPOCH", EPOCH)
    found = make_sbom.describe(ROOT)
    assert (found["bomFormat"], found["specVersion"], found["version"]) == ("CycloneDX", "1.6", 1)
    assert re.fullmatch(r"urn:uuid:[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", found["serialNumber"])
    assert found["metadata"]["timestamp"] == "2023-11-14T22:13:20Z"
    assert found["metadata"]["component"]["version"] == recalld.__version__
    lock = (ROOT / "requirements.lock").read_text()
    pinned = re.findall(r"^([A-Za-z0-9._-]+)==([^\s;\\]+)", lock, re.MULTILINE)
    libraries = [part for part in found["components"] if part["type"] == "library"]
    assert {(part["name"], part["version"]) for part in libraries} == {
        (re.sub(r"[-_.]+", "-", name).lower(), version) for name, version in pinned
    }
    digests = [one["value"] for part in libraries for one in part["properties"] if one["name"] == "recalld:sha256"]
    assert len(digests) == lock.count("--hash=sha256:")
    references = [part["bom-ref"] for part in found["components"]]
    assert len(set(references)) == len(references)
    assert set(found["dependencies"][0]["dependsOn"]) == set(references)
    assert [part["name"] for part in found["components"] if part["type"] == "machine-learning-model"] == ["zhen2-256"]
    assert json.dumps(found) == json.dumps(make_sbom.describe(ROOT))


def test_what_does_not_agree_is_not_released(tmp_path: Path) -> None:
    """The program, the plugin and the changelog name one version."""
    for name in ("daemon/recalld/__init__.py", ".claude-plugin/plugin.json", "CHANGELOG.md"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, tmp_path / name)
    log = tmp_path / "CHANGELOG.md"
    log.write_text(f"# Changelog\n\n## [{recalld.__version__}] - 2026-01-31\n")
    assert make_release.unready(tmp_path) == []
    log.write_text("# Changelog\n\n## [Unreleased]\n")
    (tmp_path / ".claude-plugin/plugin.json").write_text('{"version": "9.9.9"}')
    assert [line.partition(":")[0] for line in make_release.unready(tmp_path)] == [
        ".claude-plugin/plugin.json", "CHANGELOG.md",
    ]  # fmt: skip
