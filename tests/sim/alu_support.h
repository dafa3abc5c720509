// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "sim/alu/pure.h"

/// One-instruction harness: a mnemonic and source words in, a result word out.
namespace turnstile::test {

inline ptx::Instruction instruction(std::string_view mnemonic, size_t sources, bool paired = false) {
  ptx::Instruction result;
  result.mnemonic = mnemonic;
  size_t start = 0;
  while (start <= mnemonic.size()) {
    const size_t end = std::min(mnemonic.find('.', start), mnemonic.size());
    result.modifiers.emplace_back(mnemonic.substr(start, end - start));
    start = end + 1;
  }
  result.operands.resize(1 + sources);
  for (ptx::Operand& operand : result.operands) operand.kind = ptx::OperandKind::reg;
  if (paired) result.operands.front().kind = ptx::OperandKind::paired;
  return result;
}

inline sim::PureOp lookup(std::string_view mnemonic, size_t sources, bool paired = false) {
  sim::PureOp op;
  std::string why;
  const sim::PureLookup found = sim::find_pure(instruction(mnemonic, sources, paired), op, why);
  INFO(mnemonic, " ", why);
  REQUIRE(found == sim::PureLookup::found);
  REQUIRE(op.inputs == sources);
  return op;
}

inline uint64_t run(std::string_view mnemonic, std::initializer_list<uint64_t> sources) {
  const sim::PureOp op = lookup(mnemonic, sources.size());
  const uint64_t result = op.run(op.config, sources.begin());
  INFO(mnemonic);
  if (op.result_bits < 64) REQUIRE((result >> op.result_bits) == 0);  // registers stay zero-extended
  return result;
}

inline uint64_t run_second(std::string_view mnemonic, std::initializer_list<uint64_t> sources) {
  const sim::PureOp op = lookup(mnemonic, sources.size(), true);
  REQUIRE((op.run_second != nullptr));
  return op.run_second(op.config, sources.begin());
}

/// Seeded words for comparisons with naive implementations (splitmix64).
class Words {
 public:
  explicit Words(uint64_t seed) : state_(seed) {}
  uint64_t next() {
    uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }

 private:
  uint64_t state_;
};

}  // namespace turnstile::test
