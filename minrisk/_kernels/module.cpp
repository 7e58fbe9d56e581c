// The module of machine code; it is compiled once for each kind of processor, see `__init__.py`.
#include "binding.hpp"
#include "numbers.hpp"
#include "parts.hpp"

namespace minrisk {

void define_constants(nb::module_ &m) {
    m.attr("MAX_BINS") = MAX_BINS;
    m.attr("LEAF_BIN") = LEAF_BIN;
    m.attr("MAX_DEPTH") = MAX_DEPTH;
    m.attr("EXACT_ROWS") = EXACT_ROWS;
    m.attr("GRADIENT_BITS") = GRADIENT_BITS;
    m.attr("SUM_BITS") = SUM_BITS;
    m.attr("FLOAT_BITS") = FLOAT_BITS;
    m.attr("COUNT_BITS") = COUNT_BITS;
    m.attr("PRODUCT_BITS") = PRODUCT_BITS;
    m.attr("TIE") = TIE;
    m.attr("FAR") = FAR;
}

} // namespace minrisk

NB_MODULE(MINRISK_MODULE, m) {
    using namespace minrisk;
    const auto part = [&](const char *name, void (*define)(nb::module_ &)) {
        auto submodule = m.def_submodule(name);
        define(submodule);
    };
    part("algebra", define_algebra);
    part("constants", define_constants);
    part("elementary", define_elementary);
    part("fixed", define_fixed);
    part("grow", define_grow);
    part("guess_averse", define_guess_averse);
    part("histogram", define_histogram);
    part("linear", define_linear);
    part("links", define_links);
    part("losses", define_losses);
    part("predict", define_predict);
    part("sampling", define_sampling);
    part("scores", define_scores);
    part("shapley", define_shapley);
    part("similarity", define_similarity);
    part("split", define_split);
    part("whole_round", define_whole_round);
}
