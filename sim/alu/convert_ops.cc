// SPDX-License-Identifier: Apache-2.0
#include "sim/alu/convert_ops.h"

#include "sim/alu/lane.h"
#include "sim/numerics/conversions.h"
#include "sim/numerics/fast_f32.h"
#include "sim/numerics/scalar.h"

namespace turnstile::sim::lane {

namespace {

using Wide = __int128;

uint64_t sign_mask(ElementType type) { return uint64_t{1} << (shape_of(type).width() - 1); }

/// Adding -0 changes no number: this applies .ftz and .sat and makes a NaN canonical.
uint64_t finished(ElementType type, uint64_t word, bool ftz, bool saturate) {
  return float_add(type, word, sign_mask(type), {Rounding::nearest_even, ftz, saturate});
}

/// .ftz concerns f32 only, on whichever side it stands. An H200 ignores it on the way to f16, where all of
/// these round to zero or to the smallest number anyhow (docs/numerics.md).
uint64_t source_word(const PureConfig& config, uint64_t word) {
  if (!config.ftz || config.source_type != ElementType::f32 || config.type == ElementType::f16) return word;
  return finished(ElementType::f32, word, true, false);
}

uint64_t relu(const PureConfig& config, uint64_t word) {
  if (!config.relu || decode(config.type, word).kind == NumberClass::nan) return word;
  return (word & sign_mask(config.type)) != 0 ? 0 : word;
}

/// The one conversion that epilogues spend their time in.
bool plain_bf16(const PureConfig& config) {
  return config.type == ElementType::bf16 && config.source_type == ElementType::f32 &&
         config.rounding == Rounding::nearest_even && !config.satfinite && !config.relu && !config.ftz;
}

uint64_t converted(const PureConfig& config, uint64_t word) {
  if (plain_bf16(config)) return fast::bf16_from_f32(static_cast<uint32_t>(word));
  const Overflow overflow = config.satfinite ? Overflow::saturate : Overflow::ieee;
  return relu(config, convert_float(source_word(config, word), config.source_type, config.type,
                                    config.rounding, overflow));
}

// Minifloats. All bits of a word below the sign count up through the numbers, so a number is rounded on the
// grid of a format with the same fraction whose smallest exponent is moved to ours, and the fields are then
// cut at the largest.

struct Minifloat {
  int exponent_bits;
  int fraction_bits;
  int minimum_exponent() const { return 2 - (1 << (exponent_bits - 1)); }
  unsigned sign_position() const { return static_cast<unsigned>(exponent_bits + fraction_bits); }
  uint64_t largest() const { return low_mask(sign_position()); }
};

Minifloat minifloat(MinifloatType type) {
  switch (type) {
    case MinifloatType::e2m1:
      return {2, 1};
    case MinifloatType::e2m3:
      return {2, 3};
    case MinifloatType::e3m2:
      return {3, 2};
  }
  return {2, 1};
}

uint64_t encoded(const PureConfig& config, uint64_t word) {
  const Minifloat target = minifloat(config.minifloat);
  const FormatShape source = shape_of(config.source_type);
  const Decoded number = decode(source, word);
  if (number.kind == NumberClass::nan) return target.largest();
  if (config.relu && number.negative) return 0;
  const uint64_t sign = uint64_t{number.negative} << target.sign_position();
  if (number.kind == NumberClass::infinite) return sign | target.largest();
  const FormatShape grid{8, target.fraction_bits};
  Exact value = exact_value(source, number);
  value.negative = false;
  value.exponent += grid.minimum_exponent() - target.minimum_exponent();
  const uint64_t fields = round_to_format(value, grid, config.rounding);
  return sign | (fields > target.largest() ? target.largest() : fields);
}

uint64_t decoded(const PureConfig& config, uint64_t word) {
  const Minifloat source = minifloat(config.minifloat);
  const bool negative = ((word >> source.sign_position()) & 1) != 0;
  if (config.relu && negative) return 0;
  const uint64_t fraction = word & low_mask(static_cast<unsigned>(source.fraction_bits));
  const auto field = static_cast<int>((word & source.largest()) >> source.fraction_bits);
  const uint64_t leading = field == 0 ? 0 : uint64_t{1} << source.fraction_bits;
  const int exponent = source.minimum_exponent() + (field == 0 ? 0 : field - 1) - source.fraction_bits;
  return round_to_format({negative, fraction | leading, exponent}, shape_of(config.type),
                         Rounding::nearest_even);
}

/// ue8m0 holds powers of two, 2^(word - 127); 0xff is NaN. The sign of the source is ignored.
uint64_t scale(const PureConfig& config, uint64_t word) {
  const FormatShape shape = shape_of(config.source_type);
  const auto fraction_bits = static_cast<unsigned>(shape.fraction_bits);
  const uint64_t magnitude = word & (sign_mask(config.source_type) - 1);
  uint64_t exponent = magnitude >> fraction_bits;
  const uint64_t fraction = magnitude & low_mask(fraction_bits);
  if (exponent == 0xff) return fraction == 0 && config.satfinite ? 0xfe : 0xff;
  // The subnormals up to 2^-127 round up to 2^-127, which is word 0.
  const bool above = exponent != 0 || fraction > (uint64_t{1} << (fraction_bits - 1));
  if (config.rounding == Rounding::up && fraction != 0 && above) ++exponent;
  return exponent == 0xff && config.satfinite ? 0xfe : exponent;
}

uint64_t unscaled(uint64_t word) {
  if (word == 0xff) return canonical_nan(ElementType::bf16);
  return word == 0 ? 0x0040 : word << 7;
}

using Element = uint64_t (*)(const PureConfig&, uint64_t);

template <Element Convert>
uint64_t pair_of(const PureConfig& config, uint64_t high, uint64_t low) {
  // Six-bit elements lie in bytes.
  const unsigned stride = config.bits == 6 ? 8 : config.bits;
  return (Convert(config, high) << stride) | Convert(config, low);
}

template <Element Convert>
uint64_t pair_from(const PureConfig& config, uint64_t packed) {
  const unsigned stride = config.source_bits == 6 ? 8 : config.source_bits;
  const uint64_t mask = low_mask(config.source_bits);
  return pair_of<Convert>(config, (packed >> stride) & mask, packed & mask);
}

uint64_t unscaled_element(const PureConfig&, uint64_t word) { return unscaled(word); }

}  // namespace

uint64_t integer_to_integer(const PureConfig& config, const uint64_t* in) {
  const uint64_t mask = low_mask(config.bits);
  if (!config.saturate)
    return (config.source_signed ? static_cast<uint64_t>(sign_extended(in[0], config.source_bits)) : in[0]) &
           mask;
  Wide value = config.source_signed ? Wide{sign_extended(in[0], config.source_bits)} : Wide{in[0]};
  const Wide top = config.is_signed ? Wide{mask >> 1} : Wide{mask};
  const Wide bottom = config.is_signed ? -top - 1 : Wide{0};
  if (value > top) value = top;
  if (value < bottom) value = bottom;
  return static_cast<uint64_t>(value) & mask;
}

uint64_t float_to_integer(const PureConfig& config, const uint64_t* in) {
  const uint64_t word = source_word(config, in[0]);
  if ((word & ~sign_mask(config.source_type)) == 0) return 0;
  return integer_from_float(word, config.source_type, config.rounding, config.bits, config.is_signed) &
         low_mask(config.bits);
}

uint64_t integer_to_float(const PureConfig& config, const uint64_t* in) {
  const bool negative = config.source_signed && sign_bit(in[0], config.source_bits);
  const uint64_t magnitude = negative ? (0 - in[0]) & low_mask(config.source_bits) : in[0];
  const uint64_t word = float_from_integer(negative, magnitude, config.type, config.rounding);
  return config.saturate ? finished(config.type, word, false, true) : word;
}

uint64_t float_to_float(const PureConfig& config, const uint64_t* in) {
  const bool ftz = config.ftz && config.type == ElementType::f32;
  uint64_t word = in[0];
  // A bare widening of bf16 is a shift and keeps NaN payloads; one type to itself is a move.
  if (config.type == ElementType::f32 && config.source_type == ElementType::bf16)
    word = f32_from_bf16(static_cast<uint16_t>(word));
  else if (config.type != config.source_type)
    word = converted(config, word);
  const bool keeps_nan = config.source_type == ElementType::f64 && !config.saturate &&
                         decode(config.type, word).kind == NumberClass::nan;
  return (ftz || config.saturate) && !keeps_nan ? finished(config.type, word, ftz, config.saturate) : word;
}

uint64_t float_to_integral(const PureConfig& config, const uint64_t* in) {
  const FormatShape shape = shape_of(config.type);
  const bool ftz = config.ftz && config.type == ElementType::f32;
  const uint64_t word = finished(config.type, in[0], ftz, false);
  const Decoded number = decode(shape, word);
  uint64_t result = word;
  if (number.kind == NumberClass::finite && number.exponent < shape.fraction_bits) {
    const auto whole = static_cast<int64_t>(integer_from_float(word, config.type, config.rounding, 64, true));
    const auto magnitude = static_cast<uint64_t>(whole < 0 ? -whole : whole);
    result = float_from_integer(false, magnitude, config.type, Rounding::nearest_even) |
             (word & sign_mask(config.type));
  }
  return config.saturate ? finished(config.type, result, false, true) : result;
}

uint64_t tf32_nearest_away(const PureConfig&, const uint64_t* in) {
  const bool finite = (in[0] & 0x7fffffffu) < 0x7f800000u;
  return (finite ? in[0] + 0x1000u : in[0]) & 0xffffe000u;
}

uint64_t pack_pair(const PureConfig& config, const uint64_t* in) {
  return pair_of<converted>(config, in[0], in[1]);
}

uint64_t convert_pair(const PureConfig& config, const uint64_t* in) {
  return pair_from<converted>(config, in[0]);
}

uint64_t pack_minifloat(const PureConfig& config, const uint64_t* in) {
  return pair_of<encoded>(config, in[0], in[1]);
}

uint64_t convert_to_minifloat(const PureConfig& config, const uint64_t* in) {
  return pair_from<encoded>(config, in[0]);
}

uint64_t convert_from_minifloat(const PureConfig& config, const uint64_t* in) {
  return pair_from<decoded>(config, in[0]);
}

uint64_t pack_scale(const PureConfig& config, const uint64_t* in) {
  return pair_of<scale>(config, in[0], in[1]);
}

uint64_t convert_to_scale(const PureConfig& config, const uint64_t* in) {
  return pair_from<scale>(config, in[0]);
}

uint64_t convert_from_scale(const PureConfig& config, const uint64_t* in) {
  return pair_from<unscaled_element>(config, in[0]);
}

}  // namespace turnstile::sim::lane
