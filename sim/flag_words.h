// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "model/trace.h"
#include "sim/recorder.h"

namespace turnstile::sim {

/// Words of memory that threads use as flags: the signals of the trace (semantics.md section 12). Every word
/// that strong operations touch may become one; at the end those stay that somebody waits for. A machine
/// whose program waits for no flag keeps none.
class FlagWords {
 public:
  /// Where a word lies, as footprints say it.
  struct Place {
    Space space = Space::shared;
    uint32_t allocation = 0;
    uint64_t offset = 0;
    uint8_t bytes = 4;
  };

  explicit FlagWords(bool active) : active_(active) {}

  bool active() const { return active_; }
  bool any() const { return !words_.empty(); }
  /// Whoever touches the word from now on, nobody waits for it any more.
  void close(uint32_t word);
  bool full() const { return words_.size() >= most_words; }
  std::optional<uint32_t> find(const Place& place) const;
  /// The word's number in the trace. `initial`: what it holds now, if that is known; `name` for reports.
  uint32_t add(const Place& place, std::optional<int64_t> initial, std::string name, Recorder& recorder);

  // What is done with a word; each is also an event, which the caller records.
  void added(uint32_t word, int64_t amount);
  void set(uint32_t word, int64_t value);
  /// By an atomic that is neither an addition nor a plain exchange: its result depends on the order.
  void changed(uint32_t word, int64_t value);
  void waited(uint32_t word, uint32_t place);
  /// A loop waits until the word is exactly `value`.
  void waited_for(uint32_t word, uint32_t place, int64_t value);
  /// A loop waits until the word is another than `value`: the same as waiting for more, if it never falls
  /// below.
  void waited_for_other(uint32_t word, uint32_t place, int64_t value);
  uint64_t writes(uint32_t word) const { return words_[word].writes; }

  /// A strong load, outside a loop that waits, of four bytes. False: other threads write them with strong
  /// operations, so that the schedule decides what it sees (LF3).
  bool read_alone(uint64_t granule, uint32_t place);
  /// A strong store or atomic.
  void written(uint64_t granule, Recorder& recorder);

  /// Drops the words that nobody waits for, and says what the trace cannot tell about the others.
  void finish(Recorder& recorder);

 private:
  static constexpr size_t most_words = 65536;
  static constexpr uint32_t nowhere = 0xffffffff;

  struct Word {
    Place place;
    uint64_t writes = 0;
    bool initial_known = false;
    bool odd = false;    ///< changed by an operation whose order matters
    bool falls = false;  ///< something was subtracted
    bool is_set = false;
    int64_t lowest = 0, highest = 0;  ///< of the initial value and those that were set
    int64_t initial = 0, total = 0;   ///< total: with what was added
    uint32_t waited_at = nowhere;
    std::optional<int64_t> other_than;
    std::optional<int64_t> equal_to;  ///< the least value that somebody waits for exactly

    bool never_beyond(int64_t value) const;
  };

  bool active_;
  std::vector<Word> words_;
  std::map<std::tuple<Space, uint32_t, uint64_t>, uint32_t> by_place_;
  std::unordered_map<uint64_t, uint32_t> read_;  ///< granule -> place of a load
  std::unordered_map<uint64_t, bool> written_;
};

}  // namespace turnstile::sim
