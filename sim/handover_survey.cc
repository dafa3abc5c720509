// SPDX-License-Identifier: Apache-2.0
//
// The machine is asked for an answer at each try_cancel: there a child is forked, which gets "no more" and
// reports what its run does from there on; the parent goes on with "handed over".
#include "sim/handover_survey.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "sim/forked.h"
#include "sim/machine.h"
#include "sim/position_tracker.h"
#include "sim/tape_parts.h"
#include "sim/trace_shape.h"

namespace turnstile::sim {

namespace {

/// What is said about the run with one number of handovers.
struct Ending {
  std::optional<Hash128> rest;  ///< nothing: it cannot be compared
  std::vector<Hash128> kinds;
};

/// State of barriers that no event tells: what has been counted in phases that are open.
Hash128 open_phases(const Machine& machine) {
  Hash128 h = hash_number(80, machine.cancelled == 0 ? 0 : 1);
  const auto note = [&](uint64_t v) { h = combine(h, hash_number(81, v)); };
  for (const auto& cta : machine.ctas) {
    for (const auto& [address, barrier] : cta->barriers) {
      note(address);
      note(barrier.state.valid() ? 1 : 0);
      note(barrier.state.expected());
      note(barrier.state.pending());
      note(static_cast<uint64_t>(barrier.state.tx()));
      note(barrier.state.generation() & 1);
    }
    for (const NamedBarrier& named : cta->named) note(uint64_t{named.arrived()} << 32 | named.expected());
    note(cta->ended() ? 1 : 0);
  }
  for (const ClusterBarrier& barrier : machine.barriers)
    note(uint64_t{barrier.arrived()} << 32 | barrier.members());
  return h;
}

std::vector<uint64_t> packed(const Ending& ending) {
  std::vector<uint64_t> words;
  if (!ending.rest) return words;
  words = {ending.rest->lo, ending.rest->hi};
  for (const Hash128& k : ending.kinds) words.insert(words.end(), {k.lo, k.hi});
  return words;
}

Ending unpacked(const std::vector<uint64_t>& words) {
  Ending ending;
  if (words.size() < 2 || words.size() % 2 != 0) return ending;
  ending.rest = Hash128{words[0], words[1]};
  for (size_t i = 2; i < words.size(); i += 2) ending.kinds.push_back({words[i], words[i + 1]});
  return ending;
}

void add_kind(std::vector<Hash128>& kinds, const Hash128& kind) {
  if (std::find(kinds.begin(), kinds.end(), kind) == kinds.end()) kinds.push_back(kind);
}

class Surveyor {
 public:
  /// `refusals`: parts that a run has besides those of its own cluster and of what is handed over.
  Surveyor(uint32_t most, uint32_t refusals, const std::function<bool()>& stop,
           const std::function<void(uint32_t done)>& progress)
      : most_(most), refusals_(refusals), stop_(stop), progress_(progress) {}

  bool hand_over(const Machine& machine) {
    failed_ = failed_ || machine.positions == nullptr;
    if (over_ || failed()) return false;
    const Trace& trace = machine.recorder.trace();
    if (!shape_) shape_.emplace(trace);
    if (comparable_) {
      shape_->pass(trace.events.size());
      splitter_.update(machine.positions->tape_so_far(), trace, machine.cancelled);
      comparable_ = !splitter_.parts(machine.positions->tape_so_far(), trace).mixed && trace.faults.empty() &&
                    trace.unknowns.empty();
      add_written(trace, boundaries_.empty() ? 0 : boundaries_.back().event, trace.events.size(), written_);
    }
    boundaries_.push_back({trace.events.size(), open_phases(machine)});
    if (progress_) progress_(machine.cancelled);
    over_ = machine.cancelled >= most_ || stop_();
    if (over_) return false;
    if (!comparable_) return true;  // it is left to see how many it takes
    const std::optional<std::vector<uint64_t>> said = forked_.fork_here();
    over_ = !said;
    if (said && !forked_.failed()) endings_.push_back(unpacked(*said));
    return !over_;
  }

  /// After the run. In a child this does not come back.
  HandoverSurvey conclude(const Trace& trace, const PositionTape* tape, uint32_t handed) {
    const TapeParts* parts = parts_of_run(trace, tape, handed);
    if (forked_.in_child()) forked_.answer(packed(ending(trace, parts)));
    HandoverSurvey out;
    if (stop_() || failed() || handed != most_ || boundaries_.size() != size_t{most_} + 1) {
      out.why_not = failed() || stop_() ? "the runs could not be compared"
                                        : fmt::format("the kernel takes {} of them at most", handed);
      out.first = {handed};  // a fault perhaps
      return out;
    }
    endings_.push_back(ending(trace, parts));
    if (parts == nullptr) {
      out.why_not = "the longest run cannot be compared with others";
      return out;
    }
    compare(trace, *parts, out);
    return out;
  }

 private:
  bool failed() const { return failed_ || forked_.failed(); }

  struct Boundary {
    size_t event;
    Hash128 open;
  };

  const TapeParts* parts_of_run(const Trace& trace, const PositionTape* tape, uint32_t handed) {
    if (tape == nullptr || !tape->whole || !comparable_) return nullptr;
    splitter_.update(*tape, trace, handed + refusals_);
    const TapeParts& parts = splitter_.parts(*tape, trace);
    return parts.mixed ? nullptr : &parts;
  }

  Ending ending(const Trace& trace, const TapeParts* parts) {
    Ending out;
    if (parts == nullptr || !shape_) return out;
    shape_->moved_to(trace);  // out of the machine
    std::vector<uint32_t> written = written_;
    add_written(trace, boundaries_.back().event, trace.events.size(), written);
    out.rest = shape_->rest(parts->names, written, static_cast<uint32_t>(boundaries_.size()) - 1);
    for (const TapePart& part : parts->parts) add_kind(out.kinds, part.kind);
    return out;
  }

  void compare(const Trace& trace, const TapeParts& parts, HandoverSurvey& out) const {
    std::vector<uint32_t> written;
    add_written(trace, 0, trace.events.size(), written);
    // pieces[n]: between the requests that are answered with the handovers n and n + 1.
    std::vector<std::optional<Hash128>> pieces(boundaries_.size());
    TraceShape shape(trace);
    shape.pass(boundaries_.front().event);
    for (uint32_t n = 1; n < boundaries_.size(); ++n)
      pieces[n] = shape.piece(boundaries_[n].event, parts.names, written, n);
    const auto alike = [&](uint32_t n, uint32_t m) {
      return endings_[n].rest && endings_[n].rest == endings_[m].rest &&
             boundaries_[n].open == boundaries_[m].open;
    };
    constexpr uint32_t longest_period = 16, rounds = 5;
    for (uint32_t p = 1; p <= longest_period && p < most_; ++p) {
      uint32_t start = most_ + 1 - p;  // nothing is known to repeat
      while (start > 1 && alike(start - 1, start - 1 + p) && pieces[start] &&
             (start + p > most_ || pieces[start] == pieces[start + p]))
        --start;
      const uint32_t runs = start + rounds * p;
      if (runs <= most_ && (out.period == 0 || runs < out.runs)) {
        out.start = start;
        out.period = p;
        out.runs = runs;
      }
    }
    for (uint32_t n = 1; n < endings_.size(); ++n) {
      for (const Hash128& kind : endings_[n].kinds) add_kind(out.kinds, kind);
      const auto same = [&](uint32_t m) { return alike(n, m) && pieces[n] && pieces[n] == pieces[m]; };
      bool known = false;
      for (uint32_t m = 1; m < n && !known; ++m) known = same(m);
      if (!known) out.first.push_back(n);
    }
    if (out.period == 0) out.why_not = "the runs do not repeat after a small number of them";
  }

  uint32_t most_, refusals_;
  const std::function<bool()>& stop_;
  const std::function<void(uint32_t done)>& progress_;
  bool over_ = false;       ///< no more clusters
  bool failed_ = false;     ///< nothing follows the position
  bool comparable_ = true;  ///< false: the tape does not fall into parts, nor does that of any longer run
  Forked forked_;
  std::optional<TraceShape> shape_;
  TapeSplitter splitter_;
  std::vector<uint32_t> written_;
  std::vector<Boundary> boundaries_;  ///< one for each request
  std::vector<Ending> endings_;       ///< by number of handovers
};

}  // namespace

HandoverSurvey survey_handovers(const Program& program, const Launch& launch, uint32_t most,
                                const TicketCounter* tickets, const std::function<bool()>& stop,
                                const std::function<void(uint32_t done)>& progress) {
  HandoverSurvey out;
  Result<GlobalMemory> global = GlobalMemory::create(launch, program.variables, Domain::control, {});
  if (!global) {
    out.why_not = global.error().text();
    return out;
  }
  Surveyor surveyor(most, tickets == nullptr ? 0 : 1, stop, progress);
  RunOptions options;
  options.follow_position = options.every_cancel_count = true;
  options.tickets = tickets;
  options.hand_over = [&](const Machine& machine) { return surveyor.hand_over(machine); };
  Machine machine(program, launch, *global, options, ctas_of_cluster(program, launch, 0));
  const Trace trace = machine.run();
  return surveyor.conclude(trace, machine.tape().get(), machine.cancelled);
}

}  // namespace turnstile::sim
