"""JSON schemas for clients, from the structs that read and write the data."""

from __future__ import annotations

from typing import Any

import msgspec


def schema(struct: type[msgspec.Struct]) -> dict[str, Any]:
    """The schema of `struct` without references, unions with null and Python's words: what every client can read.

    A field that may be null may as well be left out.
    """
    (root,), parts = msgspec.json.schema_components([struct], ref_template="{name}")
    plain = _plain(root, parts)
    assert isinstance(plain, dict)
    return plain


def _plain(node: Any, parts: dict[str, Any]) -> Any:
    if isinstance(node, list):
        return [_plain(part, parts) for part in node]
    if not isinstance(node, dict):
        return node
    if "$ref" in node:
        node = {**parts[node["$ref"]], **{key: value for key, value in node.items() if key != "$ref"}}
    kinds = [kind for kind in node.get("anyOf", ()) if kind != {"type": "null"}]
    if len(kinds) == 1:
        rest = {key: value for key, value in node.items() if key not in ("anyOf", "default")}
        return _plain({**kinds[0], **rest}, parts)
    if "properties" not in node:
        kind = {"type": "string"} if "enum" in node else {}
        return kind | {key: _plain(value, parts) for key, value in node.items() if key != "title"}
    kept = {key: value for key, value in node.items() if key not in ("title", "description", "properties")}
    return {**kept, "properties": {name: _plain(value, parts) for name, value in node["properties"].items()}}
