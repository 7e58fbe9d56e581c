"""Benchmarks that look inside a fit still see it."""

from benchmarks.rounds import NAMES, counts, timed_rounds


def test_every_part_of_a_round_is_timed():
    size = {"n": 5000, "d": 6}  # rounds of fewer rows are compiled whole
    seconds, trees, model = timed_rounds(3, 1, **size, rounds=8)
    assert set(seconds) == {*NAMES, "round"}
    assert all(seconds[part] > 0 for part in ("gradients", "loss", "sketch", "growth", "leaf sums", "advance"))
    assert sum(seconds[part] for part in NAMES) < 1.5 * seconds["round"]  # medians of each
    assert 5000 <= trees["rows"] and trees["nodes"] > 2
    assert counts(3, **size, trees=trees, model=model)["growth"]["bytes"] > 5000
