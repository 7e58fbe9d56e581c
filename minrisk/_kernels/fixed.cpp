#include "fixed.hpp"

#include "binding.hpp"
#include "parts.hpp"

namespace minrisk {
namespace {

// Find the largest size of the numbers (m, S) of each column; a NaN is the largest.
Array<double, 1> largest_sizes(Matrix<const double> values) {
    auto top = zeros<double>(values.shape[1]);
    for (int64_t i = 0; i < values.shape[0]; ++i) {
        for (int64_t k = 0; k < values.shape[1]; ++k) {
            const double size = std::abs(values(i, k));
            if (size > top[k] || size != size) top[k] = size;
        }
    }
    return top;
}

// Add to sums (2, S) values (m, S) times factor as whole numbers, and what that rounding takes, times 2**bits.
void add_two_parts(Matrix<const double> values, Vector<const double> factor, int64_t bits, Matrix<int64_t> sums) {
    const double scale = std::ldexp(1.0, static_cast<int>(bits));
    for (int64_t i = 0; i < values.shape[0]; ++i) {
        for (int64_t k = 0; k < values.shape[1]; ++k) {
            const double scaled = values(i, k) * factor[k];
            const double rounded = std::rint(scaled);
            sums(0, k) += static_cast<int64_t>(rounded);
            sums(1, k) += whole((scaled - rounded) * scale);
        }
    }
}

// Compute fixed[i] = rint(values[i] * factor) for rows in the bag, else 0; returns the sum of |fixed|.
int64_t fix_vector(Vector<const double> values, Vector<const bool> in_bag, double factor, Vector<int64_t> fixed,
                   int64_t start, int64_t stop) {
    int64_t total = 0;
    for (int64_t i = start; i < stop; ++i) {
        const int64_t value = in_bag[i] ? whole(values[i] * factor) : 0;
        fixed[i] = value;
        total += std::abs(value);
    }
    return total;
}

// Fill out with sums over rows order[start:end] per column, values rounded to 1 / factor (a factor of 0: none).
// The sums are of whole numbers, exact in float64 and vectorised; those of few columns stay in registers.
template <class Width>
void add_leaf(Matrix<const double> values, Vector<const double> factor, Vector<const int32_t> order, int64_t start,
              int64_t end, Vector<double> out, Width n_columns) {
    values.shape[1] = n_columns;
    if constexpr (std::is_integral_v<Width>) {
        out.fill(0.0);
        for (int64_t i = start; i < end; ++i) {
            const int64_t row = order[i];
            for (int64_t k = 0; k < n_columns; ++k) out[k] += std::rint(values(row, k) * factor[k]);
        }
    } else {
        std::array<double, n_columns> sums{}, factors;
        for (int64_t k = 0; k < n_columns; ++k) factors[k] = factor[k];
        for (int64_t i = start; i < end; ++i) {
            const int64_t row = order[i];
            for (int64_t k = 0; k < n_columns; ++k) sums[k] += std::rint(values(row, k) * factors[k]);
        }
        for (int64_t k = 0; k < n_columns; ++k) out[k] = sums[k];
    }
    for (int64_t k = 0; k < n_columns; ++k) {
        if (factor[k] > 0.0) out[k] /= factor[k];
    }
}

// Return the sum over rows of response * rint(values * factor), per column, over the rows in the bag.
template <class Response>
Array<int64_t, 1> response_sums(Matrix<const double> values, Vector<const Response> response, Vector<const bool> in_bag,
                                Vector<const double> factor, int64_t start, int64_t stop) {
    const int64_t n_columns = values.shape[1];
    auto total = zeros<int64_t>(n_columns);
    for (int64_t i = start; i < stop; ++i) {
        if (in_bag[i]) {
            const int64_t f = static_cast<int64_t>(response[i]);
            for (int64_t k = 0; k < n_columns; ++k) total[k] += f * whole(values(i, k) * factor[k]);
        }
    }
    return total;
}

} // namespace

Array<int64_t, 1> column_sums(Matrix<const double> values, Vector<const bool> in_bag, Vector<const double> top,
                              int64_t bits, int64_t start, int64_t stop) {
    const auto factor = fixed_factors(top, bits);
    auto total = zeros<int64_t>(values.shape[1]);
    for_width(values.shape[1], [&](auto n_columns) {
        values.shape[1] = n_columns;
        for (int64_t i = start; i < stop; ++i) {
            if (in_bag[i]) {
                for (int64_t k = 0; k < n_columns; ++k) total[k] += whole(values(i, k) * factor[k]);
            }
        }
    });
    return total;
}

Array<int64_t, 1> class_sums(Vector<const double> value, Vector<const int32_t> label, Vector<const bool> in_bag,
                             Vector<const double> factor, int64_t start, int64_t stop) {
    auto sums = zeros<int64_t>(factor.shape[0]);
    for (int64_t i = start; i < stop; ++i) {
        if (in_bag[i]) sums[label[i]] += whole(value[i] * factor[label[i]]);
    }
    return sums;
}

Array<double, 1> unfixed(Vector<const int64_t> total, Vector<const double> top, int64_t bits) {
    const auto factor = fixed_factors(top, bits);
    auto out = zeros<double>(total.shape[0]);
    for (int64_t k = 0; k < total.shape[0]; ++k) {
        if (factor[k] > 0.0) out[k] = static_cast<double>(total[k]) / factor[k];
    }
    return out;
}

void leaf_column_sums(Matrix<const double> gradient, Matrix<const double> hessian, Vector<const double> top_gradient,
                      Vector<const double> top_hessian, int64_t bits, Vector<const int32_t> order,
                      Vector<const int64_t> start, Vector<const int64_t> end, Matrix<double> gradient_sums,
                      Matrix<double> hessian_sums) {
    const auto gradient_factor = fixed_factors(top_gradient, bits), hessian_factor = fixed_factors(top_hessian, bits);
    for_width(gradient.shape[1], [&](auto n_columns) {
        for (int64_t leaf = 0; leaf < start.shape[0]; ++leaf) {
            add_leaf(gradient, gradient_factor, order, start[leaf], end[leaf], gradient_sums[leaf], n_columns);
            add_leaf(hessian, hessian_factor, order, start[leaf], end[leaf], hessian_sums[leaf], n_columns);
        }
    });
}

Array<double, 1> project(Matrix<const double> gradient, Matrix<const double> hessian, Matrix<const double> directions,
                         Vector<const double> weight, Matrix<double> out, int64_t start, int64_t stop) {
    const int64_t q = directions.shape[0];
    auto top = zeros<double>(q + 1);
    for_width(gradient.shape[1], [&](auto D) {
        for (int64_t i = start; i < stop; ++i) {
            project_row(gradient[i], hessian[i], directions, weight, out[i], D);
            for (int64_t c = 0; c < q; ++c) top[c] = std::max(top[c], std::abs(out(i, c)));
            top[q] = std::max(top[q], out(i, q));
        }
    });
    return top;
}

Array<double, 1> fix_sketch(Matrix<const double> values, Vector<const double> top, int64_t bits, int64_t count_bits,
                            Matrix<int64_t> out, int64_t start, int64_t stop) {
    const int64_t q = values.shape[1] - 1;
    auto factor = fixed_factors(top, bits);
    factor[q] = fixed_factors(top.slice(q, q + 1), bits - count_bits)[0];
    for (int64_t i = start; i < stop; ++i) {
        const int64_t hessian = whole(values(i, q) * factor[q]);
        // A gradient without its Hessian would make a split gain its square over next to nothing.
        for (int64_t c = 0; c < q; ++c) out(i, c) = hessian > 0 ? whole(values(i, c) * factor[c]) : 0;
        if (count_bits > 0) {
            out(i, q) = (hessian << count_bits) | 1;
        } else {
            out(i, q) = hessian;
            out(i, q + 1) = 1;
        }
    }
    Array<double, 1> unit(out.shape[1]);
    unit.fill(1.0);
    for (int64_t c = 0; c < q + 1; ++c) unit[c] = factor[c] > 0.0 ? 1.0 / factor[c] : 0.0;
    return unit;
}

void define_fixed(nb::module_ &m) {
    m.def("fixed_factors", &fixed_factors, released());
    m.def("largest_sizes", &largest_sizes, released());
    m.def("add_two_parts", &add_two_parts, released());
    for_types<int32_t, int64_t>(
        [&]<class T>(std::type_identity<T>) { m.def("fix_columns", &fix_columns<T>, released()); });
    m.def("fix_vector", &fix_vector, released());
    m.def("column_sums", &column_sums, released());
    m.def("class_sums", &class_sums, released());
    m.def("unfixed", &unfixed, released());
    m.def("leaf_column_sums", &leaf_column_sums, released());
    m.def("project", &project, released());
    m.def("fix_sketch", &fix_sketch, released());
    for_types<int8_t, double>(
        [&]<class T>(std::type_identity<T>) { m.def("response_sums", &response_sums<T>, released()); });
}

} // namespace minrisk
