// SPDX-License-Identifier: Apache-2.0
#include "sim/alu/bit_ops.h"

#include <algorithm>
#include <array>
#include <bit>

#include "sim/alu/lane.h"

namespace turnstile::sim::lane {

namespace {

/// Shift amount of shf: 0 to 32 clamped, 0 to 31 wrapped.
unsigned funnel_amount(const PureConfig& config, uint64_t amount) {
  return static_cast<unsigned>(config.wrap ? amount & 31 : std::min<uint64_t>(amount, 32));
}

/// prmt modes but the default one: source byte of d.b0 to d.b3 for selectors 0 to 3.
using ByteChoice = std::array<std::array<uint8_t, 4>, 4>;

constexpr ByteChoice kForward4 = {{{0, 1, 2, 3}, {1, 2, 3, 4}, {2, 3, 4, 5}, {3, 4, 5, 6}}};
constexpr ByteChoice kBackward4 = {{{0, 7, 6, 5}, {1, 0, 7, 6}, {2, 1, 0, 7}, {3, 2, 1, 0}}};
constexpr ByteChoice kReplicate8 = {{{0, 0, 0, 0}, {1, 1, 1, 1}, {2, 2, 2, 2}, {3, 3, 3, 3}}};
constexpr ByteChoice kEdgeLeft = {{{0, 1, 2, 3}, {1, 1, 2, 3}, {2, 2, 2, 3}, {3, 3, 3, 3}}};
constexpr ByteChoice kEdgeRight = {{{0, 0, 0, 0}, {0, 1, 1, 1}, {0, 1, 2, 2}, {0, 1, 2, 3}}};
constexpr ByteChoice kReplicate16 = {{{0, 1, 0, 1}, {2, 3, 2, 3}, {0, 1, 0, 1}, {2, 3, 2, 3}}};

uint64_t byte_of(uint64_t bytes, unsigned index) { return (bytes >> (8 * index)) & 0xff; }

uint64_t chosen(const ByteChoice& choice, uint64_t bytes, uint64_t selector) {
  uint64_t result = 0;
  for (unsigned i = 0; i < 4; ++i) result |= byte_of(bytes, choice[selector & 3][i]) << (8 * i);
  return result;
}

/// Four nibbles select bytes; the high bit of a nibble replicates the sign of its byte.
uint64_t indexed(uint64_t bytes, uint64_t selector) {
  uint64_t result = 0;
  for (unsigned i = 0; i < 4; ++i) {
    const uint64_t control = (selector >> (4 * i)) & 0xf;
    uint64_t byte = byte_of(bytes, static_cast<unsigned>(control & 7));
    if ((control & 8) != 0) byte = (byte & 0x80) != 0 ? 0xff : 0;
    result |= byte << (8 * i);
  }
  return result;
}

}  // namespace

uint64_t bit_and(const PureConfig&, const uint64_t* in) { return in[0] & in[1]; }
uint64_t bit_or(const PureConfig&, const uint64_t* in) { return in[0] | in[1]; }
uint64_t bit_xor(const PureConfig&, const uint64_t* in) { return in[0] ^ in[1]; }
uint64_t bit_not(const PureConfig& config, const uint64_t* in) { return ~in[0] & low_mask(config.bits); }
uint64_t logical_not(const PureConfig&, const uint64_t* in) { return in[0] == 0 ? 1 : 0; }

uint64_t lop3(const PureConfig& config, const uint64_t* in) {
  const uint64_t mask = low_mask(config.bits);
  uint64_t result = 0;
  for (unsigned row = 0; row < 8; ++row) {
    if (((in[3] >> row) & 1) == 0) continue;
    const uint64_t a = (row & 4) != 0 ? in[0] : ~in[0];
    const uint64_t b = (row & 2) != 0 ? in[1] : ~in[1];
    const uint64_t c = (row & 1) != 0 ? in[2] : ~in[2];
    result |= a & b & c;
  }
  return result & mask;
}

uint64_t lop3_predicate(const PureConfig& config, const uint64_t* in) {
  const uint64_t any = lop3(config, in) != 0 ? 1 : 0;
  return config.bool_op == BoolOp::logical_or ? any | in[4] : any & in[4];
}

uint64_t shift_left(const PureConfig& config, const uint64_t* in) {
  if (in[1] >= config.bits) return 0;
  return (in[0] << in[1]) & low_mask(config.bits);
}

uint64_t shift_right(const PureConfig& config, const uint64_t* in) {
  if (config.is_signed) {
    const uint64_t amount = std::min<uint64_t>(in[1], config.bits - 1u);
    return static_cast<uint64_t>(sign_extended(in[0], config.bits) >> amount) & low_mask(config.bits);
  }
  return in[1] >= config.bits ? 0 : in[0] >> in[1];
}

uint64_t funnel_left(const PureConfig& config, const uint64_t* in) {
  const uint64_t both = (in[1] << 32) | in[0];
  return (both >> (32 - funnel_amount(config, in[2]))) & low_mask(32);
}

uint64_t funnel_right(const PureConfig& config, const uint64_t* in) {
  const uint64_t both = (in[1] << 32) | in[0];
  return (both >> funnel_amount(config, in[2])) & low_mask(32);
}

uint64_t field_extract(const PureConfig& config, const uint64_t* in) {
  const unsigned top = config.bits - 1u;
  const auto position = static_cast<unsigned>(in[1] & 0xff);
  const auto length = static_cast<unsigned>(in[2] & 0xff);
  const bool fill =
      config.is_signed && length != 0 && ((in[0] >> std::min(position + length - 1, top)) & 1) != 0;
  const uint64_t mask = low_mask(config.bits);
  const uint64_t outside = fill ? mask : 0;
  // Bits of the field that lie above the register read as fill, like those above the field.
  const unsigned available = position > top ? 0 : std::min(length, config.bits - position);
  const uint64_t field = available == 0 ? 0 : (in[0] >> position) & low_mask(available);
  return field | (outside & ~low_mask(available));
}

uint64_t field_insert(const PureConfig& config, const uint64_t* in) {
  const auto position = static_cast<unsigned>(in[2] & 0xff);
  const auto length = static_cast<unsigned>(in[3] & 0xff);
  if (position >= config.bits || length == 0) return in[1];
  const uint64_t field = (low_mask(std::min(length, 64u)) << position) & low_mask(config.bits);
  return (in[1] & ~field) | ((in[0] << position) & field);
}

uint64_t find_leading(const PureConfig& config, const uint64_t* in) {
  uint64_t word = in[0];
  if (config.is_signed && sign_bit(word, config.bits)) word = ~word & low_mask(config.bits);
  if (word == 0) return low_mask(32);
  const auto position = static_cast<uint64_t>(63 - std::countl_zero(word));
  return config.shiftamt ? config.bits - 1u - position : position;
}

uint64_t find_nth_set(const PureConfig&, const uint64_t* in) {
  const int64_t base = sign_extended(in[1], 32);
  const int64_t offset = sign_extended(in[2], 32);
  if (base < 0 || base > 31) return low_mask(32);
  if (offset == 0) return ((in[0] >> base) & 1) != 0 ? static_cast<uint64_t>(base) : low_mask(32);
  const int64_t step = offset > 0 ? 1 : -1;
  int64_t wanted = offset > 0 ? offset : -offset;
  for (int64_t position = base; position >= 0 && position < 32; position += step) {
    if (((in[0] >> position) & 1) != 0 && --wanted == 0) return static_cast<uint64_t>(position);
  }
  return low_mask(32);
}

uint64_t reverse(const PureConfig& config, const uint64_t* in) {
  uint64_t result = 0;
  for (unsigned i = 0; i < config.bits; ++i) result |= ((in[0] >> i) & 1) << (config.bits - 1u - i);
  return result;
}

uint64_t population(const PureConfig&, const uint64_t* in) {
  return static_cast<uint64_t>(std::popcount(in[0]));
}

uint64_t leading_zeros(const PureConfig& config, const uint64_t* in) {
  return static_cast<uint64_t>(std::countl_zero(in[0])) - (64u - config.bits);
}

uint64_t bit_mask(const PureConfig& config, const uint64_t* in) {
  uint64_t position = in[0];
  uint64_t width = in[1];
  if (config.wrap) {
    position &= 31;
    width &= 31;
  }
  if (position >= 32) return 0;
  return (low_mask(static_cast<unsigned>(std::min<uint64_t>(width, 32))) << position) & low_mask(32);
}

uint64_t extend_field(const PureConfig& config, const uint64_t* in) {
  uint64_t width = in[1];
  if (config.wrap) width &= 31;
  if (width >= 32) return in[0];
  if (width == 0) return 0;
  const uint64_t field = in[0] & low_mask(static_cast<unsigned>(width));
  if (!config.is_signed) return field;
  return static_cast<uint64_t>(sign_extended(field, static_cast<unsigned>(width))) & low_mask(32);
}

uint64_t permute(const PureConfig& config, const uint64_t* in) {
  const uint64_t bytes = (in[1] << 32) | in[0];
  switch (config.permute) {
    case PermuteMode::index:
      return indexed(bytes, in[2]);
    case PermuteMode::f4e:
      return chosen(kForward4, bytes, in[2]);
    case PermuteMode::b4e:
      return chosen(kBackward4, bytes, in[2]);
    case PermuteMode::rc8:
      return chosen(kReplicate8, bytes, in[2]);
    case PermuteMode::ecl:
      return chosen(kEdgeLeft, bytes, in[2]);
    case PermuteMode::ecr:
      return chosen(kEdgeRight, bytes, in[2]);
    case PermuteMode::rc16:
      return chosen(kReplicate16, bytes, in[2]);
  }
  return 0;
}

}  // namespace turnstile::sim::lane
