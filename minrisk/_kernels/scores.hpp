// Updates of the rows: scores, responses of trees, leaves of grown trees; costs of decisions.
//
// A node of a tree on bins is one integer, left << 32 | feature << 8 | bin; a leaf's left is itself, and its bin 255 is
// above no row's.
//
// Products with the responses of many learners, a look-up for several: see `minrisk.rows.pairs`.
//
// `codes` (n_groups, n_samples) uint8 tells the joint response of a group's learners in each row.
#pragma once

#include <tuple>

#include "arrays.hpp"

namespace minrisk {

// Compute scores += vectors[leaf].
void add_leaf_vectors(Matrix<double> scores, Vector<const int32_t> leaf, Matrix<const double> vectors, int64_t start,
                      int64_t stop);

// Compute leaf[row] = number of the row's leaf.
void leaf_numbers(Vector<const int32_t> order, Vector<const int64_t> start, Vector<const int64_t> end,
                  Vector<int32_t> leaf);

// Return threshold, value, vector and gain of each node; gains are shares of `fall`.
//
// Feature j's thresholds are `thresholds[first[j]:]`.
std::tuple<Array<double, 1>, Array<double, 1>, Array<int32_t, 1>, Array<double, 1>>
tree_columns(Vector<const int32_t> feature, Vector<const int32_t> bins, Vector<const int32_t> left,
             Vector<const double> gain, Vector<const int64_t> node, Vector<const int64_t> first,
             Vector<const double> thresholds, double fall);

// Compute a = shrinkage E / (M + smoothing whole) cut at `largest`, by entry, and the sum of E a - M a^2 / 2.
std::tuple<Array<double, 2>, double> newton(Matrix<const double> gradient, Matrix<const double> hessian,
                                            Vector<const double> whole, double smoothing, double shrinkage,
                                            double largest);

} // namespace minrisk
