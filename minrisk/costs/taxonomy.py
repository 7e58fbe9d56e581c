"""Costs from a taxonomy: a mistake costs the climb to the smallest group that holds both classes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from minrisk._typing import Int32Array
from minrisk.costs.labels import as_labels, listed, match_labels
from minrisk.costs.matrix import CostMatrix

Path = tuple[int, ...]  # the numbers of the nodes from the root down to a node; the root has none
_Leaf = tuple[Any, Path]


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
    elif isinstance(tree, (Mapping, list, tuple)):
        leaves = _nested_leaves(tree)
    else:
        raise TypeError(
            f"tree must be a nested dict or list, or a directed graph with edges from parent to child, got "
            f"{type(tree).__name__}: write it as {{group: [class, class, ...]}}."
        )
    names = as_labels([name for name, _ in leaves], "the leaves of tree")
    wanted = names if classes is None else as_labels(classes)
    positions = match_labels(wanted, names)
    unknown = [label for label, position in zip(wanted, positions, strict=True) if position < 0]
    if unknown:
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


def _climbs(paths: list[Path]) -> Int32Array:
    """Return len(path_i) - (length of the common beginning of path_i and path_j), (K, K)."""
    depth = np.array([len(path) for path in paths], dtype=np.int32)
    nodes = np.full((len(paths), int(depth.max())), -1, dtype=np.int64)
    for i, path in enumerate(paths):
        nodes[i, : len(path)] = path
    nodes[nodes < 0] = -1 - np.nonzero(nodes < 0)[0]  # below a leaf nothing is shared: i has -1 - i there
    common = np.zeros((len(paths), len(paths)), dtype=np.int32)
    together = np.ones(common.shape, dtype=bool)
    for level in nodes.T:  # nodes are numbered once for the whole tree
        together &= level[:, None] == level[None, :]
        common += together
    np.fill_diagonal(common, depth)
    return depth[:, None] - common


def _nested_leaves(tree: Any) -> list[_Leaf]:
    """Return every leaf with its path, in the order of the tree (without recursion: any depth will do)."""
    leaves: list[_Leaf] = []
    pending: list[tuple[Any, Path]] = [(tree, ())]
    count = 0
    while pending:
        held, path = pending.pop()
        if not _is_group(held):
            leaves.append((held, path))
            continue
        members = list(_members(held))
        children = [(member, (*path, count + k)) for k, member in enumerate(members)]
        count += len(members)
        pending.extend(reversed(children))
    return leaves


def _is_group(held: Any) -> bool:
    return isinstance(held, (Mapping, list, tuple))


def _members(group: Any) -> Iterator[Any]:
    """Yield what is directly below a group: its members, or what its names hold (else the name itself)."""
    if isinstance(group, Mapping):
        for name, below in group.items():
            if below is None or (_is_group(below) and not below):
                yield name
            else:
                yield below if _is_group(below) else [below]  # a single leaf is a group of one
        return
    for member in group:
        if isinstance(member, Mapping):  # names inside a list are named parts of the list's own group
            yield from _members(member)
        else:
            yield member


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
    leaves: list[_Leaf] = []
    number = {node: i for i, node in enumerate(nodes)}
    pending: list[tuple[Any, Path]] = [(roots[0], ())]
    reached = 0
    while pending:
        node, path = pending.pop()
        reached += 1
        below = list(graph.successors(node))
        if not below:
            leaves.append((node, path))
        pending.extend((child, (*path, number[child])) for child in reversed(below))
    if reached != len(nodes):
        raise ValueError(
            f"tree must be connected and without cycles, got {len(nodes) - reached} nodes that the root "
            f"{roots[0]!r} does not reach: remove the cycle."
        )
    return leaves
