"""Figure 1 of the stage-wise MCBoost paper: paths of tiny steps beside the l1-constrained solution, Eq. (17).

USPS digits 3, 6 and 9, 20 rows each, 8 stumps (here: eight different ones, of the first rounds of a fit on all
features), 1000 rounds of 0.01 on the selected class. The constrained problems are solved with CVXPY (Clarabel) at
bounds on |W|_1 that the steps pass; needs cvxpy and matplotlib. Both polarities of a stump are columns.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from benchmarks.common import is_quick, load, parser, save, save_picture, show, there
from minrisk import StagewiseMCBoostClassifier

DIGITS = (3, 6, 9)
BOUNDS = (0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0)


def rows_of(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Responses of the eight stumps as features (n, 8), and digits."""
    data = load("usps")
    rng = np.random.default_rng(seed)
    chosen = np.concatenate([rng.permutation(np.flatnonzero(data.y == digit))[:20] for digit in DIGITS])
    X, y = data.X[chosen], data.y[chosen]
    model = StagewiseMCBoostClassifier(n_estimators=60).fit(X, y)
    columns: list[np.ndarray] = []
    for tree in model.model_.learners:
        f = np.where(X[:, tree.feature[0]] > tree.threshold[0], 1.0, -1.0)
        if not any(abs(f @ column) == len(f) for column in columns):
            columns.append(f)
    return np.column_stack(columns[:8]), y


def constrained(F: np.ndarray, y: np.ndarray, loss: str, bound: float) -> tuple[np.ndarray, float]:
    """W (8, 3) as the difference of the two polarities, and the least loss, under |W|_1 <= bound."""
    import cvxpy as cp

    codes = np.unique(y, return_inverse=True)[1]
    H = np.hstack([F, -F])
    W = cp.Variable((H.shape[1], 3), nonneg=True)
    S = H @ W
    of = [np.flatnonzero(codes == k) for k in range(3)]
    z = cp.hstack([S[of[k]][:, r] - S[of[k]][:, k] for k in range(3) for r in range(3)])
    value = cp.log_sum_exp(z) if loss == "exponential" else cp.sum(cp.logistic(z))
    problem = cp.Problem(cp.Minimize(value), [cp.sum(W) <= bound])
    problem.solve(solver=cp.CLARABEL)
    least = float(problem.value)
    return W.value[:8] - W.value[8:], float(np.exp(least)) if loss == "exponential" else least


def stepped(F: np.ndarray, y: np.ndarray, loss: str) -> tuple[np.ndarray, np.ndarray]:
    """Paths (T + 1, 8, 3) of 1000 tiny steps, and the summed loss after each."""
    rounds = 100 if is_quick() else 1000
    model = StagewiseMCBoostClassifier(loss=loss, step_size=0.01, n_estimators=rounds, nu=0.0, tol=0.0).fit(F, y)
    path = np.zeros((model.n_iter_ + 1, 8, 3))
    for t, (tree, w) in enumerate(zip(model.model_.learners, model.model_.vectors, strict=True)):
        path[t + 1] = path[t]
        path[t + 1, tree.feature[0]] += tree.value[2] * w
    return path, model.train_loss_ * len(y)


def draw(curves: dict[str, tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]]) -> None:
    """Paths by digit: lines are steps, dots the constrained solutions."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(2, 3, figsize=(11, 6), sharex=True, layout="constrained")
    for row, (loss, (path, _, bounds, solutions)) in zip(axes, curves.items(), strict=True):
        for r, axis in enumerate(row):
            for j in range(8):
                axis.plot(0.01 * np.arange(len(path)), path[:, j, r], color=f"C{j}", lw=1.2)
                if len(solutions):
                    axis.plot(bounds, solutions[:, j, r], "o", color=f"C{j}", ms=3.5)
            axis.set_title(f"{loss} loss, digit {DIGITS[r]}", fontsize=10)
            axis.grid(alpha=0.3)
    for axis in axes[1]:
        axis.set_xlabel("$\\|W\\|_1$")
    for axis in axes[:, 0]:
        axis.set_ylabel("coefficient")
    figure.suptitle("Eight stumps on USPS: steps of 0.01 (lines), l1-constrained solution (dots)", fontsize=11)
    save_picture(figure, "stagewise_paths")


def main() -> None:
    options = parser(__doc__, "paths of 100 steps on some rows of usps, bounds up to 1")
    options.add_argument("--seed", type=int, default=0)
    arguments = options.parse_args()
    solver = there({"CVXPY, for the constrained solutions": "cvxpy"})
    if not solver and not arguments.quick:
        sys.exit("The constrained solutions need cvxpy: pip install cvxpy.")
    F, y = rows_of(arguments.seed)
    table: list[dict[str, Any]] = []
    curves = {}
    for loss in ("exponential", "logistic"):
        path, losses = stepped(F, y, loss)
        bounds = np.array([b for b in BOUNDS if round(100 * b) < len(path)])
        solved = [constrained(F, y, loss, bound) for bound in bounds] if solver else []
        solutions = np.array([W for W, _ in solved])
        curves[loss] = path, losses, bounds, solutions
        for i, bound in enumerate(bounds):
            mine = path[round(100 * bound)]
            reached = losses[round(100 * bound)]
            table.append({"loss": loss, "bound": bound, "loss_of_steps": reached})
            if solver:
                W, least = solved[i]
                table[-1] |= {
                    "least_loss": least,
                    "relative_excess": reached / least - 1.0,
                    "correlation": float(np.corrcoef(mine.ravel(), W.ravel())[0, 1]),
                    "largest_difference": float(np.abs(mine - W).max()),
                }
    save("stagewise_paths", table)
    show(table)
    draw(curves)


if __name__ == "__main__":
    main()
