// Numbers that kernels and Python share; `minrisk/_kernels/_dtypes.py` has the dtypes.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace minrisk {

inline constexpr std::int64_t MAX_BINS = 256; // bins of a feature, at most: as many as a byte tells apart
inline constexpr std::int64_t LEAF_BIN =
    255; // bin of a node that does not split: no row's bin is above it, so all rows go to its left child, itself
inline constexpr std::int64_t MAX_DEPTH =
    64; // levels of a tree, at most: one that doubles its leaves that often does not exist
inline constexpr std::int64_t EXACT_ROWS = 8192; // at most this many rows are few
inline constexpr std::int64_t GRADIENT_BITS =
    30; // |fixed gradient| <= 2**30, so that int32 never overflows and 2**33 rows fit an int64 sum
inline constexpr std::int64_t SUM_BITS = 62; // |fixed-point sum| <= 2**62
inline constexpr std::int64_t FLOAT_BITS =
    52; // |sum| <= 2**52 of whole numbers is exact in float64 as well, and vectorised
inline constexpr std::int64_t COUNT_BITS =
    26; // of a count of rows packed below a sum of Hessians: at most 2**26 - 1 rows in one place then
inline constexpr double ROUNDER = 1.5 * 4503599627370496.0; // 1.5 * 2**52: adding it to a float64 rounds that to a
                                                            // whole number, which is left in the sum's low bits
inline constexpr std::int64_t ROUNDER_BITS =
    std::bit_cast<std::int64_t>(ROUNDER); // taken off the sum's bits, they leave the whole number
inline constexpr std::int64_t PRODUCT_BITS =
    50; // |product| <= 2**50 where products of two are rounded so: below 2**51 the low bits hold them
// Merits that differ by a smaller share are equal, and the first one wins: neither rounding nor a millionth more of a
// weight may choose between learners that would be equal without it.
inline constexpr double TIE = 1e-5;
inline constexpr double FAR =
    1e200; // what a line answers at most, and a feature is from its mean: sums of such stay finite
inline constexpr double LN2 = 0.69314718055994530942;
inline constexpr double INFINITE = std::numeric_limits<double>::infinity();
inline constexpr double NOT_A_NUMBER = std::numeric_limits<double>::quiet_NaN();

// Round to a whole number, halves to the even one, as NumPy's rint does.
inline std::int64_t whole(double x) { return static_cast<std::int64_t>(std::rint(x)); }

} // namespace minrisk
