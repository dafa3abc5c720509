// SPDX-License-Identifier: Apache-2.0
// Named barriers, fences and the register pool.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <map>
#include <span>

#include "sim/handlers.h"
#include "sim/unknown_operand.h"

namespace turnstile::sim {

namespace {

/// N8: does every warp that has not exited wait as `wait` says?
bool all_wait(const Cta& cta, const WaitState& wait) {
  for (const auto& warp : cta.warps)
    for (const Fragment& f : warp->fragments)
      if ((f.lanes & warp->live()) != 0 && !(f.wait.entered && f.wait.on == wait.on &&
                                             f.wait.object == wait.object && f.wait.target == wait.target))
        return false;
  return true;
}

/// A warp comes to a barrier inside of what it might have jumped over, or to one where such a warp waits: all
/// of them have to decide alike.
bool decides_alike(OptionalMeetings& meetings, const NamedBarrier& barrier, const OpenBody* open) {
  if (barrier.arrived() == 0) {
    meetings.open = open != nullptr;
    if (open != nullptr) {
      meetings.condition = open->condition;
      meetings.branch = open->branch;
    }
    return true;
  }
  return meetings.open == (open != nullptr) &&
         (open == nullptr || (meetings.condition == open->condition && meetings.branch == open->branch));
}

/// The instance among those that the trace tells of.
uint64_t instance_in_trace(const OptionalMeetings& meetings, uint64_t instance) {
  return instance -
         static_cast<uint64_t>(std::count_if(meetings.instances.begin(), meetings.instances.end(),
                                             [&](uint64_t left_out) { return left_out < instance; }));
}

/// The predicate of each thread, of an instance that the warp has just come to. False: forms are mixed, which
/// is unpredictable (PTX ISA 9.7.13.2).
bool add_votes(BarrierVotes& votes, const Warp& warp, const Decoded& d, LaneMask lanes) {
  const auto operation = static_cast<uint8_t>(d.shape[0]);
  if (votes.warps++ == 0) votes.operation = operation;
  const uint32_t predicate = d.src.back();
  votes.known = votes.known && known_in(warp, predicate, lanes);
  votes.threads += static_cast<uint32_t>(std::popcount(lanes));
  const bool negated = (d.negated >> (d.src.size() - 1) & 1) != 0;
  for (LaneMask rest = lanes; rest != 0; rest &= rest - 1)
    if (((warp.regs.get(predicate, static_cast<unsigned>(std::countr_zero(rest))) & 1) != 0) != negated)
      ++votes.agree;
  return votes.operation == operation;
}

/// What barrier.red gives, once all have come.
Step give_votes(Cta& cta, Warp& warp, const Decoded& d, LaneMask lanes, const BarrierVotes& votes) {
  if (d.dst[0] == Decoded::none) return Step::next;
  if (!votes.known) {
    if (cta.provenance() && !cta.names_values())
      return cta.unknown(d, "a reduction over values that are expressions: it combines all threads at once");
    warp.regs.forget(d.dst[0], lanes);
    return Step::next;
  }
  uint32_t result = votes.agree;
  if (votes.operation == barrier_all) result = votes.agree == votes.threads ? 1 : 0;
  if (votes.operation == barrier_any) result = votes.agree != 0 ? 1 : 0;
  warp.regs.set_lanes(d.dst[0], lanes, result);
  return Step::next;
}

}  // namespace

// Sources: barrier {, thread count} {, predicate of barrier.red}.
Step exec_named_barrier(Cta& cta, Warp& warp, const Decoded& d, LaneMask lanes) {
  const bool waits = d.variant != barrier_arrive, reduces = d.variant == barrier_reduce;
  const std::span<const uint32_t> numbers(d.src.data(), d.src.size() - (reduces ? 1 : 0));
  if (!cta.converged(warp, lanes)) return cta.wait_for_lanes(warp, lanes);  // N2, N5
  for (uint32_t r : numbers)
    if (!known_in(warp, r, lanes)) return unknown_operand(cta, d, "the barrier or thread count");
  for (uint32_t r : numbers)
    if (!warp.regs.same_in(r, lanes))
      return cta.fault(warp, lanes, d, "N2",
                       fmt::format("the lanes of warp {} name different barriers or thread counts in '{}'",
                                   warp.index, d.text->mnemonic),
                       "the unit of a CTA barrier is the warp: give all its lanes one barrier and one count");
  const auto first = static_cast<unsigned>(std::countr_zero(lanes));
  const auto id = static_cast<uint32_t>(warp.regs.get(d.src[0], first));
  const uint32_t threads = (cta.launch.threads() + warp_size - 1) / warp_size * warp_size;
  auto count = numbers.size() > 1 ? static_cast<uint32_t>(warp.regs.get(d.src[1], first)) : 0;
  const bool whole_cta = count == 0 && waits;  // N1: only an arrival needs a count; 0 is none (P8)
  if (whole_cta) count = threads;
  if (id > 15)
    return cta.fault(warp, lanes, d, "N1", fmt::format("named barrier {}: only 0 to 15 exist", id),
                     "use an id below 16");
  const uint32_t object = uint32_t{cta.index} * 16 + id;
  Fragment& f = cta.fragment_at(warp, lanes);
  NamedBarrier& barrier = cta.named[id];
  const OpenBody* open = Cta::open_body(warp, lanes);
  OptionalMeetings& meetings = cta.optional_named[id];
  if (f.wait.entered) {
    if (barrier.instance() < f.wait.target &&
        !(!meetings.open && barrier.releasable() && all_wait(cta, f.wait) && barrier.release()))
      return Step::blocked;
  } else {
    if (!decides_alike(meetings, barrier, open))
      return cta.unknown(d,
                         fmt::format("warps meet at named barrier {} of which some may jump over it, which "
                                     "depends on a value that this launch does not give",
                                     id));
    if (open == nullptr) {
      const AgentId agent = cta.join_strands(warp, lanes, d.index);
      Event& e = cta.recorder.add(EventKind::named_barrier_arrive, agent, d.index);
      e.object = object;
      e.count = count;
      e.bytes = warp_size;
      e.flags = static_cast<uint8_t>((waits ? Event::waits : 0) | (whole_cta ? Event::whole_cta : 0));
    } else {
      meetings.warps |= uint64_t{1} << warp.index;
      meetings.count = count;
      meetings.place = d.index;
      if (barrier.arrived() == 0) meetings.instances.push_back(barrier.instance() + 1);
    }
    f.wait = {true, Blocked::On::named_barrier, object, count, barrier.instance() + 1};
    const uint32_t came = barrier.arrived() / warp_size;
    const bool mixed = reduces ? !add_votes(cta.votes[id][f.wait.target], warp, d, lanes) ||
                                     cta.votes[id][f.wait.target].warps != came + 1
                               : cta.votes[id].contains(f.wait.target);
    if (mixed)
      return cta.unknown(d,
                         fmt::format("named barrier {}: barrier.red of one kind meets other forms, which is "
                                     "unpredictable",
                                     id));
    switch (barrier.contribute(count, warp_size, whole_cta)) {
      case NamedBarrier::Outcome::ok:
      case NamedBarrier::Outcome::completed:
        break;
      case NamedBarrier::Outcome::count_mismatch:
        return cta.fault(warp, lanes, d, "NX1",
                         fmt::format("named barrier {}: warp {} says {} threads, the warps before it said {}",
                                     id, warp.index, count, barrier.expected()),
                         "use one thread count for all warps that meet at a barrier");
      case NamedBarrier::Outcome::over_arrival:
        return cta.fault(
            warp, lanes, d, "NX3",
            fmt::format("named barrier {}: more threads arrive than the {} it counts", id, count),
            "count every warp that arrives, or use another id");
      case NamedBarrier::Outcome::bad_count:
        return cta.fault(
            warp, lanes, d, "N1",
            fmt::format("named barrier {}: a thread count of {} is no positive multiple of 32", id, count),
            "count whole warps");
    }
    if (waits && barrier.instance() < f.wait.target) return Step::blocked;
  }
  if (waits && open == nullptr) {
    Event& e = cta.recorder.add(EventKind::named_barrier_pass, cta.any_strand(warp, lanes), d.index);
    e.object = object;
    e.generation = instance_in_trace(meetings, f.wait.target);
  }
  if (!reduces) return Step::next;
  const uint64_t instance = f.wait.target;
  BarrierVotes& votes = cta.votes[id][instance];
  const Step step = give_votes(cta, warp, d, lanes, votes);
  if (++votes.told == votes.warps) cta.votes[id].erase(instance);
  return step;
}

void Cta::check_optional_meetings() {
  for (uint32_t id = 0; id < optional_named.size(); ++id) {
    const OptionalMeetings& meetings = optional_named[id];
    if (meetings.instances.empty()) continue;
    const auto is_other = [&](const Event& e) {
      return e.kind == EventKind::named_barrier_arrive && e.object == uint32_t{index} * 16 + id &&
             ((meetings.warps >> recorder.trace().agents[e.agent.v].warp & 1) == 0 ||
              e.count != meetings.count || !e.has(Event::waits));
    };
    const std::vector<Event>& events = recorder.trace().events;
    if (std::any_of(events.begin(), events.end(), is_other) ||
        static_cast<uint32_t>(std::popcount(meetings.warps)) * warp_size != meetings.count)
      recorder.unknown(
          meetings.place,
          fmt::format("named barrier {} is used by other warps too than those that may jump over "
                      "it, which depends on a value that this launch does not give",
                      id),
          "use another barrier number there");
  }
}

Step exec_fence(Cta& cta, Warp& warp, const Decoded& d, LaneMask lanes) {
  for (const Strand& s : cta.strands_of(warp, lanes, d.index)) {
    Event& e = cta.recorder.add(static_cast<EventKind>(d.variant), s.agent, d.index);
    e.flags = d.bytes;
    e.scope = d.scope;
  }
  return Step::next;
}

// The pool belongs to the CTA; a warp group gives and takes as one, when its last running warp has arrived at
// the instruction (RG1).
Step exec_setmaxnreg(Cta& cta, Warp& warp, const Decoded& d, LaneMask lanes) {
  if (!cta.converged(warp, lanes)) return cta.wait_for_lanes(warp, lanes);
  const auto wanted = static_cast<uint32_t>(
      warp.regs.get(d.src[0], static_cast<unsigned>(std::countr_zero(lanes))));  // an immediate
  const bool takes = d.variant == 1;
  if (cta.program.registers_per_thread == 0) {
    cta.recorder.unknown(d.index, "setmaxnreg, but the registers per thread at entry are not known (RG10)",
                         "set registers_per_thread in [launch]");
    return Step::next;
  }
  if (takes ? wanted < warp.owned_registers : wanted > warp.owned_registers)
    return cta.fault(warp, lanes, d, "RG2",
                     fmt::format("warp {} owns {} registers a thread and asks setmaxnreg.{} for {}",
                                 warp.index, warp.owned_registers, takes ? "inc" : "dec", wanted),
                     "inc only upwards, dec only downwards");
  WarpGroup& group = cta.groups[warp.index / 4];
  const uint32_t first = warp.index / 4u * 4u;
  uint32_t live = 0;
  for (uint32_t w = first; w < std::min<size_t>(first + 4, cta.warps.size()); ++w)
    if (cta.warps[w]->live() != 0) live |= 1u << (w - first);
  const uint32_t bit = 1u << (warp.index - first);
  if (((group.register_request | group.register_grant) & bit) == 0) {
    const uint32_t turn = group.register_turns[warp.index - first]++;
    if (turn == group.register_turn.size()) group.register_turn.push_back(&d);
    const Decoded& same = *group.register_turn[turn];
    if (same.variant != d.variant || warp.regs.get(same.src[0], 0) != wanted)
      return cta.fault(
          warp, lanes, d, "RG1",
          fmt::format("warp {} executes '{} {}' where another warp of its group executes '{} {}'", warp.index,
                      d.text->mnemonic, wanted, same.text->mnemonic, warp.regs.get(same.src[0], 0)),
          "all four warps of a warp group execute the same setmaxnreg");
    group.register_agent = cta.any_strand(warp, lanes);
  }

  if (!takes) {
    Event& e =
        cta.recorder.add(EventKind::registers_release, cta.join_strands(warp, lanes, d.index), d.index);
    e.count = wanted;
    e.bytes = warp.owned_registers;
    group.register_release |= bit;
    group.release_total += (warp.owned_registers - wanted) * warp_size;
    warp.owned_registers = wanted;
    if ((group.register_release & live) == live) {
      cta.free_registers += group.release_total;
      group.register_release = group.release_total = 0;
    }
    return Step::next;
  }
  if ((group.register_grant & bit) == 0) {
    group.register_request |= bit;
    uint64_t need = 0;
    for (uint32_t w = first; w < std::min<size_t>(first + 4, cta.warps.size()); ++w)
      if ((live >> (w - first)) & 1)
        need += uint64_t{wanted - std::min(wanted, cta.warps[w]->owned_registers)} * warp_size;
    if ((group.register_request & live) != live || cta.free_registers < static_cast<int64_t>(need)) {
      cta.fragment_at(warp, lanes).wait = {false, Blocked::On::registers, 0, wanted, 0};
      return Step::blocked;
    }
    cta.free_registers -= static_cast<int64_t>(need);
    group.register_grant = group.register_request;
    group.register_request = 0;
  }
  group.register_grant &= ~bit;
  Event& e = cta.recorder.add(EventKind::registers_acquire, cta.join_strands(warp, lanes, d.index), d.index);
  e.count = wanted;
  e.bytes = warp.owned_registers;
  warp.owned_registers = wanted;
  return Step::next;
}

}  // namespace turnstile::sim
