#include "parts.hpp"

#include "binding.hpp"

namespace minrisk {

void define_linear(nb::module_ &) {}

} // namespace minrisk
