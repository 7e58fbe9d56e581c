// Leaf-wise growth of one tree on fixed-point columns: partition of the rows, histograms of a node, the best split.
//
// A node is a slice of `order`, the row numbers. Its histogram holds, per bin, the sums of the columns; all sums are
// integers, so neither threads nor the way a histogram came about (rows, or parent less sibling) changes a split.
//
//     X_binned (n_features, n_samples) uint8   columns (n_samples, C) int64   order (n,) int32   total (C,) int64
//     SKETCH  columns g_1 .. g_q, then m << COUNT_BITS | 1: drop of the squared error, sum_c G_c^2 / (M + ridge)
//     COUNT_APART  columns g_1 .. g_q, m, 1: the same for rows too many to be counted beside the Hessian
//     EXACT   columns E_1 .. E_K, M_1 .. M_K, 1: drop of 2 sum_k sqrt(S+_k S-_k), S+- = (M + ridge -+ E) / 2: the
//             exponential's exact one
//     NEWTON  the same columns: sum_k E_k^2 / (M_k + ridge_k)
//     ABSOLUTE  the same columns: sum_k |E_k|, what votes of -1 and +1 gain
//     GINI    the same columns, where E_k is the weight of class k: sum_k E_k^2 / sum_k E_k, the fall of Gini's
//     impurity CODEWORD  the same columns: max_k E_k - 1/K sum_k E_k, the slope along the simplex's best codeword, up
//     to a factor
//
// g and m are gradient and Hessian of a row in the sketch, E and M those of its outputs, all as in `losses`: a gradient
// is minus the loss's.
//
// Sparse features are stored as `Entries`: what is left of a total for the bin of 0 is exact.
#pragma once

#include <tuple>

#include "arrays.hpp"
#include "histogram.hpp"
#include "numbers.hpp"

namespace minrisk {

// What splits are chosen by: above.
inline constexpr int64_t SKETCH = 0, EXACT = 1, NEWTON = 2, ABSOLUTE = 3, GINI = 4, CODEWORD = 5, COUNT_APART = 6;

// What the splits of a tree are looked for by.
struct Search {
    Vector<const int64_t> features;
    int64_t n_drawn; // of the features, which a node looks at
    bool random;     // of each feature one threshold is looked at, which is drawn
    int64_t seed;
    Vector<const double> factor; // (C,) what a unit of each column is worth
    Vector<const double> ridge;  // (1,) or (D,), added to a node's Hessian
    int64_t gain;                // SKETCH ... COUNT_APART
    int64_t min_leaf;            // rows
    double min_hessian;          // of a sketch, that a node has which is split
    int64_t max_depth;
    static constexpr auto members =
        std::tuple{&Search::features, &Search::n_drawn, &Search::random,   &Search::seed,        &Search::factor,
                   &Search::ridge,    &Search::gain,    &Search::min_leaf, &Search::min_hessian, &Search::max_depth};
};

// A tree that is being grown, first its leaves, then its nodes; `grow` fills what is in use.
struct GrowthState {
    Vector<int64_t> start; // rows start..end of the order are the leaf's
    Vector<int64_t> end;
    Vector<int64_t> depth;
    Vector<int64_t> best_feature;
    Vector<int64_t> best_bin;
    Vector<int64_t> status;
    Vector<int64_t> node;  // of the leaf
    Matrix<int64_t> total; // (L, C)
    Vector<double> drop;
    Vector<int32_t> feature;
    Vector<int32_t> bin;
    Vector<int32_t> left;
    Vector<double> gain;
    Vector<int64_t> sizes; // leaves, nodes, splits above the deepest leaf
    static constexpr auto members =
        std::tuple{&GrowthState::start,    &GrowthState::end,     &GrowthState::depth, &GrowthState::best_feature,
                   &GrowthState::best_bin, &GrowthState::status,  &GrowthState::node,  &GrowthState::total,
                   &GrowthState::drop,     &GrowthState::feature, &GrowthState::bin,   &GrowthState::left,
                   &GrowthState::gain,     &GrowthState::sizes};
};

// Return a well-mixed 64-bit number of x (splitmix64).
inline uint64_t mix(uint64_t x) {
    x += 0x9E3779B97F4A7C15;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
    return x ^ (x >> 31);
}

// Draw random signs (q, D), not all alike in any row, over sqrt(q hessian_k).
//
// Returns them, 1 / hessian_k, and the ridge in that unit. With all signs alike, gradients that sum to 0 would vanish.
// Where the Hessian is 0, so are sign and weight.
std::tuple<Array<double, 2>, Array<double, 1>, Array<double, 1>>
draw_directions(Vector<const double> hessian, Vector<const double> ridge, int64_t q, int64_t seed);

// Go on growing until the tree is done (-1), or until leaves of more than `large` rows must be evaluated elsewhere.
//
// Where tree.sizes[0] is 0 it begins, with all rows of `order` in one leaf. In the second case the return value is the
// leaf that was split (0 before the first split) and its new sibling is the last leaf; both are PENDING unless CLOSED,
// and the caller fills drop, best_feature, best_bin and status. Leaves that are not large enough are CLOSED.
int64_t grow(const GrowthState &tree, const BinnedRows &binned, Matrix<const int64_t> columns, const Search &search,
             int64_t large, Vector<int32_t> order, Vector<int32_t> spare);

} // namespace minrisk
