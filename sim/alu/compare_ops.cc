// SPDX-License-Identifier: Apache-2.0
#include "sim/alu/compare_ops.h"

#include "sim/alu/lane.h"

namespace turnstile::sim::lane {

namespace {

/// Integers never are NaN, so the unordered forms (which no integer form admits) follow the ordered ones.
bool compare_integers(Comparison comparison, bool is_signed, unsigned bits, uint64_t a, uint64_t b) {
  const bool less = is_signed ? sign_extended(a, bits) < sign_extended(b, bits) : a < b;
  switch (comparison) {
    case Comparison::eq:
    case Comparison::equ:
      return a == b;
    case Comparison::ne:
    case Comparison::neu:
      return a != b;
    case Comparison::lt:
    case Comparison::ltu:
      return less;
    case Comparison::le:
    case Comparison::leu:
      return less || a == b;
    case Comparison::gt:
    case Comparison::gtu:
      return !less && a != b;
    case Comparison::ge:
    case Comparison::geu:
      return !less;
    case Comparison::num:
      return true;
    case Comparison::nan:
      return false;
  }
  return false;
}

bool combine(BoolOp op, bool compared, uint64_t predicate) {
  switch (op) {
    case BoolOp::none:
      return compared;
    case BoolOp::logical_and:
      return compared && predicate != 0;
    case BoolOp::logical_or:
      return compared || predicate != 0;
    case BoolOp::logical_xor:
      return compared != (predicate != 0);
  }
  return compared;
}

/// The third source; absent (and not read) without a boolean operator.
uint64_t third(const PureConfig& config, const uint64_t* in) {
  return config.bool_op == BoolOp::none ? 0 : in[2];
}

bool compare_elements(const PureConfig& config, ElementType type, const uint64_t* in, unsigned shift,
                      unsigned bits) {
  const uint64_t mask = low_mask(bits);
  return float_compare(type, config.compare, (in[0] >> shift) & mask, (in[1] >> shift) & mask, config.ftz);
}

uint64_t one_of(const PureConfig& config, bool is_float) {
  if (!is_float) return low_mask(config.bits);
  const FormatShape shape = shape_of(config.type);
  return static_cast<uint64_t>(shape.bias()) << shape.fraction_bits;
}

}  // namespace

uint64_t setp_integer(const PureConfig& config, const uint64_t* in) {
  const bool compared = compare_integers(config.compare, config.is_signed, config.bits, in[0], in[1]);
  return combine(config.bool_op, compared, third(config, in)) ? 1 : 0;
}

uint64_t setp_integer_second(const PureConfig& config, const uint64_t* in) {
  const bool compared = compare_integers(config.compare, config.is_signed, config.bits, in[0], in[1]);
  return combine(config.bool_op, !compared, third(config, in)) ? 1 : 0;
}

uint64_t setp_float(const PureConfig& config, const uint64_t* in) {
  const bool compared = compare_elements(config, config.type, in, 0, config.bits);
  return combine(config.bool_op, compared, third(config, in)) ? 1 : 0;
}

uint64_t setp_float_second(const PureConfig& config, const uint64_t* in) {
  const bool compared = config.lanes == 2
                            ? compare_elements(config, config.type, in, config.bits, config.bits)
                            : !compare_elements(config, config.type, in, 0, config.bits);
  return combine(config.bool_op, compared, third(config, in)) ? 1 : 0;
}

uint64_t set_integer(const PureConfig& config, const uint64_t* in) {
  const bool compared =
      compare_integers(config.compare, config.source_signed, config.source_bits, in[0], in[1]);
  return combine(config.bool_op, compared, third(config, in)) ? one_of(config, config.result_is_float) : 0;
}

uint64_t set_float(const PureConfig& config, const uint64_t* in) {
  const bool compared = compare_elements(config, config.source_type, in, 0, config.source_bits);
  return combine(config.bool_op, compared, third(config, in)) ? one_of(config, config.result_is_float) : 0;
}

uint64_t select(const PureConfig&, const uint64_t* in) { return in[2] != 0 ? in[0] : in[1]; }

uint64_t select_by_sign(const PureConfig&, const uint64_t* in) { return sign_bit(in[2], 32) ? in[1] : in[0]; }

uint64_t select_by_float(const PureConfig& config, const uint64_t* in) {
  return float_compare(ElementType::f32, Comparison::ge, in[2], 0, config.ftz) ? in[0] : in[1];
}

uint64_t test_property(const PureConfig& config, const uint64_t* in) {
  const FormatShape shape = shape_of(config.type);
  const Decoded number = decode(shape, in[0]);
  const bool finite = number.kind == NumberClass::zero || number.kind == NumberClass::finite;
  const bool subnormal =
      number.kind == NumberClass::finite && (number.significand >> shape.fraction_bits) == 0;
  bool holds = false;
  switch (config.test) {
    case NumberTest::finite:
      holds = finite;
      break;
    case NumberTest::infinite:
      holds = number.kind == NumberClass::infinite;
      break;
    case NumberTest::number:
      holds = number.kind != NumberClass::nan;
      break;
    case NumberTest::notanumber:
      holds = number.kind == NumberClass::nan;
      break;
    case NumberTest::normal:
      holds = finite && !subnormal;
      break;
    case NumberTest::subnormal:
      holds = subnormal;
      break;
  }
  return holds ? 1 : 0;
}

}  // namespace turnstile::sim::lane
