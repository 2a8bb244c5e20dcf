"""A home whose recalld runs in an environment of its own, so that `recalld encrypt` can install its library there."""

from __future__ import annotations

import json
import os
import platform
import shutil
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

from conftest import PACKAGE, PATIENCE_S, Home
from recalld.install.overlay import PACKAGES

RING = '''
import json, os, sys
from keyring.backend import KeyringBackend

class Ring(KeyringBackend):
    """Keeps its entries in a file; `locked` beside it makes it refuse."""
    priority = 5
    file = os.path.join(os.environ["HOME"], "ring.json")

    def _all(self):
        if os.path.exists(self.file + ".locked"):
            raise RuntimeError("the collection is locked")
        with open(self.file + ".calls", "a") as calls:
            calls.write(" ".join([*sys.orig_argv, *os.environ.values()]) + "\\\\n")
        try:
            with open(self.file) as file:
                return json.load(file)
        except FileNotFoundError:
            return {}

    def get_password(self, service, username):
        return self._all().get(f"{service}/{username}")

    def set_password(self, service, username, password):
        entries = {**self._all(), f"{service}/{username}": password}
        with open(self.file, "w") as file:
            json.dump(entries, file)
'''


def wheels() -> Path:
    """A folder with the wheels of the library, fetched once; skips the test where they cannot be had."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "recalld-tests"
    folder = cache / f"encryption-{sys.implementation.cache_tag}-{sys.platform}-{platform.machine()}"
    if (folder / "complete").exists():
        return folder
    folder.mkdir(parents=True, exist_ok=True)
    maker = folder / "maker"
    try:
        subprocess.run([sys.executable, "-m", "venv", "--clear", maker], check=True, capture_output=True, timeout=300)
        fetch = [maker / "bin" / "python", "-m", "pip", "download", "--quiet", "--only-binary=:all:", "--dest", folder]
        subprocess.run([*fetch, *PACKAGES], check=True, capture_output=True, timeout=300)
    except (OSError, subprocess.SubprocessError) as error:
        said = (getattr(error, "stderr", None) or b"").decode(errors="replace").strip()[-300:]
        pytest.skip(f"the library of the encryption cannot be had, as without network: {said or error}")
    finally:
        shutil.rmtree(maker, ignore_errors=True)
    (folder / "complete").touch()
    return folder


class Environment:
    """A virtual environment with the packages of this one, the plain SQLite among them, and room for another."""

    def __init__(self, root: Path) -> None:
        self.wheels = wheels()
        venv.create(root, with_pip=False, symlinks=True)
        self.python = root / "bin" / "python"
        self.library = root / "recalld-encryption"
        (site,) = root.glob("lib/python*/site-packages")
        (site / "tests.pth").write_text(sysconfig.get_paths()["purelib"])
        (root / "rings").mkdir()
        (root / "rings" / "ring.py").write_text(RING)
        self.rings = root / "rings"

    def forget(self) -> None:
        """Have the plain SQLite alone again, whatever an earlier test has installed."""
        shutil.rmtree(self.library, ignore_errors=True)


class EncryptedHome(Home):
    """A home that is served from `environment`; its keyring is a file."""

    def __init__(self, root: Path, environment: Environment) -> None:
        super().__init__(root)
        self.environment = environment
        self.ring = root / "user" / "ring.json"
        self.environ |= {
            "PYTHONPATH": f"{PACKAGE}{os.pathsep}{environment.rings}", "PYTHON_KEYRING_BACKEND": "ring.Ring",
            "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(environment.wheels),
        }  # fmt: skip

    def run(
        self, *words: str, cwd: Path | None = None, text: str = "", **environ: str
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [self.environment.python, "-m", "recalld", *words], cwd=cwd or self.project, input=text,
            env={**self.environ, **environ}, capture_output=True, text=True, encoding="utf-8", timeout=2 * PATIENCE_S,
            check=False,
        )  # fmt: skip

    def plain_run(self, *words: str) -> subprocess.CompletedProcess[str]:
        """`recalld WORDS...` in the environment of the tests, whose SQLite has no ciphers."""
        return super().run(*words)

    def lines(self, *words: str, **environ: str) -> list[str]:
        done = self.run(*words, **environ)
        assert (done.returncode, done.stderr) == (0, ""), done
        return done.stdout.splitlines()

    @property
    def key(self) -> str:
        (entry,) = json.loads(self.ring.read_text()).values()
        return str(entry)

    def holding(self, text: str) -> list[str]:
        """The files of the home in which `text` can be read."""
        found = [file for file in self.recalld.rglob("*") if file.is_file() and text.encode() in file.read_bytes()]
        return sorted(file.name for file in found)
