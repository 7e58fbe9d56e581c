"""Models for Treelite, whose GTIL runs them and whose TL2cgen makes C of them.

H. Cho and M. Li, "Treelite: toolbox for decision tree deployment", SysML 2018.
"""

from __future__ import annotations

from typing import Any

from minrisk._typing import FloatArray
from minrisk.estimator.parameters import Flag, check_parameters
from minrisk.export.parts import LeafTrees, ModelParts, check_numbers_only, finite, library, parts_of, trees_of

# link -> what Treelite does with the scores, and the factor that these have beside 1 / temperature
POSTPROCESSORS = {
    None: ("identity_multiclass", None),
    "linear": ("identity_multiclass", None),
    "softmax": ("softmax", 1.0),
    "softmax2": ("softmax", 2.0),
    "sigmoid": ("multiclass_ova", 1.0),
    "sigmoid2": ("multiclass_ova", 2.0),
}


def to_treelite(model: Any, *, linear_features: bool = False) -> Any:
    """Make a Treelite model of a fitted estimator's trees.

    Parameters
    ----------
    model : estimator
        A fitted classifier of minrisk, with trees.
    linear_features : bool, default=False
        Whether the caller puts the linear features behind the columns of X, by `minrisk.export.parts`.
        False refuses a model that has some.

    Returns
    -------
    treelite.Model
        ``treelite.gtil.predict(it, X)`` has the shape (n, 1, D).

    Raises
    ------
    TypeError
        If the model is no estimator of this package.
    NotFittedError
        If it is not fitted.
    ValueError
        If the model holds what Treelite cannot: smooth members, similarities, output codes, lines in leaves,
        categories, or costs that are learnt for each row. The message names a way.
    ImportError
        If Treelite is not installed.

    Notes
    -----
    It is a multi-class model (``kMultiClf``) whose leaves hold a vector with an entry for each score.
    Thresholds and vectors are float64, and missing values go left, as here.
    What its ``pred_margin`` gives depends on the link of the loss, the map from scores H(x) to probabilities:

    ================================  ==========================  ============================================
    link                              margin                      prediction
    ================================  ==========================  ============================================
    softmax (the default model)       H / T                       the probabilities
    softmax2                          2 H / T                     the probabilities
    sigmoid, sigmoid2                 H / T, 2 H / T              sigmoids; over their sum the probabilities
    linear, or none                   H                           H
    ================================  ==========================  ============================================

    T is the ``temperature`` of `model_`. Leaf vectors and base scores are divided by it, because Treelite's
    postprocessors have no place for it.
    A decision is the largest margin, or with probabilities p under costs C ``decisions_[(p @ C).argmin(axis=1)]``;
    Treelite itself knows no costs.

    Treelite holds trees only. A model with linear features (a default `MinRiskClassifier` may have them) therefore
    expects these as further columns behind those of X.
    Treelite does not count the columns that it is given, so this has to be asked for.

    Treelite computes the softmax in float32. If 1e-7 of a probability matters, compute it from the margins.

    References
    ----------
    .. [1] H. Cho and M. Li, "Treelite: toolbox for decision tree deployment", SysML 2018.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from minrisk import MinRiskClassifier
    >>> from minrisk.export import to_treelite
    >>> X, y = load_iris(return_X_y=True)
    >>> model = MinRiskClassifier(pool=False, n_estimators=5, random_state=0).fit(X, y)
    >>> trees = to_treelite(model)  # doctest: +SKIP
    >>> treelite.gtil.predict(trees, X)[:, 0].argmax(axis=1)[:5]  # doctest: +SKIP
    array([0, 0, 0, 0, 0])
    """
    parts = parts_of(model, what="to_treelite")
    check_parameters("to_treelite", {"linear_features": linear_features}, {"linear_features": Flag()})
    check_numbers_only(parts, "Treelite")
    _check_trees_only(parts, linear_features)
    trees, additive = trees_of(parts), parts.model
    postprocessor, slope = POSTPROCESSORS[additive.link]
    factor = 1.0 if slope is None else slope / additive.temperature
    linear, base = additive.projection, parts.origin * factor
    make = library("treelite.model_builder", "treelite")
    builder = make.ModelBuilder(
        threshold_type="float64",
        leaf_output_type="float64",
        metadata=make.Metadata(
            num_feature=additive.n_features + (0 if linear is None else linear.n_columns),
            task_type="kMultiClf",
            average_tree_output=False,
            num_target=1,
            num_class=[len(base)],
            leaf_vector_shape=(1, len(base)),
        ),
        tree_annotation=make.TreeAnnotation(
            num_tree=len(trees), target_id=[0] * len(trees), class_id=[-1] * len(trees)
        ),
        postprocessor=make.PostProcessorFunc(name=postprocessor),
        base_scores=base.tolist(),
    )
    _add_trees(builder, trees, trees.vectors * factor)
    return builder.commit()


def _check_trees_only(parts: ModelParts, linear_features: bool) -> None:
    """Refuse what is beside the trees."""
    if parts.model.smooth is not None:
        raise parts.refused(
            "it has smooth members (Gaussian kernels), and Treelite holds trees only",
            "Fit with pool=False, or use to_onnx.",
        )
    if parts.model.projection is not None and not linear_features:
        raise parts.refused(
            "some of its trees split linear features, which Treelite cannot make",
            "Say linear_features=True and give Treelite minrisk.export.linear_features(model)(X) in place of X, fit "
            "with pool=False, or use to_onnx.",
        )
    if parts.model.decoder is not None:
        raise parts.refused("its scores are decoded from the bits of an output code", "Use to_onnx or to_json.")
    if parts.regression is not None:
        raise parts.refused(
            "it decides by costs that were learnt for each row, which are a second set of trees",
            "Use to_onnx or to_json, or fit with a cost matrix.",
        )
    if len(parts.model.intercept) < 2:
        raise parts.refused("it has one score, and a multi-class model has two or more", "Use to_onnx or to_json.")


def _add_trees(builder: Any, trees: LeafTrees, vectors: FloatArray) -> None:
    """Tell a builder of every node; `vectors` (n_leaves, D) are what the leaves add."""
    leaves, thresholds = iter(vectors), finite(trees.threshold)
    for first, last in zip(trees.offsets[:-1], trees.offsets[1:], strict=True):
        builder.start_tree()
        columns = trees.is_leaf, trees.feature, thresholds, trees.left
        nodes = zip(*(column[first:last].tolist() for column in columns), strict=True)
        for key, (is_leaf, feature, threshold, left) in enumerate(nodes):
            builder.start_node(key)
            if is_leaf:
                builder.leaf(next(leaves).tolist())
            else:
                builder.numerical_test(
                    feature, threshold, default_left=True, opname="<=", left_child_key=left, right_child_key=left + 1
                )
            builder.end_node()
        builder.end_tree()
