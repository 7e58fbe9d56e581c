#include "parts.hpp"

#include "binding.hpp"

namespace minrisk {

void define_predict(nb::module_ &) {}

} // namespace minrisk
