"""REBEL's L* and L_bullet (S.4, S.5, Eq. 5): the least loss, and the least one with which a row is decided wrongly."""

import numpy as np
import pytest
from scipy.optimize import minimize, minimize_scalar
from sklearn.datasets import load_wine

from minrisk import LocalizedSimilaritiesClassifier, REBELClassifier
from minrisk.losses.coupled import least_loss, zero_risk_loss
from minrisk.rows.costs import RowCosts
from tests.helpers import naive
from tests.helpers.common import coupled_loss, slow_after

BASES = ("exponential", "logistic", "squared")


def drawn(seed, base, offset):
    """Costs of a few rows with their loss, and what the slow twin knows of them."""
    rng = np.random.default_rng(seed)
    K, n = int(rng.integers(2, 5)), 6
    table = rng.uniform(0.2, 3.0, (K, K)) * (1 - np.eye(K))
    y = rng.integers(0, K, n)
    weight = rng.uniform(0.5, 2.0, n)
    costs = RowCosts(table, y.astype(np.int32), weight, y.astype(np.int32))
    return coupled_loss(costs, base, offset), costs, naive.surrogate(table[y], weight, base, offset), table[y]


def best_scores(s, base):
    """Of every row, by a one-dimensional search in each entry; about 30 where they are infinite."""
    H = np.zeros_like(s.c_plus)
    for i, k in np.ndindex(*H.shape):

        def entry(h, i=i, k=k):
            up, down = naive.base_function(base, h), naive.base_function(base, -h)
            return s.c_plus[i, k] * up + s.c_minus[i, k] * down

        H[i, k] = minimize_scalar(entry, bounds=(-30, 30), method="bounded", options={"xatol": 1e-10}).x
    return H


@pytest.mark.parametrize("seed", slow_after(2, range(6)))
@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("offset", ["paper", "tight"])
def test_no_row_is_decided_wrongly_below_it(seed, base, offset):
    loss, costs, s, rows = drawn(seed, base, offset)
    H = best_scores(s, base)
    assert naive.loss_value(s, H) == pytest.approx(least_loss(loss, costs), rel=1e-6, abs=1e-9)
    assert np.all(rows[np.arange(len(H)), H.argmax(axis=1)] == 0)
    bullet, found = zero_risk_loss(loss, costs), np.inf
    for n in range(len(H)):
        for k in np.flatnonzero(rows[n] > 0):
            y = int(rows[n].argmin())

            def wrong(point, n=n, k=k, y=y):  # k's score is above y's by a square
                G = H.copy()
                G[n, y], G[n, k] = point[0], point[0] + point[1] ** 2
                return naive.loss_value(s, G)

            start = (H[n, y] + H[n, k]) / 2
            found = min(
                found,
                *(
                    minimize(
                        wrong,
                        [start + shift, 0.3],
                        method="Nelder-Mead",
                        options={"xatol": 1e-9, "fatol": 1e-13, "maxiter": 4000},
                    ).fun
                    for shift in (0, 1.0)
                ),
            )
    assert found == pytest.approx(bullet, rel=1e-6)  # reached, and not undercut


def test_for_0_1_costs_it_is_one_mistake():
    y = np.arange(8, dtype=np.int32) % 3
    costs = RowCosts(1 - np.eye(3), y, np.ones(8), y)
    for offset in ("paper", "tight"):
        loss = coupled_loss(costs, "exponential", offset)
        assert least_loss(loss, costs) == 0.0
        assert zero_risk_loss(loss, costs) == pytest.approx(1 / 8)


def test_closed_form_of_s5():
    loss, costs, s, rows = drawn(3, "exponential", "paper")
    least = np.inf
    for n, y in enumerate(rows.argmin(axis=1)):
        p, m = s.c_plus[n], s.c_minus[n]
        for k in range(rows.shape[1]):
            if k != y:
                term = 2 * np.sqrt((p[y] + p[k]) * (m[y] + m[k])) - 2 * np.sqrt(p[y] * m[y]) - 2 * np.sqrt(p[k] * m[k])
                least = min(least, s.weights[n] * term)
    expected = least_loss(loss, costs) + least / (2 * s.weights.sum())
    assert zero_risk_loss(loss, costs) == pytest.approx(expected, rel=1e-12)


COST = np.array([[0, 1, 4], [2, 0, 1], [9, 3, 0.0]])


@pytest.mark.parametrize(
    ("algorithm", "per_row"),
    slow_after(1, [(REBELClassifier, True), (REBELClassifier, False), (LocalizedSimilaritiesClassifier, False)]),
)
def test_fits_end_where_no_row_costs_more_than_it_must(algorithm, per_row):
    X, y = load_wine(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    cost = COST[y] * np.random.default_rng(0).uniform(0.5, 2, (len(y), 1))
    model = algorithm(None if per_row else COST, n_estimators=2000, target_loss="zero risk", smoothing=1e-8)
    model.fit(X, y, cost=cost if per_row else None)
    assert 0 < model.n_iter_ < 2000 and model.train_risk_[-1] == 0.0
    longer = type(model)(**{**model.get_params(), "target_loss": None, "n_estimators": model.n_iter_})
    longer.fit(X, y, cost=cost if per_row else None)
    np.testing.assert_array_equal(longer.model_.vectors, model.model_.vectors)
