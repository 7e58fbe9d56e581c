"""What `MinRiskClassifier` is made with beside its parameters: numbers, and formulas of the data.

Formulas are continuous in rows, features and classes, so that no row is a cliff. Rows are counted by
`minrisk.costs.weights.relative_weights`: n is their effective number, which need not be whole. Numbers that change no
model but only time and memory stand in `minrisk.ensemble.driver`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

from minrisk._kernels.functions import power

# -- folds and rounds --------------------------------------------------------------------------------------------------
FOLDS = 4  # members of a kind, unless `cv` says otherwise
FIRST_CHECKPOINT = 5  # rounds before out-of-fold rows are looked at for the first time
CHECKPOINT_RATIO = 1.25  # of a checkpoint's round to that of the one before
FIRST_FALL = 0.005  # share of the cost by which first rounds of members trained on costs must be better than none
LEAST_FALL = 0.02  # share of the loss (or of the cost's fall) by which later rounds are better in any case
PATIENCE, GRACE_ROUNDS = 1.25, 5  # stop at a round above this many times the best one, and so many more
SLOW_START = 40  # rounds without any gain after which the features say nothing
N_ROUNDS = 10_000  # of a member, at most: left-out rows and the price of work end them before
UNJUDGED_ROUNDS = 200  # of a member without left-out rows
FREE_WORK, DEAR_WORK = 2e5, 1e8  # rows times rounds: about a tenth of a second, and minutes
OUTPUTS_WORK = 40.0  # that double the time of a row
PRICED_ROWS = 7e4  # beyond which a round's price hardly rises: any learner takes longer on more rows
POOLED = 0.25  # of the price, for kinds beside others: what they know differs, so that it adds up
TRIED_WORK = 5e6  # rows times rounds that a kind beside the plain one is tried for, at most
HOPELESS = 1.25  # times the loss of plain members, above which a kind beside them gets no share that matters
LAST_ROUNDS = 0.2  # rounds on all rows for each one without its fold: what the fold says would be lost otherwise
SHORT_SHARE = 0.05  # of a budget of time, or of the rounds so far: what is shorter is not begun
VARIED = {  # factors on settings of members that are varied in what is left of a budget
    "learning_rate": (1.0, 0.5),
    "max_leaf_nodes": (1.0, 2.0, 0.5),
    "max_features": (1.0, 0.5, 2.0),
    "smoothing": (1.0, 0.2, 5.0),
}

# -- weights of kinds --------------------------------------------------------------------------------------------------
CAUTION = 0.5  # rows of another class than scores of out-of-fold rows could know: Krichevsky and Trofimov's estimate
SHIFT_ROWS = 4.0  # of a class, that hold its shift at 0
DOUBT = 0.3  # standard errors of its slope by which a kind must lower the out-of-fold loss before it has a weight
ONE_FOLD_TELLS = 500  # `CostFacts.told_rows`: with fewer, kinds are tried on all folds, since a fourth of few rows does
# not tell a signal from chance (of 30 rare tables seeds disagreed on 14, and on 3 with all folds)

# -- trees and features ------------------------------------------------------------------------------------------------
WIDE_FEATURES, WIDE_ROWS = 2000, 1000  # more of both are wide data, as texts by their words are
NEWTON_SMOOTHING = 10.0  # times `smoothing`: a Newton step needs more of it than a closed form
LINEAR_FEATURES = 2000  # of X, beyond which there are no linear features: principal axes take d^3 steps
PRINCIPAL, FISHER, DISCRIMINANT = 20, 10, 20  # columns of a kind, at most; of the last two together
DISCRIMINANT_SPACE = 100  # principal components that discriminant directions are sought in
LINEAR_BINS = 1 << 29  # of linear features, at most: with more they are the largest part of memory and of time
MOMENT_ROWS = 20_000  # that moments are computed from, at most

# -- smooth and logistic members ---------------------------------------------------------------------------------------
LANDMARKS = 128  # at most; 400 bring nothing more on a few hundred rows
REACH = 3.0  # variance of a kernel over the median squared distance of two landmarks: wide ones, for what trees lack
PENALTY, BEND = 0.03, 8  # of smooth members: share of the rows' weight, and rounds in which it falls to a quarter
SMOOTH_ROWS = 1 << 12  # at most: of more, trees learn what is smooth (1.00 of the risk on 1000 to 6000 rows)
LOGISTIC_PENALTY = 0.1  # share of the rows' weight at the first checkpoint, and as many rows more as there are columns
LOGISTIC_FITTED, LOGISTIC_VALUES = 20_000, 1 << 23  # rows, and values of their columns, that it is fitted to at most
LOGISTIC_PRODUCTS = 1 << 27  # values times classes, at most: those of an iteration

# -- finishing ---------------------------------------------------------------------------------------------------------
FINISHED_SHARES = (0.125, 0.18, 0.25, 0.35, 0.5, 0.7)  # of the rounds, that may be kept beside all
FINISHED_EXCESS = (
    0.01  # of the log-loss, or of its fall where that is less, that a model may lose of that of all rounds
)
FITTED_STEPS, FITTED_RIDGE = 6, 10.0  # conjugate gradients, and rows that hold a vector where it was
FITTED_CELLS = 1 << 26  # rows times trees, of which leaves are kept at a time, at most: two bytes each
FINISHING = 0.7  # of the seconds of training, that finishing takes at most

# -- the model ---------------------------------------------------------------------------------------------------------
EXCESS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05)  # shares of the expected cost that early decisions may give away
LEAD_ROWS = 2000  # left-out rows that leads are found from, at least, where there are so many
JUDGED_STAGES = 1 << 20  # out-of-fold rows times classes (squared if costs differ), at most, that leads are found from
KEPT_ROWS, KEPT_VALUES = 1 << 13, 1 << 16  # left-out rows that a model keeps, and rows times classes, at most
KEPT_ROUNDS = 8  # of a member of each fold, which say of new rows what they said of those
ROUNDING = 1 / 128  # of log-odds, at most (standard deviation): what rounding vectors to a common unit moves


# -- rounds ------------------------------------------------------------------------------------------------------------
def checkpoints(n_rounds: int) -> list[int]:
    """Return the rounds at which out-of-fold rows are looked at, the last one among them."""
    rounds, at = [], float(FIRST_CHECKPOINT)
    while at < n_rounds:
        rounds.append(int(at))
        at = max(at + 1, at * CHECKPOINT_RATIO)
    return [*rounds, n_rounds]


def last_share(n_rows: float) -> float:
    """Return rounds on all rows as a share of those without a fold: half on 100 rows, fewer on more than 15 000."""
    return LAST_ROUNDS * (n_rows / (n_rows + 100)) * min(1.0, 15_000 / n_rows)


def last_rounds(n_rows: float, n_rounds: int, most: int) -> int:
    """Return rounds on all rows, for a member of so many without its fold; at `most` rounds in all."""
    share = int(1e6 * last_share(n_rows))
    return min((2 * n_rounds * share + 10**6) // (2 * 10**6), most - n_rounds)  # to the nearest


def first_rounds(n_rows: float, most: int) -> int:
    """Return rounds without the fold, at most: those that leave room for the last ones."""
    share = last_share(n_rows)
    return most - most * int(1000.0 * share / (1.0 + share)) // 1000  # of a number that may be beyond float64


def pays(before: float, loss: float, base: float, work: float, more: float, times: float = 1.0) -> bool:
    """Tell whether a fall of the mean log-loss is worth more work, in rows times rounds.

    A share u of the loss `base` of the class frequencies is left. A small fall counts as du / sqrt(u (1 - u)), so that
    it is relative to what is left where that is little, and to what has been learnt where that is little. Work W costs
    sqrt((W + FREE_WORK) / DEAR_WORK), `times` a factor: few rows hardly pay, and the more has been done, the more a
    further part of it must bring. Both are continuous in everything.
    """
    u, v = min(1.0, before / base), min(1.0, loss / base)
    fall = 2.0 * (math.sqrt(u * (1.0 - v)) - math.sqrt(v * (1.0 - u)))  # the sine of an angle between both, doubled
    return fall > times * (math.sqrt((FREE_WORK + more) / DEAR_WORK) - math.sqrt((FREE_WORK + work) / DEAR_WORK))


def tried_rounds(n_rows: float) -> int:
    """Return rounds that a kind beside the plain one is tried for: fewer on many rows."""
    return max(FIRST_CHECKPOINT, int(min(N_ROUNDS, TRIED_WORK / n_rows)))


# -- trees -------------------------------------------------------------------------------------------------------------
def wideness(n_rows: float, n_features: int) -> float:
    """Return from 0 to 1 how much data are like texts by their words, of more than 2000 features."""
    of_features = power(n_features / WIDE_FEATURES, 3)
    return of_features / (1.0 + of_features) * n_rows / (n_rows + WIDE_ROWS)


def is_wide(n_rows: float, n_features: int) -> bool:
    """Tell whether features are as many as of texts by their words."""
    return n_features > WIDE_FEATURES and n_rows > WIDE_ROWS


def learning_rate(n_rows: float) -> float:
    """Return shorter steps on many rows, whose members are stopped late enough for more of them."""
    # Noise asks for shorter steps (30 000 rows: 1 % of the log-loss), but large trees learn in few steps.
    return float(max(0.35, 0.5 * math.sqrt(min(1.0, 15_000 / n_rows))))


def smoothing(n_rows: float, n_features: int) -> float:
    """Return a share of the loss: about that of ten rows where there are many, and less in wide data."""
    usual = 1e-3 / (1.0 + n_rows / 10_000)
    wide = wideness(n_rows, n_features)
    # A rare word says much of few rows (news20: 19.2 % of errors become 16.9 %).
    return float(power(usual, 1.0 - wide) * power(min(usual, 1e-5), wide))


def n_leaves(n_rows: float, n_outputs: int, n_features: int) -> int:
    """Return leaves of a tree that is grown on so many rows: one for each 40, from 24 to 64 where rows are usual."""
    # Weak signals in many features take more splits to add up.
    fewest = min(24, max(16 if n_features > n_rows else 8, n_rows / 20))
    # Eight leaves for each class and one for each 50 rows, as far as vectors stay small.
    of_classes = min(8 * n_outputs, 8192 // n_outputs)
    of_many = min(n_rows / 50, 1023, (1 << 15) / n_outputs)
    usual = max(fewest, min(max(64, of_classes, of_many), n_rows / 40))
    # Small trees of wide data look at other features each (news20: with 32 leaves as many errors in 1.7 times the
    # time; sector, 105 classes: 22 % of errors with 20 leaves, 19 % with 64).
    of_wide = min(usual, max(20, min(n_outputs, 64)))
    return int(usual + wideness(n_rows, n_features) * (of_wide - usual))


def feature_share(n_features: int) -> float:
    """Return the share of features that a node looks at: of more than 160 it learns little, and trees grow alike."""
    return min(0.4, 160 / n_features)


def n_bins(binning: str, asked: int | None, n_rows: float, n_features: int) -> tuple[int | None, int | None]:
    """Return bins of a feature, and of one for gentle members, as asked for or by the rows; None: the binner's own.

    Finer bins cost time; where features are few each must tell its boundaries alone. Gentle members answer for rules
    that are as sharp as the rows allow.
    """
    if asked is not None or binning != "quantile":
        return asked, asked
    return int(min(256, max(16, n_rows / 64, min(n_rows / 16, 512 / n_features)))), 256


def moment_rows(n_features: int) -> int:
    """Return rows that moments of features are computed from, at most."""
    return min(MOMENT_ROWS, (1 << 22) // n_features)


def is_too_linear(n_features: int, n_folds: int, n_rows: int) -> bool:
    """Tell whether linear features would take too much time or memory."""
    most = min(n_features, PRINCIPAL) + n_folds * min(n_features, DISCRIMINANT)
    return n_features > LINEAR_FEATURES or most * n_rows > LINEAR_BINS


def is_smooth(n_rows: float, n_outputs: int, n_features: int) -> bool:
    """Tell whether rows are so few that smooth members may find what trees do not, in a small part of a fit's time."""
    small = n_rows * n_outputs <= 1 << 17 and n_rows * n_features <= 1 << 20
    return small and n_rows <= SMOOTH_ROWS and n_features <= LINEAR_FEATURES


class Settings(NamedTuple):
    """Parameters of `MinRiskClassifier` that training follows; those left open follow the data."""

    learning_rate: float
    max_leaf_nodes: int | None
    max_depth: int | None
    min_samples_leaf: int
    smoothing: float
    sketch: int | None
    max_features: float | None
    search_rows: int | None
    subsample: float
    surrogate: str = "softmax"
    n_estimators: int = 200
    cv: Any = None
    pool: bool = True
    keep_left_out: bool = True
    binning: str = "quantile"
    max_bins: int | None = None
    seed: int = 0
    left_open: frozenset[str] = frozenset()  # what the caller did not state

    @classmethod
    def of(cls, parameters: Mapping[str, Any], n_rows: float, n_features: int, seed: int = 0) -> Settings:
        """Select them among the parameters, for so many rows and features."""
        usual = {
            "learning_rate": learning_rate(n_rows),
            "smoothing": smoothing(n_rows, n_features),
            # Where nothing is left out, nobody can say how many are enough.
            "n_estimators": UNJUDGED_ROUNDS if parameters["cv"] == 1 and not parameters["time_budget"] else N_ROUNDS,
        }
        given = {name: parameters[name] for name in cls._fields[:-2]}
        left_open = frozenset(name for name, value in given.items() if value is None)
        open_now = {name: value for name, value in usual.items() if name in left_open}
        return cls(**given | open_now, seed=seed, left_open=left_open)
