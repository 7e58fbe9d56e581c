"""PIBoost's Table 3: errors in five folds of PIBoost(1), single labels, and PIBoost(2), pairs as well; Table 4's tests.

Trees are the paper's: fitted to a tenth of the rows drawn by weight, nodes of more than M / K rows are split. Rounds
are those of Table 2. The paper prunes and does not say how, nor how it codes words (here: codes in sorted order).
``--costs`` compares training with a cost matrix and without; ``--speed`` times rounds on isolet, by processor seconds
of one thread. Sets that are in the results are not run again.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedKFold, train_test_split

from benchmarks.common import costs, is_quick, keep, kept, load, mean_cost, parser, save, show
from minrisk import PIBoostClassifier
from minrisk.comparison.statistics import friedman_test, signed_rank

ROUNDS = {  # of PIBoost(1) and PIBoost(2), Table 2
    "vehicle": (70, 40), "waveform": (40, 40), "vowel": (120, 20), "segment": (80, 20), "car": (70, 40),
    "page_blocks": (120, 40), "satimage": (80, 20), "optdigits": (110, 20), "mfeat": (110, 20), "cnae9": (100, 20),
    "pendigits": (110, 20), "nursery": (120, 40), "isolet": (135, 10), "chess": (95, 10),
}  # fmt: skip
PAPER = {  # errors in percent and their deviation over the folds: PIBoost(1), PIBoost(2); then GentleBoost, MH, SAMME
    "car": (3.25, 0.74, 3.77, 0.59, 8.52, 7.13, 4.87), "chess": (52.60, 1.18, 51.87, 0.74, 51.36, 42.40, 55.76),
    "cnae9": (14.72, 1.93, 8.24, 1.71, 8.70, 10.28, 11.11), "isolet": (12.11, 2.53, 5.59, 0.55, 15.07, 54.33, 8.12),
    "mfeat": (3.40, 0.96, 1.45, 0.82, 4.60, 36.70, 1.35), "nursery": (1.92, 0.29, 3.13, 0.62, 12.16, 2.03, 4.82),
    "optdigits": (4.00, 0.13, 2.40, 0.41, 7.56, 4.32, 3.65), "page_blocks": (3.64, 0.47, 3.02, 0.50, 2.91, 2.76, 3.86),
    "pendigits": (3.58, 0.40, 1.92, 0.25, 2.21, 1.13, 4.84), "satimage": (11.13, 0.62, 9.49, 0.53, 12.94, 13.18, 36.91),
    "segment": (2.08, 0.52, 1.77, 0.61, 4.94, 4.07, 2.38), "vehicle": (25.09, 3.05, 23.55, 2.58, 27.10, 39.76, 23.20),
    "vowel": (6.46, 1.83, 6.06, 1.60, 28.18, 35.25, 6.67), "waveform": (15.32, 0.44, 15.32, 0.44, 16.18, 18.10, 17.10),
}  # fmt: skip
METHODS = ("singles", "pairs")
OTHERS = ("GentleBoost", "AdaBoost.MH", "SAMME")
FOLDS = 5


def fold_errors(name: str, method: str, n_jobs: int) -> list[float]:
    """Errors in percent, of each fold."""
    data = load(name)
    n_rounds = ROUNDS[name][METHODS.index(method)] if not is_quick() else 2
    found = []
    for seed, (fit, test) in enumerate(StratifiedKFold(FOLDS, shuffle=True, random_state=0).split(data.X, data.y)):
        model = PIBoostClassifier(separators=method, n_estimators=n_rounds, draw=0.1, random_state=seed, n_jobs=n_jobs)
        model.fit(data.X[fit], data.y[fit])
        found.append(100.0 * float(np.mean(model.predict(data.X[test]) != data.y[test])))
    return found


def table_3(names: list[str], n_jobs: int) -> None:
    """A line for each set and method as soon as it is there."""
    done = {(line["data"], line["separators"]) for line in kept("piboost_uci")}
    for name in names:
        for number, method in enumerate(METHODS):
            if (name, method) in done:
                continue
            begun, found = time.process_time(), np.array(fold_errors(name, method, n_jobs))
            mean, std = PAPER[name][2 * number : 2 * number + 2]
            apart = abs(found.mean() - mean) / np.hypot(found.std(ddof=1), std)
            keep("piboost_uci", {
                "data": name, "separators": method, "rounds": ROUNDS[name][number], "error": float(found.mean()),
                "std": float(found.std(ddof=1)), "paper_error": mean, "paper_std": std,
                "verdict": "agrees" if apart <= 2 else "better" if found.mean() < mean else "worse",
                "processor_seconds": time.process_time() - begun,
            })  # fmt: skip


def tests() -> list[dict[str, Any]]:
    """Table 4's p values from the paper's Table 3, and from ours where both methods are there."""
    ours = {(line["data"], line["separators"]): float(line["error"]) for line in kept("piboost_uci")}
    names = [name for name in PAPER if all((name, method) in ours for method in METHODS)]
    printed = np.array([[row[4], row[5], row[6], row[0], row[2]] for row in PAPER.values()])  # as columns of Table 3
    columns = (*OTHERS, "PIBoost(1)", "PIBoost(2)")
    pairs = [(4, 0), (4, 1), (4, 2), (4, 3), (3, 0), (3, 1), (3, 2)]
    lines = []
    for a, b in pairs:
        p_value = signed_rank(printed[:, a], printed[:, b])[1]
        lines.append({"test": f"{columns[a]} vs {columns[b]}", "p_of_printed_errors": p_value})
        if (a, b) == (4, 3) and len(names) > 1:
            one, two = ([ours[name, method] for name in names] for method in ("pairs", "singles"))
            lines[-1] |= {"p_of_ours": signed_rank(one, two)[1], "sets": len(names)}
    friedman = friedman_test(printed)
    lines.append({"test": "Friedman", "p_of_printed_errors": friedman.p_value})
    return [{"p_of_ours": "", "sets": "", **line} for line in lines]


def of_costs(quick: bool) -> list[dict[str, Any]]:
    """Mean cost of training with the costs over that without, on test rows of three splits."""
    lines = []
    for name in ("vehicle",) if quick else ("vehicle", "segment", "satimage", "vowel", "waveform", "page_blocks"):
        data = load(name)
        K = len(np.unique(data.y))
        for kind in ("normal",) if quick else ("normal", "ordinal", "lognormal"):
            ratios = []
            for seed in range(1 if quick else 3):
                table = costs(kind, K, seed)
                rows = train_test_split(np.arange(len(data.y)), train_size=0.6, random_state=seed, stratify=data.y)
                fit, test = rows[0][:3000], rows[1]
                means = []
                for cost in (table, None):
                    model = PIBoostClassifier(cost, n_estimators=2 if quick else 30, draw=0.1, random_state=seed)
                    decided = model.fit(data.X[fit], data.y[fit]).predict(data.X[test])
                    means.append(mean_cost(table, data.y[test], np.asarray(decided)))
                ratios.append(means[0] / means[1] if means[1] > 0 else 1.0)
            lines.append({"data": name, "costs": kind, "ratio": float(np.exp(np.mean(np.log(ratios))))})
    every = float(np.exp(np.mean(np.log(np.array([line["ratio"] for line in lines], dtype=float)))))
    return [*lines, {"data": "all", "costs": "all", "ratio": every}]


def of_speed(quick: bool) -> list[dict[str, Any]]:
    """Processor seconds of a round of pairs on isolet: of six rounds less those of two, over four."""
    data, lines = load("isolet"), []
    for learner, draw in (("stump", None), ("tree", 0.1)):
        spent = {}
        for n_rounds in (1, 2, 6):  # the first one compiles
            begun = time.process_time()
            model = PIBoostClassifier(n_estimators=n_rounds, weak_learner=learner, draw=draw, random_state=0, n_jobs=1)
            model.fit(data.X, data.y)
            spent[n_rounds] = time.process_time() - begun
        lines.append({"weak_learner": learner, "draw": draw or "", "rows": len(data.y),
                      "chains": len(model.separators_), "seconds_of_a_round": (spent[6] - spent[2]) / 4})  # fmt: skip
    return lines


def main() -> None:
    options = parser(__doc__, "two rounds on a few rows of two sets, costs on one")
    options.add_argument("--sets", nargs="*", default=list(ROUNDS), choices=list(ROUNDS))
    options.add_argument("--costs", action="store_true", help="compare training with costs and without")
    options.add_argument("--speed", action="store_true", help="time rounds")
    arguments = options.parse_args()
    if arguments.costs or arguments.quick:
        lines = of_costs(arguments.quick)
        save("piboost_costs", lines, quick=arguments.quick)
        show(lines)
    if arguments.speed:
        lines = of_speed(arguments.quick)
        save("piboost_speed", lines, quick=arguments.quick)
        show(lines)
    if arguments.quick or not (arguments.costs or arguments.speed):
        table_3(arguments.sets[:2] if arguments.quick else arguments.sets, arguments.jobs)
        shown = ("data", "separators", "rounds", "error", "std", "paper_error", "paper_std", "verdict")
        show(kept("piboost_uci"), shown)
        lines = tests()
        save("piboost_tests", lines, quick=arguments.quick)
        show(lines)


if __name__ == "__main__":
    main()
