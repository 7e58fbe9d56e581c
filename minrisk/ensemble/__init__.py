"""How `MinRiskClassifier` learns."""
