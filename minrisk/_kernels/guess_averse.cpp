#include "parts.hpp"

#include "binding.hpp"

namespace minrisk {

void define_guess_averse(nb::module_ &) {}

} // namespace minrisk
