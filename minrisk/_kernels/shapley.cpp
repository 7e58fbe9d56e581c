#include "parts.hpp"

#include "binding.hpp"

namespace minrisk {

void define_shapley(nb::module_ &) {}

} // namespace minrisk
