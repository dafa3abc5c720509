// SPDX-License-Identifier: Apache-2.0
//
// A schedule in words, and once more in deed.
#include "checker/witness.h"

#include <algorithm>

#include "checker/explore_state.h"
#include "checker/explore_store.h"
#include "checker/narrative.h"

namespace turnstile {

namespace {

using namespace checker;
using Step = OrchestrationMachine::Step;

class Narrator {
 public:
  explicit Narrator(const Orchestration& program) : t_(program.tables), names_(program.tables) {}

  /// One line; empty for a step that only matters to its own strand.
  std::string tell(const Event& e, const OrchestrationMachine& after, uint64_t before) const {
    switch (e.kind) {
      case EventKind::mbarrier_init:
        return who(e) + " initialises " + names_.barrier(e.object) + " with count " +
               std::to_string(e.count) + at(e);
      case EventKind::mbarrier_inval:
        return who(e) + " invalidates " + names_.barrier(e.object) + at(e);
      case EventKind::mbarrier_arrive:
        return who(e) + " arrives on " + names_.barrier(e.object) +
               (e.has(Event::expects_bytes) ? ", expecting " + std::to_string(e.bytes) + " bytes" : "") +
               at(e) + completed(e.object, after, before);
      case EventKind::mbarrier_expect_tx:
        return who(e) + " expects " + std::to_string(e.bytes) + " bytes on " + names_.barrier(e.object) +
               at(e);
      case EventKind::mbarrier_wait:
        return who(e) + " passes " + names_.barrier(e.object) + " (parity " + std::to_string(e.count) +
               "), which has completed " + std::to_string(before) + (before == 1 ? " phase" : " phases") +
               at(e);
      case EventKind::named_barrier_arrive:
        return who(e) + " comes to " + names_.named_barrier(e.object) + at(e);
      case EventKind::named_barrier_pass:
        return who(e) + " passes " + names_.named_barrier(e.object) + at(e);
      case EventKind::cluster_arrive:
        return who(e) + " arrives at the cluster barrier" + at(e);
      case EventKind::cluster_wait:
        return who(e) + " passes the cluster barrier" + at(e);
      case EventKind::signal_add:
        return who(e) + " adds " + std::to_string(static_cast<int64_t>(e.bytes)) + " to " +
               t_.signals[e.object].name + at(e);
      case EventKind::signal_set:
        return who(e) + " sets " + t_.signals[e.object].name + " to " +
               std::to_string(static_cast<int64_t>(e.bytes)) + at(e);
      case EventKind::signal_wait:
        return who(e) + " sees " + t_.signals[e.object].name + (e.has(Event::equal) ? " == " : " >= ") +
               std::to_string(static_cast<int64_t>(e.bytes)) + at(e);
      case EventKind::pool_acquire:
        return who(e) + " takes " + std::to_string(e.count) + " of " + t_.pools[e.object].name + at(e);
      case EventKind::pool_release:
        return who(e) + " gives " + std::to_string(e.count) + " of " + t_.pools[e.object].name + " back" +
               at(e);
      case EventKind::registers_acquire:
      case EventKind::registers_release:
        return who(e) + " now holds " + std::to_string(e.count) + " registers a thread" + at(e);
      case EventKind::tensor_alloc:
        return who(e) + " allocates " + std::to_string(e.count) + " columns" + at(e);
      case EventKind::tensor_dealloc:
        return who(e) + " frees " + std::to_string(e.count) + " columns" + at(e);
      case EventKind::async_issue:
        return who(e) + " issues " + operation(e.object) + at(e);
      case EventKind::access:
        return who(e) + (e.has(Event::write) ? " writes " : " reads ") + memory(e) + at(e);
      case EventKind::async_access:
        return operation(e.object) + of(e) + (e.has(Event::write) ? " writes " : " reads ") + memory(e);
      case EventKind::async_complete: {
        const uint32_t b = t_.ops[e.object].barrier;
        return operation(e.object) + of(e) + " is done" +
               (b == AsyncOp::none ? "" : ", on " + names_.barrier(b) + completed(b, after, before));
      }
      case EventKind::exit:
        return who(e) + " ends" + at(e);
      case EventKind::fork:
      case EventKind::join:
      case EventKind::fence:
      case EventKind::fence_proxy_async:
      case EventKind::fence_mbarrier_init:
      case EventKind::fence_tensormap:
      case EventKind::group_commit:
      case EventKind::group_wait:
      case EventKind::register_hazard:
      case EventKind::tensor_fence_before:
      case EventKind::tensor_fence_after:
      case EventKind::tensor_relinquish:
      case EventKind::dependents_launch:
      case EventKind::dependency_wait:
        return {};
    }
    return {};
  }

  /// The mbarrier that a step may complete, or none.
  uint32_t barrier_of(const Event& e) const {
    switch (e.kind) {
      case EventKind::mbarrier_arrive:
      case EventKind::mbarrier_wait:
        return e.object;
      case EventKind::async_complete:
        return t_.ops[e.object].barrier;
      default:
        return AsyncOp::none;
    }
  }

  std::string waits(const Blocked& b) const {
    const std::string who = names_.warp(b.agent);
    const std::string at = " (" + names_.line(b.place) + ")";
    switch (b.on) {
      case Blocked::On::mbarrier:
        return who + " waits on " + names_.barrier(b.object) + " with parity " + std::to_string(b.count) + at;
      case Blocked::On::named_barrier:
        return who + " waits at " + names_.named_barrier(b.object) + at;
      case Blocked::On::registers:
        return who + " waits for registers" + at;
      case Blocked::On::group:
        return who + " waits for its asynchronous operations" + at;
      case Blocked::On::warp_sync:
        return who + " waits for the other lanes of its warp" + at;
      case Blocked::On::cluster_barrier:
        return who + " waits at the cluster barrier" + at;
      case Blocked::On::signal:
        return who + " waits for " + t_.signals[b.object].name + at;
      case Blocked::On::pool:
        return who + " waits for " + t_.pools[b.object].name + at;
      case Blocked::On::tensor_alloc:
        return who + " waits for columns of tensor memory" + at;
    }
    return who;
  }

 private:
  std::string who(const Event& e) const { return names_.warp(e.agent); }
  std::string at(const Event& e) const { return " (" + names_.line(e.place) + ")"; }
  std::string of(const Event& e) const {
    const AsyncOp& op = t_.ops[e.object];
    return " of " + names_.warp(op.issuer) + " (" + names_.line(op.place) + ")";
  }
  std::string memory(const Event& e) const {
    const Footprint& f = t_.footprints[e.footprint];
    if (f.range_count == 0) return "nothing";
    const ByteRange& r = t_.ranges[f.first_range];
    return names_.bytes(f.space, f.allocation, r.begin, r.end) +
           (f.range_count > 1 || r.count > 1 ? " ..." : "");
  }
  std::string completed(uint32_t b, const OrchestrationMachine& after, uint64_t before) const {
    if (after.barrier(b).generation() == before) return {};
    return ": completes " + Names::phase(before);
  }
  std::string operation(uint32_t op) const {
    switch (t_.ops[op].kind) {
      case AsyncOp::Kind::bulk_load:
        return "the copy";
      case AsyncOp::Kind::bulk_store:
        return "the store";
      case AsyncOp::Kind::wgmma:
        return "the wgmma";
      case AsyncOp::Kind::cp_async:
        return "the cp.async";
      case AsyncOp::Kind::remote_store:
        return "the st.async";
      case AsyncOp::Kind::tensor_mma:
        return "the tcgen05.mma";
      case AsyncOp::Kind::tensor_copy:
        return "the tcgen05.cp";
      case AsyncOp::Kind::tensor_load:
        return "the tcgen05.ld";
      case AsyncOp::Kind::tensor_store:
        return "the tcgen05.st";
      case AsyncOp::Kind::tensor_commit:
        return "the tcgen05.commit";
      case AsyncOp::Kind::clc_query:
        return "the cluster launch query";
      case AsyncOp::Kind::lds_read:
        return "the LDS read";
    }
    return "the operation";
  }

  const Trace& t_;
  Names names_;
};

/// Keeps the first few and the last lines.
class Lines {
 public:
  explicit Lines(size_t most) : most_(std::max<size_t>(most, 8)) {}
  void add(std::string line) {
    if (line.empty()) return;
    lines_.push_back(std::move(line));
    if (lines_.size() < 2 * most_ + 8) return;
    left_out_ += lines_.size() - most_;
    lines_.erase(lines_.begin() + head,
                 lines_.begin() + static_cast<std::ptrdiff_t>(head + lines_.size() - most_));
  }
  std::vector<std::string> take() {
    if (lines_.size() > most_) {
      left_out_ += lines_.size() - most_;
      lines_.erase(lines_.begin() + head,
                   lines_.begin() + static_cast<std::ptrdiff_t>(head + lines_.size() - most_));
    }
    if (left_out_ > 0)
      lines_.insert(lines_.begin() + head, "... " + std::to_string(left_out_) + " more steps");
    return std::move(lines_);
  }

 private:
  static constexpr std::ptrdiff_t head = 4;
  size_t most_;
  size_t left_out_ = 0;
  std::vector<std::string> lines_;
};

uint64_t mix(uint64_t h, uint64_t x) {
  h ^= x + 0x9e3779b97f4a7c15ull + (h << 6) + (h >> 2);
  return h * 0xff51afd7ed558ccdull;
}

}  // namespace

uint64_t program_fingerprint(const Orchestration& program) {
  uint64_t h = 1;
  const auto events = [&](const std::vector<Event>& all) {
    h = mix(h, all.size());
    for (const Event& e : all) {
      h = mix(h, static_cast<uint64_t>(e.kind) | uint64_t{e.flags} << 8 | uint64_t{e.agent.v} << 16 |
                     uint64_t{e.object} << 32);
      h = mix(h, uint64_t{e.footprint} << 32 | e.count);
      h = mix(h, e.bytes);
      h = mix(h, e.generation);
    }
  };
  for (const Orchestration::Strand& s : program.strands) events(s.events);
  for (const std::vector<Event>& o : program.operations) events(o);
  for (const BarrierInfo& b : program.tables.barriers) h = mix(h, uint64_t{b.cta} << 32 | b.initial_count);
  for (const SignalInfo& s : program.tables.signals) h = mix(h, static_cast<uint64_t>(s.initial));
  for (const PoolInfo& p : program.tables.pools) h = mix(h, static_cast<uint64_t>(p.initial));
  for (const ByteRange& r : program.tables.ranges) h = mix(mix(h, r.begin), r.end);
  return mix(h, program.tables.cluster_barrier_count);
}

Replay replay(const Orchestration& program, const Witness& witness, size_t lines,
              const CheckOptions& options) {
  Replay out;
  if (out.problem = orchestration_defect(program); !out.problem.empty()) return out;
  const Overlaps overlaps(program);
  ExploreState state(program, overlaps, overlaps.defect().empty());
  const OrchestrationMachine& machine = state.machine();
  const Narrator narrator(program);
  Lines told(lines);
  Trace trace = program.tables;
  bool stale = false;
  std::vector<Fault> faults;
  for (size_t i = 0; i < witness.schedule.size(); ++i) {
    const Step step = witness.schedule[i];
    const Event* next = machine.next(step);
    if (!machine.is_enabled(step) || next == nullptr || machine.stopped()) {
      out.problem = "step " + std::to_string(i + 1) + " is not possible: the program is another one";
      return out;
    }
    const uint32_t b = narrator.barrier_of(*next);
    const uint64_t before = b == AsyncOp::none ? 0 : machine.barrier(b).generation();
    ExploreState::Outcome outcome = state.take(step);
    stale = outcome.stale;
    faults = std::move(outcome.faults);
    trace.events.push_back(state.event());
    told.add(narrator.tell(state.event(), machine, before));
  }
  std::vector<Step> enabled;
  machine.enabled(enabled);
  switch (witness.shows) {
    case Witness::Shows::hang:
      out.shown =
          enabled.empty() && !machine.strands_ended() && !machine.stopped() && !machine.beyond_knowledge();
      if (out.shown)
        for (const Blocked& b : machine.blocked()) told.add(narrator.waits(b) + ", for ever");
      break;
    case Witness::Shows::race: {
      const Event *a = machine.next(witness.first), *b = machine.next(witness.second);
      out.shown = ExploreState::is_access(a) && ExploreState::is_access(b) && a != b &&
                  machine.is_enabled(witness.first) && machine.is_enabled(witness.second) &&
                  overlaps.defect().empty() && overlaps.conflict(*a, *b);
      if (out.shown) {
        told.add("now, in either order: " + narrator.tell(*a, machine, 0));
        told.add("and: " + narrator.tell(*b, machine, 0));
      }
      break;
    }
    case Witness::Shows::stale:
      out.shown = stale;
      if (stale) told.add("these are data of another iteration than the reader means");
      break;
    case Witness::Shows::refused:
      for (const Fault& f : faults)
        if (f.rule == witness.rule) {
          out.shown = true;
          told.add(f.message);
        }
      break;
    case Witness::Shows::judged: {
      if (machine.stopped()) trace.faults = faults;
      if (enabled.empty() && !machine.stopped() && !machine.beyond_knowledge())
        trace.blocked = machine.blocked();
      for (const Diagnostic& d : check(trace, options).diagnostics)
        if (d.rule == witness.rule && d.severity == Severity::error && !out.shown) {
          out.shown = true;
          told.add(d.message);
        }
      break;
    }
  }
  out.steps = told.take();
  return out;
}

}  // namespace turnstile
