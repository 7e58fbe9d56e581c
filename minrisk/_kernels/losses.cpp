#include "parts.hpp"

#include "binding.hpp"

namespace minrisk {

void define_losses(nb::module_ &) {}

} // namespace minrisk
