"""Every dtype that crosses the kernel border, each with its reason."""

import numpy as np

BIN = np.uint8  # bins: hence at most 256 of them, and one byte per value of X
SCORE = np.float64  # scores, gradients, Hessians: weights span many orders of magnitude within a round
FIXED_GRADIENT = np.int32  # in fixed point for the histograms: half the bytes of the row pass, and integer sums
EXACT_GRADIENT = np.int64  # the same of few rows, where ties are common and must not be broken by rounding
FIXED = np.int64  # sums of fixed-point numbers: exact, hence equal in any order of summation
RESPONSE = np.int8  # f(x) in {-1, +1}
LEAF = np.int32  # leaf number of a row in the tree that is being grown
CHOICE = np.uint16  # a decision, for each row and cutting plane
ROW = np.uint16  # row number within a block of 65 536 rows (sparse index)

MAX_BINS = 256  # bins of a feature, at most: as many as a byte tells apart
LEAF_BIN = 255  # bin of a node that does not split: no row's bin is above it, so all rows go to its left child, itself
MAX_DEPTH = 64  # levels of a tree, at most: one that doubles its leaves that often does not exist
EXACT_ROWS = 8192  # at most this many rows are few
GRADIENT_BITS = 30  # |fixed gradient| <= 2**30, so that int32 never overflows and 2**33 rows fit an int64 sum
SUM_BITS = 62  # |fixed-point sum| <= 2**62
FLOAT_BITS = 52  # |sum| <= 2**52 of whole numbers is exact in float64 as well, and vectorised
COUNT_BITS = 26  # of a count of rows packed below a sum of Hessians: at most 2**26 - 1 rows in one place then
ROUNDER = 1.5 * 2.0**52  # adding it to a float64 rounds that to a whole number, which is left in the sum's low bits
ROUNDER_BITS = int(np.float64(ROUNDER).view(np.int64))  # taken off the sum's bits, they leave the whole number
PRODUCT_BITS = 50  # |product| <= 2**50 where products of two are rounded so: below 2**51 the low bits hold them
TIE = 1e-5  # merits that differ by a smaller share are equal, and the first one wins: neither rounding nor a millionth
# more of a weight may choose between learners that would be equal without it
FAR = 1e200  # what a line answers at most, and a feature is from its mean: sums of such stay finite
