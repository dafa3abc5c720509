// SPDX-License-Identifier: Apache-2.0
#include "sim/alu/float_ops.h"

#include "sim/alu/lane.h"
#include "sim/numerics/conversions.h"
#include "sim/numerics/fast_f32.h"
#include "sim/numerics/mufu.h"
#include "sim/numerics/scalar.h"

namespace turnstile::sim::lane {

namespace {

FloatMode mode_of(const PureConfig& config) { return {config.rounding, config.ftz, config.saturate}; }

bool is_nan(ElementType type, uint64_t word) { return decode(type, word).kind == NumberClass::nan; }

unsigned width_of(ElementType type) { return static_cast<unsigned>(shape_of(type).width()); }

/// .relu: negative results, -0 included, become +0; NaN stays the canonical one.
uint64_t relu_of(const PureConfig& config, uint64_t word) {
  if (!config.relu || is_nan(config.type, word)) return word;
  return sign_bit(word, width_of(config.type)) ? 0 : word;
}

uint64_t widened(const PureConfig& config, uint64_t word) {
  return convert_float(word, config.source_type, config.type);
}

uint32_t word32(uint64_t word) { return static_cast<uint32_t>(word); }

uint64_t extreme(const PureConfig& config, uint64_t a, uint64_t b, bool larger) {
  if (config.host_f32 && !config.nan) return fast::extreme(word32(a), word32(b), config.ftz, larger);
  return larger ? float_max(config.type, a, b, config.ftz, config.nan)
                : float_min(config.type, a, b, config.ftz, config.nan);
}

/// min and max with the modifiers .abs (magnitudes are compared) and .xorsign (the signs of the sources,
/// xored).
uint64_t extreme_of_two(const PureConfig& config, const uint64_t* in, bool larger) {
  if (!config.absolute) return extreme(config, in[0], in[1], larger);
  const uint64_t sign = uint64_t{1} << (width_of(config.type) - 1);
  const uint64_t result = extreme(config, in[0] & ~sign, in[1] & ~sign, larger);
  if (!config.xorsign || is_nan(config.type, result)) return result;
  return result | ((in[0] ^ in[1]) & sign);
}

uint64_t extreme_of_three(const PureConfig& config, const uint64_t* in, bool larger) {
  const uint64_t first = extreme_of_two(config, in, larger);
  const uint64_t pair[] = {first, in[2]};
  return extreme_of_two(config, pair, larger);
}

/// MUFU on 16 bits: its f32 result cut to the format, toward zero, but for results out of range, which are
/// infinite (docs/numerics.md: all inputs of an H200).
template <uint32_t (*Function)(uint32_t)>
uint64_t half_of_mufu(const PureConfig& config, uint64_t word) {
  const auto wide = static_cast<uint32_t>(convert_float(word, config.type, ElementType::f32));
  return convert_float(Function(wide), ElementType::f32, config.type, Rounding::toward_zero,
                       Overflow::infinity);
}

}  // namespace

uint64_t add_float(const PureConfig& config, const uint64_t* in) {
  if (config.host_f32) return fast::add(word32(in[0]), word32(in[1]), config.ftz);
  return float_add(config.type, in[0], in[1], mode_of(config));
}

uint64_t sub_float(const PureConfig& config, const uint64_t* in) {
  if (config.host_f32) return fast::sub(word32(in[0]), word32(in[1]), config.ftz);
  return float_sub(config.type, in[0], in[1], mode_of(config));
}

uint64_t mul_float(const PureConfig& config, const uint64_t* in) {
  if (config.host_f32) return fast::mul(word32(in[0]), word32(in[1]), config.ftz);
  return float_mul(config.type, in[0], in[1], mode_of(config));
}

uint64_t fma_float(const PureConfig& config, const uint64_t* in) {
  if (config.host_f32) return fast::fma(word32(in[0]), word32(in[1]), word32(in[2]), config.ftz);
  return relu_of(config, float_fma(config.type, in[0], in[1], in[2], mode_of(config)));
}

uint64_t add_mixed(const PureConfig& config, const uint64_t* in) {
  return float_add(config.type, widened(config, in[0]), in[1], mode_of(config));
}

uint64_t sub_mixed(const PureConfig& config, const uint64_t* in) {
  return float_sub(config.type, widened(config, in[0]), in[1], mode_of(config));
}

uint64_t fma_mixed(const PureConfig& config, const uint64_t* in) {
  return float_fma(config.type, widened(config, in[0]), widened(config, in[1]), in[2], mode_of(config));
}

uint64_t div_float(const PureConfig& config, const uint64_t* in) {
  return float_div(config.type, in[0], in[1], mode_of(config));
}

uint64_t rcp_float(const PureConfig& config, const uint64_t* in) {
  const FormatShape shape = shape_of(config.type);
  const uint64_t one = static_cast<uint64_t>(shape.bias()) << shape.fraction_bits;
  return float_div(config.type, one, in[0], mode_of(config));
}

uint64_t sqrt_float(const PureConfig& config, const uint64_t* in) {
  return float_sqrt(config.type, in[0], mode_of(config));
}

uint64_t abs_float(const PureConfig& config, const uint64_t* in) {
  const uint64_t result = float_abs(config.type, in[0], config.ftz);
  if (config.type == ElementType::f64 || !is_nan(config.type, result)) return result;
  return canonical_nan(config.type);
}

uint64_t neg_float(const PureConfig& config, const uint64_t* in) {
  const uint64_t result = float_neg(config.type, in[0], config.ftz);
  if (config.type == ElementType::f64 || !is_nan(config.type, result)) return result;
  return canonical_nan(config.type);
}

uint64_t min_float(const PureConfig& config, const uint64_t* in) { return extreme_of_two(config, in, false); }
uint64_t max_float(const PureConfig& config, const uint64_t* in) { return extreme_of_two(config, in, true); }
uint64_t min3_float(const PureConfig& config, const uint64_t* in) {
  return extreme_of_three(config, in, false);
}
uint64_t max3_float(const PureConfig& config, const uint64_t* in) {
  return extreme_of_three(config, in, true);
}

uint64_t copy_sign(const PureConfig& config, const uint64_t* in) {
  const uint64_t sign = uint64_t{1} << (config.bits - 1);
  return (in[0] & sign) | (in[1] & ~sign);
}

uint64_t div_approximate(const PureConfig& config, const uint64_t* in) {
  return div_approx(word32(in[0]), word32(in[1]), config.ftz);
}

uint64_t div_full_range(const PureConfig& config, const uint64_t* in) {
  return div_full(word32(in[0]), word32(in[1]), config.ftz);
}

uint64_t rcp_approximate(const PureConfig& config, const uint64_t* in) {
  return config.ftz ? mufu_rcp(word32(in[0])) : rcp_approx(word32(in[0]));
}

uint64_t rsqrt_approximate(const PureConfig& config, const uint64_t* in) {
  return config.ftz ? mufu_rsqrt(word32(in[0])) : rsqrt_approx(word32(in[0]));
}

uint64_t ex2_approximate(const PureConfig& config, const uint64_t* in) {
  return config.ftz ? mufu_ex2(word32(in[0])) : ex2_approx(word32(in[0]));
}

uint64_t lg2_approximate(const PureConfig& config, const uint64_t* in) {
  return config.ftz ? mufu_lg2(word32(in[0])) : lg2_approx(word32(in[0]));
}

uint64_t sqrt_approximate(const PureConfig& config, const uint64_t* in) {
  return config.ftz ? mufu_sqrt(word32(in[0])) : sqrt_approx(word32(in[0]));
}

uint64_t sin_approximate(const PureConfig&, const uint64_t* in) { return sin_approx(word32(in[0])); }

uint64_t cos_approximate(const PureConfig&, const uint64_t* in) { return cos_approx(word32(in[0])); }

uint64_t rcp_high_half(const PureConfig&, const uint64_t* in) { return mufu_rcp64(in[0]); }

uint64_t rsqrt_high_half(const PureConfig&, const uint64_t* in) { return mufu_rsqrt64(in[0]); }

uint64_t ex2_half(const PureConfig& config, const uint64_t* in) {
  return half_of_mufu<mufu_ex2>(config, in[0]);
}

uint64_t tanh_approximate(const PureConfig& config, const uint64_t* in) {
  return config.type == ElementType::f32 ? mufu_tanh(word32(in[0])) : half_of_mufu<mufu_tanh>(config, in[0]);
}

}  // namespace turnstile::sim::lane
