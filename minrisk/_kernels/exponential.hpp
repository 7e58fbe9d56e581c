// An exponential and logarithms that are inlined and vectorised, and the same on every platform.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "arrays.hpp"
#include "numbers.hpp"

namespace minrisk {

inline constexpr double LOWEST_EXPONENT =
    -700.0; // e^x is 0 for x below: it would soon have fewer bits than other numbers
inline constexpr double HIGHEST_EXPONENT =
    600.0; // x above is cut to it, so that sums of weights stay finite whatever the scores
inline constexpr double LOG2_E = 1.4426950408889634; // 1 / ln 2
inline constexpr double LN2_HIGH = 6.93147180369123816490e-01,
                        LN2_LOW = 1.90821492927058770002e-10; // their sum is ln 2; n * LN2_HIGH is exact
inline constexpr int64_t EXPONENT_BIAS =
    ROUNDER_BITS - 1023; // taken off the bits of n + ROUNDER, it leaves the exponent field of 2^n
inline constexpr int64_t EXPONENTIAL_ROWS = 64; // rows whose exponentials losses take in one loop, at most;
inline constexpr int64_t EXPONENTIAL_SCORES =
    4096; // or fewer, of so many scores: these stay within the fastest cache, with what is made of them

// Compute e^x within 3 ulp.
inline double exponential(double x) {
    const double inside = std::min(std::max(x, LOWEST_EXPONENT), HIGHEST_EXPONENT);
    const double shifted = inside * LOG2_E + ROUNDER;
    const double n = shifted - ROUNDER;
    const double r = (inside - n * LN2_HIGH) - n * LN2_LOW;
    const double r2 = r * r;
    const double r4 = r2 * r2;
    const double low = (1.0 + r) + r2 * (0.5 + r * (1.0 / 6.0));
    const double middle = (1.0 / 24.0 + r * (1.0 / 120.0)) + r2 * (1.0 / 720.0 + r * (1.0 / 5040.0));
    const double high = (1.0 / 40320.0 + r * (1.0 / 362880.0)) + r2 * (1.0 / 3628800.0 + r * (1.0 / 39916800.0));
    const double power = std::bit_cast<double>((std::bit_cast<int64_t>(shifted) - EXPONENT_BIAS) << 52); // 2^n
    const double y = (low + r4 * (middle + r4 * (high + r4 * (1.0 / 479001600.0)))) * power;
    return x >= LOWEST_EXPONENT ? y : 0.0;
}

// Return how many rows' exponentials are taken in one loop.
inline int64_t rows_at_once(int64_t n_outputs) {
    return std::min(EXPONENTIAL_ROWS, std::max<int64_t>(1, EXPONENTIAL_SCORES / n_outputs));
}

// Compute ln x of a positive, normal number within 1 ulp (fdlibm's polynomial).
inline double logarithm(double x) {
    constexpr uint64_t one = std::bit_cast<uint64_t>(1.0);
    constexpr uint64_t above = one - std::bit_cast<uint64_t>(0.7071067811865476); // mantissas from sqrt(1/2)
    constexpr double two_52 = 4503599627370496.0; // a small whole number added to its bits is added to it
    const uint64_t bits = std::bit_cast<uint64_t>(x);
    const uint64_t n = (bits + above) >> 52;
    const double k = std::bit_cast<double>(n | std::bit_cast<uint64_t>(two_52)) - (two_52 + 1023.0);
    const double f = std::bit_cast<double>(bits - (n << 52) + one) - 1.0;
    const double s = f / (2.0 + f);
    const double z = s * s;
    const double w = z * z;
    const double odd = w * (0.3999999999940941908 + w * (0.2222219843214978396 + w * 0.1531383769920937332));
    const double even = z * (0.6666666666666735130 +
                             w * (0.2857142874366239149 + w * (0.1818357216161805012 + w * 0.1479819860511658591)));
    const double half = 0.5 * f * f;
    return k * LN2_HIGH - ((half - (s * (half + (odd + even)) + k * LN2_LOW)) - f);
}

// Compute values[:n] = e^values[:n]: the loop that is vectorised.
inline void exponentials(Vector<double> values, int64_t n) {
    for (int64_t j = 0; j < n; ++j) values.data[j] = exponential(values.data[j]);
}

// Compute log(1 + t) for t >= 0 within a few ulp.
inline double log1p(double t) {
    constexpr int64_t mantissa = (int64_t(1) << 52) - 1, one = std::bit_cast<int64_t>(1.0);
    constexpr double two_52 = 4503599627370496.0; // a small whole number added to its bits is added to it
    const double x = 1.0 + t;
    const int64_t bits = std::bit_cast<int64_t>(x);
    double m = std::bit_cast<double>((bits & mantissa) | one);
    const bool high = m > 1.4142135623730951; // a mantissa above sqrt(2) is halved: logarithms are taken near 1
    m = high ? 0.5 * m : m;
    const double e =
        std::bit_cast<double>((bits >> 52) | std::bit_cast<int64_t>(two_52)) - (two_52 + 1023.0) + (high ? 1.0 : 0.0);
    const double s = (m - 1.0) / (m + 1.0);
    const double s2 = s * s;
    double series = 1.0 / 15.0 + s2 * (1.0 / 17.0 + s2 * (1.0 / 19.0 + s2 * (1.0 / 21.0)));
    series = 1.0 / 7.0 + s2 * (1.0 / 9.0 + s2 * (1.0 / 11.0 + s2 * (1.0 / 13.0 + s2 * series)));
    series = 1.0 + s2 * (1.0 / 3.0 + s2 * (1.0 / 5.0 + s2 * series));
    const double lost = (t - (x - 1.0)) / x; // what 1 + t rounded away; of a large t, nothing that counts
    return e * LN2_HIGH + (2.0 * s * series + (e * LN2_LOW + (x < 4.0 ? lost : 0.0)));
}

} // namespace minrisk
