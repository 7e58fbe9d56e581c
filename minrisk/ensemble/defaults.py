"""Every number that `MinRiskClassifier` is made with, beside its parameters: what it measures, and why it is so.

Where a comment says what a number brings, `benchmarks/NOTEBOOK.md` has the measurement. Numbers that only keep rounding
from deciding stand where they are used.
"""

from __future__ import annotations

# -- folds and rounds --------------------------------------------------------------------------------------------------
FOLDS = 4  # members of a kind, unless `cv` says otherwise
FIRST_CHECKPOINT = 5  # rounds before left-out rows are looked at for the first time
CHECKPOINT_RATIO = 1.25  # of a checkpoint's round to that of the one before
FIRST_FALL = 0.005  # share of the loss, by which the first checkpoint that counts must be better than no rounds
LEAST_FALL = 0.02  # share of the loss, or of its fall so far if less, by which a later one must: half of the rounds
PATIENCE, GRACE_ROUNDS = 1.25, 5  # stop at a round above this many times the best one, and so many rounds more
SLOW_START = 40  # rounds without any gain, after which the features say nothing
LAST_ROUNDS = 5  # rounds without its fold, of a member, for which it has one on all rows
LAST_ROUNDS_FROM = 200  # rows: fewer gain nothing by them

# -- many rows ---------------------------------------------------------------------------------------------------------
MANY_ROWS = 20_000  # from which on trees are large, steps short, and one fold tells how many rounds there are
USUAL_ROUNDS, MANY_ROWS_ROUNDS = 200, 1000  # at most, unless `n_estimators` says otherwise
ROWS_IN_ROUNDS = 500_000_000  # in all rounds together, at most, where that allows 200: what a user waits for
LEARNING_RATE, MANY_ROWS_RATE = 0.5, 0.3
SMOOTHING, SMOOTHED_ROWS = 1e-3, 5.0  # share of the loss, and rows whose share it is where there are many
MANY_ROWS_FOLDS = 8  # an eighth of many rows tells as much as a quarter of fewer
ROUNDS_TOGETHER = 240  # of a kind's members: where one has few, further ones (up to FOLDS) and other kinds bring more
ROWS_OF_LARGE_LEAF, MOST_LARGE_LEAVES, LARGE_LEAF_NUMBERS = 100, 1023, 1 << 15  # as ROWS_OF_LEAF and so on below

# -- a budget of time --------------------------------------------------------------------------------------------------
BUDGET_ROUNDS = 10_000  # at most, unless `n_estimators` says otherwise: time and left-out rows are the limit
SHORTEST_ROUND = 1e-7  # seconds
COST_SHARE = 0.4  # of the time, at most, for what costs per row are learnt by
SHORT_SHARE = 0.05  # of the time, or of the rounds so far: what is shorter is not begun
VARIED_RATES, VARIED_LEAVES = (1.0, 0.5), (1.0, 2.0, 0.5)  # times those of the members that are varied
VARIED_FEATURES, VARIED_SMOOTHING = (1.0, 0.5, 2.0), (1.0, 0.2, 5.0)

# -- temperature -------------------------------------------------------------------------------------------------------
TEMPERATURE_STEP = 1.15  # ratio of one temperature that is tried to the next
TEMPERATURES = (0.2, 20.0)  # the range that is searched
CAUTION = 0.5  # rows of another class than scores of left-out rows could know: Krichevsky and Trofimov's estimate
LEAST_PROBABILITY = 1e-12  # of a row's class in a log-loss: one row must not decide

# -- trees of plain members --------------------------------------------------------------------------------------------
FEWEST_LEAVES = 24  # of a tree, or less on few rows:
ROWS_OF_FEW_LEAVES = 20  # of the training rows, for each leaf up to the fewest
FEWEST_ON_FEW_ROWS = 8  # leaves, however few the rows
FEWEST_WITH_MANY_FEATURES = 16  # likewise, with more features than rows: weak signals take more splits to add up
ROWS_OF_LEAF = 40  # of the training rows, for each leaf beyond the fewest
MOST_LEAVES = 64  # or 8 for each class while
LEAVES_OF_CLASS = 8  # leaves for each class, of a tree with more than the most of others
MOST_LEAF_NUMBERS = 8192  # numbers in a tree's vectors, with more than 64 leaves
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
SHARES = 8  # a challenger's share is a multiple of 1/8
LEAST_GAIN = 0.005  # share of the log-loss, that a challenger has to take off

# "small" and "tiny": rules without noise
SMALL_LEAVES, TINY_LEAVES = 8, 4  # of a tree
SMALL_FEATURES = 20  # looked at in a split of theirs, at least
ROWS_OF_SMALL_BIN = 4  # for each bin of theirs: rules are sharper than the usual bins
SMALL_BINS_FROM = 1000  # rows: fewer have the usual bins; finer ones bring nothing there and take a tenth more time
TINY_VALUES, TINY_CLASSES, TINY_ROWS = 10, 10, 1 << 15  # at most (values of a feature in the mean), for tiny trees

# "linear": boundaries across the features
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
SMOOTH_GAIN = 0.02  # as LEAST_GAIN: trees' last rounds on all rows, which left-out rows do not know of, bring more
SMOOTH_SHARE = 7 / 8  # at most: the rest is left to trees, so that the model has rounds
ONE_FOLD_TELLS = 500  # rows: on fewer, smooth members cost little and are judged by all folds at once

# -- the model ---------------------------------------------------------------------------------------------------------
EXCESS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05)  # shares of the expected cost, that early decisions may give away
STATED_EXCESS = 0.5  # of it, that left-out rows may lose: the average of all members is surer than each
JUDGED_STAGES = 1 << 20  # left-out rows times classes (of unequal costs, squared), at most, that leads are found from
ROUNDING = 1 / 128  # of log-odds, at most (standard deviation): what their vectors' rounding to a common unit moves

# -- costs that differ by row ------------------------------------------------------------------------------------------
COST_LEARNING_RATE = 0.2  # times `learning_rate`: costs are smooth where classes are not
COST_ROWS = 20  # of a class: fewer have mean costs only
COST_FIRST_FALL, COST_LEAST_FALL = 0.02, 0.005  # shares of the squared error: the first checkpoint, and later ones
COST_PATIENCE = 2.0  # stop at a round above this many times the best one, and GRACE_ROUNDS more

# -- threads and memory ------------------------------------------------------------------------------------------------
SHARED_VALUES = 1 << 13  # binned values, below which threads cost more than they bring
RESTING_SCORES = 1 << 17  # from which on members that wait for the others free what the next round fills anew,
FORGETTING_SCORES = 1 << 19  # and their scores, which their trees bring back
TOGETHER_SCORES = 1 << 21  # beyond which members train one after another, a few checkpoints at a time: less memory
CHECKPOINTS_AHEAD = 1  # then, beside the next one, at most: trees bring scores back, which takes as long as some rounds
LINEAR_VALUES = 1 << 21  # of linear features that are computed together: all of them would be the peak of memory
