// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/launch/launch.h"
#include "sim/program.h"
#include "sim/why.h"

namespace turnstile::golden {

/// An operand or a result: "0x3f800000", "1", and where it comes from: the number of a step, or words ("A[3,
/// 17]", "a constant").
struct PathValue {
  std::string bits;
  std::string value;  ///< empty where the bits stand for no number
  uint32_t step = 0;
  std::string from;
};

/// The products that a tensor core adds at once.
struct PathGroup {
  uint64_t first_k = 0, last_k = 0;  ///< of the chain of matrix operations
  PathValue before, after;
  std::optional<int> exponent;  ///< E: nothing of the sum below 2^(E - F) is kept; none of special values
  std::string largest;  ///< the product that has it: "A 0x3f80 (1) * B 0x4000 (2), k = 7"; or the accumulator
};

/// A chain of matrix operations on one element: one step of the path.
struct PathChain {
  uint64_t operations = 0;
  uint64_t k = 0;  ///< products in all
  unsigned group = 0;
  int fraction_bits = 0;
  std::string conversion;  ///< of the sum of a group: "cut to f32"
  std::string arithmetic;  ///< in words, where there are no such groups
  uint32_t row = 0, column = 0;
  std::string a_from, b_from;  ///< where the operands come from
  std::vector<PathGroup> groups;
};

struct PathStep {
  uint32_t number = 0;  ///< 1: the step that is nearest to the element
  std::string instruction;
  std::string ptx_place;  ///< "kernel.ptx:123"
  std::string source;     ///< "gemm.cu:141" if the PTX has line information, else empty
  std::string thread;     ///< "CTA (0, 1, 0) warp 4 lane 7"
  std::string rounding;   ///< in words; empty where nothing is rounded
  std::string where;      ///< of what touches memory
  PathValue result;
  std::vector<PathValue> operands;
  std::optional<PathChain> chain;
  uint32_t node = 0;  ///< in sim::Why
};

/// The steps of a Why that say something, numbered from the element backwards.
struct Path {
  std::vector<PathStep> steps;
  uint64_t more = 0;  ///< that are left out
};

/// At most `most` steps.
Path path_of(const sim::Why& why, const sim::Program& program, const Launch& launch, uint64_t most);

/// The bytes of a node's operand or result as a number.
uint64_t word_of(const std::vector<uint8_t>& bytes, size_t at, size_t count);

/// "C[3, 17]", from the offset of a byte in a buffer; of bytes between rows "C byte 1234".
std::string element_name(const Launch& launch, uint32_t buffer, uint64_t offset);

}  // namespace turnstile::golden
