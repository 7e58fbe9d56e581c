// Log-losses of probabilities by a link, row by row, and how they change with the scores.
//
// Mean gradients of an expected cost along straight lines of scores.
#include "binding.hpp"
#include "elementary.hpp"
#include "numbers.hpp"
#include "parts.hpp"

namespace minrisk {
namespace {

constexpr int64_t SIGMOID = 0, SOFTMAX = 1; // what makes probabilities of scores

// Probabilities p_k in proportion to sigmoid(x_k), or to exp(x_k).
struct Probabilities {
    Array<double, 1> log_p, p, rest; // rest: the slope of log p_k before it is scaled, 1 - sigmoid(x_k) or 1

    explicit Probabilities(int64_t K) : log_p(K), p(K), rest(K) {}

    void fill(int64_t kind, Vector<const double> x) {
        const int64_t K = x.shape[0];
        double top = x[0], total = 0.0;
        for (int64_t k = 1; k < K; ++k) top = std::max(top, x[k]);
        for (int64_t k = 0; k < K; ++k) {
            if (kind == SIGMOID) {
                const double e = exponential(-x[k]);
                p[k] = 1.0 / (1.0 + e);
                rest[k] = e / (1.0 + e);
                log_p[k] = x[k] > -30.0 ? -log1p(e) : x[k];
            } else {
                rest[k] = 1.0;
            }
        }
        if (kind != SIGMOID || !(top > -30.0)) { // where all sigmoids are exponentials, to float64
            for (int64_t k = 0; k < K; ++k) {
                log_p[k] = x[k] - top;
                p[k] = exponential(log_p[k]);
            }
        }
        for (int64_t k = 0; k < K; ++k) total += p[k];
        const double log_total = log(total);
        for (int64_t k = 0; k < K; ++k) {
            log_p[k] -= log_total;
            p[k] /= total;
        }
    }
};

// Return what is wanted of a class other than the label's: an equal share of `caution`.
double target_of_others(double caution, int64_t K) {
    return caution / static_cast<double>(std::max<int64_t>(1, K - 1));
}

// Write the loss of each row at base[fold] + weight * scores, its slope and curvature by `weight`, (n, 3).
//
// The loss is -log p(label) - caution * mean of log p over the other classes. For sigmoids the curvature leaves out
// what makes it negative.
template <class Fold, class Score>
void along(int64_t kind, Matrix<const double> base, Vector<const Fold> fold, Matrix<const Score> scores, double weight,
           Vector<const int32_t> label, double caution, Matrix<double> out) {
    const int64_t n = scores.shape[0], K = scores.shape[1];
    const double of_others = target_of_others(caution, K);
    const Array<double, 1> x(K);
    Probabilities share(K);
    const auto &[log_p, p, rest] = share;
    for (int64_t i = 0; i < n; ++i) {
        const auto own = base[fold[i]];
        const auto s = scores[i];
        for (int64_t k = 0; k < K; ++k) x[k] = own[k] + weight * s[k];
        share.fill(kind, x);
        double loss = 0.0, slope = 0.0, mean = 0.0, square = 0.0, all = 0.0;
        for (int64_t k = 0; k < K; ++k) {
            const double target = k == label[i] ? 1.0 : of_others, move = s[k] * rest[k];
            loss -= target * log_p[k];
            slope -= target * move;
            all += target;
            mean += p[k] * move;
            square += p[k] * move * move;
        }
        out(i, 0) = loss;
        out(i, 1) = slope + all * mean;
        out(i, 2) = all * std::max(0.0, square - mean * mean);
    }
}

// Write the loss of each row at base[fold] + shift + scores, see `along`, and its slopes by scores (n, K).
template <class Fold>
void mixed_residuals(int64_t kind, Matrix<const double> base, Vector<const Fold> fold, Matrix<const double> scores,
                     Vector<const double> shift, Vector<const int32_t> label, double caution, Vector<double> losses,
                     Matrix<double> residuals) {
    const int64_t n = scores.shape[0], K = scores.shape[1];
    const double of_others = target_of_others(caution, K);
    const Array<double, 1> x(K);
    Probabilities share(K);
    const auto &[log_p, p, rest] = share;
    for (int64_t i = 0; i < n; ++i) {
        const int64_t y = label[i];
        const auto own = base[fold[i]];
        for (int64_t k = 0; k < K; ++k) x[k] = own[k] + shift[k] + scores(i, k);
        share.fill(kind, x);
        double loss = 0.0, all = 0.0;
        for (int64_t k = 0; k < K; ++k) {
            const double target = k == y ? 1.0 : of_others;
            loss -= target * log_p[k];
            all += target;
        }
        losses[i] = loss;
        for (int64_t k = 0; k < K; ++k) {
            residuals(i, k) = (all * p[k] - (k == y ? 1.0 : of_others)) * rest[k];
        }
    }
}

// Compute out[i] = sum_k a[i, k] b[i, k], of each row by itself.
void row_dots(Matrix<const double> a, Matrix<const double> b, Vector<double> out) {
    for (int64_t i = 0; i < a.shape[0]; ++i) {
        double total = 0.0;
        for (int64_t k = 0; k < a.shape[1]; ++k) total += a(i, k) * b(i, k);
        out[i] = total;
    }
}

// Return expected cost of each decision, (n, D): sum_k p_k costs[i, k, d].
//
// `costs` (n, K, D), or (1, K, D) for all rows alike.
template <class Score>
Array<double, 2> expected_costs(int64_t kind, double scale, Matrix<const Score> scores, Cube<const double> costs) {
    const int64_t n = scores.shape[0], K = scores.shape[1], D = costs.shape[2];
    auto expected = zeros<double>(n, D);
    const Array<double, 1> p(K);
    for (int64_t i = 0; i < n; ++i) {
        const auto s = scores[i];
        Score top = s[0];
        for (int64_t k = 1; k < K; ++k) top = std::max(top, s[k]);
        const bool sigmoid = kind == SIGMOID && scale * top > -30.0;
        double total = 0.0;
        for (int64_t k = 0; k < K; ++k) {
            p[k] = sigmoid ? 1.0 / (1.0 + exponential(-scale * s[k])) : exponential(scale * (s[k] - top));
            total += p[k];
        }
        const auto cost = costs[costs.shape[0] > 1 ? i : 0];
        const auto own = expected[i];
        for (int64_t k = 0; k < K; ++k) {
            const auto c = cost[k];
            for (int64_t d = 0; d < D; ++d) own[d] += p[k] * c[d];
        }
        for (int64_t d = 0; d < D; ++d) own[d] /= total;
    }
    return expected;
}

constexpr double MOST_PANELS =
    4096.0; // of a line; scores that differ by more than twice as many are as good as infinitely apart

// Compute out[i, k] = mean over the line from `start` to scores[i] of d c / d score k, c = sum_k p_k costs[i, k].
//
// p_k is in proportion to sigmoid(scale h_k), or to exp(scale h_k). A line is cut in panels within which no log-odds
// change by more than 2; there the gradient is smooth, and the points of Gauss and Legendre are exact to float64.
void mean_gradients(int64_t kind, double scale, Vector<const double> start, Matrix<const double> scores,
                    Matrix<const double> costs, Vector<const double> point, Vector<const double> point_weight,
                    Matrix<double> out) {
    const int64_t n = scores.shape[0], K = scores.shape[1];
    const Array<double, 1> p(K), slope(K);
    for (int64_t i = 0; i < n; ++i) {
        const auto s = scores[i], c = costs[i];
        const auto of_row = out[i];
        double span = 0.0, least = s[0] - start[0], most = least;
        for (int64_t k = 0; k < K; ++k) {
            const double move = s[k] - start[k];
            least = std::min(least, move);
            most = std::max(most, move);
            span = std::max(span, std::abs(move));
            of_row[k] = 0.0;
        }
        if (kind != SIGMOID) span = most - least;
        const double n_panels = std::min(std::max(1.0, std::ceil(scale * span / 2.0)), MOST_PANELS);
        for (double panel = 0.0; panel < n_panels; ++panel) {
            for (int64_t q = 0; q < point.shape[0]; ++q) {
                const double t = (panel + point[q]) / n_panels, w = point_weight[q] / n_panels;
                double top = -INFINITE;
                for (int64_t k = 0; k < K; ++k) {
                    p[k] = scale * ((1.0 - t) * start[k] + t * s[k]);
                    top = std::max(top, p[k]);
                }
                const bool sigmoid = kind == SIGMOID && top > -30.0; // if not, see `Probabilities`
                double total = 0.0, cost = 0.0;
                for (int64_t k = 0; k < K; ++k) {
                    const double x = p[k];
                    if (sigmoid) {
                        const double small = exponential(-std::abs(x));
                        p[k] = (x > 0.0 ? 1.0 : small) / (1.0 + small);
                        slope[k] = (x > 0.0 ? small : 1.0) / (1.0 + small);
                    } else {
                        p[k] = exponential(x - top);
                        slope[k] = 1.0;
                    }
                    total += p[k];
                    cost += p[k] * c[k];
                }
                cost /= total;
                for (int64_t k = 0; k < K; ++k) of_row[k] += w * (scale * slope[k] * (p[k] / total) * (c[k] - cost));
            }
        }
    }
}

} // namespace

void define_links(nb::module_ &m) {
    m.attr("SIGMOID") = SIGMOID;
    m.attr("SOFTMAX") = SOFTMAX;
    for_types<uint8_t, uint16_t, uint32_t, int64_t>([&]<class Fold>(std::type_identity<Fold>) {
        m.def("along", &along<Fold, float>, released());
        m.def("along", &along<Fold, double>, released());
        m.def("mixed_residuals", &mixed_residuals<Fold>, released());
    });
    m.def("row_dots", &row_dots, released());
    m.def("expected_costs", &expected_costs<float>, released());
    m.def("expected_costs", &expected_costs<double>, released());
    m.def("mean_gradients", &mean_gradients, released());
}

} // namespace minrisk
