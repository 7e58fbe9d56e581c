#include "parts.hpp"

#include "binding.hpp"

namespace minrisk {

void define_sampling(nb::module_ &) {}

} // namespace minrisk
