"""The ledger of model calls, what was spent today, and whether there may be more."""

from __future__ import annotations

from datetime import datetime

import apsw
import msgspec

from recalld.config import ExtractConfig
from recalld.model import timestamp

# USD per million tokens: input, output, cache read. A cache write costs 1.25 x input (5 minutes, the only kind we ask
# for). The longest matching start of the model's name counts. Source: Anthropic's price page, autumn 2026.
PRICES: dict[str, tuple[float, float, float]] = {
    "claude-haiku-5-5": (0.10, 0.50, 0.01),
    "claude-haiku": (1.00, 5.00, 0.10),
    "claude-3-haiku": (0.25, 1.25, 0.03),
    "claude-3-5-haiku": (0.80, 4.00, 0.08),
    "claude-sonnet-5": (2.00, 10.00, 0.20),
    "claude-sonnet": (3.00, 15.00, 0.30),
    "claude-opus-5-5": (4.00, 20.00, 0.20),
    "claude-opus-5": (5.00, 25.00, 0.50),
    "claude-opus-4": (15.00, 75.00, 1.50),
    "claude-opus-4-5": (5.00, 25.00, 0.50),
    "claude-opus-4-6": (5.00, 25.00, 0.50),
    "claude-opus-4-7": (5.00, 25.00, 0.50),
    "claude-opus-4-8": (5.00, 25.00, 0.50),
    "claude-fable": (10.00, 50.00, 1.00),
}
TOKENS = "input_tokens + output_tokens + cache_read_tokens + cache_write_tokens"
"""The tokens of a call, of every kind, as SQL."""
DEAREST = max(PRICES.values())
"""For a model that is not listed: a cap must hold also where we know no price."""


class Call(msgspec.Struct, frozen=True, kw_only=True):
    """One call of a model as it goes into the ledger; input_tokens leaves out what the two cache counts hold.

    outcome: ok, bad-reply, refused, too-long, transient, unavailable, failed.
    """

    backend: str
    model: str
    outcome: str
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    cost_usd: float = 0.0
    ms: int = 0


class Spend(msgspec.Struct, frozen=True):
    """Calls, tokens of every kind, and dollars over some time."""

    calls: int = 0
    tokens: int = 0
    usd: float = 0.0


def cost_usd(model: str, input_tokens: int, output_tokens: int, cache_read: int = 0, cache_write: int = 0) -> float:
    """What a call of `model` (with or without a provider's prefix, `anthropic/claude-...`) costs, in US dollars."""
    name = model[at:] if (at := model.find("claude-")) >= 0 else model
    known = max((start for start in PRICES if name.startswith(start)), key=len, default="")
    price_in, price_out, price_read = PRICES.get(known, DEAREST)
    total = (
        input_tokens * price_in + output_tokens * price_out + cache_read * price_read + cache_write * price_in * 1.25
    )
    return total / 1e6


def record(
    db: apsw.Connection, call: Call, at: datetime, project_id: int | None = None, job_id: int | None = None
) -> None:
    """Write `call`, made at `at` for that project and job, into the ledger."""
    db.execute(
        """insert into usage (at, backend, model, project_id, job_id, outcome, input_tokens, output_tokens,
                              cache_read_tokens, cache_write_tokens, cost_usd, ms)
           values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)""",
        (
            timestamp(at), call.backend, call.model, project_id, job_id, call.outcome, call.input_tokens,
            call.output_tokens, call.cache_read_tokens, call.cache_write_tokens, call.cost_usd, call.ms,
        ),
    )  # fmt: skip


def spent(db: apsw.Connection, since: datetime) -> Spend:
    """All calls since `since`."""
    row = db.execute(
        f"select count(*), coalesce(sum({TOKENS}), 0), coalesce(sum(cost_usd), 0.0) from usage where at >= ?",
        (timestamp(since),),
    ).get
    return Spend(*row)


def day_start(now: datetime) -> datetime:
    """The user's own midnight before `now` (aware), in the machine's time zone."""
    return now.astimezone().replace(hour=0, minute=0, second=0, microsecond=0, tzinfo=None).astimezone()


def allowed(spend: Spend, config: ExtractConfig) -> str | None:
    """None where another call may be made today, else what to tell the owner. A limit of 0 is none."""
    if config.max_usd_per_day and spend.usd >= config.max_usd_per_day:
        return f"${spend.usd:.2f} of ${config.max_usd_per_day:.2f} a day are spent"
    if config.max_tokens_per_day and spend.tokens >= config.max_tokens_per_day:
        return f"{spend.tokens} of {config.max_tokens_per_day} tokens a day are used"
    if config.max_calls_per_day and spend.calls >= config.max_calls_per_day:
        return f"{spend.calls} of {config.max_calls_per_day} calls a day are made"
    return None
