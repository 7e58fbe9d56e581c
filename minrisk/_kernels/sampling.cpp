// Minimal variance sampling of rows (Ibragimov and Gusev, "Minimal Variance Sampling in Stochastic Gradient Boosting",
// NeurIPS 2019): a few rows whose weighted sums stand for everybody's.
//
// Whether a row is drawn depends on its size, on two numbers that follow from a histogram of all sizes, and on a hash
// of its number and the seed: on nothing else, so that rows may lie anywhere.
#include <tuple>

#include "binding.hpp"
#include "fixed.hpp"
#include "grow.hpp"
#include "parts.hpp"

namespace minrisk {
namespace {

constexpr double LEAST_SIZE = 1e-3; // of the mean size, added to each row's: every row may be drawn
constexpr int64_t SIZE_BINS =
    2048; // of sizes: 64 in an octave, so 32 octaves below the largest; smaller sizes are in the lowest bin
constexpr int64_t SIZE_SHIFT =
    46; // bits of a float64 below its exponent and the six highest of its mantissa, which are 64 in an octave
constexpr uint64_t DRAW_SALT =
    0x5851F42D4C957F2D; // so that features and directions of the same seed are drawn by other numbers

// Fill size[i]: the length of a row's gradient in the sketch; returns a histogram of the bag's sizes, (2, bins).
//
// Its lines are how many rows are in each bin, and the sum of rint(size * factor) over them. The lowest bin has the
// sizes whose highest bits (see `SIZE_SHIFT`) are up to `lowest`, the next bin those whose bits are one more.
Array<int64_t, 2> count_sizes(Matrix<const double> gradient, Matrix<const double> directions, Vector<const bool> in_bag,
                              int64_t lowest, double factor, Vector<double> size, int64_t start, int64_t stop) {
    const int64_t q = directions.shape[0], D = directions.shape[1];
    auto found = zeros<int64_t>(2, SIZE_BINS);
    const auto counts = found[0], sums = found[1];
    for_width(D, [&](auto n_outputs) {
        gradient.shape[1] = directions.shape[1] = n_outputs;
        for (int64_t i = start; i < stop; ++i) {
            const auto own = gradient[i];
            double square = 0.0;
            for (int64_t c = 0; c < q - 1; c += 2) {
                const auto first = directions[c], second = directions[c + 1];
                double g = 0.0, h = 0.0;
                for (int64_t k = 0; k < n_outputs; ++k) {
                    g += own[k] * first[k];
                    h += own[k] * second[k];
                }
                square += g * g + h * h;
            }
            if (q % 2 == 1) {
                const auto last = directions[q - 1];
                double g = 0.0;
                for (int64_t k = 0; k < n_outputs; ++k) g += own[k] * last[k];
                square += g * g;
            }
            size[i] = std::sqrt(square);
        }
    });
    for (int64_t i = start; i < stop; ++i) {
        if (!in_bag[i]) continue;
        const int64_t b =
            std::clamp<int64_t>((std::bit_cast<int64_t>(size[i]) >> SIZE_SHIFT) - lowest, 0, SIZE_BINS - 1);
        counts[b] += 1;
        sums[b] += whole(size[i] * factor);
    }
    return found;
}

// Find the floor added to sizes, and the level at which sum_i min(1, (size_i + floor) / level) rows are drawn.
//
// These are (sum s)^2 / sum s^2, as many as would weigh as much if all were of one size, `n_most` at most and `n_least`
// at least, which is below the number of rows. `found` is the histogram of `count_sizes`, of all pieces. Within a bin
// rows are taken to be of its mean size, which matters in the bin that has the level in it alone.
std::tuple<double, double> size_level(Matrix<const int64_t> found, double factor, int64_t n_least, int64_t n_most) {
    const auto counts = found[0], sums = found[1];
    const auto real = [](int64_t x) { return static_cast<double>(x); };
    int64_t n = 0, total = 0;
    for (int64_t b = 0; b < counts.shape[0]; ++b) {
        n += counts[b];
        total += sums[b];
    }
    double squares = 0.0, floor = 1.0, unit = 1.0; // where all gradients are 0, rows are drawn alike
    if (total > 0) {
        for (int64_t b = 0; b < counts.shape[0]; ++b) {
            if (counts[b] > 0) squares += real(sums[b]) * (real(sums[b]) / real(counts[b]));
        }
        floor = LEAST_SIZE * real(total) / real(n);
        unit = 1.0 / factor;
    }
    const int64_t effective = squares > 0.0 ? static_cast<int64_t>(real(total) * (real(total) / squares)) : 0;
    const int64_t wanted = std::max(n_least, std::min(effective, n_most));
    int64_t left = total, sure = 0; // sizes of rows that are not sure to be drawn, and how many are
    double level = (real(left) + floor * real(n)) / real(wanted);
    for (int64_t b = counts.shape[0] - 1; b >= 0; --b) {
        const int64_t count = counts[b];
        if (count == 0) continue;
        if (real(sums[b]) + floor * real(count) <= level * real(count) || sure + count >= wanted) break;
        sure += count; // their sizes are above the level, so that without them it falls for the others
        left -= sums[b];
        level = (real(left) + floor * real(n - sure)) / real(wanted - sure);
    }
    return {floor * unit, level * unit};
}

// Return a random number in [0, 1) of a row's number: that of its place in the sequence of splitmix64.
double uniform(uint64_t state, int64_t number) {
    const uint64_t mixed = mix(state + static_cast<uint64_t>(number) * 0x9E3779B97F4A7C15);
    return static_cast<double>(static_cast<int64_t>(mixed >> 11)) * 0x1p-53;
}

// Draw row i of the bag where a random number of its own is below (size[i] + floor) / level; returns how many.
//
// They are written to `drawn` from `start` on, ascending. Row begins[k] has the number number[k], and those after it
// the next ones, up to row begins[k + 1].
int64_t draw_rows(Vector<const double> size, Vector<const bool> in_bag, double floor, double level, int64_t seed,
                  Vector<const int64_t> begins, Vector<const int64_t> number, int64_t start, int64_t stop,
                  Vector<int32_t> drawn) {
    const uint64_t state = mix(static_cast<uint64_t>(seed) ^ DRAW_SALT);
    int64_t m = start;
    for (int64_t k = 0; k < begins.shape[0]; ++k) {
        const int64_t first = std::max(start, begins[k]), ahead = number[k] - begins[k];
        const int64_t last = k + 1 == begins.shape[0] ? stop : std::min(stop, begins[k + 1]);
        for (int64_t i = first; i < last; ++i) { // without branches on the data
            drawn[m] = static_cast<int32_t>(i);
            m += int64_t(in_bag[i]) & int64_t(uniform(state, i + ahead) * level < size[i] + floor);
        }
    }
    return m - start;
}

// Fill the sketch of the drawn rows start..stop, each over the probability with which it came.
//
// Sums are then those of all rows, in expectation. See `project_row` for the sketch.
void project_drawn(Matrix<const double> gradient, Matrix<const double> hessian, Matrix<const double> directions,
                   Vector<const double> weight, Vector<const double> size, double floor, double level,
                   Vector<const int32_t> drawn, int64_t start, int64_t stop, Matrix<double> sketch) {
    for_width(gradient.shape[1], [&](auto D) {
        for (int64_t j = start; j < stop; ++j) {
            const int64_t i = drawn[j];
            const double share = std::min(1.0, (size[i] + floor) / level);
            const auto own = sketch[j];
            project_row(gradient[i], hessian[i], directions, weight, own, D);
            for (int64_t c = 0; c < own.shape[0]; ++c) own[c] /= share;
        }
    });
}

// Compute out[f] = bins of the rows in each of these features.
void pack_rows(Matrix<const uint8_t> X_binned, Vector<const int64_t> features, Vector<const int32_t> rows,
               Matrix<uint8_t> out) {
    for (int64_t f = 0; f < features.shape[0]; ++f) {
        const auto column = X_binned[features[f]];
        const auto packed = out[features[f]];
        for (int64_t i = 0; i < rows.shape[0]; ++i) packed[i] = column[rows[i]];
    }
}

// Compute order = the rows, those of a leaf side by side in their old order; start and end of each leaf in it.
void order_by_leaf(Vector<const int32_t> rows, Vector<const int32_t> leaf, Vector<int32_t> order, Vector<int64_t> start,
                   Vector<int64_t> end) {
    end.fill(0);
    for (int64_t i = 0; i < rows.shape[0]; ++i) ++end[leaf[rows[i]]];
    int64_t reached = 0;
    for (int64_t number = 0; number < end.shape[0]; ++number) {
        start[number] = reached;
        reached += end[number];
        end[number] = start[number];
    }
    for (int64_t i = 0; i < rows.shape[0]; ++i) order[end[leaf[rows[i]]]++] = rows[i];
}

} // namespace

void define_sampling(nb::module_ &m) {
    m.attr("SIZE_BINS") = SIZE_BINS;
    m.attr("SIZE_SHIFT") = SIZE_SHIFT;
    m.def("count_sizes", &count_sizes, released());
    m.def("size_level", &size_level, released());
    m.def("draw_rows", &draw_rows, released());
    m.def("project_drawn", &project_drawn, released());
    m.def("pack_rows", &pack_rows, released());
    m.def("order_by_leaf", &order_by_leaf, released());
}

} // namespace minrisk
