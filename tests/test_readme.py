"""The README's first example runs and prints what stands there."""

import contextlib
import io
import re
from pathlib import Path

import pytest

README = Path(__file__).parents[1] / "README.md"


def test_ten_lines_print_what_they_say():
    code, told = re.search(r"## Ten lines\n\n```python\n(.*?)```\n\n    (.*?)\n", README.read_text(encoding="utf-8"), re.DOTALL).groups()
    assert len(code.splitlines()) == 10
    with contextlib.redirect_stdout(io.StringIO()) as out:
        exec(code, {})
    numbers, expected = ([float(n) for n in re.findall(r"[\d.]+\d", text)] for text in (out.getvalue(), told))
    assert re.sub(r"[\d.]+\d", "", out.getvalue()).strip() == re.sub(r"[\d.]+\d", "", told).strip()
    assert numbers == pytest.approx(expected, rel=0.2)  # libraries round differently
