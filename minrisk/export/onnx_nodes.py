"""Scores, probabilities and decisions as nodes of a graph, each written as the formula that computes it here.

What is passed along are the names of tensors in the graph; all of them are float64.
"""

from __future__ import annotations

import numpy as np

from minrisk._kernels._dtypes import FAR
from minrisk.export.onnx_graph import Graph
from minrisk.export.parts import ModelParts, leaf_trees, trees_of
from minrisk.model.codes import Decoder
from minrisk.model.links import LEAST_SHARE, Link
from minrisk.model.projection import Projection, SmoothScores


def add_scores(graph: Graph, parts: ModelParts, X: str, numbers: str, tree_type: str) -> str:
    """H(x): trees, smooth members, and what a decoder makes of them; X as given, and as `numbers` in float64."""
    model, trees = parts.model, trees_of(parts)
    wide = numbers if tree_type == "float64" else X
    if model.projection is not None:
        linear = add_linear(graph, model.projection, numbers)  # float32
        beside = linear if tree_type == "float32" else graph.cast(linear, "float64")
        wide = graph.add("Concat", wide, beside, axis=1)
    scores = graph.trees(wide, trees, parts.origin, tree_type)
    if model.smooth is not None:
        scores = graph.add("Add", scores, add_smooth(graph, model.smooth, numbers))
    return scores if model.decoder is None else add_decoded(graph, model.decoder, scores)


def add_linear(graph: Graph, linear: Projection, numbers: str) -> str:
    """(x - center) @ weights in float64, rounded to float32; a missing value counts as the center."""
    apart = graph.add("Sub", numbers, graph.constant(linear.center))
    apart = graph.add("Clip", apart, graph.constant(-FAR), graph.constant(FAR))
    sums = graph.add("MatMul", _without_missing(graph, apart), graph.constant(linear.weights))
    return graph.cast(sums, "float32")


def add_smooth(graph: Graph, smooth: SmoothScores, numbers: str) -> str:
    """Sum of exp(-width |z - z_c|^2) a_c, with |z - z_c|^2 = |z|^2 - 2 <z, z_c> + |z_c|^2."""
    used = np.flatnonzero(smooth.scale != 0.0)
    landmarks = smooth.landmarks[used]
    columns = graph.add("Gather", numbers, graph.constant(used, np.int64), axis=1)
    apart = graph.add("Sub", columns, graph.constant(smooth.center[used]))
    z = _without_missing(graph, graph.add("Div", apart, graph.constant(smooth.scale[used])))
    own = _sum(graph, graph.add("Mul", z, z), 1, keepdims=1)
    both = graph.add("MatMul", z, graph.constant(-2.0 * landmarks))
    squares = graph.add("Add", both, graph.constant((landmarks**2).sum(axis=0)))
    squares = graph.add("Relu", graph.add("Add", squares, own))  # rounding may leave it below 0
    near = graph.add("Exp", graph.add("Mul", squares, graph.constant(-smooth.width)))
    return graph.add("MatMul", near, graph.constant(smooth.vectors))


def add_decoded(graph: Graph, decoder: Decoder, bits: str) -> str:
    """Scores of classes from the scores of bits; see `Decoder`."""
    words = decoder.words.astype(np.float64)
    if decoder.decoding == "hamming":
        same = graph.add("MatMul", graph.add("Sign", bits), graph.constant(words.T))
        return graph.add("Mul", graph.add("Sub", same, graph.constant(decoder.n_bits)), graph.constant(0.5))
    each = graph.add("Unsqueeze", bits, graph.constant([1], np.int64))
    signed = graph.add("Mul", each, graph.constant(-words))  # (n, K, L)
    below = graph.add("Sub", graph.add("LogSoftmax", signed, axis=2), signed)  # -log sum exp, in every entry
    return graph.add("Gather", below, graph.constant(0, np.int64), axis=2)


def add_probabilities(graph: Graph, link: Link, temperature: float, scores: str) -> str:
    """Probabilities: the softmax of the link's log-probabilities at scores / temperature."""
    h = graph.add("Div", scores, graph.constant(temperature))
    if link.endswith("2"):
        h = graph.add("Mul", h, graph.constant(2.0))
    if link.startswith("sigmoid"):  # log sigmoid(h) = min(h, 0) - log(1 + exp(-|h|))
        tail = graph.add("Exp", graph.add("Neg", graph.add("Abs", h)))
        tail = graph.add("Log", graph.add("Add", tail, graph.constant(1.0)))
        h = graph.add("Sub", graph.add("Min", h, graph.constant(0.0)), tail)
    elif link == "linear":
        h = graph.add("Mul", graph.add("Add", h, graph.constant(1.0)), graph.constant(0.5))
        h = graph.add("Log", graph.add("Clip", h, graph.constant(LEAST_SHARE), graph.constant(1.0)))
    return graph.add("Softmax", h, axis=-1)


def add_expected(graph: Graph, parts: ModelParts, numbers: str, probabilities: str) -> str:
    """Expected cost of each decision: p @ C, or with costs m(x) that were learnt sum_j p_j m_jk(x).

    All m_jk are one ensemble of K D targets, of which the trees of a class add to D.
    """
    regression = parts.regression
    if regression is None:
        assert parts.cost is not None
        return graph.add("MatMul", probabilities, graph.constant(parts.cost))
    K, D = regression.means.shape
    of_trees = np.repeat(np.arange(K), np.diff(regression.bounds))  # the class of each tree
    packed, vectors = regression.packed, np.zeros((len(regression.vectors), K, D))
    vectors[np.arange(len(vectors)), np.repeat(of_trees, np.diff(packed.vector_offsets))] = regression.vectors
    trees = leaf_trees(packed, vectors.reshape(-1, K * D))
    costs = graph.trees(numbers, trees, regression.means.ravel(), "float64")
    costs = graph.add("Reshape", graph.add("Relu", costs), graph.constant([-1, K, D], np.int64))
    each = graph.add("Unsqueeze", probabilities, graph.constant([2], np.int64))
    return _sum(graph, graph.add("Mul", costs, each), 1, keepdims=0)


def add_decision(graph: Graph, labels: np.ndarray, scores: str, expected: str | None) -> str:
    """The label of the least expected cost, or of the largest score; of equals the first."""
    if expected is None:
        place = graph.add("ArgMax", scores, axis=1, keepdims=0)
    else:
        place = graph.add("ArgMin", expected, axis=1, keepdims=0)
    return graph.add("Gather", graph.constant(labels, labels.dtype), place, axis=0)


def _without_missing(graph: Graph, numbers: str) -> str:
    """Numbers with 0 in place of missing ones."""
    return graph.add("Where", graph.add("IsNaN", numbers), graph.constant(0.0), numbers)


def _sum(graph: Graph, numbers: str, axis: int, keepdims: int) -> str:
    """Sums along an axis."""
    return graph.add("ReduceSum", numbers, graph.constant([axis], np.int64), keepdims=keepdims)
