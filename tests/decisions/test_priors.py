"""Class shares: probabilities under others, maximum likelihood beside a naive loop, intervals and the test simulated."""

import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB

from minrisk.decisions.priors import em_priors, estimate_priors, estimated, read_priors, reweighed, shares_of

ABC = ("a", "b", "c")


class Mixture:
    """Gaussian classes: rows and their probabilities, calibrated at `temperature` 1."""

    def __init__(self, K, trained, seed=0, apart=2.0, temperature=1.0):
        self.random = np.random.default_rng(seed)
        self.centres = np.eye(K) * apart
        self.trained, self.temperature = np.asarray(trained), temperature

    def labels(self, n, shares):
        return self.random.choice(len(self.trained), n, p=shares)

    def told(self, y, moved=0.0):
        x = self.centres[y] + self.random.normal(size=(len(y), len(self.centres)))
        x[:, 0] += moved
        scores = self.temperature * (x @ self.centres.T - 0.5 * (self.centres**2).sum(axis=1) + np.log(self.trained))
        p = np.exp(scores - scores.max(axis=1, keepdims=True))
        return p / p.sum(axis=1, keepdims=True)

    def left_out(self, m):
        y = np.searchsorted(np.cumsum(self.trained), (np.arange(m) + 0.5) / m)
        p = self.told(y)
        return SimpleNamespace(probabilities=p, labels=y, weight=np.ones(m), folds=np.zeros(m, int), told=p)


def drawn(seed, n=200, K=3):
    random = np.random.default_rng(seed)
    return random.dirichlet(np.full(K, 0.3), n), random.dirichlet(np.full(K, 5.0)), random


# -- shares and probabilities ------------------------------------------------------------------------------------------
def test_shares_are_read_by_label_or_in_order():
    assert read_priors({"c": 0.5, "a": 0.3, "b": 0.2}, ABC).tolist() == [0.3, 0.2, 0.5]
    assert read_priors(pd.Series({"c": 0.5, "a": 0.3, "b": 0.2}), ABC).tolist() == [0.3, 0.2, 0.5]
    assert read_priors({"1": 0.75, "0": 0.25}, [0, 1]).tolist() == [0.25, 0.75]
    assert read_priors([1, 0, 0], ABC).tolist() == [1.0, 0.0, 0.0]
    assert read_priors(np.array([0.3, 0.2, 0.5000005]), ABC).sum() != 1.0


@pytest.mark.parametrize(
    ("priors", "said"),
    [
        ({"a": 0.5, "b": 0.5}, r"must name every class, \['c'\] missing"),
        ({"a": 0.5, "b": 0.5, "c": 0.0, "d": 0.0}, r"only, got \['d'\]"),
        ([0.5, 0.5], r"shape \(3,\), got shape \(2,\)"),
        (["x", "y", "z"], "got shape"),
        ([0.5, 0.6, -0.1], "0 or more, got -0.1 for 'c'"),
        ([0.5, np.nan, 0.5], "finite and 0 or more, got nan for 'b'"),
        ([0.5, 0.3, 0.1], "sum to 1, got a sum of 0.9"),
        ([50, 30, 20], "got a sum of 100"),
    ],
)
def test_shares_that_are_none(priors, said):
    with pytest.raises(ValueError, match=said):
        read_priors(priors, ABC)


@pytest.mark.parametrize("seed", range(3))
def test_probabilities_under_other_shares(seed):
    p, trained, random = drawn(seed)
    shares = random.dirichlet(np.ones(3))
    made = reweighed(p, shares, trained)
    wanted = p * shares / trained
    np.testing.assert_allclose(made, wanted / wanted.sum(axis=1, keepdims=True), rtol=1e-13)
    np.testing.assert_array_equal(reweighed(p, trained, trained), p)
    np.testing.assert_allclose(reweighed(made, trained, shares), p, rtol=1e-10)
    order = random.permutation(3)
    np.testing.assert_allclose(reweighed(p[:, order], shares[order], trained[order]), made[:, order], rtol=1e-13)


def test_a_class_that_is_ruled_out():
    made = reweighed([[0.5, 0.3, 0.2], [1.0, 0.0, 0.0]], [0.0, 0.4, 0.6], [0.5, 0.2, 0.3])
    np.testing.assert_allclose(made, [[0.0, 0.6, 0.4], [0.0, 0.4, 0.6]])  # the second row says nothing of b and c


def test_shares_far_apart_stay_finite():
    tiny = 1e-310
    made = reweighed([[0.5, 0.5], [1.0, 0.0]], [1.0, 0.0], [tiny, 1.0 - tiny])
    assert made.tolist() == [[1.0, 0.0], [1.0, 0.0]]


def test_shares_that_do_not_fit():
    with pytest.raises(ValueError, match=r"shape \(2,\), one for each trained share, got \(3,\)"):
        reweighed([[0.5, 0.5]], [0.2, 0.3, 0.5], [0.5, 0.5])
    with pytest.raises(ValueError, match="0 for classes without a share in training, got 0.2"):
        reweighed([[1.0, 0.0]], [0.8, 0.2], [1.0, 0.0])
    with pytest.raises(ValueError, match="a column for each trained share"):
        reweighed([[0.5, 0.5]], [0.2, 0.3, 0.5], [0.2, 0.3, 0.5])
    with pytest.raises(ValueError, match="trained shares must be finite"):
        reweighed([[0.5, 0.5]], [0.5, 0.5], [0.5, 0.6])


# -- maximum likelihood ------------------------------------------------------------------------------------------------
def naive(p, trained, weight, steps):
    shares = trained.copy()
    for _ in range(steps):
        posterior = p * shares / trained
        posterior /= posterior.sum(axis=1, keepdims=True)
        shares = weight @ posterior / weight.sum()
    return shares


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("K", [2, 3, 7])
def test_maximum_likelihood_is_the_limit_of_em(seed, K):
    p, trained, random = drawn(seed, 300, K)
    weight = random.uniform(0.0, 2.0, 300) * (random.uniform(size=300) < 0.8)
    found = em_priors(p, trained, weight)
    np.testing.assert_allclose(found, naive(p, trained, weight, 1000), atol=1e-8)
    assert found.sum() == 1.0
    order = random.permutation(300), random.permutation(K)
    np.testing.assert_allclose(
        em_priors(p[order[0]][:, order[1]], trained[order[1]], weight[order[0]]), found[order[1]], atol=1e-9
    )


def test_many_rows_are_searched_from_few():
    mixture = Mixture(3, [0.2, 0.3, 0.5])
    p = mixture.told(mixture.labels(60_000, [0.6, 0.39, 0.01]))
    odds, found = p / mixture.trained, em_priors(p, mixture.trained)
    np.testing.assert_allclose((odds / (odds @ found)[:, None]).mean(axis=0), 1.0, atol=1e-8)  # its slope is 0
    np.testing.assert_allclose(found, [0.6, 0.39, 0.01], atol=0.02)


def test_a_share_that_few_rows_do_not_show():
    p = np.tile([0.999, 0.001], (60_000, 1))
    p[[7, 7001]] = [0.0, 1.0]
    found, trained = em_priors(p, [0.5, 0.5]), np.array([0.5, 0.5])
    odds = p / trained
    np.testing.assert_allclose(found * ((odds / (odds @ found)[:, None]).mean(axis=0) - 1.0), 0.0, atol=1e-9)
    assert 0.0 < found[1] < 1e-4


def test_shares_at_their_bounds():
    p, trained = np.array([[0.6, 0.4, 0.0], [0.7, 0.3, 0.0]]), np.array([0.5, 0.3, 0.2])
    assert em_priors(p, trained).tolist() == [0.0, 1.0, 0.0] or em_priors(p, trained).tolist() == [1.0, 0.0, 0.0]
    assert em_priors([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 1.0]], [0.9, 0.1]).tolist() == [0.5, 0.5]
    assert em_priors([[0.3, 0.7, 0.0]], [0.3, 0.7, 0.0])[2] == 0.0  # training had no such class


def test_classes_that_are_alike_keep_their_proportions():
    random = np.random.default_rng(0)
    first = random.uniform(0.1, 0.9, 500)
    trained = np.array([0.2, 0.4, 0.4])
    p = np.column_stack([first, 0.5 * (1 - first), 0.5 * (1 - first)])
    found = em_priors(p, trained)
    assert found[1] == pytest.approx(found[2], abs=1e-6)


def test_rows_that_tell_no_shares():
    with pytest.raises(ValueError, match="at least one row"):
        em_priors(np.empty((0, 2)), [0.5, 0.5])
    with pytest.raises(ValueError, match="at least one row"):
        em_priors([[0.5, 0.5]], [0.5, 0.5], [0.0])
    with pytest.raises(ValueError, match="weight must be 1 finite numbers of 0 or more"):
        em_priors([[0.5, 0.5]], [0.5, 0.5], [-1.0])
    with pytest.raises(ValueError, match="finite and 0 or more"):
        em_priors([[np.nan, 0.5]], [0.5, 0.5])
    with pytest.raises(ValueError, match="finite and 0 or more"):
        em_priors([[1.5, -0.5]], [0.5, 0.5])


# -- estimates ---------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("K", "m", "n"), [(2, 300, 200), (3, 300, 3000), (6, 2000, 400)])
def test_intervals_cover_and_the_test_keeps_its_level(K, m, n):
    trained = np.round(np.random.default_rng(1).dirichlet(np.full(K, 6.0)), 3)
    trained[0] += 1.0 - trained.sum()
    mixture, covered, rejected = Mixture(K, trained, seed=K), [], []
    for _ in range(60):
        left_out, shares = mixture.left_out(m), mixture.random.dirichlet(np.ones(K))
        p = mixture.told(mixture.labels(n, shares))
        found = estimated(p, trained, range(K), left_out, p)
        covered.append(np.mean((found.low <= shares) & (shares <= found.high)))
        rejected.append(found.p_value < 0.05)
        assert found.known or found.shares.tolist() == trained.tolist()
    assert np.mean(covered) > 0.84
    assert np.mean(rejected) < 0.13  # 0.05, by six standard errors of binomial counts at most


@pytest.mark.parametrize("temperature", [0.5, 2.0])
def test_left_out_rows_correct_what_miscalibration_does(temperature):
    trained, shares = np.array([0.6, 0.4]), np.array([0.25, 0.75])
    mixture = Mixture(2, trained, apart=1.2, temperature=temperature)
    p, left_out = mixture.told(mixture.labels(3000, shares)), mixture.left_out(4000)
    found, alone = estimated(p, trained, ["a", "b"], left_out, p), estimated(p, trained, ["a", "b"])
    assert np.abs(found.shares - shares).max() < 0.06 < np.abs(alone.shares - shares).max()
    assert found.known and np.all((found.low < shares) & (shares < found.high))


def test_rows_that_have_changed_are_not_explained_by_shares():
    mixture = Mixture(3, [0.5, 0.3, 0.2])
    left_out, y = mixture.left_out(3000), mixture.labels(2000, [0.2, 0.3, 0.5])
    p = mixture.told(y, moved=0.7)
    found = estimated(p, mixture.trained, ABC, left_out, p)
    assert not found.known and found.p_value < 0.01
    assert "do not explain" in found.reason and found.shares.tolist() == [0.5, 0.3, 0.2]
    assert "not known" in repr(found) and "p-value" in repr(found) and " trained, estimated [0" in repr(found)
    unseen = estimated(p, mixture.trained, ABC)
    assert unseen.p_value is None and unseen.known


@pytest.mark.parametrize("seed", range(3))
def test_values_that_are_the_same_but_for_rounding_fall_in_one_cell(seed):
    random = np.random.default_rng(seed)
    few = random.dirichlet((2.0, 1.0), 30)  # leaves
    y = random.integers(0, 2, 2000)
    leaf = np.where(y == 0, random.integers(0, 20, 2000), random.integers(10, 30, 2000))
    p = few[leaf].astype(np.float32)
    left_out = SimpleNamespace(probabilities=p, labels=y, weight=np.ones(2000), folds=np.zeros(2000, int), told=p)
    rounded = np.nextafter(p[:1500], np.float32(1.0))
    exact = estimated(p[:1500], [0.5, 0.5], ABC[:2], left_out, p[:1500])
    assert estimated(rounded, [0.5, 0.5], ABC[:2], left_out, rounded).p_value == pytest.approx(exact.p_value, abs=1e-3)
    assert exact.p_value > 0.05


def test_few_rows_tell_too_little():
    found = estimated([[0.6, 0.4], [0.5, 0.5]], [0.5, 0.5], ["ill", "well"])
    assert not found.known and "tell too little" in found.reason and found.shares.tolist() == [0.5, 0.5]
    many = estimated(np.repeat([[0.99, 0.01], [0.01, 0.99]], 500, axis=0), [0.5, 0.5], ["ill", "well"])
    assert many.known  # also where they have not changed
    assert many.high[0] - many.low[0] < 0.1


def test_classes_that_rows_cannot_tell_apart_are_not_known():
    p = np.tile([0.3, 0.7], (1000, 1)) + np.random.default_rng(0).uniform(-1e-4, 1e-4, (1000, 1)) * [1, -1]
    found = estimated(p, [0.3, 0.7], ["a", "b"])
    assert not found.known and found.low[0] == 0.0 and found.high[0] == 1.0


def test_left_out_rows_may_lack_much():
    mixture = Mixture(3, [0.5, 0.3, 0.2])
    p, left_out = mixture.told(mixture.labels(500, [0.2, 0.3, 0.5])), mixture.left_out(1000)
    alone = estimated(p, mixture.trained, ABC)
    none = SimpleNamespace(probabilities=np.empty((0, 3)), labels=np.empty(0, int), weight=np.empty(0), told=None)
    assert estimated(p, mixture.trained, ABC, none, p).shares.tolist() == alone.shares.tolist()
    left_out.told = None
    assert estimated(p, mixture.trained, ABC, left_out, p).p_value is None
    two = left_out.labels < 2
    some = SimpleNamespace(
        probabilities=left_out.probabilities[two],
        labels=left_out.labels[two],
        weight=np.ones(two.sum()),
        told=left_out.probabilities[two],
    )
    found = estimated(p, mixture.trained, ABC, some, p)
    assert (
        np.all(np.isfinite(found.high)) and found.p_value < 0.01
    )  # half of the rows look like no class that was left out


def test_weights_count_as_rows_within_a_class():
    mixture = Mixture(2, [0.5, 0.5], apart=1.0, temperature=2.0)
    p, left_out = mixture.told(mixture.labels(500, [0.2, 0.8])), mixture.left_out(1000)
    found = estimated(p, mixture.trained, ["a", "b"], left_out, p)
    left_out.weight = np.where(left_out.labels == 0, 7.0, 1.0)
    again = estimated(p, mixture.trained, ["a", "b"], left_out, p)
    np.testing.assert_allclose(again.shares, found.shares, atol=1e-9)
    np.testing.assert_allclose(again.high, found.high, atol=1e-9)


def test_an_estimate_as_text_and_plain_values():
    p = np.repeat([[0.9, 0.1], [0.2, 0.8]], [600, 400], axis=0)
    found = estimated(p, [0.5, 0.5], ["well", 3])
    assert "well  0.7500  [" in repr(found) and "3     0.2500" in repr(found)
    plain = json.loads(json.dumps(found.as_dict()))
    assert plain["shares"]["well"] == pytest.approx(0.75) and plain["known"] and plain["p_value"] is None
    assert plain["low"]["3"] < plain["shares"]["3"] < plain["high"]["3"]


def test_estimates_of_what_does_not_fit():
    with pytest.raises(ValueError, match="classes must be 2"):
        estimated([[0.5, 0.5]], [0.5, 0.5], ABC)
    with pytest.raises(ValueError, match="confidence must be between 0 and 1"):
        estimated([[0.5, 0.5]], [0.5, 0.5], ["a", "b"], confidence=90)
    with pytest.raises(ValueError, match="told must have the shape of p"):
        estimated([[0.5, 0.5]], [0.5, 0.5], ["a", "b"], told=[[0.5, 0.3, 0.2]])


# -- of a model --------------------------------------------------------------------------------------------------------
class Known:
    """A model of this package, as far as shares are concerned."""

    classes_ = np.array(ABC)

    def __init__(self, mixture):
        self.left_out_, self.trained_priors_ = mixture.left_out(2000), mixture.trained

    def predict_proba(self, X):
        return X

    _told = predict_proba


def test_a_model_that_keeps_left_out_rows_tests_new_ones():
    mixture = Mixture(3, [0.5, 0.3, 0.2])
    model, p = Known(mixture), mixture.told(mixture.labels(800, [0.1, 0.3, 0.6]))
    found = estimate_priors(model, p)
    assert found.classes == ABC and found.known and found.p_value > 0.05
    np.testing.assert_allclose(found.shares, [0.1, 0.3, 0.6], atol=0.08)
    del model.trained_priors_
    np.testing.assert_allclose(estimate_priors(model, p).shares, found.shares, atol=1e-9)


def test_a_model_of_another_package_needs_its_trained_shares():
    random = np.random.default_rng(0)
    y = random.choice(2, 600, p=[0.7, 0.3])
    X = random.normal(size=(600, 1)) + 3 * y[:, None]
    model, new = LogisticRegression().fit(X, y), X[(y == 1) | (np.arange(600) < 100)]
    with pytest.raises(ValueError, match="trained_priors must be stated for LogisticRegression"):
        estimate_priors(model, new)
    found = estimate_priors(model, new, trained_priors={1: y.mean(), 0: 1 - y.mean()})
    truth = np.mean(y[(y == 1) | (np.arange(600) < 100)])
    assert found.low[1] < truth < found.high[1]
    bayes = estimate_priors(GaussianNB().fit(X, y), new)  # it knows them
    assert bayes.shares[1] == pytest.approx(found.shares[1], abs=0.05)
    with pytest.raises(TypeError, match="fitted classifier with predict_proba"):
        estimate_priors(object(), new)


def test_an_estimate_is_taken_as_priors():
    p = np.repeat([[0.9, 0.1], [0.2, 0.8]], [600, 400], axis=0)
    found = estimated(p, [0.5, 0.5], ["well", "ill"])
    assert shares_of(found, ["ill", "well"], None).tolist() == found.shares[::-1].tolist()
    unknown = replace(found, known=False, reason="since they are few")
    with pytest.warns(UserWarning, match="those of the training decide, since they are few"):
        shares_of(unknown, ["well", "ill"], None)
