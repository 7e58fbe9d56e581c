#include "parts.hpp"

#include "binding.hpp"

namespace minrisk {

void define_whole_round(nb::module_ &) {}

} // namespace minrisk
