#include "grow.hpp"

#include <numeric>

#include "binding.hpp"
#include "parts.hpp"

namespace minrisk {
namespace {

constexpr int64_t PENDING = 0, EVALUATED = 1,
                  CLOSED = 2;       // a leaf: its split is not known yet, is known, or is none that helps
constexpr double GROWTH_TIE = 1e-6; // merits closer than this are equal, and the first one wins: smaller than `TIE`, as
                                    // that of the whole node is among them, of which a split must gain so much
constexpr int64_t SEQUENTIAL_FEATURES = 2000; // up to which a draw passes over all features
constexpr uint64_t CUT_SALT =
    0xD1342543DE82EF95; // so that thresholds and features of a node are drawn by other numbers
constexpr int64_t FEW_DRAWN =
    16; // times the features drawn, at least, from which on those are drawn one after another: it is faster
constexpr int64_t FILLED_TOGETHER = 2; // features whose histograms are filled in one pass over a node's rows, at most
constexpr int64_t COUNT =
    (int64_t(1) << COUNT_BITS) - 1; // the bits of a sketch's last column that hold a number of rows

// -- Totals -----------------------------------------------------------------------------------------------------------
// Return rows behind a total.
int64_t count_of(Vector<const int64_t> total, int64_t gain) {
    const int64_t last = total[total.shape[0] - 1];
    return gain == SKETCH ? last & COUNT : last;
}

// Give the Hessian behind a total of a sketch.
int64_t hessian_of(Vector<const int64_t> total, int64_t gain) {
    const int64_t last = total.shape[0] - 1;
    return gain == SKETCH ? total[last] >> COUNT_BITS : total[last - 1];
}

// Say whether a node has rows for two leaves and, where one is asked for, the Hessian of a sketch to be split.
bool is_large(Vector<const int64_t> total, const Search &search) {
    return count_of(total, search.gain) >= 2 * search.min_leaf &&
           (search.min_hessian <= 0.0 || static_cast<double>(hessian_of(total, search.gain)) >= search.min_hessian);
}

// Return what a split may raise: the loss that a node's own vector takes away, up to constants.
double merit(Vector<const int64_t> total, Vector<const double> factor, Vector<const double> ridge, int64_t gain) {
    const int64_t n_columns = total.shape[0], K = n_columns / 2;
    const auto unfixed = [&](int64_t c) { return static_cast<double>(total[c]) * factor[c]; };
    double sum = 0.0;
    if (gain == SKETCH || gain == COUNT_APART) {
        const int64_t m = n_columns - (gain == SKETCH ? 1 : 2);
        for (int64_t c = 0; c < m; ++c) sum += unfixed(c) * unfixed(c);
        return sum / (static_cast<double>(hessian_of(total, gain)) * factor[m] + ridge[0]);
    }
    if (gain == GINI) {
        double weight = 0.0;
        for (int64_t k = 0; k < K; ++k) {
            weight += unfixed(k);
            sum += unfixed(k) * unfixed(k);
        }
        return weight > 0.0 ? sum / weight : 0.0;
    }
    if (gain == CODEWORD) {
        double top = unfixed(0);
        for (int64_t k = 0; k < K; ++k) {
            top = std::max(top, unfixed(k));
            sum += unfixed(k);
        }
        return top - sum / static_cast<double>(K);
    }
    for (int64_t k = 0; k < K; ++k) {
        const double gradient = unfixed(k);
        if (gain == ABSOLUTE) {
            sum += std::abs(gradient);
            continue;
        }
        const double hessian = unfixed(K + k) + ridge[k];
        if (gain == NEWTON) {
            if (hessian > 0.0) sum += gradient * gradient / hessian;
        } else {
            // As a product: the difference of the squares would cancel in pure nodes.
            sum -= std::sqrt(std::max((hessian - gradient) * (hessian + gradient), 0.0));
        }
    }
    return sum;
}

// -- Draws ------------------------------------------------------------------------------------------------------------
// Draw a number from 0 to below n, each as likely, by the upper bits of a well-mixed one.
int64_t below(uint64_t state, int64_t n) {
    return static_cast<int64_t>((state >> 32) * static_cast<uint64_t>(n) >> 32);
}

// Compute out[:n_drawn] = features of a node in their order, every choice as likely (Knuth's algorithm S).
//
// Of very many features, where few are drawn, one after another until so many differ.
void draw_features(Vector<const int64_t> features, int64_t n_drawn, int64_t seed, int64_t node, Vector<int64_t> out) {
    const int64_t n = features.shape[0];
    uint64_t state = mix(static_cast<uint64_t>(seed) ^ mix(static_cast<uint64_t>(node)));
    int64_t drawn = 0;
    if (n > SEQUENTIAL_FEATURES && FEW_DRAWN * n_drawn <= n) {
        while (drawn < n_drawn) {
            state = mix(state);
            const int64_t feature = features[below(state, n)];
            int64_t place = drawn;
            while (place > 0 && out[place - 1] > feature) --place;
            if (place > 0 && out[place - 1] == feature) continue;
            for (int64_t i = drawn; i > place; --i) out[i] = out[i - 1];
            out[place] = feature;
            ++drawn;
        }
        return;
    }
    for (int64_t f = 0; f < n; ++f) {
        state = mix(state);
        if (below(state, n - f) < n_drawn - drawn) out[drawn++] = features[f];
    }
}

// Give what a node's thresholds are drawn from, one for each feature; 0: none is drawn, all are looked at.
int64_t cut_draws(int64_t seed, int64_t node, bool random) {
    if (!random) return 0;
    return static_cast<int64_t>(mix(mix(static_cast<uint64_t>(seed) ^ CUT_SALT) ^ mix(static_cast<uint64_t>(node))) >>
                                1) |
           1;
}

// Draw the bin that a feature's threshold is behind: of those from `low` to below `high`, each as likely.
//
// Geurts, Ernst and Wehenkel, "Extremely randomized trees", 2006. It is the first that falls among them of bins drawn
// from all that those before have left: a row more at either end of a node's rows seldom draws another. Where the two
// are one bin it is that one.
int64_t cut_between(int64_t low, int64_t high, int64_t draws, int64_t feature) {
    if (high <= low) return low;
    uint64_t state = mix(static_cast<uint64_t>(draws) ^ mix(static_cast<uint64_t>(feature)));
    int64_t begin = 0, end = MAX_BINS;
    while (true) {
        const int64_t bin = begin + below(state, end - begin);
        if (low <= bin && bin < high) return bin;
        (bin < low ? begin : end) = bin < low ? bin + 1 : bin;
        state = mix(state);
    }
}

// Draw `cut_between` of the lowest and the highest bin with rows of the node; -1: no threshold is drawn.
int64_t drawn_cut(Matrix<const int64_t> histogram, int64_t n_columns, const Marks &marks, int64_t gain, int64_t draws,
                  int64_t feature) {
    if (draws == 0) return -1;
    int64_t low = -1, high = -1;
    marks.for_each([&](int64_t b) {
        if (count_of(histogram[b].slice(0, n_columns), gain) == 0) return;
        low = low < 0 ? b : low;
        high = b;
    });
    return cut_between(low, high, draws, feature);
}

// -- The best split of a node -----------------------------------------------------------------------------------------
// The best threshold of a feature: the merit of both sides, the merit that it beat, and its bin, -1: none.
struct Threshold {
    double merit;
    double beaten;
    int64_t bin = -1;
    double bar = merit + GROWTH_TIE * std::abs(merit); // what another must be above

    explicit Threshold(double least) : merit(least), beaten(least) {}

    // Take a better one.
    void rise(double value, int64_t where) {
        beaten = merit;
        merit = value;
        bin = where;
        bar = merit + GROWTH_TIE * std::abs(merit);
    }
};

// The best split of a node: the merit of both sides, the merit that it beat, its feature (-1: none) and its bin.
struct Split {
    double merit;
    double beaten;
    int64_t feature = -1;
    int64_t bin = -1;

    explicit Split(double least) : merit(least), beaten(least) {}

    // Take a feature's best threshold, which is better if there is one.
    void follow(const Threshold &threshold, int64_t j) {
        if (threshold.bin < 0) return;
        merit = threshold.merit;
        beaten = threshold.beaten;
        feature = j;
        bin = threshold.bin;
    }
};

// What lies below each occupied bin of a feature, of a sketch of one or two, and what a threshold there gains.
struct Below {
    static constexpr int64_t AT_ONCE = 8; // are computed side by side
    std::array<int64_t, MAX_BINS + AT_ONCE> first, second, hessian, bin;
    std::array<double, MAX_BINS + AT_ONCE> sum, product; // the merit of both sides is sum / product
};

// Do `best_threshold` for a sketch of one or two, spelt out.
template <int width, class Sum>
Threshold best_sketch_threshold(Matrix<Sum> histogram, const Marks &marks, Vector<const int64_t> total,
                                const Search &search, double least, int64_t cut) {
    constexpr int64_t m = width - 1;
    Below below; // not filled, as most nodes have rows in a few bins
    int64_t n = 0, left0 = 0, left1 = 0, left_hessian = 0;
    marks.for_each([&](int64_t b) {
        const auto here = histogram[b];
        below.first[n] = left0;
        if constexpr (m == 2) below.second[n] = left1;
        below.hessian[n] = left_hessian;
        below.bin[n] = b;
        n += (here[m] & COUNT) != 0; // a threshold below an empty bin would part the rows as the next one does
        left0 += here[0];
        if constexpr (m == 2) left1 += here[1];
        left_hessian += here[m];
        if constexpr (!std::is_const_v<Sum>) {
            for (int64_t c = 0; c < width; ++c) here[c] = 0;
        }
    });
    const int64_t min_leaf = search.min_leaf, most = (total[m] & COUNT) - min_leaf;
    Threshold best(least);
    int64_t start = 1, stop = n; // of the bins above a threshold; -1 as a cut is below all
    while (start < stop && ((below.hessian[start] & COUNT) < min_leaf || below.bin[start] <= cut)) ++start;
    while (start < stop && ((below.hessian[stop - 1] & COUNT) > most || (cut >= 0 && below.bin[stop - 2] > cut)))
        --stop;
    if (start >= stop) return best;
    const double f0 = search.factor[0], f1 = m == 2 ? search.factor[1] : 0.0, fm = search.factor[m],
                 ridge = search.ridge[0];
    const double whole0 = static_cast<double>(total[0]) * f0, whole1 = static_cast<double>(total[m - 1]) * f1;
    const double whole_hessian = static_cast<double>(total[m] >> COUNT_BITS) * fm;
    // The loop that is vectorised, in whole vectors: what it makes beyond `stop` is not looked at.
    const int64_t end = start + (stop - start + Below::AT_ONCE - 1) / Below::AT_ONCE * Below::AT_ONCE;
    for (int64_t i = start; i < end; ++i) {
        const double g0 = static_cast<double>(below.first[i]) * f0;
        const double g1 = m == 2 ? static_cast<double>(below.second[i]) * f1 : 0.0;
        const double hessian = static_cast<double>(below.hessian[i] >> COUNT_BITS) * fm;
        const double other0 = whole0 - g0, other1 = whole1 - g1;
        const double hessian_l = hessian + ridge, hessian_r = whole_hessian - hessian + ridge;
        below.product[i] = hessian_l * hessian_r;
        below.sum[i] = (g0 * g0 + g1 * g1) * hessian_r + (other0 * other0 + other1 * other1) * hessian_l;
    }
    for (int64_t i = start; i < stop; ++i) { // only the winner's fractions are divided
        if (below.sum[i] > best.bar * below.product[i])
            best.rise(below.sum[i] / below.product[i], (below.bin[i - 1] + below.bin[i]) >> 1);
    }
    return best;
}

// Memory for the sums on either side of a threshold.
struct Sides {
    Array<int64_t, 1> left, right;
    explicit Sides(int64_t n_columns) : left(n_columns), right(n_columns) {}
};

// Return largest merit of the two sides above `least`, the first of equals, what it beat, and its bin.
//
// The bin, midway between occupied ones, is -1 where none is above. A histogram that may be written to is zeroed where
// it has been read. With `draws` other than 0 the threshold that these draw for the feature is the only one.
template <int width, class Sum>
Threshold best_threshold(Matrix<Sum> histogram, const Marks &marks, Vector<const int64_t> total, const Search &search,
                         double least, const Sides &sides, int64_t draws, int64_t feature) {
    const int64_t gain = search.gain, cut = drawn_cut(histogram, total.shape[0], marks, gain, draws, feature);
    if constexpr (width > 0) { // the usual cases
        if (gain == SKETCH) return best_sketch_threshold<width>(histogram, marks, total, search, least, cut);
    }
    const int64_t n_columns = total.shape[0], min_leaf = search.min_leaf, count = count_of(total, gain);
    const Vector<int64_t> left = sides.left, right = sides.right;
    const auto factor = search.factor, ridge = search.ridge;
    left.fill(0);
    Threshold best(least);
    int64_t previous = -1;
    marks.for_each([&](int64_t b) {
        const auto here = histogram[b].slice(0, n_columns);
        if (count_of(here, gain) == 0) return;
        const int64_t below = count_of(left, gain);
        if (previous >= 0 && (cut < 0 || (previous <= cut && cut < b)) && below >= min_leaf &&
            count - below >= min_leaf) {
            for (int64_t c = 0; c < n_columns; ++c) right[c] = total[c] - left[c];
            const double value = merit(left, factor, ridge, gain) + merit(right, factor, ridge, gain);
            if (value > best.bar) best.rise(value, (previous + b) >> 1);
        }
        for (int64_t c = 0; c < n_columns; ++c) left[c] += here[c];
        if constexpr (!std::is_const_v<Sum>) here.fill(0);
        previous = b;
    });
    return best;
}

// Sum the node's rows on either side of a feature's drawn threshold, into the bins next to it, which are marked.
//
// To the split that is found it makes no difference that the bins further away are empty. It takes less time. Loops are
// over bytes or over the columns of a row, as compilers make vectors of these. `bins` is memory for a byte of each row.
template <int width>
void fill_sides(Vector<const uint8_t> column, Vector<const int32_t> order, int64_t start, int64_t end,
                Matrix<const int64_t> gathered, Vector<const int64_t> total, int64_t draws, int64_t feature,
                Vector<uint8_t> bins, Matrix<int64_t> histogram, const Sides &sides, Marks &marks) {
    constexpr int full = padded<width>(width);
    gathered = of_width<full>(gathered);
    const int64_t n = end - start;
    for (int64_t i = 0; i < n; ++i) bins[i] = column[order[start + i]];
    uint8_t low = 255, high = 0;
    for (int64_t i = 0; i < n; ++i) low = std::min(low, bins[i]);
    for (int64_t i = 0; i < n; ++i) high = std::max(high, bins[i]);
    marks = {};
    if (low >= high) return;
    const auto cut = static_cast<uint8_t>(cut_between(low, high, draws, feature));
    uint8_t below = low, above = high;
    for (int64_t i = 0; i < n; ++i) below = std::max(below, bins[i] <= cut ? bins[i] : low);
    for (int64_t i = 0; i < n; ++i) above = std::min(above, bins[i] <= cut ? high : bins[i]);
    const auto sum = [&](auto sums) {
        const int64_t n_columns = gathered.shape[1];
        for (int64_t i = 0; i < n; ++i) {
            const int64_t mask = -int64_t(bins[i] <= cut);
            for (int64_t c = 0; c < n_columns; ++c) sums[c] += gathered(i, c) & mask;
        }
        for (int64_t c = 0; c < total.shape[0]; ++c) {
            histogram(below, c) = sums[c];
            histogram(above, c) = total[c] - sums[c];
        }
    };
    if constexpr (width > 0) {
        sum(std::array<int64_t, full>{});
    } else {
        sides.left.fill(0);
        sum(Vector<int64_t>(sides.left));
    }
    marks.add(below);
    marks.add(above);
}

// What the search of a node's split writes to: `gathered` holds the columns of its rows, and histograms are zero
// between features. Both have the columns that are added at once, see `padded`.
struct Scratch {
    Matrix<const int64_t> gathered;
    AlignedMatrix<int64_t> histograms; // of features that are filled together, one after another
    Array<uint8_t, 1> bins;            // of the node's rows
    Sides sides;

    Scratch(Matrix<const int64_t> gathered, int64_t n_columns)
        : gathered(gathered), histograms(FILLED_TOGETHER * MAX_BINS, gathered.shape[1]), bins(gathered.shape[0]),
          sides(n_columns) {
        histograms.fill(0);
    }
};

// Follow the best thresholds of `n` features from `first` on, which are filled together.
template <int width, int n>
void evaluate_together(const BinnedRows &binned, Vector<const int64_t> features, int64_t first,
                       Vector<const int32_t> order, int64_t start, int64_t end, Vector<const int64_t> total,
                       const Search &search, const Scratch &scratch, Split &best) {
    std::array<Vector<const uint8_t>, n> columns;
    std::array<Marks, n> marks;
    int64_t n_bins = 0;
    for (int f = 0; f < n; ++f) {
        const int64_t j = features[first + f];
        columns[f] = binned.X_binned[j];
        marks[f].everything(binned.n_bins[j]);
        n_bins = std::max(n_bins, binned.n_bins[j]);
    }
    // Where most bins are empty, those with rows are marked, and no other is looked at.
    fill_together<width, n>(columns, order, start, end, scratch.gathered, scratch.histograms,
                            end - start < n_bins ? &marks : nullptr);
    for (int f = 0; f < n; ++f) {
        const auto histogram = scratch.histograms.slice(f * MAX_BINS, (f + 1) * MAX_BINS);
        const int64_t j = features[first + f];
        best.follow(best_threshold<width>(histogram, marks[f], total, search, best.merit, scratch.sides, 0, j), j);
    }
}

// Find the best split of a node straight from its rows, if above `least`.
template <int width>
Split evaluate_rows(const BinnedRows &binned, Vector<const int64_t> features, Matrix<const int64_t> columns,
                    Vector<const int32_t> order, int64_t start, int64_t end, Vector<const int64_t> total,
                    const Search &search, int64_t leaf, const Scratch &scratch, double least, int64_t draws) {
    const auto histogram = scratch.histograms.slice(0, MAX_BINS);
    Split best(least);
    const int64_t n = features.shape[0];
    const auto reads_rows = [&](int64_t f) { return draws == 0 && !binned.lists.tells(features[f], end - start); };
    for (int64_t f = 0; f < n;) {
        int64_t together = 0; // features of which the rows are read
        while (together < FILLED_TOGETHER && f + together < n && reads_rows(f + together)) ++together;
        const auto evaluate = [&]<int so_many>(std::integral_constant<int, so_many>) {
            evaluate_together<width, so_many>(binned, features, f, order, start, end, total, search, scratch, best);
            f += so_many;
        };
        if (together == 2) {
            evaluate(std::integral_constant<int, 2>());
        } else if (together == 1) {
            evaluate(std::integral_constant<int, 1>());
        } else {
            const int64_t j = features[f++];
            const auto column = binned.X_binned[j];
            Marks marks;
            if (draws != 0) {
                fill_sides<width>(column, order, start, end, scratch.gathered, total, draws, j, scratch.bins, histogram,
                                  scratch.sides, marks);
            } else {
                fill_listed<width, padded<width>(width)>(column, j, binned.lists, binned.member, leaf, columns, total,
                                                         histogram, marks);
            }
            best.follow(best_threshold<width>(histogram, marks, total, search, best.merit, scratch.sides, 0, j), j);
        }
    }
    return best;
}

// Make `evaluate_rows` by itself, for threads that share the features of a node: merit, what it beat, feature, bin.
std::tuple<double, double, int64_t, int64_t>
evaluate_some(const BinnedRows &binned, Vector<const int64_t> features, Matrix<const int64_t> columns,
              Vector<const int32_t> order, int64_t start, int64_t end, Vector<const int64_t> total,
              const Search &search, int64_t leaf, Matrix<const int64_t> gathered, double least, int64_t draws) {
    return by_width(columns.shape[1], [&](auto width) {
        const Array<int64_t, 2> copy(gathered.shape[0], padded<width>(gathered.shape[1]));
        for (int64_t i = 0; i < copy.shape[0]; ++i) {
            for (int64_t c = 0; c < copy.shape[1]; ++c) copy(i, c) = c < gathered.shape[1] ? gathered(i, c) : 0;
        }
        const auto best = evaluate_rows<width>(binned, features, columns, order, start, end, total, search, leaf,
                                               Scratch(copy, columns.shape[1]), least, draws);
        return std::tuple(best.merit, best.beaten, best.feature, best.bin);
    });
}

// Find the best split of a node from its histograms: merit of both sides, feature, bin (-1: none).
std::tuple<double, int64_t, int64_t> evaluate_histograms(Cube<const int64_t> histograms, Vector<const int64_t> features,
                                                         Vector<const int64_t> n_bins, Vector<const int64_t> total,
                                                         const Search &search, int64_t draws) {
    return by_width(total.shape[0], [&](auto width) {
        Marks marks;
        const Sides sides(total.shape[0]);
        Split best(merit(total, search.factor, search.ridge, search.gain));
        for (int64_t f = 0; f < features.shape[0]; ++f) {
            const int64_t j = features[f];
            marks.everything(n_bins[j]);
            best.follow(best_threshold<width>(histograms[f], marks, total, search, best.merit, sides, draws, j), j);
        }
        return std::tuple(best.merit, best.feature, best.bin);
    });
}

// -- The tree ---------------------------------------------------------------------------------------------------------
// Put rows of a node with bins up to b first, in their old order, and return where the others begin.
int64_t partition(Vector<const uint8_t> column, int64_t b, Vector<int32_t> order, int64_t start, int64_t end,
                  Vector<int32_t> spare) {
    int64_t middle = start, n_right = 0;
    for (int64_t i = start; i < end; ++i) { // without branches on the data, half of which a processor would foresee
                                            // wrongly
        const int32_t row = order[i];
        const int64_t right = column[row] > b;
        order[middle] = row;
        spare[n_right] = row;
        middle += 1 - right;
        n_right += right;
    }
    for (int64_t i = 0; i < n_right; ++i) order[middle + i] = spare[i];
    return middle;
}

// Set the status of a new leaf: whether its split is to be looked for.
void settle(const GrowthState &tree, int64_t leaf, const Search &search) {
    const bool grows = is_large(tree.total[leaf], search) && tree.depth[leaf] < search.max_depth &&
                       tree.sizes[0] < tree.start.shape[0];
    tree.status[leaf] = grows ? PENDING : CLOSED;
}

// Make a node a leaf, which is its own left child.
void make_leaf(const GrowthState &tree, int64_t node) {
    tree.feature[node] = 0;
    tree.bin[node] = static_cast<int32_t>(LEAF_BIN);
    tree.left[node] = static_cast<int32_t>(node);
    tree.gain[node] = 0.0;
}

// Put n rows into one leaf, the root, whose total is known.
void root(const GrowthState &tree, int64_t n, const Search &search) {
    tree.start[0] = 0;
    tree.end[0] = n;
    tree.depth[0] = tree.node[0] = 0;
    make_leaf(tree, 0);
    tree.sizes[0] = tree.sizes[1] = 1;
    tree.sizes[2] = 0;
    settle(tree, 0, search);
}

// Compute sums = columns summed over rows order[start:end].
void sum_rows(Matrix<const int64_t> columns, Vector<const int32_t> order, int64_t start, int64_t end,
              Vector<int64_t> sums) {
    sums.fill(0);
    by_width(columns.shape[1], [&](auto width) {
        const auto values = of_width<width>(columns);
        for (int64_t i = start; i < end; ++i) {
            const int64_t row = order[i];
            for (int64_t c = 0; c < values.shape[1]; ++c) sums[c] += values(row, c);
        }
    });
}

// Begin with all rows of `order` in one leaf, the root.
void plant(const GrowthState &tree, Matrix<const int64_t> columns, Vector<const int32_t> order, const Search &search) {
    sum_rows(columns, order, 0, order.shape[0], tree.total[0]);
    root(tree, order.shape[0], search);
}

// Return the leaf whose split gains most, the first of equals; -1 where none gains or the tree is full.
int64_t leaf_to_split(const GrowthState &tree) {
    int64_t split = -1;
    if (tree.sizes[0] < tree.start.shape[0]) {
        double bar = -INFINITE; // a comparison does not wait for the one before, which seldom finds a better leaf
        for (int64_t leaf = 0; leaf < tree.sizes[0]; ++leaf) {
            if (tree.status[leaf] != EVALUATED || (split >= 0 && !(tree.drop[leaf] > bar))) continue;
            split = leaf;
            bar = tree.drop[leaf] * (1.0 + GROWTH_TIE);
        }
    }
    return split;
}

// Split a leaf whose rows above its threshold begin at `middle`: they are the last leaf's, which is new.
void branch(const GrowthState &tree, int64_t split, int64_t middle) {
    const int64_t parent = tree.node[split], first = tree.sizes[1], made = tree.sizes[0];
    tree.feature[parent] = static_cast<int32_t>(tree.best_feature[split]);
    tree.bin[parent] = static_cast<int32_t>(tree.best_bin[split]);
    tree.left[parent] = static_cast<int32_t>(first);
    tree.gain[parent] = tree.drop[split];
    make_leaf(tree, first);
    make_leaf(tree, first + 1);
    tree.sizes[0] = made + 1;
    tree.sizes[1] = first + 2;
    tree.start[made] = middle;
    tree.end[made] = tree.end[split];
    tree.end[split] = middle;
    tree.node[split] = first;
    tree.node[made] = first + 1;
    tree.depth[made] = ++tree.depth[split];
    tree.sizes[2] = std::max(tree.sizes[2], tree.depth[split]);
}

// Split a leaf, and sum the columns over the rows of the smaller side; the other's are what is left.
void branch_and_sum(const GrowthState &tree, int64_t split, int64_t middle, Matrix<const int64_t> columns,
                    Vector<const int32_t> order) {
    branch(tree, split, middle);
    const int64_t made = tree.sizes[0] - 1;
    const auto below = tree.total[split], above = tree.total[made];
    const bool is_below = middle - tree.start[split] <= tree.end[made] - middle;
    const int64_t smaller = is_below ? split : made;
    sum_rows(columns, order, tree.start[smaller], tree.end[smaller], above);
    for (int64_t c = 0; c < below.shape[0]; ++c) {
        const int64_t some = above[c], rest = below[c] - some;
        below[c] = is_below ? some : rest;
        above[c] = is_below ? rest : some;
    }
}

// Of trees whose sums are exchanged between pieces of the rows Python asks one step after another.
// Begin with n rows, whose sums over all pieces are `total`, in one leaf.
void begin(const GrowthState &tree, Vector<const int64_t> total, int64_t n, const Search &search) {
    for (int64_t c = 0; c < total.shape[0]; ++c) tree.total(0, c) = total[c];
    root(tree, n, search);
}

// Split a leaf, the sums of whose sides over all pieces are known.
void divide_leaf(const GrowthState &tree, int64_t split, int64_t middle, Vector<const int64_t> below,
                 Vector<const int64_t> above, const Search &search) {
    branch(tree, split, middle);
    const int64_t made = tree.sizes[0] - 1;
    for (int64_t c = 0; c < below.shape[0]; ++c) {
        tree.total(split, c) = below[c];
        tree.total(made, c) = above[c];
    }
    settle(tree, split, search);
    settle(tree, made, search);
}

// Take down the best split of a leaf.
void judge(const GrowthState &tree, int64_t leaf, const Split &best, double whole) {
    tree.drop[leaf] = best.merit - whole;
    tree.best_feature[leaf] = best.feature;
    tree.best_bin[leaf] = best.bin;
    tree.status[leaf] = best.feature >= 0 ? EVALUATED : CLOSED;
}

template <int width>
int64_t grow_of_width(const GrowthState &tree, const BinnedRows &binned, Matrix<const int64_t> columns,
                      const Search &search, int64_t large, Vector<int32_t> order, Vector<int32_t> spare) {
    const int64_t n_columns = columns.shape[1], n_drawn = search.n_drawn;
    const auto features = search.features;
    const Array<int64_t, 1> drawn(features.shape[0]);
    const AlignedMatrix<int64_t> gathered(std::min(large, order.shape[0]), padded<width>(n_columns));
    const Scratch scratch(gathered, n_columns);
    if (tree.sizes[0] == 0) plant(tree, columns, order, search);
    if (tree.sizes[0] == 1 && tree.status[0] == PENDING && tree.end[0] > large) return 0;
    int64_t split = 0;
    while (true) {
        for (int64_t leaf : {split, tree.sizes[0] - 1}) { // at first both are the root
            if (tree.status[leaf] != PENDING) continue;
            const int64_t start = tree.start[leaf], end = tree.end[leaf], node = tree.node[leaf];
            const auto total = tree.total[leaf];
            draw_features(features, n_drawn, search.seed, node, drawn);
            gather<width, padded<width>(width)>(columns, order, start, end, gathered);
            const double whole = merit(total, search.factor, search.ridge, search.gain);
            const auto best =
                evaluate_rows<width>(binned, drawn.slice(0, n_drawn), columns, order, start, end, total, search, leaf,
                                     scratch, whole, cut_draws(search.seed, node, search.random));
            judge(tree, leaf, best, whole);
        }
        split = leaf_to_split(tree);
        if (split < 0) return -1;
        const int64_t made = tree.sizes[0];
        const int64_t middle = partition(binned.X_binned[tree.best_feature[split]], tree.best_bin[split], order,
                                         tree.start[split], tree.end[split], spare);
        branch_and_sum(tree, split, middle, columns, order);
        if (binned.lists.rows.shape[0] > 0) {
            // Lists are of all rows, which tell by their leaf whether they are the node's.
            for (int64_t i = tree.start[made]; i < tree.end[made]; ++i)
                binned.member[order[i]] = static_cast<int32_t>(made);
        }
        bool any_large = false;
        for (int64_t leaf : {split, made}) {
            settle(tree, leaf, search);
            any_large = any_large || (tree.status[leaf] == PENDING && tree.end[leaf] - tree.start[leaf] > large);
        }
        if (any_large) return split;
    }
}

// -- Growth on the stored entries of sparse features ------------------------------------------------------------------
// The entries of a round's F features, row after row; a row's features ascend.
struct RowEntries {
    Vector<const int64_t> offsets; // (n + 1,) where the entries of each row begin
    Vector<const int32_t> feature; // a number among the F
    Vector<const int32_t> slot;    // of the feature's bin in `sums`
    Vector<const int64_t> first;   // (F + 1,) slots of each feature begin here
    Matrix<int64_t> sums;          // (S, C) zero
    Vector<int64_t> stamp;         // (F,) the node in which the feature was seen last
    static constexpr auto members = std::tuple{&RowEntries::offsets, &RowEntries::feature, &RowEntries::slot,
                                               &RowEntries::first,   &RowEntries::sums,    &RowEntries::stamp};
};

// Compute offsets[i + 1] = entries in these features of rows up to i, of rows whose member is 0.
void count_entries(const Entries &stored, Vector<const int64_t> features, Vector<const int32_t> member,
                   Vector<int64_t> offsets) {
    offsets.fill(0);
    for (int64_t f = 0; f < features.shape[0]; ++f) {
        stored.for_each(features[f], [&](int64_t row, int64_t) { offsets[row + 1] += member[row] == 0; });
    }
    std::partial_sum(offsets.data, offsets.data + offsets.shape[0], offsets.data);
}

// Fill `feature` and `slot`; `offsets` of each row end where the row before ended.
void pack_entries(const Entries &stored, Vector<const int64_t> features, Vector<const int32_t> member,
                  Vector<int64_t> offsets, Vector<const int64_t> first, Vector<int32_t> feature, Vector<int32_t> slot) {
    for (int64_t f = 0; f < features.shape[0]; ++f) {
        stored.for_each(features[f], [&](int64_t row, int64_t b) {
            if (member[row] != 0) return;
            const int64_t q = offsets[row]++;
            feature[q] = static_cast<int32_t>(f);
            slot[q] = static_cast<int32_t>(first[f] + b);
        });
    }
    for (int64_t i = offsets.shape[0] - 1; i > 0; --i) offsets[i] = offsets[i - 1];
    offsets[0] = 0;
}

// Find the best split of a node from the entries of its rows. `histogram` is zero, and left so.
template <int width>
Split evaluate_entries(const Entries &stored, Vector<const int64_t> features, Matrix<const int64_t> columns,
                       Vector<const int64_t> total, const Search &search, Vector<const int32_t> member, int64_t leaf,
                       Matrix<int64_t> histogram, const Sides &sides, int64_t draws) {
    columns = of_width<width>(columns), histogram = of_width<width>(histogram);
    const int64_t n_columns = columns.shape[1];
    Split best(merit(total, search.factor, search.ridge, search.gain));
    for (int64_t f = 0; f < features.shape[0]; ++f) {
        const int64_t j = features[f], missing = stored.usual[j];
        const auto most = histogram[missing];
        bool found = false;
        Marks marks;
        marks.add(missing);
        stored.for_each(j, [&](int64_t row, int64_t b) {
            if (member[row] != leaf) return;
            found = true;
            marks.add(b);
            for (int64_t c = 0; c < n_columns; ++c) {
                const int64_t value = columns(row, c);
                histogram(b, c) += value;
                most[c] -= value;
            }
        });
        if (!found) continue; // all rows are in one bin
        for (int64_t c = 0; c < n_columns; ++c) most[c] += total[c];
        best.follow(best_threshold<width>(histogram, marks, total, search, best.merit, sides, draws, j), j);
        most.fill(0); // without rows in it, it was passed over
    }
    return best;
}

// Find the best split of a node over all of a round's features. `packed.sums` stay zero.
template <int width>
Split evaluate_packed(const Entries &stored, const RowEntries &packed, Matrix<const int64_t> columns,
                      Vector<const int32_t> order, int64_t start, int64_t end, Vector<const int64_t> total,
                      const Search &search, int64_t tick, const Sides &sides, int64_t draws) {
    columns = of_width<width>(columns);
    const auto features = search.features, first = packed.first;
    const auto feature = packed.feature, slot = packed.slot;
    const auto stamp = packed.stamp;
    const auto sums = of_width<width>(packed.sums);
    const int64_t n_columns = columns.shape[1];
    for (int64_t i = start; i < end; ++i) {
        const int64_t row = order[i], stop = packed.offsets[row + 1];
        for (int64_t p = packed.offsets[row]; p < stop; ++p) {
            const int64_t s = slot[p];
            stamp[feature[p]] = tick;
            for (int64_t k = 0; k < n_columns; ++k) sums(s, k) += columns(row, k);
        }
    }
    Marks marks;
    Split best(merit(total, search.factor, search.ridge, search.gain));
    for (int64_t f = 0; f < features.shape[0]; ++f) {
        if (stamp[f] != tick) continue; // all rows are in one bin
        const int64_t j = features[f], base = first[f], stop = first[f + 1], most = base + stored.usual[j];
        for (int64_t k = 0; k < n_columns; ++k) {
            int64_t rest = total[k];
            for (int64_t s = base; s < stop; ++s) rest -= sums(s, k);
            sums(most, k) = rest;
        }
        marks.everything(stop - base);
        best.follow(best_threshold<width>(sums.slice(base, stop), marks, total, search, best.merit, sides, draws, j),
                    j);
        sums[most].fill(0); // without rows in it, it was passed over
    }
    return best;
}

// Put rows of a node with bins of feature j up to b first, in their old order; return where the others begin.
//
// `side` (n,) is zero, and left so.
int64_t divide_entries(const Entries &stored, int64_t j, int64_t b, Vector<int32_t> order, int64_t start, int64_t end,
                       Vector<int32_t> spare, Vector<uint8_t> side) {
    const bool above = stored.usual[j] > b;
    stored.for_each(j, [&](int64_t row, int64_t bin) {
        if ((bin > b) != above) side[row] = 1;
    });
    int64_t middle = start, n_right = 0;
    for (int64_t i = start; i < end; ++i) {
        const int32_t row = order[i];
        if ((side[row] == 1) != above) {
            spare[n_right++] = row;
        } else {
            order[middle++] = row;
        }
    }
    for (int64_t i = 0; i < n_right; ++i) order[middle + i] = spare[i];
    stored.for_each(j, [&](int64_t row, int64_t) { side[row] = 0; });
    return middle;
}

// Grow as `grow` does, on stored entries and to the end; the same choices from the same sums.
//
// Where a node looks at all features they are `packed`. `member` (n,) is 0 for the rows of `order` and -1 for others. A
// row may stand for several, by its columns.
template <int width>
void grow_stored_of_width(const GrowthState &tree, const Entries &stored, const RowEntries &packed,
                          Matrix<const int64_t> columns, const Search &search, Vector<int32_t> member,
                          Vector<int32_t> order, Vector<int32_t> spare, Vector<uint8_t> side) {
    const int64_t n_columns = columns.shape[1], n_drawn = search.n_drawn;
    const auto features = search.features;
    const Array<int64_t, 1> drawn(features.shape[0]);
    const auto histogram = zeros<int64_t>(MAX_BINS, n_columns);
    const Sides sides(n_columns);
    plant(tree, columns, order, search);
    int64_t split = 0;
    while (true) {
        for (int64_t leaf : {split, tree.sizes[0] - 1}) {
            if (tree.status[leaf] != PENDING) continue;
            const auto total = tree.total[leaf];
            const int64_t node = tree.node[leaf], draws = cut_draws(search.seed, node, search.random);
            const double whole = merit(total, search.factor, search.ridge, search.gain);
            if (n_drawn == features.shape[0]) {
                judge(tree, leaf,
                      evaluate_packed<width>(stored, packed, columns, order, tree.start[leaf], tree.end[leaf], total,
                                             search, node, sides, draws),
                      whole);
            } else {
                draw_features(features, n_drawn, search.seed, node, drawn);
                judge(tree, leaf,
                      evaluate_entries<width>(stored, drawn.slice(0, n_drawn), columns, total, search, member, leaf,
                                              histogram, sides, draws),
                      whole);
            }
        }
        split = leaf_to_split(tree);
        if (split < 0) return;
        const int64_t made = tree.sizes[0];
        const int64_t middle = divide_entries(stored, tree.best_feature[split], tree.best_bin[split], order,
                                              tree.start[split], tree.end[split], spare, side);
        branch_and_sum(tree, split, middle, columns, order);
        for (int64_t i = tree.start[made]; i < tree.end[made]; ++i) member[order[i]] = static_cast<int32_t>(made);
        settle(tree, split, search);
        settle(tree, made, search);
    }
}

void grow_stored(const GrowthState &tree, const Entries &stored, const RowEntries &packed,
                 Matrix<const int64_t> columns, const Search &search, Vector<int32_t> member, Vector<int32_t> order,
                 Vector<int32_t> spare, Vector<uint8_t> side) {
    by_width(columns.shape[1], [&](auto width) {
        grow_stored_of_width<width>(tree, stored, packed, columns, search, member, order, spare, side);
    });
}

// -- Pairs of classes -------------------------------------------------------------------------------------------------
// Sums over the rows of a node for a pair of classes (r, s), along which one score rises as much as the other falls.
//
// With p the softmax of the scores (costs in it), w = `weight` and everything times e^-log_scale, the loss
// log(1 + sum z) along e_r - e_s has the slope -u = -(gradient_r - gradient_s) and the curvature
// rho = hessian_r + hessian_s + 2 w p_r p_s. p_k is 1 - gradient_k / w at the row's class y = `label`, and
// -gradient_k / w elsewhere.

// Return p_k of a row of class y whose gradient is (w times) 1[k = y] - p_k.
double probability(double gradient, int64_t y, int64_t k, double w) {
    const double p = -gradient / w;
    return k == y ? 1.0 + p : p;
}

// Return gradient and Hessian summed over rows order[start:end], in fixed point (2, D).
Array<int64_t, 2> node_sums(Matrix<const double> gradient, Matrix<const double> hessian,
                            Vector<const double> gradient_factor, Vector<const double> hessian_factor,
                            Vector<const int32_t> order, int64_t start, int64_t end) {
    const int64_t D = gradient.shape[1];
    auto sums = zeros<int64_t>(2, D);
    const auto gradient_sums = sums[0], hessian_sums = sums[1];
    for (int64_t i = start; i < end; ++i) {
        const int64_t row = order[i];
        for (int64_t k = 0; k < D; ++k) {
            gradient_sums[k] += whole(gradient(row, k) * gradient_factor[k]);
            hessian_sums[k] += whole(hessian(row, k) * hessian_factor[k]);
        }
    }
    return sums;
}

// Return w p_r p_k summed over rows order[start:end], in fixed point (D,).
Array<int64_t, 1> product_sums(Matrix<const double> gradient, Vector<const int32_t> label, Vector<const double> weight,
                               double scale, int64_t r, double factor, Vector<const int32_t> order, int64_t start,
                               int64_t end) {
    const int64_t D = gradient.shape[1];
    auto made = zeros<int64_t>(D);
    const Vector<int64_t> sums = made;
    for (int64_t i = start; i < end; ++i) {
        const int64_t row = order[i], y = label[row];
        const double w = weight[row] * scale;
        if (!(w > 0.0)) continue;
        const double own = w * probability(gradient(row, r), y, r, w) * factor;
        for (int64_t k = 0; k < D; ++k) sums[k] += whole(own * probability(gradient(row, k), y, k, w));
    }
    return made;
}

// Compute columns[row] = u and rho in fixed point and 1, of rows order[start:end]; returns their sums (3,).
Array<int64_t, 1> pair_columns(Matrix<const double> gradient, Matrix<const double> hessian, Vector<const int32_t> label,
                               Vector<const double> weight, double scale, int64_t r, int64_t s,
                               Vector<const double> factors, Vector<const int32_t> order, int64_t start, int64_t end,
                               Matrix<int64_t> columns) {
    auto sums = zeros<int64_t>(3);
    for (int64_t i = start; i < end; ++i) {
        const int64_t row = order[i], y = label[row];
        const double w = weight[row] * scale, g_r = gradient(row, r), g_s = gradient(row, s);
        double rho = 0.0;
        if (w > 0.0) {
            rho = hessian(row, r) + hessian(row, s);
            rho += 2.0 * w * probability(g_r, y, r, w) * probability(g_s, y, s, w);
        }
        const auto made = columns[row];
        made[0] = whole((g_r - g_s) * factors[0]);
        made[1] = whole(rho * factors[1]);
        made[2] = 1;
        for (int64_t c = 0; c < 3; ++c) sums[c] += made[c];
    }
    return sums;
}

} // namespace

std::tuple<Array<double, 2>, Array<double, 1>, Array<double, 1>>
draw_directions(Vector<const double> hessian, Vector<const double> ridge, int64_t q, int64_t seed) {
    const int64_t D = hessian.shape[0];
    Array<double, 2> directions(q, D);
    auto weight = zeros<double>(D);
    double shared = 0.0;
    for (int64_t k = 0; k < D; ++k) {
        if (hessian[k] > 0.0) {
            weight[k] = 1.0 / hessian[k];
            shared += ridge[k] * weight[k];
        }
    }
    uint64_t state = mix(static_cast<uint64_t>(seed));
    for (int64_t c = 0; c < q; ++c) {
        int64_t positive;
        do {
            positive = 0;
            for (int64_t k = 0; k < D; ++k) {
                if ((k & 63) == 0) state = mix(state);
                const bool bit = (state >> (k & 63)) & 1;
                positive += bit;
                directions(c, k) = bit ? 1.0 : -1.0;
            }
        } while (D != 1 && (positive == 0 || positive == D));
        for (int64_t k = 0; k < D; ++k) directions(c, k) *= std::sqrt(weight[k] / static_cast<double>(q));
    }
    Array<double, 1> unit_ridge(1);
    // Above 0, by which a node is divided whose Hessian is lost in fixed point.
    unit_ridge[0] = std::max(shared, 1e-9);
    return {std::move(directions), std::move(weight), std::move(unit_ridge)};
}

int64_t grow(const GrowthState &tree, const BinnedRows &binned, Matrix<const int64_t> columns, const Search &search,
             int64_t large, Vector<int32_t> order, Vector<int32_t> spare) {
    return by_width(columns.shape[1], [&](auto width) {
        return grow_of_width<width>(tree, binned, columns, search, large, order, spare);
    });
}

void define_grow(nb::module_ &m) {
    m.attr("SKETCH") = SKETCH;
    m.attr("EXACT") = EXACT;
    m.attr("NEWTON") = NEWTON;
    m.attr("ABSOLUTE") = ABSOLUTE;
    m.attr("GINI") = GINI;
    m.attr("CODEWORD") = CODEWORD;
    m.attr("COUNT_APART") = COUNT_APART;
    m.attr("PENDING") = PENDING;
    m.attr("EVALUATED") = EVALUATED;
    m.attr("CLOSED") = CLOSED;
    m.attr("GROWTH_TIE") = GROWTH_TIE;
    m.def("count_of", &count_of);
    m.def("hessian_of", &hessian_of);
    m.def("merit", &merit);
    m.def("draw_features", &draw_features, released());
    m.def("cut_draws", &cut_draws);
    m.def("draw_directions", &draw_directions, released());
    m.def("evaluate_some", &evaluate_some, released());
    m.def("evaluate_histograms", &evaluate_histograms, released());
    m.def("begin", &begin);
    m.def("leaf_to_split", &leaf_to_split);
    m.def("divide_leaf", &divide_leaf);
    m.def("grow", &grow, released());
    m.def("count_entries", &count_entries, released());
    m.def("pack_entries", &pack_entries, released());
    m.def("grow_stored", &grow_stored, released());
    m.def("node_sums", &node_sums, released());
    m.def("product_sums", &product_sums, released());
    m.def("pair_columns", &pair_columns, released());
}

} // namespace minrisk
