"""From probabilities to decisions: what holds of them, and how sure what they rest on must be."""
