"""Rules of the structure, read off the sources: where Numba is, which way imports run, sizes, words that must not occur."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent / "minrisk"
FILES = sorted(ROOT.rglob("*.py"))
LAYERS = {  # a part may import from parts of a lower or equal number
    "_typing": 0, "_cached": 0, "_kernels": 0, "_workers": 0, "_memory": 0, "_sums": 0, "_temporary": 0, "_printable": 0, "frames": 0, "codes": 1, "folds": 1, "costs": 1, "validation": 1, "metrics": 2, "binning": 1, "rows": 2,
    "losses": 3, "learners": 3, "steps": 3, "model": 4, "monitors": 4, "whole_round": 5, "boosting": 5,
    "estimator": 6, "selection": 6, "pool": 6, "cost_regression": 6, "smooth_members": 6, "projection": 1, "smooth": 2, "columns": 2, "categories": 1, "inputs": 2, "algorithms": 7,
}  # fmt: skip


def imports(path, everywhere=True):
    tree = ast.parse(path.read_text())
    for node in ast.walk(tree) if everywhere else tree.body:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""


def part_of(path):
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_numba_is_imported_by_kernels_only(path):
    if part_of(path) != "_kernels":
        assert not any(name.split(".")[0] == "numba" for name in imports(path))


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_imports_run_one_way(path):
    own = LAYERS.get(part_of(path))
    if own is None:
        return
    for name in imports(path):
        if name.startswith("minrisk."):
            other = LAYERS.get(name.split(".")[1])
            assert other is not None and other <= own, f"{path} imports {name}"


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_files_and_functions_are_small(path):
    source = path.read_text()
    assert source.count("\n") <= 600
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef):
            body = node.body[1:] if ast.get_docstring(node) else node.body
            length = node.end_lineno - (body[0].lineno if body else node.lineno) + 1
            assert length <= 80, f"{path}:{node.lineno} {node.name} has {length} lines"


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_no_pickle_no_print_no_stub(path):
    source = path.read_text()
    assert "pickle" not in set(imports(path))
    assert not re.search(r"^\s*print\(|\bNotImplementedError\b|\bjitclass\(|\bTODO\b|\bFIXME\b", source, re.M)


def test_one_loop_over_rounds():
    loops = [path for path in FILES if re.search(r"for \w+ in range\(.*n_rounds", path.read_text())]
    assert [path.name for path in loops] == ["boosting.py"]


def test_importing_the_package_imports_nothing_heavy():
    assert set(imports(ROOT / "__init__.py", everywhere=False)) <= {"__future__", "importlib", "typing"}


def writes(call):
    """Whether a call makes or opens a file to write to it, or sets the umask, which all threads share."""
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    if name == "to_csv":  # with no file it returns a text
        return bool(call.args)
    if name == "open" and ast.unparse(call.func) not in ("os.open", "archive.open"):  # a member of an archive is no file
        modes = [node.value for node in ast.walk(call) if isinstance(node, ast.Constant) and isinstance(node.value, str)]
        return any(re.fullmatch(r"[rwaxbt+]*[wax+][rwaxbt+]*", mode) for mode in modes) and "devnull" not in ast.unparse(call)
    return name in ("to_parquet", "savefig", "write_bytes", "write_text", "mkstemp", "NamedTemporaryFile", "umask")


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_files_are_written_in_one_way(path):
    code = ast.parse(path.read_text())
    blocks = [node for node in ast.walk(code) if isinstance(node, ast.With)]
    beside = [node for node in blocks if re.match(r"(write_beside|temporary)\(", ast.unparse(node.items[0]))]
    within = {node for block in beside for node in ast.walk(block)}
    own = path == ROOT / "io" / "atomic.py"  # opens what is there already
    for node in ast.walk(code):
        if isinstance(node, ast.Call) and node not in within and writes(node):
            assert own and ast.unparse(node.func) == "open", f"{path}:{node.lineno} writes outside a `write_beside` block"


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_no_property_has_a_lock(path):
    """See `minrisk._cached`: a fork may leave it locked."""
    assert not re.search(r"^from functools import .*cached_property", path.read_text(), re.M)
