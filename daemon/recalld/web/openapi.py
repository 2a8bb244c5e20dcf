"""The description of the interface, as OpenAPI 3.1, made from the table of routes."""

from __future__ import annotations

import re
from http import HTTPStatus
from typing import Any

import msgspec

from recalld import __version__
from recalld.web.guard import OPEN, STATIC
from recalld.web.problems import MEDIA as PROBLEM
from recalld.web.problems import Problem
from recalld.web.routes import JSON, PATHS, ROUTES, Route

_REFERENCE = "#/components/schemas/{name}"
_TOLD = {
    "ETag": 'The memory\'s version, as `"3"`, for If-Match',
    "Location": "The memory's path",
    "Content-Disposition": "A name for the file",
}
_CLIENT = {
    "name": "X-Recalld-Client", "in": "header", "required": False,
    "description": "The program that asks; kept as the source of what it writes",
    "schema": {"type": "string", "pattern": "^[a-z0-9-]{1,40}$", "default": "http"},
}  # fmt: skip
_IF_MATCH = {
    "name": "If-Match", "in": "header", "required": False, "description": "The version that was seen",
    "schema": {"type": "string", "pattern": '^"[1-9][0-9]{0,14}"$'},
}  # fmt: skip


def describe() -> dict[str, Any]:
    """The whole document."""
    types = {repr(kind): kind for route in ROUTES for kind in (route.answer, route.body) if kind is not None}
    _, schemas = msgspec.json.schema_components([*types.values(), Problem], ref_template=_REFERENCE)
    paths: dict[str, dict[str, Any]] = {}
    for route in ROUTES:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "recalld", "version": __version__,
            "description": "Long-term memory for Claude Code. For programs on this machine; the token is in `http.token` "
            "in the state folder. Times are ISO 8601 UTC.",
        },
        "tags": [{"name": name} for name in dict.fromkeys(route.group for route in ROUTES)],
        "paths": paths,
        "components": {
            "schemas": schemas, "securitySchemes": {"bearer": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{"bearer": []}],
    }  # fmt: skip


def _operation(route: Route) -> dict[str, Any]:
    open_to_all = route.path in OPEN or route.path.startswith(STATIC)
    said: dict[str, Any] = {
        "operationId": _identifier(route), "summary": route.summary, "tags": [route.group],
        "parameters": _parameters(route, open_to_all=open_to_all),
        "responses": {str(route.status): _success(route)},
    }  # fmt: skip
    if open_to_all:
        said["security"] = []
    if route.body or route.takes:
        schema = _schema(route.body) if route.body else {"type": "object"}
        content = {media: {"schema": schema if media == JSON else {}} for media in route.takes or (JSON,)}
        said["requestBody"] = {"required": True, "content": content}
    if route.path.startswith(STATIC) or "text/html" in route.media:
        said["responses"]["304"] = {"description": "The browser has it already"}
    for status in _refusals(route, open_to_all=open_to_all):
        content = {PROBLEM: {"schema": {"$ref": _REFERENCE.format(name="Problem")}}}
        said["responses"][str(status)] = {"description": HTTPStatus(status).phrase, "content": content}
    return said


def _refusals(route: Route, *, open_to_all: bool) -> list[int]:
    """What it may answer instead."""
    found = {403, 422, 429, *route.errors}
    if not open_to_all:
        found |= {401, 503}
    if route.body or route.takes:
        found |= {400, 408, 413, 415}
    return sorted(found)


def _identifier(route: Route) -> str:
    words = re.findall(r"[a-z]+", f"{route.method.lower()} {route.path}")
    return "-".join(words)


def _parameters(route: Route, *, open_to_all: bool) -> list[dict[str, Any]]:
    found = [
        {"name": name, "in": "path", "required": True, "schema": _schema(PATHS[name])}
        for name in re.findall(r"\{(\w+)\}", route.path)
    ]
    _, components = msgspec.json.schema_components([route.query], ref_template=_REFERENCE)
    fields = components[route.query.__name__]
    found += [
        {"name": name, "in": "query", "required": name in fields.get("required", ()),
         "schema": _inlined(schema, components)}
        for name, schema in fields["properties"].items()
    ]  # fmt: skip
    if not open_to_all:
        found.append(_CLIENT)
    if route.method == "PATCH":
        found.append(_IF_MATCH)
    return found


def _inlined(schema: dict[str, Any], components: dict[str, Any]) -> dict[str, Any]:
    """A parameter's schema by itself. That it may be left out is said by `required`, not by null, which no URL can say."""
    kinds = [kind for kind in schema.get("anyOf", [schema]) if kind.get("type") != "null"]
    (kind,) = kinds
    if "$ref" in kind:
        kind = components[kind["$ref"].rpartition("/")[2]]
    default = {"default": schema["default"]} if schema.get("default") is not None else {}
    return {**kind, **default}


def _success(route: Route) -> dict[str, Any]:
    said: dict[str, Any] = {"description": route.summary}
    if route.status != 204:
        schema = {} if route.answer is None else {"schema": _schema(route.answer)}
        said["content"] = dict.fromkeys(route.media, schema)
    if route.headers:
        said["headers"] = {name: {"description": _TOLD[name], "schema": {"type": "string"}} for name in route.headers}
    return said


def _schema(kind: Any) -> dict[str, Any]:
    (schema,), _ = msgspec.json.schema_components([kind], ref_template=_REFERENCE)
    return schema
