"""A graph of ONNX in the making."""

from __future__ import annotations

from typing import Any

import numpy as np

from minrisk._typing import FloatArray
from minrisk.export.parts import LeafTrees, library

ML_DOMAIN = "ai.onnx.ml"


class Graph:
    """Nodes and constants, whose names are unique within it.

    Parameters
    ----------
    prefix : str
        Of all names, which keeps them apart from those of a graph that takes these nodes in.

    Attributes
    ----------
    nodes : list of onnx.NodeProto
        Each behind those that it reads.
    constants : list of onnx.TensorProto
    """

    def __init__(self, prefix: str = "minrisk") -> None:
        self._onnx = library("onnx", "onnx")
        self._prefix, self._made = prefix, 0
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def _name(self, what: str) -> str:
        self._made += 1
        return f"{self._prefix}_{what}_{self._made}"

    def constant(self, values: Any, dtype: Any = np.float64) -> str:
        """A constant; its name."""
        name = self._name("constant")
        self.constants.append(self._onnx.numpy_helper.from_array(np.asarray(values, dtype=dtype), name))
        return name

    def add(self, operator: str, *inputs: str, output: str | None = None, domain: str = "", **attributes: Any) -> str:
        """A node of one output; the name of that."""
        output = output or self._name(operator.lower())
        helper = self._onnx.helper
        node = helper.make_node(operator, inputs, [output], name=f"{output}_node", domain=domain)
        for name, value in attributes.items():
            node.attribute.append(self._attribute(name, value))
        self.nodes.append(node)
        return output

    def cast(self, X: str, dtype: str) -> str:
        """A node that makes numbers of this type."""
        number = self._onnx.TensorProto
        return self.add("Cast", X, to=int(number.FLOAT if dtype == "float32" else number.DOUBLE))

    def trees(self, X: str, trees: LeafTrees, base: FloatArray, dtype: str) -> str:
        """Sums of what the leaves add, and `base`; X of that type, the output float64.

        A node of the operator compares ``x <= threshold``, and a missing value counts as true. `base` has a node of its
        own: runtimes leave it out for a target to which no leaf of a row adds, where it is an attribute.
        """
        attributes = ensemble_attributes(trees)
        values = {"nodes_values": _thresholds(trees, dtype), "target_weights": attributes.pop("target_weights")}
        for name, numbers in values.items():
            if dtype == "float64":
                tensor = self._onnx.numpy_helper.from_array(np.asarray(numbers, dtype=np.float64), name)
                attributes[f"{name}_as_tensor"] = tensor
            else:
                attributes[name] = np.asarray(numbers, dtype=np.float32)
        sums = self.add(
            "TreeEnsembleRegressor", X, domain=ML_DOMAIN, n_targets=len(base), post_transform="NONE", **attributes
        )
        return self.add("Add", self.cast(sums, "float64"), self.constant(base))

    def _attribute(self, name: str, value: Any) -> Any:
        """An attribute; those of millions of numbers are not looked at one by one."""
        if not isinstance(value, np.ndarray):
            return self._onnx.helper.make_attribute(name, value)
        made, kinds = self._onnx.AttributeProto(name=name), self._onnx.AttributeProto
        if value.dtype.kind == "f":
            made.type = kinds.FLOATS
            made.floats.extend(value.tolist())
        elif value.dtype.kind == "S":
            made.type = kinds.STRINGS
            made.strings.extend(value.tolist())
        else:
            made.type = kinds.INTS
            made.ints.extend(value.tolist())
        return made


def ensemble_attributes(trees: LeafTrees) -> dict[str, Any]:
    """What says where nodes are and what leaves add; entries of 0 are left out, but for one of each leaf."""
    sizes = np.diff(trees.offsets)
    tree = np.repeat(np.arange(len(trees)), sizes)
    node = np.arange(len(tree)) - np.repeat(trees.offsets[:-1], sizes)
    split = ~trees.is_leaf
    named = trees.vectors != 0.0
    named[:, 0] |= ~named.any(axis=1)
    leaf, target = np.nonzero(named)
    at = np.flatnonzero(trees.is_leaf)[leaf]
    return {
        "nodes_treeids": tree,
        "nodes_nodeids": node,
        "nodes_featureids": np.where(split, trees.feature, 0),
        "nodes_modes": np.where(split, b"BRANCH_LEQ", b"LEAF"),
        "nodes_truenodeids": np.where(split, trees.left, 0),
        "nodes_falsenodeids": np.where(split, trees.left + 1, 0),
        "nodes_missing_value_tracks_true": split.astype(np.int64),
        "target_treeids": tree[at],
        "target_nodeids": node[at],
        "target_ids": target,
        "target_weights": trees.vectors[leaf, target],
    }


def _thresholds(trees: LeafTrees, dtype: str) -> np.ndarray:
    """Thresholds, 0 at leaves."""
    thresholds = np.where(trees.is_leaf, 0.0, trees.threshold)
    return thresholds if dtype == "float64" else float32_below(thresholds)


def float32_below(numbers: FloatArray) -> np.ndarray:
    """The largest float32 numbers at or below these: float32 numbers are on the same side of both.

    Examples
    --------
    >>> import numpy as np
    >>> below = float32_below(np.array([0.1, 0.5]))
    >>> (below <= [0.1, 0.5]).all() and below[1] == 0.5
    np.True_
    """
    with np.errstate(over="ignore"):
        rounded = numbers.astype(np.float32)
    return np.where(rounded > numbers, np.nextafter(rounded, np.float32(-np.inf)), rounded)
