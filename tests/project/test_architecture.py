"""Rules of the structure, read off the sources: where Numba is, which way imports run, what must not occur."""

import ast
import functools
import re
from pathlib import Path

ROOT = Path(__file__).parents[2] / "minrisk"
FILES = sorted(ROOT.rglob("*.py"))
ORDER = (  # a package, or a module at the top, imports from those before it only
    "_typing",
    "_kernels",
    "_utils",
    "data",
    "costs",
    "model",
    "rows",
    "losses",
    "steps",
    "learners",
    "boosting",
    "metrics",
    "decisions",
    "estimator",
    "ensemble",
    "algorithms",
    "compaction",
    "io",
    "tables",
    "export",
    "inspection",
    "comparison",
    "cli",
    "__main__",
    "__init__",
)
MODULES = {".".join(path.relative_to(ROOT.parent).with_suffix("").parts): path for path in FILES}
ROUNDS_ELSEWHERE = {"ensemble/smooth.py"}  # beside `boost`; see docs/more/developers/design.md


def of_each(cases):
    """One test of all of them: thousands of tests of a moment each take longer to begin and to tell than to run."""

    def decorate(test):
        def all_of_them():
            for case in cases:
                test(case)

        return all_of_them

    return decorate


@functools.cache
def parsed(path):
    return ast.parse(path.read_text())


def imports(path, everywhere=True):
    tree = parsed(path)
    for node in ast.walk(tree) if everywhere else tree.body:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""


def part_of(path):
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def package_of(name):
    """The entry of `ORDER` that a dotted name of ours belongs to."""
    parts = name.split(".")[1:]
    return parts[0] if parts else "__init__"


@functools.cache
def imported_modules(path):
    """Ours, also those named by `from package import module`, and for type checkers only."""
    return list(imports_of_ours(path))


def imports_of_ours(path):
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "minrisk":
            for alias in node.names:
                inside = f"{node.module}.{alias.name}"
                yield inside if inside in MODULES else node.module
            for folder in (
                ROOT.parent.joinpath(*node.module.split(".")),
                *ROOT.parent.joinpath(*node.module.split(".")).parents,
            ):
                if (folder / "__init__.py").is_file() and folder not in (ROOT, *path.parents):  # run before it
                    yield ".".join((*folder.relative_to(ROOT.parent).parts, "__init__"))
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.split(".")[0] == "minrisk")


def test_every_package_has_its_place():
    assert {package_of(name) for name in MODULES} == set(ORDER)


@of_each(sorted(MODULES))
def test_imports_run_one_way(name):
    own = ORDER.index(package_of(name))
    for other in imported_modules(MODULES[name]):
        if package_of(other) not in (package_of(name), "__init__"):  # `from minrisk import load` is for users, and cli
            assert ORDER.index(package_of(other)) < own, f"{name} imports {other}"


@of_each(sorted(MODULES))
def test_rows_are_seen_through_their_interface(name):
    """The loop, its steps and its learners know neither where rows are nor any array with an entry for each of them."""
    package = package_of(name)
    if package in ("boosting", "steps", "learners", "ensemble"):
        assert not re.search(
            r"\brows\.(scores|response|leaf|gradient|hessian|X_binned|in_bag)\b", MODULES[name].read_text()
        )
    if package in ("boosting", "steps", "learners"):
        assert not re.search(r"\brows\.costs\b", MODULES[name].read_text())


def test_no_module_imports_itself_by_way_of_others():
    waiting = {name: set(imported_modules(path)) & set(MODULES) - {name} for name, path in MODULES.items()}
    while free := {name for name, others in waiting.items() if not others}:
        waiting = {name: others - free for name, others in waiting.items() if name not in free}
    assert not waiting, f"circles among {sorted(waiting)}"


@of_each(FILES)
def test_no_pickle_no_print_no_stub(path):
    source = path.read_text()
    assert "pickle" not in set(imports(path))
    assert not re.search(r"^\s*print\(|\bNotImplementedError\b|\bjitclass\(|\bTODO\b|\bFIXME\b", source, re.M)


def loops_over_rounds(path):
    """Lines of loops whose bounds or conditions speak of rounds, and that are no comprehension."""
    for node in ast.walk(parsed(path)):
        if isinstance(node, (ast.For, ast.While)):
            told = r"\bn_rounds\b|^seeds$" if isinstance(node, ast.For) else r"\breached\b"
            if re.search(told, ast.unparse(node.iter if isinstance(node, ast.For) else node.test)):
                yield node.lineno


def test_one_loop_over_rounds():
    found = {str(path.relative_to(ROOT)) for path in FILES if list(loops_over_rounds(path))}
    assert found == {"boosting/loop.py", *ROUNDS_ELSEWHERE}


def test_importing_the_package_imports_nothing_heavy():
    assert set(imports(ROOT / "__init__.py", everywhere=False)) <= {"__future__", "importlib", "typing"}


def writes(call):
    """Whether a call makes or opens a file to write to it, or sets the umask, which all threads share."""
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    if name == "to_csv":  # with no file it returns a text
        return bool(call.args)
    if name == "open" and ast.unparse(call.func) not in (
        "os.open",
        "archive.open",
    ):  # a member of an archive is no file
        modes = [
            node.value for node in ast.walk(call) if isinstance(node, ast.Constant) and isinstance(node.value, str)
        ]
        return any(
            re.fullmatch(r"[rwaxbt+]*[wax+][rwaxbt+]*", mode) for mode in modes
        ) and "devnull" not in ast.unparse(call)
    return name in ("to_parquet", "savefig", "write_bytes", "write_text", "mkstemp", "NamedTemporaryFile", "umask")


@of_each(FILES)
def test_files_are_written_in_one_way(path):
    code = parsed(path)
    blocks = [node for node in ast.walk(code) if isinstance(node, ast.With)]
    beside = [node for node in blocks if re.match(r"(write_beside|temporary)\(", ast.unparse(node.items[0]))]
    within = {node for block in beside for node in ast.walk(block)}
    own = path == ROOT / "io" / "atomic.py"  # opens what is there already
    for node in ast.walk(code):
        if isinstance(node, ast.Call) and node not in within and writes(node):
            assert own and ast.unparse(node.func) == "open", (
                f"{path}:{node.lineno} writes outside a `write_beside` block"
            )


@of_each(FILES)
def test_no_property_has_a_lock(path):
    """See `minrisk._utils`: a fork may leave it locked."""
    assert not re.search(r"^from functools import .*cached_property", path.read_text(), re.M)


# -- the same bits everywhere -----------------------------------------------------------------------------------------
OF_LIBRARIES = {  # functions that NumPy and the C library round otherwise on other processors
    *("exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "logaddexp", "logaddexp2", "logspace", "geomspace"),
    *("sin", "cos", "tan", "arcsin", "arccos", "arctan", "arctan2", "asin", "acos", "atan", "atan2", "sinc"),
    *("sinh", "cosh", "tanh", "arcsinh", "arccosh", "arctanh", "asinh", "acosh", "atanh"),
    *("pow", "power", "float_power", "cbrt", "hypot", "dist", "erf", "erfc", "gamma", "lgamma", "i0"),
    *("dot", "vdot", "inner", "matmul", "tensordot", "einsum", "linalg", "cov", "corrcoef"),
}
FOR_PEOPLE = {  # no model has these
    "cli",
    "comparison/result.py",
    "comparison/statistics.py",
    "decisions/monitor.py",
    "inspection/plotting.py",
}
EXACT = {
    "model/codes.py",  # powers of whole numbers, which Python takes exactly
    "learners/most_violated.py",  # lengths along an axis, which NumPy sums in one order
    "steps/penalised.py",  # as there
    "_utils/algebra.py",  # products with sparse matrices, which SciPy sums in one order
    "ensemble/refitting.py",  # as there
    "decisions/priors.py",  # shares, which are rounded to fewer digits than differ; the rest is for people
    "decisions/bounds.py",  # p-values, which are only compared with a level
    "costs/statements.py",  # a linear program, whose table is rounded to ten digits
}


def functions_of_libraries(path):
    """Return lines that take one, and powers but those of a number that is written out, and squares.

    NumPy squares arrays by a product. Squares of single numbers should be products, which no test can tell.
    """
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            if node.value.id in ("np", "numpy", "math") and node.attr in OF_LIBRARIES:
                yield node.lineno, ast.unparse(node)
        elif isinstance(node, ast.ImportFrom) and node.module in ("math", "numpy"):
            yield from ((node.lineno, alias.name) for alias in node.names if alias.name in OF_LIBRARIES)
        elif isinstance(node, (ast.BinOp, ast.AugAssign)) and isinstance(node.op, ast.Pow):
            base, exponent = (node.left, node.right) if isinstance(node, ast.BinOp) else (node.target, node.value)
            squared = isinstance(exponent, ast.Constant) and exponent.value == 2
            if not isinstance(base, ast.Constant) and not squared:
                yield node.lineno, ast.unparse(node)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "pow":
            yield node.lineno, "pow"
        elif isinstance(node, (ast.BinOp, ast.AugAssign)) and isinstance(node.op, ast.MatMult):
            yield node.lineno, ast.unparse(node)
    others = ("scipy.special", "scipy.linalg", "scipy.optimize", "sklearn.decomposition", "sklearn.neighbors")
    yield from ((1, name) for name in imports(path) if name.startswith(others))


def test_fits_take_functions_and_products_of_our_own():
    for path in FILES:
        place = path.relative_to(ROOT).as_posix()
        if place in FOR_PEOPLE | EXACT or part_of(path) in FOR_PEOPLE:
            continue
        for line, found in functions_of_libraries(path):
            raise AssertionError(
                f"minrisk/{place}:{line} takes {found}, which differs in the last bit from processor to processor: "
                "take it from minrisk._kernels.functions (exp, log, power and more) or minrisk._utils.algebra."
            )


def test_kernels_take_elementary_functions_of_our_own():
    names = "|".join(sorted(OF_LIBRARIES - {"dist", "gamma"}))
    for path in [*ROOT.glob("_kernels/*.cpp"), *ROOT.glob("_kernels/*.hpp")]:
        for number, line in enumerate(path.read_text().splitlines(), 1):
            assert not re.search(rf"std::({names})\(", line), (
                f"{path.name}:{number} takes a function of the C library, which differs in the last bit from "
                "processor to processor: take it from elementary.hpp."
            )
