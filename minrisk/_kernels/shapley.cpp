// Shapley values of trees, leaf by leaf, for some rows side by side.
//
// A leaf adds its vector times prod_f (o_f if f is known else z_f) over the features f on its path: o_f says whether
// the row meets all of the path's conditions on f, z_f is the share of the background's rows that go this way at the
// splits by f (Lundberg, Erion and Lee 2018, Algorithm 1). Where each feature is known with probability t, apart from
// the others, that is a polynomial of t,
//
//     F(t) = prod_f ((1 - t) z_f + t o_f),
//
// and the Shapley value of f is the integral over t from 0 to 1 of (o_f - z_f) F(t) / ((1 - t) z_f + t o_f) (Owen
// 1972). On m features its degree is m - 1, so that ceil(m / 2) points of Gauss and Legendre give it exactly. No term
// is subtracted from another, and o_f = 0 makes the factor -1 / (1 - t), the same for all features that are not met.
//
// An *entry* is a feature on the path to a leaf, with all conditions on it. Rows are told by their *codes*: of each
// feature, how many of the model's thresholds lie below the value; 0 where it is missing.
//
// Shapley values of sums of Gaussian kernels, each of which is a product of one factor for each feature.
#include <cmath>
#include <limits>

#include "binding.hpp"
#include "elementary.hpp"
#include "parts.hpp"

namespace minrisk {

// Where the entries of each leaf begin, and the entries: see `merge_paths`.
struct Paths {
    Vector<const int64_t> first_entry;
    Vector<const int32_t> feature, lowest, highest;
    Vector<const double> share;
    static constexpr auto members =
        std::tuple{&Paths::first_entry, &Paths::feature, &Paths::lowest, &Paths::highest, &Paths::share};
};

// Where the rule of each number of points begins, these points, and their weights.
struct Points {
    Vector<const int64_t> first;
    Vector<const double> point, weight;
    static constexpr auto members = std::tuple{&Points::first, &Points::point, &Points::weight};
};

// Where the entries of each tree and feature begin in what follows, their feature, their entries and these entries'
// leaves.
struct Groups {
    Vector<const int64_t> first_place;
    Vector<const int32_t> feature;
    Vector<const int64_t> entry, leaf;
    static constexpr auto members = std::tuple{&Groups::first_place, &Groups::feature, &Groups::entry, &Groups::leaf};
};

namespace {

constexpr int64_t ROWS_TOGETHER = 512; // of the background: their codes stay in cache while they go down a tree

// Compute count[node] = rows of `code` (n, d) that come to each node of trees first..last.
void count_rows(Matrix<const int32_t> code, Vector<const int32_t> feature, Vector<const int32_t> cut,
                Vector<const int32_t> left, Vector<const int64_t> offsets, int64_t first, int64_t last,
                Vector<int64_t> count) {
    for (int64_t low = 0; low < code.shape[0]; low += ROWS_TOGETHER) {
        const int64_t high = std::min(low + ROWS_TOGETHER, code.shape[0]);
        for (int64_t t = first; t < last; ++t) {
            for (int64_t i = low; i < high; ++i) {
                int64_t node = offsets[t];
                while (left[node] != node) node = left[node] + (code(i, feature[node]) > cut[node]);
                ++count[node];
            }
        }
    }
    for (int64_t t = first; t < last; ++t) {
        for (int64_t node = offsets[t + 1] - 1; node >= offsets[t]; --node) { // children come after their parents
            if (left[node] != node) count[node] = count[left[node]] + count[left[node] + 1];
        }
    }
}

// Write the entries of all leaves, one after another, and where those of each leaf begin; returns their number.
//
// Codes from `lowest` to `highest` meet an entry's conditions; `share` is its z. A split that no row of the background
// comes to divides evenly. With arrays of no entries they are counted only.
int64_t merge_paths(Vector<const int32_t> feature, Vector<const int32_t> cut, Vector<const int32_t> left,
                    Vector<const int64_t> offsets, Vector<const int64_t> count, Vector<int64_t> first_entry,
                    Vector<int32_t> entry_feature, Vector<int32_t> lowest, Vector<int32_t> highest,
                    Vector<double> share) {
    const Array<int64_t, 1> parent(left.shape[0]);
    const Array<int32_t, 1> at(cut.shape[0]); // of the leaf's features
    const bool writes = entry_feature.shape[0] > 0;
    int64_t n_entries = 0, n_leaves = 0;
    for (int64_t t = 0; t < offsets.shape[0] - 1; ++t) {
        const int64_t root = offsets[t];
        parent[root] = root;
        for (int64_t node = root; node < offsets[t + 1]; ++node) {
            if (left[node] != node) {
                parent[left[node]] = parent[left[node] + 1] = node;
                continue;
            }
            first_entry[n_leaves++] = n_entries;
            int64_t m = 0;
            for (int64_t below = node; below != root; below = parent[below]) {
                const int64_t above = parent[below];
                const int32_t f = feature[above];
                int64_t j = 0;
                while (j < m && at[j] != f) ++j;
                const int64_t e = n_entries + j;
                if (j == m) {
                    at[m++] = f;
                    if (writes) {
                        entry_feature[e] = f;
                        share[e] = 1.0;
                        lowest[e] = 0;
                        highest[e] = std::numeric_limits<int32_t>::max();
                    }
                }
                if (!writes) continue;
                if (below > left[above]) {
                    lowest[e] = std::max(lowest[e], cut[above] + 1);
                } else {
                    highest[e] = std::min(highest[e], cut[above]);
                }
                share[e] *=
                    count[above] > 0 ? static_cast<double>(count[below]) / static_cast<double>(count[above]) : 0.5;
            }
            n_entries += m;
        }
    }
    first_entry[n_leaves] = n_entries;
    return n_entries;
}

// Compute weight[e, r] = Shapley weights of the entries of some leaves, from 0, in the rows r of `code` (d, r).
//
// Entries are looked at by fours, of which some may be empty, and points by threes, of which some may not be needed: a
// pass through the rows does more.
void entry_weights(Matrix<const int32_t> code, const Paths &paths, const Points &points, int64_t first_leaf,
                   int64_t last_leaf, Matrix<double> product, Matrix<double> held, Vector<double> share,
                   Matrix<double> weight) {
    const int64_t n_rows = code.shape[1], before = paths.first_entry[first_leaf];
    for (int64_t leaf = first_leaf; leaf < last_leaf; ++leaf) {
        const int64_t start = paths.first_entry[leaf], m = paths.first_entry[leaf + 1] - start;
        const int64_t n_points = 3 * ((m + 5) / 6), p0 = points.first[n_points];
        const auto point = points.point.slice(p0, p0 + n_points);
        for (int64_t s = 0; s < m; ++s) {
            const int32_t low = paths.lowest[start + s], high = paths.highest[start + s];
            const auto own = code[paths.feature[start + s]];
            const auto holds = held[s];
            share[s] = paths.share[start + s];
            for (int64_t r = 0; r < n_rows; ++r) {
                const int32_t its = own[r];
                holds[r] = ((its >= low) & (its <= high)) ? 1.0 : 0.0;
            }
        }
        for (int64_t s = m; s % 4 != 0; ++s) {
            share[s] = 1.0;
            held[s].fill(1.0);
        }
        for (int64_t q = 0; q < n_points; ++q) {
            const double t = point[q], w = points.weight[p0 + q];
            const auto made = product[q];
            for (int64_t s = 0; s < m; s += 4) {
                const double a = share[s] * (1.0 - t), b = share[s + 1] * (1.0 - t);
                const double c = share[s + 2] * (1.0 - t), d = share[s + 3] * (1.0 - t);
                const auto of_a = held[s], of_b = held[s + 1], of_c = held[s + 2], of_d = held[s + 3];
                for (int64_t r = 0; r < n_rows; ++r) {
                    const double before_these = s == 0 ? w : made[r];
                    const double two = (a + of_a[r] * t) * (b + of_b[r] * t);
                    made[r] = before_these * (two * ((c + of_c[r] * t) * (d + of_d[r] * t)));
                }
            }
        }
        const auto missed = product[n_points]; // the weight of every entry whose conditions the row does not meet
        for (int64_t q = 0; q < n_points; q += 3) {
            const double a = 1.0 / (1.0 - point[q]), b = 1.0 / (1.0 - point[q + 1]), c = 1.0 / (1.0 - point[q + 2]);
            const auto of_a = product[q], of_b = product[q + 1], of_c = product[q + 2];
            for (int64_t r = 0; r < n_rows; ++r) {
                const double so_far = q == 0 ? 0.0 : missed[r];
                missed[r] = so_far - (a * of_a[r] + b * of_b[r] + c * of_c[r]);
            }
        }
        for (int64_t s = 0; s < m; ++s) {
            const double z = share[s];
            const auto made = weight[start + s - before], holds = held[s];
            for (int64_t q = 0; q < n_points; q += 3) {
                const double t = point[q], u = point[q + 1], v = point[q + 2];
                const double a = (1.0 - z) / (z * (1.0 - t) + t), b = (1.0 - z) / (z * (1.0 - u) + u);
                const double c = (1.0 - z) / (z * (1.0 - v) + v);
                const auto of_a = product[q], of_b = product[q + 1], of_c = product[q + 2];
                for (int64_t r = 0; r < n_rows; ++r) {
                    double so_far = q == 0 ? 0.0 : made[r];
                    so_far += a * of_a[r] + b * of_b[r] + c * of_c[r];
                    made[r] = holds[r] > 0.0 ? so_far : missed[r];
                }
            }
        }
    }
}

// Compute values[f, k, r] += weight[e, r] * vectors[leaf of e, k] over the entries e of each feature f.
//
// Entries are counted from `before` in `weight`.
void add_vectors(Matrix<const double> weight, const Groups &groups, int64_t first_group, int64_t last_group,
                 int64_t before, Matrix<const double> vectors, Cube<double> values) {
    const int64_t n_outputs = vectors.shape[1], n_rows = weight.shape[1];
    for (int64_t g = first_group; g < last_group; ++g) {
        const int64_t stop = groups.first_place[g + 1];
        const auto of_feature = values[groups.feature[g]];
        int64_t i = groups.first_place[g];
        for (; i + 4 <= stop; i += 4) {
            const auto a = weight[groups.entry[i] - before], b = weight[groups.entry[i + 1] - before];
            const auto c = weight[groups.entry[i + 2] - before], d = weight[groups.entry[i + 3] - before];
            const auto at_a = vectors[groups.leaf[i]], at_b = vectors[groups.leaf[i + 1]];
            const auto at_c = vectors[groups.leaf[i + 2]], at_d = vectors[groups.leaf[i + 3]];
            for (int64_t k = 0; k < n_outputs; ++k) {
                const double va = at_a[k], vb = at_b[k], vc = at_c[k], vd = at_d[k];
                const auto out = of_feature[k];
                for (int64_t r = 0; r < n_rows; ++r) out[r] += a[r] * va + b[r] * vb + c[r] * vc + d[r] * vd;
            }
        }
        for (; i < stop; ++i) {
            const auto a = weight[groups.entry[i] - before], at_a = vectors[groups.leaf[i]];
            for (int64_t k = 0; k < n_outputs; ++k) {
                const double va = at_a[k];
                const auto out = of_feature[k];
                for (int64_t r = 0; r < n_rows; ++r) out[r] += a[r] * va;
            }
        }
    }
}

// Add weight[e, r] * <vectors[leaf of e], direction[:, r]> to values[f, 0, r], over each feature's entries e.
void add_products(Matrix<const double> weight, const Paths &paths, int64_t first_leaf, int64_t last_leaf,
                  Matrix<const double> vectors, Matrix<const double> direction, Vector<double> product,
                  Cube<double> values) {
    const int64_t n_rows = weight.shape[1], before = paths.first_entry[first_leaf];
    for (int64_t leaf = first_leaf; leaf < last_leaf; ++leaf) {
        product.fill(0.0);
        for (int64_t k = 0; k < vectors.shape[1]; ++k) {
            const double v = vectors(leaf, k);
            const auto along = direction[k];
            for (int64_t r = 0; r < n_rows; ++r) product[r] += v * along[r];
        }
        for (int64_t e = paths.first_entry[leaf]; e < paths.first_entry[leaf + 1]; ++e) {
            const auto own = weight[e - before];
            const auto out = values[paths.feature[e]][0];
            for (int64_t r = 0; r < n_rows; ++r) out[r] += own[r] * product[r];
        }
    }
}

// Add the Shapley values of all trees to `values` (d, D, r): of all outputs, or with a `direction` of one.
//
// Without a direction, which then has no rows, each output has its own values; else they are those of the products of
// the outputs and ``direction[:, r]``, and D is 1.
void add_shapley_values(Matrix<const int32_t> code, const Paths &paths, const Points &points, const Groups &groups,
                        Vector<const int64_t> tree_leaves, Vector<const int64_t> tree_groups, int64_t most_entries,
                        Matrix<const double> vectors, Matrix<const double> direction, Cube<double> values) {
    const int64_t n_rows = code.shape[1], most_points = points.first.shape[0] - 1;
    const Array<double, 2> product(most_points + 1, n_rows), held(2 * most_points + 4, n_rows);
    const Array<double, 2> weight(most_entries, n_rows);
    const Array<double, 1> share(2 * most_points + 4);
    for (int64_t t = 0; t < tree_leaves.shape[0] - 1; ++t) {
        const int64_t low = tree_leaves[t], high = tree_leaves[t + 1];
        entry_weights(code, paths, points, low, high, product, held, share, weight);
        if (direction.shape[0] == 0) {
            add_vectors(weight, groups, tree_groups[t], tree_groups[t + 1], paths.first_entry[low], vectors, values);
        } else {
            add_products(weight, paths, low, high, vectors, direction, product[0], values);
        }
    }
}

// Add to scores[i] what trees answer on average where only the features of `known` (d,) are known; rows (d, n).
void expected_scores(Matrix<const int32_t> code, Vector<const bool> known, const Paths &paths,
                     Matrix<const double> vectors, Matrix<double> scores) {
    for (int64_t i = 0; i < code.shape[1]; ++i) {
        for (int64_t leaf = 0; leaf < paths.first_entry.shape[0] - 1; ++leaf) {
            double reached = 1.0;
            for (int64_t e = paths.first_entry[leaf]; e < paths.first_entry[leaf + 1]; ++e) {
                const int64_t f = paths.feature[e];
                if (!known[f]) {
                    reached *= paths.share[e];
                } else if (code(f, i) < paths.lowest[e] || code(f, i) > paths.highest[e]) {
                    reached = 0.0;
                    break;
                }
            }
            if (reached > 0.0) {
                for (int64_t k = 0; k < vectors.shape[1]; ++k) scores(i, k) += reached * vectors(leaf, k);
            }
        }
    }
}

// -- Gaussian kernels -------------------------------------------------------------------------------------------------

// Return a feature's factor; missing values are the center, as in lines.
double factor(double x, double center, double scale, double landmark, double width) {
    const double z = (x - center) / scale;
    const double apart = (z == z ? z : 0.0) - landmark;
    return exponential(-width * (apart * apart));
}

// Add to out[j, c] the sum over these of n rows of feature j's factor for landmark c, over n, or 0 if left out.
void add_factors(Matrix<const double> X, Vector<const double> center, Vector<const double> scale,
                 Matrix<const double> landmarks, double width, int64_t n, Matrix<double> out) {
    for (int64_t i = 0; i < X.shape[0]; ++i) {
        for (int64_t j = 0; j < landmarks.shape[0]; ++j) {
            if (!(scale[j] > 0.0)) continue;
            for (int64_t c = 0; c < landmarks.shape[1]; ++c)
                out(j, c) += factor(X(i, j), center[j], scale[j], landmarks(j, c), width) / static_cast<double>(n);
        }
    }
}

// Add to values[i, j, k] the Shapley values of feature j in all kernels c, times vectors[c, k].
//
// The kernel of a coalition is the product of the factors of its features and the `mean` factors of the others. The
// Shapley value of j is the integral over t of (o_j - z_j) prod_g ((1 - t) z_g + t o_g) over the other features g, as
// for trees.
void add_smooth_shapley_values(Matrix<const double> X, Vector<const double> center, Vector<const double> scale,
                               Matrix<const double> landmarks, double width, Matrix<const double> mean,
                               Vector<const double> point, Vector<const double> point_weight,
                               Matrix<const double> vectors, Cube<double> values) {
    const int64_t d = landmarks.shape[0], m = landmarks.shape[1], n_points = point.shape[0];
    const Array<double, 2> own(d, m), product(n_points, m);
    for (int64_t i = 0; i < X.shape[0]; ++i) {
        for (int64_t q = 0; q < n_points; ++q) product[q].fill(point_weight[q]);
        for (int64_t j = 0; j < d; ++j) {
            if (scale[j] == 0.0) continue;
            const auto o = own[j];
            const auto z = mean[j];
            for (int64_t c = 0; c < m; ++c) o[c] = factor(X(i, j), center[j], scale[j], landmarks(j, c), width);
            for (int64_t q = 0; q < n_points; ++q) {
                const double t = point[q];
                const auto made = product[q];
                for (int64_t c = 0; c < m; ++c) made[c] *= (1.0 - t) * z[c] + t * o[c];
            }
        }
        for (int64_t j = 0; j < d; ++j) {
            if (scale[j] == 0.0) continue;
            const auto out = values[i][j];
            for (int64_t c = 0; c < m; ++c) {
                const double o = own(j, c), z = mean(j, c), apart = o - z;
                if (apart == 0.0) continue;
                double weight = 0.0;
                for (int64_t q = 0; q < n_points; ++q) {
                    const double t = point[q];
                    const double between = (1.0 - t) * z + t * o;
                    // If it is 0, products without it vanish as well, to float64.
                    if (between > 0.0) weight += product(q, c) / between;
                }
                weight *= apart;
                for (int64_t k = 0; k < out.shape[0]; ++k) out[k] += weight * vectors(c, k);
            }
        }
    }
}

} // namespace

void define_shapley(nb::module_ &m) {
    m.def("count_rows", &count_rows, released());
    m.def("merge_paths", &merge_paths, released());
    m.def("add_shapley_values", &add_shapley_values, released());
    m.def("expected_scores", &expected_scores, released());
    m.def("add_factors", &add_factors, released());
    m.def("add_smooth_shapley_values", &add_smooth_shapley_values, released());
}

} // namespace minrisk
