// Bins, and sums by bin: of all rows, of the rows of a node, and from the stored entries of sparse features.
//
// The bin of x is the number of thresholds below x, so that x > threshold[b] exactly when bin > b.
//
// Sums per (feature, bin) are of fixed-point columns (gradients, or these and Hessians) or of one number per row and
// leaf.
//
// Features whose most frequent bin holds most rows have a *sparse index*: the rows outside that bin, in blocks of
// 65 536. Only those rows are visited; the frequent bin is the total less the rest, exact because sums are integers.
//
//     X_binned (n_features, n_samples) uint8      fixed (n_samples, n_columns) int32 or int64
//     offsets  (n_features, n_blocks + 1) int64   rows (n_indexed,) uint16
#pragma once

#include <bit>
#include <tuple>
#include <type_traits>

#include "arrays.hpp"
#include "lanes.hpp"
#include "numbers.hpp"

namespace minrisk {

// Return thresholds of t (256,), ascending and +inf behind the last one, below x; none are below a missing value.
//
// A search in eight steps, written out: without branches on the data, in which a processor that cannot guess the half
// that comes next would wait, it takes an eighth of the time, and several values are searched for at a time.
inline int64_t code_of(double x, Vector<const double> t) {
    int64_t below = 128 * int64_t(x > t[127]);
    below += 64 * int64_t(x > t[below + 63]);
    below += 32 * int64_t(x > t[below + 31]);
    below += 16 * int64_t(x > t[below + 15]);
    below += 8 * int64_t(x > t[below + 7]);
    below += 4 * int64_t(x > t[below + 3]);
    below += 2 * int64_t(x > t[below + 1]);
    return below + int64_t(x > t[below]);
}

// -- Few columns ------------------------------------------------------------------------------------------------------

// Call `task` with the number of columns where it is 2 or 3, else with 0: those of sketches of one and two are spelt
// out, as a loop over so few columns would cost more than its additions.
template <class Task> decltype(auto) by_width(int64_t n_columns, Task task) {
    if (n_columns == 2) return task(std::integral_constant<int, 2>());
    if (n_columns == 3) return task(std::integral_constant<int, 3>());
    return task(std::integral_constant<int, 0>());
}

// Return columns of memory for so many: three are kept with one more, that all are added at once.
template <int width> constexpr int64_t padded(int64_t n_columns) { return width == 3 ? 4 : n_columns; }

// Give a matrix of a width that the compiler knows, where it is not 0.
template <int width, class T> Matrix<T> of_width(Matrix<T> matrix) {
    if constexpr (width > 0) matrix.shape[1] = width;
    return matrix;
}

// Compute sums += values, of so many as the compiler knows or, with a width of 0, of any number.
template <int width> void add(Vector<int64_t> sums, Vector<const int64_t> values) {
    if constexpr (width > 0) {
        // All are read before one is written: two are then added at once, though they might be the same memory.
        std::array<int64_t, width> made;
        for (int c = 0; c < width; ++c) made[c] = sums[c] + values[c];
        for (int c = 0; c < width; ++c) sums[c] = made[c];
    } else {
        for (int64_t c = 0; c < sums.shape[0]; ++c) sums[c] += values[c];
    }
}

// -- Histograms of a node ---------------------------------------------------------------------------------------------
// Histograms of one node of a growing tree: the sums of its rows' columns by bin.
//
// `Lists` are of features whose most frequent bin holds most rows. Only the rows outside it are visited where they are
// fewer than half the node's; the frequent bin is the node's total less the rest, exact because sums are integers.
// `member` is the leaf of each row, -1 outside the tree; without row numbers it is not looked at.
inline constexpr int64_t LISTED = 2; // a listed row takes as long as two others: it is asked for its leaf, and read
                                     // where it stands

// For each feature the rows outside its most frequent bin.
struct Lists {
    Vector<const int64_t> n_outside; // (d,) how many they are
    Matrix<const int64_t> position;  // (d, 2) where their numbers begin and end
    Vector<const uint16_t> rows;     // the row numbers
    Vector<const uint8_t> frequent;  // (d,) that bin
    static constexpr auto members = std::tuple{&Lists::n_outside, &Lists::position, &Lists::rows, &Lists::frequent};

    // Return whether a node of so many rows is told sooner by the list of feature j.
    bool tells(int64_t j, int64_t n_rows) const { return LISTED * n_outside[j] < n_rows; }
};

// The bins of rows, and for features that are mostly one value the rows of the others.
struct BinnedRows {
    Matrix<const uint8_t> X_binned; // (n_features, n_samples)
    Vector<const int64_t> n_bins;
    Lists lists;
    Vector<int32_t> member; // (n,)
    static constexpr auto members =
        std::tuple{&BinnedRows::X_binned, &BinnedRows::n_bins, &BinnedRows::lists, &BinnedRows::member};
};

// Bins of a feature, a bit for each.
struct Marks {
    std::array<uint64_t, MAX_BINS / 64> words{};

    void add(int64_t b) { words[b >> 6] |= uint64_t(1) << (b & 63); }

    // Mark the bins that are not 0, and no other.
    void read(const std::array<uint8_t, MAX_BINS> &seen) {
        for (int64_t first = 0; first < MAX_BINS; first += LANES) words[first / LANES] = lanes_above(&seen[first], 0);
    }

    // Mark all bins below n_bins, and no other.
    void everything(int64_t n_bins) {
        for (int64_t first = 0; uint64_t &word : words) {
            const int64_t n = std::clamp<int64_t>(n_bins - first, 0, 64);
            word = n == 64 ? ~uint64_t(0) : (uint64_t(1) << n) - 1;
            first += 64;
        }
    }

    // Call `visit` with each bin that is marked, in ascending order.
    template <class Visit> void for_each(Visit visit) const {
        for (int64_t first = 0; first < MAX_BINS; first += 64) {
            for (uint64_t word = words[first >> 6]; word != 0; word &= word - 1) visit(first + std::countr_zero(word));
        }
    }
};

// Compute out[i] = columns of the node's rows, and 0 in columns of `out` behind them.
template <int width, int out_width>
void gather(Matrix<const int64_t> columns, Vector<const int32_t> order, int64_t start, int64_t end,
            Matrix<int64_t> out) {
    columns = of_width<width>(columns), out = of_width<out_width>(out);
    for (int64_t i = 0; i < end - start; ++i) {
        const int64_t row = order[start + i];
        for (int64_t c = 0; c < columns.shape[1]; ++c) out(i, c) = columns(row, c);
        for (int64_t c = columns.shape[1]; c < out.shape[1]; ++c) out(i, c) = 0;
    }
}

// Compute histograms[f * MAX_BINS + b] += columns of the node's rows whose feature f is in bin b, of n features.
//
// `seen(f, b)` is told all of them.
template <int width, int n, class Seen>
void fill(const std::array<Vector<const uint8_t>, n> &bins, Vector<const int32_t> order, int64_t start, int64_t end,
          Matrix<const int64_t> gathered, Matrix<int64_t> histograms, Seen seen) {
    gathered = of_width<width>(gathered), histograms = of_width<width>(histograms);
    for (int64_t i = 0; i < end - start; ++i) {
        const int64_t row = order[start + i];
        for (int f = 0; f < n; ++f) {
            const int64_t b = bins[f][row];
            seen(f, b);
            add<width>(histograms[f * MAX_BINS + b], gathered[i]);
        }
    }
}

// Do so, and mark, where marks are given, the bins with rows of the node and no other.
template <int width, int n>
void fill_together(const std::array<Vector<const uint8_t>, n> &bins, Vector<const int32_t> order, int64_t start,
                   int64_t end, Matrix<const int64_t> gathered, Matrix<int64_t> histograms,
                   std::array<Marks, n> *marks) {
    constexpr int full = padded<width>(width);
    if (marks == nullptr) {
        fill<full, n>(bins, order, start, end, gathered, histograms, [](int, int64_t) {});
        return;
    }
    std::array<std::array<uint8_t, MAX_BINS>, n> seen{};
    fill<full, n>(bins, order, start, end, gathered, histograms, [&](int f, int64_t b) { seen[f][b] = 1; });
    for (int f = 0; f < n; ++f) (*marks)[f].read(seen[f]);
}

// Fill the histogram, and mark its bins, from the listed rows, those outside the frequent bin, which is what is left of
// the total.
template <int width, int row_width>
void fill_listed(Vector<const uint8_t> column, int64_t j, const Lists &lists, Vector<const int32_t> member,
                 int64_t leaf, Matrix<const int64_t> columns, Vector<const int64_t> total, Matrix<int64_t> histogram,
                 Marks &marks) {
    columns = of_width<width>(columns), histogram = of_width<row_width>(histogram);
    const int64_t n_columns = columns.shape[1], frequent = lists.frequent[j];
    const auto rows = lists.rows.slice(lists.position(j, 0), lists.position(j, 1));
    Marks seen;
    seen.add(frequent);
    for (int64_t c = 0; c < n_columns; ++c) histogram(frequent, c) = total[c];
    for (int64_t p = 0; p < rows.shape[0]; ++p) {
        const int64_t row = rows[p];
        if (member[row] != leaf) continue;
        const int64_t b = column[row];
        seen.add(b);
        for (int64_t c = 0; c < n_columns; ++c) {
            const int64_t value = columns(row, c);
            histogram(b, c) += value;
            histogram(frequent, c) -= value;
        }
    }
    marks = seen;
}

// -- Stored entries of sparse features --------------------------------------------------------------------------------
// The entries of d features, those outside the bin of 0. The entries of feature j are those from offsets[j] to
// offsets[j + 1]: `rows`, ascending, and their `bins`; all other rows are in its usual bin. Sums are integers, so that
// what is left of a total for that bin is exact.
struct Entries {
    Vector<const uint8_t> usual;   // (d,)
    Vector<const int64_t> offsets; // (d + 1,)
    Vector<const int32_t> rows;
    Vector<const uint8_t> bins;
    static constexpr auto members = std::tuple{&Entries::usual, &Entries::offsets, &Entries::rows, &Entries::bins};

    // Call `visit` with row and bin of each entry of feature j.
    template <class Visit> void for_each(int64_t j, Visit visit) const {
        const int64_t stop = offsets[j + 1];
        for (int64_t p = offsets[j]; p < stop; ++p) visit(int64_t(rows[p]), int64_t(bins[p]));
    }
};

} // namespace minrisk
