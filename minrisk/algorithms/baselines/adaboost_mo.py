"""AdaBoost.MO: AdaBoost.MH on the bits of an output code, the nearest word decides.

R. E. Schapire and Y. Singer, "Improved boosting algorithms using confidence-rated predictions", Machine Learning 1999,
Sec. 7; codes: E. L. Allwein, R. E. Schapire and Y. Singer, "Reducing multiclass to binary", Journal of Machine Learning
Research 2000.

==============================  ============================  =========================================
paper                           here                          where
==============================  ============================  =========================================
lambda: Y -> 2^Y', |Y'| = L     ``Decoder.words``             `minrisk.model.codes`
D(i, y')                        ``mass`` over its sum         rows
lambda(y)[y']                   sign of ``edge``              `minrisk.losses.codes`
f(x, y')                        scores that are boosted       rows
AdaBoost.MH on (x, lambda(y))   this class's base             `minrisk.algorithms.baselines.adaboost_mh`
variant 1: Hamming              ``decoding="hamming"``        `minrisk.model.codes`
variant 2: argmin of the loss   ``decoding="loss"``           `minrisk.model.codes`
==============================  ============================  =========================================

Left open by the paper: the code; and whether the bits share a learner, which as AdaBoost.MH's answers for every bit, or
each has its own (``response="own"``), as where a round has 2^(K - 1) - 1 of them (Paisitkriangkrai et al. 2013). The
bits are then `ChainRows`, and what PIBoost's step is for two classes is AdaBoost's for every bit.
Of words that are equally near the first decides. Costs are an extension: see `minrisk.losses.codes.code_loss`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from minrisk._typing import FloatArray
from minrisk.algorithms.baselines.adaboost_mh import AdaBoostMHClassifier
from minrisk.validation import Choice, Rule

if TYPE_CHECKING:
    from minrisk.learners.separators import Separators

DECODINGS = ("loss", "hamming")  # how far bits are from a word
CODES = ("exhaustive", "one-vs-all", "random")
ENUMERATED_CLASSES = 7  # up to which a code of all 2^(K - 1) - 1 bits, at most 63, is taken unasked
MOST_ENUMERATED = 12  # classes of an exhaustive code that is asked for: 2047 bits


class OutputCode(NamedTuple):
    """The name of a code, its table, or nothing."""

    def accepts(self, value: Any) -> bool:
        """Whether it is a name, or rows of as many numbers each, all of them -1 or +1."""
        if value is None or isinstance(value, str):
            return value is None or value in CODES
        if not isinstance(value, list | tuple | np.ndarray):
            return False
        try:
            table = np.asarray(value, dtype=np.float64)
        except (TypeError, ValueError):  # of other lengths, or no numbers
            return False
        return table.ndim == 2 and table.size > 0 and bool(np.all(np.abs(table) == 1.0))

    def plain(self, value: Any) -> Any:
        """Lists of whole numbers."""
        if value is None or isinstance(value, str):
            return None if value is None else str(value)
        return np.asarray(value, dtype=np.int64).tolist()

    def __str__(self) -> str:
        names = ", ".join(map(repr, CODES))
        return f"one of {names}, a table of -1 and +1 with a row for each class, or None"


class AdaBoostMOClassifier(AdaBoostMHClassifier):
    """AdaBoost on the bits of an output code: a word of bits for each class, boosted together, the nearest decides.

    f(x) = sum_t h_t(x) with a tree h_t, shared by all bits, whose leaves hold a vector of L numbers. Each round lowers

        1 / (2 W) sum_n w_n sum_l b_nl exp(-word_l(y_n) f_nl),        word(y) in {-1, +1}^L the word of class y,

    with b = 1 in the paper. The decision is the class whose word the bits are nearest to, by default the one of least
    sum_l exp(-word_l(k) f_l). In plain words: many questions that part the classes in two are answered by one
    committee, and a class is decided for that contradicts the surest answers least.

    Parameters
    ----------
    cost : optional
        As in `PIBoostClassifier`. Default: every mistake costs 1, the paper's case. With costs a row weighs in a bit
        what it costs in the mean to take it for a class on the other side, an extension. Decisions that are no class
        have no word and are refused.
    code : {"exhaustive", "one-vs-all", "random"} or table of shape (K, L), optional
        The words, of -1 and +1. "exhaustive": all 2^(K - 1) - 1 ways of parting the classes in two, for up to 12
        classes. "one-vs-all": a bit for each class; with 0/1 costs this is AdaBoost.MH. "random": ceil(10 log2 K)
        random bits, of 10 000 draws those whose nearest words are farthest apart (Allwein et al. 2000). A table has a
        row for each class, in the order of ``classes_``, different rows, and both signs in every column. Default:
        "exhaustive" for up to seven classes, "random" for more.
    decoding : {"loss", "hamming"}, default="loss"
        "loss": the class of the least loss of the bits, which Schapire and Singer found better. "hamming": of the
        fewest bits whose sign is another; ties go to the first class.
    response : {"real", "sign", "own"}, default="real"
        The numbers of a leaf are free (real AdaBoost.MH), or -1 or +1 times one rate for the tree (discrete). "own":
        each bit has a learner of its own in every round, the stump of least weighted error or a tree by Gini's index,
        which answers -1 or +1, and a rate of its own: L AdaBoosts side by side.
    smoothing : float, optional
        Weight of two phantom rows in every leaf and bit, as a share of what can still be lost in that bit. Default: one
        divided by the number of rows. Of no meaning for learners of their own, whose rates end at 18.
    n_estimators : int, default=200
        Largest number of rounds.
    max_depth : int, default=1
        Depth of the trees, which have up to 2^max_depth leaves and grow best leaf first; 1 for stumps.
    random_state : int or RandomState, optional
        For a random code, and for `subsample`, `max_features` and the validation part.
    learning_rate, binning, max_bins, subsample, max_features, early_stopping, validation_fraction, n_iter_no_change, \
warm_start, class_weight, categorical_features, n_jobs, verbose
        As in `REBELClassifier`.

    Attributes
    ----------
    code_ : ndarray of shape (K, L), int8
        The word of each class.
    classes_, decisions_, cost_, model_, n_iter_, train_loss_, train_risk_, validation_risk_, feature_importances_, \
n_features_in_
        As in `REBELClassifier`. `model_` has vectors of bits, of which its `decoder` makes scores of classes. With
        ``response="own"`` the loss is the mean over rows and bits.

    Raises
    ------
    ValueError
        If the code does not fit the classes; the message says how.

    Notes
    -----
    `decision_function` is -log of the loss of each class's word, or minus the number of bits that differ. There are no
    probabilities. Time and memory of a round grow with L.

    See Also
    --------
    AdaBoostMHClassifier : The same with a bit for each class.
    AdaBoostECCClassifier : The bits one after another.

    References
    ----------
    .. [1] R. E. Schapire and Y. Singer, "Improved boosting algorithms using confidence-rated predictions", Machine
       Learning 37 (1999), Sec. 7.
    .. [2] E. L. Allwein, R. E. Schapire and Y. Singer, "Reducing multiclass to binary: a unifying approach for margin
       classifiers", Journal of Machine Learning Research 1 (2000).

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from minrisk import AdaBoostMOClassifier
    >>> X, y = load_wine(return_X_y=True)
    >>> model = AdaBoostMOClassifier(n_estimators=20).fit(X[::2], y[::2])
    >>> model.code_.tolist()
    [[1, 1, 1], [-1, 1, -1], [1, -1, -1]]
    >>> round(model.score(X[1::2], y[1::2]), 2)
    0.96
    """

    _rules: ClassVar[Mapping[str, Rule]] = {
        **AdaBoostMHClassifier._rules,
        "response": Choice(("real", "sign", "own")),
        "code": OutputCode(),
        "decoding": Choice(DECODINGS),
    }

    def __init__(
        self,
        cost: Any = None,
        *,
        code: Any = None,
        decoding: str = "loss",
        response: str = "real",
        n_estimators: int = 200,
        learning_rate: float = 1.0,
        max_depth: int = 1,
        smoothing: float | None = None,
        binning: str = "quantile",
        max_bins: int | None = None,
        subsample: float = 1.0,
        max_features: float = 1.0,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 20,
        warm_start: bool = False,
        class_weight: Any = None,
        categorical_features: Any = "from_dtype",
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        super().__init__(
            cost, response=response, n_estimators=n_estimators, learning_rate=learning_rate, max_depth=max_depth,
            smoothing=smoothing, binning=binning, max_bins=max_bins, subsample=subsample, max_features=max_features,
            early_stopping=early_stopping, validation_fraction=validation_fraction, n_iter_no_change=n_iter_no_change,
            warm_start=warm_start, class_weight=class_weight, categorical_features=categorical_features, n_jobs=n_jobs,
            random_state=random_state, verbose=verbose,
        )  # fmt: skip
        self.code = code
        self.decoding = decoding

    @property
    def code_(self) -> np.ndarray:
        """The word of each class, (K, L)."""
        decoder = self.model_.decoder
        assert decoder is not None
        return decoder.words

    # -- training ------------------------------------------------------------------------------------------------
    def _recipe(self, costs: Any, thresholds: tuple[FloatArray, ...]) -> Any:
        from minrisk.losses.codes import chain_loss, code_loss
        from minrisk.model.codebook import Codebook
        from minrisk.model.codes import Decoder
        from minrisk.steps.separators import SeparatorStep

        if self.decisions_.tolist() != self.classes_.tolist():
            raise ValueError(
                f"AdaBoostMOClassifier has a word for each class and takes no other decision, got the decisions "
                f"{self.decisions_.tolist()} for the classes {self.classes_.tolist()}: leave the others out, or train "
                "another estimator, such as AdaBoostMHClassifier."
            )
        words = self._words()
        recipe = super()._recipe(costs, thresholds)._replace(decoder=Decoder(words, self.decoding))
        if self.response != "own":
            return recipe._replace(loss=code_loss(words))
        bits = np.eye(words.shape[1])
        return recipe._replace(
            loss=chain_loss(words),
            family=self._own_learners(thresholds),
            solver=SeparatorStep(np.ones(len(bits), dtype=np.int64), 2),
            directions=(bits,),
            codebook=Codebook(bits),
        )

    def _own_learners(self, thresholds: tuple[FloatArray, ...]) -> Separators:
        """A stump or a tree for each bit."""
        from minrisk.learners.separators import GiniTrees, Separators

        if self.max_depth == 1:
            return Separators(thresholds)
        return Separators(thresholds, GiniTrees(self.max_depth, thresholds, lambda n_rows: n_rows))

    def _words(self) -> np.ndarray:
        """The words; those of the model where rounds go on, whatever a draw would be today."""
        from minrisk.model.codes import dense, exhaustive, one_vs_all

        K, code = len(self.classes_), self._code()
        if self.warm_start and hasattr(self, "model_"):
            return checked_words(self.code_, K)  # of a file, perhaps
        if not isinstance(code, str):
            return checked_words(code, K)
        if code == "exhaustive" and K > MOST_ENUMERATED:
            raise ValueError(
                f"code='exhaustive' has 2^(K - 1) - 1 bits and is for up to {MOST_ENUMERATED} classes, got {K}: use "
                "code='random'."
            )
        made = dense(K, self._seed) if code == "random" else exhaustive(K) if code == "exhaustive" else one_vs_all(K)
        return made.astype(np.int8)

    def _code(self) -> Any:
        """The name of the code, or its table."""
        if self.code is not None:
            return self.code
        return "exhaustive" if len(self.classes_) <= ENUMERATED_CLASSES else "random"

    def _constant(self, link: Any, costs: Any) -> FloatArray:
        """The bits of the cheapest decision's word."""
        cheapest = int(super()._constant(link, costs).argmax())
        return np.asarray(self._words()[cheapest], dtype=np.float64)

    def _draws(self) -> bool:
        """A random code is drawn, too."""
        return super()._draws() or (isinstance(self._code(), str) and self._code() == "random")

    def _gives_probabilities(self) -> bool:
        return False

    def _facts(self) -> dict[str, Any]:
        decoder = self.model_.decoder
        assert decoder is not None
        return {**super()._facts(), "decoding": decoder.decoding}


def checked_words(code: Any, n_classes: int) -> np.ndarray:
    """The table of a code for so many classes.

    Raises
    ------
    ValueError
        If it has another number of rows, two equal ones, or a bit that is the same for all classes.
    """
    words = np.array(code, dtype=np.int8)
    if len(words) != n_classes:
        raise ValueError(
            f"AdaBoostMOClassifier: code must have a row for each of the {n_classes} classes, got {len(words)} rows."
        )
    first = [int(np.flatnonzero((words == word).all(axis=1))[0]) for word in words]
    if same := [k for k in range(n_classes) if first[k] < k]:
        raise ValueError(
            f"AdaBoostMOClassifier: the rows of code must differ, or bits do not tell their classes apart, got the "
            f"same in rows {first[same[0]]} and {same[0]}."
        )
    if len(alike := np.flatnonzero(np.abs(words.sum(axis=0)) == n_classes)):
        raise ValueError(
            f"AdaBoostMOClassifier: every column of code must have -1 and +1, or it asks nothing, got one sign only in "
            f"column {alike[0]}."
        )
    return words
