// SPDX-License-Identifier: Apache-2.0
#include "sim/alu/integer_ops.h"

#include "sim/alu/lane.h"

namespace turnstile::sim::lane {

namespace {

using Wide = __int128;

/// The source as the number it stands for.
Wide value(const PureConfig& config, uint64_t word) {
  return config.is_signed ? Wide{sign_extended(word, config.bits)} : Wide{word};
}

uint64_t wrapped(const PureConfig& config, Wide number) {
  return static_cast<uint64_t>(number) & low_mask(config.bits);
}

/// Clamps to the signed range of the type; .sat exists for s32 only.
uint64_t clamped(const PureConfig& config, Wide number) {
  const Wide top = (Wide{1} << (config.bits - 1)) - 1;
  if (number > top) number = top;
  if (number < -top - 1) number = -top - 1;
  return wrapped(config, number);
}

Wide product(const PureConfig& config, const uint64_t* in) {
  // Unsigned 64-bit factors need all 128 bits; the bit pattern is the same whatever the sign.
  return static_cast<Wide>(static_cast<unsigned __int128>(value(config, in[0])) *
                           static_cast<unsigned __int128>(value(config, in[1])));
}

Wide high_half(const PureConfig& config, const uint64_t* in) {
  const auto bits = static_cast<unsigned __int128>(product(config, in)) >> config.bits;
  const uint64_t word = static_cast<uint64_t>(bits) & low_mask(config.bits);
  return value(config, word);
}

/// 48-bit product of the low 24 bits of two 32-bit registers.
uint64_t product24(const PureConfig& config, const uint64_t* in) {
  if (!config.is_signed) return (in[0] & low_mask(24)) * (in[1] & low_mask(24));
  return static_cast<uint64_t>(sign_extended(in[0], 24) * sign_extended(in[1], 24));
}

int64_t part(uint64_t word, unsigned index, unsigned bits, bool is_signed) {
  const uint64_t piece = (word >> (index * bits)) & low_mask(bits);
  return is_signed ? sign_extended(piece, bits) : static_cast<int64_t>(piece);
}

uint64_t dp2a(const PureConfig& config, const uint64_t* in, unsigned first) {
  int64_t sum = static_cast<int64_t>(in[2]);
  for (unsigned i = 0; i < 2; ++i)
    sum += part(in[0], i, 16, config.is_signed) * part(in[1], first + i, 8, config.source_signed);
  return static_cast<uint64_t>(sum) & low_mask(32);
}

bool less(const PureConfig& config, uint64_t a, uint64_t b) {
  return config.is_signed ? sign_extended(a, config.bits) < sign_extended(b, config.bits) : a < b;
}

uint64_t integer_relu(const PureConfig& config, uint64_t word) {
  return config.relu && sign_bit(word, config.bits) ? 0 : word;
}

}  // namespace

uint64_t add(const PureConfig& config, const uint64_t* in) { return (in[0] + in[1]) & low_mask(config.bits); }

uint64_t add_saturating(const PureConfig& config, const uint64_t* in) {
  return clamped(config, value(config, in[0]) + value(config, in[1]));
}

uint64_t sub(const PureConfig& config, const uint64_t* in) { return (in[0] - in[1]) & low_mask(config.bits); }

uint64_t sub_saturating(const PureConfig& config, const uint64_t* in) {
  return clamped(config, value(config, in[0]) - value(config, in[1]));
}

uint64_t mul_low(const PureConfig& config, const uint64_t* in) {
  return (in[0] * in[1]) & low_mask(config.bits);
}

uint64_t mul_high(const PureConfig& config, const uint64_t* in) {
  return wrapped(config, high_half(config, in));
}

uint64_t mul_wide(const PureConfig& config, const uint64_t* in) {
  return static_cast<uint64_t>(product(config, in)) & low_mask(2u * config.bits);
}

uint64_t mad_low(const PureConfig& config, const uint64_t* in) {
  return (in[0] * in[1] + in[2]) & low_mask(config.bits);
}

uint64_t mad_high(const PureConfig& config, const uint64_t* in) {
  const Wide sum = high_half(config, in) + value(config, in[2]);
  return config.saturate ? clamped(config, sum) : wrapped(config, sum);
}

uint64_t mad_wide(const PureConfig& config, const uint64_t* in) {
  return (mul_wide(config, in) + in[2]) & low_mask(2u * config.bits);
}

namespace {

/// A sum of two words and a bit: the word of the type's width, and what it carries out of it.
struct CarrySum {
  uint64_t word;
  uint64_t carry;
};
CarrySum carry_sum(const PureConfig& config, uint64_t a, uint64_t b, uint64_t carry) {
  const uint64_t mask = low_mask(config.bits);
  const uint64_t partial = (a + b) & mask, word = (partial + carry) & mask;
  return {word, partial < a || word < partial ? 1u : 0u};  // both at once cannot be
}

}  // namespace

template <bool carries_in>
uint64_t add_carry(const PureConfig& config, const uint64_t* in) {
  return carry_sum(config, in[0], in[1], carries_in ? in[2] : 0).word;
}
template <bool carries_in>
uint64_t add_carry_out(const PureConfig& config, const uint64_t* in) {
  return carry_sum(config, in[0], in[1], carries_in ? in[2] : 0).carry;
}
template <bool carries_in>
uint64_t sub_borrow(const PureConfig& config, const uint64_t* in) {
  return (in[0] - in[1] - (carries_in && in[2] == 0 ? 1 : 0)) & low_mask(config.bits);
}
template <bool carries_in>
uint64_t sub_borrow_out(const PureConfig&, const uint64_t* in) {
  return in[0] < in[1] || (carries_in && in[2] == 0 && in[0] == in[1]) ? 0 : 1;
}
template <bool carries_in>
uint64_t mad_low_carry(const PureConfig& config, const uint64_t* in) {
  return carry_sum(config, mul_low(config, in), in[2], carries_in ? in[3] : 0).word;
}
template <bool carries_in>
uint64_t mad_low_carry_out(const PureConfig& config, const uint64_t* in) {
  return carry_sum(config, mul_low(config, in), in[2], carries_in ? in[3] : 0).carry;
}
template <bool carries_in>
uint64_t mad_high_carry(const PureConfig& config, const uint64_t* in) {
  return carry_sum(config, mul_high(config, in), in[2], carries_in ? in[3] : 0).word;
}
template <bool carries_in>
uint64_t mad_high_carry_out(const PureConfig& config, const uint64_t* in) {
  return carry_sum(config, mul_high(config, in), in[2], carries_in ? in[3] : 0).carry;
}

template uint64_t add_carry<false>(const PureConfig& config, const uint64_t* in);
template uint64_t add_carry<true>(const PureConfig& config, const uint64_t* in);
template uint64_t add_carry_out<false>(const PureConfig& config, const uint64_t* in);
template uint64_t add_carry_out<true>(const PureConfig& config, const uint64_t* in);
template uint64_t sub_borrow<false>(const PureConfig& config, const uint64_t* in);
template uint64_t sub_borrow<true>(const PureConfig& config, const uint64_t* in);
template uint64_t sub_borrow_out<false>(const PureConfig& config, const uint64_t* in);
template uint64_t sub_borrow_out<true>(const PureConfig& config, const uint64_t* in);
template uint64_t mad_low_carry<false>(const PureConfig& config, const uint64_t* in);
template uint64_t mad_low_carry<true>(const PureConfig& config, const uint64_t* in);
template uint64_t mad_low_carry_out<false>(const PureConfig& config, const uint64_t* in);
template uint64_t mad_low_carry_out<true>(const PureConfig& config, const uint64_t* in);
template uint64_t mad_high_carry<false>(const PureConfig& config, const uint64_t* in);
template uint64_t mad_high_carry<true>(const PureConfig& config, const uint64_t* in);
template uint64_t mad_high_carry_out<false>(const PureConfig& config, const uint64_t* in);
template uint64_t mad_high_carry_out<true>(const PureConfig& config, const uint64_t* in);

uint64_t mul24_low(const PureConfig& config, const uint64_t* in) {
  return product24(config, in) & low_mask(32);
}

uint64_t mul24_high(const PureConfig& config, const uint64_t* in) {
  return (product24(config, in) >> 16) & low_mask(32);
}

uint64_t mad24_low(const PureConfig& config, const uint64_t* in) {
  return (mul24_low(config, in) + in[2]) & low_mask(32);
}

uint64_t mad24_high(const PureConfig& config, const uint64_t* in) {
  const Wide sum = value(config, mul24_high(config, in)) + value(config, in[2]);
  return config.saturate ? clamped(config, sum) : wrapped(config, sum);
}

uint64_t sad(const PureConfig& config, const uint64_t* in) {
  const uint64_t distance = less(config, in[0], in[1]) ? in[1] - in[0] : in[0] - in[1];
  return (in[2] + distance) & low_mask(config.bits);
}

uint64_t divide(const PureConfig& config, const uint64_t* in) {
  if (in[1] == 0) return low_mask(config.bits);
  if (!config.is_signed) return in[0] / in[1];
  const int64_t divisor = sign_extended(in[1], config.bits);
  if (divisor == -1) return negate(config, in);
  return static_cast<uint64_t>(sign_extended(in[0], config.bits) / divisor) & low_mask(config.bits);
}

uint64_t remainder(const PureConfig& config, const uint64_t* in) {
  if (in[1] == 0) return low_mask(config.bits);
  if (!config.is_signed) return in[0] % in[1];
  const int64_t divisor = sign_extended(in[1], config.bits);
  if (divisor == -1) return 0;
  return static_cast<uint64_t>(sign_extended(in[0], config.bits) % divisor) & low_mask(config.bits);
}

uint64_t absolute(const PureConfig& config, const uint64_t* in) {
  return sign_bit(in[0], config.bits) ? negate(config, in) : in[0];
}

uint64_t negate(const PureConfig& config, const uint64_t* in) { return (0 - in[0]) & low_mask(config.bits); }

uint64_t minimum(const PureConfig& config, const uint64_t* in) {
  return integer_relu(config, less(config, in[1], in[0]) ? in[1] : in[0]);
}

uint64_t maximum(const PureConfig& config, const uint64_t* in) {
  return integer_relu(config, less(config, in[0], in[1]) ? in[1] : in[0]);
}

uint64_t dp4a(const PureConfig& config, const uint64_t* in) {
  int64_t sum = static_cast<int64_t>(in[2]);
  for (unsigned i = 0; i < 4; ++i)
    sum += part(in[0], i, 8, config.is_signed) * part(in[1], i, 8, config.source_signed);
  return static_cast<uint64_t>(sum) & low_mask(32);
}

uint64_t dp2a_low(const PureConfig& config, const uint64_t* in) { return dp2a(config, in, 0); }
uint64_t dp2a_high(const PureConfig& config, const uint64_t* in) { return dp2a(config, in, 2); }

}  // namespace turnstile::sim::lane
