"""What every mistake costs: building, reading and checking costs.

There is one orientation in the whole package, said here once: **rows are true classes, columns are
decisions** (as in scikit-learn's confusion matrix). ``C[i, j]`` is what it costs to decide ``j`` when the
truth is ``i``. K is the number of classes and D the number of decisions, usually D = K.

========================  =====================================================================
:class:`CostMatrix`       a checked, labelled, read-only (K, D) table
:func:`as_cost`           whatever a user may call a cost -> a CostMatrix in the order of the classes
:func:`read_cost`         a CSV file -> a CostMatrix
:func:`row_costs`         one row of costs per sample -> a checked (n, D) table
:func:`is_per_row`        which of the two kinds a table is
:func:`uniform`           0/1 costs
:func:`ordinal`           ``|i - j| ** p``
:func:`balanced`          every class counts alike, however many rows it has
:func:`from_taxonomy`     the distance to the lowest common ancestor
:func:`from_rates`        how many mistakes of one kind are as bad as one of another
:func:`from_decisions`    what past decisions imply
:func:`between`           least maximal regret where only a range of each cost is known
:func:`random_symmetric`  the random costs of the guess-averse paper
:func:`random_normal`     the random costs of the REBEL paper
:func:`with_reject`       one more decision, to refer a case, at a price
========================  =====================================================================

Labels are matched by equality and, failing that, by the way they are written: the label ``1`` of an array
finds the row ``"1"`` of a CSV file.
"""

from __future__ import annotations

from minrisk.costs.builders import (
    balanced,
    from_taxonomy,
    ordinal,
    random_normal,
    random_symmetric,
    uniform,
    with_reject,
)
from minrisk.costs.matrix import CostMatrix
from minrisk.costs.reading import as_cost, is_per_row, read_cost, row_costs
from minrisk.costs.statements import between, from_decisions, from_rates

__all__ = [
    "CostMatrix",
    "as_cost",
    "balanced",
    "between",
    "from_decisions",
    "from_rates",
    "from_taxonomy",
    "is_per_row",
    "ordinal",
    "random_normal",
    "random_symmetric",
    "read_cost",
    "row_costs",
    "uniform",
    "with_reject",
]
