// Row loops of the losses of Beijbom et al., ICML 2014: gradients, values, and along a line through the scores.
//
// `gradient` is minus the gradient and `hessian` the diagonal of the Hessian, as in `losses.cpp`.
//
// The guess-averse losses are of a row's differences of scores.
//
// z_k = c_k exp(S_k - S_y) for k != y      GEL: w sum z (Eq. 20)      GLL: w log(1 + sum z) (Eq. 21)
//
// y = `label`, c = row `index` of `cost`, w = `weight`, S = `scores`. The true class's own cost c_y does not enter.
//
// L_s and L_t are the losses that are not averse to guessing.
//
// L_s: sum_k c_k e^(S_k), Eq. (12)      L_t: A B, A = sum_j c_j e^(S_j) and B = sum_k e^(-S_k), Eq. (14)
//
// Along a line through the scores there are value, slope and curvature of each row. Row i is looked at at
// S_i + step * d_i with d_i = factor[i] * move[i], or factor[i] * move[0] where all rows share one direction. Written
// to `line` (3, n), times e^-log_scale: the loss, its first and its second derivative in `step`; at step 0 with factor
// 1 the first derivative is the boosting weight w^r of Eq. (34) to (37). The maxima of the absolute values are
// returned, (3,).
//
// Along one direction v that many classes share a value of, their exponentials are summed once, by value. Triangular
// codewords have three different numbers in a coordinate, so a row's loss at S + t f v needs three exponentials
// whatever the number of classes. `group[k]` numbers the value of class k, `values[g]` is the value; `terms` (P, n)
// holds the sums of each row at t = 0, taken from what `gradients` wrote there. `line` is as above. Loops run over
// GROUPED_ROWS rows side by side, which is what is vectorised.
//
// Row loops of pairwise margins (Paisitkriangkrai, Shen and van den Hengel, 2013): rho_r = S_y - S_r.
//
// z_r = exp(S_r - S_y) = e^-rho_r      logistic loss: w sum c_r log(1 + z_r), Eq. (7); the exponential w sum c_r z_r,
// Eq. (4), is GEL.
//
// y = `label`, c = row `index` of `cost`, w = `weight`, S = `scores`, f = `response`. The term r = y, which no score
// can change, does not enter. `gradient` is minus the gradient, as in `losses.cpp`.
#pragma once

#include "arrays.hpp"

namespace minrisk {

// Fill those of GLL: gradient_k = -w q_k, hessian_k = w q_k (1 - q_k); gradient_y = w Q, hessian_y = w Q (1 - Q).
//
// q = z / (1 + sum z), Q = sum q. All times e^-log_scale; rows start..stop. Returns the column maxima of |gradient|,
// Hessian and the row's value, which counts in column y. Costs of one row within a factor of e^700 are told apart,
// scores any distance apart. The values themselves are those of `logistic_values`.
Array<double, 2> logistic_gradients(Matrix<const double> cost, Vector<const int32_t> index, Vector<const int32_t> label,
                                    Vector<const double> weight, Matrix<const double> scores, double log_scale,
                                    Matrix<double> gradient, Matrix<double> hessian, Vector<double> value,
                                    int64_t start, int64_t stop);

} // namespace minrisk
