// SPDX-License-Identifier: Apache-2.0
//
// Maximum and minimum of clocks, eight lanes at a time. Without AVX2 a maximum of unsigned 32-bit numbers
// takes eight times as many instructions, so both forms are compiled and the machine chooses.
#include "checker/clocks.h"

#include <algorithm>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace turnstile::checker {

#if defined(__x86_64__)

namespace {

__attribute__((target("avx2"))) __m256i eight_lanes(const uint32_t* at) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at));
}

__attribute__((target("avx2"))) void join_avx2(uint32_t* into, const uint32_t* from, size_t n) {
  for (size_t i = 0; i < n; i += 8)
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(into + i),
                        _mm256_max_epu32(eight_lanes(into + i), eight_lanes(from + i)));
}

__attribute__((target("avx2"))) void meet_avx2(uint32_t* into, const uint32_t* from, size_t n) {
  for (size_t i = 0; i < n; i += 8)
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(into + i),
                        _mm256_min_epu32(eight_lanes(into + i), eight_lanes(from + i)));
}

}  // namespace

void join(uint32_t* into, const uint32_t* from, size_t n) {
  if (__builtin_cpu_supports("avx2")) return join_avx2(into, from, n);
  for (size_t i = 0; i < n; ++i) into[i] = std::max(into[i], from[i]);
}

void meet(uint32_t* into, const uint32_t* from, size_t n) {
  if (__builtin_cpu_supports("avx2")) return meet_avx2(into, from, n);
  for (size_t i = 0; i < n; ++i) into[i] = std::min(into[i], from[i]);
}

#else

void join(uint32_t* into, const uint32_t* from, size_t n) {
  for (size_t i = 0; i < n; ++i) into[i] = std::max(into[i], from[i]);
}

void meet(uint32_t* into, const uint32_t* from, size_t n) {
  for (size_t i = 0; i < n; ++i) into[i] = std::min(into[i], from[i]);
}

#endif

}  // namespace turnstile::checker
