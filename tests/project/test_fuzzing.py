"""Changed bytes of tables, costs and models: an answer or one clear error, and the fuzzer sees more than its seeds."""

import numpy as np
import pytest

from tests.helpers import fuzzing
from tests.helpers.common import slow_after


@pytest.mark.parametrize(("n", "seed"), slow_after(1, [(200, 0), (600, 1)]))
def test_changed_bytes_give_an_answer_or_one_clear_error(n, seed, tmp_path):
    outcomes = list(fuzzing.run(n, seed, tmp_path))
    assert [found for found in outcomes if found.kind not in ("answer", "error")] == []
    for name in ("costs", "table", "new rows", "parquet", "model"):
        kinds = {found.kind for found in outcomes if found.case.startswith(f"{name}:")}
        assert kinds == {"answer", "error"}, name


def test_inputs_that_reach_new_lines_are_kept(tmp_path):
    (target, *_) = fuzzing.prepare(tmp_path)
    lines = [set(), set(), set()]
    for data, seen in zip([b"", target.seeds[0], target.seeds[0]], lines, strict=True):
        fuzzing._one(target, data, tmp_path, seen)
    assert lines[0] and lines[1] - lines[0] and lines[1] == lines[2]


def test_changes_are_those_of_their_seed():
    seeds = [b"a,b\n1,2\n", b"c;d\n"]
    drawn = [[fuzzing.changed(seeds[0], seeds, np.random.default_rng(seed)) for seed in range(50)] for _ in range(2)]
    assert drawn[0] == drawn[1] and len(set(drawn[0])) > 40
