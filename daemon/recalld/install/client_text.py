"""The entry for recalld in a client's settings as text, JSON or TOML: everything else stays byte for byte as it was."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path, PurePath
from typing import Any, NamedTuple, NoReturn

from recalld.errors import ConfigError
from recalld.install import json_text

NAME = "recalld"


class Edit(NamedTuple):
    """put(text, path, key, entry) and drop(text, path, key, before) return the new text; None stands for no file.

    before: the file's text from before our first change, None where we made it. Both raise ConfigError.
    """

    put: Callable[[str | None, Path, str, dict[str, Any]], str]
    drop: Callable[[str | None, Path, str, str | None], str | None]


def of(path: Path) -> Edit:
    """The way to edit this file, from its name."""
    return Edit(_put_toml, _drop_toml) if path.suffix == ".toml" else Edit(_put_json, _drop_json)


def _put_json(text: str | None, path: Path, key: str, entry: dict[str, Any]) -> str:
    text = "{}\n" if text is None else text
    root = _json(text, path, key)
    servers = root.get(key, {})
    wanted = _merged(servers.get(NAME), entry, path, _line(text, (key, NAME) if NAME in servers else ()))
    if servers.get(NAME) == wanted:
        return text
    if NAME in servers:
        text = json_text.remove(text, (key, NAME))
    if key not in root:
        return json_text.append(text, (), {NAME: wanted}, key)
    return json_text.append(text, (key,), wanted, NAME)


def _drop_json(text: str | None, path: Path, key: str, before: str | None) -> str | None:
    if text is None or not _is_ours(_json(text, path, key).get(key, {}).get(NAME)):
        return text
    left = json_text.remove(text, (key, NAME))
    original = json_text.load(before) if before else {}
    if not json_text.load(left)[key] and key not in original:
        left = json_text.remove(left, (key,))
    return None if before is None and json_text.load(left) == {} else left


def _json(text: str, path: Path, key: str) -> dict[str, Any]:
    """The settings, checked as far as we edit them. Raises ConfigError with the line of what is wrong."""
    root = json_text.plain(text, path)
    if not isinstance(root, dict):
        raise json_text.refusal(path, _line(text, ()), "the settings are not an object")
    if not isinstance(root.get(key, {}), dict):
        raise json_text.refusal(path, _line(text, (key,)), f'"{key}" is not an object')
    return root


def _line(text: str, where: tuple[json_text.Key, ...]) -> int:
    return json_text.line_of(text, json_text.find(text, where))


def _put_toml(text: str | None, path: Path, key: str, entry: dict[str, Any]) -> str:
    import tomlkit  # late: for one client only

    text = text or ""
    data, document = _toml(text, path, key), tomlkit.parse(text)
    servers = data.get(key, {})
    wanted = _merged(servers.get(NAME), entry, path, _toml_line(text))
    if servers.get(NAME) == wanted:
        return text
    if key not in document:
        document.add(key, tomlkit.table(is_super_table=True))
    table: Any = document[key]
    if NAME in table:
        for name, value in wanted.items():
            if table[NAME].get(name) != value:
                table[NAME][name] = value
    else:
        table[NAME] = wanted
    return _checked(tomlkit.dumps(document), {**data, key: {**servers, NAME: wanted}}, path)


def _drop_toml(text: str | None, path: Path, key: str, before: str | None) -> str | None:
    import tomlkit  # late: for one client only

    data = _toml(text or "", path, key)
    if text is None or not _is_ours(data.get(key, {}).get(NAME)):
        return text
    if before is not None and _without(data, key, tomllib.loads(before)) == tomllib.loads(before):
        return before
    document: Any = tomlkit.parse(text)
    del document[key][NAME]
    if not document[key]:
        del document[key]
    left = _checked(tomlkit.dumps(document), _without(data, key, {}), path)
    return None if before is None and not left.strip() else left


def _without(data: dict[str, Any], key: str, original: Mapping[str, Any]) -> dict[str, Any]:
    """The settings without our entry, and without the table that held nothing but it, unless it was there before."""
    servers = {name: server for name, server in data[key].items() if name != NAME}
    rest = {name: value for name, value in data.items() if name != key}
    return {**rest, key: servers} if servers or key in original else rest


def _toml(text: str, path: Path, key: str) -> dict[str, Any]:
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path}: not valid TOML: {error}; nothing was changed") from error
    if not isinstance(data.get(key, {}), dict):
        raise ConfigError(f"{path}: {key} is not a table; nothing was changed")
    return data


def _toml_line(text: str) -> int:
    """The line that our table begins on, 1 where that cannot be told."""
    lines = (number for number, line in enumerate(text.splitlines(), 1) if line.strip().endswith(f".{NAME}]"))
    return next(lines, 1)


def _checked(text: str, wanted: dict[str, Any], path: Path) -> str:
    """`text`, if it says what it has to and nothing else. Raises ConfigError."""
    try:
        same = tomllib.loads(text) == wanted
    except tomllib.TOMLDecodeError:
        same = False
    if not same:
        _unusual(path)
    return text


def _unusual(path: Path) -> NoReturn:
    raise ConfigError(f"{path}: its tables are laid out in a way that cannot be edited safely; nothing was changed")


def _is_ours(entry: object) -> bool:
    """Whether an entry starts this program: from any prefix."""
    command = entry.get("command") if isinstance(entry, dict) else None
    return isinstance(command, str) and PurePath(command).name == NAME


def _merged(old: object, entry: dict[str, Any], path: Path, line: int) -> dict[str, Any]:
    """Our entry, with what its owner added to an older one, such as another `--project`.

    Raises ConfigError where that one is another program's, or a server elsewhere.
    """
    if old is None:
        return entry
    if not isinstance(old, dict) or not _is_ours(old):
        raise json_text.refusal(path, line, f'"{NAME}" is another server; rename or remove it')
    arguments = old.get("args")
    own = isinstance(arguments, list) and arguments[:1] == ["mcp"]
    places = {**(old.get("env") or {}), **entry.get("env", {})}
    return {**old, **entry, "args": arguments if own else entry["args"], **({"env": places} if places else {})}
