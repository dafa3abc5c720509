// SPDX-License-Identifier: Apache-2.0
//
// Breaches of the certificate in words, with the schedule that shows them (ALG-E4, algorithms.md section 9:
// for each condition a recipe). The schedule is told, not searched: it need not be the shortest.
#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "checker/explain.h"

namespace turnstile::checker {

Refill refill_of(const Story& story, uint32_t barrier, uint64_t generation) {
  Refill refill;
  for (const History::Entry& entry : story.history.of(barrier)) {
    if (entry.kind == History::Kind::wait || entry.generation != generation) continue;
    const size_t wait = story.history.last_wait_before(story.warp(entry.event), entry.event);
    if (wait >= story.trace.events.size() || story.event(wait).object == barrier ||
        story.event(wait).generation == 0)
      continue;
    refill.guard_wait = wait;
    break;
  }
  if (refill.guard_wait == no_event) return refill;
  const Event& wait = story.event(refill.guard_wait);
  std::set<uint32_t> warps;
  for (const History::Entry& entry : story.history.of(wait.object))
    if (entry.kind == History::Kind::arrive && entry.generation + 1 == wait.generation &&
        warps.insert(story.warp(entry.event)).second)
      refill.releases.push_back(entry.event);
  return refill;
}

namespace {

/// tcgen05.commit and cp.async.mbarrier.arrive: their operation brings an arrival, not bytes.
bool arrives_later(const Story& story, const Event& e) {
  const AsyncOp::Kind kind = story.trace.ops[e.object].kind;
  return kind == AsyncOp::Kind::tensor_commit || kind == AsyncOp::Kind::cp_async;
}

using BreachKind = Breach::Kind;

std::string list_of(const std::vector<std::string>& items) {
  std::string text;
  for (size_t i = 0; i < items.size(); ++i)
    text += (i == 0 ? "" : i + 1 == items.size() ? " and " : ", ") + items[i];
  return text;
}

Diagnostic lapped(const Story& story, const Breach& breach) {
  const Event& wait = story.event(breach.event);
  const std::string who = story.who(breach.event), barrier = story.names.barrier(breach.object);
  const uint64_t phase = breach.generation;  // completions seen; the phase waited for is one less
  Diagnostic d;
  d.finding_class = FindingClass::overtaken;
  d.rule = "ALG-D2";
  const std::string awaited = phase == 0 ? "the pass of a fresh barrier" : Names::phase(phase - 1);
  d.message = who + " can be overtaken at " + barrier + ": " + Names::phase(phase) +
              " can complete before it has polled for " + awaited;
  d.where = story.names.position(wait.place);
  d.label = "waits on " + barrier + " for " + awaited;
  const bool bytes = story.event(breach.completion).kind == EventKind::async_complete;
  const uint32_t completing = bytes ? story.trace.ops[story.event(breach.completion).object].place
                                    : story.event(breach.completion).place;
  d.sides.push_back(story.names.note(completing, (!bytes ? "this completes "
                                                  : arrives_later(story, story.event(breach.completion))
                                                      ? "the arrival of this commit completes "
                                                      : "the bytes of this copy complete ") +
                                                     Names::phase(phase) + " of " + barrier));
  const Refill refill = refill_of(story, breach.object, phase);
  std::vector<std::string> releasers;
  for (size_t release : refill.releases) releasers.push_back(story.names.warp_number(story.warp(release)));
  if (refill.guard_wait != no_event) {
    const std::string guard = story.names.barrier(story.event(refill.guard_wait).object);
    const bool counted = std::any_of(refill.releases.begin(), refill.releases.end(),
                                     [&](size_t r) { return story.warp(r) == story.warp(breach.event); });
    d.facts.push_back(story.who(refill.guard_wait) + " goes on when " + guard +
                      " completes, and there only " + list_of(releasers) +
                      (releasers.size() == 1 ? " arrives" : " arrive"));
    for (size_t release : refill.releases)
      d.sides.push_back(story.at(release, story.who(release) + " arrives on " + guard + " here"));
    d.facts.push_back(counted ? "the arrival of " + who + " is not ordered after this wait"
                              : "nothing on that path waits for " + who);
    d.help = counted
                 ? "arrive on " + guard + " after the wait"
                 : "count " + who + " in " + guard +
                       " too (one more arrival, initial count + 1), or synchronise the warps of the group "
                       "before the arrival at " +
                       story.line(refill.releases.empty() ? refill.guard_wait : refill.releases.front());
  } else {
    d.facts.push_back("nothing makes " + Names::phase(phase) + " wait until " + who + " has polled");
    d.help =
        "let the next phase of " + barrier + " depend on an arrival that " + who + " makes after this wait";
  }
  d.facts.push_back(
      "a parity wait is one bit: after two completions it looks as if nothing had happened (W4)");
  d.witness = {who + " is slow: it has not polled " + barrier + " for " + awaited};
  if (phase > 0) d.witness.push_back(Names::phase(phase - 1) + " of " + barrier + " completes");
  for (size_t release : refill.releases)
    d.witness.push_back(story.who(release) + " arrives on " +
                        story.names.barrier(story.event(refill.guard_wait).object) + " (" +
                        story.line(release) + ")");
  d.witness.push_back(Names::phase(phase) + " of " + barrier + " completes as well (" +
                      story.names.line(completing) + ")");
  d.witness.push_back(who + " polls with parity " + std::to_string(wait.count) +
                      ": it waits for ever, or takes the data of " + Names::phase(phase + 1));
  return d;
}

Diagnostic early_pass(const Story& story, const Breach& breach) {
  const Event& wait = story.event(breach.event);
  const std::string who = story.who(breach.event), barrier = story.names.barrier(breach.object);
  Diagnostic d;
  d.finding_class = FindingClass::overtaken;
  d.rule = "ALG-D1";
  d.message = who + " can pass " + barrier + " two phases early, at " + Names::phase(breach.generation);
  d.where = story.names.position(wait.place);
  d.label = "waits on " + barrier + " for " + Names::phase(breach.generation);
  d.facts = {"nothing orders the completion of " + Names::phase(breach.generation - 1) + " before this wait",
             "before that completion " + barrier + " answers true for parity " + std::to_string(wait.count) +
                 " already: the bit of " +
                 (breach.generation < 2 ? "a fresh barrier (W2)" : Names::phase(breach.generation - 2))};
  d.witness = {
      who + " gets here before " + Names::phase(breach.generation - 1) + " of " + barrier + " completes",
      "it polls with parity " + std::to_string(wait.count) + " and passes at once, on old data"};
  d.help = "wait for every phase of " + barrier +
           " in turn; check that the phase bit flips exactly once each time round the ring";
  return d;
}

Diagnostic blocked_early(const Story& story, const Breach& breach) {
  const Blocked& b = story.trace.blocked[breach.blocked];
  const std::string who = story.names.warp(b.agent), barrier = story.names.barrier(breach.object);
  Diagnostic d;
  d.finding_class = FindingClass::overtaken;
  d.rule = "ALG-D1";
  d.message =
      who + " missed " + Names::phase(breach.generation - 1) + " of " + barrier + " and waits for ever";
  d.where = story.names.position(b.place);
  d.label = "waits on " + barrier + " with parity " + std::to_string(b.count);
  d.facts.push_back(Names::phase(breach.generation - 1) + " completed, but nothing that " + who +
                    " has seen says so");
  size_t last = no_event;
  bool same_bit = false;
  for (const History::Entry& entry : story.history.of(breach.object))
    if (entry.kind == History::Kind::wait &&
        story.warp(entry.event) == warp_key(story.trace.agents[b.agent.v]))
      last = entry.event;
  if (last != no_event && story.event(last).generation > 0) {
    d.sides.push_back(
        story.at(last, "its last wait there, for " + Names::phase(story.event(last).generation - 1)));
    if (story.event(last).count == b.count && breach.generation == story.event(last).generation + 1) {
      d.facts.push_back("it waited there with parity " + std::to_string(b.count) +
                        " the last time too: its phase bit did not flip in between");
      same_bit = true;
    }
  } else {
    d.facts.push_back("it has never waited on " + barrier + " with success");
  }
  if (breach.completion != no_event) {
    const Event& e = story.event(breach.completion);
    const uint32_t place = e.kind == EventKind::async_complete ? story.trace.ops[e.object].place : e.place;
    d.sides.push_back(story.names.note(place, "this completes " + Names::phase(breach.generation - 1)));
  }
  d.facts.push_back(
      "a poll between two completions would have passed: whether this hangs depends on the schedule");
  d.help = same_bit
               ? "carry stage and phase on across tiles; flip the phase exactly when the stage wraps to 0"
               : "wait for every phase of " + barrier +
                     " in turn, with the parity of the phase that is meant; "
                     "do not let the barrier go round twice before this warp has polled";
  return d;
}

Diagnostic foreign_arrival(const Story& story, const Breach& breach) {
  const Event& e = story.event(breach.event);
  const std::string who = story.who(breach.event);
  const std::string barrier =
      breach.named ? story.names.named_barrier(breach.object) : story.names.barrier(breach.object);
  const std::string previous = breach.named ? "the previous instance" : Names::phase(breach.generation - 1);
  const bool copy = e.kind == EventKind::async_issue;
  Diagnostic d;
  d.finding_class = FindingClass::barrier_protocol;
  d.rule = breach.named ? "EXT1" : "ALG-D3";
  d.message =
      (copy ? (arrives_later(story, e) ? "the arrival of this commit" : "the bytes of this copy")
            : (e.kind == EventKind::mbarrier_expect_tx ? "the expect of " : "the arrival of ") + who) +
      " can be counted in " + previous + " of " + barrier;
  d.where = story.names.position(e.place);
  d.label = breach.named ? "contributes to instance " + std::to_string(breach.generation + 1) + " in this run"
                         : "counted in " + Names::phase(breach.generation) + " in this run";
  d.facts.push_back("nothing orders the completion of " + previous + " before it");
  d.help = "let " + who + " wait for " + previous + " of " + barrier + " before it contributes to the next";
  if (breach.named) {
    NamedBarrier machine;
    for (const History::Contribution& c : story.history.named(breach.object, machine)) {
      if (c.instance + 1 != breach.generation) continue;
      d.sides.push_back(story.at(c.event, story.who(c.event) +
                                              " contributes to the previous instance, count " +
                                              std::to_string(story.event(c.event).count)));
      if (story.event(c.event).count != e.count)
        d.help = "the two groups share one id with different counts: give each its own";
      break;
    }
  } else {
    const std::vector<uint32_t> arrivers = story.history.arrivers(breach.object);
    const uint32_t count = story.history.barrier(breach.object).expected();
    std::vector<std::string> names;
    for (uint32_t w : arrivers) names.push_back(story.names.warp_number(w));
    if (e.kind == EventKind::mbarrier_arrive && arrivers.size() > count) {
      d.facts.push_back(barrier + " is initialised with count " + std::to_string(count) + ", but " +
                        list_of(names) + " arrive on it");
      d.help = "initialise " + barrier + " with count " + std::to_string(arrivers.size()) +
               ", or let one warp arrive for all";
    }
    for (const History::Entry& entry :
         story.history.of(breach.object)) {  // the other contributions that fill the earlier phase
      if (entry.kind != History::Kind::arrive || entry.generation + 1 != breach.generation) continue;
      d.sides.push_back(story.at(entry.event, story.who(entry.event) + " arrives in " + previous));
      if (d.sides.size() == 3) break;
    }
  }
  d.witness = {previous + " of " + barrier + " is still open: its other contributions are late",
               (copy ? "the copy lands" : who + " contributes") + " now and is counted there",
               "that phase completes too early, and the one it was meant for lacks a contribution"};
  return d;
}

Diagnostic refused(const Story& story, const Breach& breach) {
  const Event& e = story.event(breach.event);
  const std::string barrier = story.names.barrier(breach.object);
  Diagnostic d;
  d.finding_class = FindingClass::barrier_protocol;
  d.rule = std::string(breach.rule);
  const uint32_t count = story.history.barrier(breach.object).expected();
  d.where =
      story.names.position(e.kind == EventKind::async_complete ? story.trace.ops[e.object].place : e.place);
  d.label = barrier + ", " + Names::phase(breach.generation);
  if (breach.rule == "MB15") {
    d.message = story.who(breach.event) + " arrives on " + barrier + " once more than its count of " +
                std::to_string(count) + " allows";
    d.help = "raise the initial count, elect one arriver, or wait for the phase before arriving again";
  } else if (breach.rule == "MB9") {
    d.message = barrier + " is initialised while it is in use";
    d.help = "initialise it once, or mbarrier.inval it first when nobody uses it";
  } else if (breach.rule == "MB10") {
    d.message = barrier + " is used after mbarrier.inval";
    d.help = "invalidate it only after its last use is ordered before";
  } else if (breach.rule == "MB17") {
    d.message = "more than 2^20-1 bytes can be pending on " + barrier;
    d.help = "track fewer bytes in one phase (MB5)";
  } else if (breach.rule == "MB20") {
    d.message = "more than 2^20-1 arrivals are pending on " + barrier;
    d.help = "use cp.async.mbarrier.arrive.noinc and count its arrivals in the init";
  } else if (breach.rule == "MB21") {
    d.message = barrier + " has nobody left to arrive in later phases: the last count is dropped";
    d.help = "let the last arriver use mbarrier.arrive";
  } else {
    d.message = barrier + " is given a count outside 1..2^20-1";
    d.help = "use the number of arrivals that one phase has";
  }
  return d;
}

Diagnostic bytes_breach(const Story& story, const Breach& breach) {
  const Event& e = story.event(breach.event);
  const std::string barrier = story.names.barrier(breach.object), phase = Names::phase(breach.generation);
  Diagnostic d;
  d.finding_class = FindingClass::barrier_protocol;
  d.where = story.names.position(e.place);
  d.label = barrier + ", " + phase;
  if (breach.kind == BreachKind::unmatched) {
    d.rule = "ALG-D5b";
    d.message = "more bytes land on " + barrier + " in " + phase + " than were expected";
    d.facts = {std::to_string(-story.history.barrier(breach.object).tx()) +
               " bytes too many: the phase never completes, or completes before all bytes are there"};
    d.help = "expect the bytes of all copies that are issued to the barrier in one phase";
    return d;
  }
  d.rule = "ALG-D5a";
  d.message = phase + " of " + barrier + " can complete before these bytes are expected";
  d.facts = {
      "no arrival of that phase comes after the expect: if all arrivals are in first, the phase is over "
      "before the copy landed (MB24)"};
  d.witness = {"all arrivals of " + phase + " happen", "the phase completes at once: no bytes are pending",
               story.who(breach.event) + " expects its bytes, now in the next phase",
               "a waiter reads data that have not landed"};
  d.help = "use mbarrier.arrive.expect_tx, or expect before the last arrival";
  return d;
}

Diagnostic describe(const Story& story, const Breach& breach) {
  switch (breach.kind) {
    case BreachKind::early_pass:
      return early_pass(story, breach);
    case BreachKind::blocked_early:
      return blocked_early(story, breach);
    case BreachKind::lapped:
      return lapped(story, breach);
    case BreachKind::foreign_arrival:
      return foreign_arrival(story, breach);
    case BreachKind::refused:
      return refused(story, breach);
    case BreachKind::unannounced:
    case BreachKind::unmatched:
      break;
  }
  return bytes_breach(story, breach);
}

Diagnostic explain(const Story& story, const Breach& breach) {
  Diagnostic d = describe(story, breach);
  d.subject = breach.named ? story.names.named_id(breach.object) : story.names.barrier(breach.object);
  d.suspected = breach.kind != BreachKind::refused;  // what a state machine refuses has happened
  return d;
}

}  // namespace

void explain_breaches(const Story& story, std::vector<Ranked>& out) {
  constexpr size_t kShown = 3;  // different ones; the rest is mostly a consequence of the first (PF13)
  std::map<std::tuple<BreachKind, uint32_t, uint32_t>, size_t> known;
  const size_t begin = out.size();
  size_t left_out = 0;
  for (const Breach& breach : story.seen.breaches) {
    const bool fault_says_it =
        breach.kind == BreachKind::refused &&
        std::any_of(story.trace.faults.begin(), story.trace.faults.end(), [&](const Fault& f) {
          return f.rule == breach.rule && f.place == story.event(breach.event).place;
        });
    if (fault_says_it) continue;
    const uint32_t place = breach.event == no_event ? story.trace.blocked[breach.blocked].place
                                                    : story.event(breach.event).place;
    const uint32_t other = breach.completion == no_event ? 0 : story.event(breach.completion).place;
    const auto [at, fresh] = known.try_emplace({breach.kind, place, other}, out.size());
    if (!fresh) {
      if (at->second != no_event) ++out[at->second].diagnostic.occurrences;
      continue;
    }
    if (out.size() - begin == kShown) {
      at->second = no_event;
      ++left_out;
      continue;
    }
    const Rank rank = breach.kind == BreachKind::refused ? Rank::refused : Rank::certificate;
    out.push_back({rank, breach.found, explain(story, breach)});
    if (out.size() - begin > 1)
      out.back().diagnostic.facts.push_back("after an earlier breach: may be a consequence");
  }
  if (left_out > 0)
    out.back().diagnostic.facts.push_back(
        std::to_string(left_out) + " more places break a condition of the certificate later in this run");
}

}  // namespace turnstile::checker
