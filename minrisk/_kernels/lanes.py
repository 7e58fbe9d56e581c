"""64 rows at a time: comparisons of 64 bytes give the 64 bits of a word, a bit for each row.

What Numba makes of such loops on its own are comparisons of one byte after another. These few operations are therefore
written as vectors of LLVM, which every processor has instructions for: one with AVX-512, two with AVX2, four with NEON.
"""

import numpy as np
from numba import types
from numba.core import config
from numba.extending import intrinsic

LANES = 64  # rows side by side
WORDS_NAMED = 16  # words that `name_lanes` looks at together
EIGHT = 8  # entries that `add_eight` adds

if config.DISABLE_JIT:

    def lanes_above(codes, offset, bin_):
        """See below."""
        bits = np.packbits(codes[offset : offset + LANES] > bin_, bitorder="little")
        return bits.view(np.uint64)[0]

    def name_lanes(out, offset, words, first, number):
        """See below."""
        for j in range(WORDS_NAMED):
            bits = np.unpackbits(words[first + j : first + j + 1].view(np.uint8), bitorder="little")
            out[offset : offset + LANES] |= bits * np.uint8(number + j)

    def add_eight(vectors, begin, sums, first):
        """See below."""
        sums.reshape(-1)[first : first + EIGHT] += vectors.reshape(-1)[begin : begin + EIGHT]

else:
    from llvmlite import ir

    SHORTS, INTEGERS = (ir.VectorType(ir.IntType(bits), EIGHT) for bits in (16, 32))
    BYTES, BITS = ir.VectorType(ir.IntType(8), LANES), ir.VectorType(ir.IntType(1), LANES)
    WORD, ORDER = ir.IntType(64), ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)

    def _pointer(context, builder, array_type, array, offset):
        """To an entry of a contiguous array."""
        return builder.gep(context.make_array(array_type)(context, builder, array).data, [offset])

    def _loaded(builder, pointer):
        """64 bytes from there on, at any address."""
        loaded = builder.load(builder.bitcast(pointer, BYTES.as_pointer()))
        loaded.align = 1
        return loaded

    def _all_lanes(builder, byte):
        """A byte, 64 times."""
        first = builder.insert_element(ir.Constant(BYTES, ir.Undefined), byte, ir.Constant(ir.IntType(32), 0))
        return builder.shuffle_vector(first, ir.Constant(BYTES, ir.Undefined), ORDER)

    @intrinsic
    def lanes_above(typing_context, codes, offset, bin_):
        """Word whose bit i says whether codes[offset + i] > bin_, for bytes."""

        def generate(context, builder, signature, arguments):
            array, start, byte = arguments
            lanes = _loaded(builder, _pointer(context, builder, signature.args[0], array, start))
            return builder.bitcast(builder.icmp_unsigned(">", lanes, _all_lanes(builder, byte)), WORD)

        return types.uint64(codes, types.intp, types.uint8), generate

    @intrinsic
    def name_lanes(typing_context, out, offset, words, first, number):
        """Where bit i of words[first + j] is set, out[offset + i] |= number + j, for 16 words j."""

        def generate(context, builder, signature, arguments):
            out_array, start, word_array, first_word, base = arguments
            pointer = _pointer(context, builder, signature.args[0], out_array, start)
            word = _pointer(context, builder, signature.args[2], word_array, first_word)
            numbers, parts = _all_lanes(builder, base), [ir.Constant(BYTES, [0] * LANES)] * 2
            for j in range(WORDS_NAMED):  # in two chains, each of which waits for its own last word only
                bits = builder.bitcast(builder.load(builder.gep(word, [ir.Constant(WORD, j)])), BITS)
                named = builder.add(numbers, ir.Constant(BYTES, [j] * LANES))
                parts[j % 2] = builder.select(bits, named, parts[j % 2])
            whole = builder.or_(_loaded(builder, pointer), builder.or_(*parts))
            stored = builder.store(whole, builder.bitcast(pointer, BYTES.as_pointer()))
            stored.align = 1
            return context.get_dummy_value()

        return types.void(out, types.intp, words, types.intp, types.uint8), generate

    @intrinsic
    def add_eight(typing_context, vectors, begin, sums, first):
        """Entries of sums from first on, as they lie in memory, += eight of vectors from begin on, int16 to int32."""

        def generate(context, builder, signature, arguments):
            vector_array, begins, sum_array, place = arguments
            added = _pointer(context, builder, signature.args[0], vector_array, begins)
            total = _pointer(context, builder, signature.args[2], sum_array, place)
            added, total = builder.bitcast(added, SHORTS.as_pointer()), builder.bitcast(total, INTEGERS.as_pointer())
            short, before = builder.load(added), builder.load(total)
            short.align, before.align = 2, 4
            stored = builder.store(builder.add(before, builder.sext(short, INTEGERS)), total)
            stored.align = 4
            return context.get_dummy_value()

        return types.void(vectors, types.intp, sums, types.intp), generate
