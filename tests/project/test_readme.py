"""The README's first example runs and prints what stands there; links of the documents lead somewhere."""

import contextlib
import io
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("benchmarks/results/*.md")])


def test_ten_lines_print_what_they_say():
    code, told = re.search(
        r"## Ten lines\n\n```python\n(.*?)```\n\n    (.*?)\n",
        (ROOT / "README.md").read_text(encoding="utf-8"),
        re.DOTALL,
    ).groups()
    assert len(code.splitlines()) == 10
    with contextlib.redirect_stdout(io.StringIO()) as out:
        exec(code, {})
    numbers, expected = ([float(n) for n in re.findall(r"[\d.]+\d", text)] for text in (out.getvalue(), told))
    assert re.sub(r"[\d.]+\d", "", out.getvalue()).strip() == re.sub(r"[\d.]+\d", "", told).strip()
    assert numbers == pytest.approx(expected, rel=0.2)  # libraries round differently


def anchors(document):
    """Of the headings: lower case, punctuation dropped, spaces to hyphens."""
    headings = re.findall(r"^#+ (.*)$", document.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(document):
    for target in re.findall(r"\]\(([^)\s]+)\)", document.read_text(encoding="utf-8")):
        if re.match(r"[a-z]+://", target):
            continue
        name, _, anchor = target.partition("#")
        path = (document.parent / name).resolve() if name else document
        assert path.exists(), target
        assert not anchor or anchor in anchors(path), target
