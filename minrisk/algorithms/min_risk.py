"""MinRisk: an average of cross-fitted boosters of vector-leaf trees that decides by least expected cost.

The project's own: the coupled exponential loss and its closed form from REBEL (Appel et al., NIPS 2016), the
guess-averse losses from Beijbom et al. (ICML 2014), on vector-leaf trees. Averaging models fitted to all folds but one,
with that one for calibration, is what scikit-learn's ``CalibratedClassifierCV(ensemble=True)`` does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from minrisk._typing import FloatArray, IntArray, Labels
from minrisk._utils import warn_caller
from minrisk._utils.workers import Workers
from minrisk.algorithms.parameters import SharedParameters, algorithm, parameter
from minrisk.costs.reading import CostsPerRow
from minrisk.costs.units import avoidable
from minrisk.decisions.costs import decision_costs, expected_costs
from minrisk.decisions.deciding import of_expected, weighed, weighted
from minrisk.decisions.priors import PriorEstimate, estimate_of, reweighed, shares_of
from minrisk.estimator import BoostedClassifier
from minrisk.estimator.eval_sets import costs_of_sets, record_stages
from minrisk.estimator.fitted import check_fitted
from minrisk.estimator.inputs import of_one_fit
from minrisk.estimator.parameters import Choice, Depth, Features, Flag, Folds, Number
from minrisk.losses import COST_TRAINED, POSTERIOR

if TYPE_CHECKING:
    from minrisk.boosting.watching import Watch
    from minrisk.decisions.left_out import LeftOut
    from minrisk.ensemble.defaults import Settings
    from minrisk.ensemble.driver import Driver
    from minrisk.ensemble.ensemble import Ensemble
    from minrisk.ensemble.table import Table
    from minrisk.ensemble.training import Trained
    from minrisk.estimator.elsewhere import Elsewhere
    from minrisk.estimator.inputs import TrainingRows
    from minrisk.model.first_rounds import FirstRounds
    from minrisk.rows.folded import FoldedRows


def check_excess(max_excess: float) -> None:
    """Raise ValueError unless this is a share of costs that may be given away."""
    if not (isinstance(max_excess, Real) and 0.0 <= max_excess <= 1.0):
        raise ValueError(f"max_excess must be a number from 0 to 1, such as 0.005, got {max_excess!r}.")


@algorithm
class MinRiskClassifier(BoostedClassifier, SharedParameters):
    r"""Decisions of least expected cost, by calibrated probabilities from an average of cross-fitted boosters.

    Boosters, called *members*, are trained side by side.
    Each leaves one fold of the rows out, and these rows choose the number of rounds and calibrate the probabilities.
    The scores H of the model are an average over the members. By default the decision about a row x is

    .. math:: \hat d(x) = \arg\min_k \sum_j p_j(x) \, C_{jk},

    the one of least expected cost under the probabilities p of the classes and the costs C.
    The probabilities do not depend on the costs, so `predict` also decides by other costs, without a new fit.

    Parameters
    ----------
    surrogate : {"auto", "exponential", "softmax", "coupled", "gll", "gel"}, default="auto"
        The loss that is boosted.
        "softmax" and "exponential" estimate probabilities, which then serve any costs.
        "coupled", "gll" and "gel" train on the costs themselves: such a model decides by the largest score, knows no
        probabilities and no other costs.
        "auto" is "softmax", and with a `time_budget` the better of "softmax" and "exponential".
    n_estimators : int, optional
        Largest number of rounds of a member.
        By default left-out rows and the price of work end them, see below; with ``cv=1`` they are 200.
    learning_rate : float, optional
        Factor on every leaf vector.
        By default 0.5, and less on more than 15 000 rows.
    max_leaf_nodes : int, optional
        Largest number of leaves of a tree.
        By default one leaf for each 40 rows that a member is trained on, but at least 24 and, unless rows are many, at
        most 64.
    max_depth : int, optional
        Largest number of splits between the root and a leaf.
        By default there is no limit.
    min_samples_leaf : int, default=1
        Smallest number of rows in a leaf.
    smoothing : float, optional
        How strongly leaf vectors are shrunk: the weight of phantom rows in every leaf, as a share of all rows' loss.
        By default 0.001 / (1 + n / 10 000) for n rows, which is about the share of ten rows where n is large.
    sketch : int or None, default=2
        Splits are chosen by this many random combinations of the classes, so that the time of a round hardly grows with
        the number of classes.
        None chooses splits by all classes, which takes several times as long.
        Leaf vectors are exact in both cases.
    max_features : float or int, optional
        Features that each split may choose from, drawn again for every split: a float is a share of them, an int is a
        number.
        By default 40 % of the features, but at most 160.
    search_rows : int or None, default=8192
        Splits are searched on about this many rows if there are more than four times as many.
        Every tree draws its own, and rows with large gradients are drawn more often.
        Leaf vectors always use all rows. None searches splits on all rows.
    subsample : float, default=1.0
        Share of the rows drawn for each tree, without replacement.
    binning : {"quantile", "uniform"}, default="quantile"
        Where thresholds may lie: "quantile" divides the rows evenly, "uniform" spaces thresholds evenly.
    max_bins : int, optional
        Number of bins of each feature, from 2 to 256.
        By default one bin for each 64 rows, but at least 16; and 201 if `binning` is "uniform".
    cv : int, cross-validation splitter or iterable, optional
        Folds, and so the number of members of a kind.
        By default 4 random folds.
        1 trains one member on all rows for all rounds, without calibration.
    pool : bool, default=True
        Whether members of other kinds compete with the plain ones for a share in the average.
        False takes a fraction of the time.
    keep_left_out : bool, default=True
        Whether the model, and its file, keep what was said of rows that were left out: at most 8192 rows, and a few
        hundred kilobytes.
        False leaves :func:`minrisk.guarantee`, :func:`minrisk.monitor` and ``priors="estimate"`` without it.
    time_budget : float, optional
        Seconds that the fit may take. Time that is left after the last round goes to further rounds and members, so
        the model depends on the machine.
        By default the fit takes as long as it takes.
    random_state : int or RandomState, optional
        Seed of the folds and of everything else that is drawn. An int makes the fit repeatable.

    Attributes
    ----------
    cost_regression_ : CostRegression or None
        If costs were given for each row: what was learnt from them. ``unit * means`` of it, of shape (K, D), is what
        each decision costs the rows of each class on average, above their cheapest decision.
    model_ : AdditiveModel
        The scores H: the trees of all members, one of each member in every round.
    surrogate_ : str
        The surrogate of the model.
    selection_ : list of dict
        The kinds of members that were trained: "surrogate", "variant", "share" in the model (0 if it was dropped),
        "n_rounds" in the model, "temperature" (that of the kind alone), "risk" (mean cost of its left-out rows),
        "pooled_risk" (that of all kinds with a share, for its surrogate) and "seconds".
    left_out_ : LeftOut or None
        Probabilities, true classes, folds and weights of rows of the fit, by members that had left these out.
        None without folds (``cv=1``) or probabilities, or with ``keep_left_out=False``.
    trained_priors_ : ndarray of shape (K,)
        Shares of the classes among the rows of the fit, by weight, of models with probabilities.
    n_iter_ : int
        Number of rounds kept, T below. A kind of members that needs fewer adds nothing in later ones.
    train_loss_ : ndarray of shape (T + 1,)
        Mean training loss of the members before round 1 and after every round.
    validation_loss_ : ndarray of shape (m, 2)
        The rounds at which left-out rows were looked at, and the log-loss of the plain members there, at the
        temperature that is best for it (the mean cost, for surrogates that are trained on costs).
        Round 0 has that of the class frequencies.
    evals_result_ : dict
        ``{"valid_0": {"cost": [...], "log_loss": [...]}}``: mean cost and log-loss of the rows of `eval_set` after each
        round; there is no log-loss without probabilities.
        It exists if `fit` was given an `eval_set`; model files do not keep it.

    See Also
    --------
    minrisk.compact : A smaller model for a stated excess of expected cost.
    REBELClassifier : Boosting that is trained on the costs themselves.

    Notes
    -----
    *Members and the pool.* Members begin at the class frequencies and grow one tree a round, with a vector of scores
    in every leaf.
    More rounds are kept if left-out rows show, beyond chance, that they are better.
    Then members go on for up to a fifth as many rounds on all rows: fewer on few rows, and on more than 15 000.
    In the end rounds are cut, to the fewest that left-out rows allow, and the leaf vectors of all members are fitted
    once more, all at once.
    With `pool`, members of other kinds are trained as well. One convex fit to left-out rows gives all kinds their
    weights, which also make the temperature, and each class a small shift. A kind of weight 0 is dropped.

    - "plain" members have the trees that the parameters describe.
    - "logistic" members are softmax regressions with a ridge penalty, on ranks and values of the bins (up to 2000
      features, surrogate "softmax"). Each ends as one tree for every feature.
    - "random" members have trees of drawn thresholds, which err elsewhere. They also split linear combinations of the
      features (up to 2000 features).
    - "gentle" members have trees of 8 leaves on finer bins and short steps, for weak signals and for sharp rules (not
      with more than 2000 features and 1000 rows).
    - "smooth" members have Gaussian kernels around 128 rows in place of trees (up to 4096 rows, surrogate "softmax").

    "random", "smooth" and "logistic" members depend on the scales of the features; the others do not.

    *Costs for each row.* If `fit` is given what each decision costs for each row, a regression learns how the costs of
    a class depend on the features, and C in the formula above is what it predicts. Where left-out rows do not show that
    such decisions cost less, C has the mean costs of each class. If the costs of new rows are known when these are
    decided, give them to `predict`.

    *No signal.* If left-out rows give no kind of members a weight, all rows get the class frequencies, and a warning
    says so. With ``cv=1`` nobody can tell.

    *Few rows.* If there are too few rows to leave any out (one of each class), the probabilities stay near the class
    frequencies.

    *Details of the defaults.* They are formulas of the number of rows n (effective rows, if they have weights), of the
    features and of the classes, and continuous, so that no number of rows is a cliff.

    - Rounds end where a further fall of the left-out log-loss does not pay for the work, in rows times rounds, which
      counts more for many classes and hardly more beyond 70 000 rows. Few rows hardly pay, and the more has been done,
      the more a further part of it must bring. Kinds beside the plain one are tried for at most 5 million rows times
      rounds. If you state `n_estimators`, that is the limit, and work has no price. What is left of a `time_budget`
      goes to further rounds and members, whose work has none either.
    - `learning_rate` on more than 15 000 rows: 0.5 (15 000 / n)^(1/2), but at least 0.35.
    - `max_leaf_nodes` on few rows: one leaf for each 20 rows up to 24, but at least 8 (16 if there are more features
      than rows).
    - `max_leaf_nodes` with many classes: up to 8 leaves for each class, while the vectors of a tree hold at most 8192
      numbers.
    - `max_leaf_nodes` on more than 3200 rows: one leaf for each 50 rows, but at most 1023, while the vectors of a tree
      hold at most 32 768 numbers.
    - `max_leaf_nodes` with rare classes: n then counts the rows that would tell as much if all classes had as many.
    - Wide data, such as texts: the more features beyond 2000 and rows beyond 1000 there are, the nearer are
      `max_leaf_nodes` to at most 20 (or one for each class up to 64) and `smoothing` to at most 0.00001.
    - `sketch`: a number above twice the number of classes means None. None also searches splits on all rows.
    - `search_rows`: up to 16 times as many rows are drawn if so many have large gradients. `min_samples_leaf` counts
      the rows that are searched.
    - `max_bins`: one bin for each 16 rows if there are few features, up to 512 bins in all. Gentle members have
      256 bins.

    *Groups.* If `fit` is given `groups`, folds keep the rows of a group together, and a splitter as `cv` gets the
    groups too.

    *Copies.* Rows that are equal in all features, in the label, in the group and in costs of their own count as one row
    with the sum of their weights, unless they are coincidences of few values.
    Near copies are left out together, and a `DataWarning` says how many rows have one: state `groups` then.
    With a splitter as `cv` copies count as one row where they are in the same fold, and near copies are not sought.

    *A budget of time.* The first 5 rounds are always made.
    Time that is left trains the other kinds of members, then the surrogate "exponential" (if `surrogate` is "auto"),
    then "varied" members: these have other seeds and vary `learning_rate`, `max_leaf_nodes`, `max_features` and
    `smoothing`, as far as they are not stated.
    A fit ends early if left-out rows cost nothing, if they show that there is nothing to learn, or if the surrogate is
    trained on costs, for which there are no variations.

    *Repeatable fits.* With an int as `random_state` the model is the same to the last bit on processors of the same
    generation, and with ``pool=False`` on others as well.

    *Balanced classes.* `class_weight` changes the probabilities. To keep the probabilities of the rows as they come,
    and still to decide as if all classes counted alike, state ``cost=minrisk.costs.balanced(y)`` instead.

    References
    ----------
    .. [1] R. Appel, X. Burgos-Artizzu and P. Perona, "Improved Multi-Class Cost-Sensitive Boosting via Estimation of
       the Minimum-Risk Class", NIPS 2016: the losses "exponential" and "coupled".
    .. [2] O. Beijbom, M. Saberian, D. Kriegman and N. Vasconcelos, "Guess-Averse Loss Functions For Cost-Sensitive
       Multiclass Boosting", ICML 2014: the losses "gll" and "gel".

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_wine
    >>> from minrisk import MinRiskClassifier
    >>> X, y = load_wine(return_X_y=True)
    >>> cost = [[0, 1, 1], [1, 0, 1], [10, 10, 0]]  # class 2 must not be missed
    >>> model = MinRiskClassifier(cost, random_state=0).fit(X[::2], y[::2])
    >>> model.predict(X[1::2])[:5]
    array([0, 0, 0, 0, 0])
    >>> model.predict(X[1::2], cost=1 - np.eye(3))[:5]  # other costs, the same fit
    array([0, 0, 0, 0, 0])
    """

    surrogate: str = parameter(default="auto", rule=Choice(("auto", *POSTERIOR, *COST_TRAINED)))
    n_estimators: int | None = parameter(default=None, rule=Number(int, 1, optional=True))
    learning_rate: float | None = parameter(default=None, rule=Number(float, 0, open_low=True, optional=True))
    max_leaf_nodes: int | None = parameter(default=None, rule=Number(int, 2, optional=True))
    max_depth: int | None = parameter(default=None, rule=Depth(optional=True))
    min_samples_leaf: int = parameter(default=1, rule=Number(int, 1))
    smoothing: float | None = parameter(default=None, rule=Number(float, 0, optional=True))
    sketch: int | None = parameter(default=2, rule=Number(int, 1, optional=True))
    max_features: float | None = parameter(default=None, rule=Features(optional=True))
    search_rows: int | None = parameter(default=8192, rule=Number(int, 2, optional=True))
    subsample: float = 1.0
    binning: str = "quantile"
    max_bins: int | None = None
    cv: Any = parameter(default=None, rule=Folds())
    pool: bool = parameter(default=True, rule=Flag())
    keep_left_out: bool = parameter(default=True, rule=Flag())
    time_budget: float | None = parameter(default=None, rule=Number(float, 0, optional=True))

    # -- training ------------------------------------------------------------------------------------------------
    _has_phases: ClassVar[bool] = True
    _arrays: ClassVar[frozenset[str]] = frozenset(
        {"trees", "values", "rounded vectors", "linear features", "smooth scores"}
        | {"regression of costs", "validated loss", "early decisions", "class shares", "left-out rows", "first rounds"}
    )
    _ways: ClassVar[tuple[Mapping[str, Any], ...]] = (
        {"n_estimators": 12},
        *({"n_estimators": 12, "surrogate": name, "pool": False} for name in (*POSTERIOR, *COST_TRAINED)),
    )

    def _train(self, given: TrainingRows, goes_on: bool, workers: Workers, watch: Watch) -> None:
        """Train ensembles and keep the one of least validated risk: see `minrisk.ensemble`."""
        from minrisk.ensemble.folds import rows_together
        from minrisk.ensemble.table import bin_table

        given = self._merged_copies(given)
        merged, X = given.copies, given.X
        if merged is not None and merged.folds is None:
            weight, y = given.given_weight, given.y
            self._group = rows_together(X, self.n_features_in_, y, weight, merged.copied, self._group, self.cv)
        rows, costs = self._prepare_costs(given, False)
        costs_of_sets(self, watch.eval_sets)  # which fails before the training and not after it
        driver, settings = self._prepared(costs.n_rows, X.shape[1], watch, workers)
        folds, source = None if merged is None else merged.folds, self._categories.source
        per_row = self.cost_ is None
        table, folded = bin_table(X, given.y, rows, costs, per_row, settings, workers, source, self._group, folds)
        if watch.checkpoint is not None:
            watch.checkpoint.same("cv", rows, folded.gathered().bounds)
        self._finish(table, folded, None if per_row else costs.table, settings, driver)
        record_stages(self, watch.eval_sets)

    def refit_leaves(self, X: Any, y: Any, sample_weight: Any = None, cost: Any = None) -> Self:
        """Refresh the model by new rows: the trees stay, and what their leaves say follows these rows.

        The calibration is of the new rows as well: the frequencies of classes, the temperature, and how far a class
        must be ahead for an early decision.

        Parameters
        ----------
        X : array-like of shape (n, d)
            New rows, as `predict` takes them.
        y : array-like of shape (n,)
            Their classes, among `classes_`.
        sample_weight : array-like of shape (n,), optional
            Weights of the rows, 0 or more. By default all rows weigh alike.
        cost : array-like of shape (K, D), DataFrame, dict, CSV file or CostMatrix, optional
            Costs in place of those of the fit.

        Returns
        -------
        estimator
            This estimator, refreshed. `selection_` and the curves still are those of the fit.

        Raises
        ------
        ValueError
            If there are fewer than two rows, a class is not one of `classes_`, `cost` differs by row, or the surrogate
            is not "softmax".

        Notes
        -----
        Members that leave out a part of the new rows each say how much the old leaves and the new ones count for.
        Few rows change little but the frequencies of classes, and many rows replace all that leaves said.
        """
        from minrisk.ensemble.refitting import refreshed

        self.__dict__ = refreshed(check_fitted(self, "refit_leaves"), X, y, sample_weight, cost).__dict__
        return self

    def _merged_copies(self, given: TrainingRows) -> TrainingRows:
        """Return the rows with the weight of copies, found by the columns that were given, in the first of them."""
        from minrisk.ensemble.folds import merged_copies

        if given.copies is not None:
            return given
        costs = given.cost.values if isinstance(given.cost, CostsPerRow) else None
        found = merged_copies(given.X, self.n_features_in_, given.y, given.given_weight, costs, self._group, self.cv)
        weight = given.stated_weight if found is None or found.weight is None else found.weight
        return given._replace(copies=found, stated_weight=weight)

    def _category_rows(self, rows: TrainingRows) -> tuple[TrainingRows, FloatArray, IntArray | None]:
        """Weigh the rows that training has: copies are one, which have no other costs, groups or folds either."""
        rows = self._merged_copies(rows)
        return rows, rows.weight, None

    def _prepared(self, n_rows: float, n_features: int, watch: Watch, workers: Workers) -> tuple[Driver, Settings]:
        """Begin the time of the fit, and say what the parameters mean for so many rows."""
        from minrisk.ensemble.defaults import Settings
        from minrisk.ensemble.driver import Driver

        driver = Driver(watch, workers, self.time_budget)
        return driver, Settings.of(vars(self), n_rows, n_features, self._seed)

    def _train_elsewhere(self, rows: Elsewhere, cost: Any, watch: Watch) -> None:
        """Train in the same way on rows that lie elsewhere."""
        from minrisk.ensemble.table import table_elsewhere

        if not (self.cv is None or isinstance(self.cv, Integral)):
            raise ValueError(f"cv must be a number of folds for rows in Dask collections, got {self.cv!r}.")
        engine, counted, matrix = self._prepare_costs_elsewhere(rows, cost)
        n, d = counted.cost_facts.n_rows, rows.n_features
        driver, settings = self._prepared(n, d, watch, Workers())
        self._finish(*table_elsewhere(engine, counted, settings, n, d), matrix, settings, driver)

    def _finish(
        self, table: Table, folded: FoldedRows, matrix: FloatArray | None, settings: Settings, driver: Driver
    ) -> None:
        """Train on rows in their folds, and keep what is found."""
        from minrisk.ensemble.training import train

        found = train(table, folded, len(self.classes_), matrix, settings, driver)
        self._keep(found)
        self._warn_of_a_constant(found.ensemble)

    def _keep(self, found: Trained) -> None:
        """Make attributes of what training has found."""
        from minrisk.ensemble.ensemble import averaged_model, cascade_of, mean_losses

        ensemble = found.ensemble
        self.model_ = averaged_model(ensemble, len(self._categories.source))
        self.surrogate_ = ensemble.task.surrogate
        self.selection_: list[dict[str, Any]] = found.lines
        self.n_iter_ = len(self.model_)
        self.train_loss_ = mean_losses(ensemble)
        self.validation_loss_ = np.array(ensemble.plain.curve, dtype=np.float64).reshape(-1, 2)
        self.cost_regression_ = found.costs
        self.left_out_: LeftOut | None = None if found.kept is None else found.kept.rows
        self._first_rounds: FirstRounds | None = None if found.kept is None else found.kept.first_rounds
        if ensemble.link is not None:
            self.trained_priors_ = ensemble.task.folded.class_shares
        if self.cost_ is not None and found.left_out is not None:
            self.model_ = replace(self.model_, cascade=cascade_of(found.left_out, ensemble, self.cost_))

    def _warn_of_a_constant(self, ensemble: Ensemble) -> None:
        """Say why left-out rows left no round, unless one decision is the cheapest for every row."""
        from minrisk.ensemble.ensemble import no_signal

        if not ensemble.answers_alike or float(ensemble.task.folded.stated_facts.means.min()) == 0.0:
            return
        learnt = self.cost_regression_ is not None and len(self.cost_regression_.packed) > 0
        what = "of the classes, and tells rows apart by their costs alone" if learnt else "and answers all rows alike"
        warn_caller(f"{type(self).__name__} has learnt nothing{' ' if learnt else ', '}{what}: {no_signal(ensemble)}.")

    def _n_outputs(self) -> int:
        return len(self.classes_ if self.surrogate_ in POSTERIOR else self.decisions_)

    def _facts(self) -> dict[str, Any]:
        timeless = [{name: value for name, value in tried.items() if name != "seconds"} for tried in self.selection_]
        return {"surrogate": self.surrogate_, "selection": timeless}

    def _restore_facts(self, facts: dict[str, Any]) -> None:
        self.surrogate_, self.selection_ = facts["surrogate"], facts["selection"]

    # -- prediction ------------------------------------------------------------------------------------------------
    def _expected(self, X: np.ndarray, scores: FloatArray) -> FloatArray | None:
        """Return expected costs under the costs of the fit: its matrix, or what was learnt from costs per row."""
        from minrisk.model.links import expected_costs

        if self.model_.link is None:
            return None
        if self.cost_regression_ is not None:
            return self.cost_regression_.expected(X, self.model_.probabilities(scores))
        assert self.cost_ is not None
        return expected_costs(self.model_.link, scores, self.model_.temperature, self.cost_.avoidable)

    def _gives_probabilities(self) -> bool:
        return self.surrogate == "auto" or self.surrogate in POSTERIOR

    @of_one_fit
    def predict(
        self, X: Any, cost: Any = None, *, priors: Any = None, limits: Any = None, max_excess: float = 0.0
    ) -> Labels:
        """Return the decision of least expected cost for each row.

        The decision about a row depends on this row alone, not on the rows beside it, unless there are `limits` or
        ``priors="estimate"``.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Rows, as `predict` takes them.
        cost : array-like of shape (K, D) or (n, K, D), DataFrame, dict, CSV file or CostMatrix, optional
            Costs to decide by, without fitting again: a matrix for all rows, or one for each row.
            Without labels the columns are `decisions_` if they are as many, else the classes and the decisions after
            them.
            By default the costs of the fit decide.
        priors : dict, array-like of shape (K,), PriorEstimate or "estimate", optional
            Shares of the classes among rows as these, where they differ from `trained_priors_`.
            "estimate" finds them by these rows, as :func:`minrisk.estimate_priors` does: where a change of shares does
            not explain the rows it warns, and those of the training decide.
        limits : dict, optional
            About how many rows each decision may be made, as ``{"refer": 100}`` or ``{"refer": 0.05}``: see
            :func:`minrisk.decide`. Then decisions depend on each other, and are cheapest in sum.
        max_excess : float, default=0.0
            Share by which the expected cost may exceed that of the whole model's decisions, from 0 to 1, in return for
            speed: 0.005 allows half a per cent.
            0 returns the decisions of the whole model.

        Returns
        -------
        ndarray of shape (n,)
            The decisions, among `decisions_` or those that `cost` names.

        Raises
        ------
        ValueError
            If `cost`, `priors` or `limits` are given and the surrogate was trained on costs, if they do not fit the
            classes and the rows, or if `max_excess` is no number from 0 to 1.

        Notes
        -----
        A row passes the trees in stages of rounds.
        Its decision stands after the first stage at which the remaining trees cannot change it, so most rows need few
        trees.
        With `max_excess` a row is decided as soon as one decision is far enough ahead.
        How far is enough was learnt in the fit from left-out rows, under its costs and on the average of such rows.
        Values below 0.001 mean 0.

        The decisions are those of the whole model, whatever `max_excess` says,

        - if the fit left no rows out (``cv=1``), or had costs for each row;
        - if the surrogate is "exponential", or one that is trained on costs;
        - if the model has fewer than 64 trees, or is one that `minrisk.compact` returned;
        - for sparse X, and with `limits`.
        """
        X = self._check_X(X)
        check_excess(max_excess)
        if cost is None and priors is None and limits is None:
            if self.cost_regression_ is not None:
                return np.asarray(self.decisions_[self._decide(X, self._scores(X))])
            return np.asarray(self.decisions_[self._decisions(X, self.model_.rule(self.cost_), max_excess)])
        if self.model_.link is None:
            raise ValueError(
                f"The surrogate {self.surrogate_!r} was trained on its costs and knows no others: fit with "
                "surrogate='softmax' or 'exponential' to decide under costs, priors or limits given to predict, or fit "
                "again."
            )
        from minrisk.model import links

        stated = self.cost_ if cost is None else cost
        costs = None if stated is None else decision_costs(self, stated, len(X))
        shares = None if priors is None else self._priors(priors, X)
        if limits is None and costs is not None and costs.shared is not None:
            rule = self.model_.rule(costs.shared if shares is None else weighted(costs.shared, shares, self._trained()))
            return np.asarray(costs.decisions[self._decisions(X, rule, max_excess)])
        if limits is None and costs is not None:
            # Costs above the cheapest decision of each class: what all decisions cost alike would take their digits.
            values = avoidable(costs.values)
            values = values if shares is None else weighed(values, shares, self._trained())
            expected = links.expected_costs(self.model_.link, self._scores(X), self.model_.temperature, values)
            return np.asarray(costs.decisions[expected.argmin(axis=1)])
        p = self.model_.probabilities(self._scores(X))
        p = p if shares is None else reweighed(p, shares, self._trained())
        if costs is None:
            assert self.cost_regression_ is not None
            expected = self.cost_regression_.unit * self.cost_regression_.expected(X, p)
            return of_expected(expected, self.decisions_, self.classes_, limits).labels
        return of_expected(expected_costs(p, costs.table), costs.decisions, self.classes_, limits).labels

    @property
    def predict_proba(self) -> Callable[..., FloatArray]:
        """Return the probabilities of the classes, calibrated by rows that members have left out.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Rows, as `predict` takes them.
        priors : dict, array-like of shape (K,), PriorEstimate or "estimate", optional
            Shares of the classes among rows as these, as in `predict`. By default those of the fit.

        Returns
        -------
        ndarray of shape (n, K)
            Probabilities in the order of `classes_`; every row sums to 1.

        Raises
        ------
        AttributeError
            If the surrogate was trained on costs, and knows no probabilities.
        """
        self._require_link()
        return self._predict_proba

    @of_one_fit
    def _predict_proba(self, X: Any, priors: Any = None) -> FloatArray:
        X = self._check_X(X)
        p = self.model_.probabilities(self._scores(X))
        return p if priors is None else reweighed(p, self._priors(priors, X), self._trained())

    _predict_proba.__name__ = "predict_proba"

    def _trained(self) -> FloatArray:
        """Return the shares of the classes by which the probabilities were learnt."""
        if (trained := getattr(self, "trained_priors_", None)) is None:
            raise ValueError(
                "priors need the shares of the classes in the training, which the file of this model does not say: fit "
                "again, or give trained_priors to minrisk.decide."
            )
        return np.asarray(trained)

    def _priors(self, priors: Any, X: Any) -> FloatArray:
        """Return shares of the classes as stated, or as checked rows say."""

        def estimate() -> PriorEstimate:
            told = None if self._first_rounds is None else self._first_rounds.told(X)
            return estimate_of(self.model_.probabilities(self._scores(X)), told, self)

        return shares_of(priors, self.classes_, estimate)

    def _told(self, X: Any) -> np.ndarray | None:
        """Return probabilities of rows by what says of left-out rows what it says of new ones."""
        return None if self._first_rounds is None else self._first_rounds.told(self._check_X(X))
