// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/result.h"
#include "sim/alu/pure.h"
#include "sim/reduction.h"

namespace turnstile {

/// What a GPU gave for one form of kernels/probes/numerics/forms.txt: a checksum for each block of 2^log2
/// indexes.
struct SweepRecord {
  std::string domain;    ///< all32, high32, all16, random, global, shared, bulk
  std::string mnemonic;  ///< "cvt.rn.f16.f32"
  unsigned operands = 1;
  unsigned log2 = 0;
  uint64_t weighted = 0;  ///< over all blocks: sum of result * (index | 1)
  std::vector<uint64_t> sums;
  unsigned digits = 16;  ///< 16: the sums modulo 2^64; 8: both halves of them, xored

  uint64_t indexes() const { return uint64_t{sums.size()} << log2; }
};

/// Reads golden/records/numerics/sweeps.txt (its README says how it looks).
Result<std::vector<SweepRecord>> read_sweeps(const std::string& path);

/// The simulator's function for a form: operands of an index in, the word that the probe's kernel summed out.
class SweepModel {
 public:
  /// Nothing: the simulator does not predict this form; `why` says so.
  static std::optional<SweepModel> of(const SweepRecord& record, std::string& why);

  uint64_t result(uint64_t index) const;

 private:
  uint64_t operand(unsigned position, uint64_t index) const;

  std::string domain_, source_;
  bool packed_ = false;  ///< two elements in one register
  unsigned operands_ = 1;
  sim::PureOp op_;
  unsigned extended_ = 0;  ///< results of so many bits are sign-extended into 32
  std::optional<sim::Reduction> reduction_;
  unsigned lanes_ = 1;  ///< elements in a register of a reduction
};

struct SweepSums {
  uint64_t mixed = 0, weighted = 0;
};
SweepSums sweep_block(const SweepModel& model, unsigned log2, uint64_t block);

/// Whether a predicted sum is the recorded one, of whichever width.
bool agrees(const SweepRecord& record, uint64_t block, uint64_t mixed);

}  // namespace turnstile
