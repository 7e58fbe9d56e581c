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

// Compute out = (gradient @ directions, hessian @ weight) of one row of D outputs; `directions` is (q, D).
template <class Width>
void project_row(Vector<const double> gradient, Vector<const double> hessian, Matrix<const double> directions,
                 Vector<const double> weight, Vector<double> out, Width D) {
    directions.shape[1] = D;
    const int64_t q = directions.shape[0];
    double h = 0.0;
    if (q == 2) { // the usual sketch: three sums, none of which waits for another
        double first = 0.0, second = 0.0;
        for (int64_t k = 0; k < D; ++k) {
            first += gradient[k] * directions(0, k);
            second += gradient[k] * directions(1, k);
            h += hessian[k] * weight[k];
        }
        out[0] = first, out[1] = second;
    } else {
        for (int64_t k = 0; k < D; ++k) h += hessian[k] * weight[k];
        for (int64_t c = 0; c < q; ++c) {
            double g = 0.0;
            for (int64_t k = 0; k < D; ++k) g += gradient[k] * directions(c, k);
            out[c] = g;
        }
    }
    out[q] = h;
}

// Fill fixed[i, first + k] with rint(values[i, k] * factor[k]) for the bag's rows, else 0; returns the sums.
template <class Fixed>
Array<int64_t, 1> fix_columns(Matrix<const double> values, Vector<const bool> in_bag, Vector<const double> factor,
                              Matrix<Fixed> fixed, int64_t first, int64_t start, int64_t stop) {
    const int64_t n_columns = values.shape[1];
    auto total = zeros<int64_t>(n_columns);
    for (int64_t i = start; i < stop; ++i) {
        if (in_bag[i]) {
            for (int64_t k = 0; k < n_columns; ++k) {
                const int64_t value = whole(values(i, k) * factor[k]);
                fixed(i, first + k) = static_cast<Fixed>(value);
                total[k] += value;
            }
        } else {
            for (int64_t k = 0; k < n_columns; ++k) fixed(i, first + k) = 0;
        }
    }
    return total;
}

// Sum over the bag's rows of rint(values * factor), per column, for values up to `top`; see `fixed_factors`.
Array<int64_t, 1> column_sums(Matrix<const double> values, Vector<const bool> in_bag, Vector<const double> top,
                              int64_t bits, int64_t start, int64_t stop);

// Return the sum of rint(value * factor) over the bag's rows of each class, (D,).
Array<int64_t, 1> class_sums(Vector<const double> value, Vector<const int32_t> label, Vector<const bool> in_bag,
                             Vector<const double> factor, int64_t start, int64_t stop);

// Return sums of fixed-point numbers as numbers; 0 where `top` is.
Array<double, 1> unfixed(Vector<const int64_t> total, Vector<const double> top, int64_t bits);

// Sum gradient and Hessian over the rows of each leaf, (L, D) each; see `add_leaf`.
void leaf_column_sums(Matrix<const double> gradient, Matrix<const double> hessian, Vector<const double> top_gradient,
                      Vector<const double> top_hessian, int64_t bits, Vector<const int32_t> order,
                      Vector<const int64_t> start, Vector<const int64_t> end, Matrix<double> gradient_sums,
                      Matrix<double> hessian_sums);

// Compute out[i] = (gradient @ directions, hessian @ weight) per row; returns the column maxima of its sizes.
// `directions` is (q, D).
Array<double, 1> project(Matrix<const double> gradient, Matrix<const double> hessian, Matrix<const double> directions,
                         Vector<const double> weight, Matrix<double> out, int64_t start, int64_t stop);

// Fill fixed-point columns of a sketch with values up to `top`; returns what a unit of each is worth.
//
// The Hessian, of `count_bits` fewer bits, is shifted beside a count of 1; with 0 of these the count has a column of
// its own. No gradient where the Hessian rounds to 0.
Array<double, 1> fix_sketch(Matrix<const double> values, Vector<const double> top, int64_t bits, int64_t count_bits,
                            Matrix<int64_t> out, int64_t start, int64_t stop);

} // namespace minrisk
