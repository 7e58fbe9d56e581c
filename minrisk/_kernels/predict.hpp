// Scores of models: packed trees, step tables, coded trees, and decisions before the last tree.
//
// Packed trees, on raw rows: every step of a walk is node = left[node] + (x > threshold[node]).
//
// A leaf points to itself with threshold +inf, so walks need no branch on the data and a few rows go down a tree side
// by side. A missing value compares as not greater, so it goes left.
//
// Step tables, for stumps, feature by feature: a sum of stumps on one feature is a step function of it.
//
// Coded trees, whose leaves add vectors, on rows that are coded first: faster for many trees.
//
// A value's code is the number of the feature's thresholds below it, so one byte is compared with one byte. A node is
// one word: left in its upper half, column << 8 | bin in the lower one. Left is a place within the tree, and the right
// child the next one; a leaf's left is itself, and its bin 255 is above no code. Words have 32 bits where these hold
// all columns, else 64.
//
// *Few rows* walk from the root, one row in eight trees, since each walk waits for its own loads.
//
// *Many rows* go down a tree 64 at a time. The top of a tree are the at most 255 nodes that have most nodes below them.
// Each has a word of its own, column << 40 | bin << 32 | right << 16 | left, a parent before its children; left and
// right are places among the top's nodes and, behind these, its ends, which are leaves or where the tree goes on. For
// every place another word has a bit for each row that comes there. One comparison of 64 bytes gives the bits of the
// rows that go right, and with these a node's word becomes the words of its children. QuickScorer (Lucchese et al.,
// SIGIR 2015) and RapidScorer (Ye et al., KDD 2018) have a bit for each leaf; with one for each row a node costs the
// same wherever it stands. Where the tree goes on, each row walks on by itself.
//
// Decisions before the last tree: how far remaining trees can still move scores, and which rows that leaves open.
#pragma once

#include "arrays.hpp"

namespace minrisk {

inline constexpr int64_t NODE_BIN_BITS = 8; // of a node's bin
inline constexpr int64_t EIGHT = 8;         // walks side by side

// A node in one word: half of its bits hold the left child.
template <class Word> struct Node {
    static constexpr int LEFT_SHIFT = 4 * sizeof(Word), COLUMN_BITS = LEFT_SHIFT - NODE_BIN_BITS;
    Word word;

    bool is_above(uint8_t code) const { return code > static_cast<uint8_t>(word); }
    int64_t left() const { return static_cast<int64_t>(word >> LEFT_SHIFT); }
    int64_t column() const { return static_cast<int64_t>(word >> NODE_BIN_BITS & ((Word(1) << COLUMN_BITS) - 1)); }
};

// Let rows walk on in a tree from place[i] to a leaf; code_of(i, c) is row i's code in column c.
template <class Word, class Place, class Code>
void walk_by(Code code_of, Vector<const Word> nodes, int64_t n_rows, Vector<Place> place) {
    const int64_t whole = n_rows - n_rows % EIGHT;
    const auto next = [&](int64_t at, int64_t row) {
        const Node<Word> node{nodes[at]};
        return node.left() + node.is_above(code_of(row, node.column()));
    };
    for (int64_t i = 0; i < whole; i += EIGHT) {
        int64_t at[EIGHT], to[EIGHT], moved = 1;
        for (int64_t c = 0; c < EIGHT; ++c) at[c] = place[i + c];
        while (moved != 0) {
            moved = 0;
            for (int64_t c = 0; c < EIGHT; ++c) {
                to[c] = next(at[c], i + c);
                moved |= at[c] ^ to[c];
                at[c] = to[c];
            }
        }
        for (int64_t c = 0; c < EIGHT; ++c) place[i + c] = static_cast<Place>(at[c]);
    }
    for (int64_t i = whole; i < n_rows; ++i) {
        int64_t at = place[i], to = next(at, i);
        while (to != at) at = to, to = next(at, i);
        place[i] = static_cast<Place>(at);
    }
}

// Let rows walk on so; row i's code in column c is codes[base + c * stride + i].
template <class Word, class Place>
void walk_on(Vector<const uint8_t> codes, int64_t base, int64_t stride, Vector<const Word> nodes, int64_t n_rows,
             Vector<Place> place) {
    walk_by([&](int64_t i, int64_t column) { return codes[base + i + column * stride]; }, nodes, n_rows, place);
}

} // namespace minrisk
