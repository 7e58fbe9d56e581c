// Elementary functions of sums, products, quotients and bits: inlined, vectorised, and the same on every platform.
//
// The C library's differ from platform to platform, and by what a processor can do. These are within 3 ulp.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
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

// Return how many rows' exponentials are taken in one loop.
inline int64_t rows_at_once(int64_t n_outputs) {
    return std::min(EXPONENTIAL_ROWS, std::max<int64_t>(1, EXPONENTIAL_SCORES / n_outputs));
}

// -- Exponentials -----------------------------------------------------------------------------------------------------

// e^x = 2^n (1 + rest), with a whole number n. |rest| < 0.42.
struct Power {
    double rest, shifted; // n + ROUNDER, which has n in its low bits

    double n() const { return shifted - ROUNDER; }
};

// Return 2^n, of n + ROUNDER; n from -1022 to 1023.
inline double power_of_two(double shifted) {
    return std::bit_cast<double>((std::bit_cast<int64_t>(shifted) - EXPONENT_BIAS) << 52);
}

// Take e^x apart, |x| at most 2^19. From the third power on, coefficients are of least squares of the relative error.
inline Power power(double x) {
    const double shifted = x * LOG2_E + ROUNDER;
    const double n = shifted - ROUNDER;
    const double r = (x - n * LN2_HIGH) - n * LN2_LOW;
    const double r2 = r * r;
    const double r4 = r2 * r2;
    const double low = (0.5 + r * 0.1666666666666624) + r2 * (0.0416666666666017 + r * 0.008333333333612488);
    const double middle = (0.0013888888927635291 + r * 0.00019841269239267073) +
                          r2 * (2.4801507691931073e-05 + r * 2.755783236432399e-06);
    const double high = 2.762556194498707e-07 + r * 2.4920574364784184e-08;
    return {r + r2 * (low + r4 * (middle + r4 * high)), shifted};
}

// Compute e^x of x cut to LOWEST_EXPONENT..HIGHEST_EXPONENT, and 0 below: the exponential of losses.
inline double exponential(double x) {
    const auto [rest, shifted] = power(std::min(std::max(x, LOWEST_EXPONENT), HIGHEST_EXPONENT));
    const double y = (1.0 + rest) * power_of_two(shifted);
    return x < LOWEST_EXPONENT ? 0.0 : y;
}

// Compute values[:n] = e^values[:n], as `exponential` does: the loop that is vectorised.
inline void exponentials(Vector<double> values, int64_t n) {
    for (int64_t j = 0; j < n; ++j) values.data[j] = exponential(values.data[j]);
}

inline constexpr double VANISHED_POWER = -750.0, INFINITE_POWER = 710.0; // e^x is 0, or infinite

// Compute e^x of any x.
inline double exp(double x) {
    const Power e = power(std::min(std::max(x, VANISHED_POWER), INFINITE_POWER));
    const double half = 0.5 * e.n() + ROUNDER; // 2^n itself may be no normal number
    return (1.0 + e.rest) * power_of_two(half) * power_of_two((e.n() - (half - ROUNDER)) + ROUNDER);
}

// Compute e^x - 1 of any x.
inline double expm1(double x) {
    constexpr double far = 40.0; // 1 is nothing beside e^x, or e^x beside 1
    const auto [rest, shifted] = power(std::min(std::max(x, -far), far));
    const double grown = power_of_two(shifted);
    const double near = grown * rest + (grown - 1.0);
    return std::abs(x) < far ? near : exp(x) - 1.0;
}

// Compute cosh x of any x; it is infinite where e^|x| is.
inline double cosh(double x) {
    const double grown = exp(std::abs(x));
    return 0.5 * (grown + 1.0 / grown);
}

// Compute sinh x of any x; it is infinite where e^|x| is.
inline double sinh(double x) {
    const double more = expm1(std::abs(x));
    return std::copysign(0.5 * (more + (more < INFINITE ? more / (1.0 + more) : 1.0)), x);
}

// Compute tanh x of any x.
inline double tanh(double x) {
    constexpr double far = 22.0; // 1 from there on, to float64
    const double more = expm1(2.0 * std::min(std::abs(x), far));
    return std::copysign(more / (more + 2.0), x);
}

// -- Logarithms -------------------------------------------------------------------------------------------------------

// Compute ln x + lost + k ln 2, of a positive, normal x (fdlibm's polynomial).
inline double logarithm(double x, double lost, double k) {
    constexpr uint64_t one = std::bit_cast<uint64_t>(1.0);
    constexpr uint64_t above = one - std::bit_cast<uint64_t>(0.7071067811865476); // mantissas from sqrt(1/2)
    constexpr double two_52 = 4503599627370496.0; // a small whole number added to its bits is added to it
    const uint64_t bits = std::bit_cast<uint64_t>(x);
    const uint64_t shifted = (bits + above) >> 52;
    const double n = std::bit_cast<double>(shifted | std::bit_cast<uint64_t>(two_52)) - (two_52 + 1023.0) + k;
    const double f = std::bit_cast<double>(bits - (shifted << 52) + one) - 1.0;
    const double s = f / (2.0 + f);
    const double z = s * s;
    const double w = z * z;
    const double odd = w * (0.3999999999940941908 + w * (0.2222219843214978396 + w * 0.1531383769920937332));
    const double even = z * (0.6666666666666735130 +
                             w * (0.2857142874366239149 + w * (0.1818357216161805012 + w * 0.1479819860511658591)));
    const double half = 0.5 * f * f;
    return n * LN2_HIGH - ((half - (s * (half + (odd + even)) + (n * LN2_LOW + lost))) - f);
}

// Compute ln x of any x: of 0 minus infinity, of numbers below NaN.
inline double log(double x) {
    constexpr double least = 0x1p-1022, factor = 0x1p54; // of normal numbers, and what makes one of the others
    const bool small = x < least;
    const double y = logarithm(small ? x * factor : x, 0.0, small ? -54.0 : 0.0);
    return x > 0.0 && x < INFINITE ? y : x == 0.0 ? -INFINITE : x > 0.0 ? x : NOT_A_NUMBER;
}

// Compute ln(1 + t) of any t: of -1 minus infinity, of numbers below NaN.
inline double log1p(double t) {
    const double x = 1.0 + t;
    const double y = logarithm(x, (t - (x - 1.0)) / x, 0.0); // with what 1 + t rounded away
    return t > -1.0 && t < INFINITE ? y : t == -1.0 ? -INFINITE : t > -1.0 ? t : NOT_A_NUMBER;
}

// Compute atanh x of any x: of -1 and 1 infinite, of others outside NaN.
inline double atanh(double x) {
    const double size = std::abs(x);
    return std::copysign(0.5 * log1p(2.0 * size / (1.0 - size)), x);
}

} // namespace minrisk
