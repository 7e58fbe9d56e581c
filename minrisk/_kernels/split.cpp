#include "parts.hpp"

#include "binding.hpp"

namespace minrisk {

void define_split(nb::module_ &) {}

} // namespace minrisk
