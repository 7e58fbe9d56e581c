// What the drop of a stump is, which the search for the best one maximises.
#pragma once

#include "arrays.hpp"

namespace minrisk {

inline constexpr int64_t EXPONENTIAL_GAIN = 0;   // drop = T - sqrt(T^2 - E^2), exact for the separable exponential
inline constexpr int64_t QUADRATIC_GAIN = 1;     // drop = E^2 / (2 M), exact for the squared loss, the Newton
                                                 // decrement else
inline constexpr int64_t SIDES_GAIN = 2;         // exponential with a vector for either side: the sum over sides of
                                                 // T - sqrt(T^2 - E^2)
inline constexpr int64_t LARGEST_EDGE_GAIN = 3;  // drop = max_k |E_k|: the most violated constraint of a dual
inline constexpr int64_t ABSOLUTE_EDGE_GAIN = 4; // drop = sum_k |E_k|: the slope along the best vector of -1 and +1

} // namespace minrisk
