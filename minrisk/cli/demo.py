"""minrisk demo: methods blind to costs and others on real data, with a table, a model and two pictures.

A machine reads the digits of amounts on cheques. Two stories of what mistakes cost:

"clerk"
    A misread digit costs `MISREAD`, whatever it is taken for; a digit may also be handed to a clerk, who costs 1.
    A decision more than there are classes, which a method blind to costs can only take through probabilities.
"too-high"
    A mistake costs the difference of the digits, and `TOO_HIGH` times as much when the digit was read too high: money
    paid out is harder to get back. Here the mistakes of one class cost very different amounts, and REBEL's loss spends
    its effort on the expensive ones: a method that estimates probabilities and decides by them is cheaper.
    MinRiskClassifier is one.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import click
import numpy as np
from rich.text import Text

import minrisk
from minrisk._typing import FloatArray, Labels
from minrisk.algorithms import MinRiskClassifier, REBELClassifier
from minrisk.boosting.monitors import ProgressBar
from minrisk.cli import options
from minrisk.cli.common import make_folder, save_picture
from minrisk.cli.printing import Lines, Terminal, as_text, percent
from minrisk.cli.streams import note
from minrisk.costs import CostMatrix, with_reject
from minrisk.decisions.deciding import apply_costs
from minrisk.metrics import expected_cost

MISREAD, TOO_HIGH = 10.0, 5.0  # a misread digit where a clerk costs 1; factor of the costs of reading too high
STORIES = {  # what mistakes cost in each
    "clerk": f"a misread digit costs {MISREAD:g}, handing the digit to a clerk costs 1.",
    "too-high": "a mistake costs the difference of the digits, "
    f"{TOO_HIGH:g} times as much when the digit is read too high.",
}
SPLITS = 5  # halves for training and testing, drawn with the seeds 0, 1, ...
ROUNDS, FEW_ROUNDS = 200, 2  # of boosting: of every model, and of those that only import what it needs
SHOWN_METHOD, METHOD_BY_ROUND = "MinRiskClassifier", "REBEL trained on the costs, tight offset"  # that have pictures
MODEL, CONFUSIONS, CURVE = "digits.minrisk", "costly-confusions.png", "risk-per-round.png"


@options.command()
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    default=Path("minrisk-demo"),
    metavar="FOLDER",
    help="Where to put the model and the pictures.",
)
@click.option(
    "--costs",
    type=click.Choice(list(STORIES)),
    default="clerk",
    help="The story: unsure digits may go to a clerk, or reading too high is expensive.",
)
def demo(out: Path, costs: str) -> None:
    """Train on real data with a cost matrix, and compare with methods blind to costs.

    Reads the digits of amounts on cheques (scikit-learn's handwritten digits; nothing is downloaded).
    """
    make_folder(out, [MODEL])
    cost = cheque_costs(costs)
    with ProgressBar(sys.stderr.isatty()) as bar:
        bar.phase("comparing", SPLITS * len(methods(cost, ROUNDS)))
        study = compare(*load_cheques(), cost, SPLITS, ROUNDS, bar.step)
    print_study(study, costs)
    save(study, out)


class Result(NamedTuple):
    """One method over all splits; arrays have an entry for each."""

    method: str
    error: FloatArray  # share of digits misread
    referred: FloatArray  # share of digits handed to the clerk
    cost: FloatArray  # mean cost of a decision
    seconds: FloatArray  # training and deciding


class Study(NamedTuple):
    """Hold what the demonstration found."""

    results: list[Result]
    models: dict[str, Any]  # of the first split, by method
    decided: dict[str, Labels]  # what they decided for `y_test`
    y_test: Labels  # test labels of the first split
    n_train: int


def cheque_costs(story: str) -> CostMatrix:
    """Return costs of one of the `STORIES`: rows are the digits written, columns the digits read.

    Examples
    --------
    >>> cost = cheque_costs("clerk")
    >>> cost.decisions[7:], cost.values[1, 7:]  # a 1 taken for a 7, for an 8, for a 9, handed to the clerk
    ((7, 8, 9, 'clerk'), array([10., 10., 10.,  1.]))
    >>> cost = cheque_costs("too-high")
    >>> cost.values[[7, 1], [1, 7]]  # a 7 read as 1, a 1 read as 7
    array([ 6., 30.])
    """
    digits = np.arange(10)
    if story == "clerk":
        return with_reject(CostMatrix(MISREAD * (1 - np.eye(10)), digits), 1.0, label="clerk")
    excess = digits[None, :] - digits[:, None]
    return CostMatrix(np.where(excess > 0, TOO_HIGH * excess, -excess), digits)


def load_cheques() -> tuple[FloatArray, Labels]:
    """Load scikit-learn's 1797 handwritten digits of 8 x 8 pixels and what they show."""
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    return X, y


def methods(cost: CostMatrix, rounds: int) -> dict[str, tuple[Any, bool]]:
    """Return models by the names of the methods, and whether the costs are applied to their probabilities.

    REBEL has so many boosting rounds, and MinRiskClassifier at most; gradient boosting, with a tree per class in each,
    has half as many. The first method is the one to compare with.
    """
    from sklearn.ensemble import HistGradientBoostingClassifier

    rebel = partial(REBELClassifier, n_estimators=rounds, n_jobs=1)
    gradient_boosting = HistGradientBoostingClassifier(max_iter=max(1, rounds // 2), random_state=0)
    return {
        "REBEL blind to costs": (rebel(), False),
        "REBEL blind, then costs applied to its probabilities": (rebel(), True),
        "scikit-learn's boosting, then costs applied likewise": (gradient_boosting, True),
        "REBEL trained on the costs, offset of the paper": (rebel(cost, offset="paper"), False),
        METHOD_BY_ROUND: (rebel(cost, offset="tight"), False),
        SHOWN_METHOD: (MinRiskClassifier(cost, n_estimators=rounds, n_jobs=1, random_state=0), False),
    }


def compare(
    X: Any, y: Any, cost: CostMatrix, n_splits: int, rounds: int, after_each: Callable[[], None] = lambda: None
) -> Study:
    """Train every method on the same halves of the data, drawn by class, and judge it on the others.

    Every method has one thread, so that the times compare. `after_each` is called after each method on each split.
    """
    from sklearn.model_selection import train_test_split
    from threadpoolctl import threadpool_limits  # comes with scikit-learn

    def decisions(model: Any, applied: bool, X: Any, y: Any, X_test: Any) -> Labels:
        with threadpool_limits(1, user_api="openmp"):  # OpenMP threads that wait for a busy core take ages
            model.fit(X, y)
            return apply_costs(model.predict_proba(X_test), model.classes_, cost) if applied else model.predict(X_test)

    for model, applied in methods(cost, FEW_ROUNDS).values():  # so that none is charged for importing
        decisions(model, applied, X[::2], y[::2], X[1::2])
    found: dict[str, list[tuple[float, ...]]] = {name: [] for name in methods(cost, rounds)}
    for seed in range(n_splits):
        X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, stratify=y, random_state=seed)
        models, decided = dict[str, Any](), dict[str, Labels]()
        for name, (model, applied) in methods(cost, rounds).items():
            start = time.perf_counter()
            models[name], decided[name] = model, decisions(model, applied, X_train, y_train, X_test)
            seconds = time.perf_counter() - start
            read = decided[name].astype(str)
            handed, wrong = read == "clerk", (read != "clerk") & (read != y_test.astype(str))
            found[name].append((wrong.mean(), handed.mean(), expected_cost(y_test, decided[name], cost), seconds))
            after_each()
        if seed == 0:
            kept = models, decided, y_test, len(y_train)
    return Study([Result(name, *np.array(numbers).T) for name, numbers in found.items()], *kept)


def conclusion(results: list[Result]) -> str:
    """Say which method decides most cheaply, and how sure that is; the first result is the one to compare with."""
    order = sorted(results, key=lambda result: float(result.cost.mean()))
    best, second = order[:2]
    blind = results[0]
    wins = int((best.cost < second.cost).sum())
    sentence = f"Cheapest: {best.method}, {best.cost.mean():.3f} per digit"
    if best is not blind:
        sentence += f", {100 * (1 - best.cost.mean() / blind.cost.mean()):.0f} % less than {blind.method}"
    return f"{sentence}; ahead of the second best on {wins} of {len(best.cost)} splits."


def print_study(study: Study, story: str) -> None:
    """Print the table of methods, and what it says."""
    console, handed = Terminal(), story == "clerk"
    console.print(f"\nA machine reads the digits of amounts on cheques: {STORIES[story]}")
    best = min(study.results, key=lambda result: float(result.cost.mean()))
    table = Lines("method", "misread", *(["to clerk"] if handed else []), "mean cost", "seconds")
    for result in study.results:
        shares = [percent(share.mean()) for share in (result.error, result.referred)[: 1 + handed]]
        numbers = f"{result.cost.mean():.3f}", f"{result.seconds.mean():.1f}"
        table.add(result.method, *shares, *numbers, style="bold green" if result is best else "")
    title = f"{study.n_train} digits to train on, {len(study.y_test)} to test on; means of {len(best.cost)} splits"
    console.section(title, table)
    console.print("\n" + conclusion(study.results))
    if handed:
        other = "Whether training on the costs helps depends on them: see minrisk demo --costs too-high."
        console.print(Text(other, style="dim"))
    console.print()


def save(study: Study, out: Path) -> None:
    """Write the model and, where matplotlib is installed, the pictures; say which method each is of."""
    from minrisk.inspection import CostConfusionDisplay, RiskCurveDisplay

    console, how = Terminal(), {"format": "png", "bbox_inches": "tight"}

    def tell(file: Path, method: str) -> None:
        console.print(Text("saved ", style="dim") + as_text(file) + Text(f" ({method})", style="dim"), soft_wrap=True)

    shown, by_round = study.models[SHOWN_METHOD], study.models[METHOD_BY_ROUND]
    judged = study.y_test, study.decided[SHOWN_METHOD], shown.cost_
    minrisk.save(shown, out / MODEL)
    tell(out / MODEL, SHOWN_METHOD)
    try:
        save_picture(lambda: CostConfusionDisplay.from_predictions(*judged), out / CONFUSIONS, **how)
    except ImportError:
        note("no pictures, because matplotlib is not installed: pip install 'minrisk[plots]'")
        return
    tell(out / CONFUSIONS, SHOWN_METHOD)
    save_picture(lambda: RiskCurveDisplay.from_estimator(by_round), out / CURVE, **how)
    tell(out / CURVE, METHOD_BY_ROUND)
