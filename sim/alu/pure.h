// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "model/ptx/program.h"
#include "sim/numerics/formats.h"
#include "sim/numerics/scalar.h"

namespace turnstile::sim {

/// Register-to-register PTX instructions ("pure": the result depends on the source values and on nothing
/// else), as one table of forms plus one small function per lane. The warp machine around it fetches
/// operands, applies guards and writes destinations; `mov`, `cvta`, `isspacep`, `mapa` and everything that
/// looks at memory, other lanes or special registers is the machine's.

/// How setp and set combine the comparison with their third source.
enum class BoolOp : uint8_t { none, logical_and, logical_or, logical_xor };

/// prmt: what the selector operand means.
enum class PermuteMode : uint8_t { index, f4e, b4e, rc8, ecl, ecr, rc16 };

/// What testp asks of a float; zeros count as normal.
enum class NumberTest : uint8_t { finite, infinite, number, notanumber, normal, subnormal };

/// Formats of fewer than 8 bits, in cvt only.
enum class MinifloatType : uint8_t { e2m1, e2m3, e3m2 };

/// Modifiers of one instruction, decoded once. A lane function reads only what its form uses.
struct PureConfig {
  uint8_t bits = 32;             ///< width of one element of the operation's type
  uint8_t source_bits = 32;      ///< cvt, set, slct, wide multiplies: width of one element of the source type
  uint8_t lanes = 1;             ///< packed elements in a register: 2 for f16x2, bf16x2, f32x2
  bool result_is_float = false;  ///< set: true is 1.0 rather than all ones
  bool is_signed = false;
  bool source_signed = false;
  ElementType type = ElementType::f32;         ///< float type of the operation or of the result
  ElementType source_type = ElementType::f32;  ///< float type of the sources, where it differs
  Rounding rounding = Rounding::nearest_even;
  bool host_f32 = false;  ///< f32 arithmetic to nearest even without .sat: sim/numerics/fast_f32.h serves it
  bool ftz = false;       ///< flush subnormal inputs and results to signed zero
  bool saturate = false;  ///< .sat: integers clamp to the type, floats to [0, 1] with NaN giving +0
  bool satfinite = false;
  bool relu = false;
  bool nan = false;                     ///< min, max .NaN: a NaN operand wins
  bool absolute = false;                ///< min, max .abs: magnitudes are compared
  bool xorsign = false;                 ///< min, max .xorsign.abs: sign of the result is the xor of the signs
  bool wrap = false;                    ///< shf .wrap; otherwise .clamp
  bool shiftamt = false;                ///< bfind .shiftamt
  Comparison compare = Comparison::eq;  ///< setp, set; lo, ls, hi, hs are lt, le, gt, ge of unsigned types
  BoolOp bool_op = BoolOp::none;
  PermuteMode permute = PermuteMode::index;
  NumberTest test = NumberTest::finite;
  MinifloatType minifloat = MinifloatType::e2m1;
};

/// `inputs` holds the sources as zero-extended register bits, `PureOp::inputs` of them in operand order
/// (after the destination). The result is zero-extended to the width of the destination.
using LaneFunction = uint64_t (*)(const PureConfig&, const uint64_t* inputs);

struct PureOp {
  LaneFunction run = nullptr;  ///< null: executed, but its result is unknown for lack of an exact model
  LaneFunction run_second =
      nullptr;  ///< second destination of a paired result (setp p|q, lop3 d|p), or the carry; else null
  PureConfig config;
  uint8_t inputs = 0;                   ///< number of source operands, after the destination
  std::array<uint8_t, 6> input_bits{};  ///< width each source is read at; 1 for predicates
  std::array<bool, 6>
      input_is_float{};      ///< sources whose decimal float immediates are meant as this width's float
  uint8_t result_bits = 32;  ///< 1 for predicates
  uint8_t second_bits = 1;   ///< width of the second destination
  bool result_is_signed =
      false;  ///< a wider destination register gets the result sign-extended (cvt), else zero-extended
  bool is_float = false;  ///< floating-point arithmetic: provenance hashes it; integer otherwise
  /// mul, add, sub without a rounding modifier: ptxas may fuse them (numerics.md O2). We execute what is
  /// written.
  bool may_contract = false;
  bool commutative =
      false;  ///< op(a, b, ...) == op(b, a, ...) bit for bit (add, mul, fma, min, max, and, ...)
  // The condition code register, which no operand names (PTX ISA 9.7.2): the machine has a register for it.
  bool reads_carry = false;   ///< it is the last of the inputs
  bool writes_carry = false;  ///< run_second gives it
};

/// `not_pure`: the root belongs to somebody else. `unsupported`: the root is ours, this form is not executed;
/// `why` then names the mnemonic and the reason. An unsupported form is never guessed (ptx.md PG30).
enum class PureLookup : uint8_t { found, not_pure, unsupported };

/// Looks the mnemonic up. Modifiers are matched as a set (ptx.md PG24); only the order of several types is
/// positional (destination type first). The operand count decides optional operands (setp's third source).
PureLookup find_pure(const ptx::Instruction& instruction, PureOp& out, std::string& why);

}  // namespace turnstile::sim
