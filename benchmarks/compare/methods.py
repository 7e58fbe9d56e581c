"""The methods compared: how each is made, what it gives, and where its tuning may look.

Defaults are the packages' own; only seed, threads and verbosity are set. ``probability`` methods are fitted once for
all costs and judged by argmax and by least expected cost; ``costs`` methods are fitted for each cost and decide
themselves.

AdaCost is imbalanced-ensemble's, repaired: with scikit-learn 1.6, which its release 0.2.3 pins, its boosting step is
never called, so that the costs do nothing and it is plain AdaBoost. Here the step is called again. The costs are
divided by the largest, since AdaCost's are at most 1 (Fan et al. 1999) and larger ones overflow, and transposed, since
its rows are the decisions. It needs an environment of its own: ``pip install --no-build-isolation -e '.[adacost]'``.

The reductions are costsensitive's, over LightGBM; all pairs is a model per pair of classes. These three are run on the
sets up to rows x features x classes of about 2 million, where a fit takes minutes at most; costsensitive refuses two
classes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from importlib.metadata import version
from typing import Any, ClassVar, NamedTuple

import numpy as np

from benchmarks.compare.data import SETS, SMALL

Parameters = dict[str, Any]
RECENT = 3  # folds of the random search


class Method(NamedTuple):
    """`make` (seed, jobs, parameters) gives an estimator; one of kind "costs" has `fit(X, y, cost)`."""

    name: str
    make: Callable[[int, int, Parameters], Any]
    kind: str
    package: str
    space: dict[str, tuple[Any, ...]]  # ("log" | "uniform" | "int", low, high), or a tuple of choices
    late: bool = False  # slow on wide sets: those come after everything else
    sets: tuple[str, ...] = tuple(SETS)


def _lightgbm(seed: int, jobs: int, parameters: Parameters) -> Any:
    from lightgbm import LGBMClassifier

    return LGBMClassifier(random_state=seed, n_jobs=jobs, verbosity=-1, **parameters)


def _xgboost(strategy: str) -> Callable[[int, int, Parameters], Any]:
    def make(seed: int, jobs: int, parameters: Parameters) -> Any:
        from xgboost import XGBClassifier

        return XGBClassifier(
            tree_method="hist", multi_strategy=strategy, random_state=seed, n_jobs=jobs, verbosity=0, **parameters
        )

    return make


def _catboost(seed: int, jobs: int, parameters: Parameters) -> Any:
    from catboost import CatBoostClassifier

    return CatBoostClassifier(
        random_seed=seed, thread_count=jobs, verbose=False, allow_writing_files=False, **parameters
    )


def _histogram(seed: int, jobs: int, parameters: Parameters) -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier

    return HistGradientBoostingClassifier(random_state=seed, **parameters)


def _forest(seed: int, jobs: int, parameters: Parameters) -> Any:
    from sklearn.ensemble import RandomForestClassifier

    return RandomForestClassifier(random_state=seed, n_jobs=jobs, **parameters)


def _adacost(seed: int, jobs: int, parameters: Parameters) -> Any:
    from imbens.ensemble import AdaCostClassifier
    from sklearn.tree import DecisionTreeClassifier

    class AdaCost(AdaCostClassifier):
        def _boost(self, *arguments: Any) -> Any:  # scikit-learn's own knows no costs
            return self._boost_discrete(*arguments)

        def fit(self, X: np.ndarray, y: np.ndarray, cost: np.ndarray) -> Any:
            return super().fit(X, y, cost_matrix=np.ascontiguousarray(cost.T / cost.max()))

    parameters = dict(parameters)
    depth = parameters.pop("max_depth", None)  # without one: the package's own base, a stump
    tree = None if depth is None else DecisionTreeClassifier(max_depth=depth)
    return AdaCost(tree, random_state=seed, **parameters)


class _Reduction:
    """A reduction of `costsensitive`, which takes the costs of each row."""

    def __init__(self, name: str, base: str, seed: int, jobs: int, parameters: Parameters) -> None:
        import costsensitive
        import lightgbm

        learner = getattr(lightgbm, base)(random_state=seed, n_jobs=jobs, verbosity=-1, **parameters)
        self.model = getattr(costsensitive, name)(learner, njobs=1)

    def fit(self, X: np.ndarray, y: np.ndarray, cost: np.ndarray) -> _Reduction:
        self.model.fit(X, cost[y])
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        return np.asarray(self.model.predict(X))


class _Ours:
    """`minrisk.MinRiskClassifier`, which takes its cost when it is made."""

    recent: ClassVar[dict[Any, Any]] = {}  # fitted models by their data and parameters: as many as there are folds

    def __init__(self, seed: int, jobs: int, parameters: Parameters) -> None:
        from minrisk import MinRiskClassifier

        known = MinRiskClassifier().get_params()
        own = {"random_state": seed, "n_jobs": jobs}
        self.posterior = parameters.get("surrogate", "auto") in ("auto", "exponential", "softmax") and (
            "time_budget" not in parameters
        )
        self.model = MinRiskClassifier(**{key: own[key] for key in own if key in known}, **parameters)

    def fit(self, X: np.ndarray, y: np.ndarray, cost: np.ndarray) -> _Ours:
        """A surrogate that estimates probabilities is the same fit for all costs: it is made once."""
        self.cost = cost
        if not self.posterior:
            self.model.set_params(cost=cost).fit(X, y)
            return self
        data = X.shape, hash(X.tobytes()), hash(y.tobytes()), str(self.model.get_params())
        if data not in self.recent:
            if len(self.recent) == RECENT:
                self.recent.pop(next(iter(self.recent)))
            self.recent[data] = self.model.fit(X, y)
        self.model = self.recent[data]
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        return np.asarray(self.model.predict(X, cost=self.cost) if self.posterior else self.model.predict(X))

    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        return np.asarray(self.model.predict_proba(X))


_RATE = ("log", 0.02, 0.3)
_XGB = {
    "learning_rate": _RATE,
    "n_estimators": ("int", 50, 400),
    "max_depth": ("int", 2, 10),
    "min_child_weight": ("log", 0.1, 20.0),
    "reg_lambda": ("log", 0.01, 30.0),
    "subsample": ("uniform", 0.5, 1.0),
    "colsample_bytree": ("uniform", 0.4, 1.0),
}
_MULTICLASS = tuple(name for name in SMALL if name != "german")
_LIGHTGBM = {
    "learning_rate": _RATE,
    "n_estimators": ("int", 50, 400),
    "num_leaves": ("int", 4, 64),
    "min_child_samples": ("int", 1, 40),
    "reg_lambda": ("log", 0.01, 30.0),
    "subsample": ("uniform", 0.5, 1.0),
    "subsample_freq": (1,),
    "colsample_bytree": ("uniform", 0.4, 1.0),
}
METHODS = {
    method.name: method
    for method in (
        Method("lightgbm", _lightgbm, "probability", "lightgbm", _LIGHTGBM),
        Method(
            "forest",
            _forest,
            "probability",
            "scikit-learn",
            {
                "n_estimators": ("int", 100, 500),
                "max_features": ("uniform", 0.05, 1.0),
                "min_samples_leaf": ("int", 1, 10),
                "criterion": ("gini", "entropy"),
                "max_depth": (None, 8, 16),
            },
        ),
        Method(
            "histogram",
            _histogram,
            "probability",
            "scikit-learn",
            {
                "learning_rate": _RATE,
                "max_iter": ("int", 50, 400),
                "max_leaf_nodes": ("int", 4, 64),
                "min_samples_leaf": ("int", 1, 40),
                "l2_regularization": ("log", 0.01, 30.0),
                "max_features": ("uniform", 0.4, 1.0),
            },
        ),
        Method("xgboost", _xgboost("one_output_per_tree"), "probability", "xgboost", _XGB),
        Method("xgboost_multi", _xgboost("multi_output_tree"), "probability", "xgboost", _XGB, late=True),
        Method(
            "catboost",
            _catboost,
            "probability",
            "catboost",
            {
                "learning_rate": _RATE,
                "iterations": ("int", 100, 1000),
                "depth": ("int", 3, 8),
                "l2_leaf_reg": ("log", 0.5, 30.0),
                "random_strength": ("log", 0.1, 10.0),
                "bagging_temperature": ("uniform", 0.0, 1.0),
            },
            late=True,
        ),
        Method(
            "adacost",
            _adacost,
            "costs",
            "imbalanced-ensemble",
            {"learning_rate": ("log", 0.05, 2.0), "n_estimators": ("int", 25, 400), "max_depth": ("int", 1, 8)},
            sets=SMALL,
        ),
        Method(
            "regression_one_vs_rest",
            partial(_Reduction, "RegressionOneVsRest", "LGBMRegressor"),
            "costs",
            "costsensitive",
            _LIGHTGBM,
            sets=_MULTICLASS,
        ),
        Method(
            "weighted_all_pairs",
            partial(_Reduction, "WeightedAllPairs", "LGBMClassifier"),
            "costs",
            "costsensitive",
            _LIGHTGBM,
            sets=_MULTICLASS,
        ),
        # around the defaults, whose leaves grow with the classes; steps below 0.25 need more than 200 rounds
        Method(
            "minrisk",
            _Ours,
            "costs",
            "minrisk",
            {
                "learning_rate": ("log", 0.25, 1.0),
                "max_leaf_nodes": (None, 16, 32, 64),
                "max_features": ("uniform", 0.2, 1.0),
                "smoothing": ("log", 3e-4, 0.03),
                "surrogate": ("softmax", "exponential"),
            },
        ),
    )
}


def package_version(method: Method) -> str:
    return version(method.package)


def draw(space: Mapping[str, tuple[Any, ...]], seed: int, trial: int) -> Parameters:
    """Trial 0 is the defaults, the others are drawn; the same draws for every cost."""
    if trial == 0:
        return {}
    random = np.random.default_rng([seed, trial])
    drawn: Parameters = {}
    for name, choice in space.items():
        if choice[0] == "log":
            drawn[name] = float(f"{np.exp(random.uniform(np.log(choice[1]), np.log(choice[2]))):.4g}")
        elif choice[0] == "uniform":
            drawn[name] = float(f"{random.uniform(choice[1], choice[2]):.4g}")
        elif choice[0] == "int":
            drawn[name] = int(random.integers(choice[1], choice[2] + 1))
        else:
            drawn[name] = choice[int(random.integers(len(choice)))]
    return drawn
