// Lines in one feature, combinations of features, and Gaussian kernels of all.
//
// Weighted least squares on one feature at a time: targets of the rows, and their sums with every feature.
//
//     Z (n_features, n_samples), |z| <= 1      push, pull (n, 1): u and rho of the rows, in units of a power of two
//
// Rows ask for g(z) = a z + b of least sum rho (u / rho - g)^2. Products are rounded to whole numbers below 2**51 by
// adding ROUNDER, which leaves them in the low bits: int64 sums, exact and vectorised.
#pragma once

#include "arrays.hpp"
#include "numbers.hpp"

namespace minrisk {

// Return slope * (x - origin), cut to what sums of are finite; 0 where x is missing.
inline double change_along(double x, double slope, double origin) {
    const double difference = x - origin;
    if (std::isnan(difference)) return 0.0;
    const double change = std::isinf(difference) // beyond float64, where half of it is not
                              ? 2.0 * (slope * (x / 2.0 - origin / 2.0))
                              : slope * difference;
    return std::min(std::max(change, -FAR), FAR);
}

} // namespace minrisk
