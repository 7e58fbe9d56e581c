r"""Class shares that differ from those of training: probabilities under others, and shares found from new rows.

Where only the shares of the classes change, and the rows of each class look as they did, the probability of class j is
that of training times :math:`\pi_j / \tau_j`, for new shares :math:`\pi` and trained ones :math:`\tau`, scaled to sum
to 1. Rows without labels tell these shares by maximum likelihood [1]_.

====================  ========================================================================================
:func:`reweighed`       probabilities under other shares
:func:`em_priors`       maximum likelihood of the shares
:func:`estimated`       the same with an interval, corrected for what left-out rows say of it, and a test
:func:`estimate_priors` all that of a model and new rows
====================  ========================================================================================

Left-out rows are asked two things. *Is maximum likelihood right?* It is where probabilities are calibrated. Shares that
match means of new rows to those of left-out rows of each class [2]_ need no calibration, but are noisier: as far as the
two differ by more than noise, the latter are taken. *Are new rows a mixture of the classes as they were?* Counts of new
rows in cells of their probabilities are compared with mixtures of the same counts of left-out rows of each class.

References
----------
.. [1] M. Saerens, P. Latinne and C. Decaestecker, "Adjusting the outputs of a classifier to new a priori
   probabilities: a simple procedure", Neural Computation 14 (2002), 21-41.
.. [2] Z. C. Lipton, Y.-X. Wang and A. Smola, "Detecting and correcting for label shift with black box predictors", ICML
   2018: means of decisions, in place of probabilities.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from minrisk._typing import FloatArray, IntArray
from minrisk._utils import warn_caller
from minrisk._utils.algebra import product
from minrisk.costs.labels import as_labels, label_text, listed, match_labels, unmatched
from minrisk.costs.matrix import is_series

SAME_SUM = 1e-6  # by which shares may miss a sum of 1
SMALLEST_SHARE = 1e-300  # of training that is divided by
ROUNDED_TO = 2.0**-32  # that found shares are rounded to: last bits of sums depend on the processor
MOST_STEPS = 200  # of the search for the shares
CONVERGED, FLAT = 1e-6, 1e-2  # a Newton step so short, of a slope so small, leaves about its square
ROUNDING = 1e-13  # of a mean log-likelihood
RIDGE = 1e-10  # share of the curvature that is added to it: classes that are alike keep their proportions
FIRST_ROWS = 20_000  # that find where the search among all rows starts
MIXED_IN = 0.1  # of the trained shares, where means are matched: no class is ruled out there
BLOCK = 4096  # rows whose table stays in a processor's cache
LEVEL = 0.05  # p-value of the test below which shares count as not known
ROWS_PER_CELL, BINS_PER_CLASS, LEAST_EXPECTED = 20, 5, 8.0  # of left-out rows; cells of a class; new rows in a cell
SAME_ODDS = 1e-3  # log-odds that differ by less may be the same but for rounding
SIMULATIONS = 100  # of the statistic of the test where only shares change


# -- probabilities under other shares ----------------------------------------------------------------------------------
def read_priors(priors: Any, classes: Any) -> FloatArray:
    """Return shares of the classes, in their order.

    Parameters
    ----------
    priors : dict, pandas Series or array-like of shape (K,)
        The share of each class by its label, or shares in the order of `classes`.
    classes : array-like of shape (K,)

    Returns
    -------
    ndarray of shape (K,)

    Raises
    ------
    ValueError
        If classes are missing or unknown, or shares are not finite numbers of 0 or more with a sum of 1.

    Examples
    --------
    >>> read_priors({"well": 0.9, "ill": 0.1}, ["ill", "well"]).tolist()
    [0.1, 0.9]
    """
    labels = as_labels(classes)
    if isinstance(priors, Mapping) or is_series(priors):
        names, values = as_labels(list(dict(priors.items())), "priors"), list(dict(priors.items()).values())
        if missing := unmatched(labels, names):
            raise ValueError(
                f"priors must name every class, {listed(missing)} missing: state a share for each, 0 if there is none."
            )
        if unknown := unmatched(names, labels):
            raise ValueError(
                f"priors must name the classes {listed(labels)} only, got {listed(unknown)}: remove or rename these."
            )
        priors = [values[at] for at in match_labels(labels, names)]
    found = np.asarray(priors)
    if found.dtype.kind not in "iuf" or found.shape != (len(labels),):
        raise ValueError(
            f"priors must be a dict of shares by label or numbers of shape ({len(labels)},), got shape {found.shape} "
            f"of {found.dtype}: state a share for each of the classes {listed(labels)}."
        )
    shares = found.astype(np.float64)
    if wrong := np.flatnonzero(~(np.isfinite(shares) & (shares >= 0.0))).tolist():
        raise ValueError(
            f"priors must be finite and 0 or more, got {shares[wrong[0]]:g} for {labels[wrong[0]]!r}: state shares."
        )
    if abs(float(shares.sum()) - 1.0) > SAME_SUM:
        raise ValueError(f"priors must sum to 1, got a sum of {shares.sum():.9g}: divide each by this sum.")
    return shares


def reweighed(p: Any, priors: FloatArray, trained: FloatArray) -> FloatArray:
    r"""Compute probabilities under other class shares: :math:`p_{ij} \pi_j / \tau_j`, scaled to sum to 1.

    Parameters
    ----------
    p : array-like of shape (n, K)
        Probabilities under the trained shares.
    priors, trained : array-like of shape (K,)
        New shares, of which 0 rules a class out, and those of training.

    Returns
    -------
    ndarray of shape (n, K)
        Where `priors` are the trained ones, `p` to the last bit. A row whose probability is all with classes that are
        ruled out says nothing about the others, and gets `priors`.

    Raises
    ------
    ValueError
        If a class has a share that had none in training.

    Examples
    --------
    >>> reweighed([[0.5, 0.5], [0.9, 0.1]], [0.2, 0.8], [0.5, 0.5]).round(3).tolist()
    [[0.2, 0.8], [0.692, 0.308]]
    """
    p, tau = _table(p, trained)
    pi = np.asarray(priors, dtype=np.float64)
    factor = factors(pi, tau)
    if np.array_equal(pi, tau):
        return np.array(p)
    made, total = p * factor, product(p, factor[:, None])
    empty = total[:, 0] == 0.0
    total[empty] = 1.0
    made /= total
    made[empty] = pi
    return np.asarray(made)


def factors(priors: FloatArray, trained: FloatArray) -> FloatArray:
    """Return new shares over trained ones, (K,), which odds are multiplied by; raises `ValueError` as `reweighed`."""
    pi, tau = priors, trained
    if pi.shape != tau.shape:
        raise ValueError(f"priors must have shape {tau.shape}, one for each trained share, got {pi.shape}.")
    if wrong := np.flatnonzero((tau == 0.0) & (pi > 0.0)).tolist():
        raise ValueError(
            f"priors must be 0 for classes without a share in training, got {pi[wrong[0]]:g} for the class at position "
            f"{wrong[0]}: a model that has not seen a class cannot find it."
        )
    return np.asarray(np.where(pi == tau, 1.0, pi / np.maximum(tau, SMALLEST_SHARE)))


def shares_of(priors: Any, classes: Any, estimate: Callable[[], PriorEstimate]) -> FloatArray:
    """Return shares of the classes as stated, or as the rows say; where these say nothing, the trained ones.

    Parameters
    ----------
    priors : object
        As `read_priors` takes them, or "estimate", or what `estimate_priors` found.
    classes : array-like of shape (K,)
    estimate : callable
        Asks the rows.
    """
    if isinstance(priors, PriorEstimate):
        found = priors
    elif not isinstance(priors, str):
        return read_priors(priors, classes)
    elif priors == "estimate":
        found = estimate()
    else:
        raise ValueError(
            f"priors must be 'estimate', or shares of the classes that sum to 1, got {priors!r}: give a dict such as "
            "{'ill': 0.1, 'well': 0.9}."
        )
    if not found.known:
        warn_caller(f"The shares of the classes are not known, and those of the training decide, {found.reason}.")
    return read_priors(dict(zip(found.classes, found.shares.tolist(), strict=True)), classes)


def _table(p: Any, trained: Any) -> tuple[FloatArray, FloatArray]:
    """Return probabilities and trained shares as float64, checked."""
    p, tau = np.asarray(p, dtype=np.float64), np.asarray(trained, dtype=np.float64)
    if tau.ndim != 1 or p.ndim != 2 or p.shape[1] != len(tau):
        raise ValueError(
            f"probabilities must have a column for each trained share, got shapes {p.shape} and {tau.shape}: give what "
            "predict_proba returns, and the class shares of training."
        )
    if not (np.all(np.isfinite(tau)) and np.all(tau >= 0.0) and abs(float(tau.sum()) - 1.0) <= SAME_SUM):
        raise ValueError(
            f"trained shares must be finite, 0 or more and sum to 1, got {tau.tolist()}: give the class shares of "
            "training."
        )
    return np.asarray(p), np.asarray(tau)


# -- maximum likelihood ------------------------------------------------------------------------------------------------
def em_priors(p: Any, trained: Any, weight: Any = None) -> FloatArray:
    r"""Find the class shares under which the rows are most likely.

    They maximise :math:`\sum_i w_i \log \sum_j \pi_j \, p_{ij} / \tau_j` over shares :math:`\pi`, as the EM algorithm
    of Saerens, Latinne and Decaestecker (2002) does in its limit.

    Parameters
    ----------
    p : array-like of shape (n, K)
        Probabilities of rows under the trained shares.
    trained : array-like of shape (K,)
        Shares of training. A class without one gets none.
    weight : array-like of shape (n,), optional
        Of the rows. By default all have the same.

    Returns
    -------
    ndarray of shape (K,)
        Shares, exact to about 1e-9, with a sum of 1.

    Raises
    ------
    ValueError
        If there is no row of a weight above 0, or probabilities or weights are not finite numbers of 0 or more.

    Notes
    -----
    The objective is concave. Newton steps under :math:`\pi \ge 0` (a quadratic programme each) take the place of EM's
    hundreds of small ones; a step of EM is taken where one of these fails. The maximum is unique unless rows cannot
    tell classes apart, which then keep about their proportions of training.

    Examples
    --------
    >>> em_priors([[0.9, 0.1], [0.8, 0.2], [0.1, 0.9]], [0.5, 0.5]).round(3).tolist()
    [0.678, 0.322]
    """
    return _Likelihood(p, trained, weight).shares()


class _Likelihood:
    """The mean log-likelihood of shares of the classes that training had."""

    def __init__(self, p: Any, trained: Any, weight: Any = None) -> None:
        p, tau = _table(p, trained)
        n, self.seen = len(p), np.flatnonzero(tau > 0.0)
        self.trained = tau[self.seen]
        w = np.ones(n) if weight is None else np.asarray(weight, dtype=np.float64)
        total = p.sum(axis=1)
        if not (np.all(np.isfinite(total)) and (n == 0 or p.min() >= 0.0)):
            raise ValueError(
                "probabilities must be finite and 0 or more: give what predict_proba returns, without rows of NaN."
            )
        if w.shape != (n,) or not (np.all(np.isfinite(w)) and np.all(w >= 0.0)):
            raise ValueError(f"weight must be {n} finite numbers of 0 or more, got shape {w.shape}: one for each row.")
        self.odds = (p if len(self.seen) == len(tau) else p[:, self.seen]) / np.maximum(self.trained, SMALLEST_SHARE)
        self.told = (w > 0.0) & (self.odds.max(axis=1, initial=0.0) > 0.0)  # of these rows
        if not self.told.all():
            self.odds, w = self.odds[self.told], w[self.told]
        if not len(w):
            raise ValueError("class shares must be estimated on at least one row of a weight above 0, got none.")
        self.n_classes, self.weight = len(tau), w / w.sum()
        self.n_effective = 1.0 / float(np.sum(self.weight**2))

    def shares(self) -> FloatArray:
        """Return the shares of most likelihood, of all classes."""
        start, n = self.trained, len(self.weight)
        if n > 2 * FIRST_ROWS:
            few = slice(0, n, n // FIRST_ROWS)
            start = _most_likely(self.odds[few], self.weight[few] / self.weight[few].sum(), start)
            # Newton steps at most double what is close to 0.
            start = (FIRST_ROWS**0.5 * start + self.trained) / (FIRST_ROWS**0.5 + 1.0)
        return self._whole(_most_likely(self.odds, self.weight, start))

    def information(self, shares: FloatArray) -> FloatArray:
        """Return Fisher's information of a row about the shares of all classes."""
        made = np.zeros((self.n_classes, self.n_classes))
        curvature = _curvature(self.odds, self.weight, self.odds @ shares[self.seen])[1]
        made[np.ix_(self.seen, self.seen)] = curvature
        return made

    def slopes(self, shares: FloatArray) -> FloatArray:
        """Return the slope of the log-likelihood of each row by the shares of all classes."""
        made = np.zeros((len(self.weight), self.n_classes))
        made[:, self.seen] = self.odds / (self.odds @ shares[self.seen])[:, None]
        return made

    def _whole(self, found: FloatArray) -> FloatArray:
        shares = np.zeros(self.n_classes)
        shares[self.seen] = np.rint(found / found.sum() / ROUNDED_TO) * ROUNDED_TO
        shares[shares.argmax()] += 1.0 - shares.sum()  # exact: all are multiples of one power of 2
        return shares


def _most_likely(odds: FloatArray, weight: FloatArray, start: FloatArray) -> FloatArray:
    """Return x >= 0 of the least sum x - sum w log(odds x), which sums to 1 by itself."""
    from scipy.optimize import nnls

    x, mixed = start, odds @ start
    value = float(x.sum() - weight @ np.log(mixed))
    for _ in range(MOST_STEPS):
        gradient, curvature = _curvature(odds, weight, mixed)
        curvature[np.diag_indices_from(curvature)] += RIDGE * np.trace(curvature) / len(x)
        factor = np.linalg.cholesky(curvature)
        move = nnls(factor.T, np.linalg.solve(factor, curvature @ x - gradient))[0] - x
        length, slope = 1.0, float(gradient @ move)
        while length > 1e-6:
            tried = np.maximum(x + length * move, 0.0)
            mixed = odds @ tried
            lowest = float(mixed.min())
            fresh = float(tried.sum() - weight @ np.log(mixed)) if lowest > 0.0 else np.inf
            if fresh <= value + 1e-4 * length * slope + ROUNDING:
                break
            length /= 2.0
        else:
            tried = x * (1.0 - gradient)  # a step of EM, which never loses
            mixed = odds @ tried
            fresh = float(tried.sum() - weight @ np.log(mixed))
        x, value = tried, fresh
        # A share that is far too near to 0 moves little as well, but its slope is not small.
        if length == 1.0 and np.abs(move).max() <= CONVERGED and gradient.min() >= -FLAT:
            break
    return x


def _curvature(odds: FloatArray, weight: FloatArray, mixed: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return gradient and curvature of `_most_likely`, of blocks of rows, whose tables need little memory."""
    K = odds.shape[1]
    gradient, curvature = np.ones(K), np.zeros((K, K))
    for begin in range(0, len(odds), BLOCK):
        rows = slice(begin, begin + BLOCK)
        share = odds[rows] / mixed[rows, None]
        weighted = share * weight[rows, None]
        gradient -= weighted.sum(axis=0)
        curvature += weighted.T @ share
    return gradient, curvature


# -- with interval and test --------------------------------------------------------------------------------------------
@dataclass(frozen=True, eq=False)
class PriorEstimate:
    """Class shares that new rows were found to have.

    Attributes
    ----------
    classes : tuple
        Labels.
    shares : ndarray of shape (K,)
        The estimate where it is known, else the trained shares.
    low, high : ndarray of shape (K,)
        Interval of each share by the new rows, whether known or not. It holds only where the test does.
    p_value : float or None
        Of the test whether other shares explain the rows; None where there are no left-out rows to compare with, or too
        few for so many classes.
    known : bool
        Whether the estimate is to be used.
    reason : str
        Why it is not; empty where it is.
    covariance : ndarray of shape (K, K)
        Of the estimate, which the interval is of.
    """

    classes: tuple[Any, ...]
    shares: FloatArray
    low: FloatArray
    high: FloatArray
    p_value: float | None
    known: bool
    reason: str
    covariance: FloatArray

    def __repr__(self) -> str:
        """List the shares."""
        head = "PriorEstimate: " + ("class shares of these rows" if self.known else f"not known, {self.reason}")
        names = [label_text(label) for label in self.classes]
        width, between = max(map(len, names), default=0), " " if self.known else " trained, estimated"
        lines = [
            f"  {name:<{width}}  {share:.4f}{between} [{low:.4f}, {high:.4f}]"
            for name, share, low, high in zip(names, self.shares, self.low, self.high, strict=True)
        ]
        test = [] if self.p_value is None else [f"  p-value of a mere change of shares: {self.p_value:.3g}"]
        return "\n".join([head, *lines, *test])

    def as_dict(self) -> dict[str, Any]:
        """Return plain values, as JSON takes them, with shares by the text of the label."""
        names = [label_text(label) for label in self.classes]

        def named(values: FloatArray) -> dict[str, float]:
            return dict(zip(names, values.tolist(), strict=True))

        return {
            "shares": named(self.shares),
            "low": named(self.low),
            "high": named(self.high),
            "p_value": self.p_value,
            "known": self.known,
            "reason": self.reason,
        }


def estimated(
    p: Any, trained: Any, classes: Any, left_out: Any = None, told: Any = None, confidence: float = 0.9
) -> PriorEstimate:
    r"""Estimate class shares of new rows, say how sure they are, and test whether they explain the rows.

    Parameters
    ----------
    p : array-like of shape (n, K)
        Probabilities of the new rows under the trained shares.
    trained : array-like of shape (K,)
        Class shares of training.
    classes : array-like of shape (K,)
        Labels.
    left_out : object, optional
        Rows that the fit left out: `probabilities` (m, K), `labels` (m,) as positions in `classes`, `weight` (m,) and
        `told` (m, K) or None.
    told : array-like of shape (n, K), optional
        Probabilities of the new rows by what made `left_out.told`: without them there is no test. An average of models
        is surer than one of them, so its probabilities must not be compared with theirs.
    confidence : float, default=0.9
        Of the interval.

    Returns
    -------
    PriorEstimate
        Not known, with the trained shares, where the test has a p-value below 0.05, or where the rows tell so little
        that trained shares are as good a guess: see Notes.

    Raises
    ------
    ValueError
        If shapes do not fit or there are no rows.

    Notes
    -----
    *Estimate.* Maximum likelihood finds :math:`\hat\pi`. Means of probabilities under shares near it, of new rows, b,
    and of left-out rows of each class, in the columns of M, give others, :math:`M^{-1} b`. Their difference d has a
    covariance :math:`V_d` if probabilities are calibrated. The estimate is :math:`\hat\pi + c d` with James and Stein's
    :math:`c = \max(0, 1 - \mathrm{tr} V_d / |d|^2)`: nothing is corrected where d is no more than noise.

    *Interval.* Normal, of covariance :math:`V = I^{-1} / n + c^2 V_d + (1 - c)^2 V_m`, where I is Fisher's information
    about shares in one row, and :math:`V_m` the part of :math:`V_d` that comes from left-out rows.

    *Too little told.* Trained shares have the smaller expected square error, in units of :math:`1 / \tau`, where
    :math:`\sum_j (\pi_j - \tau_j)^2 / \tau_j < 2 \sum_j V_{jj} / \tau_j` (Mallows' criterion, of V without its last
    term). If besides the interval of a class holds both half and twice its trained odds, the shares are not known.

    *Test.* Cells are the likeliest class by quantiles of its log-odds among left-out rows, with at least 20 of these in
    each. Counts h of new rows are fitted by mixtures of the counts of each class, H, by least squares that are weighted
    by the inverse of the variance of h and H together. The distribution of the statistic where only shares change is
    simulated: both samples are drawn anew from the fitted mixture 100 times, and a multiple of a chi-square
    distribution gets the mean and the variance of their statistics. So noise of left-out rows, fitted shares and
    classes that are hardly told apart are all allowed for.

    Examples
    --------
    >>> p = np.repeat([[0.9, 0.1], [0.2, 0.8]], [600, 400], axis=0)
    >>> found = estimated(p, [0.5, 0.5], ["well", "ill"])
    >>> found.known, found.shares.round(3).tolist()
    (True, [0.75, 0.25])
    """
    from scipy.stats import norm

    labels, likelihood = as_labels(classes), _Likelihood(p, trained)
    tau = np.asarray(trained, dtype=np.float64)
    if len(labels) != len(tau):
        raise ValueError(
            f"classes must be {len(tau)}, one for each trained share, got {len(labels)}: {listed(labels)}."
        )
    if not 0.0 < confidence < 1.0:
        raise ValueError(f"confidence must be between 0 and 1, such as 0.9, got {confidence!r}.")
    if left_out is not None and not len(left_out.labels):
        left_out = None
    told = None if told is None else np.asarray(told)
    if told is not None and told.shape != np.shape(p):
        raise ValueError(
            f"told must have the shape of p, {np.shape(p)}, got {told.shape}: give those of the same rows."
        )
    shares = likelihood.shares()
    inverse = _on_simplex(likelihood.information((1.0 - ROUNDED_TO) * shares + ROUNDED_TO * tau))
    variance = inverse / likelihood.n_effective
    of_use = variance
    if left_out is not None:
        slopes = likelihood.slopes((1.0 - ROUNDED_TO) * shares + ROUNDED_TO * tau) @ inverse
        matched = _matched(
            np.asarray(p, dtype=np.float64)[likelihood.told], left_out, tau, shares, slopes, likelihood.n_effective
        )
        apart = matched.shares - shares
        square = float(apart @ apart)
        excess = max(0.0, 1.0 - float(np.trace(matched.difference)) / square) if square else 0.0
        shares = _projected(shares + excess * apart)
        of_use = variance + excess**2 * matched.difference
        variance = of_use + (1.0 - excess) ** 2 * matched.of_left_out
    deviation = np.sqrt(np.maximum(np.diag(variance), 0.0))
    half = float(norm.ppf(0.5 + 0.5 * confidence)) * deviation
    low, high = np.clip(shares - half, 0.0, 1.0), np.clip(shares + half, 0.0, 1.0)
    p_value = None
    if left_out is not None and told is not None and getattr(left_out, "told", None) is not None:
        p_value = _explained(told, left_out, shares)
    reason = ""
    if p_value is not None and p_value < LEVEL:
        reason = f"since other class shares alone do not explain these rows (p = {p_value:.2g})"
    elif (vague := _vague(shares, tau, np.diag(of_use), low, high)) is not None:
        reason = (
            f"since these rows tell too little: {labels[vague]!r} may be {low[vague]:.3g} to {high[vague]:.3g} of "
            f"them, trained {tau[vague]:.3g}"
        )
    return PriorEstimate(labels, tau.copy() if reason else shares, low, high, p_value, not reason, reason, variance)


def _on_simplex(information: FloatArray) -> FloatArray:
    """Return the inverse of an information among changes that sum to 0; of classes that were never seen, 0."""
    seen = np.flatnonzero(np.diag(information) > 0.0)
    made = np.zeros_like(information)
    K = len(seen)
    if K > 1:
        inside = np.eye(K) - 1.0 / K
        own = inside @ information[np.ix_(seen, seen)] @ inside
        # Classes that are alike have a variance that is large, but finite.
        ridged = own + 1.0 / K + RIDGE * np.trace(own) * np.eye(K)
        made[np.ix_(seen, seen)] = inside @ np.linalg.inv(ridged) @ inside
    return made


class _Matched(NamedTuple):
    """Shares that match means of new rows to those of left-out rows, and the noise of their difference from others."""

    shares: FloatArray  # with a sum of 1, but perhaps below 0
    difference: FloatArray  # (K, K): covariance
    of_left_out: FloatArray  # (K, K): the part of it that comes from left-out rows


def _matched(
    p: FloatArray, left_out: Any, tau: FloatArray, shares: FloatArray, influence: FloatArray, n: float
) -> _Matched:
    """Match mean probabilities under the shares; of a class without two left-out rows, to what probabilities promise.

    Parameters
    ----------
    p : ndarray of shape (n, K)
    left_out : object
    tau, shares : ndarray of shape (K,)
        Trained ones, and those of maximum likelihood.
    influence : ndarray of shape (n, K)
        Of each new row on the latter.
    n : float
        As many new rows of the same weight.
    """
    at = MIXED_IN * tau + (1.0 - MIXED_IN) * shares
    old, new = reweighed(left_out.probabilities, at, tau), reweighed(p, at, tau)
    y, weight = np.asarray(left_out.labels), np.asarray(left_out.weight, dtype=np.float64)
    K = len(tau)
    means = (new.T @ new) / np.maximum(new.sum(axis=0), SMALLEST_SHARE)
    noises = np.zeros((K, K, K))
    for j in range(K):
        rows = (y == j) & (weight > 0.0)
        if rows.sum() > 1:
            w = weight[rows] / weight[rows].sum()
            means[:, j] = w @ old[rows]
            centred = (old[rows] - means[:, j]) * w[:, None]
            noises[j] = centred.T @ centred / max(1.0 - float(w @ w), 0.5)
    ridge = RIDGE * np.trace(means.T @ means) * np.eye(K)
    inverse = np.linalg.solve(means.T @ means + ridge, means.T)
    observed = new.mean(axis=0)
    found = shares + inverse @ (observed - means @ shares)
    of_left_out = inverse @ np.tensordot(_projected(found) ** 2, noises, 1) @ inverse.T
    apart = influence - (new - observed) @ inverse.T
    return _Matched(found, apart.T @ apart / len(new) / n + of_left_out, of_left_out)


def _projected(shares: FloatArray) -> FloatArray:
    """Return the nearest shares of 0 or more with a sum of 1, rounded."""
    falling = np.sort(shares)[::-1]
    above = (np.cumsum(falling) - 1.0) / np.arange(1, len(shares) + 1)
    made = np.rint(np.maximum(shares - above[falling > above][-1], 0.0) / ROUNDED_TO) * ROUNDED_TO
    made[made.argmax()] += 1.0 - made.sum()
    return np.asarray(made)


def _vague(shares: FloatArray, tau: FloatArray, variance: FloatArray, low: FloatArray, high: FloatArray) -> int | None:
    """Return a class whose share may be anything from half to twice the trained odds, if trained shares are as good."""
    seen = tau > 0.0
    moved = float(np.sum((shares - tau)[seen] ** 2 / tau[seen]))
    if moved >= 2.0 * float(np.sum(variance[seen] / tau[seen])):
        return None
    half, twice = tau / (tau + 2.0 * (1.0 - tau)), 2.0 * tau / (1.0 + tau)
    wide = np.flatnonzero(seen & (low <= half) & (high >= twice) & (tau < 1.0))
    return int(wide[np.argmax((high - low)[wide])]) if len(wide) else None


# -- the test ----------------------------------------------------------------------------------------------------------
def _explained(told: np.ndarray, left_out: Any, shares: FloatArray) -> float | None:
    """Return the p-value of new rows as a mixture of the classes of left-out rows; None of too few cells."""
    from scipy.stats import chi2

    K, y, weight = len(shares), np.asarray(left_out.labels), np.asarray(left_out.weight, dtype=np.float64)
    of_old, of_new, n_cells = cells(np.asarray(left_out.told, np.float32), told.astype(np.float32))
    of_classes = np.bincount(of_old * K + y, weight, n_cells * K).reshape(n_cells, K)
    total, squares = of_classes.sum(axis=0), np.bincount(y, weight**2, K)
    here = total > 0.0
    H = of_classes[:, here] / total[here]
    rows = total[here] ** 2 / squares[here]  # as many of weight 1 have the same noise
    h, n = np.bincount(of_new, minlength=n_cells) / len(told), len(told)
    pi = shares[here] / shares[here].sum() if shares[here].sum() else np.full(len(rows), 1.0 / len(rows))
    pi = _fitted(h, H, pi, n, rows)[0]
    group = merged(n * (H @ pi))
    n_groups = int(group[-1]) + 1
    if n_groups <= len(rows):
        return None
    H = np.stack([np.bincount(group, column, n_groups) for column in H.T], axis=1)
    h = np.asarray(np.bincount(group, h, n_groups))
    pi, statistic = _fitted(h, H, pi, n, rows)
    random, mixed = np.random.RandomState(0), H @ pi
    drawn = random.multinomial(n, mixed / mixed.sum(), SIMULATIONS) / n
    counts = np.maximum(1, np.rint(rows)).astype(np.int64)
    # The share of nearest whole rows: no fraction of one is drawn.
    of_class = np.stack(
        [random.multinomial(m, column / column.sum(), SIMULATIONS) / m for m, column in zip(counts, H.T, strict=True)],
        axis=2,
    )
    found = np.empty(SIMULATIONS)
    for i in range(SIMULATIONS):
        found[i] = _fitted(drawn[i], of_class[i], _fitted(drawn[i], of_class[i], pi, n, rows)[0], n, rows)[1]
    mean, spread = float(found.mean()), float(found.var(ddof=1))
    if not spread:
        return None
    return float(chi2.sf(2.0 * mean * statistic / spread, 2.0 * mean**2 / spread))


def cells(old: np.ndarray, new: np.ndarray) -> tuple[IntArray, IntArray, int]:
    """Return the cell of each left-out and each new row, and how many cells there are.

    Rows of likeliest classes that have too few left-out rows share one cell.
    """
    K = old.shape[1]
    (top, sure), (new_top, new_sure) = _leading(old), _leading(new)
    of_old, of_new = np.zeros(len(old), np.int64), np.zeros(len(new), np.int64)
    sizes, n_cells = np.bincount(top, minlength=K), 1
    for j in range(K):
        bins = min(BINS_PER_CLASS, int(sizes[j]) // ROWS_PER_CELL)
        if bins:
            rows, new_rows = top == j, new_top == j
            edges = _between(np.sort(sure[rows]), np.quantile(sure[rows], np.arange(1, bins) / bins))
            of_old[rows] = n_cells + np.searchsorted(edges, sure[rows])
            of_new[new_rows] = n_cells + np.searchsorted(edges, new_sure[new_rows])
            n_cells += len(edges) + 1
    return of_old, of_new, n_cells


def _between(values: FloatArray, edges: FloatArray) -> FloatArray:
    """Return edges moved to where none of the sorted values is near.

    Trees say the same of many rows, which differ by rounding where they were added up in another way: an edge on such a
    value would part them.
    """
    above = np.searchsorted(values, edges + SAME_ODDS)
    above = np.unique(above[above < len(values)])
    return np.asarray(0.5 * (values[above - 1] + values[above]))


def _leading(p: np.ndarray) -> tuple[IntArray, FloatArray]:
    """Return the likeliest class of each row and its log-odds."""
    rest, top = p.astype(np.float64), p.argmax(axis=1)
    most = np.take_along_axis(rest, top[:, None], axis=1)[:, 0]
    np.put_along_axis(rest, top[:, None], 0.0, axis=1)  # what is left of 1 after the largest would be rounding
    return top, np.log(np.maximum(most, SMALLEST_SHARE)) - np.log(np.maximum(rest.sum(axis=1), SMALLEST_SHARE))


def merged(expected: FloatArray) -> IntArray:
    """Return a group of each cell: neighbours go together until enough new rows are expected in them."""
    group, current, held = np.zeros(len(expected), np.int64), 0, 0.0
    for cell, count in enumerate(expected.tolist()):
        group[cell], held = current, held + count
        if held >= LEAST_EXPECTED:
            current, held = current + 1, 0.0
    if group[-1] == current and current:  # the last ones expect too few
        group[group == current] = current - 1
    return group


def _fitted(h: FloatArray, H: FloatArray, pi: FloatArray, n: int, rows: FloatArray) -> tuple[FloatArray, float]:
    """Return shares of the least weighted sum of squares of h - H shares, and this sum; weights are those at `pi`."""
    from scipy.optimize import nnls

    deviation = np.sqrt(np.maximum(H @ pi / n + H @ (pi**2 / rows), (0.5 / n) ** 2))
    found, distance = nnls(H / deviation[:, None], h / deviation)
    return found / found.sum() if found.sum() else pi, float(distance) ** 2


# -- of a model --------------------------------------------------------------------------------------------------------
def estimate_priors(model: Any, X: Any, *, trained_priors: Any = None, confidence: float = 0.9) -> PriorEstimate:
    """Estimate the class shares of new rows by a fitted classifier, without labels.

    Parameters
    ----------
    model : classifier
        With `predict_proba` and `classes_`. `MinRiskClassifier` has kept rows that its fit left out: they correct the
        estimate and test whether a change of shares explains the new rows.
    X : array-like of shape (n, d)
        New rows, a sample of those that shares are wanted of.
    trained_priors : dict or array-like of shape (K,), optional
        Class shares of training, weighted as the rows were. By default those that the model knows; only models of this
        package and those with `class_prior_` do.
    confidence : float, default=0.9
        Of the interval.

    Returns
    -------
    PriorEstimate
        Shares with their interval and whether they are known: give it as `priors` to `decide` or `predict`.

    Raises
    ------
    TypeError
        If the model gives no probabilities.
    ValueError
        If the model does not know the class shares of its training and none are stated.

    See Also
    --------
    minrisk.decisions.priors.estimated : The same of probabilities, with formulas.

    Examples
    --------
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from sklearn.datasets import make_blobs
    >>> from minrisk import estimate_priors
    >>> X, y = make_blobs([300, 300], cluster_std=3.0, random_state=0)
    >>> model = GaussianNB().fit(X, y)
    >>> often = np.concatenate([X[y == 0], X[y == 1][:60]])  # 5 : 1
    >>> found = estimate_priors(model, often, trained_priors=model.class_prior_)
    >>> bool(found.low[0] < 300 / 360 < found.high[0])
    True
    """
    if not (hasattr(model, "predict_proba") and hasattr(model, "classes_")):
        raise TypeError(
            f"model must be a fitted classifier with predict_proba and classes_, got {type(model).__name__}: fit it "
            "first, or calibrate one that has scores only (CalibratedClassifierCV)."
        )
    told = model._told(X) if hasattr(model, "_told") else None
    return estimate_of(model.predict_proba(X), told, model, trained_priors, confidence)


def estimate_of(
    p: FloatArray, told: np.ndarray | None, model: Any, trained_priors: Any = None, confidence: float = 0.9
) -> PriorEstimate:
    """Do what `estimate_priors` does where it is known what the model, and a part of its members, say of the rows."""
    left_out = getattr(model, "left_out_", None)
    trained = trained_shares(model, left_out, trained_priors)
    return estimated(p, trained, model.classes_, left_out, told, confidence)


def trained_shares(model: Any, left_out: Any, stated: Any) -> FloatArray:
    """Return the class shares that a model was trained under."""
    for known in (stated, getattr(model, "trained_priors_", None)):
        if known is not None:
            return read_priors(known, model.classes_)
    if left_out is not None:
        counts = np.bincount(left_out.labels, left_out.weight, len(model.classes_))
        return np.asarray(counts / counts.sum())
    if (known := getattr(model, "class_prior_", None)) is not None:
        return read_priors(known, model.classes_)
    raise ValueError(
        f"trained_priors must be stated for {type(model).__name__}, which does not know the class shares of its "
        "training: give them as trained_priors={label: share}, such as y.value_counts(normalize=True)."
    )
