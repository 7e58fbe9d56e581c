#include "parts.hpp"

#include "binding.hpp"

namespace minrisk {

void define_scores(nb::module_ &) {}

} // namespace minrisk
