"""How much of the usual budget may go into a context window that fills up."""

from __future__ import annotations

WINDOW_TOKENS = 200_000
LONG_WINDOW_TOKENS = 1_000_000
"""Of models whose id says `[1m]`; and of any that was sent more than WINDOW_TOKENS."""
NEARLY_FULL = 0.8
LEAST = 0.3
"""The budget of a window that is full: room for one memory at a prompt, a few at session start."""


def share(context_tokens: int, model: str) -> float:
    """The part of the budget for a session whose last request had `context_tokens`: 1, or from NEARLY_FULL on less."""
    long = "[1m]" in model.lower() or context_tokens > WINDOW_TOKENS
    filled = context_tokens / (LONG_WINDOW_TOKENS if long else WINDOW_TOKENS)
    left = (1 - filled) / (1 - NEARLY_FULL)
    return min(1.0, max(LEAST, left))
