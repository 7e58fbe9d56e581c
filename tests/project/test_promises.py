"""What SECURITY.md promises, held against what wants more: files that would run code, a terminal, a look for a network."""

import json
import os
import pickle
import pty
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import minrisk
from tests.helpers.forging import archive, as_bytes, envelope, put_together, taken_apart

ROOT = Path(__file__).parents[2]
SEEN = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")  # what terminals obey
WATCH = """
import os, sys
seen, on, allowed = [], [False], set(sys.argv[2:])
def hook(event, arguments):
    if event.startswith("socket.") and event != "socket.gethostname":
        seen.append(f"{event} {arguments!r:.200}")
    if on[0] and event in ("pickle.find_class", "os.system", "os.exec", "os.fork", "os.posix_spawn",
                           "subprocess.Popen", "ctypes.dlopen"):
        seen.append(f"{event} {arguments!r:.200}")
    if on[0] != "all":
        return
    if event in ("exec", "compile", "import", "marshal.loads"):
        seen.append(f"{event} {arguments!r:.200}")
    if event == "open" and isinstance(arguments[0], str) and os.path.abspath(arguments[0]) not in allowed:
        seen.append(f"{event} {arguments!r:.200}")
sys.addaudithook(hook)
"""


class Payload:
    """What leaves a mark where it is unpickled."""

    def __init__(self, mark):
        self.mark = mark

    def __reduce__(self):
        return os.system, (f"touch {self.mark}",)


def watched(code, folder, *files, begin=()):
    """What a program says that may open these files and nothing else while it is watched."""
    command = [*begin, sys.executable, "-c", WATCH + code, str(folder), *map(str, files)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout.splitlines()[-1])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A table, a model of it, and files of both kinds that were made to run something."""
    place = tmp_path_factory.mktemp("promises")
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"a": rng.normal(size=90), "b": rng.normal(size=90), "y": np.array(["u", "v", "w"])[np.arange(90) % 3]}
    )
    frame.to_csv(place / "t.csv", index=False)
    model = minrisk.REBELClassifier(n_estimators=4).fit(frame[["a", "b"]], frame["y"])
    minrisk.save(model, place / "m")
    return place


def hostile_models(folder):
    """Files of models that name paths and code, or hold pickles where arrays belong."""
    header, arrays = taken_apart((folder / "m").read_bytes())
    pickled = pickle.dumps(Payload(folder / "mark"))
    description = b"{'descr': '|O', 'fortran_order': False, 'shape': (3,), }\n"
    members = {name: as_bytes(array) for name, array in arrays.items()}
    members["header"] = as_bytes(np.frombuffer(json.dumps(header).encode(), dtype=np.uint8))
    yield envelope(
        archive(
            {
                **members,
                "vectors": b"\x93NUMPY\x01\x00" + len(description).to_bytes(2, "little") + description + pickled,
            }
        )
    )
    yield envelope(archive({**members, "../../mark": pickled}))
    yield envelope(pickled)
    yield pickled
    for name, value in {
        "cost": "/etc/passwd",
        "random_state": "__import__('os').system('id')",
        "estimator": {"py/object": "os.system"},
    }.items():
        yield put_together({**header, "parameters": {**header["parameters"], name: value}}, arrays)
    yield put_together({**header, "algorithm": "os.system"}, arrays)
    yield (folder / "m").read_bytes()


def hostile_tables(folder):
    """Tables of texts that are code elsewhere, and a column that PyArrow would once unpickle."""
    mark = folder / "mark"
    code = [
        f"=cmd|' /C touch {mark}'!A0",
        f"$(touch {mark})",
        f"__import__('os').system('touch {mark}')",
        f"`touch {mark}`",
        "a",
    ]
    frame = pd.DataFrame({"a": np.arange(50.0), "b": np.resize(code, 50), "y": np.resize(["u", "v"], 50)})
    frame.to_csv(folder / "hostile.csv", index=False)
    metadata = {
        b"ARROW:extension:name": b"arrow.py_extension_type",
        b"ARROW:extension:metadata": pickle.dumps(Payload(mark)),
    }
    fields = [pa.field("a", pa.float64(), metadata=metadata), pa.field("y", pa.string())]
    table = pa.table([pa.array(np.arange(50.0)), pa.array(np.resize(["u", "v"], 50))], schema=pa.schema(fields))
    pq.write_table(table, folder / "hostile.parquet")
    (folder / "hostile.svm").write_text("".join(f"{i % 2} 1:{i} # $(touch {mark})\n" for i in range(50)))
    return [folder / f"hostile.{kind}" for kind in ("csv", "parquet", "svm")]


def test_nothing_in_a_model_file_is_executed_and_no_other_file_is_opened(folder):
    paths = []
    for number, raw in enumerate(hostile_models(folder)):
        paths.append(folder / f"hostile-{number}")
        paths[-1].write_bytes(raw)
    code = """
import json, minrisk
minrisk.load(sys.argv[1] + "/m")  # what it takes is imported
answers = {}
on[0] = "all"
for path in sys.argv[2:]:
    try:
        minrisk.load(path)
        answers[path] = "a model"
    except minrisk.ModelFileError as error:
        answers[path] = str(error)
on[0] = False
print(json.dumps([answers, seen]))
"""
    answers, seen = watched(code, folder, *paths)
    assert not seen and not (folder / "mark").exists()
    assert answers.pop(str(paths[-1])) == "a model"
    answers.pop(str(folder / "hostile-4")), answers.pop(str(folder / "hostile-5"))  # parameters that are not read
    assert all("is not a" in said and "\n" not in said for said in answers.values()), answers


def test_nothing_in_a_table_is_executed(folder):
    files = hostile_tables(folder)
    code = """
import json, warnings
warnings.simplefilter("ignore")
from minrisk.tables.svmlight import is_svmlight
from minrisk.tables.files import open_table
from minrisk.cli.app import app
from click.testing import CliRunner
for watching in (False, "running"):  # the second time all is imported
    on[0] = watching
    for path in sys.argv[2:]:
        fit = ["fit", path, "--method", "rebel", "--n-estimators", "2", "--out", sys.argv[1] + "/of_hostile"]
        done = CliRunner().invoke(app, fit + ([] if path.endswith("svm") else ["--target", "y"]))
        assert done.exit_code == 0, done.output
on[0] = False
print(json.dumps(seen))
"""
    assert watched(code, folder, *files) == [] and not (folder / "mark").exists()


def test_no_network_is_used(folder):
    """From the first import on, by fits, files, pictures, exports and the command line; nor is one needed."""
    alone = ("unshare", "--net")  # which root may
    without = (
        alone
        if shutil.which("unshare") and subprocess.run([*alone, "true"], capture_output=True).returncode == 0
        else ()
    )
    code = """
import json, warnings
warnings.simplefilter("ignore")
import pandas as pd
import minrisk
from minrisk import export, inspection
from minrisk.cli.app import app
from click.testing import CliRunner
frame = pd.read_csv(sys.argv[1] + "/t.csv")
X, y = frame[["a", "b"]], frame["y"]
model = minrisk.MinRiskClassifier(n_estimators=4, random_state=0).fit(X, y)
minrisk.save(model, sys.argv[1] + "/of_network")
model = minrisk.load(sys.argv[1] + "/of_network")
model.predict(X)
inspection.report(model, X, y)
inspection.why(model, X.iloc[[0]], X, y)
export.to_json(model)
for command in (["show", "of_network"], ["evaluate", "of_network", "t.csv", "--target", "y"], ["predict", "of_network", "t.csv"]):
    done = CliRunner().invoke(app, [sys.argv[1] + "/" + word if word in ("of_network", "t.csv") else word for word in command])
    assert done.exit_code == 0, done.output
print(json.dumps(seen))
"""
    assert watched(code, folder, begin=without) == []


NEXT = "-- next --"
ONE_AFTER_ANOTHER = f"""
import json, sys
from minrisk.cli import main
for words in json.loads(sys.argv[1]):
    sys.argv = ["minrisk", *words]
    try:
        main()
    except SystemExit:
        pass
    sys.stderr.flush()
    print("{NEXT}", flush=True)
"""


def test_a_terminal_is_shown_what_it_does_not_obey(tmp_path):
    """On a pseudo-terminal, as a person runs the commands, but for one process that runs them all."""
    evil = ["\x1b[2Jred", "\x1b]0;title\x07", "\u202etxt", "\x9b31m"]
    frame = pd.DataFrame({f"a{evil[0]}": np.arange(60.0) % 7, evil[1]: np.arange(60.0) % 5, "y": np.resize(evil, 60)})
    frame.to_csv(tmp_path / "t.csv", index=False)
    commands = (
        ["fit", "t.csv", "--target", "y", "--method", "rebel", "--n-estimators", "9", "--out", "m"],
        ["show", "m"],
        ["evaluate", "m", "t.csv", "--target", "y"],
        ["predict", "m", "t.csv"],
        ["predict", "m", "t.csv", "--keep", "gone\x1b"],
    )
    child, terminal = pty.fork()
    if child == 0:
        os.chdir(tmp_path)
        code = [sys.executable, "-c", ONE_AFTER_ANOTHER, json.dumps(commands)]
        os.execve(sys.executable, code, {**os.environ, "PYTHONPATH": str(ROOT), "TERM": "dumb"})
    shown = b""
    while part := read(terminal):
        shown += part
    os.close(terminal)
    os.waitpid(child, 0)
    *said, rest = shown.decode().split(NEXT)
    assert len(said) == len(commands) and not rest.strip(), shown.decode()
    for own in said:
        assert len(own) > 20 and SEEN.search(own) is None, own


def read(terminal):
    """The next bytes; none where the other side has been closed."""
    try:
        return os.read(terminal, 1 << 16)
    except OSError:
        return b""


def test_the_pages_name_tests_that_exist():
    """The page of trust has a line for each promise of SECURITY.md."""
    page = (ROOT / "docs" / "more" / "trust.md").read_text()
    lines = [line for line in page.splitlines() if line.startswith("| ") and re.search(r"`\w+/\w+\.py`", line)]
    assert len(lines) > 30
    for name in re.findall(r"`(\w+/\w+\.py)`", page):
        assert (ROOT / "tests" / name).exists(), name
    promises = [line for line in (ROOT / "SECURITY.md").read_text().splitlines() if line.startswith("- **")]
    for promise in promises:
        assert f"| {promise.split('**')[1]}" in page, promise
