#include "linear.hpp"

#include "binding.hpp"
#include "elementary.hpp"
#include "parts.hpp"

namespace minrisk {
namespace {

constexpr int64_t UNIFORM = 0, SLOPE = 1, CURVATURE = 2; // what a row weighs, as `DirectedRows.aim` says

// Return the bits of a number that is rounded to a whole one: ROUNDER_BITS more than that.
int64_t rounded_bits(double x) { return std::bit_cast<int64_t>(x + ROUNDER); }

// Compute push = -slope, pull = rho (the row's weight, its |slope| or its curvature); 0 out of the bag.
//
// Returns the maxima of |push| and pull.
Array<double, 1> aim(Matrix<const double> line, Vector<const double> weight, Vector<const bool> in_bag,
                     int64_t weighting, Matrix<double> push, Matrix<double> pull, int64_t start, int64_t stop) {
    auto top = zeros<double>(2);
    for (int64_t i = start; i < stop; ++i) {
        double u = 0.0, rho = 0.0;
        if (in_bag[i]) {
            u = -line(1, i);
            if (weighting == UNIFORM) {
                rho = weight[i];
            } else if (weighting == SLOPE) {
                rho = std::abs(u);
            } else {
                rho = std::max(line(2, i), 0.0); // a loss that is not convex may bend the other way
            }
        }
        push(i, 0) = u;
        pull(i, 0) = rho;
        top[0] = std::max(top[0], std::abs(u));
        top[1] = std::max(top[1], rho);
    }
    return top;
}

// Compute out[c] += sums of rho z, rho z^2 and u z over rows start..stop, z = Z[features[c]], in fixed point.
void linear_sums(Matrix<const double> Z, Vector<const int64_t> features, Matrix<const double> push,
                 Matrix<const double> pull, double push_factor, double pull_factor, Matrix<int64_t> out, int64_t start,
                 int64_t stop) {
    const int64_t count = stop - start;
    Array<double, 1> u(count), rho(count);
    for (int64_t i = 0; i < count; ++i) {
        u[i] = push(start + i, 0) * push_factor;
        rho[i] = pull(start + i, 0) * pull_factor;
    }
    for (int64_t c = 0; c < features.shape[0]; ++c) {
        const auto z = Z[features[c]].slice(start, stop);
        int64_t first = 0, square = 0, both = 0;
        for (int64_t i = 0; i < count; ++i) {
            const double r = rho[i] * z[i];
            first += rounded_bits(r);
            square += rounded_bits(r * z[i]);
            both += rounded_bits(u[i] * z[i]);
        }
        out(c, 0) += first - count * ROUNDER_BITS;
        out(c, 1) += square - count * ROUNDER_BITS;
        out(c, 2) += both - count * ROUNDER_BITS;
    }
}

// Compute out[c] = sums of rho, rho z, rho z^2, u z and u over the stored entries of features[c], c in first..last.
//
// The entries of feature j are those from offsets[j] to offsets[j + 1]; sums are in fixed point.
void stored_linear_sums(Vector<const int64_t> offsets, Vector<const int32_t> rows, Vector<const double> z,
                        Vector<const int64_t> features, Matrix<const double> push, Matrix<const double> pull,
                        double push_factor, double pull_factor, int64_t first, int64_t last, Matrix<int64_t> out) {
    for (int64_t c = first; c < last; ++c) {
        const int64_t begin = offsets[features[c]], end = offsets[features[c] + 1];
        int64_t weight = 0, level = 0, square = 0, both = 0, slope = 0;
        for (int64_t p = begin; p < end; ++p) {
            const double rho = pull(rows[p], 0) * pull_factor, u = push(rows[p], 0) * push_factor;
            const double r = rho * z[p];
            weight += rounded_bits(rho);
            level += rounded_bits(r);
            square += rounded_bits(r * z[p]);
            both += rounded_bits(u * z[p]);
            slope += rounded_bits(u);
        }
        const int64_t count = (end - begin) * ROUNDER_BITS;
        int64_t k = 0;
        for (int64_t sum : {weight, level, square, both, slope}) out(c, k++) = sum - count;
    }
}

// Return sums over the bag's rows of a line's value, slope and curvature, (3,), of PRODUCT_BITS at most.
Array<int64_t, 1> line_sums(Matrix<const double> line, Vector<const bool> in_bag, Vector<const double> factor,
                            int64_t start, int64_t stop) {
    Array<int64_t, 1> sums(3);
    for (int64_t c = 0; c < 3; ++c) {
        const auto values = line[c];
        const double f = factor[c];
        int64_t total = 0;
        for (int64_t i = start; i < stop; ++i) total += rounded_bits(in_bag[i] ? values[i] * f : 0.0);
        sums[c] = total - (stop - start) * ROUNDER_BITS;
    }
    return sums;
}

// Compute response = value + slope * (x - origin) of rows start..stop, value where x, their feature, is missing.
void line_response(Vector<const double> x, double slope, double origin, double value, Vector<double> response,
                   int64_t start, int64_t stop) {
    for (int64_t i = start; i < stop; ++i) {
        response[i] = slope != 0.0 ? value + change_along(x[i], slope, origin) : value;
    }
}

// -- Linear combinations of features ----------------------------------------------------------------------------------
// Compute out[i, c] = sum_j (X[i, j] - center[j]) * weights[j, c]; missing values add nothing.
//
// One feature after another, so that a row's values depend neither on its place nor on the other rows.
void project_rows(Matrix<const double> X, Vector<const double> center, Matrix<const double> weights,
                  Matrix<float> out) {
    const int64_t n_features = weights.shape[0], n_columns = weights.shape[1];
    Array<double, 1> sums(n_columns);
    double *__restrict to = sums.data;
    for (int64_t i = 0; i < out.shape[0]; ++i) {
        sums.fill(0.0);
        for (int64_t j = 0; j < n_features; ++j) {
            double x = X(i, j) - center[j];
            if (std::isnan(x)) continue;
            x = std::min(std::max(x, -FAR), FAR);
            const auto weight = weights[j];
            for (int64_t c = 0; c < n_columns; ++c) to[c] += x * weight[c];
        }
        for (int64_t c = 0; c < n_columns; ++c) out(i, c) = static_cast<float>(sums[c]);
    }
}

// -- Gaussian kernels -------------------------------------------------------------------------------------------------
// Fill out[c] with exp(-width sum_j ((x[j] - center[j]) / scale[j] - landmarks[j, c])^2); NaN is the center.
//
// Features of scale 0 are left out. One feature after another, so that a row's values depend on nothing else.
void near_landmarks(Vector<const double> x, Vector<const double> center, Vector<const double> scale,
                    Matrix<const double> landmarks, double width, Vector<double> out) {
    const int64_t d = landmarks.shape[0], m = landmarks.shape[1];
    double *__restrict to = out.data;
    out.fill(0.0);
    for (int64_t j = 0; j < d; ++j) {
        if (scale[j] == 0.0) continue;
        double z = (x[j] - center[j]) / scale[j];
        if (std::isnan(z)) z = 0.0;
        const auto landmark = landmarks[j];
        for (int64_t c = 0; c < m; ++c) {
            const double apart = z - landmark[c];
            to[c] += apart * apart;
        }
    }
    for (int64_t c = 0; c < m; ++c) out[c] = exponential(-width * out[c]);
}

// Return the kernels of every row, (n, m).
void kernel_matrix(Matrix<const double> X, Vector<const double> center, Vector<const double> scale,
                   Matrix<const double> landmarks, double width, Matrix<double> out) {
    for (int64_t i = 0; i < X.shape[0]; ++i) near_landmarks(X[i], center, scale, landmarks, width, out[i]);
}

// Compute scores[i] += sum_c kernel of row i and landmark c times vectors[c].
void add_smooth(Matrix<const double> X, Vector<const double> center, Vector<const double> scale,
                Matrix<const double> landmarks, double width, Matrix<const double> vectors, Matrix<double> scores) {
    const int64_t m = vectors.shape[0], D = vectors.shape[1];
    Array<double, 1> near(m);
    for (int64_t i = 0; i < X.shape[0]; ++i) {
        near_landmarks(X[i], center, scale, landmarks, width, near);
        double *__restrict out = scores[i].data;
        for (int64_t c = 0; c < m; ++c) {
            const auto vector = vectors[c];
            for (int64_t k = 0; k < D; ++k) out[k] += near[c] * vector[k];
        }
    }
}

// Compute out[i, k] = weight[i] ((k == label[i]) - p_k), with p the softmax of intercept + scores[i].
template <class Label>
void residuals(Matrix<const double> scores, Vector<const double> intercept, Vector<const Label> label,
               Vector<const double> weight, Matrix<double> out) {
    const int64_t n = scores.shape[0], K = scores.shape[1];
    for (int64_t i = 0; i < n; ++i) {
        const auto left = out[i];
        double top = -INFINITE, total = 0.0;
        for (int64_t k = 0; k < K; ++k) {
            left[k] = scores(i, k) + intercept[k];
            top = std::max(top, left[k]);
        }
        for (int64_t k = 0; k < K; ++k) {
            left[k] = exponential(left[k] - top);
            total += left[k];
        }
        for (int64_t k = 0; k < K; ++k) left[k] *= -weight[i] / total;
        left[label[i]] += weight[i];
    }
}

} // namespace

void define_linear(nb::module_ &m) {
    m.attr("UNIFORM") = UNIFORM;
    m.attr("SLOPE") = SLOPE;
    m.attr("CURVATURE") = CURVATURE;
    m.def("aim", &aim, released());
    m.def("linear_sums", &linear_sums, released());
    m.def("stored_linear_sums", &stored_linear_sums, released());
    m.def("line_sums", &line_sums, released());
    m.def("line_response", &line_response, released());
    m.def("project_rows", &project_rows, released());
    m.def("kernel_matrix", &kernel_matrix, released());
    m.def("add_smooth", &add_smooth, released());
    for_types<int32_t, int64_t>([&]<class T>(std::type_identity<T>) { m.def("residuals", &residuals<T>, released()); });
}

} // namespace minrisk
