"""Models as ONNX graphs, out of which decisions come: trees are one operator, links and costs ordinary nodes."""

from __future__ import annotations

from typing import Any

import numpy as np

from minrisk._kernels._dtypes import FAR
from minrisk._typing import FloatArray, Labels
from minrisk.estimator.parameters import Choice, Rule, Text, check_parameters
from minrisk.export.parts import LeafTrees, ModelParts, check_numbers_only, leaf_trees, library, parts_of, trees_of
from minrisk.model.codes import Decoder
from minrisk.model.links import LEAST_SHARE, Link
from minrisk.model.projection import Projection, SmoothScores

ML_DOMAIN = "ai.onnx.ml"
OPSET, ML_OPSET, IR_VERSION = 17, 3, 8  # of ONNX 1.12: runtimes of 2022 and later read them
TYPES = Choice(("float32", "float64"))
GRAPH_RULES: dict[str, Rule] = {"input_type": TYPES, "tree_type": TYPES, "name": Text()}


def to_onnx(
    model: Any, cost: Any = None, *, input_type: str = "float32", tree_type: str = "float64", name: str = "X"
) -> Any:
    """Make an ONNX model that decides as a fitted estimator does.

    Parameters
    ----------
    model : estimator
        A classifier of minrisk, fitted on numbers.
    cost : array-like of shape (K, D), DataFrame, dict of dicts, CSV file or CostMatrix, optional
        Costs to decide by, one matrix for all rows. By default those of the fit.
    input_type : {"float32", "float64"}, default="float32"
        Type of the input. A row of float32 numbers is decided as `predict` decides the same row.
        Numbers that float32 does not hold are rounded by the caller, and may then be on the other side of a threshold.
    tree_type : {"float64", "float32"}, default="float64"
        Type in which thresholds are compared and vectors are summed. "float32" makes smaller files and rounds more
        often.
    name : str, default="X"
        Name of the input.

    Returns
    -------
    onnx.ModelProto
        ``it.SerializeToString()`` is what ``onnxruntime.InferenceSession`` and files take.

    Raises
    ------
    TypeError
        If the model is no estimator of this package.
    NotFittedError
        If it is not fitted.
    ValueError
        If the model holds what a graph cannot (similarities, regressors of scikit-learn, lines in leaves, categories),
        or `cost` is given and it knows no probabilities. The message names a way.
    ImportError
        If onnx is not installed.

    Notes
    -----
    The graph has an input of shape (n, d) and these outputs, of which a session computes those that are asked for:

    ==================  ==========  ==========================================================================
    output              shape       what
    ==================  ==========  ==========================================================================
    ``decision``        (n,)        What `predict` returns: the label of the least expected cost, or of the
                                    largest score. Whole numbers are int64, texts strings.
    ``scores``          (n, D)      H(x), float64.
    ``probabilities``   (n, K)      What `predict_proba` returns, float64; if there are probabilities.
    ``expected_cost``   (n, D)      Of each decision, above the cheapest decision of each class, in the unit of
                                    the costs, float64; if costs decide.
    ==================  ==========  ==========================================================================

    Trees are one ``TreeEnsembleRegressor`` of ai.onnx.ml 3 with a target for each score, so every leaf has several
    weights.
    All else are nodes of the standard operators: linear features (a product in float64, rounded to float32), smooth
    members, the bits of output codes, the link, and costs as a product and the place of the smallest.

    ONNX Runtime hands the sums of trees on as float32 with both values of `tree_type`.
    "float64" rounds a score once, by at most 6e-8 of its size; "float32" rounds it at every tree.
    With "float32" each threshold is the largest float32 number at or below it, so that float32 inputs fall on the same
    side.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from minrisk import MinRiskClassifier
    >>> from minrisk.export import to_onnx
    >>> X, y = load_iris(return_X_y=True)
    >>> model = MinRiskClassifier(n_estimators=5, random_state=0).fit(X, y)
    >>> graph = to_onnx(model)  # doctest: +SKIP
    >>> session = onnxruntime.InferenceSession(graph.SerializeToString())  # doctest: +SKIP
    >>> session.run(["decision"], {"X": X[:3].astype("float32")})  # doctest: +SKIP
    [array([0, 0, 0])]
    """
    check_parameters("to_onnx", {"input_type": input_type, "tree_type": tree_type, "name": name}, GRAPH_RULES)
    if (input_type, tree_type) == ("float64", "float32"):
        raise ValueError("tree_type='float32' would round inputs of float64: use input_type='float32' as well.")
    onnx = library("onnx", "onnx")
    parts = parts_of(model, cost, "to_onnx")
    graph = Graph()
    found = add_model(graph, parts, name, input_type, tree_type)
    helper, number = onnx.helper, onnx.TensorProto
    kind = number.FLOAT if input_type == "float32" else number.DOUBLE
    outputs = []
    for output, made in found.items():
        graph.add("Identity", made, output=output)
        element, shape = number.DOUBLE, ["n", None]
        if output == "decision":
            element, shape = helper.np_dtype_to_tensor_dtype(label_tensor(parts.decisions).dtype), ["n"]
        outputs.append(helper.make_tensor_value_info(output, element, shape))
    inputs = [helper.make_tensor_value_info(name, kind, ["n", parts.model.n_features])]
    made = helper.make_graph(graph.nodes, "minrisk", inputs, outputs, graph.constants)
    return helper.make_model(
        made,
        opset_imports=[helper.make_opsetid("", OPSET), helper.make_opsetid(ML_DOMAIN, ML_OPSET)],
        ir_version=IR_VERSION,
        producer_name="minrisk",
        doc_string=f"{parts.name} of minrisk",
    )


def add_model(graph: Graph, parts: ModelParts, X: str, input_type: str, tree_type: str) -> dict[str, str]:
    """Add all nodes of a model; return the names of its outputs in the graph, by what they hold."""
    check_numbers_only(parts, "ONNX")
    numbers = X if input_type == "float64" else graph.cast(X, "float64")
    scores = add_scores(graph, parts, X, numbers, tree_type)
    found: dict[str, str] = {"scores": scores}
    expected = None
    if parts.model.link is not None:
        found["probabilities"] = add_probabilities(graph, parts.model.link, parts.model.temperature, scores)
    if parts.cost is not None or parts.regression is not None:
        expected = found["expected_cost"] = add_expected(graph, parts, numbers, found["probabilities"])
        if parts.regression is not None:
            found["expected_cost"] = graph.add("Mul", expected, parts.regression.unit)
    by, operator = (scores, "ArgMax") if expected is None else (expected, "ArgMin")  # of equals the first
    place = graph.add(operator, by, axis=1, keepdims=0)
    return {"decision": graph.add("Gather", label_tensor(parts.decisions), place, axis=0), **found}


def label_tensor(labels: Labels) -> np.ndarray:
    """Return labels as a tensor of ONNX: int64, float64, truth values or texts; dates and mixed kinds as texts."""
    values = np.asarray(labels).tolist()
    if not all(isinstance(value, bool | int) for value in values) and not all(isinstance(v, float) for v in values):
        values = [str(label) for label in np.asarray(labels)]
    made = np.asarray(values)
    kind = {"i": np.int64, "u": np.int64, "f": np.float64, "b": np.bool_}.get(made.dtype.kind, object)
    return made.astype(kind)


def add_scores(graph: Graph, parts: ModelParts, X: str, numbers: str, tree_type: str) -> str:
    """Add H(x): trees, smooth members, and what a decoder makes of them; X as given, and as `numbers` in float64."""
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
    """Add (x - center) @ weights in float64, rounded to float32; a missing value counts as the center."""
    apart = graph.add("Sub", numbers, linear.center)
    apart = graph.add("Clip", apart, -FAR, FAR)
    sums = graph.add("MatMul", _without_missing(graph, apart), linear.weights)
    return graph.cast(sums, "float32")


def add_smooth(graph: Graph, smooth: SmoothScores, numbers: str) -> str:
    """Add the sum of exp(-width |z - z_c|^2) a_c, with |z - z_c|^2 = |z|^2 - 2 <z, z_c> + |z_c|^2."""
    used = np.flatnonzero(smooth.scale != 0.0)
    landmarks = smooth.landmarks[used]
    with np.errstate(over="ignore"):
        norms = (landmarks**2).sum(axis=0)
    if not np.isfinite(norms).all():
        raise ValueError(
            "to_onnx writes squares of the landmarks of smooth members, which must be finite, got landmarks beyond "
            "1e154: keep this model as a file of minrisk."
        )
    columns = graph.add("Gather", numbers, used, axis=1)
    apart = graph.add("Sub", columns, smooth.center[used])
    z = _without_missing(graph, graph.add("Div", apart, smooth.scale[used]))
    own = _sum(graph, graph.add("Mul", z, z), 1, keepdims=1)
    both = graph.add("MatMul", z, -2.0 * landmarks)
    squares = graph.add("Add", both, norms)
    squares = graph.add("Relu", graph.add("Add", squares, own))  # rounding may leave it below 0
    near = graph.add("Exp", graph.add("Mul", squares, -smooth.width))
    return graph.add("MatMul", near, smooth.vectors)


def add_decoded(graph: Graph, decoder: Decoder, bits: str) -> str:
    """Add scores of classes from the scores of bits; see `Decoder`."""
    words = decoder.words.astype(np.float64)
    if decoder.decoding == "hamming":
        same = graph.add("MatMul", graph.add("Sign", bits), words.T)
        return graph.add("Mul", graph.add("Sub", same, float(decoder.n_bits)), 0.5)
    each = graph.add("Unsqueeze", bits, np.array([1]))
    signed = graph.add("Mul", each, -words)  # (n, K, L)
    below = graph.add("Sub", graph.add("LogSoftmax", signed, axis=2), signed)  # -log sum exp, in every entry
    return graph.add("Gather", below, np.array(0), axis=2)


def add_probabilities(graph: Graph, link: Link, temperature: float, scores: str) -> str:
    """Add probabilities: the softmax of the link's log-probabilities at scores / temperature."""
    h = graph.add("Div", scores, temperature)
    if link.endswith("2"):
        h = graph.add("Mul", h, 2.0)
    if link.startswith("sigmoid"):  # log sigmoid(h) = min(h, 0) - log(1 + exp(-|h|))
        tail = graph.add("Exp", graph.add("Neg", graph.add("Abs", h)))
        tail = graph.add("Log", graph.add("Add", tail, 1.0))
        h = graph.add("Sub", graph.add("Min", h, 0.0), tail)
    elif link == "linear":
        h = graph.add("Mul", graph.add("Add", h, 1.0), 0.5)
        h = graph.add("Log", graph.add("Clip", h, LEAST_SHARE, 1.0))
    return graph.add("Softmax", h, axis=-1)


def add_expected(graph: Graph, parts: ModelParts, numbers: str, probabilities: str) -> str:
    """Add the expected cost of each decision: p @ C, or with costs m(x) that were learnt sum_j p_j m_jk(x).

    All m_jk are one ensemble of K D targets, of which the trees of a class add to D.
    """
    regression = parts.regression
    if regression is None:
        assert parts.cost is not None
        return graph.add("MatMul", probabilities, parts.cost)
    K, D = regression.means.shape
    of_trees = np.repeat(np.arange(K), np.diff(regression.bounds))  # the class of each tree
    packed, vectors = regression.packed, np.zeros((len(regression.vectors), K, D))
    vectors[np.arange(len(vectors)), np.repeat(of_trees, np.diff(packed.vector_offsets))] = regression.vectors
    trees = leaf_trees(packed, vectors.reshape(-1, K * D))
    costs = graph.trees(numbers, trees, regression.means.ravel(), "float64")
    costs = graph.add("Reshape", graph.add("Relu", costs), np.array([-1, K, D]))
    each = graph.add("Unsqueeze", probabilities, np.array([2]))
    return _sum(graph, graph.add("Mul", costs, each), 1, keepdims=0)


def _without_missing(graph: Graph, numbers: str) -> str:
    """Add numbers with 0 in place of missing ones."""
    return graph.add("Where", graph.add("IsNaN", numbers), 0.0, numbers)


def _sum(graph: Graph, numbers: str, axis: int, keepdims: int) -> str:
    """Add sums along an axis."""
    return graph.add("ReduceSum", numbers, np.array([axis]), keepdims=keepdims)


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

    def _constant(self, values: Any) -> str:
        """Add a constant; return its name."""
        array = np.asarray(values)
        if np.isscalar(values) or array.dtype.kind == "f":
            array = array.astype(np.float64)
        name = self._name("constant")
        self.constants.append(self._onnx.numpy_helper.from_array(array, name))
        return name

    def add(self, operator: str, *inputs: Any, output: str | None = None, domain: str = "", **attributes: Any) -> str:
        """Add a node of one output and return the name of that; inputs are names, or numbers that become constants."""
        names = [each if isinstance(each, str) else self._constant(each) for each in inputs]
        output = output or self._name(operator.lower())
        node = self._onnx.helper.make_node(operator, names, [output], f"{output}_node", domain=domain, **attributes)
        self.nodes.append(node)
        return output

    def cast(self, X: str, dtype: str) -> str:
        """Add a node that makes numbers of this type."""
        number = self._onnx.TensorProto
        return self.add("Cast", X, to=int(number.FLOAT if dtype == "float32" else number.DOUBLE))

    def trees(self, X: str, trees: LeafTrees, base: FloatArray, dtype: str) -> str:
        """Add sums of what the leaves add, and `base`; X of that type, the output float64.

        A node of the operator compares ``x <= threshold``, and a missing value counts as true. `base` has a node of its
        own: runtimes leave it out for a target to which no leaf of a row adds, where it is an attribute.
        """
        attributes: dict[str, Any] = {name: values.tolist() for name, values in ensemble_attributes(trees).items()}
        thresholds = np.where(trees.is_leaf, 0.0, trees.threshold)
        thresholds = thresholds if dtype == "float64" else float32_below(thresholds)
        for name, numbers in {"nodes_values": thresholds, "target_weights": attributes.pop("target_weights")}.items():
            if dtype == "float64":
                tensor = self._onnx.numpy_helper.from_array(np.asarray(numbers, dtype=np.float64), name)
                attributes[f"{name}_as_tensor"] = tensor
            else:
                attributes[name] = np.asarray(numbers, dtype=np.float32).tolist()
        sums = self.add(
            "TreeEnsembleRegressor", X, domain=ML_DOMAIN, n_targets=len(base), post_transform="NONE", **attributes
        )
        return self.add("Add", self.cast(sums, "float64"), base)


def ensemble_attributes(trees: LeafTrees) -> dict[str, np.ndarray]:
    """Return what says where nodes are and what leaves add; entries of 0 are left out, but for one of each leaf."""
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


def float32_below(numbers: FloatArray) -> np.ndarray:
    """Return the largest float32 numbers at or below these: float32 numbers are on the same side of both.

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


def register_skl2onnx() -> None:
    """Tell skl2onnx how to convert the estimators of this package, so that it converts pipelines with them.

    Raises
    ------
    ImportError
        If skl2onnx is not installed.

    Notes
    -----
    The converted step has two outputs: the decision, and the probabilities, or the scores of models without any.
    The options ``zipmap`` (``{id(model): {"zipmap": False}}`` gives arrays in place of dictionaries) and ``raw_scores``
    (scores as the second output) are those of skl2onnx's own classifiers.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from minrisk import MinRiskClassifier
    >>> from minrisk.export import register_skl2onnx
    >>> X, y = load_iris(return_X_y=True)
    >>> model = make_pipeline(StandardScaler(), MinRiskClassifier(n_estimators=5, random_state=0)).fit(X, y)
    >>> register_skl2onnx()  # doctest: +SKIP
    >>> graph = skl2onnx.to_onnx(model, X[:1].astype("float32"), options={"zipmap": False})  # doctest: +SKIP
    """
    from minrisk.algorithms import ALGORITHMS

    register = library("skl2onnx", "onnx").update_registered_converter
    shapes = library("skl2onnx.common.shape_calculator", "onnx").calculate_linear_classifier_output_shapes
    for estimator in ALGORITHMS:
        register(
            estimator,
            f"MinRisk{estimator.__name__}",
            shapes,
            _convert,
            overwrite=True,
            options={
                "zipmap": [True, False, "columns"],
                "raw_scores": [True, False],
                "output_class_labels": [False, True],
                "nocl": [True, False],
            },
        )


def _convert(scope: Any, operator: Any, container: Any) -> None:
    """Add the nodes of an estimator to the graph that skl2onnx makes."""
    helper = library("onnx", "onnx").helper
    parts, (X,) = parts_of(operator.raw_operator), operator.inputs
    graph = Graph(scope.get_unique_variable_name("minrisk"))
    kind = type(X.type).__name__
    name, input_type = X.full_name, "float32" if kind == "FloatTensorType" else "float64"
    if kind not in ("FloatTensorType", "DoubleTensorType"):
        name = graph.cast(name, "float64")
    found = add_model(graph, parts, name, input_type, "float64")
    raw = container.get_options(operator.raw_operator, {"raw_scores": False}).get("raw_scores", False)
    second = found["scores"] if raw else found.get("probabilities", found["scores"])
    graph.add("Identity", found["decision"], output=operator.outputs[0].full_name)
    double = type(operator.outputs[1].type).__name__ == "DoubleTensorType"
    number = graph.cast(second, "float64" if double else "float32")
    graph.add("Identity", number, output=operator.outputs[1].full_name)
    container.initializers.extend(graph.constants)
    for node in graph.nodes:
        attributes = {one.name: helper.get_attribute_value(one) for one in node.attribute}
        container.add_node(
            node.op_type,
            list(node.input),
            list(node.output),
            op_domain=node.domain,
            name=node.name,
            op_version=ML_OPSET if node.domain else None,
            **attributes,
        )
