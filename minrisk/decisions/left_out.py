"""What a fit keeps of rows that it left out: who was sure of what, about rows that it had not seen."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from minrisk._typing import FloatArray, IntArray


class LeftOut(NamedTuple):
    """Hold what members of a fit said about rows that they had left out.

    Parameters
    ----------
    probabilities : ndarray of shape (m, K), float32
        Of the classes, by all members that left the row out, calibrated as those of the model are.
    labels : ndarray of shape (m,), int
        True classes, as numbers of `classes_`.
    folds : ndarray of shape (m,), int
        Which fold each row was in.
    weight : ndarray of shape (m,)
        Weights of the rows.
    told : ndarray of shape (m, K), float32
        Probabilities by a small part of the members that left the row out. The model says the same of new rows, which
        the average of all members cannot: all but one of these have seen a row that was left out by one.
    """

    probabilities: np.ndarray
    labels: IntArray
    folds: IntArray
    weight: FloatArray
    told: np.ndarray
