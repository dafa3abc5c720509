// SPDX-License-Identifier: Apache-2.0
// atom and red: one lane after the other reads, computes and writes its word (M6: element by element). The
// order in which threads come to a word is the schedule's, so that without data nobody knows what an atomic
// returns (LF3).
#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "sim/arrivals.h"
#include "sim/flag_access.h"
#include "sim/handlers.h"
#include "sim/lane_targets.h"
#include "sim/machine.h"
#include "sim/position_tracker.h"
#include "sim/tickets.h"

namespace turnstile::sim {

namespace {

uint64_t word_in(const ByteRun& run, size_t at, size_t bytes) {
  uint64_t value = 0;
  for (size_t i = 0; i < bytes; ++i) value |= uint64_t{run.value[at + i]} << (8 * i);
  return value;
}

bool all_known(const ByteRun& run, size_t at, size_t bytes) {
  return std::all_of(run.known.begin() + static_cast<ptrdiff_t>(at),
                     run.known.begin() + static_cast<ptrdiff_t>(at + bytes),
                     [](uint8_t k) { return k != 0; });
}

bool is_float(ElementType type) {
  return type == ElementType::f32 || type == ElementType::f64 || type == ElementType::f16 ||
         type == ElementType::bf16;
}

/// One register's word: packed halves are separate elements.
uint64_t combined(const Decoded& d, bool in_global, uint64_t old, uint64_t value) {
  const size_t bytes = element_bytes(d.reduction.type);
  if (bytes == d.bytes) return reduce_atomically(d.reduction, !in_global, old, value);
  uint64_t result = 0;
  const uint64_t mask = width_mask(static_cast<unsigned>(8 * bytes));
  for (size_t shift = 0; shift < 8u * d.bytes; shift += 8 * bytes)
    result |= (reduce_word(d.reduction, old >> shift & mask, value >> shift & mask) & mask) << shift;
  return result;
}

/// The operands of one lane: b of each register, and c of a compare-and-swap.
struct Operands {
  uint64_t b[8] = {};
  uint64_t c = 0;
  bool known = true;
};

Operands operands_of(const Warp& warp, const Decoded& d, unsigned lane) {
  Operands out;
  const uint64_t mask = width_mask(8u * d.bytes);
  for (unsigned v = 0; v < d.vector; ++v) {
    out.known = out.known && warp.regs.known(d.src[1 + v], lane);
    out.b[v] = warp.regs.get(d.src[1 + v], lane) & mask;
  }
  if (d.variant == atomic_compare_and_swap) {
    out.known = out.known && warp.regs.known(d.src[2], lane);
    out.c = warp.regs.get(d.src[2], lane) & mask;
  }
  return out;
}

/// What this atomic does to a flag, as an event.
void note_flag(Cta& cta, const Decoded& d, AgentId agent, uint32_t word, uint64_t operand, uint64_t result) {
  const unsigned unused = 64 - 8u * d.bytes;
  auto extended = [&](uint64_t v) { return static_cast<int64_t>(v << unused) >> unused; };
  FlagWords& flags = cta.machine.flags;
  const bool adds = d.variant == atomic_reduce && d.reduction.kind == Reduction::Kind::add;
  const int64_t value = extended(adds ? operand : result);
  if (adds)
    flags.added(word, value);
  else if (d.variant == atomic_exchange)
    flags.set(word, value);
  else
    flags.changed(word, value);
  Event& e = cta.recorder.add(adds ? EventKind::signal_add : EventKind::signal_set, agent, d.index);
  e.object = word;
  e.bytes = static_cast<uint64_t>(value);
  e.scope = d.scope;
  if ((d.order & order_release) != 0) e.flags = Event::release;
}

/// Whether what this add returns is an answer of RunOptions::atomics_in_order.
bool gives_answer(const Cta& cta, const Decoded& d, const Target& t, bool known) {
  return cta.options.atomics_in_order && cta.options.domain == Domain::control && known && d.vector == 1 &&
         d.variant == atomic_reduce && d.reduction.kind == Reduction::Kind::add &&
         !is_float(d.reduction.type) && element_bytes(d.reduction.type) == d.bytes &&
         t.where == Target::Where::global && !d.dst.empty() && d.dst[0] != Decoded::none;
}

/// What the word holds when this add comes to it, and the answer is noted.
uint64_t answer(Cta& cta, const Warp& warp, const Decoded& d, unsigned lane, const Target& t,
                uint64_t in_this_run, uint64_t added) {
  Machine& machine = cta.machine;
  const auto others = cta.options.others_add.find(machine.atomic_answers.size());
  if (others != cta.options.others_add.end()) in_this_run += others->second;
  in_this_run &= width_mask(8u * d.bytes);
  machine.atomic_answers.push_back({in_this_run, added, t.offset, t.buffer, d.index, cta.index, warp.index,
                                    static_cast<uint8_t>(lane), d.bytes});
  if (!machine.first_answer) {
    machine.first_answer = machine.recorder.trace().events.size();
    cta.recorder.unknown(
        d.index,
        "what this atomic returns depends on the order in which CTAs come to it (LF3); this run "
        "is one of several",
        {});
  }
  return in_this_run;
}

/// Whether these lanes touch this word.
bool touches_word(const TicketCounter& word, const Decoded& d, LaneMask lanes, const LaneTargets& targets) {
  const uint64_t total = uint64_t{d.bytes} * d.vector;
  for (LaneMask rest = lanes; rest != 0; rest &= rest - 1) {
    const Target& t = targets.at[static_cast<size_t>(std::countr_zero(rest))];
    if (t.where == Target::Where::global && t.buffer == word.buffer &&
        word.overlaps(t.offset, t.offset + total))
      return true;
  }
  return false;
}

/// Whether these are one lane that adds the constant to the whole word and asks what was there.
bool asks_counter(const Warp& warp, const TicketCounter& word, const Decoded& d, LaneMask lanes,
                  const LaneTargets& targets) {
  const auto lane = static_cast<unsigned>(std::countr_zero(lanes));
  if (std::popcount(lanes) != 1 || d.variant != atomic_reduce || d.reduction.kind != Reduction::Kind::add ||
      d.vector != 1 || is_float(d.reduction.type) || element_bytes(d.reduction.type) != d.bytes ||
      d.bytes != word.bytes || targets.at[lane].offset != word.offset || d.dst.empty() ||
      d.dst[0] == Decoded::none)
    return false;
  const Operands operands = operands_of(warp, d, lane);
  return operands.known && operands.b[0] == word.step;
}

bool is_thread_of(const TicketCounter& word, const Cta& cta, const Warp& warp, LaneMask lanes) {
  return cta.rank == word.cta && warp.index == word.warp && lanes == LaneMask{1} << word.lane;
}

/// Draws the next ticket for the thread that draws all of its cluster's, or the first that is no tile. Only
/// that the ticket is, or is no, tile is the choice of the run; which one it is, is followed.
Step draw_ticket(Cta& cta, Warp& warp, const Decoded& d, LaneMask lanes, const LaneTargets& targets) {
  const TicketCounter& counter = *cta.options.tickets;
  Machine& machine = cta.machine;
  const auto lane = static_cast<unsigned>(std::countr_zero(lanes));
  if (std::popcount(lanes) != 1 || !is_thread_of(counter, cta, warp, lanes))
    return cta.unknown(
        d,
        "tickets are drawn by several threads of a cluster: which of them gets which depends on "
        "the schedule (LF3)");
  if (!asks_counter(warp, counter, d, lanes, targets))
    return cta.unknown(d, "the counter from which tickets are drawn is changed in another way, too");
  if (machine.refused)
    return cta.unknown(
        d,
        "another ticket is drawn after one that was no tile: how many there are of these depends "
        "on the order of the CTAs (LF3)");
  const bool more = cta.options.hand_over ? cta.options.hand_over(machine)
                                          : machine.cancelled < cta.options.clusters_to_cancel;
  // Each cluster is refused with a value of its own, as if they came to their ends in their order.
  const Dim3& grid = cta.launch.grid;
  const uint32_t number = cta.position[0] + grid[0] * (cta.position[1] + grid[1] * cta.position[2]);
  const uint64_t ticket =
      more ? machine.cancelled++ : counter.count + cluster_of(cta.program, cta.launch, number);
  machine.refused = !more;
  warp.regs.set(d.dst[0], lane, counter.value(ticket));
  if (machine.positions != nullptr)
    machine.positions->note_ticket(lane, machine.cancelled + (more ? 0 : 1), machine.refused);
  return Step::next;
}

/// One cluster comes to RunOptions::arrivals. The last one waits there until all others have come, and then
/// knows what they have released, if it acquires; the others do not know how many have come. Nothing: an
/// access that only the last one may make, after that.
std::optional<Step> arrive(Cta& cta, Warp& warp, const Decoded& d, LaneMask lanes,
                           const LaneTargets& targets) {
  const Arrivals& arrivals = *cta.options.arrivals;
  const TicketCounter& word = arrivals.word;
  Machine& machine = cta.machine;
  const bool thread = is_thread_of(word, cta, warp, lanes), last = cta.cluster == arrivals.last;
  if (machine.arrived[cta.cluster] != 0) {
    if (last && thread) return std::nullopt;
    return cta.unknown(d,
                       "a counter that tells who is the last is changed again, perhaps before all have come");
  }
  if (!thread || !asks_counter(warp, word, d, lanes, targets))
    return cta.unknown(d, "a counter that tells who is the last is changed in another way, too");
  const auto lane = static_cast<unsigned>(std::countr_zero(lanes));
  const Target& t = targets.at[lane];
  const std::optional<uint32_t> flag = flag_word(cta, t, d.bytes, d);
  if (!flag) return Step::stop;
  const uint64_t others = word.count - 1,
                 come = static_cast<uint64_t>(std::count(machine.arrived.begin(), machine.arrived.end(), 1));
  if (last && come != others) {
    cta.fragment_at(warp, lanes).wait = {false, Blocked::On::signal, *flag, 0, word.value(others)};
    return Step::blocked;
  }
  record_access(cta, warp, d, targets, lanes, Event::write | Event::atomic);
  note_strong_write(cta, t, d.bytes);
  const AgentId agent = cta.strands_of(warp, lanes, d.index).front().agent;
  if (last && others != 0) {
    machine.flags.waited(*flag, d.index);
    Event& e = cta.recorder.add(EventKind::signal_wait, agent, d.index);
    e.object = *flag;
    e.bytes = word.value(others);
    e.generation = machine.flags.writes(*flag);
    e.scope = d.scope;
    if ((d.order & order_acquire) != 0) e.flags = Event::acquire;
  }
  const uint64_t old = word.value(come), now = word.value(come + 1);
  ByteRun run;
  run.resize(d.bytes, cta.provenance());
  for (unsigned i = 0; i < d.bytes; ++i) {
    run.value[i] = static_cast<uint8_t>(now >> (8 * i));
    run.known[i] = 1;
  }
  write_target(cta, warp, t, lane, d.bytes, run, d.index);
  warp.regs.set(d.dst[0], lane, old);
  note_flag(cta, d, agent, *flag, word.step, now);
  machine.arrived[cta.cluster] = 1;
  if (last) machine.flags.close(*flag);
  return Step::next;
}

/// Bits that the order of the threads decides are not a prediction (GM7).
void note_order(Cta& cta, const Decoded& d) {
  const bool sums = d.variant == atomic_reduce && d.reduction.depends_on_order();
  const bool returns = !d.dst.empty() &&
                       std::any_of(d.dst.begin(), d.dst.end(), [](uint32_t r) { return r != Decoded::none; });
  if (!sums && !returns && d.variant == atomic_reduce) return;
  const Place& at = cta.program.places[d.index];
  std::string text =
      fmt::format("'{}' at {}:{}: {} depends on the order in which threads come to it (GM7)", at.instruction,
                  at.file.empty() ? at.ptx_file : at.file, at.file.empty() ? at.ptx_line : at.line,
                  sums ? "the sum of floats" : "its result");
  if (cta.options.domain == Domain::provenance) return cta.recorder.unknown(d.index, std::move(text), {});
  if (cta.options.domain != Domain::bits) return;
  if (std::find(cta.not_predicted.begin(), cta.not_predicted.end(), text) == cta.not_predicted.end())
    cta.not_predicted.push_back(std::move(text));
}

}  // namespace

bool leaves_word_alone(const Program& program, const Decoded& d) {
  if (d.variant == atomic_compare_and_swap) return d.src.size() > 2 && d.src[1] == d.src[2];
  if (d.variant != atomic_reduce || d.vector != 1 || is_float(d.reduction.type)) return false;
  const bool zero =
      std::any_of(program.constants.begin(), program.constants.end(),
                  [&](const auto& constant) { return constant.first == d.src[1] && constant.second == 0; });
  const Reduction::Kind kind = d.reduction.kind;
  return zero && (kind == Reduction::Kind::add || kind == Reduction::Kind::bit_or ||
                  kind == Reduction::Kind::bit_xor);
}

Step exec_atomic(Cta& cta, Warp& warp, const Decoded& d, LaneMask lanes) {
  LaneTargets targets;
  if (const Step step = resolve_lanes(cta, warp, d, lanes, "updates", targets); step != Step::next)
    return step;
  if (targets.visible != lanes)
    return cta.fault(warp, lanes & ~targets.visible, d, "memory", "an atomic on local memory or a parameter",
                     "atomics work on global and shared memory");
  if (d.poll != Decoded::none) return wait_for_flag(cta, warp, d, lanes, targets);
  const RunOptions& options = cta.options;
  if (options.arrivals != nullptr && touches_word(options.arrivals->word, d, lanes, targets))
    if (const std::optional<Step> step = arrive(cta, warp, d, lanes, targets)) return *step;
  record_access(cta, warp, d, targets, lanes, Event::write | Event::atomic);
  if (options.tickets != nullptr && touches_word(*options.tickets, d, lanes, targets))
    return draw_ticket(cta, warp, d, lanes, targets);
  note_order(cta, d);
  const uint64_t total = uint64_t{d.bytes} * d.vector;
  ByteRun run;
  for (const Strand& s : cta.strands_of(warp, lanes, d.index))
    for (LaneMask rest = s.lanes; rest != 0; rest &= rest - 1) {
      const auto lane = static_cast<unsigned>(std::countr_zero(rest));
      const Target& t = targets.at[lane];
      note_strong_write(cta, t, total);
      const std::optional<uint32_t> word = d.vector == 1 ? flag_word(cta, t, d.bytes, d) : std::nullopt;
      run.resize(total, cta.provenance());
      read_target(cta, warp, t, lane, total, run);
      const Operands operands = operands_of(warp, d, lane);
      bool flag_known = false;
      uint64_t result = 0;
      for (unsigned v = 0; v < d.vector; ++v) {
        const size_t at = size_t{v} * d.bytes;
        const bool was_known = all_known(run, at, d.bytes);
        const bool answers = gives_answer(cta, d, t, was_known && operands.known);
        const uint64_t in_this_run = word_in(run, at, d.bytes);
        const uint64_t old =
            answers ? answer(cta, warp, d, lane, t, in_this_run, operands.b[0]) : in_this_run;
        if (v < d.dst.size() && d.dst[v] != Decoded::none) {
          if (was_known && (cta.with_data() || answers))
            warp.regs.set(d.dst[v], lane, old);
          else
            warp.regs.forget(d.dst[v], LaneMask{1} << lane);
        }
        const bool known = operands.known && (was_known || d.variant == atomic_exchange);
        if (known)
          result = d.variant == atomic_reduce
                       ? combined(d, t.where == Target::Where::global, old, operands.b[v])
                   : d.variant == atomic_exchange ? operands.b[v]
                   : old == operands.b[v]         ? operands.c
                                                  : old;
        flag_known = known;
        for (unsigned i = 0; i < d.bytes; ++i) {
          run.value[at + i] = static_cast<uint8_t>(result >> (8 * i));
          run.known[at + i] = known ? 1 : 0;
          if (cta.provenance() && !known) run.cells[at + i] = undefined_byte;
        }
      }
      write_target(cta, warp, t, lane, total, run, d.index);
      if (word && (flag_known || (operands.known && d.variant == atomic_reduce)))
        note_flag(cta, d, s.agent, *word, operands.b[0], result);
    }
  return Step::next;
}

}  // namespace turnstile::sim
