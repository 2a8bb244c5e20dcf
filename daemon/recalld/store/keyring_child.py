"""`python -m recalld.store.keyring_child`: one question to the system's keyring, JSON on stdin, the answer on stdout.

The one place that imports keyring.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

SERVICE = "recalld"


def answer(question: dict[str, str]) -> dict[str, Any]:
    """What the keyring says, or in `error` why it says nothing."""
    try:
        import keyring  # late: where it is not installed, that is the answer
        from keyring import core
        from keyring.backends import fail, null
    except ImportError:
        return {"error": "the Python package keyring is not installed; `recalld encrypt on` installs it"}
    try:
        if question["backend"]:
            keyring.set_keyring(core.load_keyring(question["backend"]))
        ring = keyring.get_keyring()
        chosen = bool(question["backend"] or os.environ.get("PYTHON_KEYRING_BACKEND"))
        # Where nobody chose, one that keeps its entries in a plain file would be no lock at all.
        if isinstance(ring, fail.Keyring | null.Keyring) or not (chosen or core.recommended(ring)):
            return {"error": "there is no keyring here that can keep a key"}
        if question["do"] == "put":
            ring.set_password(SERVICE, question["account"], question["key"])
            return {}
        if question["do"] == "get":
            return {"key": ring.get_password(SERVICE, question["account"])}
        return {"backend": f"{type(ring).__module__}.{type(ring).__qualname__}"}
    except Exception as error:  # noqa: BLE001  # each keyring has errors of its own
        return {"error": f"the keyring cannot be used now: {type(error).__name__}: {error}"}


if __name__ == "__main__":
    print(json.dumps(answer(json.load(sys.stdin))))  # noqa: T201  # this is the answer
