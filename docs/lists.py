"""Write the lists of methods on the pages of the site, made of what the page of each method says at its top.

`python docs/lists.py` writes them, and a test says when it has to. Lists stand between `<!-- list: NAME -->` and
`<!-- end -->`.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from minrisk import ALGORITHMS

DOCS = Path(__file__).parent
GROUPS = ("Published methods with costs", "Methods to compare with")
HEAD = re.compile(r"---\ngroup: (.+)\nsentence: (.+)\ncan:\n((?:- .+\n)+)---\n\n# (.+)\n\n\{class\}`minrisk\.(\w+)`")
LIST = re.compile(r"(?<=<!-- list: )(\w+) -->\n.*?(?=<!-- end -->)", re.DOTALL)
CONTENTS = "```{{toctree}}\n:hidden:\n:caption: {group}\n\n{pages}\n```\n\n"
OVERVIEW = "**{group}**\n\n| method | in one sentence |\n|---|---|\n{lines}\n\n"
REFERENCE = (
    "{group}:\n\n```{{eval-rst}}\n.. autosummary::\n   :toctree: generated\n   :nosignatures:\n\n{names}\n```\n\n"
)
ABILITIES = """
| method | costs | refer | costs per row | probabilities |
|---|---|---|---|---|
| MinRiskClassifier | with the decision, or in the loss | yes | yes | yes, calibrated |
"""


class Method(NamedTuple):
    """What the top of a page says of its method; `can` are lines of the table of what each can do."""

    page: str
    group: str
    sentence: str
    can: str
    title: str
    name: str


def methods() -> list[Method]:
    """Return what the pages say, in the order of `minrisk.ALGORITHMS`; `MinRiskClassifier` is in no list."""
    found = {}
    for path in DOCS.glob("methods/*.md"):
        if head := HEAD.match(path.read_text(encoding="utf-8")):
            found[head[5]] = Method(path.stem, *head.groups())
    names = [method.__name__ for method in ALGORITHMS[1:]]
    for name in names:
        if name not in found or found[name].group not in GROUPS:
            raise ValueError(
                f"{name} must have a page in docs/methods that begins as rebel.md does, got none: write one, whose "
                f"group is {' or '.join(map(repr, GROUPS))}."
            )
    return [found[name] for name in names]


def lists() -> dict[str, str]:
    """Return the text of each list."""
    told = methods()
    grouped = {group: [method for method in told if method.group == group] for group in GROUPS}
    made = dict.fromkeys(("contents", "overview", "reference"), "\n")
    for group, own in grouped.items():
        pages, names = "\n".join(one.page for one in own), "\n".join(f"   {one.name}" for one in own)
        lines = "\n".join(f"| [{one.title}]({one.page}.md) | {one.sentence} |" for one in own)
        made["contents"] += CONTENTS.format(group=group, pages=pages)
        made["overview"] += OVERVIEW.format(group=group, lines=lines)
        made["reference"] += REFERENCE.format(group=group, names=names)
    lines = re.sub("^- (.*)$", r"| \1 |", "".join(one.can for one in told), flags=re.MULTILINE)
    made["abilities"] = f"{ABILITIES}{lines}\n"
    return made


def renewed() -> dict[Path, str]:
    """Return the pages whose lists are not what they should be, with them."""
    made, found = lists(), {}
    for page in (DOCS / "methods" / "index.md", DOCS / "api" / "index.md"):
        text = page.read_text(encoding="utf-8")
        whole = LIST.sub(lambda part: f"{part[1]} -->\n{made[part[1]]}", text)
        if whole != text:
            found[page] = whole
    return found


if __name__ == "__main__":
    for page, text in renewed().items():
        page.write_text(text, encoding="utf-8")
