// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

namespace turnstile::checker {

/// 128 bits that stand for a text (program_fingerprint). Never for a state: two states with one fingerprint
/// would hide a part of a search.
struct Fingerprint {
  uint64_t low = 0;
  uint64_t high = 0;
  friend bool operator==(Fingerprint, Fingerprint) = default;
};

Fingerprint fingerprint(std::span<const uint8_t> bytes);

/// The states that a search has seen, in full, in the order in which they were first seen, each with the
/// state from which that was. A state costs its own bytes, 5 more, 0 to 3 for alignment, and 6 to 12 of the
/// hash table; it is found with two cache misses, one if it is new. What a breadth-first search still has to
/// look at is the tail of the same list, so that no state is kept twice.
///
/// The hash table has buckets of one cache line: 12 tags of 8 bits, and where each state lies. A tag that
/// matches is a hint; the bytes decide.
///
/// Not promised: removal. A state is named by where it lies, not by a dense number.
class StateTable {
 public:
  static constexpr uint32_t none = 0xffffffff;
  static constexpr size_t largest = size_t{1} << 19;  ///< bytes of a state

  StateTable();

  struct Inserted {
    uint32_t at = none;
    bool is_new = false;
  };
  /// `bytes`: at most `largest`.
  Inserted insert(std::span<const uint8_t> bytes, uint32_t parent) {
    return insert(bytes, hash(bytes), parent);
  }
  Inserted insert(std::span<const uint8_t> bytes, uint64_t hash, uint32_t parent);
  static uint64_t hash(std::span<const uint8_t> bytes);
  /// Soon somebody will insert a state with this hash.
  void expect(uint64_t hash) const { __builtin_prefetch(&buckets_[bucket(hash)]); }

  uint32_t parent(uint32_t at) const;
  /// Valid as long as the table is.
  std::span<const uint8_t> state(uint32_t at) const;

  uint32_t first() const { return size_ == 0 ? none : 0; }
  /// The one that was inserted next; none: `at` is the last so far.
  uint32_t after(uint32_t at) const;

  uint64_t size() const { return size_; }
  /// In use; memory of the last chunk that nobody has touched yet does not count.
  uint64_t bytes() const;
  /// More can be inserted.
  bool has_room() const { return chunks_.size() < most_chunks; }

 private:
  static constexpr unsigned unit = 4;  ///< bytes; where a state lies is a multiple of it
  static constexpr size_t chunk_bytes = size_t{1} << 20;
  static constexpr size_t chunk_units = chunk_bytes / unit;
  static constexpr size_t most_chunks = (size_t{1} << 32) / chunk_units - 1;
  static constexpr uint8_t long_length = 255;

  struct alignas(64) Bucket {
    static constexpr uint32_t slots = 12;
    uint8_t tags[slots];
    uint32_t used;
    uint32_t at[slots];
  };

  size_t bucket(uint64_t hash) const { return (hash >> 32) * buckets_.size() >> 32; }
  const uint8_t* record(uint32_t at) const {
    return chunks_[at / chunk_units].get() + at % chunk_units * unit;
  }
  bool holds(uint32_t at, std::span<const uint8_t> bytes) const;
  uint32_t append(std::span<const uint8_t> bytes, uint32_t parent);
  void link(uint64_t hash, uint32_t at);
  void grow();

  std::vector<std::unique_ptr<uint8_t[]>> chunks_;
  std::vector<uint32_t> ends_;  ///< by chunk: units used
  std::vector<Bucket> buckets_;
  uint64_t size_ = 0;
  uint32_t last_ = none;
};

}  // namespace turnstile::checker
