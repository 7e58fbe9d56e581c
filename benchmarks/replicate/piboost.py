"""PIBoost's Table 3: errors in five folds of PIBoost(1), single labels, and PIBoost(2), pairs as well; Table 4's tests.

Trees are the paper's: fitted to a tenth of the rows drawn by weight, nodes of more than M / K rows are split. Rounds
are those of Table 2. The paper prunes and does not say how, nor how it codes words (here: codes in sorted order).
``--others`` runs the columns of GentleBoost, AdaBoost.MH and SAMME, ``--costs`` compares training with a cost matrix
and without, ``--speed`` times rounds on isolet by processor seconds of one thread and measures their memory. What is
in the results is not run again. ``--readings`` tries other sizes of trees on the sets that differ most. ``--curves``
is Figure 3, test errors against weak learners, of the first ``--folds`` folds, and draws Figure 4, Nemenyi's diagrams.
`FEWER` says where the rounds or folds are not the paper's, for time. Figure 5 is of Amazon, whose data are not at hand.
"""

from __future__ import annotations

import gc
import itertools
import json
import math
import subprocess
import sys
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedKFold, train_test_split
from sklearn.tree import DecisionTreeClassifier

from benchmarks.common import ROOT, costs, is_quick, keep, kept, load, mean_cost, parser, save, save_picture, show
from benchmarks.memory import reset_peak, resident
from minrisk import AdaBoostMHClassifier, BAdaCostClassifier, GentleBoostClassifier, PIBoostClassifier
from minrisk.comparison.statistics import friedman_test, nemenyi_test, signed_rank
from minrisk.inspection import CriticalDifferenceDisplay

ROUNDS = {  # of PIBoost(1) and PIBoost(2), Table 2
    "vehicle": (70, 40),
    "waveform": (40, 40),
    "vowel": (120, 20),
    "segment": (80, 20),
    "car": (70, 40),
    "page_blocks": (120, 40),
    "satimage": (80, 20),
    "optdigits": (110, 20),
    "mfeat": (110, 20),
    "cnae9": (100, 20),
    "pendigits": (110, 20),
    "nursery": (120, 40),
    "isolet": (135, 10),
    "chess": (95, 10),
}
LEARNERS = {  # in all, Table 2: rounds of AdaBoost.MH and SAMME, which fit one a round; satimage's are 7 classes'
    "vehicle": 280,
    "waveform": 120,
    "vowel": 1320,
    "segment": 560,
    "car": 280,
    "page_blocks": 600,
    "satimage": 560,
    "optdigits": 1100,
    "mfeat": 1100,
    "cnae9": 900,
    "pendigits": 1100,
    "nursery": 600,
    "isolet": 3510,
    "chess": 1710,
}
METHODS = ("singles", "pairs")
OTHERS = ("GentleBoost", "AdaBoost.MH", "SAMME")
VARIANTS = {"AdaBoost.MH, signs": "AdaBoost.MH", "PIBoost(2), all rows": "PIBoost(2)"}  # and what they stand beside
COLUMNS = (*OTHERS, "PIBoost(1)", "PIBoost(2)")
PAPER = {  # Table 3, errors in percent and their deviation over the folds, in the order of COLUMNS
    "car": ((8.52, 1.21), (7.13, 1.68), (4.87, 1.11), (3.25, 0.74), (3.77, 0.59)),
    "chess": ((51.36, 0.61), (42.40, 0.34), (55.76, 0.63), (52.60, 1.18), (51.87, 0.74)),
    "cnae9": ((8.70, 2.39), (10.28, 1.84), (11.11, 0.77), (14.72, 1.93), (8.24, 1.71)),
    "isolet": ((15.07, 0.94), (54.33, 1.79), (8.12, 1.85), (12.11, 2.53), (5.59, 0.55)),
    "mfeat": ((4.60, 1.28), (36.70, 8.22), (1.35, 0.44), (3.40, 0.96), (1.45, 0.82)),
    "nursery": ((12.16, 0.60), (2.03, 0.32), (4.82, 0.58), (1.92, 0.29), (3.13, 0.62)),
    "optdigits": ((7.56, 0.74), (4.32, 0.59), (3.65, 0.55), (4.00, 0.13), (2.40, 0.41)),
    "page_blocks": ((2.91, 0.52), (2.76, 0.46), (3.86, 0.87), (3.64, 0.47), (3.02, 0.50)),
    "pendigits": ((2.21, 0.11), (1.13, 0.29), (4.84, 0.62), (3.58, 0.40), (1.92, 0.25)),
    "satimage": ((12.94, 0.32), (13.18, 0.51), (36.91, 1.20), (11.13, 0.62), (9.49, 0.53)),
    "segment": ((4.94, 0.64), (4.07, 0.88), (2.38, 0.55), (2.08, 0.52), (1.77, 0.61)),
    "vehicle": ((27.10, 4.03), (39.76, 2.97), (23.20, 2.21), (25.09, 3.05), (23.55, 2.58)),
    "vowel": ((28.18, 3.22), (35.25, 3.24), (6.67, 1.14), (6.46, 1.83), (6.06, 1.60)),
    "waveform": ((16.18, 0.75), (18.10, 0.72), (17.10, 1.09), (15.32, 0.44), (15.32, 0.44)),
}
TABLE_4 = (
    ("PIBoost(2)", "GentleBoost"),
    ("PIBoost(2)", "AdaBoost.MH"),
    ("PIBoost(2)", "SAMME"),
    ("PIBoost(2)", "PIBoost(1)"),
    ("PIBoost(1)", "GentleBoost"),
    ("PIBoost(1)", "AdaBoost.MH"),
    ("PIBoost(1)", "SAMME"),
)
FOLDS = 5
FEWER = {  # rounds at most, where Table 2's take an hour and more in one thread
    ("mfeat", "AdaBoost.MH"): 300,
    ("mfeat", "SAMME"): 300,
    ("isolet", "AdaBoost.MH"): 300,
    ("isolet", "SAMME"): 300,
    ("isolet", "GentleBoost"): 40,
}
FEWER_FOLDS = {("isolet", method): 1 for method in OTHERS}
CURVES, MARKS = "piboost_curves", 24  # points of a curve, evenly on a logarithmic scale
COST_SETS = ("vehicle", "segment", "satimage", "vowel", "waveform", "page_blocks")
COST_KINDS = ("symmetric", "normal", "ordinal", "lognormal")
MEMORY_ROUNDS = 3
SPEED_COLUMNS = (
    "weak_learner",
    "draw",
    "rows",
    "chains",
    "seconds_of_a_round",
    "above_input_MB",
    "beside_bins_over_three_doubles",
)
READINGS = {  # options of PIBoostClassifier: depths that stand in the place of "more than M / K rows", a tenth drawn
    "a tenth, more than M / K": {},
    "a tenth, depth 2": {"max_depth": 2},
    "a tenth, depth 4": {"max_depth": 4},
    "a tenth, depth 6": {"max_depth": 6},
    "a tenth, depth 8": {"max_depth": 8},
    "a tenth, depth 12": {"max_depth": 12},
    "all rows, more than M / K of a tenth": None,  # M = 0.1 N is the bound's alone; scikit-learn's trees
}
READ_SETS = ("chess", "pendigits")


def other(name: str, method: str, seed: int) -> Any:
    """One of `OTHERS` or `VARIANTS`, on all rows: the paper's trees have about 2 K leaves, those of GentleBoost 4 K."""
    K, quick = load(name).n_classes, is_quick()
    depth, n_rounds = math.ceil(math.log2(2 * K)), 2 if quick else FEWER.get((name, method), LEARNERS[name])
    if method == "GentleBoost":  # K trees a round, as many rounds as PIBoost(1)
        n_rounds = 2 if quick else FEWER.get((name, method), ROUNDS[name][0])
        return GentleBoostClassifier(variant="margin", n_estimators=n_rounds, max_depth=depth + 1, random_state=seed)
    if method == "PIBoost(2), all rows":
        return PIBoostClassifier(n_estimators=2 if quick else ROUNDS[name][1], random_state=seed)
    if method == "SAMME":
        return BAdaCostClassifier(n_estimators=n_rounds, max_depth=depth, random_state=seed)
    response = "sign" if method == "AdaBoost.MH, signs" else "real"
    return AdaBoostMHClassifier(response=response, n_estimators=n_rounds, max_depth=depth, random_state=seed)


def piboost(name: str, method: str, seed: int) -> PIBoostClassifier:
    n_rounds = 2 if is_quick() else ROUNDS[name][METHODS.index(method)]
    return PIBoostClassifier(separators=method, n_estimators=n_rounds, draw=0.1, random_state=seed)


def fold_curve(name: str, method: str, fold: int, n_jobs: int) -> dict[str, str]:
    """Test errors of a fold in percent, after about `MARKS` numbers of rounds and the last; kept as soon as made."""
    names = {"data": name, "method": method, "fold": str(fold)}
    for row in kept(CURVES):
        if all(row[key] == value for key, value in names.items()):
            return row
    data, begun = load(name), time.process_time()
    fit, test = list(StratifiedKFold(FOLDS, shuffle=True, random_state=0).split(data.X, data.y))[fold]
    model = (piboost if method in METHODS else other)(name, method, fold).set_params(n_jobs=n_jobs)
    model.fit(data.X[fit], data.y[fit])
    stages = [100.0 * float(np.mean(decided != data.y[test])) for decided in model.staged_predict(data.X[test])]
    stages = stages or [100.0 * float(np.mean(model.predict(data.X[test]) != data.y[test]))]
    at = np.unique(np.geomspace(1, len(stages), MARKS).round().astype(int))
    a_round = getattr(model, "separators_", None)
    keep(
        CURVES,
        {
            **names,
            "rounds": len(stages),
            "learners_a_round": len(a_round)
            if a_round is not None
            else data.n_classes
            if method == "GentleBoost"
            else 1,
            "marks": ";".join(map(str, at)),
            "errors": ";".join(f"{stages[t - 1]:.6g}" for t in at),
            "seconds": time.process_time() - begun,
        },
    )
    return kept(CURVES)[-1]


def numbers(text: str) -> np.ndarray:
    return np.array([float(part) for part in text.split(";")])


def fold_errors(name: str, method: str, n_jobs: int) -> tuple[np.ndarray, list[int], float]:
    """Errors in percent and rounds made, of each fold, and the processor seconds of all."""
    rows = [fold_curve(name, method, fold, n_jobs) for fold in range(FEWER_FOLDS.get((name, method), FOLDS))]
    return (
        np.array([numbers(row["errors"])[-1] for row in rows]),
        [int(row["rounds"]) for row in rows],
        sum(float(row["seconds"]) for row in rows),
    )


def deviation(found: np.ndarray) -> float:
    """Over the folds; 0 of one fold, which the paper's alone then stands for."""
    return float(found.std(ddof=1)) if len(found) > 1 else 0.0


def verdict(found: np.ndarray, mean: float, std: float) -> str:
    """Whether the paper's mean is within two joint deviations."""
    apart = abs(found.mean() - mean) / np.hypot(deviation(found), std)
    return "agrees" if apart <= 2 else "better" if found.mean() < mean else "worse"


def table_3(names: Sequence[str], n_jobs: int) -> None:
    """A line for each set and method as soon as it is there."""
    done = {(line["data"], line["separators"]) for line in kept("piboost_uci")}
    for name in names:
        for number, method in enumerate(METHODS):
            if (name, method) in done:
                continue
            found, _, seconds = fold_errors(name, method, n_jobs)
            mean, std = PAPER[name][3 + number]
            keep(
                "piboost_uci",
                {
                    "data": name,
                    "separators": method,
                    "rounds": ROUNDS[name][number],
                    "error": float(found.mean()),
                    "std": deviation(found),
                    "paper_error": mean,
                    "paper_std": std,
                    "verdict": verdict(found, mean, std),
                    "processor_seconds": seconds,
                },
            )


def columns_of_others(names: Sequence[str], methods: Sequence[str], n_jobs: int) -> None:
    """The other columns of Table 3, likewise."""
    done = {(line["data"], line["method"]) for line in kept("piboost_others")}
    for name in names:
        for method in methods:
            if (name, method) in done:
                continue
            found, rounds, seconds = fold_errors(name, method, n_jobs)
            mean, std = PAPER[name][COLUMNS.index(VARIANTS.get(method, method))]
            keep(
                "piboost_others",
                {
                    "data": name,
                    "method": method,
                    "folds": len(found),
                    "rounds": max(rounds),
                    "least_rounds": min(rounds),
                    "max_depth": other(name, method, 0).max_depth or "",
                    "error": float(found.mean()),
                    "std": deviation(found),
                    "paper_error": mean,
                    "paper_std": std,
                    "verdict": verdict(found, mean, std),
                    "processor_seconds": seconds,
                },
            )


def ours() -> dict[tuple[str, str], float]:
    """Errors of what has been run on all folds, by set and column of Table 3."""
    named = dict(zip(METHODS, COLUMNS[3:], strict=True))
    found = {(line["data"], named[line["separators"]]): float(line["error"]) for line in kept("piboost_uci")}
    others = [line for line in kept("piboost_others") if int(line["folds"]) == FOLDS]
    return found | {(line["data"], line["method"]): float(line["error"]) for line in others}


def tests() -> list[dict[str, Any]]:
    """Table 4's p values, Friedman's and mean ranks with Nemenyi's difference: of the paper's Table 3 and of ours.

    A pair is compared on the sets where ours has both, ranks on those where it has all five.
    """
    found, lines = ours(), []
    for a, b in TABLE_4:
        i, j = COLUMNS.index(a), COLUMNS.index(b)
        line: dict[str, Any] = {
            "test": f"Wilcoxon p, {a} vs {b}",
            "printed": signed_rank([row[i][0] for row in PAPER.values()], [row[j][0] for row in PAPER.values()])[1],
        }
        names = [name for name in PAPER if (name, a) in found and (name, b) in found]
        if len(names) > 1:
            pairs = [[found[name, column] for name in names] for column in (a, b)]
            line |= {"ours": signed_rank(*pairs)[1], "sets": len(names)}
        lines.append(line)
    whole = [name for name in PAPER if all((name, column) in found for column in COLUMNS)]
    tables = {
        "printed": [[cell[0] for cell in row] for row in PAPER.values()],
        "printed_of_these": [[cell[0] for cell in PAPER[name]] for name in whole],
        "ours": [[found[name, column] for column in COLUMNS] for name in whole],
    }
    figures = {kind: of_ranks(table) for kind, table in tables.items() if len(table) > 1}
    for test in figures["printed"]:
        lines.append({"test": test, "sets": len(whole) or "", **{kind: figures[kind][test] for kind in figures}})
    return [{"printed": "", "printed_of_these": "", "ours": "", "sets": "", **line} for line in lines]


def of_ranks(table: list[list[float]]) -> dict[str, float]:
    """Friedman's p, mean ranks, and how far apart they must be by Nemenyi's test."""
    friedman = friedman_test(table)
    levels = {
        f"Nemenyi, critical difference at {alpha}": nemenyi_test(table, alpha).critical_difference
        for alpha in (0.05, 0.1)
    }
    p_values = nemenyi_test(table).p_values[COLUMNS.index("PIBoost(2)")]
    return {
        "Friedman p": friedman.p_value,
        **{f"mean rank of {column}": float(rank) for column, rank in zip(COLUMNS, friedman.mean_ranks, strict=True)},
        **levels,
        **{f"Nemenyi p, PIBoost(2) vs {column}": float(p_values[i]) for i, column in enumerate(COLUMNS[:-1])},
    }


def curves(names: Sequence[str], n_folds: int, n_jobs: int) -> None:
    """Figure 3's fits, folds outermost; isolet's with `OTHERS` have one fold."""
    for fold in range(n_folds):
        for name in names:
            for method in (*OTHERS, *METHODS):
                if fold < FEWER_FOLDS.get((name, method), FOLDS):
                    fold_curve(name, method, fold, n_jobs)


def draw_curves() -> None:
    """Figure 3: mean test error of the folds that there are, against weak learners."""
    import matplotlib.pyplot as plt

    rows = [row for row in kept(CURVES) if row["method"] in (*OTHERS, *METHODS)]
    names = [name for name in ROUNDS if any(row["data"] == name for row in rows)]
    across = min(5, len(names))
    down = math.ceil(len(names) / across)
    figure, axes = plt.subplots(down, across, figsize=(2.6 * across, 2.3 * down), layout="constrained", squeeze=False)
    for axis, name in itertools.zip_longest(axes.flat, names):
        if name is None:
            axis.axis("off")
            continue
        folds = set()
        for number, (method, called) in enumerate(zip((*OTHERS, *METHODS), COLUMNS, strict=True)):
            mine = [row for row in rows if (row["data"], row["method"]) == (name, method)]
            if mine:  # folds may end after different rounds: each is drawn as flat after its end
                marks = max((numbers(row["marks"]) for row in mine), key=lambda marks: float(marks[-1]))
                errors = [np.interp(marks, numbers(row["marks"]), numbers(row["errors"])) for row in mine]
                axis.semilogx(
                    marks * int(mine[0]["learners_a_round"]),
                    np.mean(errors, axis=0),
                    color=f"C{number}",
                    lw=1.4,
                    label=called,
                )
                folds.add(len(mine))
        axis.set_title(f"{name} (folds: {' or '.join(map(str, sorted(folds)))})", fontsize=9)
        axis.grid(alpha=0.3)
        axis.set_ylim(bottom=0)
    for axis in axes[:, 0]:
        axis.set_ylabel("test error, %")
    handles = {name: line for axis in axes.flat for line, name in zip(*axis.get_legend_handles_labels(), strict=True)}
    figure.legend(handles.values(), handles, loc="outside lower center", ncols=len(COLUMNS), frameon=False)
    figure.suptitle("Test error against weak learners", fontsize=11)
    save_picture(figure, "piboost_learners")


def draw_ranks() -> None:
    """Figure 4: Nemenyi's diagrams of the printed errors and of ours, on the sets that have all five columns."""
    found = ours()
    whole = [name for name in PAPER if all((name, column) in found for column in COLUMNS)]
    tables = {
        "ours": [[found[name, column] for column in COLUMNS] for name in whole],
        "printed": [[cell[0] for cell in row] for row in PAPER.values()],
    }
    for kind, table in tables.items():
        if len(table) > 1:
            test = nemenyi_test(table, 0.05)
            title = f"PIBoost's Table 3, {kind}: mean ranks on {len(table)} sets"
            shown = CriticalDifferenceDisplay(test.mean_ranks, test.critical_difference, COLUMNS, 0.05, title).plot()
            save_picture(shown.figure_, f"piboost_ranks_{kind}", bbox_inches="tight")


def of_costs(quick: bool) -> None:
    """Mean cost of training with a cost matrix and without, on test rows of three splits; a line at once for each."""
    done = {(line["data"], line["costs"], line["seed"]) for line in kept("piboost_costs")}
    for name in COST_SETS[:1] if quick else COST_SETS:
        data = load(name)
        for kind in ("normal",) if quick else COST_KINDS:
            for seed in range(1 if quick else 3):
                if (name, kind, str(seed)) in done:
                    continue
                table = costs(kind, data.n_classes, seed)
                rows = train_test_split(np.arange(len(data.y)), train_size=0.6, random_state=seed, stratify=data.y)
                fit, test = rows[0][:3000], rows[1]
                means = []
                for cost in (table, None):
                    model = PIBoostClassifier(cost, n_estimators=2 if quick else 30, draw=0.1, random_state=seed)
                    decided = model.fit(data.X[fit], data.y[fit]).predict(data.X[test])
                    means.append(mean_cost(table, data.y[test], np.asarray(decided)))
                keep(
                    "piboost_costs",
                    {
                        "data": name,
                        "costs": kind,
                        "seed": seed,
                        "mean_cost_with": means[0],
                        "mean_cost_without": means[1],
                    },
                )


def ratios_of_costs() -> list[dict[str, Any]]:
    """Geometric means of the ratio of mean costs, with over without, by kind of costs and by set."""
    lines = kept("piboost_costs")
    figures = []
    groups = [("costs", kind) for kind in COST_KINDS] + [("data", name) for name in COST_SETS] + [("all", "")]
    for column, value in groups:
        pairs = [
            (float(line["mean_cost_with"]), float(line["mean_cost_without"]))
            for line in lines
            if column == "all" or line[column] == value
        ]
        logs = np.array([math.log(a / b) for a, b in pairs if a > 0 and b > 0])
        if len(logs) == 0:
            continue
        figures.append(
            {
                "of": value or "all",
                "ratio": float(np.exp(logs.mean())),
                "lower": int((logs < 0).sum()),
                "fits": len(logs),
                "signed_rank_p": signed_rank(logs, np.zeros(len(logs)))[1],
            }
        )
    return figures


def readings(names: Sequence[str]) -> None:
    """Singles with trees of other sizes, in the first fold only; a line at once for each."""
    done = {(line["data"], line["trees"]) for line in kept("piboost_readings")}
    for name in names:
        data, n_rounds = load(name), 2 if is_quick() else ROUNDS[name][0]
        fit, test = next(iter(StratifiedKFold(FOLDS, shuffle=True, random_state=0).split(data.X, data.y)))
        for trees, options in READINGS.items():
            if (name, trees) in done:
                continue
            if options is None:
                least = len(fit) // (10 * data.n_classes) + 1
                tree = DecisionTreeClassifier(min_samples_split=max(2, least), random_state=0)
                options = {"draw": None, "estimator": tree}
            model = PIBoostClassifier(separators="singles", n_estimators=n_rounds, random_state=0)
            model.set_params(**{"draw": 0.1, **options}).fit(data.X[fit], data.y[fit])
            error = 100.0 * float(np.mean(model.predict(data.X[test]) != data.y[test]))
            keep(
                "piboost_readings",
                {
                    "data": name,
                    "trees": trees,
                    "rounds": n_rounds,
                    "error_of_first_fold": error,
                    "paper_error": PAPER[name][3][0],
                },
            )


def of_speed(quick: bool) -> None:
    """Processor seconds of a round of pairs on isolet: of twelve less those of two, over ten; a median of three."""
    data, done = load("isolet"), {line["weak_learner"] for line in kept("piboost_speed")}
    few, many, repeats = (1, 2, 1) if quick else (2, 12, 3)
    for learner, draw in (("tree", 0.1),) if quick else (("stump", None), ("tree", 0.1)):
        if learner in done:
            continue
        found = []
        for turn in range(repeats + 1):  # the first one compiles
            spent = {}
            for n_rounds in (few, many if turn else few):
                model = PIBoostClassifier(n_estimators=n_rounds, weak_learner=learner, draw=draw, random_state=0)
                begun = time.process_time()
                model.fit(data.X, data.y)
                spent[n_rounds] = time.process_time() - begun
            if turn:
                found.append((spent[many] - spent[few]) / (many - few))
        keep(
            "piboost_speed",
            {
                "weak_learner": learner,
                "draw": draw or "",
                "rows": len(data.y),
                "chains": len(model.separators_),
                "seconds_of_a_round": float(np.median(found)),
                "least": min(found),
                "most": max(found),
                **memory_of(learner, quick),
            },
        )


def memory_of(learner: str, quick: bool) -> dict[str, Any]:
    """What a fit's peak is above its input, in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.replicate.piboost", "--memory-of", learner]
    command += ["--quick"] if quick else []
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    return dict(json.loads(done.stdout.splitlines()[-1]))


def peak(learner: str) -> dict[str, Any]:
    """Peak of the resident set during a fit on isolet, less that before it and the bins, beside 3 n |G| doubles."""
    data = load("isolet")
    model = PIBoostClassifier(
        n_estimators=MEMORY_ROUNDS,
        weak_learner=learner,
        draw=0.1 if learner == "tree" else None,
        random_state=0,
        n_jobs=1,
    )
    few = np.concatenate([np.flatnonzero(data.y == k)[:5] for k in np.unique(data.y)])
    model.fit(data.X[few], data.y[few])  # kernels are loaded
    gc.collect()
    reset_peak()
    before = resident("VmRSS")
    model.fit(data.X, data.y)
    above, bins = resident("VmHWM") - before, data.X.size
    return {
        "above_input_MB": above / 1e6,
        "bins_MB": bins / 1e6,
        "three_doubles_MB": 24 * len(data.y) * len(model.separators_) / 1e6,
        "beside_bins_over_three_doubles": (above - bins) / (24 * len(data.y) * len(model.separators_)),
    }


def main() -> None:
    options = parser(__doc__, "two rounds on a few rows of two sets, costs on one, memory and rounds of isolet's")
    options.add_argument("--sets", nargs="*", default=list(ROUNDS), choices=list(ROUNDS))
    options.add_argument(
        "--others",
        nargs="*",
        choices=(*OTHERS, *VARIANTS),
        help="run these columns or variants, the columns if none is named",
    )
    options.add_argument("--costs", action="store_true", help="compare training with costs and without")
    options.add_argument("--speed", action="store_true", help="time rounds and measure memory")
    options.add_argument("--readings", action="store_true", help="try other sizes of trees")
    options.add_argument("--curves", action="store_true", help="run and draw Figure 3, draw Figure 4")
    options.add_argument("--folds", type=int, default=1, choices=range(FOLDS + 1), help="of the curves; 0: only draw")
    options.add_argument("--memory-of", choices=("stump", "tree"), help="of one learner, in this process, as JSON")
    arguments = options.parse_args()
    quick, sets = arguments.quick, arguments.sets[: 2 if arguments.quick else None]
    asked = arguments.costs or arguments.speed or arguments.readings or arguments.curves or arguments.others is not None
    if arguments.memory_of:
        print(json.dumps(peak(arguments.memory_of)))
        return
    if arguments.costs or (quick and not asked):
        of_costs(quick)
        show(ratios_of_costs())
    if arguments.speed or (quick and not asked):
        of_speed(quick)
        show(kept("piboost_speed"), SPEED_COLUMNS)
    if arguments.readings or (quick and not asked):
        readings(READ_SETS[:1] if quick else READ_SETS)
        show(kept("piboost_readings"), ("data", "trees", "rounds", "error_of_first_fold", "paper_error"))
    if arguments.others is not None or (quick and not asked):
        columns_of_others(sets, arguments.others or OTHERS, arguments.jobs)
    if arguments.curves or (quick and not asked):
        curves(sets, arguments.folds, arguments.jobs)
    if not asked:
        table_3(sets, arguments.jobs)
    if arguments.others is not None or not asked:
        shown = ("data", "separators", "rounds", "error", "std", "paper_error", "paper_std", "verdict")
        show(kept("piboost_uci"), shown) if kept("piboost_uci") else None
        lines = tests()
        save("piboost_tests", lines)
        show(lines)
    if arguments.curves or (quick and not asked):
        draw_curves()
        draw_ranks()


if __name__ == "__main__":
    main()
