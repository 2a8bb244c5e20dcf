"""The plugin's skills say nothing that the commands do not keep."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from recalld.cli.main import COMMANDS, parser

SKILLS = sorted((Path(__file__).parents[1] / "skills").glob("*/SKILL.md"))
PLACEHOLDERS = {"TYPE": "decision", "ID": "m-1a2b3c", "ID...": "m-1a2b3c", "NUMBER": "1", "A|B|both": "both"}


def commands(skill: Path) -> list[str]:
    """The command lines of a skill: those set off by blanks and those in backticks."""
    found = re.findall(r"^ {4}(recalld .+)$|`(recalld [^`]+)`", skill.read_text(encoding="utf-8"), re.MULTILINE)
    return [indented or quoted for indented, quoted in found]


@pytest.mark.parametrize("skill", SKILLS, ids=lambda path: path.parent.name)
def test_a_skill_names_commands_and_options_that_there_are(skill: Path) -> None:
    found = commands(skill)
    assert found
    allowed = re.findall(r"Bash\(recalld (\w+):\*\)", skill.read_text(encoding="utf-8"))
    for line in found:
        words = [PLACEHOLDERS.get(word, word) for word in shlex.split(line)[1:]]
        assert words[0] in COMMANDS, line
        parser(COMMANDS[words[0]]).parse_args(words[1:])
        assert words[0] in allowed, f"{line}: the skill may not run it without asking"
        assert '"' not in line, "between double quotes a shell would put in what $NAME holds: a secret, maybe"


def test_there_are_the_four_skills() -> None:
    assert [path.parent.name for path in SKILLS] == ["forget", "inbox", "recall", "remember"]
