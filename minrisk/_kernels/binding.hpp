// How kernels become functions of Python: arrays come as views, structures as tuples, and the GIL is released.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/tuple.h>

#include <cstring>
#include <tuple>
#include <type_traits>

#include "arrays.hpp"

namespace minrisk {

namespace nb = nanobind;

// Say whether the entries of a buffer, whose kind is a letter of the module `struct`, are of a type.
template <class T> bool holds(const Py_buffer &buffer) {
    if (buffer.itemsize != static_cast<Py_ssize_t>(sizeof(T)) || buffer.format == nullptr) return false;
    const char *kind = buffer.format;
    if (*kind == '@' || *kind == '=' || *kind == '<') ++kind;
    const char *kinds = std::is_same_v<T, bool>       ? "?"
                        : std::is_floating_point_v<T> ? "fd"
                        : std::is_signed_v<T>         ? "bhilq"
                                                      : "BHILQ";
    return kind[0] != '\0' && kind[1] == '\0' && std::strchr(kinds, *kind) != nullptr;
}

using released = nb::call_guard<nb::gil_scoped_release>;

// Call `define` with each of the types, for kernels that take several.
template <class... Types, class Define> void for_types(Define define) { (define(std::type_identity<Types>{}), ...); }

} // namespace minrisk

NAMESPACE_BEGIN(NB_NAMESPACE)
NAMESPACE_BEGIN(detail)

// Arrays of exactly this type, dimension and C order; none is copied, and none that is read-only may be written.
template <class T, int N> struct type_caster<minrisk::View<T, N>> {
    using Viewed = minrisk::View<T, N>;
    NB_TYPE_CASTER(Viewed, const_name("ndarray"))
    using Entry = std::remove_const_t<T>;

    bool from_python(handle src, uint32_t, cleanup_list *) noexcept {
        Py_buffer buffer;
        const int flags = PyBUF_FORMAT | PyBUF_C_CONTIGUOUS | (std::is_const_v<T> ? 0 : PyBUF_WRITABLE);
        if (PyObject_GetBuffer(src.ptr(), &buffer, flags) != 0) {
            PyErr_Clear();
            return false;
        }
        const bool right = buffer.ndim == N && minrisk::holds<Entry>(buffer);
        if (right) {
            value.data = static_cast<T *>(buffer.buf);
            for (int axis = 0; axis < N; ++axis) value.shape[axis] = buffer.shape[axis];
        }
        PyBuffer_Release(&buffer); // the caller's reference keeps the array while the kernel runs
        return right;
    }
};

template <class T> struct type_caster<minrisk::Strided<const T>> {
    using Viewed = minrisk::Strided<const T>;
    NB_TYPE_CASTER(Viewed, const_name("ndarray"))

    bool from_python(handle src, uint32_t, cleanup_list *) noexcept {
        Py_buffer buffer;
        if (PyObject_GetBuffer(src.ptr(), &buffer, PyBUF_FORMAT | PyBUF_STRIDES) != 0) {
            PyErr_Clear();
            return false;
        }
        constexpr auto size = static_cast<Py_ssize_t>(sizeof(T));
        bool right = buffer.ndim == 2 && minrisk::holds<T>(buffer);
        for (int axis = 0; right && axis < 2; ++axis) {
            right = buffer.strides[axis] % size == 0;
            value.shape[axis] = buffer.shape[axis];
            value.strides[axis] = buffer.strides[axis] / size;
        }
        value.data = static_cast<const T *>(buffer.buf);
        PyBuffer_Release(&buffer);
        return right;
    }
};

template <class T, int N> struct type_caster<minrisk::Array<T, N>> {
    using Made = minrisk::Array<T, N>;
    NB_TYPE_CASTER(Made, const_name("ndarray"))

    static handle from_cpp(minrisk::Array<T, N> &&array, rv_policy, cleanup_list *cleanup) noexcept {
        size_t shape[N];
        for (int axis = 0; axis < N; ++axis) shape[axis] = static_cast<size_t>(array.shape[axis]);
        T *memory = array.memory.release();
        capsule owner(memory, [](void *p) noexcept { delete[] static_cast<T *>(p); });
        ndarray<numpy, T> result(memory, N, shape, owner);
        return make_caster<ndarray<numpy, T>>::from_cpp(result, rv_policy::reference, cleanup);
    }
};

// Structures that name their members in `members` come as tuples of these, in that order.
template <class S>
    requires requires { S::members; }
struct type_caster<S> {
    NB_TYPE_CASTER(S, const_name("tuple"))

    bool from_python(handle src, uint32_t flags, cleanup_list *cleanup) noexcept {
        if (!PyTuple_Check(src.ptr()) || PyTuple_GET_SIZE(src.ptr()) != std::tuple_size_v<decltype(S::members)>)
            return false;
        Py_ssize_t place = 0;
        auto read = [&](auto member) {
            using Member = std::remove_reference_t<decltype(value.*member)>;
            make_caster<Member> caster;
            if (!caster.from_python(PyTuple_GET_ITEM(src.ptr(), place++), flags_for_local_caster<Member>(flags),
                                    cleanup))
                return false;
            value.*member = caster.operator cast_t<Member>();
            return true;
        };
        return std::apply([&](auto... member) { return (read(member) && ...); }, S::members);
    }
};

NAMESPACE_END(detail)
NAMESPACE_END(NB_NAMESPACE)
