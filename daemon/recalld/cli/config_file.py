"""Showing and changing `config.toml`; comments and the rest of the file stay as they are."""

from __future__ import annotations

import difflib
import os
import re
import tomllib
from pathlib import Path
from typing import Any

import msgspec
import tomlkit
from tomlkit.exceptions import TOMLKitError

from recalld import config, whole_file
from recalld.config import Config
from recalld.errors import ConfigError, InputError


def effective(path: Path) -> dict[str, Any]:
    """`path`, the `values` in force by section, no password among them, and the keys `set` there. Raises ConfigError."""
    values = msgspec.to_builtins(config.load(path))
    values["hub"]["dsn"] = config.masked(values["hub"]["dsn"])
    written_there = tomllib.loads(_read(path))
    keys = [f"{section}.{key}" for section, table in written_there.items() for key in table]
    return {"path": str(path), "values": values, "set": keys}


def written(value: Any) -> str:
    """`value` as TOML would have it, on one line."""
    if isinstance(value, dict):
        inside = ", ".join(f"{_key(name)} = {written(part)}" for name, part in value.items())
        return f"{{ {inside} }}" if inside else "{}"
    text: str = tomlkit.item(value).as_string()
    return text


def put(path: Path, key: str, text: str) -> Any:
    """Set `key` (`section.key`, or `section.table.name`) to what `text` means for it; returns the value.

    Raises InputError for an unknown key or a value that does not fit, ConfigError for a file that is broken already.
    """
    section, name, part = _known(key)
    old = _read(path)
    try:
        document = tomlkit.parse(old)
    except TOMLKitError as error:
        raise ConfigError(f"{path}: not valid TOML: {error}") from error
    value = _value(getattr(getattr(Config(), section), name), part, text)
    _assign(document, [section, name, *([part] if part else [])], value)
    new = tomlkit.dumps(document)
    try:
        config.parse(new, str(path))
    except ConfigError as error:
        config.parse(old, str(path))  # if it was broken before, that is what has to be told
        what = re.sub(r"^.*?:\d+: \S+: ", "", str(error))
        raise InputError(f"{key}: {what}; nothing was changed") from error
    _replace(path, new)
    return value


def _known(key: str) -> tuple[str, str, str]:
    """Section, name, and the name inside a table where there is one. Raises InputError with the nearest known key."""
    section, _, rest = key.partition(".")
    name, _, part = rest.partition(".")
    tables = msgspec.to_builtins(Config())
    default = tables.get(section, {}).get(name)
    if default is not None and (not part or isinstance(default, dict)):
        return section, name, part.strip("\"'")
    known = [f"{section}.{name}" for section, table in tables.items() for name in table]
    near = difflib.get_close_matches(key, known, 1, 0.4) or [found for found in known if found.endswith(f".{key}")]
    hint = f"; did you mean {near[0]}?" if near else "; `recalld config show` lists them"
    raise InputError(f"there is no setting {key}{hint}")


def _value(default: Any, part: str, text: str) -> Any:
    """`text` as the type that `default` has; a text that is not of it goes on as text, to be refused with its reason."""
    if isinstance(default, dict) and part:
        default = 0.0 if text.replace(".", "", 1).isdigit() else ""
    try:
        value = tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        value = text
    if isinstance(default, str):
        return value if isinstance(value, str) else text
    if isinstance(default, tuple) and not isinstance(value, list):
        return [word.strip() for word in text.split(",") if word.strip()]
    return value


def _assign(document: tomlkit.TOMLDocument, path: list[str], value: Any) -> None:
    table: Any = document
    for depth, name in enumerate(path[:-1]):
        if name not in table:
            table[name] = tomlkit.table() if depth == 0 else tomlkit.inline_table()
        table = table[name]
    table[path[-1]] = value


def _read(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        return ""
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: cannot be read: {error}") from error


def _replace(path: Path, text: str) -> None:
    """Put `text` into the file in one rename; where `path` is a link, into what it leads to."""
    target = Path(os.path.realpath(path))
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with whole_file.written(target) as file:
        file.write(text.encode())


def _key(name: str) -> str:
    quoted: str = tomlkit.item(name).as_string()
    return name if re.fullmatch(r"[\w-]+", name, re.ASCII) else quoted
