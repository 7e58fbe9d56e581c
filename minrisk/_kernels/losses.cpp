#include "losses.hpp"

#include <cmath>

#include "binding.hpp"
#include "elementary.hpp"
#include "parts.hpp"

namespace minrisk {
namespace {

// -- Coupled losses ---------------------------------------------------------------------------------------------------
constexpr int64_t EXPONENTIAL_BOUND = 0, LOGISTIC_BOUND = 1, SQUARED_BOUND = 2; // which F bounds the step from cost to
                                                                                // no cost

struct Logistic {
    double up, down, p, q;
};

// Return log2(1 + e^x), log2(1 + e^-x), sigmoid(x), sigmoid(-x), of one exponential and without overflow.
Logistic logistic(double x) {
    const double e = exponential(-std::abs(x));
    const double rest = log1p(e) / LN2;
    const double more = 1.0 / (1.0 + e), less = e / (1.0 + e);
    if (x >= 0.0) return {rest + x / LN2, rest, more, less};
    return {rest, rest - x / LN2, less, more};
}

// Return F(x), of the logistic bound or the squared one.
double bound(int64_t base, double x) { return base == LOGISTIC_BOUND ? logistic(x).up : (1.0 + x) * (1.0 + x); }

struct Entry {
    double value, gradient, hessian;
};

// Return w (c+ F(s) + c- F(-s)), minus its slope and its curvature, of the logistic bound or the squared one.
inline Entry entry(int64_t base, double w, Sides cost, double s) {
    const auto [plus, minus] = cost;
    if (base == LOGISTIC_BOUND) {
        const auto [up, down, p, q] = logistic(s);
        return {w * (plus * up + minus * down), w * (minus * q - plus * p) / LN2, w * (plus + minus) * p * q / LN2};
    }
    return {w * (plus * (1.0 + s) * (1.0 + s) + minus * (1.0 - s) * (1.0 - s)),
            2.0 * w * (minus * (1.0 - s) - plus * (1.0 + s)), 2.0 * w * (plus + minus)};
}

// Do `coupled_gradients` of the exponential: w- - w+ and w- + w+ (S.6), mostly in vectorised passes over a row.
Array<double, 2> exponential_gradients(Matrix<const double> cost, Vector<const double> beta, Vector<const double> phi,
                                       Vector<const int32_t> index, Vector<const double> weight,
                                       Matrix<const double> scores, double log_scale, Matrix<double> gradient,
                                       Matrix<double> hessian, int64_t start, int64_t stop) {
    const int64_t n_outputs = scores.shape[1];
    auto top = zeros<double>(3, n_outputs);
    const auto top_gradient = top[0], top_hessian = top[1];
    for (int64_t i = start; i < stop; ++i) {
        const double w = weight[i], b = beta[index[i]], high = phi[index[i]];
        const auto c = cost[index[i]], s = scores[i];
        const auto g = gradient[i], h = hessian[i];
        const double tiny = ZERO_COST * high;
        for (int64_t k = 0; k < n_outputs; ++k) {
            const double plus = c[k] - b > tiny ? c[k] - b : 0.0;
            const double up = w * plus * exponential(s[k] - log_scale);
            h[k] = up;
            g[k] = -up;
        }
        for (int64_t k = 0; k < n_outputs; ++k) {
            if (c[k] < high) {
                const double down = w * (high - c[k]) * exponential(-s[k] - log_scale);
                h[k] += down;
                g[k] += down;
            }
        }
        for (int64_t k = 0; k < n_outputs; ++k) top_gradient[k] = std::max(top_gradient[k], std::abs(g[k]));
        for (int64_t k = 0; k < n_outputs; ++k) top_hessian[k] = std::max(top_hessian[k], h[k]);
    }
    for (int64_t k = 0; k < n_outputs; ++k) top(2, k) = top(1, k);
    return top;
}

// Fill gradient and hessian, both times e^-log_scale, of rows start..stop.
//
// Returns the column maxima of |gradient|, Hessian and value (of the exponential the Hessian is the value).
Array<double, 2> coupled_gradients(int64_t base, Matrix<const double> cost, Vector<const double> beta,
                                   Vector<const double> phi, Vector<const int32_t> index, Vector<const double> weight,
                                   Matrix<const double> scores, double log_scale, Matrix<double> gradient,
                                   Matrix<double> hessian, int64_t start, int64_t stop) {
    if (base == EXPONENTIAL_BOUND)
        return exponential_gradients(cost, beta, phi, index, weight, scores, log_scale, gradient, hessian, start, stop);
    const int64_t n_outputs = scores.shape[1];
    auto top = zeros<double>(3, n_outputs);
    for (int64_t i = start; i < stop; ++i) {
        const int64_t row = index[i];
        for (int64_t k = 0; k < n_outputs; ++k) {
            const auto [value, g, h] = entry(base, weight[i], split(cost(row, k), beta[row], phi[row]), scores(i, k));
            gradient(i, k) = g;
            hessian(i, k) = h;
            top(0, k) = std::max(top(0, k), std::abs(g));
            top(1, k) = std::max(top(1, k), h);
            top(2, k) = std::max(top(2, k), value);
        }
    }
    return top;
}

// Fill contrast[i]: half the loss at scores - vector less half that at scores + vector; returns the largest.
//
// Holding the vector, the loss of any f in {-1, +1} is a constant less the sum of f * contrast (REBEL, Sec. 4 step 2).
// For the exponential that is <gradient, sinh(vector)>.
double coupled_contrast(int64_t base, Matrix<const double> cost, Vector<const double> beta, Vector<const double> phi,
                        Vector<const int32_t> index, Vector<const double> weight, Matrix<const double> scores,
                        Matrix<const double> gradient, Vector<const double> vector, Vector<double> contrast,
                        int64_t start, int64_t stop) {
    const int64_t n_outputs = scores.shape[1];
    double top = 0.0;
    Array<double, 1> slope(n_outputs);
    for (int64_t k = 0; k < n_outputs; ++k) slope[k] = sinh(vector[k]);
    for (int64_t i = start; i < stop; ++i) {
        double total = 0.0;
        if (base == EXPONENTIAL_BOUND) {
            for (int64_t k = 0; k < n_outputs; ++k) total += gradient(i, k) * slope[k];
        } else {
            const int64_t row = index[i];
            for (int64_t k = 0; k < n_outputs; ++k) {
                const double a = vector[k], h = scores(i, k);
                if (a != 0.0) {
                    const auto [plus, minus] = split(cost(row, k), beta[row], phi[row]);
                    total += 0.5 * plus * (bound(base, h - a) - bound(base, h + a));
                    total += 0.5 * minus * (bound(base, a - h) - bound(base, -h - a));
                }
            }
            total *= weight[i]; // the gradient has it already
        }
        contrast[i] = total;
        if (std::abs(total) > top) top = std::abs(total);
    }
    return top;
}

// Return value, slope and curvature in a of sum_n loss(scores + response * a) per column, in fixed point, of rows.
//
// For the losses without a closed form: logistic and squared.
template <class Response>
Array<int64_t, 2> coupled_slopes(int64_t base, Matrix<const double> cost, Vector<const double> beta,
                                 Vector<const double> phi, Vector<const int32_t> index, Vector<const double> weight,
                                 Matrix<const double> scores, Vector<const Response> response,
                                 Vector<const bool> in_bag, Vector<const double> vector, Matrix<const double> factors,
                                 int64_t start, int64_t stop) {
    const int64_t n_outputs = scores.shape[1];
    auto sums = zeros<int64_t>(3, n_outputs);
    for (int64_t i = start; i < stop; ++i) {
        if (!in_bag[i]) continue;
        const int64_t row = index[i];
        const double w = weight[i], f = static_cast<double>(response[i]);
        for (int64_t k = 0; k < n_outputs; ++k) {
            const auto sides = split(cost(row, k), beta[row], phi[row]);
            const auto [value, gradient, curvature] = entry(base, 1.0, sides, scores(i, k) + f * vector[k]);
            sums(0, k) += whole(w * value * factors(0, k));
            sums(1, k) -= whole(w * f * gradient * factors(1, k));
            sums(2, k) += whole(w * f * f * curvature * factors(2, k));
        }
    }
    return sums;
}

// -- Exponential losses of the true class's score ---------------------------------------------------------------------
// Fill gradient_k = v (delta_yk - share) and hessian_k = v (delta_yk - share)^2 of rows start..stop.
//
// v is the row's value times e^-log_scale, which is filled as gradient_y / (1 - share). Returns the column maxima of
// |gradient|, Hessian and the value, which counts in column y.
Array<double, 2> own_gradients(Vector<const int32_t> label, Vector<const double> weight, Matrix<const double> scores,
                               double share, double log_scale, Matrix<double> gradient, Matrix<double> hessian,
                               Vector<double> value, int64_t start, int64_t stop) {
    const int64_t D = scores.shape[1];
    auto top = zeros<double>(3, D);
    for (int64_t i = start; i < stop; ++i) {
        const int64_t y = label[i];
        const auto s = scores[i];
        const auto g = gradient[i], h = hessian[i];
        double total = 0.0;
        if (share > 0.0) {
            for (int64_t k = 0; k < D; ++k) total += s[k];
        }
        const double v = weight[i] * exponential(share * total - s[y] - log_scale);
        g.fill(-share * v);
        h.fill(share * share * v);
        g[y] = (1.0 - share) * v;
        h[y] = (1.0 - share) * (1.0 - share) * v;
        value[i] = g[y] / (1.0 - share);
        for (int64_t k = 0; k < D; ++k) {
            top(0, k) = std::max(top(0, k), std::abs(g[k]));
            top(1, k) = std::max(top(1, k), h[k]);
        }
        top(2, y) = std::max(top(2, y), v);
    }
    return top;
}

// Fill value, slope and curvature of each row at scores + step * factor * move; see `guess_averse.hpp`.
Array<double, 1> own_along(Vector<const int32_t> label, Vector<const double> weight, Matrix<const double> scores,
                           double share, double log_scale, Vector<const double> factor, Matrix<const double> move,
                           double step, Matrix<double> line, int64_t start, int64_t stop) {
    const int64_t D = scores.shape[1];
    auto top = zeros<double>(3);
    for (int64_t i = start; i < stop; ++i) {
        const int64_t y = label[i];
        const auto s = scores[i], m = move[move.shape[0] > 1 ? i : 0];
        double total = 0.0, d = 0.0;
        if (share > 0.0) {
            for (int64_t k = 0; k < D; ++k) {
                total += s[k];
                d += m[k];
            }
        }
        d = factor[i] * (m[y] - share * d);
        const double v = weight[i] * exponential(share * total - s[y] - step * d - log_scale);
        line(0, i) = v;
        line(1, i) = -v * d;
        line(2, i) = v * d * d;
        for (int64_t c = 0; c < 3; ++c) top[c] = std::max(top[c], std::abs(line(c, i)));
    }
    return top;
}

// -- The structured hinge loss ----------------------------------------------------------------------------------------
// Fill gradient and the row's loss, value[i]; the Hessian, if it has rows, with 0, as there is no curvature.
//
// Returns the column maxima of |gradient|, Hessian and value, which counts in column y, (3, D).
Array<double, 2> hinge_gradients(Matrix<const double> cost, Vector<const int32_t> index, Vector<const int32_t> label,
                                 Vector<const double> weight, Matrix<const double> scores, Matrix<double> gradient,
                                 Matrix<double> hessian, Vector<double> value, int64_t start, int64_t stop) {
    const int64_t D = scores.shape[1];
    auto top = zeros<double>(3, D);
    for (int64_t i = start; i < stop; ++i) {
        const int64_t y = label[i];
        const double w = weight[i];
        const auto s = scores[i], c = cost[index[i]];
        const auto g = gradient[i];
        int64_t choice = y;
        double most = 0.0;
        for (int64_t k = 0; k < D; ++k) {
            const double lack = c[k] + (s[k] - s[y]);
            if (k != y && lack > most) {
                choice = k;
                most = lack;
            }
        }
        g.fill(0.0);
        if (hessian.shape[0] > 0) hessian[i].fill(0.0);
        if (choice != y) {
            g[y] = w;
            g[choice] = -w;
            top(0, y) = std::max(top(0, y), w);
            top(0, choice) = std::max(top(0, choice), w);
        }
        value[i] = w * most;
        top(2, y) = std::max(top(2, y), value[i]);
    }
    return top;
}

// Compute choices[i] = the decision whose gradient is below 0, the class where there is none.
void read_choices(Matrix<const double> gradient, Vector<const int32_t> label, Vector<uint16_t> choices, int64_t start,
                  int64_t stop) {
    for (int64_t i = start; i < stop; ++i) {
        const auto g = gradient[i];
        int64_t choice = label[i];
        for (int64_t k = 0; k < g.shape[0]; ++k) {
            if (g[k] < 0.0) choice = k;
        }
        choices[i] = static_cast<uint16_t>(choice);
    }
}

// Fill gradient with that of the planes times their shares; choices (P, n). Returns its column maxima.
Array<double, 1> weigh_choices(Matrix<const uint16_t> choices, Vector<const double> shares, Vector<const int32_t> label,
                               Vector<const double> weight, Matrix<double> gradient, int64_t start, int64_t stop) {
    const int64_t D = gradient.shape[1];
    auto top = zeros<double>(D);
    for (int64_t i = start; i < stop; ++i) {
        const int64_t y = label[i];
        const auto g = gradient[i];
        g.fill(0.0);
        for (int64_t p = 0; p < shares.shape[0]; ++p) {
            g[choices(p, i)] -= weight[i] * shares[p];
            g[y] += weight[i] * shares[p];
        }
        for (int64_t k = 0; k < D; ++k) top[k] = std::max(top[k], std::abs(g[k]));
    }
    return top;
}

// Return sums over the bag's rows of response * gradient in each plane, in fixed point, (P, D).
Array<int64_t, 2> sum_choices(Matrix<const uint16_t> choices, Vector<const int32_t> label, Vector<const double> weight,
                              Vector<const int8_t> response, Vector<const bool> in_bag, double factor,
                              int64_t n_outputs, int64_t start, int64_t stop) {
    auto sums = zeros<int64_t>(choices.shape[0], n_outputs);
    for (int64_t i = start; i < stop; ++i) {
        if (in_bag[i]) {
            const int64_t size = response[i] * whole(weight[i] * factor);
            for (int64_t p = 0; p < choices.shape[0]; ++p) {
                sums(p, label[i]) += size;
                sums(p, choices(p, i)) -= size;
            }
        }
    }
    return sums;
}

// -- Chains -----------------------------------------------------------------------------------------------------------
// Return the largest -rate * score of each chain over its rows of some weight, (G,); -inf if there are none.
Array<double, 1> largest_exponents(Matrix<const double> rates, Vector<const int32_t> row, Vector<const double> weight,
                                   Matrix<const double> share, Matrix<const double> scores, int64_t start,
                                   int64_t stop) {
    const int64_t n_chains = scores.shape[1];
    Array<double, 1> top(n_chains);
    top.fill(-INFINITE);
    for (int64_t i = start; i < stop; ++i) {
        const int64_t line = row[i];
        if (weight[i] > 0.0) {
            for (int64_t q = 0; q < n_chains; ++q) {
                if (share(line, q) > 0.0) top[q] = std::max(top[q], -rates(line, q) * scores(i, q));
            }
        }
    }
    return top;
}

// Fill the signed weights; returns the maxima of their sizes, (G,).
Array<double, 1> chain_weights(Matrix<const double> rates, Vector<const int32_t> row, Vector<const double> weight,
                               Matrix<const double> share, Matrix<const double> scores, Vector<const double> shift,
                               Matrix<double> signed_weights, int64_t start, int64_t stop) {
    const int64_t n_chains = scores.shape[1];
    auto top = zeros<double>(n_chains);
    for (int64_t i = start; i < stop; ++i) {
        const auto rate = rates[row[i]], b = share[row[i]], u = scores[i];
        const auto out = signed_weights[i];
        for (int64_t q = 0; q < n_chains; ++q) {
            double e = weight[i] * b[q];
            if (e > 0.0) e *= exponential(-rate[q] * u[q] - shift[q]);
            top[q] = std::max(top[q], e);
            out[q] = rate[q] > 0.0 ? e : -e;
        }
    }
    return top;
}

// Sum the weights in a chain of the bag's rows inside the set and outside, and of those answered wrongly, (2, 2).
//
// Inside are the rows of positive signed weights, where the right answer is above 0.
Array<int64_t, 2> side_errors(Matrix<const double> signed_weights, int64_t chain, Vector<const double> response,
                              Vector<const bool> in_bag, double factor, int64_t start, int64_t stop) {
    auto sums = zeros<int64_t>(2, 2);
    for (int64_t i = start; i < stop; ++i) {
        if (in_bag[i]) {
            const double weight = signed_weights(i, chain);
            const int64_t e = whole(std::abs(weight) * factor);
            const bool inside = weight > 0.0;
            sums(inside ? 0 : 1, 0) += e;
            if ((response[i] > 0.0) != inside) sums(inside ? 0 : 1, 1) += e;
        }
    }
    return sums;
}

// Compute push = signed and pull = |signed| of one chain, 0 out of the bag.
void take_chain(Matrix<const double> signed_weights, int64_t chain, Vector<const bool> in_bag, Matrix<double> push,
                Matrix<double> pull, int64_t start, int64_t stop) {
    for (int64_t i = start; i < stop; ++i) {
        const double e = in_bag[i] ? signed_weights(i, chain) : 0.0;
        push(i, 0) = e;
        pull(i, 0) = std::abs(e);
    }
}

// Compute scores[:, chain] += response * step.
void add_to_chain(Matrix<double> scores, int64_t chain, Vector<const double> response, double step, int64_t start,
                  int64_t stop) {
    for (int64_t i = start; i < stop; ++i) scores(i, chain) += response[i] * step;
}

// Find the split of each feature that parts each chain best, the lowest bin of equals.
//
// It has the largest edge |total - 2 left|. edge, bin (n_features, G): -1 and 0 where a feature has one bin.
void scan_chains(Cube<const int64_t> histogram, Vector<const int64_t> features, Vector<const int64_t> n_bins,
                 Vector<const int64_t> total, Matrix<int64_t> edge, Matrix<int64_t> bin) {
    const int64_t n_chains = histogram.shape[2];
    Array<int64_t, 1> left(n_chains);
    for (int64_t c = 0; c < features.shape[0]; ++c) {
        left.fill(0);
        edge[c].fill(-1);
        bin[c].fill(0);
        for (int64_t b = 0; b < n_bins[features[c]] - 1; ++b) {
            for (int64_t q = 0; q < n_chains; ++q) {
                left[q] += histogram(c, b, q);
                const int64_t size = std::abs(total[q] - 2 * left[q]);
                if (static_cast<double>(size) > static_cast<double>(edge(c, q)) * (1.0 + TIE)) {
                    edge(c, q) = size;
                    bin(c, q) = b;
                }
            }
        }
    }
}

// -- Output codes -----------------------------------------------------------------------------------------------------
constexpr double LEAST_SURE_TOTAL = 0x1p-8; // of a sum in the largest possible term, from which on whole numbers have
                                            // digits enough

// Fill hessian_l = w |v_l| exp(-sign(v_l) f_l - log_scale) and gradient_l = sign(v_l) hessian_l.
//
// v is the row's line of `lines`. Returns the column maxima of |gradient|, Hessian and value, which are one and the
// same; rows start..stop.
Array<double, 2> bit_gradients(Matrix<const double> lines, Vector<const int32_t> index, Vector<const double> weight,
                               Matrix<const double> scores, double log_scale, Matrix<double> gradient,
                               Matrix<double> hessian, int64_t start, int64_t stop) {
    const int64_t L = scores.shape[1];
    auto top = zeros<double>(3, L);
    const auto largest = top[0];
    for (int64_t i = start; i < stop; ++i) {
        const double w = weight[i];
        const auto v = lines[index[i]], f = scores[i];
        const auto g = gradient[i], h = hessian[i];
        for (int64_t k = 0; k < L; ++k) {
            const double size = w * std::abs(v[k]) * exponential((v[k] > 0.0 ? -f[k] : f[k]) - log_scale);
            h[k] = size;
            g[k] = v[k] > 0.0 ? size : -size;
        }
        for (int64_t k = 0; k < L; ++k) largest[k] = std::max(largest[k], h[k]);
    }
    for (int64_t k = 0; k < L; ++k) top(1, k) = top(2, k) = largest[k];
    return top;
}

// Return log sum_l exp(-word[l] bits[l]), its own largest term taken out first.
double log_loss_of_word(Vector<const int8_t> word, Vector<const double> bits, double scale) {
    double top = -word[0] * bits[0];
    int64_t total = 0;
    for (int64_t k = 0; k < bits.shape[0]; ++k) top = std::max(top, -word[k] * bits[k]);
    for (int64_t k = 0; k < bits.shape[0]; ++k) total += whole(scale * exponential(-word[k] * bits[k] - top));
    return top + log(static_cast<double>(total) / scale);
}

// Compute out[i, k] = -log sum_l exp(-words[k, l] f_l) of rows start..stop, f = scores[i], without overflow.
//
// Sums are of whole numbers: words whose bits are as near, in whatever order, are exactly as near. Terms are first
// taken relative to the largest that any word could have, and of words without such a term all again.
void log_losses(Matrix<const int8_t> words, Matrix<const double> scores, int64_t start, int64_t stop,
                Matrix<double> out) {
    const int64_t K = words.shape[0], L = words.shape[1];
    const double scale = std::ldexp(1.0, 61 - static_cast<int>(std::bit_width(static_cast<uint64_t>(L))));
    Array<int64_t, 1> gap(L); // of the terms for -1 and for +1
    for (int64_t i = start; i < stop; ++i) {
        const auto f = scores[i];
        double top = 0.0;
        int64_t both = 0;
        for (int64_t k = 0; k < L; ++k) top = std::max(top, std::abs(f[k]));
        for (int64_t k = 0; k < L; ++k) {
            const int64_t below = whole(scale * exponential(-f[k] - top));
            const int64_t above = whole(scale * exponential(f[k] - top));
            gap[k] = above - below;
            both += above + below;
        }
        for (int64_t c = 0; c < K; ++c) {
            const auto word = words[c];
            int64_t twice = both;
            for (int64_t k = 0; k < L; ++k) twice -= word[k] * gap[k];
            const double share = 0.5 * static_cast<double>(twice) / scale;
            out(i, c) = share > LEAST_SURE_TOTAL ? -top - log(share) : -log_loss_of_word(word, f, scale);
        }
    }
}

// Return -1, 0 or +1, or x where it is missing.
double sign(double x) { return x > 0.0 ? 1.0 : x < 0.0 ? -1.0 : x; }

// Fill out[i, k]: minus the bits in which the signs of f differ from the word of class k; 0 counts half.
void agreements(Matrix<const int8_t> words, Matrix<const double> scores, int64_t start, int64_t stop,
                Matrix<double> out) {
    const int64_t K = words.shape[0], L = words.shape[1];
    Array<double, 1> signs(L);
    for (int64_t i = start; i < stop; ++i) {
        for (int64_t k = 0; k < L; ++k) signs[k] = sign(scores(i, k));
        for (int64_t c = 0; c < K; ++c) {
            const auto word = words[c];
            double same = 0.0;
            for (int64_t k = 0; k < L; ++k) same += word[k] * signs[k];
            out(i, c) = 0.5 * (same - static_cast<double>(L));
        }
    }
}

} // namespace

void define_losses(nb::module_ &m) {
    m.attr("EXPONENTIAL_BOUND") = EXPONENTIAL_BOUND;
    m.attr("LOGISTIC_BOUND") = LOGISTIC_BOUND;
    m.attr("SQUARED_BOUND") = SQUARED_BOUND;
    m.attr("ZERO_COST") = ZERO_COST;
    m.def("coupled_gradients", &coupled_gradients, released());
    m.def("coupled_contrast", &coupled_contrast, released());
    for_types<int8_t, double>(
        [&]<class T>(std::type_identity<T>) { m.def("coupled_slopes", &coupled_slopes<T>, released()); });
    m.def("own_gradients", &own_gradients, released());
    m.def("own_along", &own_along, released());
    m.def("hinge_gradients", &hinge_gradients, released());
    m.def("read_choices", &read_choices, released());
    m.def("weigh_choices", &weigh_choices, released());
    m.def("sum_choices", &sum_choices, released());
    m.def("largest_exponents", &largest_exponents, released());
    m.def("chain_weights", &chain_weights, released());
    m.def("side_errors", &side_errors, released());
    m.def("take_chain", &take_chain, released());
    m.def("add_to_chain", &add_to_chain, released());
    m.def("scan_chains", &scan_chains, released());
    m.def("bit_gradients", &bit_gradients, released());
    m.def("log_losses", &log_losses, released());
    m.def("agreements", &agreements, released());
}

} // namespace minrisk
