// What compilers make no vectors of, or too wide ones: sixty-four rows side by side, a byte of each in 64 bytes and a
// bit of each in a word, and sums of eight.
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
#elif defined(__AVX2__)
    // Byte i has the byte of the word where bit i stands, and then that bit only.
    const __m256i bits = _mm256_set1_epi64x(static_cast<int64_t>(0x8040201008040201)), ones = _mm256_set1_epi8(1);
    const __m256i bytes = _mm256_setr_epi64x(0, 0x0101010101010101, 0x0202020202020202, 0x0303030303030303);
    const auto name = [&](int first) {
        __m256i *const to = reinterpret_cast<__m256i *>(names + first);
        __m256i named = _mm256_loadu_si256(to), own = _mm256_set1_epi8(static_cast<char>(number));
        for (int j = 0; j < WORDS_NAMED; ++j, own = _mm256_add_epi8(own, ones)) {
            const __m256i spread = _mm256_shuffle_epi8(_mm256_set1_epi32(static_cast<int>(words[j] >> first)), bytes);
            const __m256i is_set = _mm256_cmpeq_epi8(_mm256_and_si256(spread, bits), bits);
            named = _mm256_or_si256(named, _mm256_and_si256(is_set, own));
        }
        _mm256_storeu_si256(to, named);
    };
    name(0), name(32);
#elif defined(__SSE4_1__)
    const __m128i bits = _mm_set1_epi64x(static_cast<int64_t>(0x8040201008040201)), ones = _mm_set1_epi8(1);
    const __m128i bytes = _mm_set_epi64x(0x0101010101010101, 0);
    const auto name = [&](int first) {
        __m128i *const to = reinterpret_cast<__m128i *>(names + first);
        __m128i named = _mm_loadu_si128(to), own = _mm_set1_epi8(static_cast<char>(number));
        for (int j = 0; j < WORDS_NAMED; ++j, own = _mm_add_epi8(own, ones)) {
            const __m128i spread = _mm_shuffle_epi8(_mm_cvtsi32_si128(static_cast<int>(words[j] >> first)), bytes);
            const __m128i is_set = _mm_cmpeq_epi8(_mm_and_si128(spread, bits), bits);
            named = _mm_or_si128(named, _mm_and_si128(is_set, own));
        }
        _mm_storeu_si128(to, named);
    };
    name(0), name(16), name(32), name(48);
#elif defined(__ARM_NEON) && defined(__aarch64__)
    const uint8x16_t bits = vreinterpretq_u8_u64(vdupq_n_u64(0x8040201008040201));
    for (int64_t first = 0; first < LANES; first += 16) {
        uint8x16_t named = vld1q_u8(names + first);
        for (int j = 0; j < WORDS_NAMED; ++j) {
            const auto spread = [&](int64_t from) { return vdup_n_u8(static_cast<uint8_t>(words[j] >> from)); };
            const uint8x16_t is_set = vtstq_u8(vcombine_u8(spread(first), spread(first + 8)), bits);
            named = vorrq_u8(named, vandq_u8(is_set, vdupq_n_u8(static_cast<uint8_t>(number + j))));
        }
        vst1q_u8(names + first, named);
    }
#else
    for (int64_t j = 0; j < WORDS_NAMED; ++j) {
        for (int64_t i = 0; i < LANES; ++i) names[i] |= static_cast<uint8_t>((words[j] >> i & 1) ? number + j : 0);
    }
#endif
}

// Compute sums[k] += values[k] for eight k.
inline void add_eight(const int16_t *values, int32_t *sums) {
#if defined(__AVX2__)
    const __m256i added = _mm256_cvtepi16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i *>(values)));
    __m256i *const to = reinterpret_cast<__m256i *>(sums);
    _mm256_storeu_si256(to, _mm256_add_epi32(_mm256_loadu_si256(to), added));
#elif defined(__SSE4_1__)
    const __m128i added = _mm_loadu_si128(reinterpret_cast<const __m128i *>(values));
    __m128i *const to = reinterpret_cast<__m128i *>(sums);
    const __m128i low = _mm_add_epi32(_mm_loadu_si128(to), _mm_cvtepi16_epi32(added));
    const __m128i high = _mm_add_epi32(_mm_loadu_si128(to + 1), _mm_cvtepi16_epi32(_mm_unpackhi_epi64(added, added)));
    _mm_storeu_si128(to, low);
    _mm_storeu_si128(to + 1, high);
#elif defined(__ARM_NEON) && defined(__aarch64__)
    const int16x8_t added = vld1q_s16(values);
    vst1q_s32(sums, vaddw_s16(vld1q_s32(sums), vget_low_s16(added)));
    vst1q_s32(sums + 4, vaddw_high_s16(vld1q_s32(sums + 4), added));
#else
    for (int k = 0; k < 8; ++k) sums[k] += values[k];
#endif
}

} // namespace minrisk
