// Products of matrices, nearest rows, eigenvectors, and Cholesky's decomposition, with every sum in one order.
//
// A BLAS has kernels for each generation of processors, whose sums differ in the last bits. Here a processor's vectors
// lie across the columns of a result, and each entry is the same sum at every level.
#include <cmath>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <vector>

#include "arrays.hpp"
#include "binding.hpp"
#include "parts.hpp"

namespace minrisk {
namespace {

constexpr int64_t DEPTH = 256; // terms that are summed in registers, from 0: sums of such sums also lose fewer bits

#if defined(__GNUC__)
#if defined(__AVX512F__)
constexpr int64_t MOST_LANES = 8;
#elif defined(__AVX__)
constexpr int64_t MOST_LANES = 4;
#else
constexpr int64_t MOST_LANES = 2;
#endif
template <int64_t N> struct LanesOf {
    typedef double type __attribute__((vector_size(8 * N), aligned(8)));
};
#else
constexpr int64_t MOST_LANES = 1;
template <int64_t N> struct LanesOf {
    typedef double type;
};
#endif

// Add to out (HEIGHT, width) the product of rows of `left` and of a panel (depth, WIDTH).
//
// Compilers make poor vectors of such a loop over doubles: they do not keep the sums in registers.
template <int64_t HEIGHT, int64_t WIDTH>
void add_tile(const double *left, int64_t next_row, int64_t next, const double *panel, int64_t depth, double *out,
              int64_t next_out, int64_t width) {
    constexpr int64_t LANES = std::min(WIDTH, MOST_LANES), PARTS = WIDTH / LANES;
    using Lanes = typename LanesOf<LANES>::type;
    Lanes sums[HEIGHT][PARTS] = {};
    for (int64_t k = 0; k < depth; ++k) {
        for (int64_t i = 0; i < HEIGHT; ++i) {
            const double x = left[i * next_row + k * next];
            for (int64_t part = 0; part < PARTS; ++part)
                sums[i][part] += x * reinterpret_cast<const Lanes *>(panel + k * WIDTH)[part];
        }
    }
    for (int64_t i = 0; i < HEIGHT; ++i) {
        const double *row = reinterpret_cast<const double *>(sums[i]);
        for (int64_t j = 0; j < width; ++j) out[i * next_out + j] += row[j];
    }
}

template <int64_t HEIGHT, int64_t WIDTH>
void add_product(Strided<const double> left, Strided<const double> right, Matrix<double> out) {
    const int64_t m = left.shape[0], n = right.shape[1], all = left.shape[1];
    Array<double, 1> panel(DEPTH * WIDTH);
    for (int64_t first = 0; first < all; first += DEPTH) {
        const int64_t depth = std::min(DEPTH, all - first);
        for (int64_t column = 0; column < n; column += WIDTH) {
            const int64_t width = std::min(WIDTH, n - column);
            for (int64_t k = 0; k < depth; ++k) {
                double *to = panel.data + k * WIDTH;
                for (int64_t j = 0; j < width; ++j) to[j] = right(first + k, column + j);
                std::fill(to + width, to + WIDTH, 0.0);
            }
            int64_t i = 0;
            const auto add = [&](auto tile, int64_t height) {
                for (; i + height <= m; i += height)
                    tile(&left(i, first), left.strides[0], left.strides[1], panel.data, depth, &out(i, column), n,
                         width);
            };
            add(add_tile<HEIGHT, WIDTH>, HEIGHT);
            add(add_tile<1, WIDTH>, 1);
        }
    }
}

// Compute out = left @ right. Whatever the tiles, each entry is the same sum.
void product(Strided<const double> left, Strided<const double> right, Matrix<double> out) {
    if (left.shape[1] != right.shape[0] || out.shape[0] != left.shape[0] || out.shape[1] != right.shape[1])
        throw std::invalid_argument("the columns of one matrix must be as many as the rows of the other.");
    out.fill(0.0);
    if (out.shape[1] <= 4)
        add_product<8, 4>(left, right, out);
    else if (out.shape[1] <= 8)
        add_product<8, 8>(left, right, out);
    else
        add_product<4, 16>(left, right, out);
}

// Fill out[i] with the `out.shape[1]` nearest other rows of row `first` + i of Z, in no order; of rows that are equally
// near, the first ones. `squares` are those of the rows' lengths.
void nearest_rows(Matrix<const double> Z, Vector<const double> squares, int64_t first, Matrix<int64_t> out) {
    constexpr int64_t ROWS = 64, OTHERS = 512;
    const int64_t n = Z.shape[0], d = Z.shape[1], k = out.shape[1];
    using Found = std::pair<double, int64_t>;
    for (int64_t start = 0; start < out.shape[0]; start += ROWS) {
        const int64_t height = std::min(ROWS, out.shape[0] - start);
        const Strided<const double> own{&Z(first + start, 0), {height, d}, {d, 1}};
        std::vector<std::vector<Found>> nearest(static_cast<std::size_t>(height)); // heaps, the farthest on top
        for (int64_t from = 0; from < n; from += OTHERS) {
            const int64_t width = std::min(OTHERS, n - from);
            Array<double, 2> products(height, width);
            product(own, {&Z(from, 0), {d, width}, {1, d}}, products);
            for (int64_t i = 0; i < height; ++i) {
                auto &heap = nearest[static_cast<std::size_t>(i)];
                for (int64_t j = 0; j < width; ++j) {
                    if (from + j == first + start + i) continue;
                    const Found found{squares[from + j] - 2.0 * products(i, j), from + j};
                    if (static_cast<int64_t>(heap.size()) == k) {
                        if (!(found < heap.front())) continue;
                        std::pop_heap(heap.begin(), heap.end());
                        heap.pop_back();
                    }
                    heap.push_back(found);
                    std::push_heap(heap.begin(), heap.end());
                }
            }
        }
        for (int64_t i = 0; i < height; ++i) {
            for (int64_t j = 0; j < k; ++j)
                out(start + i, j) = nearest[static_cast<std::size_t>(i)][static_cast<std::size_t>(j)].second;
        }
    }
}

// Sum the products of two vectors, in eight sums side by side.
double dot(const double *a, const double *b, int64_t n) {
    double sums[8] = {}, rest = 0.0;
    int64_t i = 0;
    for (; i + 8 <= n; i += 8) {
        for (int64_t j = 0; j < 8; ++j) sums[j] += a[i + j] * b[i + j];
    }
    for (; i < n; ++i) rest += a[i] * b[i];
    return ((sums[0] + sums[4]) + (sums[2] + sums[6])) + ((sums[1] + sums[5]) + (sums[3] + sums[7])) + rest;
}

// Compute to += factor * from.
void add_multiple(double factor, const double *__restrict from, double *__restrict to, int64_t n) {
    for (int64_t j = 0; j < n; ++j) to[j] += factor * from[j];
}

// -- Eigenvectors of a symmetric matrix
// ---------------------------------------------------------------------------------
constexpr double NO_LENGTH = 1e-140; // of a vector of a matrix whose entries are at most 1: its square is 0
constexpr double ROUNDING = std::numeric_limits<double>::epsilon() / 2; // where entries are at most 1
constexpr int SWEEPS = 60;                                              // for an eigenvalue; about two are enough
constexpr int64_t KEPT_TURNS = 1 << 14; // rotations that are applied together, to a few columns at a time

// Make A tridiagonal by Householder's reflections Q, A = Q T Q'; A becomes Q'. Its upper triangle is not looked at.
void tridiagonal(Matrix<double> A, double *diagonal, double *beside) {
    const int64_t n = A.shape[0];
    Array<double, 1> product(n), half_square(n), before(n);
    beside[0] = 0.0;
    const double *u = nullptr; // of the reflection before, A -= u w' + w u', which each row gets when it is read next
    double *__restrict w = before.data;
    const auto update = [&](int64_t j, int64_t end) {
        double *__restrict row = A[j].data;
        if (u == nullptr) return;
        const double a = u[j], b = w[j];
        for (int64_t k = 0; k < end; ++k) row[k] -= a * w[k] + b * u[k];
    };
    for (int64_t i = n - 1; i > 0; --i) {
        update(i, i + 1);
        double *v = A[i].data;
        double longest = 0.0;
        for (int64_t j = 0; j < i - 1; ++j) longest = std::max(longest, std::abs(v[j]));
        diagonal[i] = v[i];
        if (longest < NO_LENGTH) {
            beside[i] = v[i - 1];
            half_square[i] = 0.0;
            for (int64_t j = 0; j < i; ++j) update(j, j + 1);
            u = nullptr;
            continue;
        }
        beside[i] = -std::copysign(std::sqrt(dot(v, v, i)), v[i - 1]);
        const double h = half_square[i] = beside[i] * (beside[i] - v[i - 1]);
        v[i - 1] -= beside[i];
        for (int64_t j = 0; j < i; ++j) { // product = A v: a row is read once, for itself and as a column
            update(j, j + 1);
            const double *row = A[j].data;
            product[j] = dot(row, v, j + 1);
            add_multiple(v[j], row, product.data, j);
        }
        for (int64_t j = 0; j < i; ++j) product[j] /= h;
        add_multiple(-dot(v, product.data, i) / (2.0 * h), v, product.data, i);
        std::copy(product.data, product.data + i, w);
        u = v;
    }
    update(0, 1);
    diagonal[0] = A(0, 0);
    // The reflections, the last one first, each of one more row than the one before. A row is read once for a
    // reflection, which changes it, and the next one, which sums it.
    auto Q = zeros<double>(n, n);
    for (int64_t i = 0; i < n; ++i) Q(i, i) = 1.0;
    std::fill(before.data, before.data + n, 0.0);
    const double *v = nullptr;
    double h = 1.0;
    for (int64_t i = 1; i <= n; ++i) {
        const double *next = i < n && half_square[i] != 0.0 ? A[i].data : nullptr;
        if (v == nullptr && next == nullptr) continue;
        std::fill(product.data, product.data + n, 0.0);
        for (int64_t j = 0; j < i; ++j) {
            if (v != nullptr && j < i - 1) add_multiple(-v[j] / h, before.data, Q[j].data, i - 1);
            if (next != nullptr) add_multiple(next[j], Q[j].data, product.data, i);
        }
        std::swap(before, product);
        v = next;
        h = half_square[std::min(i, n - 1)];
    }
    for (int64_t i = 0; i < n; ++i) {
        for (int64_t j = 0; j < n; ++j) A(i, j) = Q(j, i);
    }
}

struct Turn {
    int64_t row; // and the one behind it
    double cosine, sine;
};

// Turn pairs of rows, of some columns at a time, which lie together meanwhile. A row stays in registers for the next
// turn, which mostly takes it too.
void turn(Matrix<double> Z, std::vector<Turn> &turns) {
    constexpr int64_t COLUMNS = 32, PARTS = COLUMNS / MOST_LANES;
    using Lanes = typename LanesOf<MOST_LANES>::type;
    const int64_t n = Z.shape[0];
    auto some = zeros<double>(n, COLUMNS);
    const auto at = [&](int64_t row) { return reinterpret_cast<Lanes *>(some[row].data); };
    for (int64_t first = 0; first < n && !turns.empty(); first += COLUMNS) {
        const int64_t width = std::min(COLUMNS, n - first);
        for (int64_t row = 0; row < n; ++row) std::copy(&Z(row, first), &Z(row, first) + width, some[row].data);
        Lanes held[PARTS] = {};
        int64_t number = -1; // of the row that is held
        const auto let_go = [&]() {
            if (number >= 0) std::copy(held, held + PARTS, at(number));
        };
        for (const Turn &t : turns) {
            Lanes *above = at(t.row), *below = at(t.row + 1);
            if (number != t.row + 1) {
                let_go();
                std::copy(below, below + PARTS, held);
            }
            for (int64_t part = 0; part < PARTS; ++part) {
                const Lanes a = above[part];
                below[part] = t.sine * a + t.cosine * held[part];
                held[part] = t.cosine * a - t.sine * held[part];
            }
            number = t.row;
        }
        let_go();
        for (int64_t row = 0; row < n; ++row) std::copy(some[row].data, some[row].data + width, &Z(row, first));
    }
    turns.clear();
}

// Make a tridiagonal matrix diagonal by implicit QL steps, whose rotations turn the rows of Z.
void diagonalise(double *diagonal, double *beside, Matrix<double> Z) {
    const int64_t n = Z.shape[0];
    std::vector<Turn> turns;
    std::copy(beside + 1, beside + n, beside);
    beside[n - 1] = 0.0;
    for (int64_t low = 0; low < n; ++low) {
        for (int sweep = 0;; ++sweep) {
            int64_t high = low; // of the block that no small entry parts
            while (high < n - 1 &&
                   std::abs(beside[high]) > ROUNDING * (1.0 + std::abs(diagonal[high]) + std::abs(diagonal[high + 1])))
                ++high;
            if (high == low) break;
            if (sweep == SWEEPS) throw std::runtime_error("eigenvalues did not converge: the matrix must be finite.");
            double g = (diagonal[low + 1] - diagonal[low]) / (2.0 * beside[low]);
            const double root = std::abs(g) < 1e150 ? std::sqrt(g * g + 1.0) : std::abs(g);
            g = diagonal[high] - diagonal[low] + beside[low] / (g + std::copysign(root, g)); // less the shift
            double sine = 1.0, cosine = 1.0, moved = 0.0;
            int64_t i = high - 1;
            for (; i >= low; --i) {
                const double f = sine * beside[i], b = cosine * beside[i], length = std::sqrt(f * f + g * g);
                beside[i + 1] = length;
                if (length == 0.0) break; // it parts there
                sine = f / length;
                cosine = g / length;
                g = diagonal[i + 1] - moved;
                const double r = (diagonal[i] - g) * sine + 2.0 * cosine * b;
                moved = sine * r;
                diagonal[i + 1] = g + moved;
                g = cosine * r - b;
                turns.push_back({i, cosine, sine});
            }
            if (i >= low) {
                diagonal[i + 1] -= moved;
            } else {
                diagonal[low] -= moved;
                beside[low] = g;
            }
            beside[high] = 0.0;
            if (static_cast<int64_t>(turns.size()) >= KEPT_TURNS) turn(Z, turns);
        }
    }
    turn(Z, turns);
}

// Return eigenvalues in ascending order and the eigenvectors, in columns, of a symmetric matrix.
std::tuple<Array<double, 1>, Array<double, 2>> eigenvectors(Matrix<const double> matrix) {
    const int64_t n = matrix.shape[0];
    Array<double, 2> Z(n, n), vectors(n, n);
    Array<double, 1> diagonal(n), beside(n), values(n);
    double largest = 0.0;
    for (int64_t i = 0; i < n * n; ++i) largest = std::max(largest, std::abs(matrix.data[i]));
    int exponent = 0;
    std::frexp(largest, &exponent); // entries of at most 1, whose squares are finite
    for (int64_t i = 0; i < n * n; ++i) Z.data[i] = std::ldexp(matrix.data[i], -exponent);
    if (n > 0) {
        tridiagonal(Z, diagonal.data, beside.data);
        diagonalise(diagonal.data, beside.data, Z);
    }
    std::vector<int64_t> order(static_cast<std::size_t>(n));
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return diagonal[a] < diagonal[b]; });
    for (int64_t j = 0; j < n; ++j) {
        const int64_t from = order[static_cast<std::size_t>(j)];
        values[j] = std::ldexp(diagonal[from], exponent);
        for (int64_t i = 0; i < n; ++i) vectors(i, j) = Z(from, i);
    }
    return {std::move(values), std::move(vectors)};
}

// -- Cholesky's decomposition
// ------------------------------------------------------------------------------------------- Return the lower triangle
// L of a positive definite matrix L L'.
Array<double, 2> cholesky(Matrix<const double> matrix) {
    const int64_t n = matrix.shape[0];
    auto L = zeros<double>(n, n);
    for (int64_t i = 0; i < n; ++i) {
        double *row = L[i].data;
        for (int64_t j = 0; j < i; ++j) row[j] = (matrix(i, j) - dot(row, L[j].data, j)) / L(j, j);
        const double square = matrix(i, i) - dot(row, row, i);
        if (!(square > 0.0)) throw std::runtime_error("the matrix must be positive definite, and it is not.");
        row[i] = std::sqrt(square);
    }
    return L;
}

// Replace B (n, m) by L^-1 B, or by L'^-1 B.
void solve_triangle(Matrix<const double> L, bool transposed, Matrix<double> B) {
    const int64_t n = L.shape[0], m = B.shape[1];
    for (int64_t step = 0; step < n; ++step) {
        const int64_t i = transposed ? n - 1 - step : step;
        double *row = B[i].data;
        for (int64_t j = transposed ? i + 1 : 0; j < (transposed ? n : i); ++j)
            add_multiple(-(transposed ? L(j, i) : L(i, j)), B[j].data, row, m);
        for (int64_t k = 0; k < m; ++k) row[k] /= L(i, i);
    }
}

} // namespace

void define_algebra(nb::module_ &m) {
    m.def("product", &product, released());
    m.def("nearest_rows", &nearest_rows, released());
    m.def("eigenvectors", &eigenvectors, released());
    m.def("cholesky", &cholesky, released());
    m.def("solve_triangle", &solve_triangle, released());
}

} // namespace minrisk
