#include "parts.hpp"

#include "binding.hpp"

namespace minrisk {

void define_links(nb::module_ &) {}

} // namespace minrisk
