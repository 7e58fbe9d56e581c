#include "split.hpp"

#include <cmath>

#include "binding.hpp"
#include "elementary.hpp"
#include "histogram.hpp"
#include "losses.hpp"
#include "parts.hpp"

namespace minrisk {
namespace {

// -- Sums of the fixed-point columns ----------------------------------------------------------------------------------
// Find the best split of each feature: that of the largest drop_of(sums of the columns below the threshold).
template <class Drop>
void scan_drops(Cube<const int64_t> histogram, Vector<const int64_t> features, Vector<const int64_t> n_bins,
                Vector<double> best_drop, Vector<int64_t> best_bin, Drop drop_of) {
    const int64_t n_columns = histogram.shape[2];
    const Array<int64_t, 1> left(n_columns);
    for (int64_t c = 0; c < features.shape[0]; ++c) {
        double best = 0.0;
        int64_t where = -1;
        left.fill(0);
        for (int64_t b = 0; b < n_bins[features[c]] - 1; ++b) {
            const auto sums = histogram[c][b];
            for (int64_t k = 0; k < n_columns; ++k) left[k] += sums[k];
            const double drop = drop_of(left);
            if (drop > best * (1.0 + TIE)) {
                best = drop;
                where = b;
            }
        }
        best_drop[c] = best;
        best_bin[c] = where;
    }
}

// Find the best split of each feature for a free vector.
//
// ratio[k] turns a fixed-point edge into r = E_k / M_k, M = `hessian`; the drop of output k is
// M_k * r^2 / (1 + sqrt(1 - r^2)) (no cancellation for small r) or M_k * r^2 / 2. For ABSOLUTE_EDGE_GAIN ratio gives
// E_k, and the drop is |E_k|. Features with a single bin keep best_bin = -1.
void scan_edges(Cube<const int64_t> histogram, Vector<const int64_t> features, Vector<const int64_t> n_bins,
                Vector<const int64_t> total, Vector<const double> ratio, Vector<const double> hessian, int64_t gain,
                Vector<double> best_drop, Vector<int64_t> best_bin) {
    const auto scan = [&](auto drop_of_output) {
        scan_drops(histogram, features, n_bins, best_drop, best_bin, [&](Vector<const int64_t> left) {
            double drop = 0.0;
            for (int64_t k = 0; k < left.shape[0]; ++k)
                drop += drop_of_output(static_cast<double>(total[k] - 2 * left[k]) * ratio[k], hessian[k]);
            return drop;
        });
    };
    if (gain == EXPONENTIAL_GAIN) {
        scan([](double r, double M) { return M * (r * r) / (1.0 + std::sqrt(std::max(1.0 - r * r, 0.0))); });
    } else if (gain == ABSOLUTE_EDGE_GAIN) {
        scan([](double r, double) { return std::abs(r); });
    } else {
        scan([](double r, double M) { return 0.5 * M * (r * r); });
    }
}

// Find the best split of each feature for LARGEST_EDGE_GAIN: |E_k| is the fixed-point edge times scale[k].
//
// First the largest of each output over the bins, in whole numbers; then the bin, of features that are not behind an
// earlier one (those that are, or have a single bin, keep best_bin = -1). Splits whose entry of barred (d, MAX_BINS)
// is set are passed over; without rows it bars none.
void scan_largest(Cube<const int64_t> histogram, Vector<const int64_t> features, Vector<const int64_t> n_bins,
                  Vector<const int64_t> total, Vector<const double> scale, Matrix<const bool> barred,
                  Vector<double> best_drop, Vector<int64_t> best_bin) {
    const int64_t n_outputs = histogram.shape[2];
    Array<int64_t, 1> edge(n_outputs), top(n_outputs);
    double ahead = 0.0;
    for (int64_t c = 0; c < features.shape[0]; ++c) {
        const int64_t last = n_bins[features[c]] - 1;
        const auto is_barred = [&](int64_t b) { return barred.shape[0] > 0 && barred(features[c], b); };
        for (int64_t k = 0; k < n_outputs; ++k) edge[k] = total[k];
        top.fill(0);
        for (int64_t b = 0; b < last; ++b) {
            const auto sums = histogram[c][b];
            for (int64_t k = 0; k < n_outputs; ++k) edge[k] -= 2 * sums[k];
            if (is_barred(b)) continue;
            for (int64_t k = 0; k < n_outputs; ++k) top[k] = std::max(top[k], std::abs(edge[k]));
        }
        double best = 0.0;
        for (int64_t k = 0; k < n_outputs; ++k) best = std::max(best, static_cast<double>(top[k]) * scale[k]);
        best_drop[c] = best;
        best_bin[c] = -1;
        if (best == 0.0 || best < ahead * (1.0 - TIE)) continue;
        ahead = std::max(ahead, best);
        for (int64_t k = 0; k < n_outputs; ++k) edge[k] = total[k];
        for (int64_t b = 0; b < last; ++b) {
            const auto sums = histogram[c][b];
            double drop = 0.0;
            for (int64_t k = 0; k < n_outputs; ++k) {
                edge[k] -= 2 * sums[k];
                drop = std::max(drop, static_cast<double>(std::abs(edge[k])) * scale[k]);
            }
            if (drop >= best * (1.0 - TIE) && !is_barred(b)) {
                best_bin[c] = b;
                break;
            }
        }
    }
}

// The lowest and the highest bin of rows on either side, below and above; 256 and -1 where there are none.
struct Ends {
    std::array<int64_t, 2> low{256, 256}, high{-1, -1};

    void add(int64_t side, int64_t bin) {
        low[side] = std::min(low[side], bin);
        high[side] = std::max(high[side], bin);
    }

    void write(Matrix<int64_t> bounds) const {
        for (int64_t side = 0; side < 2; ++side) {
            bounds(side, 0) = high[side];
            bounds(side, 1) = -low[side];
        }
    }
};

// Count rows whose response is above 0.
int64_t count_above(Vector<const int8_t> response) {
    return std::count_if(response.data, response.data + response.size(), [](int8_t f) { return f > 0; });
}

// Find for each feature the highest bin of the rows on either side, and minus the lowest, (d, 2, 2).
//
// -1 and -256 where there are none.
Array<int64_t, 3> side_bounds(Matrix<const uint8_t> X_binned, Vector<const int8_t> response) {
    const int64_t n_features = X_binned.shape[0], n_samples = X_binned.shape[1];
    Array<int64_t, 3> bounds(n_features, 2, 2);
    const int64_t n_above = count_above(response);
    for (int64_t j = 0; j < n_features; ++j) {
        const auto column = X_binned[j];
        uint8_t low_below = 255, high_below = 0, low_above = 255, high_above = 0; // bytes, so that many fit a vector
        for (int64_t i = 0; i < n_samples; ++i) {
            const uint8_t b = column[i], above = response[i] > 0 ? 255 : 0, below = ~above;
            low_below = std::min<uint8_t>(low_below, b | above);
            high_below = std::max<uint8_t>(high_below, b & below);
            low_above = std::min<uint8_t>(low_above, b | below);
            high_above = std::max<uint8_t>(high_above, b & above);
        }
        Ends ends;
        if (n_above < n_samples) {
            ends.add(0, low_below);
            ends.add(0, high_below);
        }
        if (n_above > 0) {
            ends.add(1, low_above);
            ends.add(1, high_above);
        }
        ends.write(bounds[j]);
    }
    return bounds;
}

// Set the entries of barred (d, MAX_BINS) of splits that answer in all rows as the response of these bounds does.
//
// Or the opposite. The bounds are those of `side_bounds`.
void bar_between(Cube<const int64_t> bounds, Matrix<bool> barred) {
    for (int64_t j = 0; j < bounds.shape[0]; ++j) {
        for (int64_t side = 0; side < 2; ++side) {
            const int64_t high = bounds(j, side, 0), other_high = bounds(j, 1 - side, 0),
                          other_low = -bounds(j, 1 - side, 1);
            if (high >= 0 && high < other_low && other_high >= 0) barred[j].slice(high, other_low).fill(true);
        }
    }
}

// Return T - sqrt(T^2 - E^2) without cancellation: what the best constant takes away on one side.
double side_drop(double gradient, double hessian) {
    if (hessian <= 0.0) return 0.0;
    return gradient * gradient / (hessian + std::sqrt(std::max(hessian * hessian - gradient * gradient, 0.0)));
}

// Find the best split of each feature when either side has its own vector (exponential).
//
// Columns are D gradients, then D Hessians; scale turns them into numbers. The drop is the sum over sides and outputs
// of T - sqrt(T^2 - E^2).
void scan_sides(Cube<const int64_t> histogram, Vector<const int64_t> features, Vector<const int64_t> n_bins,
                Vector<const int64_t> total, Vector<const double> scale, Vector<double> best_drop,
                Vector<int64_t> best_bin) {
    const int64_t n_outputs = histogram.shape[2] / 2;
    scan_drops(histogram, features, n_bins, best_drop, best_bin, [&](Vector<const int64_t> left) {
        double drop = 0.0;
        for (int64_t k = 0; k < n_outputs; ++k) {
            const int64_t m = n_outputs + k;
            drop += side_drop(static_cast<double>(left[k]) * scale[k], static_cast<double>(left[m]) * scale[m]);
            drop += side_drop(static_cast<double>(total[k] - left[k]) * scale[k],
                              static_cast<double>(total[m] - left[m]) * scale[m]);
        }
        return drop;
    });
}

// Find the best split of each leaf by each feature: the largest |total - 2 left|.
//
// A later bin must beat it by `margin`. score, bin, sign (n_features, n_leaves): sign is f above the threshold. A
// feature with one bin keeps score -1.
void scan_leaves(Cube<const int64_t> histogram, Vector<const int64_t> features, Vector<const int64_t> n_bins,
                 Vector<const int64_t> total, int64_t margin, Matrix<int64_t> score, Matrix<int64_t> bin,
                 Matrix<int64_t> sign) {
    const int64_t n_leaves = histogram.shape[1];
    for (int64_t c = 0; c < features.shape[0]; ++c) {
        for (int64_t leaf = 0; leaf < n_leaves; ++leaf) {
            const auto sums = histogram[c][leaf];
            int64_t left = 0, best = -1;
            for (int64_t b = 0; b < n_bins[features[c]] - 1; ++b) {
                left += sums[b];
                const int64_t value = total[leaf] - 2 * left;
                if (best < 0 || std::abs(value) > best + margin) {
                    best = std::abs(value);
                    bin(c, leaf) = b;
                    sign(c, leaf) = value >= 0 ? 1 : -1;
                }
            }
            score(c, leaf) = best;
        }
    }
}

// Return `side_bounds` of stored entries.
Array<int64_t, 3> stored_side_bounds(Entries stored, Vector<const int8_t> response) {
    const int64_t n_features = stored.usual.shape[0], n_above = count_above(response);
    Array<int64_t, 3> bounds(n_features, 2, 2);
    for (int64_t j = 0; j < n_features; ++j) {
        Ends ends;
        std::array<int64_t, 2> elsewhere{response.shape[0] - n_above, n_above};
        for (int64_t p = stored.offsets[j]; p < stored.offsets[j + 1]; ++p) {
            const int64_t side = response[stored.rows[p]] > 0;
            --elsewhere[side];
            ends.add(side, stored.bins[p]);
        }
        for (int64_t side = 0; side < 2; ++side) {
            if (elsewhere[side] > 0) ends.add(side, stored.usual[j]);
        }
        ends.write(bounds[j]);
    }
    return bounds;
}

// -- Bounds of the logistic loss --------------------------------------------------------------------------------------
constexpr double SEVENTH = 1.815;       // the largest |sigmoid^(6)| / sigmoid', at p q = 0.222: 1.81496
constexpr double FARTHEST_SERIES = 3.0; // a up to which the series is asked for: beyond 2.5 it tells nothing any more
constexpr int64_t STUMP_ROWS = 128;     // rows whose exponentials are taken in one loop
constexpr int64_t SERIES_STEPS = 8;  // Newton's, to the largest value of the series: any a gives bounds, the best one
                                     // tight ones
constexpr double NEAR_ENOUGH = 1e-6; // to the best step: what is missed is the square of it
constexpr double LEAST_CURVATURE = 0.1; // of the series in these steps, as a share of M
constexpr double NEAR_ONE = 0.3;        // r from which on the bound of psi is more than 1 % too high
constexpr double SMALL_RATIO = 2.0;     // |E| / M above counts as this: r^2 / 2 - r^3 / 6 rises up to here

// Return r + (1 - r) ln(1 - r) for r < 1, or a bound of it that takes no logarithm.
double psi(double r) {
    if (r > NEAR_ONE) return r + (1.0 - r) * log(1.0 - r);
    return r * r * (0.5 + r / (6.0 * (1.0 - r)));
}

struct Bounds {
    double low, high;
};

// Bound what a stump takes away in an output by its |E| and M alone: at least, and at most what is there.
Bounds simple_bounds(double edge, double hessian, double value) {
    if (hessian <= 0.0 || edge == 0.0) return {0.0, 0.0};
    const double r = edge / hessian;
    const double s = std::min(r, SMALL_RATIO);
    return {hessian * s * s * (0.5 - s / 6.0), r < 1.0 ? std::min(hessian * psi(r), value) : value};
}

// Bound the most that a stump of each feature takes away: at least (and at which bin), and at most.
void scan_simple_bounds(Cube<const int64_t> histogram, Vector<const int64_t> features, Vector<const int64_t> n_bins,
                        Vector<const int64_t> total, Vector<const double> unit, Vector<const double> hessian,
                        Vector<const double> value, Vector<double> low, Vector<double> high, Vector<int64_t> where) {
    const int64_t n_outputs = histogram.shape[2];
    Array<int64_t, 1> left(n_outputs);
    for (int64_t c = 0; c < features.shape[0]; ++c) {
        low[c] = high[c] = 0.0;
        where[c] = 0;
        left.fill(0);
        for (int64_t b = 0; b < n_bins[features[c]] - 1; ++b) {
            const auto sums = histogram[c][b];
            double least = 0.0, most = 0.0;
            for (int64_t k = 0; k < n_outputs; ++k) {
                left[k] += sums[k];
                const double edge = static_cast<double>(std::abs(total[k] - 2 * left[k])) * unit[k];
                const auto bounds = simple_bounds(edge, hessian[k], value[k]);
                least += bounds.low;
                most += bounds.high;
            }
            if (least > low[c]) {
                low[c] = least;
                where[c] = b;
            }
            high[c] = std::max(high[c], most);
        }
    }
}

struct SeriesBounds {
    double step, low, high;
};

// Return a step, and what it and the best step take away in an output, at least and at most; edge >= 0.
SeriesBounds series_bounds(double edge, double third, double fifth, double hessian, double fourth, double sixth,
                           double value) {
    auto [low, high] = simple_bounds(edge, hessian, value);
    if (high == 0.0) return {0.0, 0.0, 0.0};
    const double r = edge / hessian, t = third / hessian, q = fourth / hessian, p = fifth / hessian,
                 s = sixth / hessian;
    double a = std::min(r, 1.0), slope = 0.0, curvature = 0.0;
    for (int64_t step = 0; step < SERIES_STEPS + 1; ++step) {
        slope = r - a * (1.0 + a * (t / 2.0 + a * (q / 6.0 + a * (p / 24.0 + a * s / 120.0))));
        curvature = 1.0 + a * (t + a * (q / 2.0 + a * (p / 6.0 + a * s / 24.0)));
        const double change = slope / std::max(curvature, LEAST_CURVATURE);
        if (step == SERIES_STEPS || std::abs(change) < NEAR_ENOUGH) break;
        a = std::min(std::max(a + change, 0.0), FARTHEST_SERIES);
    }
    const double fall = a * (r - a * (0.5 + a * (t / 6.0 + a * (q / 24.0 + a * (p / 120.0 + a * s / 720.0)))));
    const double fifth_power = SEVENTH * a * a * a * a * a / 120.0; // rests of e^a's series, each by a geometric one
    const double rest = fifth_power * a * a / 42.0 / (1.0 - a / 8.0);
    const double least_curvature = curvature - fifth_power / (1.0 - a / 6.0);
    const double steepest = std::abs(slope) + fifth_power * a / 6.0 / (1.0 - a / 7.0);
    if (steepest < least_curvature)
        high = std::min(high, hessian * (fall + rest + least_curvature * psi(steepest / least_curvature)));
    return {a, std::max(low, hessian * (fall - rest)), high};
}

// Bound what each stump takes away, (f, MAX_BINS) each; 0 where `simple_bounds` say less than `ahead`.
//
// Columns of the histogram are the D gradients, then as many third and fifth derivatives; `even` (2, D) are Q and S.
// With room in `detail` (f, MAX_BINS, 3, D) it gets step, least and most of each output.
void scan_series(Cube<const int64_t> histogram, Vector<const int64_t> features, Vector<const int64_t> n_bins,
                 Vector<const int64_t> total, Vector<const double> unit, Vector<const double> hessian,
                 Matrix<const double> even, Vector<const double> value, double ahead, Matrix<double> low,
                 Matrix<double> high, View<double, 4> detail) {
    const int64_t n_outputs = hessian.shape[0];
    Array<int64_t, 1> left(3 * n_outputs);
    const auto edge_of = [&](int64_t k) { return static_cast<double>(total[k] - 2 * left[k]) * unit[k]; };
    for (int64_t c = 0; c < features.shape[0]; ++c) {
        left.fill(0);
        for (int64_t b = 0; b < n_bins[features[c]] - 1; ++b) {
            const auto sums = histogram[c][b];
            double most = 0.0;
            for (int64_t k = 0; k < 3 * n_outputs; ++k) left[k] += sums[k];
            for (int64_t k = 0; k < n_outputs; ++k)
                most += simple_bounds(std::abs(edge_of(k)), hessian[k], value[k]).high;
            low(c, b) = high(c, b) = 0.0;
            if (most < ahead) continue;
            for (int64_t k = 0; k < n_outputs; ++k) {
                const double edge = edge_of(k), third = edge_of(n_outputs + k), fifth = edge_of(2 * n_outputs + k);
                const double sign = edge < 0.0 ? -1.0 : 1.0;
                const auto [step, least, largest] = series_bounds(sign * edge, sign * third, sign * fifth, hessian[k],
                                                                  even(0, k), even(1, k), value[k]);
                low(c, b) += least;
                high(c, b) += largest;
                if (detail.shape[0] > 0) {
                    detail(c, b, 0, k) = sign * step;
                    detail(c, b, 1, k) = least;
                    detail(c, b, 2, k) = largest;
                }
            }
        }
    }
}

// Compute fixed[i] = -l', l''' and l^(5) of the bag's rows start..stop, in fixed point; out of the bag 0.
//
// Returns the sums of these 3 D columns, and of l^(4) and l^(6), (5 D,).
template <class Fixed>
Array<int64_t, 1> series_columns(Matrix<const double> cost, Vector<const double> beta, Vector<const double> phi,
                                 Vector<const int32_t> index, Vector<const double> weight, Matrix<const double> scores,
                                 Matrix<const double> gradient, Vector<const bool> in_bag,
                                 Vector<const double> gradient_factor, Vector<const double> factor,
                                 Vector<const double> even_factor, Matrix<Fixed> fixed, int64_t start, int64_t stop) {
    const int64_t D = scores.shape[1];
    auto sums = zeros<int64_t>(5 * D);
    for (int64_t i = start; i < stop; ++i) {
        const auto out = fixed[i];
        if (!in_bag[i]) {
            out.fill(0);
            continue;
        }
        const int64_t row = index[i];
        const double w = weight[i] / LN2;
        for (int64_t k = 0; k < D; ++k) {
            const auto [plus, minus] = split(cost(row, k), beta[row], phi[row]);
            const double score = scores(i, k);
            const double e = exponential(-std::abs(score));
            const double skew = (1.0 - e) / (1.0 + e); // |1 - 2 p|
            const double pq = e / (1.0 + e) / (1.0 + e);
            const double m = w * (plus + minus) * pq;
            const double odd = score > 0.0 ? -m * skew : m * skew;
            const int64_t first = whole(gradient(i, k) * gradient_factor[k]), third = whole(odd * factor[k]),
                          fifth = whole(odd * (1.0 - 12.0 * pq) * factor[k]);
            out[k] = static_cast<Fixed>(first);
            out[D + k] = static_cast<Fixed>(third);
            out[2 * D + k] = static_cast<Fixed>(fifth);
            sums[k] += first;
            sums[D + k] += third;
            sums[2 * D + k] += fifth;
            sums[3 * D + k] += whole(m * (1.0 - 6.0 * pq) * even_factor[k]);
            sums[4 * D + k] += whole(m * (1.0 - pq * (30.0 - 120.0 * pq)) * even_factor[k]);
        }
    }
    return sums;
}

// Return value, slope and curvature in an output's step of V along stumps, (3, P), in fixed point, of the bag.
Array<int64_t, 2> stump_sums(Matrix<const double> cost, Vector<const double> beta, Vector<const double> phi,
                             Vector<const int32_t> index, Vector<const double> weight, Matrix<const double> scores,
                             Matrix<const uint8_t> X_binned, Vector<const bool> in_bag, Vector<const int64_t> feature,
                             Vector<const int64_t> bin, Vector<const int64_t> output, Vector<const double> step,
                             Matrix<const double> factors, int64_t start, int64_t stop) {
    auto sums = zeros<int64_t>(3, feature.shape[0]);
    std::array<double, STUMP_ROWS> side, h, plus, minus;
    for (int64_t c = 0; c < feature.shape[0]; ++c) {
        const auto x = X_binned[feature[c]];
        const int64_t b = bin[c], k = output[c];
        const double a = step[c], value_factor = factors(0, c), slope_factor = factors(1, c),
                     curvature_factor = factors(2, c);
        for (int64_t first = start; first < stop; first += STUMP_ROWS) {
            const int64_t n = std::min(STUMP_ROWS, stop - first);
            for (int64_t i = 0; i < n; ++i) {
                const int64_t row = index[first + i];
                const auto [up, down] = split(cost(row, k), beta[row], phi[row]);
                const double w = in_bag[first + i] ? weight[first + i] : 0.0;
                plus[i] = w * up;
                minus[i] = w * down;
                side[i] = x[first + i] > b ? 1.0 : -1.0;
                h[i] = scores(first + i, k) + side[i] * a;
            }
            int64_t value = 0, slope = 0, curvature = 0;
            for (int64_t i = 0; i < n; ++i) {
                const double e = exponential(-std::abs(h[i]));
                const double more = 1.0 / (1.0 + e), less = e / (1.0 + e);
                const double rest = log1p(e);
                const double p = h[i] >= 0.0 ? more : less, q = h[i] >= 0.0 ? less : more;
                const double both = plus[i] + minus[i];
                const double high = h[i] >= 0.0 ? plus[i] : minus[i];
                value += whole((both * rest + high * std::abs(h[i])) / LN2 * value_factor);
                slope += whole(side[i] * (plus[i] * p - minus[i] * q) / LN2 * slope_factor);
                curvature += whole(both * p * q / LN2 * curvature_factor);
            }
            sums(0, c) += value;
            sums(1, c) += slope;
            sums(2, c) += curvature;
        }
    }
    return sums;
}

} // namespace

void define_split(nb::module_ &m) {
    m.attr("EXPONENTIAL_GAIN") = EXPONENTIAL_GAIN;
    m.attr("QUADRATIC_GAIN") = QUADRATIC_GAIN;
    m.attr("SIDES_GAIN") = SIDES_GAIN;
    m.attr("LARGEST_EDGE_GAIN") = LARGEST_EDGE_GAIN;
    m.attr("ABSOLUTE_EDGE_GAIN") = ABSOLUTE_EDGE_GAIN;
    m.attr("SEVENTH") = SEVENTH;
    m.def("scan_edges", &scan_edges, released());
    m.def("scan_largest", &scan_largest, released());
    m.def("side_bounds", &side_bounds, released());
    m.def("bar_between", &bar_between, released());
    m.def("scan_sides", &scan_sides, released());
    m.def("scan_leaves", &scan_leaves, released());
    m.def("stored_side_bounds", &stored_side_bounds, released());
    m.def("scan_simple_bounds", &scan_simple_bounds, released());
    m.def("scan_series", &scan_series, released());
    for_types<int32_t, int64_t>(
        [&]<class T>(std::type_identity<T>) { m.def("series_columns", &series_columns<T>, released()); });
    m.def("stump_sums", &stump_sums, released());
}

} // namespace minrisk
