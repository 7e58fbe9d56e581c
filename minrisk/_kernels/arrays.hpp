// Arrays of kernels: views of NumPy's memory, rows of views, and memory of a kernel's own.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <utility>

#ifdef MINRISK_CHECKED
#include <cstdio>
#include <cstdlib>
#endif

namespace minrisk {

using std::int16_t, std::int32_t, std::int64_t, std::int8_t, std::uint16_t, std::uint32_t, std::uint64_t, std::uint8_t;

// A C-contiguous array of N dimensions that somebody else keeps. a(i, k) is an entry, a[i] a row (of a vector, an
// entry). With MINRISK_CHECKED an index out of range ends the process; otherwise nothing is checked.
template <class T, int N> struct View {
    T *data = nullptr;
    std::array<int64_t, N> shape{};

    View() = default;
    View(T *data, std::array<int64_t, N> shape) : data(data), shape(shape) {}
    // What may be written can be read.
    template <class U>
        requires(std::is_same_v<const U, T> && !std::is_same_v<U, T>)
    View(const View<U, N> &other) : data(other.data), shape(other.shape) {}

    int64_t size() const {
        int64_t product = 1;
        for (int64_t extent : shape) product *= extent;
        return product;
    }

    template <class... I>
        requires(sizeof...(I) == N)
    T &operator()(I... index) const {
        int64_t place = 0;
        int axis = 0;
        ((check(index, axis), place = place * shape[axis] + static_cast<int64_t>(index), ++axis), ...);
        return data[place];
    }

    decltype(auto) operator[](int64_t i) const {
        check(i, 0);
        if constexpr (N == 1) {
            return static_cast<T &>(data[i]);
        } else {
            std::array<int64_t, N - 1> rest;
            std::copy(shape.begin() + 1, shape.end(), rest.begin());
            return View<T, N - 1>(data + i * row_size(), rest);
        }
    }

    // Rows start..stop, cut at the last one.
    View slice(int64_t start, int64_t stop) const {
        View part = *this;
        part.data += start * row_size();
        part.shape[0] = std::min(stop, shape[0]) - start;
        return part;
    }

    // The same entries in one row.
    View<T, 1> flat() const { return {data, {size()}}; }

    void fill(T value) const { std::fill(data, data + size(), value); }

  private:
    int64_t row_size() const {
        int64_t product = 1;
        for (int axis = 1; axis < N; ++axis) product *= shape[axis];
        return product;
    }

    void check([[maybe_unused]] int64_t index, [[maybe_unused]] int axis) const {
#ifdef MINRISK_CHECKED
        if (index < 0 || index >= shape[axis]) {
            std::fprintf(stderr, "minrisk: index %lld of axis %d, which has %lld\n", static_cast<long long>(index),
                         axis, static_cast<long long>(shape[axis]));
            std::abort();
        }
#endif
    }
};

template <class T> using Vector = View<T, 1>;
template <class T> using Matrix = View<T, 2>;
template <class T> using Cube = View<T, 3>;

// A matrix that somebody else keeps, with any distance between its rows and between its columns, in entries.
template <class T> struct Strided {
    T *data = nullptr;
    std::array<int64_t, 2> shape{}, strides{};

    T &operator()(int64_t i, int64_t j) const { return data[i * strides[0] + j * strides[1]]; }
};

// An array of a kernel's own, not filled; `zeros` makes one of zeros. NumPy gets it without a copy (`binding.hpp`).
template <class T, int N> struct Array : View<T, N> {
    std::unique_ptr<T[]> memory;

    Array() = default;
    template <class... I>
        requires(sizeof...(I) == N)
    explicit Array(I... extents) {
        this->shape = {static_cast<int64_t>(extents)...};
        memory = std::make_unique_for_overwrite<T[]>(static_cast<std::size_t>(this->size()));
        this->data = memory.get();
    }
};

template <class T, class... I> Array<T, sizeof...(I)> zeros(I... extents) {
    Array<T, sizeof...(I)> array(extents...);
    array.fill(T(0));
    return array;
}

// Call `pass` with the number of columns, which up to eight the compiler knows: loops over so few columns are then
// spelt out, which take longer to begin than to run.
template <class Pass> decltype(auto) for_width(int64_t n_columns, Pass pass) {
    switch (n_columns) {
    case 1:
        return pass(std::integral_constant<int64_t, 1>());
    case 2:
        return pass(std::integral_constant<int64_t, 2>());
    case 3:
        return pass(std::integral_constant<int64_t, 3>());
    case 4:
        return pass(std::integral_constant<int64_t, 4>());
    case 5:
        return pass(std::integral_constant<int64_t, 5>());
    case 6:
        return pass(std::integral_constant<int64_t, 6>());
    case 7:
        return pass(std::integral_constant<int64_t, 7>());
    case 8:
        return pass(std::integral_constant<int64_t, 8>());
    default:
        return pass(n_columns);
    }
}

// A matrix of a kernel's own that begins where a cache line does.
template <class T> struct AlignedMatrix : Matrix<T> {
    AlignedMatrix(int64_t n_rows, int64_t n_columns) : memory(n_rows * n_columns + LINE) {
        void *data = memory.data;
        std::size_t room = static_cast<std::size_t>(memory.size()) * sizeof(T);
        this->data = static_cast<T *>(std::align(LINE, room - LINE, data, room));
        this->shape = {n_rows, n_columns};
    }

  private:
    static constexpr std::size_t LINE = 64; // bytes
    Array<T, 1> memory;
};

} // namespace minrisk
