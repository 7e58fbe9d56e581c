"""Elementary functions against those of the module `decimal`, whose digits are as many as asked for."""

import decimal
from decimal import Decimal

import numpy as np
import pytest

from minrisk._kernels import LEVELS, elementary
from tests.kernels.test_levels import run

ULPS = 2.5  # what a result may be away from the exact one, in units of its last bit
ONE, TWO = Decimal(1), Decimal(2)


def tanh(x):
    e = (TWO * x).exp()
    return (e - ONE) / (e + ONE)


EXACT = {
    "exponential": lambda x: x.exp(),
    "exp": lambda x: x.exp(),
    "expm1": lambda x: x.exp() - ONE,
    "cosh": lambda x: (x.exp() + (-x).exp()) / TWO,
    "sinh": lambda x: (x.exp() - (-x).exp()) / TWO,
    "tanh": tanh,
    "log": lambda x: x.ln(),
    "log1p": lambda x: (ONE + x).ln(),
    "arctanh": lambda x: ((ONE + x) / (ONE - x)).ln() / TWO,
}
ENDS = {
    "exponential": (elementary.LOWEST_EXPONENT, elementary.HIGHEST_EXPONENT),
    "exp": (-745.0, 709.7),
    "expm1": (-60.0, 709.7),
    "cosh": (-709.7, 709.7),
    "sinh": (-709.7, 709.7),
    "tanh": (-25.0, 25.0),
    "log": (0.4, 2.5),
    "log1p": (-0.9, 4.0),
    "arctanh": (-0.99, 0.99),
}


def arguments(name):
    rng, (low, high) = np.random.default_rng(0), ENDS[name]
    size = 10.0 ** rng.uniform(-20, 0, 300)
    x = np.concatenate([rng.uniform(low, high, 500), size, -0.99 * size, 1.0 - size, 1.0 + size, [low, high]])
    if name in ("log", "log1p"):
        x = np.append(x, 10.0 ** rng.uniform(-20, 308, 300))
    if name == "log":
        x = np.append(x[x > 0.0], [5e-324, 1e-310, np.finfo(float).tiny, np.finfo(float).max])
    return x[np.abs(x) < 1.0] if name == "arctanh" else x


@pytest.mark.parametrize("name", EXACT)
def test_results_are_near_the_exact_ones(name):
    function, x = getattr(elementary, name), arguments(name)
    found = x.copy()
    function(found)
    with decimal.localcontext(prec=70):
        for one, of_one in zip(x.tolist(), found.tolist(), strict=True):
            exact = EXACT[name](Decimal(one))
            assert abs(Decimal(of_one) - exact) <= Decimal(ULPS) * Decimal(float(np.spacing(abs(float(exact))))), one
    assert [function(one) for one in x.tolist()] == found.tolist()


@pytest.mark.parametrize("name", [name for name in EXACT if name != "exponential"])
def test_results_at_the_ends_are_those_of_numpy(name):
    x = np.array([0.0, 1.0, -1.0, 1.5, -1.5, 5e-324, -1e-300, 1e308, -1e308, 800.0, -800.0, np.inf, -np.inf, np.nan])
    with np.errstate(all="ignore"):
        wanted = getattr(np, name)(x)
    found = x.copy()
    getattr(elementary, name)(found)
    np.testing.assert_allclose(found, wanted, rtol=1e-15, atol=0.0)
    if name in ("sinh", "tanh", "arctanh"):
        assert np.signbit(getattr(elementary, name)(-0.0))


def test_the_exponential_of_losses_is_cut():
    lowest, highest = elementary.LOWEST_EXPONENT, elementary.HIGHEST_EXPONENT
    assert elementary.exponential(0.0) == 1.0
    assert elementary.exponential(-1e9) == elementary.exponential(np.nextafter(lowest, -np.inf)) == 0.0
    assert elementary.exponential(1e9) == elementary.exponential(highest) > 1e260
    assert np.isnan(elementary.exponential(np.nan))


DIGEST = "23769797807cbefea70ce0be0428fd9c3fc228071b37172ed0aa4685b00eb25b"  # of these values
VALUES = """
import hashlib
import numpy as np
from minrisk._kernels import elementary
rng = np.random.default_rng(0)
bits = rng.integers(0, 2**64, 5000, dtype=np.uint64, endpoint=False).view(np.float64)
x = np.concatenate([bits, *(size * (rng.random(5001) - 0.5) for size in (1e-3, 2.0, 50.0, 1500.0))])
digest = hashlib.sha256()
for name in ("exponential", "exp", "expm1", "cosh", "sinh", "tanh", "log", "log1p", "arctanh"):
    values = x.copy()
    getattr(elementary, name)(values)
    values[np.isnan(values)] = 0.5
    digest.update(values.tobytes())
print(digest.hexdigest())
"""


def test_all_levels_and_platforms_give_the_same_bits():
    assert {run(VALUES, MINRISK_LEVEL=level).stdout for level in LEVELS} == {DIGEST + "\n"}
