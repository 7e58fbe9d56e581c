// Whole rounds on few rows: tree, Newton's leaf vectors, new scores, new gradients, several rounds in one call.
//
// They call the kernels that the parts of a round call, in their order, so they make the same numbers; what is saved is
// the way from Python into fifteen kernels and back, which on a few hundred rows takes longer than the kernels do.
// How a tree is grown and how far a step goes is a `rule`: see `minrisk.rows.base.RoundRule`.
#include <cmath>
#include <optional>

#include <nanobind/stl/optional.h>

#include "binding.hpp"
#include "elementary.hpp"
#include "fixed.hpp"
#include "grow.hpp"
#include "guess_averse.hpp"
#include "histogram.hpp"
#include "numbers.hpp"
#include "parts.hpp"
#include "scores.hpp"

namespace minrisk {

// The rows, and which of them are learnt from; no round changes them.
struct TrainingRows {
    Matrix<const uint8_t> X_binned;
    Vector<const int64_t> n_bins;
    Matrix<const double> cost;
    Vector<const int32_t> row; // of the cost table
    Vector<const int32_t> label;
    Vector<const double> weight;
    Vector<const bool> in_bag;
    Matrix<const int64_t> parts;    // (2, 2): the rows before those left out and the rows behind them, from..to
    Vector<const int32_t> everyone; // of these
    int64_t sum_bits;
    static constexpr auto members =
        std::tuple{&TrainingRows::X_binned, &TrainingRows::n_bins,  &TrainingRows::cost,   &TrainingRows::row,
                   &TrainingRows::label,    &TrainingRows::weight,  &TrainingRows::in_bag, &TrainingRows::parts,
                   &TrainingRows::everyone, &TrainingRows::sum_bits};
};

// What follows the rounds: the rows' scores, gradients and leaves, and the columns' maxima and sums.
struct State {
    Matrix<double> scores;
    Matrix<double> gradient; // minus the loss's, as in `losses.cpp`
    Matrix<double> hessian;  // its diagonal
    Vector<double> of_rows;  // the rows' losses
    Vector<int32_t> leaf;
    Matrix<double> top; // (3, D): of |gradient|, Hessian and value
    Vector<double> value;
    Vector<double> whole_hessian;
    static constexpr auto members =
        std::tuple{&State::scores, &State::gradient, &State::hessian, &State::of_rows,
                   &State::leaf,   &State::top,      &State::value,   &State::whole_hessian};
};

// Memory that every round fills again, and the index of sparse features.
struct Space {
    Matrix<int64_t> columns;
    Matrix<double> sketch;
    Lists lists;
    Vector<int32_t> order;
    Vector<int32_t> spare;
    GrowthState tree;
    static constexpr auto members =
        std::tuple{&Space::columns, &Space::sketch, &Space::lists, &Space::order, &Space::spare, &Space::tree};
};

// How far a tree grows.
struct GrowthRule {
    int64_t max_leaves;
    int64_t max_depth;
    int64_t min_leaf;              // rows
    int64_t n_drawn;               // features looked at in each node, drawn anew for every node
    std::optional<int64_t> n_rows; // whole rounds look at all rows, of any share of the Hessian
    double min_share;
    bool random; // of each feature one threshold is looked at, which is drawn
    static constexpr auto members =
        std::tuple{&GrowthRule::max_leaves, &GrowthRule::max_depth, &GrowthRule::min_leaf, &GrowthRule::n_drawn,
                   &GrowthRule::n_rows,     &GrowthRule::min_share, &GrowthRule::random};
};

// A round of the loss "gll", with a vector tree whose leaves take a Newton step.
struct RoundRule {
    Vector<const int64_t> features; // that the tree may use
    GrowthRule growth;
    int64_t sketch;                        // random combinations of the gradients; 0: splits are chosen by all of them
    int64_t trials;                        // draws of sketches and features before it is said that nothing can be split
    Vector<const double> thresholds;       // of all features one after another
    Vector<const int64_t> first_threshold; // of each feature
    double newton_smoothing;               // see `minrisk.steps.leaf_vectors`
    double largest;                        // step
    double smoothing;                      // relative to what can still be lost
    double learning_rate;
    double stalled; // share of the loss that a step must take away
    static constexpr auto members = std::tuple{
        &RoundRule::features,   &RoundRule::growth,          &RoundRule::sketch,           &RoundRule::trials,
        &RoundRule::thresholds, &RoundRule::first_threshold, &RoundRule::newton_smoothing, &RoundRule::largest,
        &RoundRule::smoothing,  &RoundRule::learning_rate,   &RoundRule::stalled};
};

namespace {

// Fill the columns with a sketch of this seed; returns what a unit of each is worth, and the ridge.
std::tuple<Array<double, 1>, Array<double, 1>> sketched_columns(const TrainingRows &given, const State &state,
                                                                const RoundRule &rule, const Space &space,
                                                                Vector<const double> ridge, int64_t seed) {
    const auto parts = given.parts;
    auto [directions, weight, shared] = draw_directions(state.whole_hessian, ridge, rule.sketch, seed);
    const auto top = zeros<double>(rule.sketch + 1);
    for (int64_t p = 0; p < 2; ++p) {
        const auto some =
            project(state.gradient, state.hessian, directions, weight, space.sketch, parts(p, 0), parts(p, 1));
        for (int64_t c = 0; c < rule.sketch + 1; ++c) top[c] = std::max(top[c], some[c]);
    }
    Array<double, 1> factor;
    for (int64_t p = 0; p < 2; ++p)
        factor = fix_sketch(space.sketch, top, given.sum_bits, COUNT_BITS, space.columns, parts(p, 0), parts(p, 1));
    return {std::move(factor), std::move(shared)};
}

// Fill the columns with all gradients, all Hessians and counts; returns what a unit of each is worth.
Array<double, 1> all_columns(const TrainingRows &given, const State &state, const Space &space) {
    const int64_t D = state.scores.shape[1];
    const auto gradient_factor = fixed_factors(state.top[0], given.sum_bits);
    const auto hessian_factor = fixed_factors(state.top[1], given.sum_bits);
    for (int64_t p = 0; p < 2; ++p) {
        const int64_t start = given.parts(p, 0), stop = given.parts(p, 1);
        fix_columns(state.gradient, given.in_bag, gradient_factor, space.columns, 0, start, stop);
        fix_columns(state.hessian, given.in_bag, hessian_factor, space.columns, D, start, stop);
        for (int64_t i = start; i < stop; ++i) space.columns(i, 2 * D) = 1;
    }
    Array<double, 1> unit(2 * D + 1);
    for (int64_t k = 0; k < D; ++k) {
        unit[k] = gradient_factor[k] > 0.0 ? 1.0 / gradient_factor[k] : 0.0;
        unit[D + k] = hessian_factor[k] > 0.0 ? 1.0 / hessian_factor[k] : 0.0;
    }
    unit[2 * D] = 1.0;
    return unit;
}

// Grow a tree on the sketch of this seed, or on all gradients and Hessians, as `rows.growth` grows it.
void grow_one(const TrainingRows &given, const State &state, const RoundRule &rule, const Space &space,
              Vector<const double> ridge, int64_t seed) {
    const auto parts = given.parts;
    Array<double, 1> factor, of_sketch;
    if (rule.sketch > 0) {
        std::tie(factor, of_sketch) = sketched_columns(given, state, rule, space, ridge, seed);
        ridge = of_sketch;
    } else {
        factor = all_columns(given, state, space);
    }
    // The tree before has left the rows leaf by leaf.
    for (int64_t i = 0; i < space.order.shape[0]; ++i) space.order[i] = given.everyone[i];
    if (space.lists.rows.shape[0] > 0) {
        for (int64_t i = 0; i < state.leaf.shape[0]; ++i) state.leaf[i] = parts(0, 1) <= i && i < parts(1, 0) ? -1 : 0;
    }
    space.tree.sizes[0] = 0; // by which the kernel begins anew
    const GrowthRule &how = rule.growth;
    const Search search{
        rule.features, how.n_drawn, how.random,   seed, factor, ridge, rule.sketch > 0 ? SKETCH : NEWTON,
        how.min_leaf,  0.0,         how.max_depth};
    grow(space.tree, {given.X_binned, given.n_bins, space.lists, state.leaf}, space.columns, search,
         space.order.shape[0], space.order, space.spare);
}

// Fill gradients of GLL, the rows' values, the maxima, the value and the Hessian.
void logistic_totals(const TrainingRows &given, const State &state, double log_scale) {
    const int64_t D = state.scores.shape[1], bits = given.sum_bits;
    const auto top = state.top;
    top.fill(0.0);
    for (int64_t p = 0; p < 2; ++p) {
        const auto tops =
            logistic_gradients(given.cost, given.row, given.label, given.weight, state.scores, log_scale,
                               state.gradient, state.hessian, state.of_rows, given.parts(p, 0), given.parts(p, 1));
        for (int64_t kind = 0; kind < 3; ++kind) {
            for (int64_t k = 0; k < D; ++k) top(kind, k) = std::max(top(kind, k), tops(kind, k));
        }
    }
    const auto factor = fixed_factors(top[2], bits);
    const auto values = zeros<int64_t>(D), hessians = zeros<int64_t>(D);
    for (int64_t p = 0; p < 2; ++p) {
        const int64_t start = given.parts(p, 0), stop = given.parts(p, 1);
        const auto some = class_sums(state.of_rows, given.label, given.in_bag, factor, start, stop);
        const auto more = column_sums(state.hessian, given.in_bag, top[1], bits, start, stop);
        for (int64_t k = 0; k < D; ++k) {
            values[k] += some[k];
            hessians[k] += more[k];
        }
    }
    const auto value = unfixed(values, top[2], bits), whole_hessian = unfixed(hessians, top[1], bits);
    for (int64_t k = 0; k < D; ++k) {
        state.value[k] = value[k];
        state.whole_hessian[k] = whole_hessian[k];
    }
}

// A tree's threshold, value, vector and gain of each node, and its vectors times the learning rate.
struct Round {
    Array<double, 1> threshold, response;
    Array<int32_t, 1> vector;
    Array<double, 1> share;
    Array<double, 2> vectors;
    int64_t n_leaves;
};

// Grow a tree, move the scores along its leaf vectors, and fill the state at the new scores.
//
// No node and no change where no split is found or the loss cannot fall. The tree's other columns are in `space.tree`.
Round logistic_round(const TrainingRows &given, const State &state, const RoundRule &rule, const Space &space,
                     double next_log_scale, int64_t seed) {
    const int64_t D = state.scores.shape[1];
    const auto &tree = space.tree;
    tree.sizes.fill(0); // those of the round before
    double total = 0.0;
    const Array<double, 1> ridge(D);
    for (int64_t k = 0; k < D; ++k) {
        total += state.value[k];
        ridge[k] = 2.0 * (rule.smoothing * state.value[k]); // multiplied in the order of the parts, for the same bits
    }
    for (int64_t trial = 0; total > 0.0 && trial < rule.trials && tree.sizes[0] <= 1; ++trial)
        grow_one(given, state, rule, space, ridge, seed + trial);
    int64_t n_leaves = tree.sizes[0], n_nodes = tree.sizes[1];
    const auto start = tree.start.slice(0, n_leaves), end = tree.end.slice(0, n_leaves);
    Array<double, 2> vectors;
    double fall = 0.0;
    if (n_leaves > 1) {
        const Array<double, 2> gradient_sums(n_leaves, D), hessian_sums(n_leaves, D);
        leaf_column_sums(state.gradient, state.hessian, state.top[0], state.top[1],
                         given.sum_bits - (SUM_BITS - FLOAT_BITS), space.order, start, end, gradient_sums,
                         hessian_sums);
        std::tie(vectors, fall) = newton(gradient_sums, hessian_sums, state.whole_hessian, rule.newton_smoothing,
                                         1.0 - 1.0 / static_cast<double>(D), rule.largest);
    }
    const double after = total - fall;
    if (n_leaves <= 1 || !(after < total * (1.0 - rule.stalled))) n_leaves = n_nodes = 0;
    auto [threshold, response, vector, share] =
        tree_columns(tree.feature.slice(0, n_nodes), tree.bin.slice(0, n_nodes), tree.left.slice(0, n_nodes),
                     tree.gain.slice(0, n_nodes), tree.node.slice(0, n_leaves), rule.first_threshold, rule.thresholds,
                     total > 0.0 ? std::max(0.0, 1.0 - after / total) : 0.0);
    for (int64_t i = 0; i < n_leaves; ++i) {
        for (int64_t k = 0; k < D; ++k) vectors(i, k) = rule.learning_rate * vectors(i, k);
    }
    if (n_nodes > 0) {
        leaf_numbers(space.order, start, end, state.leaf);
        for (int64_t p = 0; p < 2; ++p)
            add_leaf_vectors(state.scores, state.leaf, vectors, given.parts(p, 0), given.parts(p, 1));
        logistic_totals(given, state, next_log_scale);
    }
    return {std::move(threshold), std::move(response), std::move(vector),
            std::move(share),     std::move(vectors),  n_leaves};
}

// Make `logistic_round` of each seed, until one of them makes nothing.
//
// Returns how many were made; the columns of their trees, one after another (feature, bin, left and vector, then
// threshold, response and gain); their depths; their vectors; where the nodes and the vectors of each begin; the value
// after each round, and the log_scale before the first and after each.
std::tuple<int64_t, Array<int32_t, 2>, Array<double, 2>, Array<int64_t, 1>, Array<double, 2>, Array<int64_t, 2>,
           Array<double, 2>, Array<double, 1>>
logistic_rounds(const TrainingRows &given, const State &state, const RoundRule &rule, const Space &space,
                double next_log_scale, Vector<const int64_t> seeds) {
    const int64_t n_rounds = seeds.shape[0], D = state.scores.shape[1], most_leaves = n_rounds * rule.growth.max_leaves;
    const auto &tree = space.tree;
    Array<int32_t, 2> whole(4, 2 * most_leaves);
    Array<double, 2> real(3, 2 * most_leaves), vectors(most_leaves, D), values(n_rounds, D);
    Array<int64_t, 1> depth(n_rounds);
    auto reached = zeros<int64_t>(2, n_rounds + 1);
    Array<double, 1> scales(n_rounds + 1);
    scales[0] = next_log_scale;
    int64_t made = 0;
    for (; made < n_rounds; ++made) {
        const auto round = logistic_round(given, state, rule, space, scales[made], seeds[made]);
        if (round.n_leaves == 0) break;
        const int64_t node = reached(0, made), leaf = reached(1, made), n_nodes = round.threshold.shape[0];
        for (int64_t i = 0; i < n_nodes; ++i) {
            whole(0, node + i) = tree.feature[i];
            whole(1, node + i) = tree.bin[i];
            whole(2, node + i) = tree.left[i];
            whole(3, node + i) = round.vector[i];
            real(0, node + i) = round.threshold[i];
            real(1, node + i) = round.response[i];
            real(2, node + i) = round.share[i];
        }
        for (int64_t i = 0; i < round.n_leaves; ++i) {
            for (int64_t k = 0; k < D; ++k) vectors(leaf + i, k) = round.vectors(i, k);
        }
        reached(0, made + 1) = node + n_nodes;
        reached(1, made + 1) = leaf + round.n_leaves;
        depth[made] = tree.sizes[2];
        double highest = 0.0;
        for (int64_t k = 0; k < D; ++k) {
            values(made, k) = state.value[k];
            highest = std::max(highest, state.top(1, k));
        }
        scales[made + 1] = highest > 0.0 ? scales[made] + log(highest) : scales[made];
    }
    return {made,
            std::move(whole),
            std::move(real),
            std::move(depth),
            std::move(vectors),
            std::move(reached),
            std::move(values),
            std::move(scales)};
}

} // namespace

void define_whole_round(nb::module_ &m) { m.def("logistic_rounds", &logistic_rounds, released()); }

} // namespace minrisk
