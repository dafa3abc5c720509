// SPDX-License-Identifier: Apache-2.0
#include "sim/flag_words.h"

#include <algorithm>
#include <utility>

namespace turnstile::sim {

std::optional<uint32_t> FlagWords::find(const Place& place) const {
  const auto it = by_place_.find({place.space, place.allocation, place.offset});
  return it == by_place_.end() ? std::nullopt : std::optional(it->second);
}

uint32_t FlagWords::add(const Place& place, std::optional<int64_t> initial, std::string name,
                        Recorder& recorder) {
  const auto number = static_cast<uint32_t>(words_.size());
  Word word;
  word.place = place;
  word.initial_known = initial.has_value();
  word.initial = word.lowest = word.highest = word.total = initial.value_or(0);
  words_.push_back(word);
  by_place_[{place.space, place.allocation, place.offset}] = number;
  recorder.trace().signals.push_back({std::move(name), initial.value_or(0)});
  return number;
}

void FlagWords::close(uint32_t word) {
  const Place& place = words_[word].place;
  by_place_.erase({place.space, place.allocation, place.offset});
}

void FlagWords::added(uint32_t word, int64_t amount) {
  ++words_[word].writes;
  words_[word].falls = words_[word].falls || amount < 0;
  words_[word].total =
      static_cast<int64_t>(static_cast<uint64_t>(words_[word].total) + static_cast<uint64_t>(amount));
}

void FlagWords::set(uint32_t word, int64_t value) {
  ++words_[word].writes;
  words_[word].is_set = true;
  words_[word].lowest = std::min(words_[word].lowest, value);
  words_[word].highest = std::max(words_[word].highest, value);
}

void FlagWords::changed(uint32_t word, int64_t value) {
  set(word, value);
  words_[word].odd = true;
}

void FlagWords::waited(uint32_t word, uint32_t place) { words_[word].waited_at = place; }

void FlagWords::waited_for(uint32_t word, uint32_t place, int64_t value) {
  waited(word, place);
  words_[word].equal_to = std::min(words_[word].equal_to.value_or(value), value);
}

// In no order of the writes is the word more than `value`: then "equal to value" says the same as "at least".
bool FlagWords::Word::never_beyond(int64_t value) const {
  return !odd && !falls && highest <= value && total <= value && !(is_set && total != initial);
}

void FlagWords::waited_for_other(uint32_t word, uint32_t place, int64_t value) {
  waited(word, place);
  words_[word].other_than = std::max(words_[word].other_than.value_or(value), value);
}

bool FlagWords::read_alone(uint64_t granule, uint32_t place) {
  if (written_.contains(granule)) return false;
  read_.try_emplace(granule, place);
  return true;
}

void FlagWords::written(uint64_t granule, Recorder& recorder) {
  written_[granule] = true;
  const auto read = read_.find(granule);
  if (read == read_.end()) return;
  recorder.unknown(
      read->second,
      "the value of this load depends on when other threads write the word; in other schedules the "
      "kernel may go another way (LF3)",
      "wait for the value in a loop that does nothing else");
  read_.erase(read);
}

void FlagWords::finish(Recorder& recorder) {
  if (words_.empty()) return;
  Trace& trace = recorder.trace();
  std::vector<uint32_t> renamed(words_.size(), nowhere);
  std::vector<SignalInfo> kept;
  for (size_t w = 0; w < words_.size(); ++w) {
    const Word& word = words_[w];
    if (word.waited_at == nowhere) continue;
    renamed[w] = static_cast<uint32_t>(kept.size());
    kept.push_back(std::move(trace.signals[w]));
    if (word.odd)
      recorder.unknown(
          word.waited_at,
          kept.back().name +
              " is also changed by an atomic other than an addition: what it holds depends on the "
              "order in which threads come to it",
          "count with atom.add, or set it from one thread");
    if (!word.initial_known)
      recorder.unknown(word.waited_at, kept.back().name + " has no known value at the start",
                       "initialise it, or give its buffer `control_data = true` and its values");
    if (word.other_than && (word.falls || word.lowest < *word.other_than))
      recorder.unknown(word.waited_at,
                       "the loop ends when " + kept.back().name +
                           " is another value than before, and that can come back: a poll may miss it",
                       "wait for one value, or for at least one");
  }
  trace.signals = std::move(kept);
  // Of a counter that only grows up to the value waited for, "exactly" and "at least" are one.
  const auto exact = [&](uint32_t word, int64_t value) { return !words_[word].never_beyond(value); };
  for (Event& e : trace.events)
    if (e.kind == EventKind::signal_wait && e.has(Event::equal) &&
        !exact(e.object, static_cast<int64_t>(e.bytes)))
      e.flags = static_cast<uint8_t>(e.flags & ~Event::equal);
  for (Blocked& b : trace.blocked)
    if (b.on == Blocked::On::signal && b.count == 1 && words_[b.object].equal_to &&
        !exact(b.object, *words_[b.object].equal_to))
      b.count = 0;
  const auto is_signal = [](EventKind kind) {
    return kind == EventKind::signal_add || kind == EventKind::signal_set || kind == EventKind::signal_wait;
  };
  std::erase_if(trace.events,
                [&](const Event& e) { return is_signal(e.kind) && renamed[e.object] == nowhere; });
  for (Event& e : trace.events)
    if (is_signal(e.kind)) e.object = renamed[e.object];
  for (Blocked& b : trace.blocked)
    if (b.on == Blocked::On::signal) b.object = renamed[b.object];
}

}  // namespace turnstile::sim
