"""Risk beside other learners, on public data and six kinds of cost: ``python -m benchmarks.compare``."""
