// Row loops of losses: coupled, of the true class's score, the structured hinge, chains and output codes.
//
// `gradient` is minus the gradient of the loss, -dL/dS, the way in which scores should move; `hessian` is the diagonal
// of its Hessian, d2L/dS2. Both have an entry for each row and output. Rows are start..stop.
//
// Coupled losses: for an entry with costs c+ and c-, c+ F(h) + c- F(-h) (REBEL, Eq. 2).
//
// c+ = cost - beta    c- = phi - cost     (rows of `cost`, picked by `index`; `weight` is the sample weight)
// F: EXPONENTIAL_BOUND e^x, LOGISTIC_BOUND log2(1 + e^x), SQUARED_BOUND (1 + x)^2
//
// Exponential losses of the true class's score: w exp(-(S_y - share sum_k S_k)).
//
// y = `label`, w = `weight`, S = `scores`. With share 0 it is the score alone, with 1 / D what it is above their mean.
//
// The structured hinge loss: w max_k (c_k + S_k - S_y), c_y counted as 0, and of its cutting planes.
//
// y = `label`, c = row `index` of `cost`, w = `weight`, S = `scores`. The decision of the maximum is the row's
// *choice*; of several the first one, the class itself before others. In a plane a row's gradient is w at y and -w at
// its choice, which is minus the slope of w (c_choice + S_choice - S_y).
//
// Chains: one score to each separator of classes, with weights of its own that are normalised on their own.
//
// scores, signed (n, G)    rates, share (T, G), of each line of the cost table    row (n,): a row's line
// e = weight * share * exp(-rate * score - shift), at most weight * share: the row's weight in the chain
// signed = sign(rate) * e, which is minus the slope of e over |rate|
//
// Output codes: exponentials of bits, and how far a row's bits are from the word of each class.
//
// signed (T, L): a line's weight of each bit, with the sign that the bit should have
// words (K, L): -1 or +1, the word of each class, int8
#pragma once

namespace minrisk {

inline constexpr double ZERO_COST = 1e-13; // share of phi below which c+ is the rounding of an exact zero

struct Sides {
    double plus, minus;
};

// Return c+ = c - beta and c- = phi - c (S.4).
inline Sides split(double cost, double beta, double phi) {
    const double plus = cost - beta;
    return {plus > ZERO_COST * phi ? plus : 0.0, phi - cost};
}

} // namespace minrisk
