// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "sim/alu/pure.h"

namespace turnstile::sim {

struct FormFlags {
  bool commutative = false;
  bool floating = false;   ///< floating-point arithmetic (PureOp::is_float)
  bool contracts = false;  ///< may be fused by ptxas if no rounding modifier is written
};

/// One row of the table: everything that PTX allows under one set of rules.
struct Form {
  std::string_view root;
  /// Groups separated by blanks; a group lists alternatives, of which exactly one must stand in the mnemonic,
  /// or at most one if the group ends in `?`. Words outside all groups do not match.
  std::string_view modifiers;
  /// The allowed types, destination first; INT is any of u8 to s64.
  std::string_view types;
  /// RESULT=SOURCES, one letter each: t the register of the first type, s of the last type, w twice t, i 32
  /// bits, p predicate. A `+` at the end stands for one more predicate if a boolean operator is written, a
  /// `c` there for the carry flag, which is no operand; it is a result too if `cc` is written.
  std::string_view operands;
  LaneFunction run = nullptr;  ///< null: no exact model, the result is not predicted
  LaneFunction run_second = nullptr;
  FormFlags flags;
};

/// Why a form of our roots is not executed. `word` is a modifier or type of the mnemonic; empty matches all
/// forms.
struct Refusal {
  std::string_view root;
  std::string_view word;
  std::string_view reason;
};

std::span<const Form> pure_forms();
std::span<const Refusal> pure_refusals();

}  // namespace turnstile::sim
