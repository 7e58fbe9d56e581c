#include "histogram.hpp"

#include <cstring>

#include "binding.hpp"
#include "parts.hpp"

namespace minrisk {
namespace {

// Fill out[i] with the number of thresholds < values[i]; NaN is below all, hence bin 0. Behind the last threshold
// `padded` (256,) is infinite.
void bin_column(Vector<const double> values, Vector<const double> padded, Vector<uint8_t> out) {
    for (int64_t i = 0; i < values.shape[0]; ++i) out[i] = static_cast<uint8_t>(code_of(values[i], padded));
}

// -- Histograms of all rows -------------------------------------------------------------------------------------------
constexpr int64_t NUMBERED_ROWS = 65536; // rows of a block of the sparse index, whose numbers within it fit two bytes

// Call `visit` with the rows outside the frequent bin of feature j.
template <class Visit>
void for_each_indexed(Matrix<const int64_t> offsets, Vector<const uint16_t> rows, int64_t j, Visit visit) {
    for (int64_t block = 0; block + 1 < offsets.shape[1]; ++block) {
        const int64_t first = block * NUMBERED_ROWS, stop = offsets(j, block + 1);
        for (int64_t p = offsets(j, block); p < stop; ++p) visit(first + rows[p]);
    }
}

// Compute out[c, b, :] += fixed[i, :] for rows start..stop whose feature features[c] is in bin b.
template <class Fixed>
void gradient_histogram(Matrix<const uint8_t> X_binned, Vector<const int64_t> features, Matrix<const Fixed> fixed,
                        int64_t start, int64_t stop, Cube<int64_t> out) {
    by_width(fixed.shape[1], [&](auto width) {
        const auto values = of_width<width>(fixed);
        const int64_t n_columns = values.shape[1];
        for (int64_t c = 0; c < features.shape[0]; ++c) {
            const auto column = X_binned[features[c]];
            const auto histogram = of_width<width>(out[c]);
            for (int64_t i = start; i < stop; ++i) {
                const int64_t b = column[i];
                for (int64_t k = 0; k < n_columns; ++k) histogram(b, k) += values(i, k);
            }
        }
    });
}

// Sum over all rows, for features with a sparse index; the frequent bin is `total` less the rest.
template <class Fixed>
void gradient_histogram_sparse(Matrix<const uint8_t> X_binned, Vector<const int64_t> features,
                               Matrix<const Fixed> fixed, Matrix<const int64_t> offsets, Vector<const uint16_t> rows,
                               Vector<const int64_t> total, Vector<const uint8_t> frequent,
                               Vector<const int64_t> n_bins, Cube<int64_t> out) {
    by_width(fixed.shape[1], [&](auto width) {
        const auto values = of_width<width>(fixed);
        const int64_t n_columns = values.shape[1];
        for (int64_t c = 0; c < features.shape[0]; ++c) {
            const int64_t j = features[c], missing = frequent[j];
            const auto column = X_binned[j];
            const auto histogram = of_width<width>(out[c]);
            for_each_indexed(offsets, rows, j, [&](int64_t i) {
                const int64_t b = column[i];
                for (int64_t k = 0; k < n_columns; ++k) histogram(b, k) += values(i, k);
            });
            for (int64_t k = 0; k < n_columns; ++k) histogram(missing, k) = total[k];
            for (int64_t b = 0; b < n_bins[j]; ++b) {
                if (b == missing) continue;
                for (int64_t k = 0; k < n_columns; ++k) histogram(missing, k) -= histogram(b, k);
            }
        }
    });
}

// Add fixed[i] to out[c, l, b] for rows start..stop of leaf first_leaf + l with features[c] in bin b.
void leaf_histogram(Matrix<const uint8_t> X_binned, Vector<const int64_t> features, Vector<const int32_t> leaf,
                    int64_t first_leaf, Vector<const int64_t> fixed, int64_t start, int64_t stop, Cube<int64_t> out) {
    const int64_t n_leaves = out.shape[1];
    for (int64_t c = 0; c < features.shape[0]; ++c) {
        const auto column = X_binned[features[c]];
        const auto histogram = out[c];
        for (int64_t i = start; i < stop; ++i) {
            const int64_t node = leaf[i] - first_leaf;
            if (0 <= node && node < n_leaves) histogram(node, column[i]) += fixed[i];
        }
    }
}

// Sum over all rows, for features with a sparse index; `total` holds the sum of each leaf.
void leaf_histogram_sparse(Matrix<const uint8_t> X_binned, Vector<const int64_t> features, Vector<const int32_t> leaf,
                           int64_t first_leaf, Vector<const int64_t> fixed, Matrix<const int64_t> offsets,
                           Vector<const uint16_t> rows, Vector<const int64_t> total, Vector<const uint8_t> frequent,
                           Vector<const int64_t> n_bins, Cube<int64_t> out) {
    const int64_t n_leaves = out.shape[1];
    for (int64_t c = 0; c < features.shape[0]; ++c) {
        const int64_t j = features[c], missing = frequent[j];
        const auto column = X_binned[j];
        const auto histogram = out[c];
        for_each_indexed(offsets, rows, j, [&](int64_t i) {
            const int64_t node = leaf[i] - first_leaf;
            if (0 <= node && node < n_leaves) histogram(node, column[i]) += fixed[i];
        });
        for (int64_t node = 0; node < n_leaves; ++node) {
            int64_t rest = total[first_leaf + node];
            for (int64_t b = 0; b < n_bins[j]; ++b) {
                if (b != missing) rest -= histogram(node, b);
            }
            histogram(node, missing) = rest;
        }
    }
}

// Compute out[l] += fixed[i] for rows start..stop of leaf l.
void leaf_sums(Vector<const int32_t> leaf, Vector<const int64_t> fixed, int64_t start, int64_t stop,
               Vector<int64_t> out) {
    for (int64_t i = start; i < stop; ++i) out[leaf[i]] += fixed[i];
}

// Write the sparse index of feature j from `position` on; returns the position after it.
int64_t index_rows(Matrix<const uint8_t> X_binned, int64_t j, int64_t frequent, Matrix<int64_t> offsets,
                   int64_t position, Vector<uint16_t> rows) {
    const auto column = X_binned[j];
    const auto of_feature = offsets[j];
    const int64_t n_blocks = offsets.shape[1] - 1;
    const uint64_t eight_frequent = 0x0101010101010101 * static_cast<uint64_t>(frequent);
    for (int64_t block = 0; block < n_blocks; ++block) {
        of_feature[block] = position;
        const int64_t first = block * NUMBERED_ROWS, stop = std::min(first + NUMBERED_ROWS, column.shape[0]);
        const auto index = [&](int64_t i) {
            if (column[i] != frequent) rows[position++] = static_cast<uint16_t>(i - first);
        };
        int64_t i = first;
        for (; i + 8 <= stop; i += 8) { // mostly all eight rows have the frequent bin
            uint64_t bins;
            std::memcpy(&bins, &column[i], 8);
            if (bins == eight_frequent) continue;
            for (int64_t c = 0; c < 8; ++c) index(i + c);
        }
        for (; i < stop; ++i) index(i);
    }
    of_feature[n_blocks] = position;
    return position;
}

// -- Histograms of a node ---------------------------------------------------------------------------------------------
// Compute out[f] = histogram of the node for each feature, zeroed first.
void node_histograms(const BinnedRows &binned, Vector<const int64_t> features, Matrix<const int64_t> columns,
                     Vector<const int32_t> order, int64_t start, int64_t end, Vector<const int64_t> total, int64_t leaf,
                     Matrix<const int64_t> gathered, Cube<int64_t> out) {
    by_width(columns.shape[1], [&](auto width) {
        Marks marks;
        for (int64_t f = 0; f < features.shape[0]; ++f) {
            const int64_t j = features[f];
            const auto column = binned.X_binned[j];
            out[f].fill(0);
            if (binned.lists.tells(j, end - start)) {
                fill_listed<width, width>(column, j, binned.lists, binned.member, leaf, columns, total, out[f], marks);
            } else {
                fill<width, 1>({column}, order, start, end, gathered, out[f], [](int, int64_t) {});
            }
        }
    });
}

// Compute out[i] = columns of the node's rows.
void gather_any(Matrix<const int64_t> columns, Vector<const int32_t> order, int64_t start, int64_t end,
                Matrix<int64_t> out) {
    by_width(columns.shape[1], [&](auto width) { gather<width, width>(columns, order, start, end, out); });
}

// -- Stored entries of sparse features --------------------------------------------------------------------------------
// Compute counts[f] = entries in features[f] of rows whose place is not negative.
void count_drawn(const Entries &stored, Vector<const int64_t> features, Vector<const int32_t> place,
                 Vector<int64_t> counts) {
    for (int64_t f = 0; f < features.shape[0]; ++f) {
        int64_t count = 0;
        stored.for_each(features[f], [&](int64_t row, int64_t) { count += place[row] >= 0; });
        counts[f] = count;
    }
}

// Fill `rows` with the places and `bins` with the bins of the entries that `count_drawn` counts.
void pack_drawn(const Entries &stored, Vector<const int64_t> features, Vector<const int32_t> place,
                Vector<int32_t> rows, Vector<uint8_t> bins) {
    int64_t q = 0;
    for (int64_t f = 0; f < features.shape[0]; ++f) {
        stored.for_each(features[f], [&](int64_t row, int64_t b) {
            if (place[row] < 0) return;
            rows[q] = place[row];
            bins[q++] = static_cast<uint8_t>(b);
        });
    }
}

// Compute out[p] = number of thresholds of its feature below values[p], usual[j] = number of those below 0.
//
// Thresholds of feature j, which ascend, are those from first[j] to first[j + 1]. NaN is below all.
void bin_entries(Vector<const double> values, Vector<const int64_t> offsets, Vector<const double> thresholds,
                 Vector<const int64_t> first, Vector<uint8_t> out, Vector<uint8_t> usual) {
    for (int64_t j = 0; j < usual.shape[0]; ++j) {
        const int64_t start = first[j], stop = first[j + 1];
        const auto bin_of = [&](double x) {
            int64_t low = start, size = stop - start;
            while (size > 0) {
                const int64_t half = size >> 1;
                if (thresholds[low + half] < x) {
                    low += half + 1;
                    size -= half + 1;
                } else {
                    size = half;
                }
            }
            return static_cast<uint8_t>(low - start);
        };
        usual[j] = bin_of(0.0);
        for (int64_t p = offsets[j]; p < offsets[j + 1]; ++p) out[p] = bin_of(values[p]);
    }
}

// Compute out[c] = bins of features[c], (f, n).
void fill_columns(const Entries &stored, Vector<const int64_t> features, Matrix<uint8_t> out) {
    for (int64_t c = 0; c < features.shape[0]; ++c) {
        const auto column = out[c];
        column.fill(stored.usual[features[c]]);
        stored.for_each(features[c], [&](int64_t row, int64_t b) { column[row] = static_cast<uint8_t>(b); });
    }
}

// Add fixed[i, :] to out[c, b, :] for the rows whose feature features[c] is in bin b; `total` is over all rows.
template <class Fixed>
void stored_gradient_histogram(const Entries &stored, Vector<const int64_t> features, Matrix<const Fixed> fixed,
                               Vector<const int64_t> total, Cube<int64_t> out) {
    by_width(fixed.shape[1], [&](auto width) {
        const auto values = of_width<width>(fixed);
        const int64_t n_columns = values.shape[1];
        for (int64_t c = 0; c < features.shape[0]; ++c) {
            const int64_t j = features[c], missing = stored.usual[j];
            const auto histogram = of_width<width>(out[c]);
            for (int64_t k = 0; k < n_columns; ++k) histogram(missing, k) += total[k];
            stored.for_each(j, [&](int64_t row, int64_t b) {
                for (int64_t k = 0; k < n_columns; ++k) {
                    const int64_t value = values(row, k);
                    histogram(b, k) += value;
                    histogram(missing, k) -= value;
                }
            });
        }
    });
}

// Add fixed[i] to out[c, l, b] for rows of leaf first_leaf + l whose feature is in bin b; `total` of each leaf.
void stored_leaf_histogram(const Entries &stored, Vector<const int64_t> features, Vector<const int32_t> leaf,
                           int64_t first_leaf, Vector<const int64_t> fixed, Vector<const int64_t> total,
                           Cube<int64_t> out) {
    const int64_t n_leaves = out.shape[1];
    for (int64_t c = 0; c < features.shape[0]; ++c) {
        const int64_t j = features[c], missing = stored.usual[j];
        const auto histogram = out[c];
        for (int64_t node = 0; node < n_leaves; ++node) histogram(node, missing) += total[first_leaf + node];
        stored.for_each(j, [&](int64_t row, int64_t b) {
            const int64_t node = leaf[row] - first_leaf;
            if (0 <= node && node < n_leaves) {
                histogram(node, b) += fixed[row];
                histogram(node, missing) -= fixed[row];
            }
        });
    }
}

// Compute out[f] = histogram of the rows whose member is the leaf, for each feature, zeroed first.
void stored_node_histograms(const Entries &stored, Vector<const int64_t> features, Matrix<const int64_t> columns,
                            Vector<const int64_t> total, Vector<const int32_t> member, int64_t leaf,
                            Cube<int64_t> out) {
    const int64_t n_columns = columns.shape[1];
    for (int64_t f = 0; f < features.shape[0]; ++f) {
        const int64_t j = features[f], missing = stored.usual[j];
        const auto histogram = out[f];
        histogram.fill(0);
        for (int64_t c = 0; c < n_columns; ++c) histogram(missing, c) = total[c];
        stored.for_each(j, [&](int64_t row, int64_t b) {
            if (member[row] != leaf) return;
            for (int64_t c = 0; c < n_columns; ++c) {
                const int64_t value = columns(row, c);
                histogram(b, c) += value;
                histogram(missing, c) -= value;
            }
        });
    }
}

} // namespace

void define_histogram(nb::module_ &m) {
    m.attr("NUMBERED_ROWS") = NUMBERED_ROWS;
    m.def("bin_column", &bin_column, released());
    for_types<int32_t, int64_t>([&]<class T>(std::type_identity<T>) {
        m.def("gradient_histogram", &gradient_histogram<T>, released());
        m.def("gradient_histogram_sparse", &gradient_histogram_sparse<T>, released());
        m.def("stored_gradient_histogram", &stored_gradient_histogram<T>, released());
    });
    m.def("leaf_histogram", &leaf_histogram, released());
    m.def("leaf_histogram_sparse", &leaf_histogram_sparse, released());
    m.def("leaf_sums", &leaf_sums, released());
    m.def("index_rows", &index_rows, released());
    m.def("gather", &gather_any, released());
    m.def("node_histograms", &node_histograms, released());
    m.def("count_drawn", &count_drawn, released());
    m.def("pack_drawn", &pack_drawn, released());
    m.def("bin_entries", &bin_entries, released());
    m.def("fill_columns", &fill_columns, released());
    m.def("stored_leaf_histogram", &stored_leaf_histogram, released());
    m.def("stored_node_histograms", &stored_node_histograms, released());
}

} // namespace minrisk
