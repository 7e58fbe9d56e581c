#include "elementary.hpp"

#include "binding.hpp"
#include "parts.hpp"

namespace minrisk {
namespace {

// Define a function of a number, and of an array of numbers in place.
template <double (*function)(double)> void define(nb::module_ &m, const char *name) {
    m.def(name, [](double x) { return function(x); });
    m.def(
        name,
        [](Vector<double> values) {
            for (int64_t j = 0; j < values.shape[0]; ++j) values.data[j] = function(values.data[j]);
        },
        released());
}

} // namespace

void define_elementary(nb::module_ &m) {
    m.attr("LOWEST_EXPONENT") = LOWEST_EXPONENT;
    m.attr("HIGHEST_EXPONENT") = HIGHEST_EXPONENT;
    define<exponential>(m, "exponential");
    define<exp>(m, "exp");
    define<expm1>(m, "expm1");
    define<cosh>(m, "cosh");
    define<sinh>(m, "sinh");
    define<tanh>(m, "tanh");
    define<log>(m, "log");
    define<log1p>(m, "log1p");
    define<atanh>(m, "arctanh");
}

} // namespace minrisk
