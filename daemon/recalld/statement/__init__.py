"""Sentences taken apart, for telling whether two of them say the same."""

from recalld.statement.atoms import HARD, Atom, Mark, Statement
from recalld.statement.pairs import COMPLEMENTS
from recalld.statement.reader import parse

__all__ = ["COMPLEMENTS", "HARD", "Atom", "Mark", "Statement", "parse"]
