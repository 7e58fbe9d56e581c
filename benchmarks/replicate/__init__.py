"""The papers' experiments, run again."""
