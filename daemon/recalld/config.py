"""The settings of `config.toml`, their defaults and their bounds."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from recalld.errors import ConfigError

Share = Annotated[float, Meta(ge=0, le=1)]
Count = Annotated[int, Meta(ge=0)]


class _Section(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    pass


class Weights(_Section, frozen=True):
    """How much similarity, real use and recency count in the order."""

    similarity: Share = 0.6
    hits: Share = 0.3
    recency: Share = 0.1


class MemoryConfig(_Section, frozen=True):
    """What is given to a session: how much of it, from which likeness and certainty on. Budgets are in tokens."""

    enabled: bool = True
    max_items_per_load: Count = 20
    max_items_per_prompt: Count = 5
    max_context_tokens: Count = 1500
    similarity_threshold: Share = 0.45
    min_confidence: Share = 0.6
    weights: Weights = Weights()
    max_tokens_per_prompt: Count = 400
    max_tokens_per_session: Count = 6000
    type_weights: dict[str, Annotated[float, Meta(ge=0, le=10)]] = {}
    confirm: Literal["off", "important", "all"] = "off"
    notice: bool = True


class CaptureConfig(_Section, frozen=True):
    """What is captured. headless: runs that no person types."""

    headless: Literal["on", "inject", "off"] = "on"


class EmbedConfig(_Section, frozen=True):
    """model: `builtin`, a folder, or a Hugging Face id."""

    model: str = "builtin"


class ProjectsConfig(_Section, frozen=True):
    """Where recalld works (globs), and which folder is which project (prefix -> name)."""

    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    worktrees: Literal["share", "separate"] = "share"
    map: dict[str, str] = {}


class ContainersConfig(_Section, frozen=True):
    """paths: which folder of this machine a container's folder is (prefix -> prefix)."""

    paths: dict[str, str] = {}


class ExtractConfig(_Section, frozen=True):
    """Who extracts, and what that may spend in a day; 0 tokens or calls: no limit."""

    backend: Literal["auto", "anthropic", "claude", "rules"] = "auto"
    model: str = "claude-haiku-4-5"
    base_url: str = ""
    max_usd_per_day: Annotated[float, Meta(ge=0)] = 0.5
    max_tokens_per_day: Count = 0
    max_calls_per_day: Count = 500
    api_key_env: str = "ANTHROPIC_API_KEY"
    api_key_file: str = ""


class PrivacyConfig(_Section, frozen=True):
    """What is masked besides secrets, and the projects whose text stays on this machine."""

    mask_private_ips: bool = False
    mask_emails: bool = False
    patterns: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    local_only: tuple[str, ...] = ()


class ConflictConfig(_Section, frozen=True):
    """What happens to statements that contradict each other without saying so."""

    policy: Literal["merge-mark", "source-priority", "last-write-wins"] = "merge-mark"
    source_priority: tuple[str, ...] = ("cli", "claude-code")


class KeepConfig(_Section, frozen=True):
    """How long what is kept, in days; backups: how many daily ones."""

    archive_after_days: Count = 90
    progress_days: Count = 14
    turns_days: Count = 30
    backups: Count = 7


class HttpConfig(_Section, frozen=True):
    """The HTTP door; port 0: any that is free."""

    enabled: bool = False
    port: Annotated[int, Meta(ge=0, le=65535)] = 0


class HubConfig(_Section, frozen=True):
    """The team's PostgreSQL. dsn: whose member this is, and where. passfile: libpq's, where the dsn has no password."""

    dsn: str = ""
    passfile: str = ""


class Config(_Section, frozen=True):
    """All settings; every key is optional, an unknown one is an error that names its line."""

    memory: MemoryConfig = MemoryConfig()
    capture: CaptureConfig = CaptureConfig()
    embed: EmbedConfig = EmbedConfig()
    projects: ProjectsConfig = ProjectsConfig()
    containers: ContainersConfig = ContainersConfig()
    extract: ExtractConfig = ExtractConfig()
    privacy: PrivacyConfig = PrivacyConfig()
    conflict: ConflictConfig = ConflictConfig()
    keep: KeepConfig = KeepConfig()
    http: HttpConfig = HttpConfig()
    hub: HubConfig = HubConfig()


def load(path: Path) -> Config:
    """The settings in `path`; the defaults where there is no such file. Raises ConfigError."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        return Config()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: cannot be read: {error}") from error
    return parse(text, str(path))


def parse(text: str, name: str) -> Config:
    """The settings in the TOML `text`; `name` stands for the file in errors. Raises ConfigError."""
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{name}: not valid TOML: {error}") from error
    try:
        config = msgspec.convert(table, Config)
    except msgspec.ValidationError as error:
        raise ConfigError(_located(str(error), text, name)) from error
    for pattern in config.privacy.patterns:
        try:
            re.compile(pattern)
        except re.error as error:
            line = _line_of(text, ["privacy", "patterns"])
            raise ConfigError(
                f"{name}:{line}: privacy.patterns: {pattern!r} is no regular expression: {error}"
            ) from error
    for inside, outside in config.containers.paths.items():
        if not inside.startswith("/") or not outside.startswith(("/", "~/")):
            line = _line_of(text, ["containers", "paths"])
            raise ConfigError(
                f"{name}:{line}: containers.paths: {inside!r} = {outside!r}: both are whole paths, from / (or ~/) on"
            )
    return config


def masked(dsn: str) -> str:
    """The address of a database as it may be shown: without its passwords; of no known form, not at all."""
    if dsn and not re.match(r"postgres(ql)?://|\w+\s*=", dsn.lstrip()):
        return "***"
    url = re.sub(r"(://[^:@/?]*):.*@", r"\1:***@", dsn)
    return re.sub(r"(?i)(password\s*=\s*)('(?:[^'\\]|\\.)*'?|[^\s&]+)", r"\1***", url)


def _located(message: str, text: str, name: str) -> str:
    """What msgspec says, `... - at `$.section.key`` as `file:line: section.key: ...`."""
    what, _, where = message.partition(" - at `$")
    keys = re.findall(r"[\w-]+", where.split("[")[0])
    if unknown := re.search(r"unknown field `(.+?)`", what):
        keys.append(unknown[1])
        what = "unknown key"
    return f"{name}:{_line_of(text, keys)}: {'.'.join(keys)}: {what[0].lower()}{what[1:]}"


def _line_of(text: str, keys: list[str]) -> int:
    """The line (from 1) of the innermost of `keys` that can be found, section header by section header."""
    found, section = 1, ""
    for number, line in enumerate(text.splitlines(), 1):
        if header := re.match(r"\s*\[\s*([\w.\-]+)\s*\]", line):
            section = header[1]
            if keys and section.split(".") == keys[: section.count(".") + 1]:
                found = number
        elif key := re.match(r"\s*[\"']?([\w\-]+)[\"']?\s*(?:\.\s*([\w\-]+)\s*)?=", line):
            path = [part for part in (*section.split("."), key[1], key[2]) if part]
            if keys[: len(path)] == path:
                found = number
                if path == keys:
                    return number
    return found
