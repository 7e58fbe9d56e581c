"""The additive model that every algorithm builds: H(x) = a_0 + sum_t f_t(x) a_t, a_t being a vector of x's leaf."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from minrisk._typing import FloatArray, IntArray
from minrisk._utils import cached_property
from minrisk._utils.memory import points, read_only
from minrisk._utils.workers import Workers
from minrisk.data.sparse import SparseRows
from minrisk.model.cascade import FEWEST_TREES, MOST_RISES, Cascade, DecisionRule, Stages, stage_rounds
from minrisk.model.coded_trees import CodedTrees, StepTables
from minrisk.model.codes import Decoder
from minrisk.model.links import Link, probabilities
from minrisk.model.projection import Projection, SmoothScores
from minrisk.model.rounded_vectors import RoundedVectors
from minrisk.model.similarities import PackedRegressors, Similarity, pack_similarities
from minrisk.model.trees import PackedTrees, Tree, pack_trees

if TYPE_CHECKING:
    from minrisk.costs import CostMatrix


def pack(learners: Sequence[Any]) -> PackedTrees:
    """Return flat arrays of trees, or of similarities; of scikit-learn's regressors, which are neither, a list."""
    if learners and isinstance(learners[0], Similarity):
        return pack_similarities(learners)  # type: ignore[return-value]  # it does all that a model asks for
    if not all(isinstance(learner, Tree) for learner in learners):
        return PackedRegressors(tuple(learners))  # type: ignore[return-value]  # likewise
    return pack_trees(learners)


CONVERT_ROWS = 4096  # rows of other dtypes are converted to float64 in blocks of this many
SPARSE_ROWS_TOGETHER = 1024  # sparse rows that learners without bins look at together
FINER = 2.0**-20  # of the vectors' unit: what scores without trees are whole multiples of, so that sums are exact
INLINE_ROWS = 256  # rows from which threads share a prediction: fewer are done sooner than threads are told
MADE = ("_whole", "_stages", "_values", "_compact", "_origin", "_unit")  # of a model when they are asked for


@dataclass(frozen=True)
class AdditiveModel:
    """Scores, and nothing else: which decision they mean is the estimator's business.

    Parameters
    ----------
    packed : PackedTrees
        The T learners f_t, one round after another; a leaf says its f and which vector it adds.
    vectors : ndarray or RoundedVectors of shape (n_vectors, D)
        The vectors of all learners one after another; learner t has those from ``packed.vector_offsets[t]`` on.
    intercept : ndarray of shape (D,)
        a_0 before the first round.
    n_features : int
        Columns of X.
    link : str, optional
        Name of the map from scores to probabilities.
    trees_per_round : int
        Learners that a round adds; T is a multiple of it.
    temperature : float
        What scores are divided by before the link.
    projection : Projection, optional
        Linear features: trees that name feature n_features + c split its column c.
    smooth : SmoothScores, optional
        Added to the intercept.
    corrected : ndarray of shape (T (T + 1) / 2, D), optional
        Where rounds change the vectors of earlier ones, one learner to a round: the 1, 2, ... T vectors after each.
        Then ``model[:t]`` and stages have those of round t; without it they have the last ones.
    decoder : Decoder, optional
        H(x) are bits, of which this makes the scores of K classes; intercept and vectors are of the D bits.
    cascade : Cascade, optional
        What left-out rows say of decisions after some of the rounds.
    """

    packed: PackedTrees
    vectors: FloatArray | RoundedVectors
    intercept: FloatArray
    n_features: int
    link: Link | None = None
    trees_per_round: int = 1
    temperature: float = 1.0
    projection: Projection | None = None
    smooth: SmoothScores | None = None
    corrected: FloatArray | None = None
    decoder: Decoder | None = None
    cascade: Cascade | None = None

    def __len__(self) -> int:
        return self.n_trees // self.trees_per_round

    @property
    def n_trees(self) -> int:
        """Return learners of all rounds."""
        return len(self.packed)

    def __getitem__(self, part: slice) -> AdditiveModel:
        """Return a model of consecutive rounds; ``model[:t]`` is the model after t rounds."""
        first, last, step = part.indices(len(self))
        first, last = first * self.trees_per_round, max(first, last) * self.trees_per_round
        packed, bounds = self.packed[first:last:step], self.packed.vector_offsets
        if self.corrected is not None:
            stages, vectors = None, self.vectors[first:last]
            if first == 0:  # these rounds' own vectors, and those of the rounds before
                end = last * (last + 1) // 2
                stages, vectors = self.corrected[:end], self.corrected[end - last : end]
            return replace(self, packed=packed, vectors=vectors, corrected=stages)
        return replace(self, packed=packed, vectors=self.vectors[bounds[first] : bounds[last]], cascade=None)

    @property
    def learners(self) -> tuple[Tree, ...]:
        """Return the learners one by one, for reading."""
        return tuple(self.packed.tree(t) for t in range(self.n_trees))

    def scores(self, X: np.ndarray | SparseRows, workers: Workers | None = None) -> FloatArray:
        """Return scores H(x), (n, D); with a decoder what it makes of them, (n, K).

        Parameters
        ----------
        X : ndarray or SparseRows of shape (n, n_features)
            Any real dtype; NaN goes with the low values.
        workers : Workers, optional
            Threads over rows.
        """
        if isinstance(X, SparseRows) and self.projection is not None and len(X) > CONVERT_ROWS:
            parts = [self.scores(X[a : a + CONVERT_ROWS], workers) for a in range(0, len(X), CONVERT_ROWS)]
            return np.concatenate(parts)
        scores = self._start(X, workers)
        self._add(X, self.projection, scores, 0, self.n_trees, workers)
        return scores if self.decoder is None else self.decoder.decoded(scores, workers)

    def staged_scores(self, X: np.ndarray | SparseRows, workers: Workers | None = None) -> Iterator[FloatArray]:
        """Yield `scores` after each round; a fresh array every time."""
        if self.corrected is not None:
            yield from (self[: t + 1].scores(X, workers) for t in range(len(self)))
            return
        scores = self._start(X, workers)
        wide = X if self.projection is None else self.projection.beside(X)  # once, not in every round
        for first in range(0, self.n_trees, self.trees_per_round):
            self._add(wide, None, scores, first, first + self.trees_per_round, workers)
            yield scores.copy() if self.decoder is None else self.decoder.decoded(scores, workers)

    def rule(self, costs: CostMatrix | None) -> DecisionRule:
        """Return how scores decide under costs."""
        return DecisionRule.of(self.link, self.temperature, costs)

    def decide(
        self, X: np.ndarray | SparseRows, rule: DecisionRule, max_excess: float = 0.0, workers: Workers | None = None
    ) -> IntArray:
        """Return numbers of the decisions, (n,), each after as few stages of trees as it takes.

        Parameters
        ----------
        X : ndarray or SparseRows of shape (n, n_features)
        rule : DecisionRule
        max_excess : float
            Share of the expected cost that decisions may cost more than the whole model's; 0: they are the same.
        workers : Workers, optional
            Threads over rows.
        """
        stages = None if isinstance(X, SparseRows) or not rule.stops_early else self._stages
        if stages is None:
            return rule(self.scores(X, workers))
        leads = stages.leads(self.cascade, max_excess)

        def decide(rows: Any) -> IntArray:  # no sparse ones
            wide = points(rows) if self.projection is None else read_only(self.projection.extend(rows))
            return stages.decide(wide, self._start(rows, None), rule, leads)

        n = len(X)
        if 0 < n < INLINE_ROWS:
            return decide(X)
        workers = workers or Workers()
        height = max(INLINE_ROWS, min(stages.trees.height, -(-n // workers.n)))
        parts = workers.map(lambda low: decide(X[low : low + height]), range(0, n, height))
        return parts[0] if len(parts) == 1 else np.concatenate([np.empty(0, dtype=np.int64), *parts])

    def probabilities(self, scores: FloatArray) -> FloatArray:
        """Return class probabilities by the loss's link, (n, K).

        Raises
        ------
        ValueError
            If the loss has no link.
        """
        if self.link is None:
            raise ValueError("This model's loss has no link from scores to probabilities.")
        return probabilities(self.link, scores, self.temperature)

    def _start(self, X: np.ndarray | SparseRows, workers: Workers | None) -> FloatArray:
        """Return scores before the first round, (n, D)."""
        scores = np.empty((len(X), len(self.intercept)))
        scores[:] = self._origin
        if self.smooth is not None:
            self.smooth.add_scores(X, scores, workers)
            scores = self._on_grid(scores)
        return scores

    @cached_property
    def _origin(self) -> FloatArray:
        """Return the intercept, on the grid."""
        return self._on_grid(self.intercept)

    @cached_property
    def _unit(self) -> float | None:
        """Return the unit of the vectors' entries, where these have one."""
        return self.vectors.unit if isinstance(self.vectors, RoundedVectors) else None

    def _on_grid(self, scores: FloatArray) -> FloatArray:
        """Return the nearest scores to which vectors of one unit are added without rounding, in any order."""
        if self._unit is None:
            return scores
        grid = FINER * self._unit
        return np.asarray(np.rint(scores / grid) * grid)

    @cached_property
    def _whole(self) -> StepTables | CodedTrees | None:
        """Return all learners in a form that gives the same bits faster than one after another, if there is one."""
        rounded = isinstance(self.vectors, RoundedVectors)
        alone = self.projection is None and self.smooth is None and not rounded
        steps = StepTables.of(self.packed, self._values, self.intercept) if alone else None
        return steps or CodedTrees.of(self.packed, self.vectors)

    @cached_property
    def _stages(self) -> Stages | None:
        """Return stages after which decisions may stand; None if sums are not exact, trees few, or pairs too many."""
        whole = self._whole
        if not isinstance(whole, CodedTrees) or whole.unit is None or len(whole) < FEWEST_TREES or self.decoder:
            return None
        rounds = stage_rounds(len(self)) if self.cascade is None else self.cascade.rounds
        if len(rounds) * len(self.intercept) ** 2 > MOST_RISES:
            return None
        return Stages(whole, rounds, self.trees_per_round, len(self.intercept))

    @cached_property
    def _compact(self) -> tuple[AdditiveModel, IntArray | None]:
        """Return all learners, for the features that they look at, and the numbers of these; see `_some`."""
        return self._some(0, self.n_trees)

    def _some(self, first: int, last: int) -> tuple[AdditiveModel, IntArray | None]:
        """Return some learners, for the features that they split, and their numbers; None if they look at all."""
        bounds, packed, used = self.packed.vector_offsets, self.packed[first:last], None
        if isinstance(packed, PackedTrees):
            packed, used = packed.compact()
        model = replace(
            self,
            packed=packed,
            vectors=self.vectors[bounds[first] : bounds[last]],
            trees_per_round=1,
            n_features=self.n_features if used is None else len(used),
            projection=None,
            smooth=None,
            corrected=None,
        )
        return model, used

    def _add_to_sparse(self, X: SparseRows, scores: FloatArray, first: int, last: int, workers: Workers | None) -> None:
        """Do what `_add` does in dense blocks of few rows, of the features that are looked at."""
        model, used = self._compact if last - first == self.n_trees else self._some(first, last)
        if not isinstance(model.packed, PackedTrees):  # which look at stored values themselves
            self._add_rows(model, X, scores, workers)
            return
        X = X if used is None else X.only(used)

        def add(low: int) -> None:
            high = min(low + X.height, len(X))
            model._add(points(X[low:high]), None, scores[low:high], 0, model.n_trees, None)

        (workers or Workers()).map(add, range(0, len(X), X.height))

    @staticmethod
    def _add_rows(model: AdditiveModel, X: SparseRows, scores: FloatArray, workers: Workers | None) -> None:
        """Add the answers of all learners of a model to sparse rows, some rows at a time."""
        values = model._values

        def add(low: int) -> None:
            rows = X[low : low + SPARSE_ROWS_TOGETHER]
            model.packed.add_scores(rows, values, 0, model.n_trees, 0, len(rows), scores[low : low + len(rows)])

        (workers or Workers()).map(add, range(0, len(X), SPARSE_ROWS_TOGETHER))

    @cached_property
    def _values(self) -> FloatArray:
        """Return the vectors as float64."""
        return np.asarray(self.vectors)

    def __getstate__(self) -> dict[str, Any]:
        return {name: part for name, part in self.__dict__.items() if name not in MADE}

    def _add(
        self,
        X: np.ndarray | SparseRows,
        linear: Projection | None,
        scores: FloatArray,
        first: int,
        last: int,
        workers: Workers | None,
    ) -> None:
        """Add the answers of trees first..last to X with the linear features, if there are any, beside it."""
        if isinstance(X, SparseRows):
            self._add_to_sparse(X if linear is None else linear.beside(X), scores, first, last, workers)
            return
        n, whole = len(X), self._whole if last - first == self.n_trees else None  # made once, before threads ask for it
        values: Any = self._values if whole is None else None
        plain = linear is None and X.dtype == np.float64 and X.flags.c_contiguous

        def converted(rows: np.ndarray) -> np.ndarray:
            return read_only(linear.extend(rows)) if linear else points(rows)

        def add_scores(X: FloatArray, start: int, stop: int, scores: FloatArray) -> None:
            if whole is not None:
                whole.add_scores(X, start, stop, scores)
            else:
                self.packed.add_scores(X, values, first, last, start, stop, scores)

        if n < INLINE_ROWS:
            add_scores(converted(X), 0, n, scores)
            return
        X = points(X) if plain else X
        parts = 1 if workers is None else min(4 * workers.n, -(-n // 64))
        if isinstance(whole, CodedTrees) and workers is not None:  # few parts, since each looks at all trees
            parts = workers.n * -(-n // (workers.n * whole.height))
        bounds = [n * p // parts for p in range(parts + 1)]

        def add(part: int) -> None:
            start, stop = bounds[part], bounds[part + 1]
            if plain:
                add_scores(X, start, stop, scores)
                return
            for low in range(start, stop, CONVERT_ROWS):
                high = min(low + CONVERT_ROWS, stop)
                add_scores(converted(X[low:high]), 0, high - low, scores[low:high])

        (workers or Workers()).map(add, range(parts))
