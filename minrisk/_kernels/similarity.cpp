#include "parts.hpp"

#include "binding.hpp"

namespace minrisk {

void define_similarity(nb::module_ &) {}

} // namespace minrisk
