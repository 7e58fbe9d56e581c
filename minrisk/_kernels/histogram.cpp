#include "parts.hpp"

#include "binding.hpp"

namespace minrisk {

void define_histogram(nb::module_ &) {}

} // namespace minrisk
