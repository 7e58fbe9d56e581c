"""What becomes of forged model files: an answer, one clear error, or something that must not be.

`attack` tries many cases in processes of their own, so that one that crashes is noticed, and goes on behind it.
``python -m tests.helpers.forged_outcomes 24000`` is a long run, and ``python -m tests.helpers.forged_outcomes --case 17`` tries one.
"""

import argparse
import itertools
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from tests.helpers.forging import forged, one_of, read_seeds, write_seeds

ROOT = Path(__file__).parents[2]
ROOM = 400 << 20  # bytes that a case may ask for, beside what the process has when it begins
MOST_SECONDS = 5.0  # of a processor
KILLED = 30  # seconds after which a case is given up
BATCH = 500  # cases of a process
PAGE_EVERY = 10  # cases of which one draws the page, which takes longer than all else together
TRIAL = "MINRISK_ATTACK_TRIAL"  # an environment variable with which some cases do harm themselves, to see it noticed
HARM = {
    1: lambda: os.kill(os.getpid(), signal.SIGSEGV),
    3: lambda: time.sleep(10 * KILLED),
    4: lambda: np.ones(2 * ROOM),
}


class WrongAnswer(Exception):
    """An answer that is neither right nor one clear error."""


def rows_for(rng, model, n):
    """Rows that the model takes: missing values, large ones, and values of its categories among them."""
    d, names = model.n_features_in_, model._column_names
    n = n if d < 5000 else 1
    X = rng.normal(scale=4.0, size=(n, d))
    X[rng.random(X.shape) < 0.1] = np.nan
    X[rng.random(X.shape) < 0.02] = one_of(rng, (1e300, -1e300, 1.7e308, 0.0))
    if names is None and not model._categories.columns:
        return X
    import pandas as pd

    frame = pd.DataFrame(X)
    for column in model._categories.columns:
        values = [*dict.fromkeys(column.values)][:20]
        codes = rng.integers(-1, max(1, len(values)), n)
        cells = [None if code < 0 or not values else values[code] for code in codes]
        frame[column.position] = pd.Series(cells, dtype=object).astype("category")
    if names is not None:
        frame.columns = pd.Index(list(names), tupleize_cols=False)
    return frame


def expect(holds, what):
    if not holds:
        raise WrongAnswer(what)


def check_answers(model, X, folder):
    """All that a loaded model is asked for has the right type and shape; raises where it has not."""
    import minrisk

    n, K = len(X), len(model.classes_)
    decided = model.predict(X)
    expect(decided.shape == (n,) and set(decided.tolist()) <= set(model.decisions_.tolist()), "predict")
    merits = model.decision_function(X)
    expect(
        merits.shape[0] == n and merits.ndim == 1 + (K > 2 or merits.ndim == 2) and merits.dtype == np.float64,
        "decision_function",
    )
    expect(np.isfinite(merits).all(), "decision_function is not finite")
    if hasattr(model, "predict_proba"):
        p = model.predict_proba(X)
        expect(p.shape == (n, K) and np.all((p >= 0) & (p <= 1)) and np.allclose(p.sum(axis=1), 1.0), "predict_proba")
    for stage in itertools.islice(model.staged_predict(X), 3):
        expect(stage.shape == (n,), "staged_predict")
    share = model.feature_importances_
    expect(share.shape == (model.n_features_in_,) and np.all(share >= 0), "feature_importances_")
    expect(share.sum() == 0 or np.isclose(share.sum(), 1.0), "feature_importances_ do not sum to 1")
    expect(isinstance(repr(model), str) and isinstance(model.get_params(), dict), "repr")
    expect(
        model.get_params()["n_jobs"] is None and not model.get_params()["verbose"], "a matter of the machine was read"
    )
    minrisk.save(model, folder / "again")
    expect(np.array_equal(minrisk.load(folder / "again").predict(X), decided), "another answer after saving again")


def asked(function, *arguments, **options):
    """What a function says, or None where it refuses in a sentence of its own; any other error is raised again."""
    import minrisk

    try:
        return function(*arguments, **options)
    except (ValueError, TypeError) as error:
        last = traceback.extract_tb(error.__traceback__)[-1].filename
        text = str(error)
        clear = Path(last).is_relative_to(Path(minrisk.__file__).parent) and text.endswith(".") and len(text) < 1000
        if not clear or "\n" in text:
            raise
        return None


def check_read(model, X, folder, page):
    """All else that the library makes of a model: explanations, tables, exports, smaller models, and the page if asked."""
    import minrisk
    from minrisk import inspection
    from minrisk.export import linear_features, to_json, to_onnx, to_treelite

    few, y, decided = X[:5], np.resize(model.classes_, len(X)), model.predict(X)
    for of in ("scores", "log_odds", "cost"):
        found = asked(inspection.shap_values, model, few, X, of=of)
        expect(found is None or np.isfinite(found.sums).all(), f"SHAP values of {of}")
        if found is not None and of == "scores":
            scores = model.model_.scores(model._check_X(few))
            largest = max(np.abs(part).max(initial=0.0) for part in (scores, found.values, found.base_values))
            expect(np.allclose(found.sums, scores, atol=1e-6 * largest), "SHAP values do not sum to the scores")
    asked(inspection.cost_importances, model, few, X)
    found = asked(inspection.why, model, X[:1], X, y)
    expect(found is None or found.decision == decided[0], "why is about another decision")
    expect(found is None or isinstance(str(found), str), "why")
    drawn = asked(inspection.report, model, X, y) if page else None
    expect(drawn is None or drawn.endswith("</html>\n"), "report")
    frame = asked(inspection.to_frame, model, X)
    expect(frame is None or np.all(frame["rows"] <= len(X)), "to_frame")
    asked(inspection.to_shap, model, X)
    asked(inspection.wide_columns, model, X)
    if isinstance(model, minrisk.LocalizedSimilaritiesClassifier):
        expect(len(inspection.explain(model, few)) == len(few), "explain")
    text = asked(to_json, model)
    expect(text is None or json.loads(text, parse_constant=lambda text: expect(False, f"{text} in JSON")), "to_json")
    for export in (to_onnx, to_treelite, linear_features):
        asked(export, model)
    if isinstance(model, minrisk.MinRiskClassifier):
        expect(len(model.predict(X, max_excess=1.0)) == len(X), "predict of an excess")
        smaller = asked(minrisk.compact, model, max_excess=1.0)
        if smaller is not None:
            minrisk.save(smaller, folder / "smaller")
            said = minrisk.load(folder / "smaller").predict(X)
            expect(np.array_equal(said, smaller.predict(X)), "another answer of the smaller model")


def check_shown(path, folder):
    """`minrisk show` and `show --json` print, or say what is wrong in one line."""
    from click.testing import CliRunner

    from minrisk.cli.app import app

    for extra in ([], ["--json"]):
        shown = CliRunner().invoke(app, ["show", str(path), *extra])
        expect(shown.exit_code == 0, f"show {extra}: exit code {shown.exit_code}, {shown.output[-200:]}")
        if extra:
            json.loads(shown.stdout, parse_constant=lambda text: expect(False, f"{text} in JSON"))


def outcome(raw, number, folder, page=True):
    """ "refused" or "answers"; else what is wrong."""
    import minrisk

    path, rng = folder / "forged", np.random.default_rng(number)
    path.write_bytes(raw)
    begun = time.process_time()
    try:
        model = minrisk.load(path)
    except minrisk.ModelFileError as error:
        text = str(error)
        clear = text.startswith(str(path)) and "\n" not in text and len(text) < 600 and text.endswith(".")
        if not clear or "parts do not fit together" in text:
            return f"unclear: {text[:600]}"
        return "refused"
    try:
        X = rows_for(rng, model, one_of(rng, (9, 9, 9, 300)))
        check_answers(model, X, folder)
        check_shown(path, folder)
        check_read(model, X, folder, page)
    except (Exception, SystemExit) as error:
        return f"wrong: {type(error).__name__}: {str(error)[:300]}"
    seconds = time.process_time() - begun
    return "answers" if seconds < MOST_SECONDS else f"slow: {seconds:.1f} s"


def say(line):
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def limited():
    """Let the process have no more memory than it has and what a case may ask for."""
    taken = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (taken + ROOM, resource.RLIM_INFINITY))


def child(folder, first, last):
    """Try these cases and say of each, in lines, that it begins and how it ends."""
    folder, files = Path(folder), read_seeds(folder)
    warnings.simplefilter("error", RuntimeWarning)
    with tempfile.TemporaryDirectory() as name:
        for number, path in enumerate(sorted(folder.glob("*.seed"))):  # what is imported takes memory of its own
            found = outcome(path.read_bytes(), 0, Path(name), page=number == 0)
            assert found == "answers", (path, found)
        if Path("/proc/self/statm").exists():
            limited()
        for number in range(first, last):
            say(f"begin {number}")
            signal.alarm(2 if TRIAL in os.environ else KILLED)
            try:
                if TRIAL in os.environ and number in HARM:
                    HARM[number]()
                found = outcome(forged(files, number), number, Path(name), number % PAGE_EVERY == 0)
            except MemoryError:
                found = "memory"
            signal.alarm(0)
            say(f"end {number} {json.dumps(found)}")


def outcomes(first, last, folder):
    """What comes of these cases, one after another in this process, as `benchmarks.attack_cases` counts it."""
    from tests.helpers.odd_inputs import Outcome

    kinds = {"refused": "error", "answers": "answer", "slow": "hang"}
    write_seeds(folder)
    files = read_seeds(folder)
    for number in range(first, last):
        (folder / "last").write_text(str(number))
        with warnings.catch_warnings():
            warnings.simplefilter("error", RuntimeWarning)
            ended = outcome(forged(files, number), number, folder, number % PAGE_EVERY == 0)
            found, _, detail = ended.partition(": ")
        yield Outcome(kinds.get(found, found), f"forged file {number}", detail)


def attack(n, first=0, processes=1, kinds=()):
    """How so many cases end, and the numbers of those that end neither with an answer nor with one clear error.

    `kinds` names the seeds that files are made of, all of them if it is empty.
    """
    counts, failed = Counter(), {}
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(processes) as threads:
        write_seeds(folder, kinds)
        lows = range(first, first + n, BATCH)
        for ended in threads.map(lambda low: tried(folder, low, min(low + BATCH, first + n)), lows):
            counts.update(found.partition(":")[0] for found in ended.values())
            failed |= {number: found for number, found in ended.items() if found not in ("refused", "answers")}
    assert counts.total() == n
    return counts, failed


def tried(folder, first, last):
    """How these cases end, each by its number; a process goes on behind a case that ended the one before."""
    ended = {}
    while first < last:
        command = [
            sys.executable,
            "-X",
            "faulthandler",
            "-m",
            "tests.helpers.forged_outcomes",
            "--child",
            folder,
            str(first),
            str(last),
        ]
        done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
        lines = [line.split(" ", 2) for line in done.stdout.splitlines()]
        ended |= {int(line[1]): json.loads(line[2]) for line in lines if line[0] == "end"}
        if not done.returncode:
            break
        if not lines:
            raise RuntimeError(f"the process of cases {first} to {last} did not begin: exit code {done.returncode}")
        at = int(lines[-1][1])
        ended[at] = "hang" if done.returncode == -signal.SIGALRM else f"crash: exit code {done.returncode}"
        first = at + 1
    return ended


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("n", nargs="?", type=int, default=2000, help="cases")
    options.add_argument("--first", type=int, default=0, help="number of the first case")
    options.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    options.add_argument("--case", type=int, help="try this one, in this process")
    options.add_argument("--child", nargs=3, metavar=("FOLDER", "FIRST", "LAST"), help=argparse.SUPPRESS)
    arguments = options.parse_args()
    if arguments.child:
        folder, first, last = arguments.child
        child(folder, int(first), int(last))
        return
    if arguments.case is not None:
        with tempfile.TemporaryDirectory() as folder:
            write_seeds(folder)
            say(outcome(forged(read_seeds(folder), arguments.case), arguments.case, Path(folder)))
        return
    counts, failed = attack(arguments.n, arguments.first, arguments.processes)
    say(str(dict(counts)))
    for number, found in sorted(failed.items()):
        say(f"{number} {found}")


if __name__ == "__main__":
    main()
