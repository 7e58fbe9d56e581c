"""Methods compared by what their decisions cost, with ranks and tests: `minrisk.compare` and what it is made of."""

from minrisk.comparison.methods import BlindToCosts, MethodError
from minrisk.comparison.result import Comparison
from minrisk.comparison.running import compare
from minrisk.comparison.statistics import (
    FriedmanTest,
    NemenyiTest,
    SignedRankTest,
    critical_difference,
    friedman_test,
    holm,
    nemenyi_test,
    signed_rank,
    signed_rank_tests,
)

__all__ = [
    "BlindToCosts",
    "Comparison",
    "FriedmanTest",
    "MethodError",
    "NemenyiTest",
    "SignedRankTest",
    "compare",
    "critical_difference",
    "friedman_test",
    "holm",
    "nemenyi_test",
    "signed_rank",
    "signed_rank_tests",
]
