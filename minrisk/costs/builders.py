"""Builders of common cost matrices. ``classes`` is a number K (no labels) or the labels themselves."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Mapping
from itertools import zip_longest
from typing import Any

import numpy as np

from minrisk._kernels.functions import power
from minrisk._typing import FloatArray, Int32Array
from minrisk.costs.labels import Labels, as_labels, listed, match_decisions, match_labels, refer_labels, unmatched
from minrisk.costs.matrix import CostMatrix, is_series
from minrisk.costs.units import scaled
from minrisk.data.labels import check_labels

Path = tuple[int, ...]  # the numbers of the nodes from the root of a taxonomy down to a node; the root has none
_Leaf = tuple[Any, Path]
_GROUPS = (Mapping, list, tuple)


def uniform(classes: Any) -> CostMatrix:
    """Return costs of 1 for every mistake, so that the mean cost is the error rate.

    Parameters
    ----------
    classes : int or sequence of labels
        The number of classes, or their labels.

    Returns
    -------
    CostMatrix
        Of shape (K, K), with 0 on the diagonal and 1 elsewhere.

    Raises
    ------
    ValueError
        If there are fewer than two classes, or a label occurs twice.
    TypeError
        If ``classes`` is neither a number nor an ordered collection of labels.

    Examples
    --------
    >>> from minrisk.costs import uniform
    >>> uniform(["cat", "dog"])
    CostMatrix: 2 true classes (rows) x 2 decisions (columns)
         cat  dog
    cat    0    1
    dog    1    0
    """
    count, labels = _count(classes)
    return CostMatrix(1.0 - np.eye(count), labels)


def ordinal(classes: Any, p: float = 1.0) -> CostMatrix:
    """Return costs for classes in an order: a mistake costs more the further it is off, ``|i - j| ** p``.

    Parameters
    ----------
    classes : int or sequence of labels
        The labels from the lowest to the highest.
        If the labels are numbers, their number K is enough.
        Texts must be listed, because their order is not known, and a fit refuses costs that do not name them.
    p : float, default=1.0
        The exponent, above 0: 1 for the distance of the classes, 2 for its square.

    Returns
    -------
    CostMatrix
        Of shape (K, K).

    Raises
    ------
    ValueError
        If ``p`` is not a finite number above zero, or ``classes`` is refused as in :func:`uniform`.
    TypeError
        If ``classes`` is neither a number nor an ordered collection of labels.

    Examples
    --------
    >>> from minrisk.costs import ordinal
    >>> ordinal(["low", "medium", "high"], p=2)
    CostMatrix: 3 true classes (rows) x 3 decisions (columns)
            low  medium  high
    low       0       1     4
    medium    1       0     1
    high      4       1     0
    """
    count, labels = _count(classes)
    if not is_finite(p) or p <= 0:
        raise ValueError(f"p must be a finite number above 0, got {p!r}: use p=1 for absolute distance, 2 for squared.")
    rank = np.arange(count, dtype=np.float64)
    cost = CostMatrix(power(np.abs(rank[:, None] - rank[None, :]), p), labels)
    return cost._from_lowest() if count > 2 else cost  # two classes are as far from each other in either order


def balanced(y: Any, sample_weight: Any = None) -> CostMatrix:
    """Return costs under which all classes count alike, however many rows they have.

    A mistake about class i costs n / (K n_i), if n_i of the n rows belong to it.
    The mean cost of decisions about y is then 1 less their balanced accuracy, the mean of the recalls.

    Parameters
    ----------
    y : array-like of shape (n,)
        The true classes of the training rows.
    sample_weight : array-like of shape (n,), optional
        How often each row counts, 0 or more. By default every row counts once.

    Returns
    -------
    CostMatrix
        Of shape (K, K), for the sorted labels of y.

    Raises
    ------
    ValueError
        If y is not one label for each row, has fewer than two classes, or has a class without any weight.

    Notes
    -----
    These are the weights that ``class_weight="balanced"`` gives in scikit-learn.

    Examples
    --------
    >>> from minrisk.costs import balanced
    >>> balanced(["ill", "well", "well", "well"])
    CostMatrix: 2 true classes (rows) x 2 decisions (columns)
               ill  well
    ill          0     2
    well  0.666667     0
    """
    from sklearn.utils import column_or_1d  # slow to import; the other costs do without

    from minrisk.costs.weights import checked_weights

    classes, codes = np.unique(column_or_1d(check_labels(y)), return_inverse=True)
    count, names = _count(classes)
    weight = checked_weights(sample_weight, len(codes))
    rows = np.bincount(codes, None if weight is None else scaled(weight)[0], count)
    if not np.all(np.isfinite(rows)) or rows.min() <= 0:
        worst = classes.tolist()[int(np.argmin(rows))]
        raise ValueError(f"every class must have rows of a weight above 0, got {rows.min():g} in all for {worst!r}.")
    return CostMatrix((rows.sum() / (count * rows))[:, None] * (1.0 - np.eye(count)), names)


def from_taxonomy(tree: Any, classes: Any = None) -> CostMatrix:
    """Return costs from a taxonomy: a mistake costs the climb to the smallest group that holds both classes.

    The cost of deciding j when the truth is i is the number of edges from i up to the lowest common ancestor of i and
    j.
    Siblings cost 1, cousins 2, and so on.

    Parameters
    ----------
    tree : nested dict and lists, or directed graph of networkx
        A dict maps the name of a group to what it holds: another dict, a list, or a single leaf.
        The outermost dict or list is the root. The edges of a graph go from parent to child.
    classes : sequence of labels, optional
        The leaves to keep, in this order. By default all of them, in the order of the tree.

    Returns
    -------
    CostMatrix
        Of shape (K, K), labelled with the leaves.

    Raises
    ------
    ValueError
        If a leaf occurs twice, a class is no leaf, fewer than two classes are left, or a graph is not one tree.
    TypeError
        If ``tree`` is neither a dict, a list nor a directed graph.

    Notes
    -----
    A list holds leaves, lists without a name, or dicts of further groups. Tuples count as lists.
    A name that holds nothing (None, or an empty dict or list) is a leaf itself. networkx itself is not needed.

    If the leaves are at different depths, the costs are not symmetric: the true class is the one that climbs.
    The scale does not matter to decisions; divide by ``values.max()`` for costs up to 1.

    Examples
    --------
    >>> from minrisk.costs import from_taxonomy
    >>> birds = {"waterfowl": ["mallard", "teal"], "raptors": ["vulture"]}
    >>> from_taxonomy({"birds": birds, "trees": ["oak"]}, classes=["mallard", "teal", "vulture"])
    CostMatrix: 3 true classes (rows) x 3 decisions (columns)
             mallard  teal  vulture
    mallard        0     1        2
    teal           1     0        2
    vulture        2     2        0
    """
    if hasattr(tree, "successors") and hasattr(tree, "in_degree"):
        leaves = _graph_leaves(tree)
    elif isinstance(tree, _GROUPS):
        leaves, _ = _leaves(tree, _below)
    else:
        raise TypeError(
            f"tree must be a nested dict or list, or a directed graph with edges from parent to child, got "
            f"{type(tree).__name__}: write it as {{group: [class, class, ...]}}."
        )
    names = as_labels([name for name, _ in leaves], "the leaves of tree")
    wanted = names if classes is None else as_labels(classes)
    positions = match_labels(wanted, names)
    if unknown := unmatched(wanted, names):
        raise ValueError(
            f"classes must be leaves of tree, got {listed(unknown)} beside the leaves {listed(names)}: "
            f"add them to the tree, or correct the labels."
        )
    if len(wanted) < 2:
        raise ValueError(
            f"tree must have two classes or more among its leaves, got {listed(wanted)}: "
            f"there must be something to decide."
        )
    return CostMatrix(_climbs([leaves[position][1] for position in positions]), wanted)


def random_symmetric(classes: Any, low: float = 1.0, high: float = 10.0, random_state: Any = None) -> CostMatrix:
    """Return symmetric random costs, drawn uniformly from an interval, as the paper on guess-averse losses uses them.

    Parameters
    ----------
    classes : int or sequence of labels
        The number of classes, or their labels.
    low : float, default=1.0
        Lower end of the interval, 0 or more.
    high : float, default=10.0
        Upper end of the interval, above 0 and not below ``low``.
    random_state : int, Generator or RandomState, optional
        Source of randomness. An int gives the same matrix every time.

    Returns
    -------
    CostMatrix
        Of shape (K, K), with 0 on the diagonal.

    Raises
    ------
    ValueError
        If the interval is empty or not finite, or ``classes`` is refused as in :func:`uniform`.
    TypeError
        If ``classes`` is neither a number nor an ordered collection of labels.

    References
    ----------
    .. [1] O. Beijbom, M. Saberian, D. Kriegman and N. Vasconcelos, "Guess-Averse Loss Functions For Cost-Sensitive
       Multiclass Boosting", ICML 2014, Sec. 5.

    Examples
    --------
    >>> from minrisk.costs import random_symmetric
    >>> cost = random_symmetric(3, random_state=0).values
    >>> bool((cost == cost.T).all()), bool(cost.max() <= 10)
    (True, True)
    """
    count, labels = _count(classes)
    if not (is_finite(low) and is_finite(high)) or not 0 <= low <= high or high == 0:
        raise ValueError(f"low and high must be finite with 0 <= low <= high and 0 < high, got {low!r} and {high!r}.")
    drawn = np.triu(_generator(random_state).uniform(low, high, size=(count, count)), k=1)
    return CostMatrix(drawn + drawn.T, labels)


def random_normal(classes: Any, random_state: Any = None) -> CostMatrix:
    """Return random costs, sizes of normal numbers whose mean is 1, as the paper on REBEL uses them.

    Parameters
    ----------
    classes : int or sequence of labels
        The number of classes, or their labels.
    random_state : int, Generator or RandomState, optional
        Source of randomness. An int gives the same matrix every time.

    Returns
    -------
    CostMatrix
        Of shape (K, K), with 0 on the diagonal. The mean of all entries is 1.

    Raises
    ------
    ValueError
        If ``classes`` is refused as in :func:`uniform`.
    TypeError
        If ``classes`` is neither a number nor an ordered collection of labels.

    Notes
    -----
    The paper (Fig. 3) describes "zeros along the diagonals and (positive) normally-distributed off-diagonal entries,
    normalized such that random classification results in unit cost".
    This is read as a mean of 1 over K equally frequent classes and K equally frequent decisions.

    References
    ----------
    .. [1] R. Appel, X. Burgos-Artizzu and P. Perona, "Improved Multi-Class Cost-Sensitive Boosting via Estimation of
       the Minimum-Risk Class", NIPS 2016.

    Examples
    --------
    >>> from minrisk.costs import random_normal
    >>> round(float(random_normal(5, random_state=0).values.mean()), 12)
    1.0
    """
    count, labels = _count(classes)
    drawn = np.abs(_generator(random_state).standard_normal((count, count)))
    np.fill_diagonal(drawn, 0.0)
    return CostMatrix(drawn / drawn.mean(), labels)


def with_reject(cost: Any, price: Any, label: Any = None) -> CostMatrix:
    """Add one more decision to costs: to refer a case to somebody else, at a price.

    Referring pays if every other decision has an expected cost above the price.
    A price as high as the most expensive mistake is never worth paying.

    Parameters
    ----------
    cost : array-like of shape (K, D), DataFrame, dict of dicts, CSV file or CostMatrix
        The costs so far. A CostMatrix may have costs on its diagonal.
    price : float, sequence of K floats, dict of class label to float, or pandas Series
        What referring costs, 0 or more: the same for every class, or one price for each class.
        A sequence is in the order of the rows. A Series goes by its labels, unless they are merely 0, 1, ….
    label : label, optional
        Name of the decision. By default "refer" beside classes that are texts.
        Beside numbers it is -1, or the first whole number below that is no class.

    Returns
    -------
    CostMatrix
        Of shape (K, D + 1), with the new decision last.

    Raises
    ------
    ValueError
        If a price is not a finite number of 0 or more, if the prices do not fit the classes, or if the label is a
        decision already, or is given for costs without labels.
    TypeError
        If ``cost`` is None.

    Notes
    -----
    Beside numbers the name is a number too, so that arrays of decisions hold numbers only, as the metrics and plots of
    scikit-learn want them.
    A cost without labels may be for either, so it takes the default name only, and only once.

    Examples
    --------
    >>> from minrisk.costs import uniform, with_reject
    >>> with_reject(uniform(["cat", "dog"]), price=0.2)
    CostMatrix: 2 true classes (rows) x 3 decisions (columns)
         cat  dog  refer
    cat    0    1    0.2
    dog    1    0    0.2
    >>> with_reject(uniform([0, 1]), price=0.2).decisions
    (0, 1, -1)
    """
    if cost is None:
        raise TypeError("cost must be a table of costs, got None: for 0/1 costs start from uniform(classes).")
    matrix = cost if isinstance(cost, CostMatrix) else CostMatrix(cost)
    values = np.column_stack([matrix.values, _prices(price, matrix)])
    if matrix.classes is None or matrix.decisions is None:
        if label not in (None, "refer") or matrix.shape[0] != matrix.shape[1]:
            named = "" if label is None else f" to be named {label!r}"
            raise ValueError(
                f"cost must have labels for its new decision{named}, got a table of shape {matrix.shape} without: "
                "pass CostMatrix(values, classes=...)."
            )
        widened = CostMatrix(values, allow_diagonal=True)
        return widened._from_lowest() if matrix._graded else widened
    name = refer_labels(1, matrix.classes)[0] if label is None else label
    if match_decisions([name], matrix.decisions, matrix.classes) != [-1]:
        raise ValueError(
            f"label must be new among the decisions {listed(matrix.decisions)}, got {name!r}: choose another label."
        )
    return CostMatrix(values, matrix.classes, (*matrix.decisions, name), allow_diagonal=True)


def _prices(price: Any, matrix: CostMatrix) -> FloatArray:
    """Return the checked price of every class, (K,)."""
    names = matrix.classes or tuple(range(matrix.shape[0]))
    if is_series(price):
        labels = as_labels(price.index, "the labels of price")
        numbered = labels == tuple(range(len(labels))) and max(match_labels(names, labels), default=-1) < 0
        price = price.tolist() if numbered else dict(zip(labels, price.tolist(), strict=True))
    if isinstance(price, Mapping):
        positions = match_labels(names, as_labels(price, "the classes of price"))
        if -1 in positions or len(price) != len(names):
            raise ValueError(
                f"price must have one entry per class, expected {listed(names)}, got {listed(list(price))}: "
                f"name every class once."
            )
        entries = list(price.values())
        price = [entries[position] for position in positions]
    given = [price] * len(names) if isinstance(price, str) or np.ndim(price) == 0 else list(price)
    if len(given) != len(names):
        raise ValueError(
            f"price must be one number or one number per class, expected {len(names)} for the classes "
            f"{listed(names)}, got {len(given)}: make them as many."
        )
    for name, value in zip(names, given, strict=True):
        if not is_finite(value) or value < 0:
            raise ValueError(f"price of class {name!r} must be a finite number >= 0, got {value!r}: correct it.")
    return np.array(given, dtype=np.float64)


def _count(classes: Any) -> tuple[int, Labels | None]:
    """Return K and the labels, None where only K is given."""
    if isinstance(classes, numbers.Integral) and not isinstance(classes, bool):
        count, labels = int(classes), None
    elif isinstance(classes, (bool, numbers.Number)) or classes is None:
        raise TypeError(f"classes must be a whole number of classes or a list of labels, got {classes!r}.")
    else:
        labels = as_labels(classes)
        count = len(labels)
    if count < 2:
        raise ValueError(f"classes must be two or more, got {classes!r}: there must be something to decide.")
    return count, labels


def is_finite(value: Any) -> bool:
    """Return whether it is a finite number, and no truth value."""
    try:
        return isinstance(value, numbers.Real) and not isinstance(value, bool) and math.isfinite(value)
    except OverflowError:  # a whole number beyond float64
        return False


def _generator(random_state: Any) -> np.random.Generator | np.random.RandomState:
    if isinstance(random_state, np.random.RandomState):
        return random_state
    return np.random.default_rng(random_state)


def _climbs(paths: list[Path]) -> Int32Array:
    """Return len(path_i) - (length of the common beginning of path_i and path_j), (K, K)."""
    common = np.zeros((len(paths), len(paths)), dtype=np.int32)
    for level in map(np.array, zip_longest(*paths, fillvalue=-1)):  # nodes are numbered once for the whole tree
        common += (level[:, None] == level) & (level >= 0)
    return common.diagonal()[:, None] - common


def _leaves(root: Any, below: Callable[[Any], list[Any] | None]) -> tuple[list[_Leaf], int]:
    """Return every leaf with its path, in the order of the tree, and the number of nodes (any depth will do).

    `below` gives what is directly below a node, None for a leaf.
    """
    leaves: list[_Leaf] = []
    pending: list[tuple[Any, Path]] = [(root, ())]
    count = 1
    while pending:
        node, path = pending.pop()
        children = below(node)
        if children is None:
            leaves.append((node, path))
            continue
        pending += reversed([(child, (*path, count + k)) for k, child in enumerate(children)])
        count += len(children)
    return leaves, count


def _below(node: Any) -> list[Any] | None:
    """Return what is directly below a node: members, and what names hold (else the name itself); None for a leaf."""
    if not isinstance(node, _GROUPS):
        return None
    found: list[Any] = []
    for part in [node] if isinstance(node, Mapping) else node:
        if not isinstance(part, Mapping):
            found.append(part)
            continue
        for name, held in part.items():  # names inside a list are named parts of the list's own group
            is_group = isinstance(held, _GROUPS)
            found.append(name if held is None or (is_group and not held) else held if is_group else [held])
    return found


def _graph_leaves(graph: Any) -> list[_Leaf]:
    """Return every leaf of a directed graph with its path, or say why the graph is not one tree."""
    nodes = list(graph.nodes)
    parents = {node: int(graph.in_degree(node)) for node in nodes}
    crowded = [node for node, count in parents.items() if count > 1]
    if crowded:
        raise ValueError(
            f"tree must have one parent per node, got several for {listed(crowded)}: "
            f"remove edges until every node has one, with edges from parent to child."
        )
    roots = [node for node, count in parents.items() if count == 0]
    if len(roots) != 1:
        raise ValueError(
            f"tree must have exactly one root (a node without a parent), got {listed(roots)}: "
            f"join the parts under one root, with edges from parent to child."
        )
    leaves, reached = _leaves(roots[0], lambda node: list(graph.successors(node)) or None)
    if reached != len(nodes):
        raise ValueError(
            f"tree must be connected and without cycles, got {len(nodes) - reached} nodes that the root "
            f"{roots[0]!r} does not reach: remove the cycle."
        )
    return leaves
