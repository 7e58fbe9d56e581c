"""Train in one run of the loop: the base of methods, each of which says its recipe."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from numbers import Integral
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from minrisk._typing import FloatArray, IntArray
from minrisk._utils import warn_caller
from minrisk._utils.workers import Workers
from minrisk.algorithms.parameters import BinParameters, CommonParameters, StepParameters, algorithm, parameter
from minrisk.data.row_blocks import taken
from minrisk.estimator import BoostedClassifier
from minrisk.estimator.eval_sets import beneath, costs_of_sets, record_stages
from minrisk.estimator.inputs import check_the_same
from minrisk.estimator.parameters import ZERO_RISK, Depth, Flag, n_drawn

if TYPE_CHECKING:
    from collections.abc import Sequence

    from minrisk.boosting.loop import Progress, Recipe
    from minrisk.boosting.monitors import EarlyStopping, RiskHistory, RiskOfOthers, Stages
    from minrisk.boosting.watching import Watch
    from minrisk.data.binning import Binner
    from minrisk.estimator.elsewhere import Elsewhere
    from minrisk.estimator.eval_sets import EvalSet, SetCosts
    from minrisk.estimator.inputs import TrainingRows
    from minrisk.model.links import Link
    from minrisk.rows.costs import CostFacts, RowCosts
    from minrisk.rows.rows import Rows


COSTS_MORE = (
    "{name} has decisions about the training rows that cost {risk:.4g} on average after {rounds} rounds, where one "
    "decision for all costs {least:.4g}: early_stopping=True keeps the rounds that cost least on rows set apart."
)
NOT_ELSEWHERE = "{name} looks at all values of all rows: it takes no Dask collections. REBELClassifier does."


class Certificate(NamedTuple):
    """Prove that `value` is at most `bound`; what lies between them is what may be left.

    Parameters
    ----------
    claim : str
        What the two numbers are.
    value, bound : float
    """

    claim: str
    value: float
    bound: float


class TrainingData(NamedTuple):
    """Training data in the loop's terms."""

    binner: Binner
    recipe: Recipe
    rows: Rows
    validation: Rows | None
    costs: CostFacts  # of both
    eval_rows: dict[str, Rows]  # of each `eval_set`, by its name


class BoostedRounds(NamedTuple):
    """Hold what the rounds so far have built, and what was seen of them."""

    data: TrainingData
    progress: Progress
    history: RiskHistory
    stopping: EarlyStopping | None
    stages: Stages | None
    eval_risks: dict[str, RiskOfOthers]
    before: int  # rounds before this fit,
    known: FloatArray  # their stated risks,
    validated: FloatArray  # also of validation rows

    def cut(self) -> bool:
        """Forget what an interrupted round has left; whether there are whole ones of this fit."""
        progress, per_round, risks = self.progress, self.data.recipe.learners_per_round, self.history.risks
        n = len(progress.trees) // per_round
        if len(risks) == n:  # the last one is whole, but nobody has looked at it
            risks.append(self.data.rows.risk())
        if self.stages is not None:
            n = min(n, len(self.stages.vectors))
        if self.stopping is not None:
            n = min(n, len(self.stopping.risks) - 1)
        if n <= self.before:
            return False
        progress.cut(n, per_round)
        del risks[n + 1 :]
        for one in self.eval_risks.values():
            del one.risks[n + 1 - (0 if one is self.stopping else self.before) :]
        return True


def _as_stated(costs: CostFacts, earlier: FloatArray, risks: list[float]) -> FloatArray:
    """Return earlier means of stated costs, and mean avoidable costs after them as such."""
    return np.concatenate([earlier, costs.stated(np.array(risks[len(earlier) :], dtype=np.float64))])


def _of_classes(costs: RowCosts, codes: IntArray) -> RowCosts:
    """Return the costs of other rows, of these classes, which share the table and weigh 1."""
    row = codes.astype(np.int32)
    return costs._replace(row=row, weight=np.ones(len(row)), label=row)


def _of_set(costs: RowCosts, given: SetCosts) -> RowCosts:
    """Return the costs of other rows, which bring their own and weigh 1, in the same unit."""
    least = given.table.min(axis=1)
    return costs._replace(
        table=np.ascontiguousarray((given.table - least[:, None]) / costs.unit),
        row=given.row.astype(np.int32),
        weight=np.ones(len(given.row)),
        label=given.codes.astype(np.int32),
        least=least,
        per_row=given.row is not given.codes,
    )


def _rests(made: BoostedRounds, intercept: FloatArray) -> Progress:
    """Forget all rounds, also in what was seen; rows then have these scores, and those set apart what was tried."""
    from minrisk.boosting.loop import constant

    progress = constant(made.data.rows, made.data.recipe, intercept)
    made.history.risks = [made.data.rows.risk()]
    if made.stopping is not None:
        made.stopping.rows.start_at((), (), intercept)
        made.stopping.risks[0] = made.stopping.rows.risk()
    return progress


def _half_rows(costs: CostFacts) -> FloatArray:
    """Count for `Rows.savings` half a row of each class that is decided wrongly, (3,).

    Few rows of a rare class may show no mistake, which does not prove that there is none (Krichevsky and Trofimov's
    estimate).
    """
    means = costs.class_means[costs.class_weight > 0.0]
    saved = means[:, int(np.argmin(costs.means))] - means.sum(axis=1) / max(1, means.shape[1] - 1)
    return 0.5 * np.array([len(saved), saved.sum(), np.sum(saved**2)])


class RecipeClassifier(BoostedClassifier, CommonParameters):
    """A fit bins the features, makes rows for the subclass's recipe, runs the loop, and keeps the rounds."""

    learning_rate: float
    subsample: float = 1.0  # of algorithms that draw none
    max_features: Any = 1.0
    binning: str
    max_bins: int | None
    weak_learner: str
    max_depth: Any
    target_loss: Any = None  # of algorithms that stop at one
    decision = "argmax"  # of algorithms that know other ones than that of the largest score
    keep_stages = False  # of recipes that correct the vectors of earlier rounds
    # What its model files hold beside what all have: see `minrisk.io.schema`.
    _arrays: ClassVar[frozenset[str]] = frozenset({"trees", "values", "training costs", "validated costs"})
    _links: ClassVar[tuple[str, ...]] = ()  # from scores to probabilities
    _parameters_kept: ClassVar[tuple[str, ...]] = ()  # facts of the fit that are values of parameters

    train_risk_: FloatArray
    validation_risk_: FloatArray | None
    certificate_: Certificate | None  # of algorithms with a claim
    _log_scale: float

    @property
    def _claim(self) -> str | None:
        """Say what the numbers of `certificate_` are; None for algorithms without."""
        return None

    def _recipe(self, costs: CostFacts, thresholds: tuple[FloatArray, ...]) -> Recipe:
        """Make the recipe of the algorithm: the one method a subclass writes."""
        raise TypeError(f"{type(self).__name__} has no recipe: use an algorithm such as REBELClassifier.")

    def _train(self, given: TrainingRows, goes_on: bool, workers: Workers, watch: Watch) -> None:
        """Fit to checked rows."""
        sets = watch.eval_sets
        data = self._prepare(given, goes_on, workers, sets)
        before = self.n_iter_ if goes_on else 0
        self._boost(data, goes_on, watch)
        if len(data.eval_rows) < len(sets):
            record_stages(self, sets, before)

    def _prepare(self, given: TrainingRows, goes_on: bool, workers: Workers, sets: Sequence[EvalSet]) -> TrainingData:
        """Make labels, costs, bins, recipe and rows of both parts; set what does not depend on the rounds."""
        from minrisk.boosting.monitors import split_rows
        from minrisk.rows.factory import make_rows
        from minrisk.rows.pairs import CorrectiveRows, PairRows

        X, (counted, of_rows) = given.X, self._prepare_costs(given, goes_on)
        # Rows of weight 0 are the same as no rows, also for what is drawn.
        if len(counted) < len(X):
            X = taken(X, counted)
        in_loss, of_sets = self._costs_in_loss(of_rows), costs_of_sets(self, sets)
        # Where decisions go by other costs than the loss, `record_stages` judges the sets after the fit.
        live = in_loss is of_rows and self.decision == "argmax"
        training, others = None, list[Any]()  # row numbers of others, and their costs
        if sets:  # beneath the rows of the training, as those that are set apart lie among them
            training, first = np.arange(len(X)), len(X)
            X = beneath(X, sets)
            for one, own in zip(sets, of_sets, strict=True):
                shares = one.cost is None or not live
                costs = _of_classes(in_loss, own.codes) if shares else _of_set(in_loss, own)
                others.append((np.arange(first, first + len(own.codes)), costs))
                first += len(own.codes)
        elif self.early_stopping:
            group = None if self._group is None else self._group[counted]
            label = of_rows.label.astype(np.int64)
            training, apart = split_rows(label, self.validation_fraction, self._seed, group)
            others = [(apart, (of_rows if self.decision == "argmax" else in_loss).at(apart))]
        weight = None if np.all(of_rows.weight == 1.0) else of_rows.weight
        if sets and weight is not None:
            weight = np.concatenate([weight, np.zeros(len(X) - len(weight))])
        # Rows set apart have no say in the thresholds, or they would judge what they have shaped.
        binner = self._fit_binner(X, training, weight, workers)
        costs = (in_loss if training is None or sets else in_loss.at(training)).read_only()
        recipe, options = self._recipe(costs.facts(), binner.thresholds), self._row_options(X, training, costs)
        for name, made in (("codebook", recipe.codebook), ("decoder", recipe.decoder)):
            if made is not None:
                options = {**options, name: made}
        rows = make_rows(recipe.rows_kind, X, training, binner, costs, workers, **options)
        kind = recipe.rows_kind
        if issubclass(kind, CorrectiveRows):
            options = {}
        if kind is CorrectiveRows:  # what is only scored keeps no responses
            kind = PairRows
        scored = [
            make_rows(kind, X, part, binner, own, workers, False, **options)
            for part, own in (others if live else others[: int(self.early_stopping)])
        ]
        if self.target_loss == ZERO_RISK:
            recipe = recipe._replace(target_loss=rows.zero_risk_loss(recipe.loss))  # type: ignore[arg-type]  # of coupled ones
        eval_rows = {one.name: of_set for one, of_set in zip(sets, scored, strict=False)} if live else {}
        return TrainingData(
            binner, recipe, rows, scored[0] if self.early_stopping else None, of_rows.facts(), eval_rows
        )

    def _train_elsewhere(self, rows: Elsewhere, cost: Any, watch: Watch) -> None:
        """Fit to rows that lie elsewhere: their bins are all that the learners see."""
        if self.early_stopping:
            raise ValueError(
                "early_stopping sets rows apart, which have to be here: set early_stopping=False for Dask collections."
            )
        bins_only = type(self)._row_options is RecipeClassifier._row_options
        if not bins_only or type(self)._costs_in_loss is not RecipeClassifier._costs_in_loss:
            raise ValueError(NOT_ELSEWHERE.format(name=type(self).__name__))
        counted = self._prepare_costs_elsewhere(rows, cost)[1]
        facts, binner = counted.cost_facts, counted.binner(self.binning, self.max_bins, rows.weighted)
        recipe = self._recipe(facts, binner.thresholds)
        if recipe.codebook is not None or recipe.decoder is not None or recipe.rows_kind.holds_values:
            raise ValueError(NOT_ELSEWHERE.format(name=type(self).__name__))
        made = counted.rows(recipe.rows_kind, counted.columns(binner, Workers()), Workers())
        if self.target_loss == ZERO_RISK:
            recipe = recipe._replace(target_loss=made.zero_risk_loss(recipe.loss))
        self._boost(TrainingData(binner, recipe, made, None, facts, {}), False, watch, here=False)

    def _fit_binner(self, X: np.ndarray, *training: Any) -> Binner:
        """Return thresholds from some rows of X, their weights, with workers."""
        from minrisk.data.binning import fit_binner

        return fit_binner(X, self.binning, self.max_bins, *training)

    def _costs_in_loss(self, costs: RowCosts) -> RowCosts:
        """Return what mistakes cost in the loss, which may be other than what decisions cost."""
        return costs

    def _row_options(self, X: np.ndarray, training: IntArray | None, costs: RowCosts) -> dict[str, Any]:
        """Return options of `make_rows` for both parts, by the training rows of X and their costs."""
        return {}

    def _gives_probabilities(self) -> bool:
        return bool(self._links) and super()._gives_probabilities()

    @property
    def _depth(self) -> int:
        """Return the depth of the trees, of methods with a parameter `weak_learner`."""
        return 1 if self.weak_learner == "stump" else self.max_depth

    def _draw_seed(self) -> int:
        """Return the seed of all that is drawn; 0 where nothing is, so that equal models are equal files."""
        return super()._draw_seed() if self._draws() else 0

    def _draws(self) -> bool:
        """Return whether a fit draws rows, features or the validation part."""
        everything = self.max_features == 1 and not isinstance(self.max_features, Integral)
        return self.subsample != 1 or not everything or self.early_stopping

    def _shared(self, thresholds: tuple[FloatArray, ...]) -> dict[str, Any]:
        """Return the fields of the recipe that the parameters give in all algorithms."""
        return {
            "learning_rate": self.learning_rate,
            "subsample": self.subsample,
            "max_features": n_drawn(self.max_features, len(thresholds)),
        }

    def _boost(self, data: TrainingData, goes_on: bool, watch: Watch, here: bool = True) -> None:
        """Run the rounds and keep what they made.

        Where all rows are `here`, Ctrl-C gives up the round that goes on; others wait for its end.
        """
        from minrisk.boosting.loop import Progress, boost
        from minrisk.boosting.monitors import EarlyStopping, RiskHistory, RiskOfOthers, Stages
        from minrisk.rows.pairs import CorrectiveRows

        rows, recipe = data.rows, data.recipe
        goes_on, per_round = goes_on and self.n_iter_ > 0, recipe.learners_per_round  # from nothing as if without a fit
        run, start = watch.run("boosting"), Progress(log_scale=rows.facts(recipe.loss).log_scale)
        parts = [part for part in (rows, data.validation, *data.eval_rows.values()) if part is not None]
        scored = {id(part): part for part in parts}.values()  # each once
        if goes_on:
            check_the_same("number of learners in a round", self.model_.trees_per_round, per_round)
            losses = self.train_loss_.tolist()
            start = Progress.of(
                self.model_,
                data.binner.thresholds,
                self._log_scale,
                losses,
                recipe.codebook,
                getattr(self, "edges_", None),
            )
            for part in scored:
                part.start_at(start.trees, start.vectors, self.model_.intercept)
        known = self.train_risk_ if goes_on else np.empty(0)
        history = RiskHistory(rows.cost_facts.avoidable(known).tolist())
        stopping, stages, validated = None, None, np.empty(0)
        if data.validation is not None:
            if goes_on and self.validation_risk_ is not None:
                validated = self.validation_risk_[: self.n_iter_ + 1]  # what was tried after these rounds comes again
            stopping = EarlyStopping(
                data.validation,
                self.n_iter_no_change,
                int(np.argmin(data.costs.means)),
                _half_rows(data.costs),
                data.validation.cost_facts.avoidable(validated).tolist(),
            )
        eval_risks = {
            name: stopping
            if stopping is not None and of_set is data.validation
            else RiskOfOthers(of_set, [of_set.risk()] if goes_on else ())
            for name, of_set in data.eval_rows.items()
        }
        if issubclass(recipe.rows_kind, CorrectiveRows) and (self.keep_stages or stopping is not None):
            stages = Stages(start.vectors, self.model_.corrected if goes_on else None)
        others = [one for one in eval_risks.values() if one is not stopping]
        monitors: list[Any] = [one for one in (history, stopping, *others, stages) if one is not None]
        before, n_rounds = self.n_iter_ if goes_on else 0, self.n_estimators
        # Rounds that a checkpoint has kept take the place of those of the last fit.
        if (kept := run.begun(rows, monitors, per_round)) is not None:
            start = kept
            assert start.intercept is not None
            for part in scored:
                part.start_at(start.trees, start.vectors, start.intercept)
            if stopping is not None and stopping.is_spent:
                n_rounds = len(start.trees) // per_round
        made = BoostedRounds(data, start, history, stopping, stages, eval_risks, before, known, validated)
        watch.phase("boosting", self.n_estimators - before, most=self.n_estimators)
        watch.stands(made)
        stop = watch.stop
        stop.worth = True
        with stop.giving_up() if here else nullcontext():  # a round may be long
            watching = [*monitors, *watch.watching, *run.follow(start, monitors)]
            boost(rows, recipe, n_rounds, self._seed, watching, start, stop)
        if stop.interrupted and not made.cut():
            raise KeyboardInterrupt
        self._keep(made, at_end=True)
        if self._claim is not None and not stop.interrupted and (proven := self._proven(data)) is not None:
            self.certificate_ = Certificate(self._claim, *proven)

    def _proven(self, data: TrainingData) -> tuple[float, float] | None:
        """Return value and bound of the claim about the rounds that are kept; None where nothing is proven."""
        return None

    def _objective(self, data: TrainingData) -> tuple[float, float]:
        """Give what the objective of a method with a dual is at least, and what it is at the model."""
        from minrisk.boosting.loop import Progress, certificate

        rows, recipe = data.rows, data.recipe
        progress = Progress(intercept=np.zeros(rows.n_scores), log_scale=self._log_scale)
        if self.n_iter_ > 0:
            losses = self.train_loss_.tolist()
            progress = Progress.of(self.model_, data.binner.thresholds, self._log_scale, losses, recipe.codebook)
        return certificate(rows, recipe, progress)

    def _keep(self, made: BoostedRounds, at_end: bool = False) -> None:
        """Set the attributes of a fit that ends with these rounds.

        Without rounds the cheapest decision for all rows answers: where a fit made none, where no round costs less on
        the rows set apart, and where it costs nothing.

        Only `at_end` are rows touched and warnings given: rounds may go on after an estimator for callbacks was made.
        """
        from minrisk.model.additive import AdditiveModel, pack
        from minrisk.model.trees import PackedTrees, by_levels
        from minrisk.rows.costs import constant_is_better

        (rows, recipe), progress, stages = (made.data.rows, made.data.recipe), made.progress, made.stages
        per_round, n_features = recipe.learners_per_round, len(made.data.binner.thresholds)
        n = len(progress.trees) // per_round if made.stopping is None else made.stopping.best_round
        # Without rounds, or with rounds that cost more than one decision for all, the model is a constant.
        unborn = n == 0 and (made.stopping is not None or not recipe.fit_intercept)
        risk = made.history.risks[n]
        dear = made.stopping is not None and self.decision == "argmax" and not made.stopping.beats_constant
        nothing = unborn or dear or float(rows.cost_facts.means.min()) == 0.0
        if at_end and (nothing or n == 0):
            self._warn_of_a_constant(progress, recipe, rows.cost_facts)
        elif at_end and self.decision == "argmax" and constant_is_better(risk, rows.cost_facts):
            facts = rows.cost_facts
            warn_caller(
                COSTS_MORE.format(
                    name=type(self).__name__, rounds=n, risk=facts.stated(risk), least=facts.stated(facts.means.min())
                )
            )
        intercept = progress.intercept
        assert intercept is not None
        link = recipe.loss.link(rows.cost_facts)
        if nothing:
            n, intercept = 0, self._constant(link, made.data.costs)
            made = made._replace(known=np.empty(0), validated=np.empty(0))
            if at_end:
                progress = _rests(made, intercept)
        vectors = np.concatenate([np.empty((0, rows.n_outputs)), *progress.vectors[: n * per_round]])
        if recipe.codebook is not None:
            vectors = recipe.codebook.decoded(vectors)
        if stages is not None and n > 0:
            vectors = stages.vectors[n - 1]
        packed = pack(progress.trees[: n * per_round])
        # Model files do not state the order of nodes, so it is always the same.
        if isinstance(packed, PackedTrees):
            packed, vectors = by_levels(packed, vectors)
        self.model_ = AdditiveModel(packed, vectors, intercept, n_features, link, per_round, decoder=recipe.decoder)
        if stages is not None and self.keep_stages:
            self.model_ = replace(self.model_, corrected=np.concatenate([vectors[:0], *stages.vectors[:n]]))
        self.n_iter_ = n
        self.train_loss_ = np.array(progress.losses[: n + 1])
        self.train_risk_ = _as_stated(rows.cost_facts, made.known, made.history.risks)[: n + 1]
        self.validation_risk_ = None
        if made.stopping is not None:
            facts = made.stopping.rows.cost_facts
            self.validation_risk_ = _as_stated(facts, made.validated, made.stopping.risks)
        self._log_scale = progress.log_scales[n]
        if self._claim is not None:
            self.certificate_ = None  # until the rounds have ended
        if made.eval_risks:
            first = {name: 1 + made.before * (one is made.stopping) for name, one in made.eval_risks.items()}
            self.evals_result_ = {
                name: {"cost": one.rows.cost_facts.stated(np.array(one.risks[first[name] :])).tolist()}
                for name, one in made.eval_risks.items()
            }

    def _warn_of_a_constant(self, progress: Progress, recipe: Recipe, costs: CostFacts) -> None:
        """Say that all rows get one answer although rounds were asked for: why, and what to try.

        Where one decision is the cheapest for every row, nothing could be learnt and nothing is said.
        """
        n_made = len(progress.trees) // recipe.learners_per_round
        if float(costs.means.min()) == 0.0:
            return
        if progress.losses[0] < recipe.target_loss:
            why = "the loss was below its target before the first round. A lower target_loss asks for more"
        elif n_made == 0 and progress.diverged:
            why = "the loss is beyond what a number holds after the first round. Try a smaller learning_rate"
        elif n_made == 0:
            why = (
                "no learner of the first round lowers the loss. Perhaps the features do not tell the classes apart, or "
                "the learners are too weak for it, or a penalty is too large: try deeper trees, another weak learner "
                "or a smaller penalty"
            )
        else:
            why = (
                "no round lowers the mean cost of the rows set apart for early stopping. Perhaps they are too few: try "
                "a larger validation_fraction, or early_stopping=False"
            )
        warn_caller(f"{type(self).__name__} has learnt nothing, and answers all rows alike: {why}.")

    def _constant(self, link: Link | None, costs: CostFacts) -> FloatArray:
        """Return scores (D,) of the cheapest decision for all; with a link those of the frequencies of the classes."""
        from minrisk.model.links import constant_scores

        if link is None:
            return costs.constant_scores()
        rows = np.pad(costs.class_weight, (0, max(0, costs.n_decisions - len(costs.class_weight))))
        scores, best = constant_scores(link, rows / rows.sum()), int(np.argmin(costs.means))
        if scores[best] < scores.max():
            scores[best] = np.nextafter(scores.max(), np.inf)
        return scores

    def _facts(self) -> dict[str, Any]:
        """Return what a model file keeps of the fit beside the model, its curves and its labels: plain JSON."""
        known = None if self._claim is None else self.certificate_
        proven = {} if known is None else {"certificate": {"value": float(known.value), "bound": float(known.bound)}}
        return {"log_scale": float(self._log_scale), **proven}

    def _restore_facts(self, facts: dict[str, Any]) -> None:
        """Take back what `_facts` gave."""
        self._log_scale = float(facts["log_scale"])
        self.validation_risk_ = getattr(self, "validation_risk_", None)
        if self._claim is not None:
            self.certificate_ = Certificate(self._claim, **facts["certificate"]) if "certificate" in facts else None

    def _check_classes_only(self, why: str, other: str) -> None:
        """Refuse decisions that are no class, where the method has nothing that stands for them."""
        if self.decisions_.tolist() != self.classes_.tolist():
            raise ValueError(
                f"{type(self).__name__} {why} and takes no other decision, got the decisions "
                f"{self.decisions_.tolist()} for the classes {self.classes_.tolist()}: leave the others out, or train "
                f"another estimator, such as {other}."
            )

    def _check_decisions(self) -> None:
        """Refuse decisions that are no class: no row has them for its true class, so theirs would always be least."""
        if len(self.decisions_) > len(self.classes_):
            raise ValueError(
                f"{type(self).__name__} wants the true class's score above every other decision's, and would never "
                f"take a decision that is no class, as {self.decisions_.tolist()[-1]!r}: train without it, or with "
                "MinRiskClassifier, which decides by least expected cost."
            )


@algorithm
class CorrectiveClassifier(RecipeClassifier, BinParameters):
    """A method that finds the vectors of all rounds anew in every round, so that no rows are drawn.

    Parameters
    ----------
    keep_stages : bool, default=False
        Whether to keep the W of every round, T (T + 1) / 2 vectors in memory and in model files.
        `staged_predict`, the other staged methods and ``model_[:t]`` then are the model after t rounds; without it they
        are the first t learners of the last model.
    random_state : int or RandomState, optional
        Seed of what is drawn: features (`max_features`) and the rows that `early_stopping` sets apart.
    """

    keep_stages: bool = parameter(default=False, rule=Flag(), lasting=True)

    _arrays = RecipeClassifier._arrays | {"stages"}
    _parts_rows = True


@algorithm
class BaselineClassifier(RecipeClassifier, BinParameters, StepParameters):
    """A published method to compare with, made of trees with a vector in every leaf.

    Parameters
    ----------
    max_depth : int, default=1
        Depth of the trees, which have up to 2^max_depth leaves and grow best leaf first.
        1 makes stumps.
    """

    max_depth: int = parameter(default=1, rule=Depth())

    def _trees(self, thresholds: tuple[FloatArray, ...], gain: int | None = None, constants: bool = False) -> Any:
        """Return trees that grow by a gain of all outputs, by default that of the loss. Only steps are smoothed."""
        from minrisk.learners.vector_tree import VectorTrees

        return VectorTrees(
            2**self.max_depth, thresholds, self.max_depth, sketch=None, gain=gain, phantoms=False, constants=constants
        )
