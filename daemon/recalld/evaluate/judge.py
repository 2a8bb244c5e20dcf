"""Judging files: each by its kind, all in one scratch folder that is gone afterwards."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

import msgspec

from recalld import embed, extract
from recalld.config import Config
from recalld.embed import Embedder
from recalld.errors import UnavailableError
from recalld.evaluate import extraction, lifecycle, recall_set, retrieval
from recalld.evaluate.files import CaseFile, Prompt
from recalld.evaluate.result import Result, Tick

Backend = Literal["rules", "anthropic", "claude"]


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """backend: who extracts. as_injected: threshold and budget for retrieval too. swept: also the curve over thresholds."""

    backend: Backend = "rules"
    as_injected: bool = False
    swept: bool = False


async def judge(
    files: Sequence[CaseFile], config: Config, models: Path, environ: Mapping[str, str], options: Options, tick: Tick
) -> list[Result]:
    """A result for each file, in order. models: where fetched embedding models are kept.

    Raises UnavailableError where the embedding model or the backend cannot be used.
    """
    config = msgspec.structs.replace(config, extract=msgspec.structs.replace(config.extract, backend=options.backend))
    if any(file.kind in ("extraction", "lifecycle") for file in files):
        _check(config, environ, options.backend)
    embedder = embed.load(config.embed.model, models)
    results = []
    with tempfile.TemporaryDirectory(prefix="recalld-eval-") as scratch:
        for number, file in enumerate(files):
            folder = Path(scratch, str(number))
            results.append(await _judge(file, config, embedder, environ, folder, options, tick))
    return results


async def _judge(
    file: CaseFile,
    config: Config,
    embedder: Embedder,
    environ: Mapping[str, str],
    folder: Path,
    options: Options,
    tick: Tick,
) -> Result:
    common = (file, config, embedder, environ, folder, tick)
    match file.kind:
        case "retrieval":
            return await retrieval.judge(*common, as_injected=options.as_injected, swept=options.swept)
        case "recall":
            return await recall_set.judge(*common, swept=options.swept)
        case "extraction":
            return await extraction.judge(*common)
        case "lifecycle":
            return await lifecycle.judge(*common)


def size(files: Sequence[CaseFile]) -> int:
    """How often `judge` will tick."""
    return sum(len(file.of(Prompt)) if file.kind == "recall" else len(file.cases) for file in files)


def _check(config: Config, environ: Mapping[str, str], backend: Backend) -> None:
    choice = extract.choose(config, environ)
    if choice.backend != backend:
        raise UnavailableError(f"--backend {backend} cannot be used: {choice.reason}")
