#include "exponential.hpp"

#include "binding.hpp"
#include "parts.hpp"

namespace minrisk {

void define_exponential(nb::module_ &m) {
    m.attr("LOWEST_EXPONENT") = LOWEST_EXPONENT;
    m.attr("HIGHEST_EXPONENT") = HIGHEST_EXPONENT;
    m.def("exponential", &exponential);
    m.def("exponentials", &exponentials, released());
    m.def("logarithm", &logarithm);
    m.def("log1p", &log1p);
}

} // namespace minrisk
