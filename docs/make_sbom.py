"""Writes what a release is made of as CycloneDX 1.6, from the lock file alone: `docs/make_sbom.py > recalld.cdx.json`.

The same commit gives the same bytes: no clock and no environment is asked but SOURCE_DATE_EPOCH.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import uuid
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
VERSION = re.compile(r'^__version__ = "(.+)"$', re.MULTILINE)
PINNED = re.compile(r"^(?P<name>[A-Za-z0-9._-]+)==(?P<version>[^\s;\\]+)(?:\s*;\s*(?P<marker>[^\\]+?))?\s*\\?$")


def main() -> None:
    """Print it."""
    print(json.dumps(describe(ROOT), indent=2, sort_keys=True))


def describe(root: Path) -> dict[str, Any]:
    """The document. root: of the checkout."""
    found = VERSION.search((root / "daemon/recalld/__init__.py").read_text(encoding="utf-8"))
    assert found, "daemon/recalld/__init__.py names no version"
    lock = (root / "requirements.lock").read_text(encoding="utf-8")
    parts = [*locked(lock), model(root / "daemon/recalld/embedding_model")]
    own = f"pkg:pypi/recalld@{found[1]}"
    content = json.dumps([own, parts], sort_keys=True)
    metadata: dict[str, Any] = {
        "component": {"type": "application", "bom-ref": own, "name": "recalld", "version": found[1], "purl": own,
                      "licenses": [{"license": {"id": "MIT"}}]},
    }  # fmt: skip
    if epoch := os.environ.get("SOURCE_DATE_EPOCH"):
        metadata["timestamp"] = f"{datetime.fromtimestamp(int(epoch), UTC):%Y-%m-%dT%H:%M:%SZ}"
    return {
        "bomFormat": "CycloneDX", "specVersion": "1.6", "version": 1,
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, content)}",
        "metadata": metadata,
        "components": parts,
        "dependencies": [{"ref": own, "dependsOn": sorted(part["bom-ref"] for part in parts)}],
    }  # fmt: skip


def locked(text: str) -> list[dict[str, Any]]:
    """The packages of a lock file. Each is one of several files: a property names the digest of each that may be it."""
    parts: list[dict[str, Any]] = []
    for line in text.splitlines():
        if pinned := PINNED.match(line):
            name = re.sub(r"[-_.]+", "-", pinned["name"]).lower()
            purl = f"pkg:pypi/{name}@{pinned['version']}"
            part = {"type": "library", "bom-ref": purl, "name": name, "version": pinned["version"], "purl": purl}
            marker = [{"name": "recalld:marker", "value": pinned["marker"]}] if pinned["marker"] else []
            parts.append({**part, "properties": marker})
        elif digest := re.search(r"--hash=sha256:([0-9a-f]{64})", line):
            parts[-1]["properties"].append({"name": "recalld:sha256", "value": digest[1]})
    return parts


def model(folder: Path) -> dict[str, Any]:
    """The embedding model that comes with recalld, by the digest of its weights."""
    digest = hashlib.sha256((folder / "model.safetensors").read_bytes()).hexdigest()
    return {
        "type": "machine-learning-model", "bom-ref": "recalld:zhen2-256", "name": "zhen2-256", "version": digest[:12],
        "hashes": [{"alg": "SHA-256", "content": digest}], "licenses": [{"license": {"id": "MIT"}}],
    }  # fmt: skip


if __name__ == "__main__":
    main()
