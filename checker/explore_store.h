// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace turnstile::checker {

/// 128 bits that stand for a state.
struct Fingerprint {
  uint64_t low = 0;
  uint64_t high = 0;
  friend bool operator==(Fingerprint, Fingerprint) = default;
};

Fingerprint fingerprint(std::span<const uint8_t> bytes);

/// The states that a search has seen, each with the state from which it was first reached. A state is kept as
/// its fingerprint alone: 20 bytes, and 4 to 9 for the slots of the hash table. Two different states with one
/// fingerprint would hide a part of the search; among 10^9 states the chance is below 10^-20, far below that
/// of a wrong bit in memory.
///
/// Not promised: removal, iteration order other than that of insertion.
class StateTable {
 public:
  static constexpr uint32_t none = 0xffffffff;

  StateTable();

  struct Inserted {
    uint32_t index = none;
    bool is_new = false;
  };
  Inserted insert(Fingerprint print, uint32_t parent);

  uint32_t parent(uint32_t index) const { return chunk(index).parent[index % chunk_size]; }
  Fingerprint print(uint32_t index) const { return chunk(index).print[index % chunk_size]; }
  uint32_t size() const { return size_; }
  uint64_t bytes() const { return chunks_.size() * sizeof(Chunk) + slots_.size() * sizeof(uint32_t); }

 private:
  static constexpr uint32_t chunk_size = 1u << 14;
  struct Chunk {
    Fingerprint print[chunk_size];
    uint32_t parent[chunk_size];
  };
  const Chunk& chunk(uint32_t index) const { return *chunks_[index / chunk_size]; }
  void grow();

  std::vector<std::unique_ptr<Chunk>> chunks_;
  std::vector<uint32_t> slots_;  ///< open addressing, linear probing; a power of two
  uint32_t size_ = 0;
};

}  // namespace turnstile::checker
