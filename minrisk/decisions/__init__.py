"""From probabilities to decisions: costs, other class shares, capacities, guarantees, and what decisions will cost."""
