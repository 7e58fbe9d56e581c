"""Every figure the documentation quotes, each from one command: ``python -m benchmarks.NAME``."""
