"""Models as ONNX graphs, out of which decisions come: trees are one operator, links and costs ordinary nodes."""

from __future__ import annotations

from typing import Any

import numpy as np

from minrisk._typing import Labels
from minrisk.estimator.parameters import Choice, Rule, Text, check_parameters
from minrisk.export.onnx_graph import Graph
from minrisk.export.onnx_nodes import add_decision, add_expected, add_probabilities, add_scores
from minrisk.export.parts import ModelParts, check_numbers_only, described, library, parts_of

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
        opset_imports=[helper.make_opsetid("", OPSET), helper.make_opsetid("ai.onnx.ml", ML_OPSET)],
        ir_version=IR_VERSION,
        producer_name="minrisk",
        doc_string=f"{parts.name} of minrisk",
    )


def add_model(graph: Graph, parts: ModelParts, X: str, input_type: str, tree_type: str) -> dict[str, str]:
    """Add all nodes of a model; the names of its outputs in the graph, by what they hold."""
    check_numbers_only(parts, "ONNX")
    numbers = X if input_type == "float64" else graph.cast(X, "float64")
    scores = add_scores(graph, parts, X, numbers, tree_type)
    found: dict[str, str] = {"scores": scores}
    expected = None
    if parts.model.link is not None:
        found["probabilities"] = add_probabilities(graph, parts.model.link, parts.model.temperature, scores)
    if parts.by_costs:
        expected = found["expected_cost"] = add_expected(graph, parts, numbers, found["probabilities"])
        if parts.regression is not None:
            found["expected_cost"] = graph.add("Mul", expected, graph.constant(parts.regression.unit))
    return {"decision": add_decision(graph, label_tensor(parts.decisions), scores, expected), **found}


def label_tensor(labels: Labels) -> np.ndarray:
    """Labels as a tensor of ONNX: int64, float64, truth values or texts; dates and mixed kinds as texts."""
    values = np.asarray(described(labels))
    kind = {"i": np.int64, "u": np.int64, "f": np.float64, "b": np.bool_}.get(values.dtype.kind, object)
    return values.astype(kind)
