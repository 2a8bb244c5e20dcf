"""The languages the rules know."""

from __future__ import annotations

from functools import cache

from recalld.rules.table import Language


@cache
def table_of(code: str) -> Language:
    """The table for `code`; English for a language without one (the classifier still judges it).

    Made when first needed: the patterns of all languages take a tenth of a second to compile.
    """
    match code:
        case "zh":
            from recalld.rules.chinese import CHINESE

            return CHINESE
        case "ja":
            from recalld.rules.japanese import JAPANESE

            return JAPANESE
        case "de":
            from recalld.rules.german import GERMAN

            return GERMAN
        case "es":
            from recalld.rules.spanish import SPANISH

            return SPANISH
        case _:
            from recalld.rules.english import ENGLISH

            return ENGLISH
