"""Arrays whose memory goes back to the system."""

import ctypes
import sys
from pathlib import Path

import numpy as np
import pytest

from minrisk._utils import memory
from minrisk._utils.memory import empty, give_back, zeros


@pytest.mark.parametrize("large", [1, 1 << 30])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, np.uint8])
@pytest.mark.parametrize("shape", [(7, 3), (5,), (2, 4, 3), (0, 3)])
def test_they_are_arrays_like_any_other(shape, dtype, large, monkeypatch):
    monkeypatch.setattr(memory, "LARGE_BYTES", large)
    for made in (empty(shape, dtype), zeros(shape, dtype)):
        assert made.shape == shape and made.dtype == dtype and made.flags.c_contiguous and made.flags.writeable
        made[...] = 1
        assert made.sum() == made.size
    assert not zeros(shape, dtype).any()


def held():
    """Pages."""
    return int(Path("/proc/self/statm").read_text().split()[1])


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="reads what the process holds from /proc")
def test_memory_is_given_back():
    before = held()
    made = [zeros((1 << 18,), np.float64) for _ in range(20)]  # 2 MB each
    assert held() - before < 1000  # not before it is touched
    for array in made:
        array += 1.0
    assert held() - before > 9000  # pages of 4 kB
    made.clear()
    del array
    assert held() - before < 1000


@pytest.mark.skipif(
    sys.platform != "linux" or not hasattr(ctypes.CDLL(None), "malloc_trim"), reason="the allocator is not glibc's"
)
def test_what_the_allocator_keeps_is_given_back():
    small = [np.ones(256) for _ in range(20_000)]  # 2 kB each, 40 MB of its heap
    last, full = small[-1], held()
    small.clear()
    give_back()
    assert held() < full - 8000 and last.sum() == 256
