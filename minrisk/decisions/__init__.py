"""From probabilities to decisions: other class frequencies, capacities, guarantees, and what decisions cost."""
