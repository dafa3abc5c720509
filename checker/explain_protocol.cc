// SPDX-License-Identifier: Apache-2.0
//
// Faults of the protocol that need no schedule to be seen, and the faults at which the execution stopped, in
// words.
#include <algorithm>
#include <map>

#include "checker/explain.h"
#include "checker/rules.h"

namespace turnstile::checker {

namespace {

void explain_early_uses(const Story& story, std::vector<Ranked>& out) {
  std::map<std::pair<uint32_t, uint32_t>, size_t> known;
  for (const EarlyUse& u : story.seen.early_uses) {
    const bool never = u.init == no_event;
    const uint32_t place = story.event(u.use).place;
    const auto [at, fresh] =
        known.try_emplace({place, never ? 0xffffffff : story.event(u.init).place}, out.size());
    if (!fresh) {
      ++out[at->second].diagnostic.occurrences;
      continue;
    }
    Diagnostic d;
    d.subject = story.names.barrier(u.barrier);
    d.where = story.names.position(place);
    d.label = "uses " + story.names.barrier(u.barrier);
    if (never) {
      d.finding_class = FindingClass::barrier_protocol;
      d.rule = "MB10";
      d.message =
          story.who(u.use) + " uses " + story.names.barrier(u.barrier) + ", which is never initialised";
      d.help = "mbarrier.init it in one thread, then __syncthreads()";
    } else {
      d.finding_class = FindingClass::race;
      d.rule = "MB11";
      d.message = story.who(u.use) + " can use " + story.names.barrier(u.barrier) +
                  " before its initialisation is visible";
      d.sides.push_back(story.at(u.init, story.who(u.init) + " initialises it here"));
      d.facts.push_back("nothing orders the two");
      d.witness = {story.who(u.init) + " is late: it has not initialised " + story.names.barrier(u.barrier),
                   story.who(u.use) + " uses it: undefined, and the later init wipes what was counted"};
      d.witness_is_shortest = true;
      d.help = "__syncthreads() (or another CTA barrier) after the mbarrier.init, before any use";
    }
    out.push_back({Rank::initialisation, u.use, std::move(d)});
  }
}

void explain_bytes(const Story& story, std::vector<Ranked>& out) {
  for (const ByteMismatch& m : story.seen.byte_mismatches) {
    const std::string barrier = story.names.barrier(m.barrier), phase = Names::phase(m.generation);
    const bool too_few = m.issued < m.expected;
    Diagnostic d;
    d.subject = barrier;
    d.finding_class = FindingClass::barrier_protocol;
    d.rule = too_few ? "MB18" : "MB19";
    const size_t where = m.expect != no_event ? m.expect : m.copies.front();
    d.where = story.names.position(story.event(where).place);
    d.label = barrier + ", " + phase + ": expects " + std::to_string(m.expected) + " bytes";
    d.message = std::to_string(m.expected) + " bytes are expected on " + barrier +
                " in each such phase, but its copies bring " + std::to_string(m.issued);
    std::map<uint32_t, uint64_t> by_place;
    for (size_t copy : m.copies)
      by_place[story.event(copy).place] += story.trace.ops[story.event(copy).object].bytes;
    for (const auto& [place, bytes] : by_place)
      d.sides.push_back(
          story.names.note(place, "brings " + std::to_string(bytes) + " bytes (a box counts in full, MB31)"));
    d.facts.push_back(
        too_few ? std::to_string(m.expected - m.issued) + " bytes never come: the phase does not complete"
                : std::to_string(m.issued - m.expected) +
                      " bytes too many: the phase completes before all bytes are there, or never");
    d.help = "expect exactly " + std::to_string(m.issued) + " bytes, the sum of the copies";
    d.occurrences = m.occurrences;
    out.push_back({Rank::bytes, where, std::move(d)});
  }
}

void explain_second_helpings(const Story& story, std::vector<Ranked>& out) {
  for (const SecondHelping& s : story.seen.second_helpings) {
    const std::string barrier = story.names.barrier(s.barrier), phase = Names::phase(s.generation - 1);
    Diagnostic d;
    d.subject = barrier;
    d.finding_class = FindingClass::stale;
    d.rule = "OB1.1";
    d.message = story.who(s.again) + " consumes " + phase + " of " + barrier + " a second time";
    d.where = story.names.position(story.event(s.again).place);
    d.label = "passes at once: " + phase + " completed long ago";
    d.sides = {story.at(s.first, "it waited for the same phase here"),
               story.at(s.release, "and released the buffer here")};
    d.facts = {
        "the data are those of an earlier tile, or are being overwritten: the wait names a phase that is "
        "over"};
    d.help = "carry stage and phase on across tiles; flip the phase exactly when the stage wraps to 0";
    d.occurrences = s.occurrences;
    out.push_back({Rank::stale, s.again, std::move(d)});
  }
}

void explain_named(const Story& story, std::vector<Ranked>& out) {
  std::map<std::pair<NamedMisuse::Kind, uint32_t>, size_t> known;
  for (const NamedMisuse& m : story.seen.named) {
    const Event& e = story.event(m.event);
    if (std::any_of(story.trace.faults.begin(), story.trace.faults.end(),
                    [&](const Fault& f) { return f.place == e.place && f.rule.starts_with("N"); }))
      continue;  // the execution stopped there and says so
    const auto [at, fresh] = known.try_emplace({m.kind, e.place}, out.size());
    if (!fresh) {
      ++out[at->second].diagnostic.occurrences;
      continue;
    }
    const std::string barrier = story.names.named_barrier(m.object);
    Diagnostic d;
    d.subject = story.names.named_id(m.object);
    d.finding_class = FindingClass::barrier_protocol;
    d.where = story.names.position(e.place);
    d.label = barrier + ", count " + std::to_string(e.count);
    if (m.other != no_event)
      d.sides.push_back(
          story.at(m.other, story.who(m.other) + ", count " + std::to_string(story.event(m.other).count)));
    Rank rank = Rank::named_barrier;
    switch (m.kind) {
      case NamedMisuse::Kind::count_mismatch:
        d.rule = "NX1";
        d.message = story.who(m.event) + " names " + std::to_string(e.count) + " threads on " + barrier +
                    ", the first arriver named " + std::to_string(story.event(m.other).count);
        d.help = "all warps that meet on one id must name the same count; give each group its own id";
        break;
      case NamedMisuse::Kind::over_arrival:
        d.rule = "NX3";
        d.message = "more threads arrive on " + barrier + " than its count of " + std::to_string(e.count);
        d.help = "the count is the total of all threads that sync or arrive in one instance";
        break;
      case NamedMisuse::Kind::bad_count:
        d.rule = "N1";
        d.message = barrier + " with a count of " + std::to_string(e.count) +
                    ": it must be a positive multiple of 32";
        d.help = "name whole warps";
        break;
      case NamedMisuse::Kind::twice:
        d.rule = "N7";
        d.message = story.who(m.event) + " arrives twice in one instance of " + barrier;
        d.help = "let it wait for the instance (bar.sync) before it arrives again";
        break;
      case NamedMisuse::Kind::arrives_only:
        d.rule = "C4";
        d.severity = Severity::lint;
        d.message = barrier + " completes by arrivals only: nobody waits in this instance";
        d.help = "one side must bar.sync";
        rank = Rank::advice;
        break;
    }
    out.push_back({rank, m.event, std::move(d)});
  }
}

/// What the copy reads or writes in shared memory; its barrier where no access of it was seen.
std::string undrained_subject(const Story& story, const Undrained& u) {
  const uint32_t op = story.event(u.issue).object;
  for (const Event& e : story.trace.events) {
    if (e.kind != EventKind::async_access || e.object != op) continue;
    const Footprint& f = story.trace.footprints[e.footprint];
    if (f.space == Space::shared && f.range_count != 0)
      return story.names.holder(f.space, f.allocation, story.trace.ranges[f.first_range].begin);
  }
  const uint32_t barrier = story.trace.ops[op].barrier;
  return barrier == AsyncOp::none ? std::string() : story.names.barrier(barrier);
}

void explain_undrained(const Story& story, std::vector<Ranked>& out) {
  std::map<std::pair<Undrained::Kind, uint32_t>, size_t> known;
  for (const Undrained& u : story.seen.undrained) {
    const auto [at, fresh] = known.try_emplace({u.kind, story.event(u.issue).place}, out.size());
    if (!fresh) {
      ++out[at->second].diagnostic.occurrences;
      continue;
    }
    Diagnostic d;
    d.subject = undrained_subject(story, u);
    d.finding_class = FindingClass::lifetime;
    d.rule = "BK6";
    d.where = story.names.position(story.event(u.issue).place);
    d.label = story.who(u.issue) + " issues it";
    d.sides.push_back(story.at(u.exit, story.who(u.exit) + " ends here"));
    switch (u.kind) {
      case Undrained::Kind::store_reads:
        d.severity = story.options.policies.exit_in_flight;
        d.message = "a TMA store may still read shared memory when its thread has ended";
        d.facts = {
            "no document says that the exit of a CTA waits for it; on an H200 it does (probe P14: "
            "103,809,024 words, all right)"};
        d.help = "the issuing thread executes cp.async.bulk.wait_group.read 0 before it ends";
        break;
      case Undrained::Kind::store_writes:
        d.severity = Severity::lint;
        d.message =
            "a TMA store may still write global memory when its thread has ended (only .read was waited for)";
        d.help = "nothing, if only later kernels read the data; else cp.async.bulk.wait_group 0";
        break;
      case Undrained::Kind::load:
        d.message = "a TMA load may still write shared memory when the CTA has ended: nobody waits for it";
        d.help = "wait on its barrier before the last warp ends, or do not issue it";
        break;
    }
    out.push_back({d.severity == Severity::lint ? Rank::advice : Rank::lifetime, u.issue, std::move(d)});
  }
}

void explain_register_hazards(const Story& story, std::vector<Ranked>& out) {
  std::map<uint32_t, size_t> known;
  for (size_t i : story.seen.register_hazards) {
    const Event& e = story.event(i);
    const auto [at, fresh] = known.try_emplace(e.place, out.size());
    if (!fresh) {
      ++out[at->second].diagnostic.occurrences;
      continue;
    }
    Diagnostic d;
    d.subject = "registers";
    d.finding_class = FindingClass::register_hazard;
    d.rule = "WG3";
    d.where = story.names.position(e.place);
    d.message = story.who(i) + " uses a register of a wgmma that may not be done";
    d.label = "group " + std::to_string(e.generation) + " of its warp group is pending";
    for (const AsyncOp& op : story.trace.ops)
      if (op.kind == AsyncOp::Kind::wgmma && op.queue == e.object && op.group == e.generation) {
        d.sides.push_back(story.names.note(op.place, "the wgmma of that group"));
        break;
      }
    d.help = "wgmma.wait_group that covers the group, before its accumulators or A registers are touched";
    out.push_back({Rank::early_release, i, std::move(d)});
  }
}

/// MB10: what arrived on a barrier that had been invalidated, and who did that.
void tell_invalidated(const Story& story, const Fault& f, Diagnostic& d) {
  const std::vector<Event>& events = story.trace.events;
  size_t arrival = events.size();
  const auto lands_there = [&](const Event& e) {
    return e.kind == EventKind::async_complete && e.agent == f.agent && e.place == f.place &&
           story.trace.ops[e.object].barrier < story.trace.barriers.size();
  };
  while (arrival > 0 && !lands_there(events[arrival - 1])) --arrival;
  if (arrival == 0) return;
  const AsyncOp& op = story.trace.ops[events[--arrival].object];
  size_t inval = arrival;
  while (inval > 0 &&
         !(events[inval - 1].kind == EventKind::mbarrier_inval && events[inval - 1].object == op.barrier))
    --inval;
  if (inval-- == 0) return;
  const std::string who = story.who(inval), barrier = story.names.barrier(op.barrier);
  const std::string what =
      op.kind == AsyncOp::Kind::tensor_commit ? "the arrival of a tcgen05.commit" : "an asynchronous arrival";
  d.subject = barrier;
  d.message = who + " invalidates " + barrier + " while " + what + " is on its way there";
  d.sides.push_back(story.at(inval, who + " invalidates it here"));
  d.facts.push_back("an arrival on an invalidated barrier is undefined: it changes what lies there by then");
  d.witness = {story.who(arrival) + " issues it", who + " invalidates " + barrier, what + " comes"};
  d.help = "wait for the phase that this arrival completes before mbarrier.inval, or invalidate nothing";
}

}  // namespace

void explain_protocol(const Story& story, std::vector<Ranked>& out) {
  explain_early_uses(story, out);
  explain_bytes(story, out);
  explain_second_helpings(story, out);
  explain_named(story, out);
  explain_undrained(story, out);
  explain_register_hazards(story, out);
}

void explain_faults(const Story& story, std::vector<Ranked>& out) {
  for (const Fault& f : story.trace.faults) {
    const bool told = !stops_execution(f) && std::any_of(out.begin(), out.end(), [&](const Ranked& r) {
      return r.diagnostic.rule == f.rule;
    });
    if (told) continue;
    const auto begins = [&](std::string_view prefix) { return f.rule.starts_with(prefix); };
    Diagnostic d;
    Rank rank = Rank::illegal;
    d.finding_class = FindingClass::memory;
    if (begins("MB") || begins("N") || begins("W1") || begins("W5"))
      d.finding_class = FindingClass::barrier_protocol;
    if (begins("MB15") || begins("MB17")) rank = Rank::refused;
    if (begins("N")) rank = Rank::named_barrier;
    if (begins("RG")) d.finding_class = FindingClass::resource;
    if (begins("WG1") || begins("WG3")) d.finding_class = FindingClass::register_hazard;
    if (const Rule* rule = find_rule(f.rule); rule != nullptr && d.finding_class == FindingClass::memory) {
      d.finding_class = rule->finding_class;
      d.severity = rule->severity;
      if (d.severity == Severity::lint) rank = Rank::advice;
      if (d.finding_class == FindingClass::lifetime) rank = Rank::lifetime;
    }
    for (size_t i = story.trace.events.size(); i-- > 0;)  // the last thing that it did there
      if (const Event& e = story.event(i); e.agent == f.agent && e.place == f.place) {
        d.subject = story.names.object_of(e);
        break;
      }
    if (f.rule == "TC24") d.severity = story.options.policies.commit_address;
    d.rule = f.rule;
    d.message = f.message;
    d.where = story.names.position(f.place);
    d.label = story.names.warp(f.agent);
    d.help = f.help;
    if (f.rule == "MB10") tell_invalidated(story, f, d);
    if (!story.trace.blocked.empty())
      d.facts.push_back(std::to_string(story.trace.blocked.size()) +
                        " strands were waiting when the execution stopped here");
    out.push_back({rank, story.trace.events.size(), std::move(d)});
  }
}

}  // namespace turnstile::checker
