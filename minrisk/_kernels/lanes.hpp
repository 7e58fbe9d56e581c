// Sixty-four rows side by side: a byte of each in 64 bytes, a bit of each in a word.
#pragma once

#if defined(__SSE4_1__)
#include <immintrin.h>
#elif defined(__ARM_NEON) && defined(__aarch64__)
#include <arm_neon.h>
#endif

#include "arrays.hpp"

namespace minrisk {

inline constexpr int64_t LANES = 64;       // rows side by side
inline constexpr int64_t WORDS_NAMED = 16; // words that `name_lanes` looks at together

// Return a word whose bit i says whether codes[i] > bin. Compilers make no vectors of such a loop.
inline uint64_t lanes_above(const uint8_t *codes, uint8_t bin) {
#if defined(__AVX512BW__)
    return _mm512_cmpgt_epu8_mask(_mm512_loadu_si512(codes), _mm512_set1_epi8(static_cast<char>(bin)));
#elif defined(__AVX2__)
    const __m256i bins = _mm256_set1_epi8(static_cast<char>(bin));
    const auto not_above = [&](int64_t first) {
        const __m256i part = _mm256_loadu_si256(reinterpret_cast<const __m256i *>(codes + first));
        return static_cast<uint32_t>(_mm256_movemask_epi8(_mm256_cmpeq_epi8(_mm256_max_epu8(part, bins), bins)));
    };
    return ~(not_above(0) | static_cast<uint64_t>(not_above(32)) << 32);
#elif defined(__SSE4_1__)
    const __m128i bins = _mm_set1_epi8(static_cast<char>(bin));
    const auto not_above = [&](int64_t first) {
        const __m128i part = _mm_loadu_si128(reinterpret_cast<const __m128i *>(codes + first));
        return static_cast<uint64_t>(_mm_movemask_epi8(_mm_cmpeq_epi8(_mm_max_epu8(part, bins), bins))) << first;
    };
    return ~(not_above(0) | not_above(16) | not_above(32) | not_above(48));
#elif defined(__ARM_NEON) && defined(__aarch64__)
    const uint8x16_t bins = vdupq_n_u8(bin), bits = vreinterpretq_u8_u64(vdupq_n_u64(0x8040201008040201));
    const auto above = [&](int64_t first) { return vandq_u8(vcgtq_u8(vld1q_u8(codes + first), bins), bits); };
    // Three sums of neighbours make a byte of the bits of eight lanes.
    const uint8x16_t low = vpaddq_u8(above(0), above(16)), high = vpaddq_u8(above(32), above(48));
    const uint8x16_t sums = vpaddq_u8(low, high);
    return vgetq_lane_u64(vreinterpretq_u64_u8(vpaddq_u8(sums, sums)), 0);
#else
    uint64_t word = 0;
    for (int64_t i = 0; i < LANES; ++i) word |= static_cast<uint64_t>(codes[i] > bin) << i;
    return word;
#endif
}

// Set names[i] |= number + j where bit i of words[j] is set, for 16 words j.
inline void name_lanes(const uint64_t *words, uint8_t number, uint8_t *names) {
#if defined(__AVX512BW__)
    // In two chains, each of which waits for its own last word only.
    __m512i parts[2] = {_mm512_loadu_si512(names), _mm512_setzero_si512()};
    for (int j = 0; j < WORDS_NAMED; ++j)
        parts[j % 2] = _mm512_mask_mov_epi8(parts[j % 2], words[j], _mm512_set1_epi8(static_cast<char>(number + j)));
    _mm512_storeu_si512(names, _mm512_or_si512(parts[0], parts[1]));
#else
    for (int64_t j = 0; j < WORDS_NAMED; ++j) {
        for (int64_t i = 0; i < LANES; ++i) names[i] |= static_cast<uint8_t>((words[j] >> i & 1) ? number + j : 0);
    }
#endif
}

} // namespace minrisk
