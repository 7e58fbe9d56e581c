#include "parts.hpp"

#include "binding.hpp"

namespace minrisk {

void define_grow(nb::module_ &) {}

} // namespace minrisk
