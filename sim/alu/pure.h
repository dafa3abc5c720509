// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "model/ptx/program.h"
#include "sim/numerics/formats.h"

namespace turnstile::sim {

/// Register-to-register PTX instructions ("pure": the result depends on the source values and on nothing
/// else), as one table of forms plus one small function per lane. The warp machine around it fetches
/// operands, applies guards and writes destinations; `mov`, `cvta`, `isspacep`, `mapa` and everything that
/// looks at memory, other lanes or special registers is the machine's.

/// Comparison of setp and set. The second group is true when an operand is NaN (integers never are).
enum class Compare : uint8_t { eq, ne, lt, le, gt, ge, equ, neu, ltu, leu, gtu, geu, num, nan };

/// How setp and set combine the comparison with their third source.
enum class BoolOp : uint8_t { none, logical_and, logical_or, logical_xor };

/// prmt: what the selector operand means.
enum class PermuteMode : uint8_t { index, f4e, b4e, rc8, ecl, ecr, rc16 };

/// Modifiers of one instruction, decoded once. A lane function reads only what its form uses.
struct PureConfig {
  uint8_t bits = 32;         ///< width of one element of the operation's type
  uint8_t source_bits = 32;  ///< cvt, set, slct, wide multiplies: width of one element of the source type
  uint8_t lanes = 1;         ///< packed elements in a register: 2 for f16x2, bf16x2, f32x2
  bool is_signed = false;
  bool source_signed = false;
  ElementType type = ElementType::f32;         ///< float type of the operation or of the result
  ElementType source_type = ElementType::f32;  ///< float type of the sources, where it differs
  Rounding rounding = Rounding::nearest_even;
  bool round_integral = false;  ///< cvt .rni .rzi .rmi .rpi between floats
  bool ftz = false;             ///< flush subnormal inputs and results to signed zero
  bool saturate = false;        ///< .sat: integers clamp to the type, floats to [0, 1] with NaN giving +0
  bool satfinite = false;
  bool relu = false;
  bool nan = false;          ///< min, max .NaN: a NaN operand wins
  bool xorsign_abs = false;  ///< min, max .xorsign.abs
  bool wrap = false;         ///< shf .wrap; otherwise .clamp
  bool shiftamt = false;     ///< bfind .shiftamt
  Compare compare = Compare::eq;
  BoolOp bool_op = BoolOp::none;
  PermuteMode permute = PermuteMode::index;
  uint8_t test = 0;  ///< testp: bit set of number classes that give true (sim/alu/float_ops.cc)
};

/// `inputs` holds the sources as zero-extended register bits, `PureOp::inputs` of them in operand order
/// (after the destination). The result is zero-extended to the width of the destination.
using LaneFunction = uint64_t (*)(const PureConfig&, const uint64_t* inputs);

struct PureOp {
  LaneFunction run = nullptr;
  LaneFunction run_second =
      nullptr;  ///< second destination of a paired result (setp p|q, lop3 d|p), else null
  PureConfig config;
  uint8_t inputs = 0;                   ///< number of source operands, after the destination
  std::array<uint8_t, 6> input_bits{};  ///< width each source is read at; 1 for predicates
  std::array<bool, 6>
      input_is_float{};      ///< sources whose decimal float immediates are meant as this width's float
  uint8_t result_bits = 32;  ///< 1 for predicates
  uint8_t second_bits = 1;   ///< width of the second destination
  bool is_float = false;     ///< floating-point arithmetic: provenance hashes it; integer otherwise
  bool commutative =
      false;  ///< op(a, b, ...) == op(b, a, ...) bit for bit (add, mul, fma, min, max, and, ...)
};

/// `not_pure`: the root belongs to somebody else. `unsupported`: the root is ours, this form is not executed;
/// `why` then names the mnemonic and the reason. An unsupported form is never guessed (ptx.md PG30).
enum class PureLookup : uint8_t { found, not_pure, unsupported };

/// Looks the mnemonic up. Modifiers are matched as a set (ptx.md PG24); only the order of several types is
/// positional (destination type first). The operand count decides optional operands (setp's third source).
PureLookup find_pure(const ptx::Instruction& instruction, PureOp& out, std::string& why);

}  // namespace turnstile::sim
