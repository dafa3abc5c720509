// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace turnstile {

/// A word of memory that strands use as a flag or counter, in global or shared memory (semantics.md section
/// 12, GM1). Only its values are modelled here; what a read of it orders (M7 to M9) is the checker's matter.
class Signal {
 public:
  Signal() = default;
  explicit Signal(int64_t initial) : value_(initial) {}

  /// atom.add, red.add. Wraps around as the hardware does.
  void add(int64_t amount) {
    value_ = static_cast<int64_t>(static_cast<uint64_t>(value_) + static_cast<uint64_t>(amount));
    ++writes_;
  }
  void set(int64_t value) {
    value_ = value;
    ++writes_;
  }

  /// A spin loop ends when a read satisfies it; it polls, and can miss a value that is gone again.
  bool satisfies(int64_t wanted, bool equal) const { return equal ? value_ == wanted : value_ >= wanted; }

  int64_t value() const { return value_; }
  uint64_t writes() const { return writes_; }  ///< 0: the value is the initial one

  void restore(int64_t value, uint64_t writes) {
    value_ = value;
    writes_ = writes;
  }

 private:
  int64_t value_ = 0;
  uint64_t writes_ = 0;
};

}  // namespace turnstile
