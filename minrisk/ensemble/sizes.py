"""Settings that follow the data, as formulas: continuous in rows, features and classes, so that no row is a cliff.

Rows are counted by `minrisk.costs.weights.relative_weights`: n is their effective number, which need not be whole.
"""

from __future__ import annotations

from minrisk.ensemble import defaults


def n_rounds(n_rows: float) -> int:
    """Limit a member's rounds; to fewer on very many rows."""
    in_time = defaults.ROWS_IN_ROUNDS / n_rows
    return int(min(defaults.USUAL_ROUNDS, max(defaults.FEWEST_ROUNDS, in_time)))


def learning_rate(n_rows: float) -> float:
    """Shorter steps on many rows, whose members are stopped late enough for more of them."""
    usual = defaults.LEARNING_RATE * min(1.0, defaults.LONG_STEP_ROWS / n_rows) ** 0.5
    return float(max(defaults.LEAST_RATE, usual))


def smoothing(n_rows: float, n_features: int) -> float:
    """Share of the loss: about that of ten rows where there are many, and less in wide data."""
    usual = defaults.SMOOTHING / (1.0 + n_rows / defaults.SMOOTHED_ROWS)
    wide = wideness(n_rows, n_features)
    return float(usual ** (1.0 - wide) * min(usual, defaults.WIDE_SMOOTHING) ** wide)


def n_leaves(n_rows: float, n_outputs: int, n_features: int) -> int:
    """Of a tree that is grown on so many rows; weak signals in many features take more splits to add up."""
    of_classes = min(defaults.LEAVES_OF_CLASS * n_outputs, defaults.MOST_LEAF_NUMBERS // n_outputs)
    least = defaults.FEWEST_WITH_MANY_FEATURES if n_features > n_rows else defaults.FEWEST_ON_FEW_ROWS
    fewest = min(defaults.FEWEST_LEAVES, max(least, n_rows / defaults.ROWS_OF_FEW_LEAVES))
    of_many = n_rows / defaults.ROWS_OF_LARGE_LEAF
    of_many = min(of_many, defaults.MOST_LARGE_LEAVES, defaults.LARGE_LEAF_NUMBERS / n_outputs)
    most = max(defaults.MOST_LEAVES, of_classes, of_many)
    usual = max(fewest, min(most, n_rows / defaults.ROWS_OF_LEAF))
    of_wide = min(usual, max(defaults.WIDE_LEAVES, min(n_outputs, defaults.MOST_LEAVES)))
    return int(usual + wideness(n_rows, n_features) * (of_wide - usual))


def feature_share(n_features: int) -> float:
    """Of the features, that a node looks at."""
    return min(defaults.FEATURE_SHARE, defaults.MOST_LOOKED_AT / n_features)


def n_bins(binning: str, asked: int | None, n_rows: float, n_features: int) -> tuple[int | None, int | None]:
    """Of a feature, and of one for gentle members: as asked for, else by the rows; None: the default of `fit_binner`.

    Finer bins cost time; where features are few each must tell its boundaries alone. Gentle members answer for rules
    that are as sharp as the rows allow.
    """
    if asked is not None or binning != "quantile":
        return asked, asked
    of_few = min(n_rows / defaults.ROWS_OF_FINE_BIN, defaults.ALL_BINS / n_features)
    usual = min(defaults.MOST_BINS, max(defaults.FEWEST_BINS, n_rows / defaults.ROWS_OF_BIN, of_few))
    return int(usual), defaults.MOST_BINS


def last_share(n_rows: float) -> float:
    """Rounds on all rows, as a share of a member's rounds without its fold: few on few rows, and on very many."""
    of_few, of_many = n_rows / (n_rows + defaults.LAST_FEW_ROWS), min(1.0, defaults.LAST_MANY_ROWS / n_rows)
    return defaults.LAST_ROUNDS * of_few * of_many


def challenger_share(n_rows: float) -> float:
    """Rounds of other kinds of boosters, as a share of plain ones': with many rows time is better spent on these."""
    return min(1.0, defaults.CHALLENGED_ROWS / n_rows)


def wideness(n_rows: float, n_features: int) -> float:
    """From 0 to 1: how much data are like texts by their words, of more than 2000 features."""
    of_features = (n_features / defaults.WIDE_FEATURES) ** 3
    return of_features / (1.0 + of_features) * n_rows / (n_rows + defaults.WIDE_ROWS)
