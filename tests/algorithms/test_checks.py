"""scikit-learn's checks of parameters that `tests/estimator/test_estimator.py` does not try."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from minrisk import (
    AdaBoostECCClassifier,
    AdaBoostMHClassifier,
    AdaBoostMOClassifier,
    AdaBoostSIPClassifier,
    AOSOLogitBoostClassifier,
    BAdaCostClassifier,
    GentleBoostClassifier,
    GradBoostClassifier,
    LocalizedSimilaritiesClassifier,
    StructBoostClassifier,
)

MODELS = [
    GradBoostClassifier(n_estimators=30, max_features=0.5, n_jobs=2),
    AOSOLogitBoostClassifier(n_estimators=10, learning_rate=0.5, max_features=0.5, n_jobs=2),
    GentleBoostClassifier(n_estimators=4, variant="margin", max_depth=2),
    AdaBoostECCClassifier(n_estimators=5, max_depth=2, n_jobs=2),
    BAdaCostClassifier(n_estimators=5, max_features=0.5, n_jobs=2),
    AdaBoostMHClassifier(n_estimators=5, response="sign", max_depth=3),
    GentleBoostClassifier(n_estimators=5, max_depth=3, n_jobs=2),
    AdaBoostMOClassifier(n_estimators=5, code="random", decoding="hamming", response="sign", random_state=0, n_jobs=2),
    AdaBoostMOClassifier(n_estimators=5, code="one-vs-all", max_depth=3, max_features=0.5),
    AdaBoostMOClassifier(n_estimators=5, response="own", max_depth=2, n_jobs=2),
    AdaBoostSIPClassifier(n_estimators=5, max_depth=3, max_features=0.5, n_jobs=2),
    LocalizedSimilaritiesClassifier(n_estimators=5, response="sign", scaling="standard", n_jobs=2),
    StructBoostClassifier(n_estimators=10, solver_iterations=5),
    StructBoostClassifier(n_estimators=5, solver_iterations=5, weak_learner="tree", max_features=0.5, n_jobs=2),
]
MARGINS = "steps of pure leaves are alike, and rounding decides"


def expected_failures(estimator):
    """Of few noisy rows: see `tests/estimator/test_estimator.py`."""
    of_margins = getattr(estimator, "variant", None) == "margin"
    of_votes = isinstance(estimator, AdaBoostMHClassifier) and estimator.response == "sign"
    found = {}
    if of_margins or of_votes or estimator._parts_rows:
        found["check_class_weight_classifiers"] = "learners may part single rows of little weight"
    if of_margins:
        found |= {f"check_sample_weight_equivalence_on_{kind}_data": MARGINS for kind in ("dense", "sparse")}
    return found


@pytest.mark.slow
@parametrize_with_checks(MODELS, expected_failed_checks=expected_failures)
def test_scikit_learn_checks(estimator, check):
    check(estimator)
