"""Files: models and tables."""
