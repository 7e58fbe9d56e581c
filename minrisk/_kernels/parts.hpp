// The parts of the module; each defines its kernels in a file of its own.
#pragma once

#include <nanobind/nanobind.h>

namespace minrisk {

void define_algebra(nanobind::module_ &m);
void define_constants(nanobind::module_ &m);
void define_elementary(nanobind::module_ &m);
void define_fixed(nanobind::module_ &m);
void define_histogram(nanobind::module_ &m);
void define_split(nanobind::module_ &m);
void define_grow(nanobind::module_ &m);
void define_sampling(nanobind::module_ &m);
void define_guess_averse(nanobind::module_ &m);
void define_losses(nanobind::module_ &m);
void define_links(nanobind::module_ &m);
void define_linear(nanobind::module_ &m);
void define_predict(nanobind::module_ &m);
void define_scores(nanobind::module_ &m);
void define_shapley(nanobind::module_ &m);
void define_similarity(nanobind::module_ &m);
void define_whole_round(nanobind::module_ &m);

} // namespace minrisk
