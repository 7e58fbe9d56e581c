"""skl2onnx converts Pipelines that end in an estimator of this package."""

from __future__ import annotations

from typing import Any

from minrisk.export.onnx_graph import Graph
from minrisk.export.onnx_model import ML_OPSET, add_model
from minrisk.export.parts import library, parts_of


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
