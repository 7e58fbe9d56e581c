"""Every number that `MinRiskClassifier` is made with, beside its parameters: what it measures, and why it is so.

Where a comment says what a number brings, `benchmarks/NOTEBOOK.md` has the measurement. Numbers that only keep rounding
from deciding stand where they are used.
"""

from __future__ import annotations

# -- folds and rounds --------------------------------------------------------------------------------------------------
FOLDS = 4  # members of a kind, unless `cv` says otherwise
FIRST_CHECKPOINT = 5  # rounds before left-out rows are looked at for the first time
CHECKPOINT_RATIO = 1.25  # of a checkpoint's round to that of the one before
FIRST_FALL = 0.005  # share of the cost, by which first rounds of members trained on costs must be better than none
LEAST_FALL = 0.02  # share of the loss by which later ones are better in any case; of the cost they must be, or of its
# fall so far if less
PATIENCE, GRACE_ROUNDS = 1.25, 5  # stop at a round above this many times the best one, and so many more
SLOW_START = 40  # rounds without any gain, after which the features say nothing
LAST_ROUNDS = 0.2  # rounds on all rows, for each one without its fold: what the fold says would be lost otherwise
LAST_FEW_ROWS, LAST_MANY_ROWS = 100, 15_000  # with so few rows half of that; on more than the latter ever fewer

# -- settings that follow the data, by the formulas of `sizes` ---------------------------------------------------------
USUAL_ROUNDS = 200  # of a member, at most, unless `n_estimators` says otherwise
ROWS_IN_ROUNDS = 125_000_000  # in all rounds of a member, at most: what a user waits for, but
FEWEST_ROUNDS = 100  # are allowed in any case: half as many lose a tenth of the log-loss on 100 000 rows
CHALLENGED_ROWS = 20_000  # from which on other kinds of boosters make fewer rounds than plain ones
LEARNING_RATE, LEAST_RATE = 0.5, 0.35  # on many rows noise asks for shorter steps (30 000 rows: 1 % of the log-loss),
LONG_STEP_ROWS = 15_000  # from which on they shorten by the square root of the rows, but large trees learn in few steps
SMOOTHING, SMOOTHED_ROWS = 1e-3, 10_000  # share of the loss; half of it on so many rows

# -- a budget of time --------------------------------------------------------------------------------------------------
BUDGET_ROUNDS = 10_000  # at most, unless `n_estimators` says otherwise: time and left-out rows are the limit
SHORTEST_ROUND = 1e-7  # seconds
COST_SHARE = 0.4  # of the time, at most, for what costs per row are learnt by
SHORT_SHARE = 0.05  # of the time, or of the rounds so far: what is shorter is not begun
VARIED_RATES, VARIED_LEAVES = (1.0, 0.5), (1.0, 2.0, 0.5)  # times those of the members that are varied
VARIED_FEATURES, VARIED_SMOOTHING = (1.0, 0.5, 2.0), (1.0, 0.2, 5.0)

# -- weights of kinds --------------------------------------------------------------------------------------------------
CAUTION = 0.5  # rows of another class than scores of left-out rows could know: Krichevsky and Trofimov's estimate
SHIFT_ROWS = 4.0  # of a class, that hold its shift at 0
DOUBT = 0.3  # standard errors of its slope, by which a kind must lower the loss of left-out rows before it has a weight

# -- trees of plain members --------------------------------------------------------------------------------------------
FEWEST_LEAVES = 24  # of a tree, or less on few rows:
ROWS_OF_FEW_LEAVES = 20  # of the training rows, for each leaf up to the fewest
FEWEST_ON_FEW_ROWS = 8  # leaves, however few the rows
FEWEST_WITH_MANY_FEATURES = 16  # likewise, with more features than rows: weak signals take more splits to add up
ROWS_OF_LEAF = 40  # of the training rows, for each leaf beyond the fewest
MOST_LEAVES = 64  # or 8 for each class, or more on many rows:
ROWS_OF_LARGE_LEAF = 100  # of the training rows, for each leaf beyond the most
MOST_LARGE_LEAVES, LARGE_LEAF_NUMBERS = 1023, 1 << 15  # leaves, and numbers in a tree's vectors, at most
LEAVES_OF_CLASS = 8  # leaves for each class, of a tree with more than the most of others
MOST_LEAF_NUMBERS = 8192  # numbers in the vectors of such a tree
FEATURE_SHARE = 0.4  # of the features, that a node looks at
MOST_LOOKED_AT = 160  # features: of more a node learns little, and trees grow alike
WIDE_FEATURES, WIDE_ROWS = 2000, 1000  # more of both are wide data, as texts by their words are, whose trees differ:
WIDE_LEAVES = 20  # of a tree, at most, or one for each class: small trees look at other features each (news20: 32 err
# as often in 1.7 times the time; sector, 105 classes: with 20 leaves 22 % of errors, with 64 19 %)
WIDE_SMOOTHING = 1e-5  # at most: a rare word says much of few rows (news20: 19.2 % of errors become 16.9 %)
NEWTON_SMOOTHING = 10.0  # times `smoothing`: a Newton step needs more of it than a closed form
FEWEST_BINS, MOST_BINS = 16, 256  # of a feature
ROWS_OF_BIN = 64  # of the training rows, for each bin
ROWS_OF_FINE_BIN = 16  # likewise where features are few, and each must tell its boundaries alone:
ALL_BINS = 512  # bins of all features together, up to which they are few

# -- challengers -------------------------------------------------------------------------------------------------------
ONE_FOLD_TELLS = 500  # rows (`CostFacts.told_rows`): with fewer, as of rare classes, kinds are tried on all folds,
# as a fourth of them does not tell a signal from chance (of 30 rare tables seeds disagreed on 14 whether there is one,
# and on 3 with all folds)

# "gentle": weak signals, and rules without noise
GENTLE_RATE, GENTLE_LEAVES = 0.5, 8  # times the step of plain members; of a tree
GENTLE_FEATURES = 20  # looked at in a split of theirs, at least
GENTLE_CLASSES = 6  # up to which splits are chosen by all classes, without a sketch of them

# "random": thresholds drawn at random, also across the features
RANDOM_RATE = 0.7  # times that of plain members: a drawn threshold gains less, and rounds even out its chance
LINEAR_SHARE = 0.5  # of `max_features`, where linear features about treble their number
LINEAR_FEATURES = 2000  # of X, at most: principal axes take d^3 steps
PRINCIPAL, FISHER, DISCRIMINANT = 20, 10, 20  # columns of a kind, at most; of the last two together
DISCRIMINANT_SPACE = 100  # principal components that discriminant directions are sought in
LINEAR_BINS = 1 << 29  # of linear features, at most: with more they are the largest part of memory and of time
MOMENT_ROWS, MOMENT_VALUES = 20_000, 1 << 22  # that moments are computed from, at most

# "smooth": boundaries that trees make of stairs
LANDMARKS = 128  # at most; 400 bring nothing more on a few hundred rows
REACH = 3.0  # variance of a kernel over the median squared distance of two landmarks: wide ones, for what trees lack
PENALTY, BEND = 0.03, 8  # share of the rows' weight, and rounds in which it falls to a quarter
SMOOTH_ROWS = 1 << 12  # at most: of more, trees learn what is smooth (1.00 of the risk on 1000 to 6000 rows)
SMOOTH_SCORES, SMOOTH_VALUES = 1 << 17, 1 << 20  # rows times classes, and times features: a small part of a fit's time

# "logistic": linear signals, which trees make of many steps
LOGISTIC_PENALTY = 0.1  # share of the rows' weight at the first checkpoint, and as many rows more as there are columns:
LOGISTIC_LEAST = 0.1  # rows' weight, that is always added: of few rows each decides about the coefficients
LOGISTIC_POWER = 5  # from there it falls by this power of the rounds, to a third or so at the next one
LOGISTIC_FITTED, LOGISTIC_VALUES = 20_000, 1 << 23  # rows, and values of their columns, that it is fitted to at most
LOGISTIC_PRODUCTS = 1 << 27  # likewise, values times classes: those of an iteration
LOGISTIC_LEAVES = 1 << 15  # of all trees that its model becomes, at most
LOGISTIC_TOLERANCE, LOGISTIC_LAST_TOLERANCE = 2e-3, 1e-6  # of the gradient, in units of the curvature: on the way, and
# of the member of all rows; a quarter of the first changes no log-loss by a thousandth

# -- the model ---------------------------------------------------------------------------------------------------------
EXCESS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05)  # shares of the expected cost, that early decisions may give away
STATED_EXCESS = 0.5  # of it, that left-out rows may lose: the average of all members is surer than each
JUDGED_STAGES = 1 << 20  # left-out rows times classes (of unequal costs, squared), at most, that leads are found from
ROUNDING = 1 / 128  # of log-odds, at most (standard deviation): what their vectors' rounding to a common unit moves

# -- costs that differ by row ------------------------------------------------------------------------------------------
COST_LEARNING_RATE = 0.5  # times `learning_rate`: costs are smooth where classes are not
COST_LEAVES = 24  # of a tree, at most
COST_TREES, COST_ROUNDS = 120, (12, 60)  # of all classes together, and rounds of a class, at most

# -- threads and memory ------------------------------------------------------------------------------------------------
SHARED_VALUES = 1 << 13  # binned values, below which threads cost more than they bring
RESTING_SCORES = 1 << 17  # from which on members that wait for the others free what the next round fills anew,
FORGETTING_SCORES = 1 << 19  # and their scores, which their trees bring back
TOGETHER_SCORES = 1 << 21  # beyond which members train one after another, a few checkpoints at a time: less memory
CHECKPOINTS_AHEAD = 1  # then, beside the next one, at most: trees bring scores back, which takes as long as some rounds
LINEAR_VALUES = 1 << 21  # of linear features that are computed together: all of them would be the peak of memory
