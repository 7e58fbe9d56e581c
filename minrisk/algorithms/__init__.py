"""One file per paper. `ALGORITHMS` drives tests and documentation: a new algorithm is a file and a line here."""

from minrisk.algorithms.mcboost import MCBoostClassifier as MCBoostClassifier
from minrisk.algorithms.min_risk import MinRiskClassifier as MinRiskClassifier
from minrisk.algorithms.piboost import PIBoostClassifier as PIBoostClassifier
from minrisk.algorithms.rebel import REBELClassifier as REBELClassifier
from minrisk.algorithms.similarities import LocalizedSimilaritiesClassifier as LocalizedSimilaritiesClassifier
from minrisk.algorithms.stagewise import MultiBoostClassifier as MultiBoostClassifier
from minrisk.algorithms.stagewise import StagewiseMCBoostClassifier as StagewiseMCBoostClassifier

ALGORITHMS = (
    MinRiskClassifier, REBELClassifier, LocalizedSimilaritiesClassifier, MCBoostClassifier, StagewiseMCBoostClassifier,
    MultiBoostClassifier, PIBoostClassifier,
)  # fmt: skip
