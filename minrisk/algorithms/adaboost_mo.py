"""AdaBoost.MO: AdaBoost.MH on the bits of an output code, the nearest word decides.

R. E. Schapire and Y. Singer, "Improved boosting algorithms using confidence-rated predictions", Machine Learning 1999,
Sec. 7; codes: E. L. Allwein, R. E. Schapire and Y. Singer, "Reducing multiclass to binary", Journal of Machine Learning
Research 2000.

==============================  ============================  =========================================
paper                           here                          where
==============================  ============================  =========================================
lambda: Y -> 2^Y', |Y'| = L     ``Decoder.words``             `minrisk.model.codes`
D(i, y')                        ``hessian`` over its sum      rows
lambda(y)[y']                   sign of ``gradient``          `minrisk.losses.codes`
f(x, y')                        scores that are boosted       rows
AdaBoost.MH on (x, lambda(y))   this class's base             `minrisk.algorithms.adaboost_mh`
variant 1: Hamming              ``decoding="hamming"``        `minrisk.model.codes`
variant 2: argmin of the loss   ``decoding="loss"``           `minrisk.model.codes`
==============================  ============================  =========================================

Left open by the paper: the code; and whether the bits share a learner, which as AdaBoost.MH's answers for every bit, or
each has its own (``response="own"``), as where a round has 2^(K - 1) - 1 of them (Paisitkriangkrai et al. 2013). The
bits are then `ChainRows`, and what PIBoost's step is for two classes is AdaBoost's for every bit.
Of words that are equally near the first decides. Costs are an extension: see `minrisk.losses.codes.code_loss`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from minrisk._typing import FloatArray
from minrisk.algorithms.adaboost_mh import AdaBoostMHClassifier
from minrisk.algorithms.parameters import algorithm, parameter
from minrisk.estimator.parameters import Choice, Rule

if TYPE_CHECKING:
    from minrisk.learners.directed import Separators

DECODINGS = ("loss", "hamming")  # how far bits are from a word
CODES = ("exhaustive", "one-vs-all", "random")
ENUMERATED_CLASSES = 7  # up to which a code of all 2^(K - 1) - 1 bits, at most 63, is taken unasked
MOST_ENUMERATED = 12  # classes of an exhaustive code that is asked for: 2047 bits


class OutputCode(Rule):
    """The name of a code, its table, or nothing."""

    options = CODES

    def accepts(self, value: Any) -> bool:
        """Return whether it is a name, or rows of as many numbers each, all of them -1 or +1."""
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
        """Return lists of whole numbers."""
        if value is None or isinstance(value, str):
            return None if value is None else str(value)
        return np.asarray(value, dtype=np.int64).tolist()

    def __str__(self) -> str:
        names = ", ".join(map(repr, CODES))
        return f"one of {names}, a table of -1 and +1 with a row for each class, or None"


@algorithm
class AdaBoostMOClassifier(AdaBoostMHClassifier):
    r"""AdaBoost on the bits of an output code: the class whose word is nearest to the bits is decided.

    Every class has a word of L bits, each -1 or +1.
    The bits' scores are :math:`f(x) = \sum_t h_t(x)` with trees that all bits share and whose leaves hold L numbers.
    Each round lowers

    .. math:: \frac{1}{2W} \sum_n w_n \sum_l b_{nl} \exp(-\mathrm{word}_l(y_n) f_{nl}),

    with b = 1 in the paper. By default the decision is the class k of the smallest :math:`\sum_l
    \exp(-\mathrm{word}_l(k) f_l)`.
    In plain words: many questions that divide the classes into two groups are answered together, and the decision is
    the class that contradicts the surest answers least.

    Parameters
    ----------
    cost : array-like of shape (K, K), DataFrame, dict of dicts, CSV file or CostMatrix, optional
        What each decision costs for each true class: rows are true classes, columns are decisions.
        A table without labels has its rows and columns in the order of `classes_`, which is sorted.
        By default every mistake costs 1, which is the paper's method; costs are an extension.
    code : {"exhaustive", "one-vs-all", "random"} or array-like of shape (K, L), optional
        The words of the classes.
        The list below says which.
        A table has a row for each class in the order of `classes_`, and holds -1 and +1.
        By default "exhaustive" for up to seven classes, and "random" for more.
    decoding : {"loss", "hamming"}, default="loss"
        What nearest means: "loss" is the least loss of the bits, "hamming" is the fewest bits of another sign.
    response : {"real", "sign", "own"}, default="real"
        "real" leaves the numbers of a leaf free. "sign" makes them -1 or +1, times one rate for the tree.
        "own" gives each bit a learner and a rate of its own in every round: L AdaBoosts side by side.
    smoothing : float, default=1e-3
        Weight of two phantom rows in every leaf for each bit, as a share of what can still be lost in that bit.
        It has no effect if `response` is "own".
    random_state : int or RandomState, optional
        Seed of a random code, and of what else is drawn: rows (`subsample`), features (`max_features`) and the rows
        that `early_stopping` sets apart.

    Attributes
    ----------
    decisions_ : ndarray of shape (K,)
        What `predict` may return: the classes.
    code_ : ndarray of shape (K, L)
        The word of each class, of dtype int8.
    model_ : AdditiveModel
        The scores of the bits; its `decoder` makes scores of classes from them.
    train_loss_ : ndarray of shape (T + 1,)
        Training loss before round 1 and after every round; if `response` is "own", its mean over rows and bits.

    See Also
    --------
    AdaBoostMHClassifier : The same with a bit for each class.
    AdaBoostECCClassifier : The bits one after another.

    Notes
    -----
    As in the paper: ``smoothing=0``, with 0/1 costs.

    The codes:

    - "exhaustive": all 2^(K - 1) - 1 ways to divide the classes into two groups, for up to 12 classes.
    - "one-vs-all": a bit for each class. With 0/1 costs this is AdaBoost.MH.
    - "random": ceil(10 log2 K) random bits. Of 10 000 draws the one is taken whose nearest words are farthest apart.

    The rows of a table must differ, and every column needs both signs; else `fit` raises a ValueError that says what
    does not fit.

    With costs, a row weighs in a bit what it costs on average to take it for a class on the other side.
    Decisions that are no class have no word and are refused.

    `decision_function` is minus the logarithm of the loss of each class's word, or minus the number of bits that
    differ. If several words are equally near, the first class is decided. There are no probabilities.
    Time and memory of a round grow with L.

    With ``response="own"`` a learner is the stump of least weighted error, or a tree by Gini's index, that answers -1
    or +1. No rate is above 18.

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
    0.97
    """

    response: str = parameter(default="real", rule=Choice(("real", "sign", "own")), lasting=True)
    code: Any = parameter(default=None, rule=OutputCode(), lasting=True)
    decoding: str = parameter(default="loss", rule=Choice(DECODINGS), lasting=True)

    _arrays = AdaBoostMHClassifier._arrays | {"output code"}
    _links: ClassVar[tuple[str, ...]] = ()
    _parameters_kept = ("decoding",)
    _ways = (
        {"max_depth": 2},
        {"code": "random", "response": "sign"},
        {"decoding": "hamming"},
        {"response": "own"},
        {"response": "own", "code": "one-vs-all", "max_depth": 2},
    )

    @property
    def code_(self) -> np.ndarray:
        """ndarray of shape (K, L) : The word of each class."""
        decoder = self.model_.decoder
        assert decoder is not None
        return decoder.words

    # -- training ------------------------------------------------------------------------------------------------
    def _recipe(self, costs: Any, thresholds: tuple[FloatArray, ...]) -> Any:
        from minrisk.losses.codes import chain_loss, code_loss
        from minrisk.model.codes import Codebook, Decoder
        from minrisk.steps.line_search import SeparatorStep

        self._check_classes_only("has a word for each class", "AdaBoostMHClassifier")
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
        """Return a stump or a tree for each bit."""
        from minrisk.learners.directed import RegressionTrees, Separators

        if self.max_depth == 1:
            return Separators(thresholds)
        return Separators(thresholds, RegressionTrees(self.max_depth, thresholds))

    def _words(self) -> np.ndarray:
        """Return the words; those of the model where rounds go on, whatever a draw would be today."""
        from minrisk.model.codes import dense, exhaustive, one_vs_all

        K, code = len(self.classes_), self._code()
        # Rounds go on with their words: a draw, or the parameter, may be another today.
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
        """Return the name of the code, or its table."""
        if self.code is not None:
            return self.code
        return "exhaustive" if len(self.classes_) <= ENUMERATED_CLASSES else "random"

    def _constant(self, link: Any, costs: Any) -> FloatArray:
        """Return the bits of the cheapest decision's word."""
        cheapest = int(super()._constant(link, costs).argmax())
        return np.asarray(self._words()[cheapest], dtype=np.float64)

    def _draws(self) -> bool:
        """Return whether anything is drawn; a random code is, too."""
        return super()._draws() or (isinstance(self._code(), str) and self._code() == "random")

    def _facts(self) -> dict[str, Any]:
        decoder = self.model_.decoder
        assert decoder is not None
        return {**super()._facts(), "decoding": decoder.decoding}


def checked_words(code: Any, n_classes: int) -> np.ndarray:
    """Return the table of a code for so many classes.

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
