"""The prose of the documents, looked at by proselint with a short list of the house: `make lint`.

Code, formulas, tables of figures and links are left out of what is looked at; what is wrong is told with file and line.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from proselint.checks import __register__ as published
from proselint.registry import CheckRegistry
from proselint.registry.checks import Check, types
from proselint.tools import LintFile

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
NOT_OURS = (
    "typography",  # quotation marks and dashes are those of the keyboard
    "misc.phrasal_adjectives",
    "misc.composition",
    "misc.metadiscourse",
    "misc.narcissism",
    "misc.but",
    "misc.tense_present",
    "restricted",
    "weasel_words",
    "dates_times",
    "social_awareness",
    "psychology",
    "uncomparables",
    "lexical_illusions",
    "spelling.consistency",
)
HOUSE = {
    r"dear(er|est|ly)?": "say 'expensive' or 'costs more'",
    r"anew": "say 'again'",
    r"parts the classes": "say 'separates'",
    r"(since|at) [0-9a-f]{7}": "leave commits to the notebook",
    r"made (anew|again) at": "leave the diary to the notebook",
    r"the first look": "leave the diary to the notebook",
    r"(of|the|other|these|all) tries": "say 'attempts', or leave the diary to the notebook",
    r"is (now )?found out": "say 'is detected' or 'is inferred'",
}


def prose(text: str) -> str:
    """The text with code, formulas, links' targets and comments blanked, so that lines keep their numbers."""
    for pattern in (
        r"^(```|~~~|:::).*?^\1",  # blocks
        r"^    .*?$",
        r"^\|.*?$",
        r"\$\$.*?\$\$",
        r"`[^`]*`",
        r"\$[^$\n]*\$",
        r"\]\([^)]*\)",
        r"<!--.*?-->",
    ):
        text = re.sub(pattern, lambda found: re.sub(r"[^\n]", " ", found[0]), text, flags=re.MULTILINE | re.DOTALL)
    return text


def main() -> int:
    """Print what is wrong; the exit status says whether anything is."""
    registry = CheckRegistry()
    registry.register_many(tuple(check for check in published if not check.path.startswith(NOT_OURS)))
    registry.register_many(
        tuple(
            Check(types.ExistenceSimple(rf"\b{pattern}\b"), path="house", message=f"House list: {advice}.")
            for pattern, advice in HOUSE.items()
        )
    )
    enabled = {check.path: True for check in registry.checks}
    n_wrong = 0
    for page in PAGES:
        looked_at = LintFile(str(page), prose(page.read_text(encoding="utf-8")))
        for found in looked_at.lint({"max_errors": 1000, "checks": enabled}):
            print(f"{page.relative_to(ROOT)}:{found.pos[0]}: {found.check_result.message}")
            n_wrong += 1
    return n_wrong > 0


if __name__ == "__main__":
    sys.exit(main())
