"""The loop over rounds, its recipe, and what watches it."""
