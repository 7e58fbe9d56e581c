// Localized similarities: distances to anchors, responses, and the sums that learners are chosen by.
//
//     X (n_features, n_samples): uint8 for whole numbers 0..255, float64 else      near, far (n,): squared distances
//
// Distances of whole numbers are exact (int32). Else squares of differences are added feature after feature, without
// the cancellation of |x|^2 - 2 x z + |z|^2: the relative error is at most (n_features + 2) 2^-53, and small
// differences are not lost beside large coordinates. Either way a distance depends on its two points only, not on
// blocks.
#include <bit>
#include <cmath>

#include "binding.hpp"
#include "elementary.hpp"
#include "numbers.hpp"
#include "parts.hpp"
#include "split.hpp"

namespace minrisk {
namespace {

constexpr int64_t SUMMED_ROWS = 256; // rows whose sums are held at a time: these stay within the fastest cache
constexpr double NOTHING =
    1e-280; // squared distances below, in units of the data's extent, are 0: their squares could not be held
constexpr double SUPREMUM =
    0.20148186221691414;         // (4 / 3)^(1 / 4) / (16 / 3), of f_ij times |d|^2, at 1.07 |d| from the midpoint
constexpr double REMOTE = 1e150; // from two points, in units of their distance: its square is still finite

// Fill out[c, i] with |x_i - z_c|^2 of whole numbers, exactly; `squares` are the |x_i|^2. Zeros cost nothing.
void whole_distances(Matrix<const uint8_t> X, Vector<const int32_t> squares, Matrix<const uint8_t> anchors,
                     int64_t start, int64_t stop, Matrix<int32_t> out) {
    std::array<int32_t, SUMMED_ROWS> dots;
    for (int64_t low = start; low < stop; low += SUMMED_ROWS) {
        const int64_t n_rows = std::min(SUMMED_ROWS, stop - low);
        for (int64_t c = 0; c < anchors.shape[0]; ++c) {
            dots.fill(0);
            int32_t own = 0;
            for (int64_t j = 0; j < X.shape[0]; ++j) {
                const uint16_t z = anchors(c, j);
                if (z == 0) continue;
                own += z * z;
                const auto x = X[j].slice(low, low + n_rows);
                for (int64_t i = 0; i < n_rows; ++i) dots[i] += static_cast<uint16_t>(z * x[i]);
            }
            for (int64_t i = 0; i < n_rows; ++i) out(c, low + i) = squares[low + i] + own - 2 * dots[i];
        }
    }
}

// Compute out[c, i] = |x_i - z_c|^2.
template <class Value>
void real_distances(Matrix<const Value> X, Matrix<const double> anchors, int64_t start, int64_t stop,
                    Matrix<double> out) {
    std::array<double, SUMMED_ROWS> sums;
    for (int64_t low = start; low < stop; low += SUMMED_ROWS) {
        const int64_t n_rows = std::min(SUMMED_ROWS, stop - low);
        for (int64_t c = 0; c < anchors.shape[0]; ++c) {
            sums.fill(0.0);
            for (int64_t j = 0; j < X.shape[0]; ++j) {
                const double z = anchors(c, j);
                const auto x = X[j].slice(low, low + n_rows);
                for (int64_t i = 0; i < n_rows; ++i) {
                    const double difference = x[i] - z;
                    sums[i] += difference * difference;
                }
            }
            for (int64_t i = 0; i < n_rows; ++i) out(c, low + i) = sums[i] > NOTHING ? sums[i] : 0.0;
        }
    }
}

// Do the same of rows of which some features are stored, the others being `zero`.
//
// The features that either has are added in ascending order, so that the bits are those of `real_distances`.
void stored_distances(Vector<const int64_t> offsets, Vector<const int32_t> features, Vector<const double> values,
                      Vector<const double> zero, Vector<const int64_t> anchor_offsets,
                      Vector<const int32_t> anchor_features, Vector<const double> anchor_values, int64_t start,
                      int64_t stop, Matrix<double> out) {
    for (int64_t c = 0; c < anchor_offsets.shape[0] - 1; ++c) {
        const int64_t first = anchor_offsets[c], last = anchor_offsets[c + 1];
        for (int64_t i = start; i < stop; ++i) {
            int64_t a = offsets[i], b = first;
            const int64_t end = offsets[i + 1];
            double total = 0.0;
            const auto add = [&](double x, double z) { total += (x - z) * (x - z); };
            while (a < end && b < last) {
                const int32_t j = features[a], k = anchor_features[b];
                if (j == k) {
                    add(values[a++], anchor_values[b++]);
                } else if (j < k) {
                    add(values[a++], zero[j]);
                } else {
                    add(zero[k], anchor_values[b++]);
                }
            }
            for (; a < end; ++a) add(values[a], zero[features[a]]);
            for (; b < last; ++b) add(zero[anchor_features[b]], anchor_values[b]);
            out(c, i) = total > NOTHING ? total : 0.0;
        }
    }
}

// Return f_i: (tau - near) / (tau + near), or its sign.
double one_point(double near, double tau, bool real) {
    if (real) return (tau - near) / (tau + near);
    return near <= tau ? 1.0 : -1.0;
}

// Return f_ij over its supremum, or its sign; rate = 1 / |d|^2 = 4 / |x_i - x_j|^2.
//
// With u, v the squared distances to x_i and x_j in units of |d|^2: <d, x - m> = |d|^2 (v - u) / 4 and
// |x - m|^2 = |d|^2 ((u + v) / 2 - 1).
double two_point(double near, double far, double rate, bool real) {
    const double u = near * rate, v = far * rate;
    if (!real) return (v > u) | ((v == u) & ((v < INFINITE) | (far >= near))) ? 1.0 : -1.0;
    const double r = 0.5 * (u + v) - 1.0;
    return r < REMOTE ? (v - u) / ((4.0 * SUPREMUM) * (4.0 + r * r)) : 0.0;
}

// Compute response[i] = f_i(x_i) of rows start..stop.
template <class Distance>
void respond_one(Vector<const Distance> near, double tau, bool real, Vector<double> response, int64_t start,
                 int64_t stop) {
    for (int64_t i = start; i < stop; ++i) response[i] = one_point(near[i], tau, real);
}

// Compute response[i] = f_ij(x_i) of rows start..stop; span = |x_i - x_j|^2.
template <class Distance>
void respond_two(Vector<const Distance> near, Vector<const Distance> far, double span, bool real,
                 Vector<double> response, int64_t start, int64_t stop) {
    const double rate = 4.0 / span;
    for (int64_t i = start; i < stop; ++i) response[i] = two_point(near[i], far[i], rate, real);
}

// Compute whole[first + k, i] = rint(values[i, k] * factor[k]) for rows in the bag, else 0.
void whole_columns(Matrix<const double> values, Vector<const bool> in_bag, Vector<const double> factor,
                   Matrix<double> whole, int64_t first, int64_t start, int64_t stop) {
    for (int64_t i = start; i < stop; ++i) {
        for (int64_t k = 0; k < values.shape[1]; ++k)
            whole(first + k, i) = in_bag[i] ? std::rint(values(i, k) * factor[k]) : 0.0;
    }
}

// Return x + ROUNDER as an integer: sums of it, less ROUNDER_BITS for each, are sums of x rounded to whole numbers.
int64_t rounded_bits(double x) { return std::bit_cast<int64_t>(x + ROUNDER); }

// Compute out += sums over rows of share u_k u_l with u = whole * scale, in fixed point: U U' of Eq. (7).
//
// The share is 1 / sample weight: a row of weight 2 counts as two rows and not as one of twice the length.
void moments(Matrix<const double> whole, Vector<const double> scale, Vector<const double> share, double factor,
             Matrix<int64_t> out, int64_t start, int64_t stop) {
    const int64_t n_outputs = scale.shape[0];
    for (int64_t low = start; low < stop; low += SUMMED_ROWS) {
        const int64_t n_rows = std::min(SUMMED_ROWS, stop - low);
        const auto part = share.slice(low, low + n_rows);
        for (int64_t k = 0; k < n_outputs; ++k) {
            for (int64_t m = k; m < n_outputs; ++m) {
                const auto one = whole[k].slice(low, low + n_rows), other = whole[m].slice(low, low + n_rows);
                const double rate = scale[k] * factor, rate_other = scale[m];
                int64_t total = 0;
                for (int64_t i = 0; i < n_rows; ++i)
                    total += rounded_bits((one[i] * rate) * (other[i] * rate_other) * part[i]);
                out(k, m) += total - n_rows * ROUNDER_BITS;
            }
        }
    }
}

// Compute side[i] = the sign of v1's entry, <u_i, q> by the eigenvector q of U U'; sign(0) = +1.
void binarise(Matrix<const double> whole, Vector<const double> direction, Vector<int8_t> side, int64_t start,
              int64_t stop) {
    for (int64_t i = start; i < stop; ++i) {
        double total = 0.0;
        for (int64_t k = 0; k < direction.shape[0]; ++k) total += whole(k, i) * direction[k];
        side[i] = total >= 0.0 ? 1 : -1;
    }
}

// Return `drop` of one output, whose Hessian is not 0.
double output_drop(double edge, double hessian, int64_t gain) {
    const double r = edge / hessian;
    const double r2 = r * r;
    const double root = gain == EXPONENTIAL_GAIN ? std::sqrt(std::max(1.0 - r2, 0.0)) : 1.0;
    return hessian * r2 / (1.0 + root);
}

// Return by how much the best vector lowers the loss, for sums E of f gradient and M of |f| hessian.
//
// Of the exponential M - sqrt(M^2 - E^2): exact for f in {-1, 0, 1}, else at least so much, as
// e^(f a) <= 1 - |f| + |f| e^(sign(f) a). Of other losses E^2 / (2 M).
double drop(Vector<const double> edge, Vector<const double> hessian, int64_t gain) {
    double fall = 0.0;
    for (int64_t k = 0; k < hessian.shape[0]; ++k) {
        if (hessian[k] > 0.0) fall += output_drop(edge[k], hessian[k], gain);
    }
    return fall;
}

// Compute out[i] = `drop` of the learner that answers +1 at point i and -1 elsewhere: E = 2 e_i - sum of all e.
void isolation_drops(Matrix<const double> whole, Vector<const double> total, Vector<const double> unit,
                     Vector<const double> hessian, int64_t gain, Vector<double> out, int64_t start, int64_t stop) {
    std::array<double, SUMMED_ROWS> falls;
    for (int64_t low = start; low < stop; low += SUMMED_ROWS) {
        const int64_t n_rows = std::min(SUMMED_ROWS, stop - low);
        falls.fill(0.0);
        for (int64_t k = 0; k < hessian.shape[0]; ++k) {
            if (!(hessian[k] > 0.0)) continue;
            const auto values = whole[k].slice(low, low + n_rows);
            const double whole_hessian = hessian[k], whole_edge = total[k], scale = unit[k];
            for (int64_t i = 0; i < n_rows; ++i) // side by side
                falls[i] += output_drop((2.0 * values[i] - whole_edge) * scale, whole_hessian, gain);
        }
        for (int64_t i = 0; i < n_rows; ++i) out[low + i] = falls[i];
    }
}

// Compute out[:, g] = sums of the rows of group g (coincident points).
void add_groups(Matrix<const double> whole, Vector<const int64_t> group, Matrix<double> out) {
    for (int64_t k = 0; k < whole.shape[0]; ++k) {
        for (int64_t i = 0; i < whole.shape[1]; ++i) out(k, group[i]) += whole(k, i);
    }
}

// Compute out[k] += sums of f times whole[k], k in first..last, over rows from `low` on, each product rounded.
//
// Sums of whole numbers, so they are exact and the same in any order.
void add_sums(Vector<const double> f, Matrix<const double> whole, int64_t first, int64_t last, int64_t low,
              Vector<int64_t> out) {
    const int64_t n_rows = f.shape[0];
    for (int64_t k = first; k < last; ++k) {
        const auto values = whole[k].slice(low, low + n_rows);
        int64_t total = 0;
#pragma GCC unroll 4
        for (int64_t i = 0; i < n_rows; ++i) total += rounded_bits(f[i] * values[i]);
        out[k] += total - n_rows * ROUNDER_BITS;
    }
}

// Compute out += sums of f_ij gradient and, if real, of |f_ij| hessian over rows start..stop.
//
// `whole` holds gradients, then Hessians.
template <class Distance>
void candidate_sums(Vector<const Distance> near, Vector<const Distance> far, double span, bool real,
                    Matrix<const double> whole, Vector<int64_t> out, int64_t start, int64_t stop) {
    const int64_t n_outputs = whole.shape[0] / 2;
    const Array<double, 1> memory(SUMMED_ROWS);
    const double rate = 4.0 / span;
    for (int64_t low = start; low < stop; low += SUMMED_ROWS) {
        const auto f = memory.slice(0, std::min(SUMMED_ROWS, stop - low));
        for (int64_t i = 0; i < f.shape[0]; ++i) f[i] = two_point(near[low + i], far[low + i], rate, real);
        add_sums(f, whole, 0, n_outputs, low, out);
        if (real) {
            for (int64_t i = 0; i < f.shape[0]; ++i) f[i] = std::abs(f[i]);
            add_sums(f, whole, n_outputs, 2 * n_outputs, low, out);
        }
    }
}

// Compute out += sums of response gradient and |response| hessian over rows start..stop.
void single_sums(Vector<const double> response, Matrix<const double> whole, Vector<int64_t> out, int64_t start,
                 int64_t stop) {
    const int64_t n_outputs = whole.shape[0] / 2;
    const Array<double, 1> memory(SUMMED_ROWS);
    for (int64_t low = start; low < stop; low += SUMMED_ROWS) {
        const auto f = memory.slice(0, std::min(SUMMED_ROWS, stop - low));
        add_sums(response.slice(low, low + f.shape[0]), whole, 0, n_outputs, low, out);
        for (int64_t i = 0; i < f.shape[0]; ++i) f[i] = std::abs(response[low + i]);
        add_sums(f, whole, n_outputs, 2 * n_outputs, low, out);
    }
}

// Add value, slope, curvature, sum of the slope's absolute terms (4, D), of sum w+ e^(f a) + w- e^(-f a).
//
// For rows start..stop; gradients w- - w+ and Hessians w- + w+ are `whole` times `units`, (2 D, n) and (2, D).
void exponential_slopes(Vector<const double> response, Matrix<const double> whole, Vector<const double> vector,
                        Matrix<const double> units, Matrix<const double> factors, Matrix<int64_t> out, int64_t start,
                        int64_t stop) {
    const int64_t n_outputs = vector.shape[0];
    for (int64_t low = start; low < stop; low += SUMMED_ROWS) {
        const int64_t n_rows = std::min(SUMMED_ROWS, stop - low);
        const auto f = response.slice(low, low + n_rows);
        for (int64_t k = 0; k < n_outputs; ++k) {
            const auto gradient = whole[k].slice(low, low + n_rows);
            const auto hessian = whole[n_outputs + k].slice(low, low + n_rows);
            const double a = vector[k], unit_gradient = 0.5 * units(0, k), unit_hessian = 0.5 * units(1, k);
            const double of_value = factors(0, k), of_slope = factors(1, k), of_curvature = factors(2, k),
                         of_size = factors(3, k);
            int64_t value = 0, slope = 0, curvature = 0, size = 0;
            for (int64_t i = 0; i < n_rows; ++i) {
                const double grown = exponential(f[i] * a);
                const double up = (hessian[i] * unit_hessian - gradient[i] * unit_gradient) * grown;
                const double down = (hessian[i] * unit_hessian + gradient[i] * unit_gradient) / grown;
                value += rounded_bits((up + down) * of_value);
                slope += rounded_bits(f[i] * (up - down) * of_slope);
                curvature += rounded_bits(f[i] * f[i] * (up + down) * of_curvature);
                size += rounded_bits(std::abs(f[i]) * (up + down) * of_size);
            }
            out(0, k) += value - n_rows * ROUNDER_BITS;
            out(1, k) += slope - n_rows * ROUNDER_BITS;
            out(2, k) += curvature - n_rows * ROUNDER_BITS;
            out(3, k) += size - n_rows * ROUNDER_BITS;
        }
    }
}

// Drop the candidates from `first` on with f_ij(x_n) <= f_ij(x_j) / 2: step 6.
template <class Distance>
void thin(Vector<const Distance> near, Vector<const Distance> far, double span, Vector<const int64_t> order,
          int64_t first, Vector<bool> alive) {
    const double rate = 4.0 / span;
    const double half = 0.5 * two_point(span, 0.0, rate, true);
    for (int64_t a = first; a < order.shape[0]; ++a) {
        if (alive[a]) alive[a] = two_point(near[order[a]], far[order[a]], rate, true) > half;
    }
}

// Add f_t(x_i) vectors[t], t in first..last, to scores; near[t] < 0: f = 1, far[t] < 0: one-point mode.
template <class Distance>
void add_similarities(Matrix<const Distance> distances, Vector<const int32_t> near, Vector<const int32_t> far,
                      Vector<const double> span, Vector<const bool> real, Matrix<const double> vectors, int64_t first,
                      int64_t last, int64_t low, int64_t n_rows, Matrix<double> scores) {
    std::array<double, SUMMED_ROWS> f;
    for (int64_t begin = 0; begin < n_rows; begin += SUMMED_ROWS) {
        const int64_t n = std::min(SUMMED_ROWS, n_rows - begin);
        for (int64_t t = first; t < last; ++t) {
            if (near[t] < 0) {
                f.fill(1.0);
            } else if (far[t] < 0) {
                const auto u = distances[near[t]].slice(begin, begin + n);
                for (int64_t i = 0; i < n; ++i) f[i] = one_point(u[i], span[t], real[t]);
            } else {
                const auto u = distances[near[t]].slice(begin, begin + n);
                const auto v = distances[far[t]].slice(begin, begin + n);
                const double rate = 4.0 / span[t];
                for (int64_t i = 0; i < n; ++i) f[i] = two_point(u[i], v[i], rate, real[t]);
            }
            for (int64_t i = 0; i < n; ++i) {
                for (int64_t k = 0; k < scores.shape[1]; ++k) scores(low + begin + i, k) += f[i] * vectors(t, k);
            }
        }
    }
}

} // namespace

void define_similarity(nb::module_ &m) {
    m.def("whole_distances", &whole_distances, released());
    for_types<uint8_t, double>(
        [&]<class T>(std::type_identity<T>) { m.def("real_distances", &real_distances<T>, released()); });
    m.def("stored_distances", &stored_distances, released());
    m.def("whole_columns", &whole_columns, released());
    m.def("moments", &moments, released());
    m.def("binarise", &binarise, released());
    m.def("drop", &drop);
    m.def("isolation_drops", &isolation_drops, released());
    m.def("add_groups", &add_groups, released());
    m.def("single_sums", &single_sums, released());
    m.def("exponential_slopes", &exponential_slopes, released());
    for_types<int32_t, double>([&]<class T>(std::type_identity<T>) {
        m.def("respond_one", &respond_one<T>, released());
        m.def("respond_two", &respond_two<T>, released());
        m.def("candidate_sums", &candidate_sums<T>, released());
        m.def("thin", &thin<T>, released());
        m.def("add_similarities", &add_similarities<T>, released());
    });
}

} // namespace minrisk
