"""The gallery: each example is short, says what it is about, and runs on what minrisk's extras bring.

The site's build runs all of them; here the quickest run.
"""

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SECTIONS = sorted(path.parent for path in (ROOT / "examples").glob("*/README.txt"))
EXAMPLES = sorted((ROOT / "examples").glob("**/plot_*.py"))
QUICK = ["scale/plot_dask_round.py", "decisions/plot_refer.py"]
BROUGHT = {"minrisk", "numpy", "sklearn", "matplotlib", "pandas"}  # by minrisk[all]; pandas by its command line
each = pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)


def test_sections_and_names():
    assert len(EXAMPLES) >= 16
    assert len({path.name for path in EXAMPLES}) == len(EXAMPLES)  # labels of the site are made of them
    assert {path.parent for path in EXAMPLES} == set(SECTIONS)
    for folder in SECTIONS:
        title, line, empty, text = (folder / "README.txt").read_text(encoding="utf-8").splitlines()
        assert line == "-" * len(title) and not empty and text


@each
def test_example_is_short_and_says_what_it_is_about(path):
    text = path.read_text(encoding="utf-8")
    assert len(text.splitlines()) < 100
    title, line, empty, *story = ast.get_docstring(ast.parse(text)).splitlines()
    assert line == "=" * len(title) and not empty
    assert len(" ".join(story)) > 200
    assert re.search(r"^# What was learnt\n# -+$", text, re.MULTILINE)
    assert re.search(r":doc:`/(guide|methods)/\w+`", text)
    for heading, line in re.findall(r"^# (.+)\n# (-+)$", text, re.MULTILINE):
        assert len(line) == len(heading), heading


@each
def test_links_into_the_guide_lead_somewhere(path):
    if not (ROOT / "docs" / "guide").is_dir():
        pytest.skip("there is no guide beside these examples")
    for target in re.findall(r":doc:`/([\w/]+)`", path.read_text(encoding="utf-8")):
        assert (ROOT / "docs" / f"{target}.md").exists(), target


@each
def test_example_imports_only_what_the_extras_bring(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        names += [node.module] if isinstance(node, ast.ImportFrom) else []
        for name in names:
            assert name.split(".")[0] in BROUGHT | sys.stdlib_module_names, name
        if isinstance(node, ast.Attribute | ast.Name):
            assert not getattr(node, "attr", getattr(node, "id", "")).startswith("fetch_")  # no network


@pytest.mark.parametrize("name", QUICK)
def test_quick_examples_run(name, tmp_path):
    pytest.importorskip("matplotlib")
    code = f"import matplotlib; matplotlib.use('Agg'); import runpy; runpy.run_path({str(ROOT / 'examples' / name)!r})"
    said = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert said.returncode == 0, said.stderr
