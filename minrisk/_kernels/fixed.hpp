// Fixed-point numbers: integer sums are exact, so they do not depend on blocks, threads or machines.
#pragma once

#include "arrays.hpp"
#include "numbers.hpp"

namespace minrisk {

// Return powers of two that bring values up to `top` just below 2**bits; 0 where top is 0 (or denormal).
inline Array<double, 1> fixed_factors(Vector<const double> top, int64_t bits) {
    auto factor = zeros<double>(top.shape[0]);
    for (int64_t k = 0; k < top.shape[0]; ++k) {
        if (top[k] > 1e-290) {
            int exponent = 0;
            std::frexp(top[k], &exponent);
            // Cut, as that of the smallest values would be beyond float64.
            factor[k] = std::ldexp(1.0, static_cast<int>(std::min<int64_t>(bits - exponent, 1000)));
        }
    }
    return factor;
}

// Compute out = (gradient @ directions, hessian @ weight) of one row; `directions` is (q, D).
inline void project_row(Vector<const double> gradient, Vector<const double> hessian, Matrix<const double> directions,
                        Vector<const double> weight, Vector<double> out) {
    const int64_t q = directions.shape[0], D = directions.shape[1];
    double h = 0.0;
    for (int64_t c = 0; c < q; ++c) {
        double g = 0.0;
        if (c == 0) {
            for (int64_t k = 0; k < D; ++k) {
                g += gradient[k] * directions(0, k);
                h += hessian[k] * weight[k];
            }
        } else {
            for (int64_t k = 0; k < D; ++k) g += gradient[k] * directions(c, k);
        }
        out[c] = g;
    }
    out[q] = h;
}

} // namespace minrisk
