"""REBEL's Table 1, the effect of depth, on isolet and usps (the paper's SUN and CUB can't be had).

Official splits; a quarter of the training part chooses the number of weak learners (at most 400). 0/1 costs and one
`random_normal` matrix per data set (mean entry 1, so random decisions cost about 1), with both offsets.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.model_selection import train_test_split

from benchmarks.common import costs, least_expected, load, mean_cost, parser, save, show
from minrisk import REBELClassifier


def row_of(name: str, kind: str, offset: str, depth: int, rounds: int, jobs: int) -> list[dict[str, Any]]:
    """Test cost at the round that costs the validation part least; after 0/1 training the posterior rule's too."""
    X, y, X_test, y_test = load(name).official()
    table = costs(kind, int(y.max()) + 1, seed=1)
    X_fit, X_choose, y_fit, y_choose = train_test_split(X, y, test_size=0.25, random_state=0, stratify=y)
    model = REBELClassifier(
        None if kind == "0/1" else table, n_estimators=rounds, max_depth=depth, offset=offset, n_jobs=jobs
    ).fit(X_fit, y_fit)

    def line(method: str, judged_by: str, decide: Any) -> dict[str, Any]:
        matrix = costs(judged_by, int(y.max()) + 1, seed=1)
        staged = [
            mean_cost(matrix, y_choose, decide(scores, matrix)) for scores in model.model_.staged_scores(X_choose)
        ]
        best = int(np.argmin(staged)) + 1
        cost = mean_cost(matrix, y_test, decide(model.model_[:best].scores(X_test), matrix))
        return {"data": name, "costs": judged_by, "method": method, "depth": depth, "rounds": best, "test_cost": cost}

    made = [line("REBEL" if kind == "0/1" else f"REBEL {offset}", kind, lambda scores, _: scores.argmax(axis=1))]
    if kind == "0/1":
        made.append(
            line(
                "0/1 + posterior",
                "normal",
                lambda scores, matrix: least_expected(model.model_.probabilities(scores), matrix),
            )
        )
    return made


def main() -> None:
    options = parser(__doc__, "20 rounds on some rows of usps")
    options.add_argument("--rounds", type=int, default=400)
    arguments = options.parse_args()
    sets, rounds = (("usps",), 20) if arguments.quick else (("isolet", "usps"), arguments.rounds)
    rows = [
        row
        for name in sets
        for kind, offset in (("0/1", "paper"), ("normal", "paper"), ("normal", "tight"))
        for depth in (1, 2, 3, 4)
        for row in row_of(name, kind, offset, depth, rounds, arguments.jobs)
    ]
    rows.sort(key=lambda row: (row["data"], row["costs"], row["method"], row["depth"]))
    save("rebel_depth", rows)
    show(rows)


if __name__ == "__main__":
    main()
