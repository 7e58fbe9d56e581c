"""One model in ONNX Runtime, in Treelite's GTIL and as JSON, with the decisions of all beside its own.

    pip install 'minrisk[onnx,treelite]' onnxruntime
    python examples/export_models.py

docs/guide/export.md says more about each format.
"""

import json

import numpy as np
import onnxruntime
import treelite
from run_json_model import decision_of
from sklearn.datasets import load_wine

from minrisk import MinRiskClassifier
from minrisk.export import to_json, to_onnx, to_treelite

COSTS = [[0, 1, 1], [1, 0, 1], [10, 10, 0]]  # to take the third wine for another costs ten times as much


def by_onnx(model, X):
    """The costs are in the graph, and the decision comes out."""
    session = onnxruntime.InferenceSession(to_onnx(model).SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(["decision"], {"X": X})[0]


def by_treelite(model, X):
    """Treelite gives probabilities; the costs are applied here."""
    p = treelite.gtil.predict(to_treelite(model), X.astype(np.float64))[:, 0]
    return model.decisions_[(p @ model.cost_.avoidable).argmin(axis=1)]


def by_json(model, X):
    """A reader in plain Python, one row after another."""
    text = json.loads(to_json(model))
    return np.array([decision_of(text, row) for row in X.tolist()])


def main():
    X, y = load_wine(return_X_y=True)
    X = X.astype(np.float32)  # float32 is what the graph takes; every runtime gets the same numbers
    whole = MinRiskClassifier(COSTS, n_estimators=50, random_state=0).fit(X[::2], y[::2])
    trees = MinRiskClassifier(COSTS, n_estimators=50, pool=False, random_state=0).fit(X[::2], y[::2])
    for name, decide, model in (("ONNX", by_onnx, whole), ("JSON", by_json, whole), ("Treelite", by_treelite, trees)):
        differ = np.sum(decide(model, X) != model.predict(X))
        print(f"{name}: {differ} of {len(X)} decisions differ")


if __name__ == "__main__":
    main()
