#include "guess_averse.hpp"

#include <limits>

#include "binding.hpp"
#include "elementary.hpp"
#include "parts.hpp"

namespace minrisk {
namespace {

using Numbers = Vector<const double>;
using Table = Matrix<const double>;
using Codes = Vector<const int32_t>;

constexpr double VANISHED_WEIGHT = 1e-290; // of a row: smaller weights are 0 to the value, as they are in fixed point

// Say whether all classes' scores count in every row: its costs are its class's, and each mistake has one.
bool all_count(Table cost, Codes index, Codes label, int64_t start, int64_t stop) {
    for (int64_t i = start; i < stop; ++i) {
        if (index[i] != label[i]) return false;
    }
    for (int64_t y = 0; y < cost.shape[0]; ++y) {
        for (int64_t k = 0; k < cost.shape[1]; ++k) {
            if (k != y && !(cost(y, k) > 0.0)) return false;
        }
    }
    return true;
}

// Fill x[i - low] with S_i less the largest of its scores that count: the class's, and those of a positive cost.
//
// `everyone`: all of them do. Looking that up would take a third of a round's gradients.
void below_highest(Table cost, Codes index, Codes label, Table scores, int64_t low, int64_t high, bool everyone,
                   Matrix<double> x) {
    const int64_t D = scores.shape[1];
    for (int64_t i = low; i < high; ++i) {
        const auto s = scores[i], c = cost[index[i]];
        const auto difference = x[i - low];
        double highest = s[label[i]];
        if (everyone) {
            double a = highest, b = highest, c = highest, d = highest;
            for (int64_t k = 0; k < D - D % 4; k += 4) { // four maxima, since each comparison waits for the one before
                a = std::max(a, s[k]), b = std::max(b, s[k + 1]);
                c = std::max(c, s[k + 2]), d = std::max(d, s[k + 3]);
            }
            highest = std::max(std::max(a, b), std::max(c, d));
            for (int64_t k = D - D % 4; k < D; ++k) highest = std::max(highest, s[k]);
        } else {
            for (int64_t k = 0; k < D; ++k) highest = std::max(highest, c[k] > 0.0 ? s[k] : -INFINITE);
        }
        for (int64_t k = 0; k < D; ++k) difference[k] = std::min(0.0, s[k] - highest);
    }
}

// Sum x[b] in the order of its columns, b < n; four together, since an addition waits for the last.
void sums_of_rows(Table x, int64_t n, Vector<double> sums) {
    const int64_t D = x.shape[1];
    for (int64_t b = 0; b < n - n % 4; b += 4) {
        double first = 0.0, second = 0.0, third = 0.0, fourth = 0.0;
        for (int64_t k = 0; k < D; ++k) {
            first += x(b, k);
            second += x(b + 1, k);
            third += x(b + 2, k);
            fourth += x(b + 3, k);
        }
        sums[b] = first, sums[b + 1] = second, sums[b + 2] = third, sums[b + 3] = fourth;
    }
    for (int64_t b = n - n % 4; b < n; ++b) {
        double total = 0.0;
        for (int64_t k = 0; k < D; ++k) total += x(b, k);
        sums[b] = total;
    }
}

// Compute top[0], top[1] = max(top, columns of |gradient| and of Hessian) over rows low..high.
void raise_tops(Table gradient, Table hessian, int64_t low, int64_t high, Matrix<double> top) {
    const auto top_gradient = top[0], top_hessian = top[1];
    for (int64_t i = low; i < high; ++i) {
        const auto g = gradient[i], h = hessian[i];
        for (int64_t k = 0; k < gradient.shape[1]; ++k) {
            top_gradient[k] = std::max(top_gradient[k], std::abs(g[k]));
            top_hessian[k] = std::max(top_hessian[k], h[k]);
        }
    }
}

// Fill those of GEL (own = 1) or L_s (0): gradient_k = -w z_k, hessian_k = w z_k, z_k = c_k e^(S_k - own S_y).
//
// At y they are w sum z of GEL, and 0 of L_s; the row's value is w sum z. All times e^-log_scale; rows start..stop. The
// Hessian may have no rows. Returns the column maxima of |gradient|, Hessian and value, which counts in column y.
Array<double, 2> exponential_gradients(double own, Table cost, Codes index, Codes label, Numbers weight, Table scores,
                                       double log_scale, Matrix<double> gradient, Matrix<double> hessian,
                                       Vector<double> value, int64_t start, int64_t stop) {
    const int64_t D = scores.shape[1], height = rows_at_once(D), every = hessian.shape[0] > 0;
    const Array<double, 2> x(height, D), spare(1, D);
    const Matrix<double> curved = every ? hessian : Matrix<double>(spare);
    auto top = zeros<double>(3, D);
    const auto highest = top[1], top_value = top[2];
    for (int64_t low = start; low < stop; low += height) {
        const int64_t high = std::min(low + height, stop);
        for (int64_t i = low; i < high; ++i) {
            const auto s = scores[i];
            const auto z = x[i - low];
            const double base = own * s[label[i]] + log_scale;
            for (int64_t k = 0; k < D; ++k) z[k] = s[k] - base;
        }
        exponentials(x.flat(), (high - low) * D);
        for (int64_t i = low; i < high; ++i) {
            const int64_t y = label[i];
            const double w = weight[i];
            const auto c = cost[index[i]];
            const auto z = x[i - low], g = gradient[i], h = curved[i * every];
            z[y] = 0.0;
            double total = 0.0;
            for (int64_t k = 0; k < D; ++k) { // one short loop: several would spend their time on starting
                const double v = w * c[k] * z[k];
                total += v;
                g[k] = -v;
                h[k] = v;
                highest[k] = std::max(highest[k], v);
            }
            value[i] = total;
            top_value[y] = std::max(top_value[y], total);
            if (own > 0.0) {
                g[y] = h[y] = total;
                highest[y] = std::max(highest[y], total);
            }
        }
    }
    std::copy_n(highest.data, D, top.data);
    return top;
}

// Fill value[i] with the row's GLL, by the gradient of these scores.
//
// No exponentials: the loss is -log(1 - Q), and where Q is near 1 it is log(z_k / q_k) for any k, of which the largest
// q_k is at least Q / (D - 1).
void logistic_values(Table cost, Codes index, Codes label, Numbers weight, Table scores, double log_scale,
                     Table gradient, Vector<double> value, int64_t start, int64_t stop) {
    const double scale = exp(-log_scale);
    std::array<double, EXPONENTIAL_ROWS> own;
    for (int64_t low = start; low < stop; low += EXPONENTIAL_ROWS) {
        const int64_t high = std::min(low + EXPONENTIAL_ROWS, stop);
        for (int64_t i = low; i < high; ++i) {
            const double w = weight[i] * scale;
            own[i - low] = w >= VANISHED_WEIGHT ? gradient(i, label[i]) / w : 0.0;
        }
        for (int64_t j = 0; j < high - low; ++j) { // the loop that is vectorised
            const double loss = -log1p(-std::min(own[j], 0.5));
            own[j] = own[j] > 0.5 ? own[j] : loss;
        }
        for (int64_t i = low; i < high; ++i) {
            const int64_t y = label[i];
            const double w = weight[i] * scale;
            double loss = own[i - low];
            if (w < VANISHED_WEIGHT) {
                value[i] = 0.0;
                continue;
            }
            const auto g = gradient[i];
            if (g[y] / w > 0.5) {
                int64_t largest = y > 0 ? 0 : 1;
                for (int64_t k = 0; k < gradient.shape[1]; ++k) {
                    if (k != y && g[k] < g[largest]) largest = k;
                }
                const double ratio = cost(index[i], largest) * w / -g[largest];
                loss = scores(i, largest) - scores(i, y) + log(ratio);
            }
            value[i] = w * loss;
        }
    }
}

// Compute gradient_k = w (1[k = y] - p_k) and the row's value, times e^-log_scale; rows start..stop.
//
// Returns (3, D): the column maxima of |gradient|, 0, and those of the value, which counts in column y.
Array<double, 2> softmax_value_and_gradient(Table cost, Codes index, Codes label, Numbers weight, Table scores,
                                            double log_scale, Matrix<double> gradient, Vector<double> value,
                                            int64_t start, int64_t stop) {
    const int64_t D = scores.shape[1];
    const double scale = exp(-log_scale);
    auto top = zeros<double>(3, D);
    for (int64_t i = start; i < stop; ++i) {
        const int64_t y = label[i];
        const double w = weight[i] * scale;
        const auto c = cost[index[i]], s = scores[i];
        const auto g = gradient[i];
        double highest = s[y];
        for (int64_t k = 0; k < D; ++k) {
            if (c[k] > 0.0 && s[k] > highest) highest = s[k];
        }
        const double right = exponential(s[y] - highest);
        double wrong = 0.0;
        for (int64_t k = 0; k < D; ++k) {
            g[k] = k != y && c[k] > 0.0 ? c[k] * exponential(s[k] - highest) : 0.0;
            wrong += g[k];
        }
        const double total = right + wrong;
        for (int64_t k = 0; k < D; ++k) g[k] *= -w / total;
        g[y] = w * (wrong / total);
        value[i] = w * (wrong < right ? log1p(wrong / right) : log(total) + highest - s[y]);
        for (int64_t k = 0; k < D; ++k) top(0, k) = std::max(top(0, k), std::abs(g[k]));
        top(2, y) = std::max(top(2, y), value[i]);
    }
    return top;
}

// -- Losses that are not averse to guessing --------------------------------------------------------------------------

// The terms of L_t of some rows, each row's largest e^(...) being 1.
struct PairTerms {
    Array<double, 2> up, down; // w c_k e^(S_k), and e^(-S_k)
    Array<double, 1> scale;    // what their products are times

    explicit PairTerms(int64_t D) : up(rows_at_once(D), D), down(rows_at_once(D), D), scale(rows_at_once(D)) {}

    // Fill those of rows low..high.
    void fill(Table cost, Codes index, Codes label, Numbers weight, Table scores, double log_scale, int64_t low,
              int64_t high) {
        const int64_t D = scores.shape[1], n = high - low;
        for (int64_t i = low; i < high; ++i) {
            const auto s = scores[i];
            const auto u = up[i - low], d = down[i - low];
            double highest = s[0], lowest = s[0];
            for (int64_t k = 0; k < D; ++k) highest = std::max(highest, s[k]), lowest = std::min(lowest, s[k]);
            for (int64_t k = 0; k < D; ++k) u[k] = s[k] - highest, d[k] = lowest - s[k];
            scale[i - low] = highest - lowest - log_scale;
        }
        exponentials(up.flat(), n * D);
        exponentials(down.flat(), n * D);
        exponentials(scale, n);
        for (int64_t i = low; i < high; ++i) {
            const auto c = cost[index[i]];
            const auto u = up[i - low];
            for (int64_t k = 0; k < D; ++k) u[k] *= weight[i] * c[k];
            u[label[i]] = 0.0;
        }
    }
};

// Fill those of L_t.
//
// gradient_k = w (A e^(-S_k) - c_k e^(S_k) B), hessian_k = w (A e^(-S_k) + c_k e^(S_k) B - 2 c_k). Returns the column
// maxima of |gradient|, Hessian and the row's value, which counts in column y.
Array<double, 2> pair_gradients(Table cost, Codes index, Codes label, Numbers weight, Table scores, double log_scale,
                                Matrix<double> gradient, Matrix<double> hessian, Vector<double> value, int64_t start,
                                int64_t stop) {
    const int64_t D = scores.shape[1], height = rows_at_once(D);
    auto top = zeros<double>(3, D);
    PairTerms terms(D);
    for (int64_t low = start; low < stop; low += height) {
        const int64_t high = std::min(low + height, stop);
        terms.fill(cost, index, label, weight, scores, log_scale, low, high);
        for (int64_t i = low; i < high; ++i) {
            const auto a = terms.up[i - low], b = terms.down[i - low], g = gradient[i], h = hessian[i];
            const double w = terms.scale[i - low];
            double A = 0.0, B = 0.0;
            for (int64_t k = 0; k < D; ++k) A += a[k], B += b[k];
            for (int64_t k = 0; k < D; ++k) {
                const double u = w * a[k] * B, v = w * A * b[k];
                g[k] = v - u;
                h[k] = std::max(u + v - 2.0 * w * a[k] * b[k], 0.0);
            }
            value[i] = A * B * w;
            top(2, label[i]) = std::max(top(2, label[i]), value[i]);
        }
        raise_tops(gradient, hessian, low, high, top);
    }
    return top;
}

// -- Along a line through the scores ---------------------------------------------------------------------------------

struct LinePoint {
    double weight, value, slope, curvature; // the line gets the last three times the first
};

// Fill the line with what `point` makes of rows i: point(i, y, c, s, f, m), m the row's move.
template <class Point>
Array<double, 1> along(Table cost, Codes index, Codes label, Table scores, Numbers factor, Table move,
                       Matrix<double> line, int64_t start, int64_t stop, Point point) {
    auto top = zeros<double>(3);
    for (int64_t i = start; i < stop; ++i) {
        const auto m = move[move.shape[0] > 1 ? i : 0];
        const LinePoint at = point(i, label[i], cost[index[i]], scores[i], factor[i], m);
        line(0, i) = at.weight * at.value;
        line(1, i) = at.weight * at.slope;
        line(2, i) = at.weight * at.curvature;
        for (int64_t c = 0; c < 3; ++c) top[c] = std::max(top[c], std::abs(line(c, i)));
    }
    return top;
}

// Fill the line of GEL, Eq. (20): sum c_k e^(S_k - S_y); or, with own = 0, of L_s, Eq. (12): sum c_k e^(S_k).
//
// L_s is for scores that sum to 0.
Array<double, 1> exponential_along(double own, Table cost, Codes index, Codes label, Numbers weight, Table scores,
                                   double log_scale, Numbers factor, Table move, double step, Matrix<double> line,
                                   int64_t start, int64_t stop) {
    const int64_t D = scores.shape[1];
    const Array<double, 1> z(D), d(D);
    const auto point = [&](int64_t i, int64_t y, Numbers c, Numbers s, double f, Numbers m) {
        const double base = own * s[y] + log_scale, move_y = own * m[y];
        for (int64_t k = 0; k < D; ++k) {
            d[k] = f * (m[k] - move_y);
            z[k] = c[k] * exponential(s[k] - base + step * d[k]);
        }
        z[y] = 0.0;
        LinePoint sums{weight[i], 0.0, 0.0, 0.0};
        for (int64_t k = 0; k < D; ++k) {
            sums.value += z[k];
            sums.slope += z[k] * d[k];
            sums.curvature += z[k] * d[k] * d[k];
        }
        return sums;
    };
    return along(cost, index, label, scores, factor, move, line, start, stop, point);
}

// Fill the line of GLL, Eq. (21): log(1 + sum c_k e^(S_k - S_y)), as log-sum-exp; the curvature is a variance.
Array<double, 1> logistic_along(Table cost, Codes index, Codes label, Numbers weight, Table scores, double log_scale,
                                Numbers factor, Table move, double step, Matrix<double> line, int64_t start,
                                int64_t stop) {
    const int64_t D = scores.shape[1];
    const Array<double, 1> q(D), d(D);
    const double scale = exp(-log_scale);
    const auto point = [&](int64_t i, int64_t y, Numbers c, Numbers s, double f, Numbers m) {
        const double s_y = s[y], move_y = m[y];
        double highest = 0.0; // of S_k - S_y along the line; 0 is that of the 1
        for (int64_t k = 0; k < D; ++k) {
            d[k] = f * (m[k] - move_y);
            q[k] = s[k] - s_y + step * d[k];
            if (c[k] > 0.0 && q[k] > highest) highest = q[k];
        }
        for (int64_t k = 0; k < D; ++k) q[k] = c[k] * exponential(std::min(q[k] - highest, 0.0));
        q[y] = 0.0;
        const double right = exponential(-highest);
        double wrong = 0.0, mean = 0.0, square = 0.0;
        for (int64_t k = 0; k < D; ++k) {
            wrong += q[k];
            mean += q[k] * d[k];
        }
        const double total = wrong + right;
        mean /= total;
        for (int64_t k = 0; k < D; ++k) square += q[k] * (d[k] - mean) * (d[k] - mean);
        square = (square + right * mean * mean) / total;
        const double value = wrong < right ? log1p(wrong / right) : log(total) + highest;
        return LinePoint{weight[i] * scale, value, mean, square};
    };
    return along(cost, index, label, scores, factor, move, line, start, stop, point);
}

// Fill the line of L_t, Eq. (14): sum_jk c_j e^(S_j - S_k) = A B, A = sum_j c_j e^(S_j), B = sum_k e^(-S_k).
//
// Deviation: (37) as printed is the gradient of e^(S_k - S_j); it is read with the indices of (14).
Array<double, 1> pair_along(Table cost, Codes index, Codes label, Numbers weight, Table scores, double log_scale,
                            Numbers factor, Table move, double step, Matrix<double> line, int64_t start, int64_t stop) {
    const int64_t D = scores.shape[1];
    const Array<double, 1> x(D), d(D);
    const auto point = [&](int64_t i, int64_t y, Numbers c, Numbers s, double f, Numbers m) {
        double high = -INFINITE, low = INFINITE;
        for (int64_t k = 0; k < D; ++k) {
            d[k] = f * m[k];
            x[k] = s[k] + step * d[k];
            high = std::max(high, x[k]), low = std::min(low, x[k]);
        }
        double a0 = 0.0, a1 = 0.0, a2 = 0.0, b0 = 0.0, b1 = 0.0, b2 = 0.0;
        for (int64_t k = 0; k < D; ++k) {
            const double a = k != y ? c[k] * exponential(x[k] - high) : 0.0, b = exponential(low - x[k]);
            a0 += a, a1 += a * d[k], a2 += a * d[k] * d[k];
            b0 += b, b1 -= b * d[k], b2 += b * d[k] * d[k];
        }
        const double w = weight[i] * exponential(high - low - log_scale);
        return LinePoint{w, a0 * b0, a1 * b0 + a0 * b1, a2 * b0 + 2.0 * a1 * b1 + a0 * b2};
    };
    return along(cost, index, label, scores, factor, move, line, start, stop, point);
}

// -- Along a direction of few values ---------------------------------------------------------------------------------

constexpr int64_t GROUPED_ROWS = 128; // rows side by side: their sums stay within the fastest cache
using RowsBeside = std::array<double, GROUPED_ROWS>;

// Return the largest of `before` and |values[:n]|, compared as whole numbers: the loop is vectorised.
double largest(const double *values, int64_t n, double before) {
    int64_t top = std::bit_cast<int64_t>(before);
    for (int64_t i = 0; i < n; ++i) top = std::max(top, std::bit_cast<int64_t>(std::abs(values[i])));
    return std::bit_cast<double>(top);
}

// Fill the line block by block, by block(low, n, value, slope, curvature), and return its maxima.
template <class Block> Array<double, 1> in_blocks(Matrix<double> line, int64_t start, int64_t stop, Block block) {
    auto top = zeros<double>(3);
    for (int64_t low = start; low < stop; low += GROUPED_ROWS) {
        const int64_t n = std::min(GROUPED_ROWS, stop - low);
        double *const value = &line(0, low), *const slope = &line(1, low), *const curvature = &line(2, low);
        block(low, n, value, slope, curvature);
        top[0] = largest(value, n, top[0]);
        top[1] = largest(slope, n, top[1]);
        top[2] = largest(curvature, n, top[2]);
    }
    return top;
}

// Compute own[i - low] = value of the true class of rows low..low + n.
void own_values(Codes label, Vector<const int64_t> group, Numbers values, int64_t low, int64_t n, RowsBeside &own) {
    for (int64_t i = 0; i < n; ++i) own[i] = values[group[label[low + i]]];
}

// Compute d = v - own, z = terms e^(t f d): what becomes of the terms of value v.
void moved(const double *terms, const double *factor, const RowsBeside &own, double value, double step, int64_t n,
           RowsBeside &z, RowsBeside &d) {
    for (int64_t i = 0; i < n; ++i) {
        d[i] = value - own[i];
        z[i] = terms[i] * exponential(step * factor[i] * d[i]);
    }
}

// Classes in the order of their groups, and where each group begins.
struct ByGroup {
    Array<int64_t, 1> classes, first;

    ByGroup(Vector<const int64_t> group, int64_t n_groups) : classes(group.shape[0]), first(n_groups + 1) {
        int64_t placed = 0;
        for (int64_t g = 0; g < n_groups; ++g) {
            first[g] = placed;
            for (int64_t k = 0; k < group.shape[0]; ++k) {
                if (group[k] == g) classes[placed++] = k;
            }
        }
        first[n_groups] = placed;
    }

    // Sum term(k) over the classes k of group g.
    template <class Term> double sum(int64_t g, Term term) const {
        double total = 0.0;
        for (int64_t place = first[g]; place < first[g + 1]; ++place) total += term(classes[place]);
        return total;
    }
};

// Fill terms[g, i] of GEL and L_s: the sum of w c_k e^(...) over the wrong classes k of group g, from `hessian`.
void gather_sums(Table hessian, Codes label, Vector<const int64_t> group, Matrix<double> terms, int64_t start,
                 int64_t stop) {
    const ByGroup by(group, terms.shape[0]);
    for (int64_t i = start; i < stop; ++i) {
        const auto h = hessian[i];
        const int64_t y = label[i];
        for (int64_t g = 0; g < terms.shape[0]; ++g) {
            terms(g, i) = by.sum(g, [&](int64_t k) { return k != y ? h[k] : 0.0; });
        }
    }
}

// Fill the line of GEL (own = 1), sum_g terms_g e^(t f (v_g - v_y)), or L_s (0), sum_g terms_g e^(t f v_g).
Array<double, 1> sums_along(double own, Table terms, Codes label, Vector<const int64_t> group, Numbers values,
                            Numbers factor, double step, Matrix<double> line, int64_t start, int64_t stop) {
    RowsBeside base{}, z, d;
    const auto block = [&](int64_t low, int64_t n, double *value, double *slope, double *curvature) {
        const double *f = &factor[low];
        std::fill_n(value, n, 0.0);
        std::fill_n(slope, n, 0.0);
        std::fill_n(curvature, n, 0.0);
        if (own > 0.0) own_values(label, group, values, low, n, base);
        for (int64_t g = 0; g < values.shape[0]; ++g) {
            moved(&terms(g, low), f, base, values[g], step, n, z, d);
            for (int64_t i = 0; i < n; ++i) {
                value[i] += z[i];
                slope[i] += z[i] * d[i];
                curvature[i] += z[i] * d[i] * d[i];
            }
        }
        for (int64_t i = 0; i < n; ++i) {
            slope[i] *= f[i];
            curvature[i] *= f[i] * f[i];
        }
    };
    return in_blocks(line, start, stop, block);
}

// Fill terms[g, i] of GLL: the sum of q_k over the wrong classes of group g, and last 1 - sum q.
//
// q_k is taken from gradient_k = -w q_k.
void gather_shares(Table gradient, Table hessian, Codes label, Numbers weight, double log_scale,
                   Vector<const int64_t> group, Matrix<double> terms, int64_t start, int64_t stop) {
    const int64_t last = terms.shape[0] - 1;
    const double scale = exp(-log_scale);
    const ByGroup by(group, last);
    for (int64_t i = start; i < stop; ++i) {
        const auto u = gradient[i];
        const int64_t y = label[i];
        const double w = weight[i] * scale, inverse = w > 1e-290 ? 1.0 / w : 0.0;
        for (int64_t g = 0; g < last; ++g) {
            terms(g, i) = by.sum(g, [&](int64_t k) { return k != y ? -u[k] : 0.0; }) * inverse;
        }
        terms(last, i) = u[y] > 0.0 ? hessian(i, y) / u[y] : 1.0;
    }
}

// Fill the line of GLL less its value at t = 0: w log(terms_last + sum_g terms_g e^(t f (v_g - v_y))).
Array<double, 1> shares_along(Table terms, Codes label, Numbers weight, double log_scale, Vector<const int64_t> group,
                              Numbers values, Numbers factor, double step, Matrix<double> line, int64_t start,
                              int64_t stop) {
    const int64_t last = terms.shape[0] - 1;
    const double scale = exp(-log_scale);
    RowsBeside base, total;
    const auto z = std::make_unique_for_overwrite<RowsBeside[]>(last);
    const auto d = std::make_unique_for_overwrite<RowsBeside[]>(last);
    const auto block = [&](int64_t low, int64_t n, double *value, double *mean, double *square) {
        const double *f = &factor[low], *w = &weight[low], *right = &terms(last, low);
        own_values(label, group, values, low, n, base);
        std::copy_n(right, n, total.data());
        std::fill_n(mean, n, 0.0);
        for (int64_t g = 0; g < last; ++g) {
            moved(&terms(g, low), f, base, values[g], step, n, z[g], d[g]);
            for (int64_t i = 0; i < n; ++i) {
                total[i] += z[g][i];
                mean[i] += z[g][i] * d[g][i];
            }
        }
        for (int64_t i = 0; i < n; ++i) {
            mean[i] /= total[i];
            square[i] = right[i] * mean[i] * mean[i];
        }
        for (int64_t g = 0; g < last; ++g) {
            for (int64_t i = 0; i < n; ++i) square[i] += z[g][i] * (d[g][i] - mean[i]) * (d[g][i] - mean[i]);
        }
        for (int64_t i = 0; i < n; ++i) {
            const double of_row = w[i] * scale;
            value[i] = of_row * log(total[i]);
            square[i] *= of_row * f[i] * f[i] / total[i];
            mean[i] *= of_row * f[i];
        }
    };
    return in_blocks(line, start, stop, block);
}

// Sum over group g w c_j e^(S_j), then of e^(-S_k), the products of the two times e^-log_scale.
void gather_pairs(Table cost, Codes index, Codes label, Numbers weight, Table scores, double log_scale,
                  Vector<const int64_t> group, int64_t n_groups, Matrix<double> terms, int64_t start, int64_t stop) {
    const int64_t D = scores.shape[1], height = rows_at_once(D);
    PairTerms pairs(D);
    const ByGroup by(group, n_groups);
    for (int64_t low = start; low < stop; low += height) {
        const int64_t high = std::min(low + height, stop);
        pairs.fill(cost, index, label, weight, scores, log_scale, low, high);
        for (int64_t i = low; i < high; ++i) {
            const auto up = pairs.up[i - low], down = pairs.down[i - low];
            for (int64_t g = 0; g < n_groups; ++g) {
                terms(g, i) = by.sum(g, [&](int64_t k) { return up[k]; }) * pairs.scale[i - low];
                terms(n_groups + g, i) = by.sum(g, [&](int64_t k) { return down[k]; });
            }
        }
    }
}

// Fill the line of L_t: (sum_g a_g e^(t f v_g)) (sum_g b_g e^(-t f v_g)).
Array<double, 1> pairs_along(Table terms, Numbers values, Numbers factor, double step, Matrix<double> line,
                             int64_t start, int64_t stop) {
    const int64_t G = values.shape[0];
    RowsBeside e;
    std::array<RowsBeside, 3> a, b;
    const auto block = [&](int64_t low, int64_t n, double *value, double *slope, double *curvature) {
        const double *f = &factor[low];
        a = {}, b = {};
        for (int64_t g = 0; g < G; ++g) {
            const double *up = &terms(g, low), *down = &terms(G + g, low), v = values[g];
            for (int64_t i = 0; i < n; ++i) { // only a row of weight 0 may go farther
                e[i] = exponential(std::min(std::max(step * v * f[i], -600.0), 600.0));
            }
            for (int64_t i = 0; i < n; ++i) {
                const double x = up[i] * e[i], y = down[i] / e[i];
                a[0][i] += x;
                a[1][i] += x * v;
                a[2][i] += x * v * v;
                b[0][i] += y;
                b[1][i] -= y * v;
                b[2][i] += y * v * v;
            }
        }
        for (int64_t i = 0; i < n; ++i) {
            value[i] = a[0][i] * b[0][i];
            slope[i] = f[i] * (a[1][i] * b[0][i] + a[0][i] * b[1][i]);
            curvature[i] = f[i] * f[i] * (a[2][i] * b[0][i] + 2.0 * a[1][i] * b[1][i] + a[0][i] * b[2][i]);
        }
    };
    return in_blocks(line, start, stop, block);
}

// -- Pairwise margins ------------------------------------------------------------------------------------------------

// Compute out[i] = sum_k gradient[i, k] vector[k] of rows start..stop; returns the largest in size.
double gradient_along(Table gradient, Numbers vector, Vector<double> out, int64_t start, int64_t stop) {
    double top = 0.0;
    for (int64_t i = start; i < stop; ++i) {
        const auto g = gradient[i];
        double total = 0.0;
        for (int64_t k = 0; k < vector.shape[0]; ++k) total += g[k] * vector[k];
        out[i] = total;
        top = std::max(top, std::abs(total));
    }
    return top;
}

// Fill `less` with min(z, 1 / z) and `value` with the terms of a row's loss, which is returned.
double row_loss(Numbers c, Numbers s, int64_t y, double w, Vector<double> less, Vector<double> value) {
    const int64_t D = s.shape[0];
    const double own = s[y];
    double total = 0.0;
    for (int64_t k = 0; k < D; ++k) less[k] = exponential(-std::abs(s[k] - own));
    for (int64_t k = 0; k < D; ++k) value[k] = w * c[k] * (log1p(less[k]) + (s[k] > own ? s[k] - own : 0.0));
    value[y] = 0.0;
    for (int64_t k = 0; k < D; ++k) total += value[k];
    return total;
}

// Fill gradient_r = -w c_r u_r and hessian_r = w c_r u_r (1 - u_r), u_r = z_r / (1 + z_r) (Eq. 12).
//
// At y are the sums, the gradient's above 0; value[i] is the row's loss. All times e^-log_scale; rows start..stop. The
// Hessian may have no rows. Returns the column maxima of |gradient|, Hessian and value, which counts in column y.
Array<double, 2> pairwise_gradients(Table cost, Codes index, Codes label, Numbers weight, Table scores,
                                    double log_scale, Matrix<double> gradient, Matrix<double> hessian,
                                    Vector<double> value, int64_t start, int64_t stop) {
    const int64_t D = scores.shape[1], every = hessian.shape[0] > 0;
    const double scale = exp(-log_scale);
    const Array<double, 1> terms(D);
    const Array<double, 2> spare(1, D);
    const Matrix<double> curved = every ? hessian : Matrix<double>(spare);
    auto top = zeros<double>(3, D);
    const auto top_gradient = top[0], top_hessian = top[1], top_value = top[2];
    for (int64_t i = start; i < stop; ++i) {
        const int64_t y = label[i];
        const double w = weight[i] * scale;
        const auto c = cost[index[i]], s = scores[i];
        const auto g = gradient[i], h = curved[i * every];
        const double own = s[y], total = row_loss(c, s, y, w, h, terms);
        for (int64_t k = 0; k < D; ++k) {
            const double share = w * c[k] / (1.0 + h[k]);
            g[k] = s[k] >= own ? -share : -share * h[k];
        }
        g[y] = 0.0;
        double push = 0.0;
        for (int64_t k = 0; k < D; ++k) {
            push -= g[k];
            top_gradient[k] = std::max(top_gradient[k], -g[k]);
        }
        g[y] = push;
        value[i] = total;
        top_gradient[y] = std::max(top_gradient[y], push);
        top_value[y] = std::max(top_value[y], total);
        if (every) {
            for (int64_t k = 0; k < D; ++k) h[k] = w * c[k] / (1.0 + h[k]) * h[k] / (1.0 + h[k]);
            h[y] = 0.0;
            double curvature = 0.0;
            for (int64_t k = 0; k < D; ++k) curvature += h[k];
            h[y] = curvature;
            for (int64_t k = 0; k < D; ++k) top_hessian[k] = std::max(top_hessian[k], h[k]);
        }
    }
    return top;
}

// Return sums over the bag's rows of w c_r z_r by class y, decision r and response, in fixed point, (2, D, D).
//
// Side 1 is f = +1. `hessian` is that of GEL: w c_r z_r, and their sum at y, which is left out.
Array<int64_t, 3> pair_sums(Table hessian, Codes label, Vector<const int8_t> response, Vector<const bool> in_bag,
                            double factor, int64_t start, int64_t stop) {
    const int64_t D = hessian.shape[1];
    auto sums = zeros<int64_t>(2, D, D);
    for (int64_t i = start; i < stop; ++i) {
        if (!in_bag[i]) continue;
        const auto out = sums[response[i] > 0][label[i]];
        const auto h = hessian[i];
        for (int64_t k = 0; k < D; ++k) out[k] += whole(h[k] * factor);
    }
    for (int64_t y = 0; y < D; ++y) sums(0, y, y) = sums(1, y, y) = 0;
    return sums;
}

// Compute odds[i, r] = z_r: the weights u^(t-1) of Eq. (14).
void fill_odds(Table scores, Codes label, Matrix<double> odds, int64_t start, int64_t stop) {
    for (int64_t i = start; i < stop; ++i) {
        const auto s = scores[i];
        const auto o = odds[i];
        const double own = s[label[i]];
        for (int64_t k = 0; k < scores.shape[1]; ++k) o[k] = exponential(s[k] - own);
    }
}

// Return value and slope in a vector a of Eq. (14): sum w c_r log(1 + z_r e^(f (a_r - a_y))), in fixed point.
//
// `grown` is e^(a_r - a_y) (2, D, D), of f = -1 its transpose first. Returns the value, then the D slopes; all times
// e^-log_scale.
Array<int64_t, 1> pair_slopes(Table cost, Codes index, Codes label, Numbers weight, Table odds,
                              Vector<const int8_t> response, Vector<const bool> in_bag, Cube<const double> grown,
                              double log_scale, double value_factor, double factor, int64_t start, int64_t stop) {
    const int64_t D = odds.shape[1];
    const double scale = exp(-log_scale);
    auto sums = zeros<int64_t>(D + 1);
    const Vector<int64_t> slope = sums.slice(1, D + 1);
    const Array<double, 1> u(D), v(D);
    for (int64_t i = start; i < stop; ++i) {
        if (!in_bag[i]) continue;
        const int64_t y = label[i], f = response[i];
        const double w = weight[i] * scale;
        const auto c = cost[index[i]], o = odds[i], g = grown[f > 0][y];
        for (int64_t k = 0; k < D; ++k) {
            const double t = o[k] * g[k];
            v[k] = w * c[k] * log1p(t);
            u[k] = std::rint(w * c[k] * (t / (1.0 + t)) * factor);
        }
        u[y] = v[y] = 0.0;
        double value = 0.0;
        int64_t own = 0;
        for (int64_t k = 0; k < D; ++k) value += v[k];
        for (int64_t k = 0; k < D; ++k) {
            const int64_t share = static_cast<int64_t>(u[k]);
            slope[k] += f * share;
            own += share;
        }
        slope[y] -= f * own;
        sums[0] += whole(value * value_factor);
    }
    return sums;
}

} // namespace

Array<double, 2> logistic_gradients(Table cost, Codes index, Codes label, Numbers weight, Table scores,
                                    double log_scale, Matrix<double> gradient, Matrix<double> hessian,
                                    Vector<double> value, int64_t start, int64_t stop) {
    const int64_t D = scores.shape[1], height = rows_at_once(D);
    const double scale = exp(-log_scale);
    const bool everyone = all_count(cost, index, label, start, stop);
    const Array<double, 2> x(height, D);
    const Array<double, 1> behind(height), all_right(height), all_wrong(height);
    auto top = zeros<double>(3, D);
    const auto top_value = top[2];
    for (int64_t low = start; low < stop; low += height) {
        const int64_t high = std::min(low + height, stop);
        below_highest(cost, index, label, scores, low, high, everyone, x);
        for (int64_t i = low; i < high; ++i) { // what the true class's score is below the highest
            behind[i - low] = -x(i - low, label[i]);
        }
        exponentials(x.flat(), (high - low) * D);
        for (int64_t i = low; i < high; ++i) {
            const auto c = cost[index[i]];
            const auto z = x[i - low];
            all_right[i - low] = z[label[i]];
            for (int64_t k = 0; k < D; ++k) z[k] *= c[k];
            z[label[i]] = 0.0;
        }
        sums_of_rows(x, high - low, all_wrong);
        for (int64_t i = low; i < high; ++i) {
            const int64_t b = i - low, y = label[i];
            const double w = weight[i] * scale, right = all_right[b], wrong = all_wrong[b], total = wrong + right;
            const auto z = x[b], g = gradient[i], h = hessian[i];
            for (int64_t k = 0; k < D; ++k) {
                const double q = z[k] / total;
                g[k] = -w * q;
                h[k] = w * q * (1.0 - q);
            }
            g[y] = w * (wrong / total);
            h[y] = g[y] * (right / total);
            if (w * wrong > top_value[y] * right) { // else log(1 + wrong / right) <= wrong / right is no maximum
                const double loss = wrong < right ? log1p(wrong / right) : log(total) + behind[b];
                top_value[y] = std::max(top_value[y], w * loss);
            }
        }
        raise_tops(gradient, hessian, low, high, top);
    }
    logistic_values(cost, index, label, weight, scores, log_scale, gradient, value, start, stop);
    return top;
}

void define_guess_averse(nb::module_ &m) {
    m.def("exponential_gradients", &exponential_gradients, released());
    m.def("logistic_gradients", &logistic_gradients, released());
    m.def("softmax_value_and_gradient", &softmax_value_and_gradient, released());
    m.def("pair_gradients", &pair_gradients, released());
    m.def("exponential_along", &exponential_along, released());
    m.def("logistic_along", &logistic_along, released());
    m.def("pair_along", &pair_along, released());
    m.def("gather_sums", &gather_sums, released());
    m.def("sums_along", &sums_along, released());
    m.def("gather_shares", &gather_shares, released());
    m.def("shares_along", &shares_along, released());
    m.def("gather_pairs", &gather_pairs, released());
    m.def("pairs_along", &pairs_along, released());
    m.def("gradient_along", &gradient_along, released());
    m.def("pairwise_gradients", &pairwise_gradients, released());
    m.def("pair_sums", &pair_sums, released());
    m.def("fill_odds", &fill_odds, released());
    m.def("pair_slopes", &pair_slopes, released());
}

} // namespace minrisk
