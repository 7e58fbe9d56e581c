"""Time, memory and expected cost of fits and decisions, for asv to follow from commit to commit.

Every fit has one thread and a fixed seed, so that figures of two commits differ by the code alone.
"""

from __future__ import annotations

import numpy as np
from sklearn.datasets import load_digits, load_wine, make_classification
from sklearn.model_selection import train_test_split

from minrisk import MinRiskClassifier, REBELClassifier
from minrisk.costs import CostMatrix, random_symmetric
from minrisk.metrics import expected_cost

METHODS = {
    "MinRiskClassifier": lambda: MinRiskClassifier(n_jobs=1, random_state=0),
    "REBELClassifier": lambda: REBELClassifier(n_estimators=100, n_jobs=1),
}
DATA = {
    "digits": lambda: load_digits(return_X_y=True),  # 1 797 rows, 64 columns, 10 classes
    "wine": lambda: load_wine(return_X_y=True),  # 178 rows, 13 columns, 3 classes
    "made": lambda: make_classification(  # 3 000 rows, 20 columns, 20 classes
        3000, 20, n_informative=10, n_classes=20, n_clusters_per_class=1, random_state=0
    ),
}


def parts(data: str) -> tuple[list[np.ndarray], CostMatrix]:
    """Return training rows, test rows, their classes, and what mistakes cost."""
    X, y = DATA[data]()
    cost = random_symmetric(int(y.max()) + 1, random_state=0)
    return train_test_split(X, y, test_size=0.3, stratify=y, random_state=0), cost


class Fit:
    """How long a fit takes, and how much memory the process needs for it."""

    params = (list(METHODS), list(DATA))
    param_names = ("method", "data")
    timeout = 300

    def setup(self, method: str, data: str) -> None:
        """Make the rows and an estimator that is not fitted."""
        (self.X, _, self.y, _), self.cost = parts(data)
        self.estimator = METHODS[method]()

    def time_fit(self, method: str, data: str) -> None:
        """Seconds."""
        self.estimator.fit(self.X, self.y, cost=self.cost)

    def peakmem_fit(self, method: str, data: str) -> None:
        """Bytes of the whole process, Python and the libraries included."""
        self.estimator.fit(self.X, self.y, cost=self.cost)


class Decide:
    """How long decisions about the test rows take, and what they cost."""

    params = (list(METHODS), list(DATA))
    param_names = ("method", "data")
    timeout = 300

    def setup(self, method: str, data: str) -> None:
        """Fit the training rows."""
        (X, self.X, y, self.y), self.cost = parts(data)
        self.estimator = METHODS[method]().fit(X, y, cost=self.cost)

    def time_predict(self, method: str, data: str) -> None:
        """Seconds for all test rows in one call."""
        self.estimator.predict(self.X)

    def track_expected_cost(self, method: str, data: str) -> float:
        """Mean cost of a test row. A mistake costs between 1 and 10."""
        return expected_cost(self.y, self.estimator.predict(self.X), self.cost)

    track_expected_cost.unit = "cost"
