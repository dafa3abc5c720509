// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "model/protocol/tensor_memory.h"

namespace turnstile::sim {

/// The words of tensor memory, of the domain of bits: 128 lanes of 512. Nothing is known until it is written.
class TensorContents {
 public:
  static constexpr uint32_t lanes = 128, columns = 512;

  bool known(uint32_t lane, uint32_t column) const {
    return !known_.empty() && known_[size_t{lane} * columns + column] != 0;
  }
  /// Known words only.
  uint32_t get(uint32_t lane, uint32_t column) const { return words_[size_t{lane} * columns + column]; }
  void set(uint32_t lane, uint32_t column, uint32_t word) {
    if (known_.empty()) {
      words_.resize(size_t{lanes} * columns);
      known_.resize(size_t{lanes} * columns);
    }
    words_[size_t{lane} * columns + column] = word;
    known_[size_t{lane} * columns + column] = 1;
  }
  void forget(uint32_t lane, uint32_t column) {
    if (!known_.empty()) known_[size_t{lane} * columns + column] = 0;
  }
  /// Columns change owners: what stood there means nothing.
  void forget_columns(uint32_t first, uint32_t count) {
    for (uint32_t lane = 0; lane < lanes; ++lane)
      for (uint32_t c = first; c < first + count && c < columns; ++c) forget(lane, c);
  }

 private:
  std::vector<uint32_t> words_;
  std::vector<uint8_t> known_;  ///< 0 or 1; empty: none is
};

/// What tcgen05 keeps for one CTA.
struct TensorState {
  static constexpr uint32_t none = 0xffffffff;
  /// Loads or stores of one warp: each operation is a group of its own.
  struct WarpQueue {
    uint32_t queue = none;  ///< number in the trace
    uint64_t issued = 0;
    uint64_t waited = 0;
  };

  TensorMemory memory;
  TensorContents contents;
  uint32_t cta_group = 0;                       ///< of the instructions so far (TC8); 0: none yet
  uint64_t pair_allocations = 0;                ///< paired allocations entered (TC9)
  std::map<uint32_t, uint32_t> queues;          ///< of mma, cp, shift, commit: by thread
  std::map<uint32_t, WarpQueue> loads, stores;  ///< by warp
};

}  // namespace turnstile::sim
