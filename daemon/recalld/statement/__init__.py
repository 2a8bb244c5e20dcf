"""Sentences taken apart, for telling whether two of them say the same."""

from recalld.statement.atoms import HARD, Atom, Statement
from recalld.statement.reader import parse

__all__ = ["HARD", "Atom", "Statement", "parse"]
