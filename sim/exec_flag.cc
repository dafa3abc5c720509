// SPDX-License-Identifier: Apache-2.0
// Words of memory as flags (semantics.md sections 1 and 12): loops that wait for a value are one wait each
// (PE15), whatever they load with; every strong write of such a word is a step of its history.
#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "sim/flag_access.h"
#include "sim/handlers.h"
#include "sim/machine.h"

namespace turnstile::sim {

namespace {

using Until = FlagPoll::Until;

FlagWords::Place place_of(const Cta& cta, const Target& t, uint8_t bytes) {
  if (t.where == Target::Where::global) return {Space::global, t.buffer, t.offset, bytes};
  return {Space::shared, t.where == Target::Where::remote ? t.buffer : cta.index, t.offset, bytes};
}

/// Four bytes of memory as one number.
uint64_t granule_of(const Cta& cta, const Target& t, uint64_t at) {
  const FlagWords::Place p = place_of(cta, t, 4);
  return (p.space == Space::global ? uint64_t{1} << 63 : 0) | uint64_t{p.allocation} << 44 |
         (t.offset + at) / 4;
}

int64_t extended(uint64_t value, uint8_t bytes) {
  const unsigned unused = 64 - 8u * bytes;
  return static_cast<int64_t>(value << unused) >> unused;
}

std::optional<uint64_t> value_at(const Cta& cta, const Warp& warp, const Target& t, unsigned lane,
                                 uint8_t bytes) {
  ByteRun run;
  run.resize(bytes, cta.provenance());
  read_target(cta, warp, t, lane, bytes, run);
  uint64_t value = 0;
  for (unsigned i = 0; i < bytes; ++i) {
    if (run.known[i] == 0) return std::nullopt;
    value |= uint64_t{run.value[i]} << (8 * i);
  }
  return value;
}

std::string name_of(const Cta& cta, const Target& t) {
  if (t.where == Target::Where::global)
    return fmt::format("flag at {}+0x{:x}", cta.recorder.trace().allocation_names[t.buffer], t.offset);
  const Cta& owner = t.where == Target::Where::remote ? *cta.machine.ctas[t.buffer] : cta;
  const std::string name = fmt::format("flag at {}", cta.shared_name(t.offset));
  return cta.machine.ctas.size() == 1 ? name : fmt::format("{} of CTA {}", name, owner.index);
}

/// The number of the word, made if it is not known yet; nothing: too many.
std::optional<uint32_t> word_at(Cta& cta, const Warp& warp, const Target& t, unsigned lane, uint8_t bytes,
                                const Decoded& d) {
  FlagWords& flags = cta.machine.flags;
  const FlagWords::Place place = place_of(cta, t, bytes);
  if (auto known = flags.find(place)) return known;
  if (flags.full()) {
    cta.recorder.unknown(d.index, "more words are used as flags than one run keeps", "");
    return std::nullopt;
  }
  const std::optional<uint64_t> now = value_at(cta, warp, t, lane, bytes);
  return flags.add(place, now ? std::optional(extended(*now, bytes)) : std::nullopt, name_of(cta, t),
                   cta.recorder);
}

bool met(const FlagPoll& poll, uint64_t value, uint64_t bound, uint8_t bytes) {
  const uint64_t mask = width_mask(8u * bytes);
  value &= mask;
  bound &= mask;
  const int64_t a = extended(value, bytes), b = extended(bound, bytes);
  switch (poll.until) {
    case Until::equal:
      return value == bound;
    case Until::not_equal:
      return value != bound;
    case Until::at_least:
      return poll.is_signed ? a >= b : value >= bound;
    case Until::above:
      return poll.is_signed ? a > b : value > bound;
    case Until::below:
      return poll.is_signed ? a < b : value < bound;
    case Until::at_most:
      return poll.is_signed ? a <= b : value <= bound;
    case Until::other:
      return true;
  }
  return true;
}

/// What the trace says of a wait: a value, and whether exactly that one.
struct Wanted {
  int64_t value = 0;
  bool equal = false;
};
Wanted wanted(const FlagPoll& poll, uint64_t bound, uint8_t bytes) {
  const int64_t b = extended(bound, bytes);
  const bool beyond = poll.until == Until::above || poll.until == Until::not_equal;
  return {beyond ? b + 1 : b, poll.until == Until::equal};
}

/// Waits that "equal" and "at least" do not express exactly: the trace then says so.
void note_relation(Cta& cta, const Decoded& d, const FlagPoll& poll, uint64_t bound, uint8_t bytes,
                   uint32_t word) {
  FlagWords& flags = cta.machine.flags;
  const int64_t b = extended(bound, bytes);
  if (poll.until == Until::not_equal)
    flags.waited_for_other(word, d.index, b);
  else if (poll.until == Until::equal)
    flags.waited_for(word, d.index, b);
  else
    flags.waited(word, d.index);
  const bool orders =
      poll.until == Until::at_least || poll.until == Until::above || poll.until == Until::not_equal;
  if (poll.until != Until::equal && !orders)
    cta.recorder.unknown(d.index,
                         "a loop waits for a flag to fall below a value, which the checker has no model of",
                         "wait for one value, or for at least one");
  if (orders && (b == INT64_MAX || (!poll.is_signed && poll.until != Until::not_equal && b < 0)))
    cta.recorder.unknown(d.index, "a loop waits for an unsigned flag of 2^31 or more", "count from 0");
  if (poll.value_is_used && poll.until != Until::equal)
    cta.recorder.unknown(
        d.index,
        "the value that ended a wait is used after it; in other schedules it may be another one (LF3)",
        "use the value that was waited for");
}

}  // namespace

// F4: the compiler may read a plain flag once and spin on the register for ever, so that a plain load which
// has to be repeated is an error, not a wait.
Step wait_for_flag(Cta& cta, Warp& warp, const Decoded& d, LaneMask lanes, const LaneTargets& targets) {
  const FlagPoll& poll = cta.program.flag_polls[d.poll];
  const uint32_t to = d.dst[0];
  if ((warp.regs.known(poll.bound) & lanes) != lanes)
    return cta.unknown(d, "a loop waits for a value that this launch does not give",
                       "give the buffer it was loaded from `control_data = true` and its values");
  const bool alike = warp.regs.same_in(d.src[0], lanes) && warp.regs.same_in(poll.bound, lanes);
  std::array<uint64_t, warp_size> values{};
  LaneMask ready = 0;
  for (LaneMask rest = lanes; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(rest));
    const std::optional<uint64_t> value = value_at(cta, warp, targets.at[lane], lane, d.bytes);
    if (!value)
      return cta.unknown(d,
                         fmt::format("a loop waits for the {}, whose value this launch does not give",
                                     name_of(cta, targets.at[lane])),
                         "give its buffer `control_data = true` and its values, or initialise it");
    values[lane] = *value;
    if (met(poll, *value, warp.regs.get(poll.bound, lane), d.bytes))
      ready |= alike ? lanes : LaneMask{1} << lane;
    if (alike) {
      values.fill(*value);
      break;
    }
  }
  if (d.order == 0 && ready != lanes) {
    const auto lane = static_cast<unsigned>(std::countr_zero(lanes & ~ready));
    return cta.fault(
        warp, LaneMask{1} << lane, d, "F4",
        fmt::format("a loop waits for the {} with a plain load: the compiler may load it once and spin "
                    "for ever",
                    name_of(cta, targets.at[lane])),
        "load it with ld.acquire, ld.relaxed or ld.volatile");
  }
  for (LaneMask rest = ready; rest != 0; rest &= rest - 1)
    warp.regs.set(to, static_cast<unsigned>(std::countr_zero(rest)),
                  d.is_signed ? static_cast<uint64_t>(
                                    extended(values[static_cast<size_t>(std::countr_zero(rest))], d.bytes)) &
                                    width_mask(d.dst_bits[0])
                              : values[static_cast<size_t>(std::countr_zero(rest))]);
  if (d.order == 0) {
    record_access(cta, warp, d, targets, lanes, 0);
    return Step::next;
  }
  WaitState wait;
  for (LaneMask rest = lanes & ~ready; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(rest));
    const uint64_t bound = warp.regs.get(poll.bound, lane);
    const std::optional<uint32_t> word = word_at(cta, warp, targets.at[lane], lane, d.bytes, d);
    if (!word) return Step::stop;
    note_relation(cta, d, poll, bound, d.bytes, *word);
    const Wanted w = wanted(poll, bound, d.bytes);
    wait = {false, Blocked::On::signal, *word, w.equal ? 1u : 0u, static_cast<uint64_t>(w.value)};
    if (alike) break;
  }
  if (ready == 0) {
    cta.fragment_at(warp, lanes).wait = wait;
    return Step::blocked;
  }
  const bool writes = d.run == exec_atomic;
  record_access(cta, warp, d, targets, ready,
                static_cast<uint8_t>(Event::atomic | (writes ? Event::write : 0)));
  for (const Strand& s : cta.strands_of(warp, ready, d.index)) {
    std::vector<std::pair<uint32_t, int64_t>> seen;
    for (LaneMask rest = s.lanes; rest != 0; rest &= rest - 1) {
      const auto lane = static_cast<unsigned>(std::countr_zero(rest));
      const uint64_t bound = warp.regs.get(poll.bound, lane);
      const std::optional<uint32_t> word = word_at(cta, warp, targets.at[lane], lane, d.bytes, d);
      if (!word) return Step::stop;
      const Wanted w = wanted(poll, bound, d.bytes);
      if (std::find(seen.begin(), seen.end(), std::pair(*word, w.value)) != seen.end()) continue;
      seen.emplace_back(*word, w.value);
      note_relation(cta, d, poll, bound, d.bytes, *word);
      Event& e = cta.recorder.add(EventKind::signal_wait, s.agent, d.index);
      e.object = *word;
      e.bytes = static_cast<uint64_t>(w.value);
      e.generation = cta.machine.flags.writes(*word);
      e.scope = d.scope;
      e.flags = static_cast<uint8_t>(((d.order & order_acquire) != 0 ? Event::acquire : 0) |
                                     (w.equal ? Event::equal : 0));
      if (alike) break;
    }
  }
  if (ready == lanes) return Step::next;
  Fragment& f = cta.fragment_at(warp, lanes);
  f.lanes &= ~ready;
  f.wait = wait;
  f.blocked = true;
  warp.fragments.push_back({d.index + 1, ready, false, {}});
  return Step::moved;
}

void forget_contended(Cta& cta, Warp& warp, const Decoded& d, LaneMask lanes, const LaneTargets& targets) {
  if (cta.with_data()) return;
  const uint64_t total = uint64_t{d.bytes} * d.vector;
  for (LaneMask rest = lanes; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(rest));
    const Target& t = targets.at[lane];
    bool alone = t.where != Target::Where::global || cta.machine.covers_launch();
    for (uint64_t at = 0; at < total; at += 4)
      alone = cta.machine.flags.read_alone(granule_of(cta, t, at), d.index) && alone;
    if (alone) continue;
    for (uint32_t reg : d.dst)
      if (reg != Decoded::none) warp.regs.forget(reg, LaneMask{1} << lane);
  }
}

void note_strong_write(Cta& cta, const Target& target, uint64_t bytes) {
  for (uint64_t at = 0; at < bytes; at += 4)
    cta.machine.flags.written(granule_of(cta, target, at), cta.recorder);
}

std::optional<uint32_t> flag_word(Cta& cta, const Target& target, uint8_t bytes, const Decoded& d) {
  if (!cta.machine.flags.active() || (bytes != 4 && bytes != 8)) return std::nullopt;
  return word_at(cta, *cta.warps.front(), target, 0, bytes, d);
}

// A weak store to a word that is a flag changes it too, but releases nothing (M7 wants a strong write).
void note_flag_stores(Cta& cta, Warp& warp, const Decoded& d, LaneMask lanes, const LaneTargets& targets) {
  FlagWords& flags = cta.machine.flags;
  const LaneMask visible = lanes & targets.visible;
  if (d.order != 0)
    for (LaneMask rest = visible; rest != 0; rest &= rest - 1)
      note_strong_write(cta, targets.at[static_cast<size_t>(std::countr_zero(rest))],
                        uint64_t{d.bytes} * d.vector);
  if (!flags.active() || (d.bytes != 4 && d.bytes != 8)) return;
  for (const Strand& s : cta.strands_of(warp, visible, d.index))
    for (LaneMask rest = s.lanes; rest != 0; rest &= rest - 1) {
      const auto lane = static_cast<unsigned>(std::countr_zero(rest));
      for (unsigned v = 0; v < d.vector; ++v) {
        Target t = targets.at[lane];
        t.offset += uint64_t{v} * d.bytes;
        std::optional<uint32_t> word = flags.find(place_of(cta, t, d.bytes));
        if (!word && d.order != 0) word = word_at(cta, warp, t, lane, d.bytes, d);
        if (!word || !warp.regs.known(d.src[1 + v], lane)) continue;
        const int64_t value = extended(warp.regs.get(d.src[1 + v], lane), d.bytes);
        flags.set(*word, value);
        Event& e = cta.recorder.add(EventKind::signal_set, s.agent, d.index);
        e.object = *word;
        e.bytes = static_cast<uint64_t>(value);
        e.scope = d.scope;
        if ((d.order & order_release) != 0) e.flags = Event::release;
      }
    }
}

}  // namespace turnstile::sim
