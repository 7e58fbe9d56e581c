"""From probabilities to decisions."""
