#include "predict.hpp"

#include "binding.hpp"
#include "elementary.hpp"
#include "histogram.hpp"
#include "lanes.hpp"
#include "linear.hpp"
#include "parts.hpp"

namespace minrisk {
namespace {

constexpr int64_t WALKED_ROWS = 1024, WALKED_VALUES = 1 << 18; // rows of a block, and values of X: a tree's nodes and
                                                               // vectors stay in cache
constexpr int64_t WALKED_TREES = 4; // trees walked before their vectors are added: the row's scores stay in registers
                                    // meanwhile
constexpr int64_t FEATURES_PER_TREE = 8; // with more, turning rows into columns takes longer than it saves
constexpr int64_t LEFT_BITS = 32;        // of a packed node's left child, above its feature

// Compute sums[k] += added(k), a few at once: vectors of scores are short, and compilers make such wide loops for long
// ones that they would do all entries of short ones one by one.
template <class Sum, class Added> void add_each(Vector<Sum> sums, Added added) {
    constexpr int64_t AT_ONCE = 32 / sizeof(Sum);
    Sum *to = sums.data;
    int64_t k = 0;
    for (; k + AT_ONCE <= sums.shape[0]; k += AT_ONCE) {
        std::array<Sum, AT_ONCE> made; // all are read before one is written, though they might be the same memory
        for (int64_t c = 0; c < AT_ONCE; ++c) made[c] = to[k + c] + added(k + c);
        for (int64_t c = 0; c < AT_ONCE; ++c) to[k + c] = made[c];
    }
    for (; k < sums.shape[0]; ++k) to[k] += added(k);
}

// Compute sums += values; those of whole numbers are whole eights.
template <class Sum, class Value> void add(Vector<const Value> values, Vector<Sum> sums) {
    if constexpr (std::is_same_v<Value, int16_t>) {
        for (int64_t k = 0; k < sums.shape[0]; k += EIGHT) add_eight(&values[k], &sums[k]);
    } else {
        add_each(sums, [added = values.data](int64_t k) { return added[k]; });
    }
}

// Compute sums += vectors with these numbers, in order: each sum stays in a register meanwhile.
template <class Sum, class Value>
void add_all(Matrix<const Value> vectors, Vector<const int64_t> numbers, Vector<Sum> sums) {
    const int64_t n = numbers.shape[0];
    if constexpr (std::is_same_v<Value, int16_t>) {
        for (int64_t k = 0; k < sums.shape[0]; k += EIGHT) {
            for (int64_t c = 0; c < n; ++c) add_eight(&vectors(numbers[c], k), &sums[k]);
        }
    } else {
        for (int64_t k = 0; k < sums.shape[0]; ++k) {
            Sum sum = sums[k];
            for (int64_t c = 0; c < n; ++c) sum += vectors(numbers[c], k);
            sums[k] = sum;
        }
    }
}

// Compute sums += factor * values.
void add_scaled(double factor, Vector<const double> values, Vector<double> sums) {
    add_each(sums, [factor, added = values.data](int64_t k) { return factor * added[k]; });
}

// -- Packed trees -----------------------------------------------------------------------------------------------------
// The nodes of packed trees (n, 2): a threshold, and the bits of left << 32 | feature, side by side in one cache line.
struct PackedNodes {
    Matrix<const double> walks;

    double threshold(int64_t node) const { return walks(node, 0); }
    int64_t left(int64_t node) const { return link(node) >> LEFT_BITS; }
    int64_t feature(int64_t node) const { return link(node) & ((int64_t(1) << LEFT_BITS) - 1); }

  private:
    int64_t link(int64_t node) const { return std::bit_cast<int64_t>(walks(node, 1)); }
};

// Compute leaf[i] = the leaf of row i, four rows at a time; x(row, feature) is a value.
template <class Values> void walk(Values x, PackedNodes nodes, int64_t root, int64_t n_rows, Vector<int64_t> leaf) {
    constexpr int64_t FOUR = 4;
    const int64_t whole = n_rows - n_rows % FOUR;
    const auto next = [&](int64_t node, int64_t row) {
        return nodes.left(node) + (x(row, nodes.feature(node)) > nodes.threshold(node));
    };
    for (int64_t i = 0; i < whole; i += FOUR) {
        int64_t at[FOUR] = {root, root, root, root}, moved = 1;
        while (moved != 0) {
            moved = 0;
            for (int64_t c = 0; c < FOUR; ++c) {
                const int64_t to = next(at[c], i + c);
                moved |= at[c] ^ to;
                at[c] = to;
            }
        }
        for (int64_t c = 0; c < FOUR; ++c) leaf[i + c] = at[c];
    }
    for (int64_t i = whole; i < n_rows; ++i) {
        int64_t at = root, to = next(at, i);
        while (to != at) at = to, to = next(at, i);
        leaf[i] = at;
    }
}

// Return whether a tree is one leaf that adds zeros, as those are that keep the place of a member that is done.
bool adds_nothing(PackedNodes nodes, Vector<const double> value, Vector<const int32_t> vector, int64_t root,
                  Matrix<const double> vectors) {
    if (nodes.left(root) != root) return false;
    const auto added = vectors[vector[root]];
    double largest = 0.0;
    for (int64_t k = 0; k < added.shape[0]; ++k) largest = std::max(largest, std::abs(value[root] * added[k]));
    return largest == 0.0;
}

// Add value * vectors[vector] of x_i's leaf to scores[i], in each of trees first..last, in order.
//
// `walks` (n_nodes, 2) has a threshold and the bits of left << 32 | feature.
template <class Real>
void add_trees(Matrix<const Real> X, Matrix<const double> walks, Vector<const double> value,
               Vector<const int32_t> vector, Vector<const int64_t> offsets, Matrix<const double> vectors, int64_t first,
               int64_t last, int64_t start, int64_t stop, Matrix<double> scores) {
    const PackedNodes nodes{walks};
    const int64_t n_features = X.shape[1];
    const int64_t width =
        std::min({WALKED_ROWS, std::max<int64_t>(64, WALKED_VALUES / std::max<int64_t>(1, n_features)), stop - start});
    const bool is_turned = n_features <= FEATURES_PER_TREE * (last - first);
    Array<Real, 2> block(is_turned ? n_features : 0, width); // columns of the rows, that trees look at side by side
    Array<int64_t, 2> leaf(WALKED_TREES, width);
    for (int64_t low = start; low < stop; low += width) {
        const int64_t n_rows = std::min(width, stop - low);
        const auto rows = X.slice(low, low + n_rows);
        if (is_turned) {
            for (int64_t i = 0; i < n_rows; ++i) {
                for (int64_t j = 0; j < n_features; ++j) block(j, i) = rows(i, j);
            }
        }
        for (int64_t t = first; t < last;) {
            int64_t n_trees = 0;
            for (; t < last && n_trees < WALKED_TREES; ++t) {
                if (adds_nothing(nodes, value, vector, offsets[t], vectors)) continue;
                const auto to = leaf[n_trees++];
                if (is_turned) {
                    walk([&](int64_t i, int64_t j) { return block(j, i); }, nodes, offsets[t], n_rows, to);
                } else {
                    walk(rows, nodes, offsets[t], n_rows, to);
                }
            }
            for (int64_t i = 0; i < n_rows; ++i) {
                const auto out = scores[low + i];
                for (int64_t c = 0; c < n_trees; ++c) add_scaled(value[leaf(c, i)], vectors[vector[leaf(c, i)]], out);
            }
        }
    }
}

// Do the same where a leaf answers value + slope * (x - origin) of its own feature, or value if it is missing.
template <class Real>
void add_linear_trees(Matrix<const Real> X, Vector<const int32_t> feature, Vector<const double> threshold,
                      Vector<const int32_t> left, Vector<const double> value, Vector<const int32_t> vector,
                      Vector<const int64_t> offsets, Vector<const int32_t> depth, Vector<const double> slope,
                      Vector<const double> origin, Matrix<const double> vectors, int64_t first, int64_t last,
                      int64_t start, int64_t stop, Matrix<double> scores) {
    for (int64_t i = start; i < stop; ++i) {
        const auto x = X[i];
        const auto out = scores[i];
        for (int64_t t = first; t < last; ++t) {
            int64_t node = offsets[t];
            for (int32_t level = 0; level < depth[t]; ++level) node = left[node] + (x[feature[node]] > threshold[node]);
            double f = value[node];
            if (slope[node] != 0.0) f += change_along(x[feature[node]], slope[node], origin[node]);
            add_scaled(f, vectors[vector[node]], out);
        }
    }
}

// -- Step tables ------------------------------------------------------------------------------------------------------
// Compute scores[i] += the row of `table` for x_i's place among the thresholds of each feature, rows start..stop.
//
// Feature c of `features` has thresholds[offsets[c]:offsets[c + 1]], ascending, and table rows from offsets[c] + c on:
// one for each number of thresholds below x. A missing value is below all.
template <class Real>
void add_steps(Matrix<const Real> X, Vector<const int64_t> features, Vector<const int64_t> offsets,
               Vector<const double> thresholds, Matrix<const double> table, int64_t start, int64_t stop,
               Matrix<double> scores) {
    for (int64_t i = start; i < stop; ++i) {
        const auto out = scores[i];
        for (int64_t c = 0; c < features.shape[0]; ++c) {
            const double x = X(i, features[c]);
            int64_t low = offsets[c], n = offsets[c + 1] - offsets[c];
            while (n > 0) {
                const int64_t half = (n + 1) >> 1;
                const bool above = x > thresholds[low + half - 1];
                low += above ? half : 0;
                n = above ? n - half : half - 1;
            }
            add(table[low + c], out);
        }
    }
}

// -- Coded trees ------------------------------------------------------------------------------------------------------
constexpr int64_t TOP = 255;                                   // nodes of a tree's top, at most: a byte names its ends
constexpr int64_t CODED_ROWS = 1 << 14, CODED_BYTES = 3 << 18; // rows looked at together, and bytes of their codes and
                                                               // sums: in cache
constexpr int64_t LEAVES_FOUND = 64;                           // of a row, before their vectors are added
constexpr int TOP_COLUMN = 40, TOP_BIN = 32, TOP_RIGHT = 16;   // where a word of the top has these
constexpr uint64_t TOP_PLACE = 0xFFFF;

// Find the tops of trees; return how many nodes they have.
//
//   left, is_leaf, column, bin  (n_nodes,); left children as places within the tree, the right one is the next, and
//                               children stand behind their parents
//   offsets                     (n_trees + 1,)
//   tops                        (n_trees + 1,), written: where each tree's words begin; its ends begin t places further
//   words                       (n_nodes,), written
//   ends                        (n_nodes + n_trees + 1,), written: places within the tree
int64_t find_tops(Vector<const int32_t> left, Vector<const bool> is_leaf, Vector<const int32_t> column,
                  Vector<const int32_t> bin, Vector<const int64_t> offsets, Vector<int64_t> tops,
                  Vector<uint64_t> words, Vector<uint16_t> ends) {
    const int64_t n_trees = tops.shape[0] - 1;
    int64_t largest = 0;
    for (int64_t t = 0; t < n_trees; ++t) largest = std::max(largest, offsets[t + 1] - offsets[t]);
    Array<int64_t, 1> below(largest), open(TOP + 1), slot(largest), top(TOP);
    tops[0] = 0;
    for (int64_t t = 0; t < n_trees; ++t) {
        const int64_t root = offsets[t], n = offsets[t + 1] - root;
        for (int64_t node = n - 1; node >= 0; --node) {
            const int64_t to = left[root + node];
            below[node] = is_leaf[root + node] ? 0 : 1 + below[to] + below[to + 1];
        }
        open[0] = 0;
        int64_t n_top = 0;
        while (n_top < TOP) {
            int64_t most = 0;
            for (int64_t i = 1; i <= n_top; ++i) {
                if (below[open[i]] > below[open[most]]) most = i;
            }
            const int64_t node = open[most];
            if (below[node] == 0) break;
            slot[node] = n_top;
            top[n_top++] = node;
            open[most] = left[root + node];
            open[n_top] = left[root + node] + 1;
        }
        const int64_t first = tops[t];
        for (int64_t i = 0; i <= n_top; ++i) {
            slot[open[i]] = n_top + i;
            ends[first + t + i] = static_cast<uint16_t>(open[i]);
        }
        for (int64_t i = 0; i < n_top; ++i) {
            const int64_t node = root + top[i];
            const auto at = [](int64_t number, int place) { return static_cast<uint64_t>(number) << place; };
            words[first + i] = at(column[node], TOP_COLUMN) | at(bin[node], TOP_BIN) |
                               at(slot[left[node] + 1], TOP_RIGHT) | at(slot[left[node]], 0);
        }
        tops[t + 1] = first + n_top;
    }
    return tops[n_trees];
}

// -- codes ------------------------------------------------------------------------------------------------------------
// Fill codes of rows low..low + n_rows, 64 rows of one feature side by side.
//
// The code of row 64 b + i in column c stands at codes[(b * n_features + c) * 64 + i].
template <class Real>
void encode(Matrix<const Real> X, Vector<const int64_t> features, Matrix<const double> thresholds, int64_t low,
            int64_t n_rows, Vector<uint8_t> codes) {
    const int64_t n_features = features.shape[0];
    for (int64_t start = 0; start < n_rows; start += LANES) {
        const int64_t n = std::min(LANES, n_rows - start);
        for (int64_t c = 0; c < n_features; ++c) {
            const int64_t j = features[c], at = start * n_features + c * LANES;
            const auto t = thresholds[c];
            for (int64_t i = 0; i < n; ++i) codes[at + i] = static_cast<uint8_t>(code_of(X(low + start + i, j), t));
        }
    }
}

// Compute codes[i] = codes of row low + i, in all columns side by side.
template <class Real>
void encode_few(Matrix<const Real> X, Vector<const int64_t> features, Matrix<const double> thresholds, int64_t low,
                Matrix<uint8_t> codes) {
    for (int64_t i = 0; i < codes.shape[0]; ++i) {
        for (int64_t c = 0; c < features.shape[0]; ++c)
            codes(i, c) = static_cast<uint8_t>(code_of(X(low + i, features[c]), thresholds[c]));
    }
}

// Fill codes of some rows, 64 rows of one feature side by side as in `encode`.
void keep_rows(Vector<const uint8_t> codes, int64_t n_codes, Vector<const int64_t> rows, Vector<uint8_t> kept) {
    const auto place = [&](int64_t row) { return row / LANES * LANES * n_codes + row % LANES; };
    for (int64_t i = 0; i < rows.shape[0]; ++i) {
        const int64_t source = place(rows[i]), to = place(i);
        for (int64_t c = 0; c < n_codes; ++c) kept[to + c * LANES] = codes[source + c * LANES];
    }
}

// -- walks ------------------------------------------------------------------------------------------------------------
// Compute leaf[t] = node where one row ends in each of eight trees.
template <class Word>
void walk_trees(Vector<const uint8_t> code, Vector<const Word> nodes, Vector<const int64_t> roots,
                Vector<int64_t> leaf) {
    int64_t at[EIGHT], moved = 1;
    for (int64_t c = 0; c < EIGHT; ++c) at[c] = roots[c];
    while (moved != 0) {
        moved = 0;
        for (int64_t c = 0; c < EIGHT; ++c) {
            const Node<Word> node{nodes[at[c]]};
            const int64_t to = roots[c] + node.left() + node.is_above(code[node.column()]);
            moved |= at[c] ^ to;
            at[c] = to;
        }
    }
    for (int64_t c = 0; c < EIGHT; ++c) leaf[c] = at[c];
}

// Sixty-four rows in the top of a tree.
struct Top {
    std::array<uint64_t, 2 * TOP + 1 + WORDS_NAMED> words;
    std::array<uint8_t, LANES> end; // that each row comes to

    // Find the ends of rows whose codes begin at `base`.
    void find_ends(Vector<const uint8_t> codes, int64_t base, Vector<const uint64_t> top, int64_t n_ends) {
        const int64_t n_top = top.shape[0];
        words[0] = ~uint64_t(0);
        for (int64_t q = 0; q < n_top; ++q) {
            const uint64_t node = top[q], reached = words[q];
            const uint64_t right = lanes_above(&codes[base + static_cast<int64_t>(node >> TOP_COLUMN) * LANES],
                                               static_cast<uint8_t>(node >> TOP_BIN));
            words[node & TOP_PLACE] = reached & ~right;
            words[(node >> TOP_RIGHT) & TOP_PLACE] = reached & right;
        }
        std::fill_n(&words[n_top + n_ends], WORDS_NAMED, 0);
        end.fill(0);
        for (int64_t e = 0; e < n_ends; e += WORDS_NAMED)
            name_lanes(&words[n_top + e], static_cast<uint8_t>(e), end.data());
    }
};

// -- sums -------------------------------------------------------------------------------------------------------------
// Compute sums[i] += vector of the leaf of coded row i in each of trees first..last, in order.
//
// Sums of whole numbers have columns in whole eights.
template <class Word, class Value, class Sum>
void add_to_many(Vector<const uint8_t> codes, int64_t n_rows, int64_t n_codes, Vector<const Word> nodes,
                 Vector<const int64_t> roots, Vector<const int64_t> tops, Vector<const uint64_t> top,
                 Vector<const uint16_t> ends, Vector<const int32_t> vector, Matrix<const Value> vectors, int64_t first,
                 int64_t last, Matrix<Sum> sums) {
    Top room;
    std::array<int64_t, LANES> place;
    for (int64_t t = first; t < last; ++t) {
        const auto tree = nodes.slice(roots[t], roots[t + 1]);
        const auto own = vector.slice(roots[t], roots[t + 1]);
        const auto of_top = top.slice(tops[t], tops[t + 1]);
        const auto of_ends = ends.slice(tops[t] + t, tops[t + 1] + t + 1);
        const bool goes_on = tree.shape[0] > of_top.shape[0] + of_ends.shape[0];
        for (int64_t low = 0; low < n_rows; low += LANES) {
            const int64_t n = std::min(LANES, n_rows - low);
            const auto add_leaves = [&](auto leaf) {
                for (int64_t i = 0; i < n; ++i) add(vectors[own[leaf(i)]], sums[low + i]);
            };
            room.find_ends(codes, low * n_codes, of_top, of_ends.shape[0]);
            if (!goes_on) {
                add_leaves([&](int64_t i) { return of_ends[room.end[i]]; });
                continue;
            }
            for (int64_t i = 0; i < LANES; ++i) place[i] = of_ends[room.end[i]];
            walk_on(codes, low * n_codes, LANES, tree, LANES, Vector<int64_t>(place.data(), {LANES}));
            add_leaves([&](int64_t i) { return place[i]; });
        }
    }
}

// Add the vector of row i's leaf, by its codes[i], to sums[i], in each of trees first..last, in order.
//
// Some leaves are found before their vectors are read: what is not in the cache is then waited for together.
template <class Word, class Value, class Sum>
void add_to_few(Matrix<const uint8_t> codes, Vector<const Word> nodes, Vector<const int64_t> roots,
                Vector<const int32_t> vector, Matrix<const Value> vectors, int64_t first, int64_t last,
                Matrix<Sum> sums) {
    std::array<int64_t, LEAVES_FOUND> of_trees;
    for (int64_t i = 0; i < codes.shape[0]; ++i) {
        const auto code = codes[i];
        const auto leaf_of = [&](int64_t root) {
            const auto next = [&](int64_t place) {
                const Node<Word> node{nodes[root + place]};
                return node.left() + node.is_above(code[node.column()]);
            };
            int64_t place = 0, to = next(place);
            while (to != place) place = to, to = next(place);
            return root + place;
        };
        for (int64_t low = first; low < last; low += LEAVES_FOUND) {
            const Vector<int64_t> leaf(of_trees.data(), {std::min(LEAVES_FOUND, last - low)});
            const int64_t whole = leaf.shape[0] - leaf.shape[0] % EIGHT;
            for (int64_t t = 0; t < whole; t += EIGHT)
                walk_trees(code, nodes, roots.slice(low + t, low + t + EIGHT), leaf.slice(t, t + EIGHT));
            for (int64_t t = whole; t < leaf.shape[0]; ++t) leaf[t] = leaf_of(roots[low + t]);
            for (int64_t t = 0; t < leaf.shape[0]; ++t) leaf[t] = vector[leaf[t]];
            add_all<Sum, Value>(vectors, leaf, sums[i]);
        }
    }
}

// -- Decisions before the last tree -----------------------------------------------------------------------------------
constexpr double CERTAIN = 1e-9;   // of log-odds and of costs, relatively: rounding decides nothing
constexpr double OPEN = 10.0;      // log-odds that a class may still reach against the likeliest,
                                   // beyond which no look at costs would pay
constexpr double MOST_LEAD = 32.0; // log-odds, and steps that find them to a thirty-second
constexpr int64_t LEAD_HALVINGS = 10;

// Compute rises[s, m, k] = the most by which trees ends[s].. can raise score k against score m, in whole numbers.
//
// `n_scores` entries of a vector are scores; those behind them are 0. `ends` (S,) are ascending numbers of trees, and
// rises (S, n_scores, n_scores) is written.
template <class Word>
void rises_of_trees(Vector<const Word> nodes, Vector<const int64_t> roots, Vector<const int32_t> vector,
                    Matrix<const int16_t> vectors, int64_t n_scores, Vector<const int64_t> ends, Cube<int64_t> rises) {
    const int64_t width = vectors.shape[1];
    Array<int32_t, 2> most(n_scores, width);
    auto total = zeros<int64_t>(n_scores, n_scores);
    int64_t stage = ends.shape[0] - 1;
    for (int64_t t = roots.shape[0] - 2; t >= -1; --t) {
        for (; stage >= 0 && ends[stage] == t + 1; --stage) std::copy_n(total.data, total.size(), rises[stage].data);
        if (stage < 0) break;
        most.fill(-(1 << 17)); // below all differences of 16 bits
        for (int64_t place = 0; place < roots[t + 1] - roots[t]; ++place) {
            if (Node<Word>{nodes[roots[t] + place]}.left() != place) continue;
            const int16_t *__restrict v = vectors[vector[roots[t] + place]].data;
            for (int64_t m = 0; m < n_scores; ++m) {
                const int32_t own = v[m];
                int32_t *__restrict row = most[m].data;
                for (int64_t k = 0; k < width; ++k) row[k] = std::max(row[k], v[k] - own);
            }
        }
        for (int64_t m = 0; m < n_scores; ++m) {
            for (int64_t k = 0; k < n_scores; ++k) total(m, k) += most(m, k);
        }
    }
}

// Return the decision that scores (K,) will lead to, whatever remains; -1 where that is open.
//
// Score k can rise against score m by rise[m, k] at most, or by lead / scale where that is less. `plain`: the largest
// score decides. Otherwise p_k is in proportion to exp(scale h_k), and the least of sum_k p_k costs[k, d] decides: d
// is certain if for all others j the sum of p_k (costs[k, j] - costs[k, d]) is positive where each p_k is as low, or
// as high, as it may become. Of decisions that cost the same whatever is true d is the first, and no other of them
// stands in its way. `odds` (3, K) is room.
int64_t certain(Vector<const double> score, double scale, Matrix<const double> costs, bool plain,
                Matrix<const double> rise, double lead, Matrix<double> odds) {
    const int64_t K = score.shape[0];
    int64_t m = 0;
    for (int64_t k = 1; k < K; ++k) {
        if (score[k] > score[m]) m = k;
    }
    const double enough = lead / scale;
    if (plain) {
        for (int64_t k = 0; k < K; ++k) {
            if (k != m && !(score[m] - score[k] > std::min(rise(m, k), enough) + CERTAIN / scale)) return -1;
        }
        return m;
    }
    for (int64_t k = 0; k < K; ++k) {
        if (k != m && scale * (score[k] - score[m] + std::min(rise(m, k), enough)) > OPEN) return -1;
    }
    for (int64_t k = 0; k < K; ++k) {
        const double difference = score[k] - score[m];
        odds(0, k) = exponential(scale * (difference - std::min(rise(k, m), enough)));
        odds(1, k) = exponential(scale * (difference + std::min(rise(m, k), enough)));
        odds(2, k) = exponential(scale * difference);
    }
    odds(0, m) = odds(1, m) = 1.0;
    const int64_t D = costs.shape[1];
    int64_t d = 0;
    double least = INFINITE;
    for (int64_t j = 0; j < D; ++j) {
        double cost = 0.0;
        for (int64_t k = 0; k < K; ++k) cost += odds(2, k) * costs(k, j);
        if (cost < least) {
            d = j;
            least = cost;
        }
    }
    for (int64_t j = 0; j < D; ++j) {
        if (j == d) continue;
        double saved = 0.0, size = 0.0;
        bool differs = false;
        for (int64_t k = 0; k < K; ++k) {
            const double more = costs(k, j) - costs(k, d);
            if (more != 0.0) {
                differs = true;
                const double part = more * odds(more > 0.0 ? 0 : 1, k);
                saved += part;
                size += std::abs(part);
            }
        }
        if (differs && !(saved > CERTAIN * size)) return -1;
    }
    return d;
}

// Compute decision[i] = what is `certain` of the scores start[i] + unit * sums[i].
void decide_rows(Matrix<const int32_t> sums, double unit, Matrix<const double> start, double scale,
                 Matrix<const double> costs, bool plain, Matrix<const double> rise, double lead,
                 Vector<int64_t> decision) {
    const int64_t K = start.shape[1];
    Array<double, 1> score(K);
    Array<double, 2> odds(3, K);
    for (int64_t i = 0; i < start.shape[0]; ++i) {
        for (int64_t k = 0; k < K; ++k) score[k] = start(i, k) + unit * sums(i, k);
        decision[i] = certain(score, scale, costs, plain, rise, lead, odds);
    }
}

// Decide by scores alone, and fill needed[i]: the largest lead with which that is `certain`, in log-odds.
//
// Where costs differ that is looked for up to `MOST_LEAD`, by `LEAD_HALVINGS` halvings, and rounded up: no more rows
// are decided than it says. Of ties, which are never certain, it is -infinity.
void needed_leads(Matrix<const double> scores, double scale, Matrix<const double> costs, bool plain,
                  Vector<int64_t> decision, Vector<double> needed) {
    const int64_t n = scores.shape[0], K = scores.shape[1];
    Array<double, 2> odds(3, K), rise(K, K);
    rise.fill(INFINITE);
    for (int64_t i = 0; i < n; ++i) {
        const auto score = scores[i];
        decision[i] = certain(score, scale, costs, plain, rise, 0.0, odds);
        if (decision[i] < 0) { // a tie
            decision[i] = 0;
            needed[i] = -INFINITE;
            continue;
        }
        if (plain) {
            double second = INFINITE;
            for (int64_t k = 0; k < K; ++k) {
                if (k != decision[i]) second = std::min(second, scale * (score[decision[i]] - score[k]));
            }
            needed[i] = second;
            continue;
        }
        double low = 0.0, high = MOST_LEAD;
        for (int64_t halving = 0; halving < LEAD_HALVINGS; ++halving) {
            const double middle = 0.5 * (low + high);
            (certain(score, scale, costs, plain, rise, middle, odds) >= 0 ? low : high) = middle;
        }
        needed[i] = high;
    }
}

// Decide few rows stage by stage, -1 where it takes all trees; then scores[i] are complete. Return how many these are.
template <class Word>
int64_t decide_few(Matrix<const double> X, Vector<const int64_t> features, Matrix<const double> thresholds,
                   Vector<const Word> nodes, Vector<const int64_t> roots, Vector<const int32_t> vector,
                   Matrix<const int16_t> vectors, Vector<const int64_t> ends, double unit, Matrix<double> scores,
                   double scale, Matrix<const double> costs, bool plain, Cube<const double> rises,
                   Vector<const double> leads, Vector<int64_t> decision) {
    const int64_t K = scores.shape[1], n_trees = roots.shape[0] - 1;
    Array<double, 1> score(K);
    Array<double, 2> odds(3, K);
    Array<int32_t, 2> sums(1, vectors.shape[1]);
    const auto code = zeros<uint8_t>(1, std::max<int64_t>(1, features.shape[0])); // of which leaves read one
    int64_t n_open = 0;
    for (int64_t i = 0; i < X.shape[0]; ++i) {
        encode_few(X, features, thresholds, i, code);
        sums.fill(0);
        int64_t first = 0;
        decision[i] = -1;
        for (int64_t s = 0; s < ends.shape[0] && decision[i] < 0; ++s) {
            add_to_few<Word, int16_t, int32_t>(code, nodes, roots, vector, vectors, first, ends[s], sums);
            first = ends[s];
            for (int64_t k = 0; k < K; ++k) score[k] = scores(i, k) + unit * sums(0, k);
            decision[i] = certain(score, scale, costs, plain, rises[s], leads[s], odds);
        }
        if (decision[i] < 0) {
            add_to_few<Word, int16_t, int32_t>(code, nodes, roots, vector, vectors, first, n_trees, sums);
            for (int64_t k = 0; k < K; ++k) scores(i, k) += unit * sums(0, k);
            ++n_open;
        }
    }
    return n_open;
}

} // namespace

void define_predict(nb::module_ &m) {
    m.attr("LEFT_BITS") = LEFT_BITS;
    m.attr("LANES") = LANES;
    m.attr("EIGHT") = EIGHT;
    m.attr("CODED_ROWS") = CODED_ROWS;
    m.attr("CODED_BYTES") = CODED_BYTES;
    m.attr("NODE_BIN_BITS") = NODE_BIN_BITS;
    m.attr("NARROW_BITS") = Node<uint32_t>::COLUMN_BITS;
    m.attr("WIDE_BITS") = Node<uint64_t>::COLUMN_BITS;
    for_types<double, float>([&]<class Real>(std::type_identity<Real>) {
        m.def("add_trees", &add_trees<Real>, released());
        m.def("add_linear_trees", &add_linear_trees<Real>, released());
        m.def("add_steps", &add_steps<Real>, released());
        m.def("encode", &encode<Real>, released());
        m.def("encode_few", &encode_few<Real>, released());
    });
    m.def("find_tops", &find_tops, released());
    m.def("keep_rows", &keep_rows, released());
    for_types<uint32_t, uint64_t>([&]<class Word>(std::type_identity<Word>) {
        m.def("add_to_many", &add_to_many<Word, int16_t, int32_t>, released());
        m.def("add_to_many", &add_to_many<Word, double, double>, released());
        m.def("add_to_many", &add_to_many<Word, float, double>, released());
        m.def("add_to_few", &add_to_few<Word, int16_t, int32_t>, released());
        m.def("add_to_few", &add_to_few<Word, double, double>, released());
        m.def("add_to_few", &add_to_few<Word, float, double>, released());
        m.def("rises_of_trees", &rises_of_trees<Word>, released());
        m.def("decide_few", &decide_few<Word>, released());
    });
    m.def("certain", &certain);
    m.def("decide_rows", &decide_rows, released());
    m.def("needed_leads", &needed_leads, released());
    m.def("lanes_above", [](Vector<const uint8_t> codes, int64_t first, int64_t bin) {
        return lanes_above(&codes[first], static_cast<uint8_t>(bin));
    });
}

} // namespace minrisk
