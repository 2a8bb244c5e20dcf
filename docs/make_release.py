"""Builds what is released, into dist/: `docs/make_release.py [--out FOLDER]`.

A source archive and a wheel, each built twice and compared byte by byte, the list of what they are made of (CycloneDX),
and the digests of all three. Uploads nothing. Ends with 1 where something is not as it must be.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

import make_sbom

ROOT = make_sbom.ROOT


def main() -> int:
    """Check, build, compare, list."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=ROOT / "dist")
    out: Path = parser.parse_args().out
    if problems := unready(ROOT):
        print("\n".join(problems), file=sys.stderr)
        return 1
    os.environ.setdefault("SOURCE_DATE_EPOCH", last_commit(ROOT))
    with tempfile.TemporaryDirectory() as scratch:
        first, second = (build(ROOT, Path(scratch, name)) for name in ("first", "second"))
        if digests(first) != digests(second):
            print("two builds differ: something in them depends on when or where they are made", file=sys.stderr)
            return 1
        shutil.rmtree(out, ignore_errors=True)
        shutil.copytree(first, out)
    listed = json.dumps(make_sbom.describe(ROOT), indent=2, sort_keys=True) + "\n"
    (out / "recalld.cdx.json").write_text(listed, encoding="utf-8")
    sums = "".join(f"{digest}  {name}\n" for name, digest in sorted(digests(out).items()))
    (out / "SHA256SUMS").write_text(sums, encoding="utf-8")
    print(sums, end="")
    return 0


def unready(root: Path) -> list[str]:
    """What keeps this checkout from being released: the places that name its version do not agree."""
    found = make_sbom.VERSION.search((root / "daemon/recalld/__init__.py").read_text(encoding="utf-8"))
    version = found[1] if found else "none"
    plugin = json.loads((root / ".claude-plugin/plugin.json").read_text(encoding="utf-8"))["version"]
    log = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    problems = []
    if plugin != version:
        problems.append(f".claude-plugin/plugin.json: version {plugin}, but the program is {version}")
    if not re.search(rf"^## \[{re.escape(version)}\] - \d{{4}}-\d\d-\d\d$", log, re.MULTILINE):
        problems.append(f"CHANGELOG.md: there is no heading `## [{version}] - YYYY-MM-DD`")
    return problems


def build(root: Path, out: Path, environ: Mapping[str, str] | None = None) -> Path:
    """Build the source archive, and from that the wheel."""
    command = ["uv", "build", "--quiet", "--out-dir", str(out), str(root)]
    subprocess.run(command, check=True, env={**os.environ, **(environ or {})})
    (out / ".gitignore").unlink(missing_ok=True)  # uv's, for folders in a repository
    return out


def digests(folder: Path) -> dict[str, str]:
    """SHA-256 of each file, by its name."""
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir()}


def last_commit(root: Path) -> str:
    """When the last commit was made, in seconds of the epoch."""
    shown = subprocess.run(
        ["git", "-C", str(root), "log", "-1", "--format=%ct"], check=True, capture_output=True, text=True
    )
    return shown.stdout.strip()


if __name__ == "__main__":
    sys.exit(main())
