#include "scores.hpp"

#include <cmath>

#include "binding.hpp"
#include "elementary.hpp"
#include "numbers.hpp"
#include "parts.hpp"
#include "predict.hpp"

namespace minrisk {
namespace {

constexpr int64_t SCORED_ROWS = 256;     // rows that walk a tree together: they and the tree stay within the
                                         // cache
constexpr int64_t SCORED_BINS = 1 << 18; // of rows that walk many trees together, one tree after another
constexpr int64_t SUMMED_ROWS = 4096;    // rows whose sums stay within the cache while all trees add to them
constexpr int64_t JOINT_ROWS = 512; // rows whose scores or gradients stay within the cache from one group to the next

// Nodes of trees on bins, one tree after another; a leaf's left child is itself.
struct Nodes {
    Vector<const int32_t> feature, bin, left;
};

// Fill words[root + i] with the nodes of the tree whose first is number `root` and whose nodes are n.
void pack_nodes(const Nodes &nodes, int64_t root, int64_t n, Vector<int64_t> words) {
    for (int64_t i = root; i < root + n; ++i) {
        const int64_t feature = nodes.feature[i];
        words[i] = (root + nodes.left[i]) << Node<int64_t>::LEFT_SHIFT | feature << NODE_BIN_BITS | nodes.bin[i];
    }
}

// Compute leaf[i] = leaf of row low + i in one tree; codes are the bins (d, n) one feature after another.
void walk_rows(Vector<const uint8_t> codes, int64_t low, int64_t n, Vector<const int64_t> words, int64_t root,
               int64_t n_rows, Vector<int64_t> leaf) {
    for (int64_t i = 0; i < n_rows; ++i) leaf[i] = root;
    walk_on(codes, low, n, words, n_rows, leaf);
}

// Compute scores += response * vector.
template <class Response>
void add_response(Matrix<double> scores, Vector<const Response> response, Vector<const double> vector, int64_t start,
                  int64_t stop) {
    for (int64_t i = start; i < stop; ++i) {
        const double f = response[i];
        for (int64_t k = 0; k < scores.shape[1]; ++k) scores(i, k) += f * vector[k];
    }
}

// Fill response[i] and leaf[i] with value and vector of the leaf that row i falls into.
template <class Response>
void tree_response(Matrix<const uint8_t> X_binned, Vector<const int32_t> feature, Vector<const int32_t> bin,
                   Vector<const int32_t> left, Vector<const double> value, Vector<const int32_t> vector,
                   Vector<Response> response, Vector<int32_t> leaf, int64_t start, int64_t stop) {
    const Array<int64_t, 1> words(left.shape[0]), node(SCORED_ROWS);
    pack_nodes({feature, bin, left}, 0, left.shape[0], words);
    for (int64_t low = start; low < stop; low += SCORED_ROWS) {
        const int64_t high = std::min(stop, low + SCORED_ROWS);
        walk_rows(X_binned.flat(), low, X_binned.shape[1], words, 0, high - low, node);
        for (int64_t i = low; i < high; ++i) {
            response[i] = static_cast<Response>(value[node[i - low]]);
            leaf[i] = vector[node[i - low]];
        }
    }
}

// Fill leaf[i] with the number of the leaf that row i falls into, of rows whose leaf is below 0.
void number_others(Matrix<const uint8_t> X_binned, Vector<const int32_t> feature, Vector<const int32_t> bin,
                   Vector<const int32_t> left, Vector<const int32_t> number, Vector<int32_t> leaf, int64_t start,
                   int64_t stop) {
    const Array<int64_t, 1> words(left.shape[0]), node(SCORED_ROWS), row(SCORED_ROWS + 1);
    pack_nodes({feature, bin, left}, 0, left.shape[0], words);
    for (int64_t i = start; i < stop;) {
        int64_t n = 0;
        for (; i < stop && n < SCORED_ROWS; ++i) { // without branches on the data
            row[n] = i;
            n += leaf[i] < 0;
        }
        node.slice(0, n).fill(0);
        walk_by<int64_t, int64_t>([&](int64_t c, int64_t column) { return X_binned(column, row[c]); }, words, n, node);
        for (int64_t c = 0; c < n; ++c) leaf[row[c]] = number[node[c]];
    }
}

// Compute scores += value * vectors[vector] of the row's leaf in each tree; the trees' columns one after another.
//
// `n_nodes` and `n_vectors` of each tree. As many rows at a time as have bins that stay in the cache: every tree is
// then brought there for many rows.
void add_binned_trees(Matrix<const uint8_t> X_binned, Vector<const int32_t> feature, Vector<const int32_t> bin,
                      Vector<const int32_t> left, Vector<const double> value, Vector<const int32_t> vector,
                      Vector<const int64_t> n_nodes, Matrix<const double> vectors, Vector<const int64_t> n_vectors,
                      Matrix<double> scores, int64_t start, int64_t stop) {
    const int64_t height = std::max(SCORED_ROWS, SCORED_BINS / std::max<int64_t>(1, X_binned.shape[0]));
    const Array<int64_t, 1> words(left.shape[0]), leaf(height);
    int64_t first = 0;
    for (int64_t t = 0; t < n_nodes.shape[0]; ++t) {
        pack_nodes({feature, bin, left}, first, n_nodes[t], words);
        first += n_nodes[t];
    }
    for (int64_t low = start; low < stop; low += height) {
        const int64_t high = std::min(stop, low + height);
        int64_t root = 0, base = 0;
        for (int64_t t = 0; t < n_nodes.shape[0]; ++t) {
            walk_rows(X_binned.flat(), low, X_binned.shape[1], words, root, high - low, leaf);
            for (int64_t i = low; i < high; ++i) {
                const int64_t node = leaf[i - low];
                const double f = value[node];
                const auto v = vectors[base + vector[node]];
                for (int64_t k = 0; k < scores.shape[1]; ++k) scores(i, k) += f * v[k];
            }
            root += n_nodes[t];
            base += n_vectors[t];
        }
    }
}

// Move each row to a child of its leaf: child[l] for bins up to bin[l] (f = -sign[l]), child[l] + 1 above.
//
// Above, f = sign[l]. A leaf with feature[l] < 0 is not split: its rows go to child[l] with f = sign[l].
void split_leaves(Matrix<const uint8_t> X_binned, Vector<const int64_t> feature, Vector<const int64_t> bin,
                  Vector<const int64_t> child, Vector<const int64_t> sign, Vector<int32_t> leaf,
                  Vector<int8_t> response, int64_t start, int64_t stop) {
    for (int64_t i = start; i < stop; ++i) {
        const int64_t node = leaf[i];
        const bool splits = feature[node] >= 0, above = splits && X_binned(feature[node], i) > bin[node];
        leaf[i] = static_cast<int32_t>(child[node] + above);
        response[i] = static_cast<int8_t>(splits && !above ? -sign[node] : sign[node]);
    }
}

// Sum over rows of weight * cost of the decision with the largest score (the first one on ties), in fixed point.
int64_t decision_costs(Matrix<const double> scores, Matrix<const double> cost, Vector<const int32_t> index,
                       Vector<const double> weight, double factor, int64_t start, int64_t stop) {
    int64_t total = 0;
    for (int64_t i = start; i < stop; ++i) {
        const auto s = scores[i];
        int64_t best = 0;
        for (int64_t k = 1; k < s.shape[0]; ++k) {
            if (s[k] > s[best]) best = k;
        }
        total += whole(weight[i] * cost(index[i], best) * factor);
    }
    return total;
}

// Compute a = atanh(E / (T + 2 ridge)) cut at `largest`, entry by entry, and the sum of T cosh a - E sinh a.
std::tuple<Array<double, 2>, double> closed_form(Matrix<const double> gradient, Matrix<const double> hessian,
                                                 Vector<const double> ridge, double largest) {
    Array<double, 2> vectors(gradient.shape[0], gradient.shape[1]);
    double value = 0.0;
    for (int64_t leaf = 0; leaf < gradient.shape[0]; ++leaf) {
        for (int64_t k = 0; k < gradient.shape[1]; ++k) {
            const double edge = gradient(leaf, k), mass = hessian(leaf, k);
            const double room = mass + 2.0 * ridge[k];
            const double ratio = room > 0.0 ? std::clamp(edge / room, -1.0, 1.0) : 0.0;
            const double a = std::clamp(atanh(ratio), -largest, largest);
            vectors(leaf, k) = a;
            const double grown = exponential(a);
            value += 0.5 * ((mass - edge) * grown + (mass + edge) / grown);
        }
    }
    return {std::move(vectors), value};
}

// -- Responses of many learners ---------------------------------------------------------------------------------------

// Compute out[g] = how many joint responses group g would have with this learner in it.
void joint_counts(Matrix<const uint8_t> codes, Vector<const int8_t> response, Vector<int64_t> out) {
    std::array<bool, 2 * 256> seen;
    for (int64_t g = 0; g < codes.shape[0]; ++g) {
        seen.fill(false);
        const auto own = codes[g];
        for (int64_t i = 0; i < own.shape[0]; ++i) seen[2 * int64_t(own[i]) + (response[i] > 0)] = true;
        out[g] = std::count(seen.begin(), seen.end(), true);
    }
}

// Compute scores[i] += tables[g, codes[g, i]] for all groups, rows start..stop.
void add_joint(Matrix<const uint8_t> codes, Cube<const double> tables, Matrix<double> scores, int64_t start,
               int64_t stop) {
    for (int64_t low = start; low < stop; low += JOINT_ROWS) {
        const int64_t high = std::min(low + JOINT_ROWS, stop);
        for (int64_t g = 0; g < codes.shape[0]; ++g) {
            const auto table = tables[g];
            for (int64_t i = low; i < high; ++i) {
                const auto row = table[codes(g, i)];
                for (int64_t k = 0; k < row.shape[0]; ++k) scores(i, k) += row[k];
            }
        }
    }
}

// Add rint(values[i] * factor) to sums[g, codes[g, i]] for all groups, of the bag's rows of start..stop.
void sum_joint(Matrix<const uint8_t> codes, Matrix<const double> values, Vector<const bool> in_bag,
               Vector<const double> factor, Cube<double> sums, int64_t start, int64_t stop) {
    const int64_t D = values.shape[1];
    const Array<double, 2> rounded(JOINT_ROWS, D);
    for (int64_t low = start; low < stop; low += JOINT_ROWS) {
        const int64_t high = std::min(low + JOINT_ROWS, stop);
        for (int64_t i = low; i < high; ++i) {
            for (int64_t k = 0; k < D; ++k) rounded(i - low, k) = in_bag[i] ? std::rint(values(i, k) * factor[k]) : 0.0;
        }
        for (int64_t g = 0; g < codes.shape[0]; ++g) {
            const auto table = sums[g];
            for (int64_t i = low; i < high; ++i) {
                const auto row = table[codes(g, i)];
                for (int64_t k = 0; k < D; ++k) row[k] += rounded(i - low, k);
            }
        }
    }
}

// -- Leaf vectors that are fitted all at once -------------------------------------------------------------------------

// Fill out(t, i) with the number of the vector that row i gets in tree t; the trees' nodes one after another.
template <class Leaf>
void leaf_vectors(Matrix<const uint8_t> X_binned, Vector<const int32_t> feature, Vector<const int32_t> bin,
                  Vector<const int32_t> left, Vector<const int32_t> vector, Vector<const int64_t> n_nodes,
                  Matrix<Leaf> out) {
    const int64_t n_rows = X_binned.shape[1], height = std::max(SCORED_ROWS, SCORED_BINS / X_binned.shape[0]);
    const Array<int64_t, 1> words(left.shape[0]), leaf(height);
    int64_t first = 0;
    for (int64_t t = 0; t < n_nodes.shape[0]; ++t) {
        pack_nodes({feature, bin, left}, first, n_nodes[t], words);
        first += n_nodes[t];
    }
    for (int64_t low = 0; low < n_rows; low += height) {
        const int64_t high = std::min(n_rows, low + height);
        int64_t root = 0;
        for (int64_t t = 0; t < n_nodes.shape[0]; ++t) {
            walk_rows(X_binned.flat(), low, n_rows, words, root, high - low, leaf);
            for (int64_t i = low; i < high; ++i) out(t, i) = static_cast<Leaf>(vector[leaf[i - low]]);
            root += n_nodes[t];
        }
    }
}

// Compute out[i] += the sum of vectors[first[t] + leaf(t, i)] over the trees t, rows start..stop.
template <class Leaf>
void add_vectors(Matrix<const Leaf> leaf, Vector<const int64_t> first, Matrix<const float> vectors, Matrix<float> out,
                 int64_t start, int64_t stop) {
    for_width(out.shape[1], [&](const auto width) {
        for (int64_t low = start; low < stop; low += SUMMED_ROWS) {
            const int64_t high = std::min(stop, low + SUMMED_ROWS);
            for (int64_t t = 0; t < leaf.shape[0]; ++t) {
                const auto own = leaf[t];
                for (int64_t i = low; i < high; ++i) {
                    const auto vector = vectors[first[t] + own[i]], sum = out[i];
                    for (int64_t k = 0; k < width; ++k) sum[k] += vector[k];
                }
            }
        }
    });
}

// Compute out[first[t] + l] = unit * the sum of the values of the rows in leaf l of tree t, for trees start..stop.
//
// Values are whole numbers, whose sums are exact in float64 in any order of the rows; the unit is a power of two.
template <class Leaf>
void sum_by_leaf(Matrix<const Leaf> leaf, Vector<const int64_t> first, Matrix<const float> values, double unit,
                 Matrix<float> out, int64_t start, int64_t stop) {
    int64_t most = 0;
    for (int64_t t = start; t < stop; ++t) most = std::max(most, first[t + 1] - first[t]);
    const Array<double, 2> sums(most, out.shape[1]);
    for_width(out.shape[1], [&](const auto width) {
        for (int64_t t = start; t < stop; ++t) {
            const auto own = leaf[t];
            const int64_t n_leaves = first[t + 1] - first[t];
            sums.slice(0, n_leaves).fill(0.0);
            for (int64_t i = 0; i < own.shape[0]; ++i) {
                const auto value = values[i];
                const auto sum = sums[own[i]];
                for (int64_t k = 0; k < width; ++k) sum[k] += value[k];
            }
            for (int64_t l = 0; l < n_leaves; ++l) {
                for (int64_t k = 0; k < width; ++k) out(first[t] + l, k) = static_cast<float>(unit * sums(l, k));
            }
        }
    });
}

// Return the scalar product of each column.
Array<double, 1> column_dots(Matrix<const float> a, Matrix<const float> b) {
    auto sum = zeros<double>(a.shape[1]);
    for (int64_t l = 0; l < a.shape[0]; ++l) {
        for (int64_t k = 0; k < a.shape[1]; ++k) sum[k] += static_cast<double>(a(l, k)) * b(l, k);
    }
    return sum;
}

// Go far[k] along a direction, along which the slope bends by `push`: vectors and what is left of the slope.
//
// Returns the sum of residual^2 / room of each column afterwards.
Array<double, 1> go_along(Matrix<float> vectors, Matrix<float> residual, Matrix<const float> direction,
                          Matrix<const float> push, Matrix<const float> room, Vector<const float> far) {
    auto sum = zeros<double>(vectors.shape[1]);
    for (int64_t l = 0; l < vectors.shape[0]; ++l) {
        for (int64_t k = 0; k < vectors.shape[1]; ++k) {
            vectors(l, k) += far[k] * direction(l, k);
            const float left = residual(l, k) - far[k] * push(l, k);
            residual(l, k) = left;
            sum[k] += static_cast<double>(left) * left / room(l, 0);
        }
    }
    return sum;
}

// Compute direction = residual / room + turn * direction.
void turn_direction(Matrix<float> direction, Matrix<const float> residual, Matrix<const float> room,
                    Vector<const float> turn) {
    for (int64_t l = 0; l < direction.shape[0]; ++l) {
        for (int64_t k = 0; k < direction.shape[1]; ++k) {
            direction(l, k) = residual(l, k) / room(l, 0) + turn[k] * direction(l, k);
        }
    }
}

} // namespace

void add_leaf_vectors(Matrix<double> scores, Vector<const int32_t> leaf, Matrix<const double> vectors, int64_t start,
                      int64_t stop) {
    for_width(scores.shape[1], [&](auto n_columns) {
        scores.shape[1] = vectors.shape[1] = n_columns;
        for (int64_t i = start; i < stop; ++i) {
            const auto v = vectors[leaf[i]];
            for (int64_t k = 0; k < n_columns; ++k) scores(i, k) += v[k];
        }
    });
}

void leaf_numbers(Vector<const int32_t> order, Vector<const int64_t> start, Vector<const int64_t> end,
                  Vector<int32_t> leaf) {
    for (int64_t number = 0; number < start.shape[0]; ++number) {
        for (int64_t i = start[number]; i < end[number]; ++i) leaf[order[i]] = static_cast<int32_t>(number);
    }
}

std::tuple<Array<double, 1>, Array<double, 1>, Array<int32_t, 1>, Array<double, 1>>
tree_columns(Vector<const int32_t> feature, Vector<const int32_t> bins, Vector<const int32_t> left,
             Vector<const double> gain, Vector<const int64_t> node, Vector<const int64_t> first,
             Vector<const double> thresholds, double fall) {
    const int64_t n_nodes = feature.shape[0];
    Array<double, 1> threshold(n_nodes), value(n_nodes), share(n_nodes);
    auto vector = zeros<int32_t>(n_nodes);
    double sum = 1e-300;
    for (int64_t i = 0; i < n_nodes; ++i) sum += gain[i];
    for (int64_t i = 0; i < n_nodes; ++i) {
        const bool leaf = left[i] == i;
        threshold[i] = leaf ? INFINITE : thresholds[first[feature[i]] + bins[i]];
        value[i] = leaf ? 1.0 : 0.0;
        share[i] = gain[i] * (fall / sum);
    }
    for (int64_t number = 0; number < node.shape[0]; ++number) vector[node[number]] = static_cast<int32_t>(number);
    return {std::move(threshold), std::move(value), std::move(vector), std::move(share)};
}

std::tuple<Array<double, 2>, double> newton(Matrix<const double> gradient, Matrix<const double> hessian,
                                            Vector<const double> whole, double smoothing, double shrinkage,
                                            double largest) {
    Array<double, 2> vectors(gradient.shape[0], gradient.shape[1]);
    double fall = 0.0;
    for (int64_t leaf = 0; leaf < gradient.shape[0]; ++leaf) {
        for (int64_t k = 0; k < gradient.shape[1]; ++k) {
            const double slope = gradient(leaf, k), curvature = hessian(leaf, k);
            const double room = curvature + smoothing * whole[k];
            const double step = room > 0.0 ? slope / room * shrinkage : 0.0;
            const double a = std::min(std::max(step, -largest), largest);
            vectors(leaf, k) = a;
            fall += slope * a - 0.5 * curvature * a * a;
        }
    }
    return {std::move(vectors), fall};
}

void define_scores(nb::module_ &m) {
    for_types<int8_t, double>([&]<class T>(std::type_identity<T>) {
        m.def("add_response", &add_response<T>, released());
        m.def("tree_response", &tree_response<T>, released());
    });
    m.def("add_leaf_vectors", &add_leaf_vectors, released());
    m.def("add_binned_trees", &add_binned_trees, released());
    m.def("split_leaves", &split_leaves, released());
    m.def("decision_costs", &decision_costs, released());
    m.def("leaf_numbers", &leaf_numbers, released());
    m.def("number_others", &number_others, released());
    m.def("tree_columns", &tree_columns, released());
    m.def("closed_form", &closed_form, released());
    m.def("newton", &newton, released());
    m.def("joint_counts", &joint_counts, released());
    m.def("add_joint", &add_joint, released());
    m.def("sum_joint", &sum_joint, released());
    m.def("column_dots", &column_dots, released());
    m.def("go_along", &go_along, released());
    m.def("turn_direction", &turn_direction, released());
    for_types<uint16_t, uint32_t>([&]<class Leaf>(std::type_identity<Leaf>) {
        m.def("leaf_vectors", &leaf_vectors<Leaf>, released());
        m.def("add_vectors", &add_vectors<Leaf>, released());
        m.def("sum_by_leaf", &sum_by_leaf<Leaf>, released());
    });
}

} // namespace minrisk
