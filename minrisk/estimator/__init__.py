"""The estimator's shell: what is the same for every method, from the arguments of `fit` to decisions.

=================  ==========================================================================================
`base`             `BoostedClassifier`: fit, labels, costs, predictions and their judging
`inputs`           X, y and weights as they are given; what a checkpoint and a warm start compare
`features`         checks of X, mostly scikit-learn's, with messages that name the column
`parameters`       rules of constructor parameters
`eval_sets`        rows that are judged after every round
`elsewhere`        rows in the partitions of Dask collections
`callbacks`        callbacks of scikit-learn
`fitted`           what other functions ask of a fitted classifier
`decisions`        costs of decisions about rows whose classes are not known, and decisions by any probabilities
=================  ==========================================================================================
"""

from __future__ import annotations

from minrisk.estimator.base import BoostedClassifier

__all__ = ["BoostedClassifier"]
