"""Every dtype that crosses the kernel border, each with its reason, and the numbers that go with them."""

import numpy as np

from minrisk._kernels.constants import COUNT_BITS as COUNT_BITS
from minrisk._kernels.constants import EXACT_ROWS as EXACT_ROWS
from minrisk._kernels.constants import FAR as FAR
from minrisk._kernels.constants import FLOAT_BITS as FLOAT_BITS
from minrisk._kernels.constants import GRADIENT_BITS as GRADIENT_BITS
from minrisk._kernels.constants import LEAF_BIN as LEAF_BIN
from minrisk._kernels.constants import MAX_BINS as MAX_BINS
from minrisk._kernels.constants import MAX_DEPTH as MAX_DEPTH
from minrisk._kernels.constants import PRODUCT_BITS as PRODUCT_BITS
from minrisk._kernels.constants import SUM_BITS as SUM_BITS
from minrisk._kernels.constants import TIE as TIE

BIN = np.uint8  # bins: hence at most 256 of them, and one byte per value of X
SCORE = np.float64  # scores, gradients, Hessians: weights span many orders of magnitude within a round
FIXED_GRADIENT = np.int32  # in fixed point for the histograms: half the bytes of the row pass, and integer sums
EXACT_GRADIENT = np.int64  # the same of few rows, where ties are common and must not be broken by rounding
FIXED = np.int64  # sums of fixed-point numbers: exact, hence equal in any order of summation
RESPONSE = np.int8  # f(x) in {-1, +1}
LEAF = np.int32  # leaf number of a row in the tree that is being grown
CHOICE = np.uint16  # a decision, for each row and cutting plane
ROW = np.uint16  # row number within a block of 65 536 rows (sparse index)
