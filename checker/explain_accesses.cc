// SPDX-License-Identifier: Apache-2.0
//
// Races, missing proxy fences and overwritten data in words. Each pair of places once.
#include <algorithm>

#include "checker/explain.h"

namespace turnstile::checker {

namespace {

uint32_t place_of(const Story& story, size_t access) {
  const Event& e = story.event(access);
  return e.kind == EventKind::async_access ? story.trace.ops[e.object].place : e.place;
}

AgentId agent_of(const Story& story, size_t access) {
  const Event& e = story.event(access);
  return e.kind == EventKind::async_access ? story.trace.ops[e.object].issuer : e.agent;
}

std::string described(const Story& story, size_t access, const std::string& bytes) {
  const Event& e = story.event(access);
  return story.names.warp(agent_of(story, access)) + ", " +
         (e.kind == EventKind::async_access ? "async" : "generic") + " proxy: " + story.names.action(e) +
         " " + bytes;
}

bool is_op(const Story& story, size_t access, AsyncOp::Kind kind) {
  const Event& e = story.event(access);
  return e.kind == EventKind::async_access && story.trace.ops[e.object].kind == kind;
}

/// A group wait by another thread of the warp that issued the store: it waits for nothing (BK2).
size_t wait_by_another_thread(const Story& story, uint32_t queue) {
  const QueueInfo& mine = story.trace.queues[queue];
  for (size_t i = 0; i < story.trace.events.size(); ++i) {
    const Event& e = story.event(i);
    if (e.kind != EventKind::group_wait || e.object == queue) continue;
    const QueueInfo& other = story.trace.queues[e.object];
    if (other.kind == QueueInfo::Kind::bulk && other.cta == mine.cta && other.warp / 4 == mine.warp / 4)
      return i;
  }
  return no_event;
}

void explain_race(const Story& story, const Conflict& c, const std::string& bytes, Diagnostic& d) {
  const Event& prior = story.event(c.prior);
  const Event& current = story.event(c.current);
  d.finding_class = FindingClass::race;
  const std::string first = story.names.action(prior), second = story.names.action(current);
  const bool overwrites_operands = is_op(story, c.prior, AsyncOp::Kind::wgmma) && current.has(Event::write);
  if (overwrites_operands) {
    d.rule = "WG4";
    d.message =
        second.substr(0, second.rfind(' ')) + " can overwrite " + bytes + " while a wgmma still reads it";
    d.facts.push_back(
        c.released_early
            ? "the stage is released after the wgmma was issued, but before its group was waited for"
            : "nothing on the path to the overwrite waits for the wgmma");
    d.help = "wait for the group (wgmma.wait_group) that reads the stage, then arrive on its empty barrier";
  } else if (is_op(story, c.prior, AsyncOp::Kind::bulk_store) && prior.has(Event::write)) {
    d.rule = "BK3";
    d.message = second + " " + bytes + ", which a TMA store may not have written yet";
    d.help = "cp.async.bulk.wait_group (without .read) by the thread that issued the store, then a barrier";
  } else if (is_op(story, c.prior, AsyncOp::Kind::bulk_store)) {
    d.rule = "BK3";
    d.message = second + " " + bytes + " while a TMA store may still read it";
    d.help =
        "the thread that issued the store waits with cp.async.bulk.wait_group.read before the buffer is "
        "filled again, then a barrier";
    const size_t other = wait_by_another_thread(story, story.trace.ops[prior.object].queue);
    if (other != no_event) {
      d.rule = "BK2";
      d.sides.push_back(
          story.at(other, "this wait, by another thread (" + story.who(other) + ", lane " +
                              std::to_string(story.trace.queues[story.event(other).object].lane) +
                              "), covers only the groups of that thread"));
    }
  } else if (is_op(story, c.prior, AsyncOp::Kind::bulk_load) && prior.has(Event::write)) {
    d.rule = "M4";
    d.message = second + " " + bytes + " without having seen the TMA load complete that writes it";
    d.help = "wait on the barrier of that copy, for the phase that its bytes complete";
  } else if (is_op(story, c.current, AsyncOp::Kind::bulk_load) && current.has(Event::write)) {
    d.rule = "M4";
    d.message = "TMA load can overwrite " + bytes + " while " + story.names.warp(agent_of(story, c.prior)) +
                " still uses it";
    d.help = "let the copy wait for an arrival that " + story.names.warp(agent_of(story, c.prior)) +
             " makes after this access";
  } else {
    d.rule = "M4";
    d.message = first + " and " + second + " the same bytes, " + bytes + ", in no order";
    d.help = "put a barrier between the two, on which both warps meet";
  }
  d.facts.push_back("nothing orders the two accesses: another schedule, or slower memory, exchanges them");
  d.witness = {
      described(story, c.prior, bytes) + " (" + story.names.line(place_of(story, c.prior)) + ") is late",
      described(story, c.current, bytes) + " (" + story.names.line(place_of(story, c.current)) +
          ") does not wait for it"};
  d.witness_is_shortest = true;
}

void explain_unfenced(const Story& story, const Conflict& c, const std::string& bytes, Diagnostic& d) {
  const Event& current = story.event(c.current);
  const std::string space = c.space == Space::shared ? ".shared::cta" : ".global";
  d.finding_class = FindingClass::proxy_fence;
  if (c.kind == Conflict::Kind::write_unfenced) {
    d.rule = c.space == Space::shared ? "PX1" : "PX7";
    d.message =
        story.names.action(current) + " bytes that a generic store may not have made visible: " + bytes;
    d.facts.push_back("the two are ordered, but no proxy fence lies between the write and the " +
                      story.names.action(current).substr(0, story.names.action(current).rfind(' ')));
    d.help = "fence.proxy.async" + space +
             " by the writing threads after their writes, before the barrier that orders them; "
             "or by the issuing thread after that barrier";
  } else {
    d.rule = "PX2";
    d.severity = story.options.strict_war_fence ? Severity::error : Severity::lint;
    d.message = story.names.action(current) +
                " over bytes that a generic load read before, without a proxy fence: " + bytes;
    d.facts.push_back("contested: PTX asks for the fence, much shipped code leaves it out (semantics.md E6)");
    d.help = "fence.proxy.async" + space + " by the reading threads, before they release the buffer";
  }
}

}  // namespace

void explain_accesses(const Story& story, std::vector<Ranked>& out) {
  size_t first_breach = no_event;
  for (const Breach& b : story.seen.breaches) first_breach = std::min(first_breach, b.event);
  for (const Conflict& c : story.seen.conflicts) {
    const std::string bytes = story.names.bytes(c.space, c.allocation, c.begin, c.end);
    Diagnostic d;
    d.where = story.names.position(place_of(story, c.current));
    d.label = described(story, c.current, bytes);
    d.sides.push_back(story.names.note(place_of(story, c.prior), described(story, c.prior, bytes)));
    d.occurrences = c.occurrences;
    if (c.kind == Conflict::Kind::race)
      explain_race(story, c, bytes, d);
    else
      explain_unfenced(story, c, bytes, d);
    if (first_breach < c.current && d.severity == Severity::error && !c.released_early)
      d.facts.push_back("after a broken condition of the certificate: may be a consequence");
    const Rank rank = d.severity == Severity::lint ? Rank::advice
                      : c.released_early           ? Rank::early_release
                                                   : Rank::data;
    out.push_back({rank, c.current, std::move(d)});
  }
  for (const Overwrite& o : story.seen.overwrites) {
    Diagnostic d;
    d.finding_class = FindingClass::stale;
    d.severity = Severity::lint;
    d.rule = "OB1.1";
    d.message = "TMA load overwrites data that nobody has read";
    d.where = story.names.position(place_of(story, o.current));
    d.label = story.names.action(story.event(o.current));
    d.sides.push_back(story.names.note(place_of(story, o.prior), "the copy that is lost"));
    d.help = "check that each role steps through the same tiles and stages";
    d.occurrences = o.occurrences;
    out.push_back({Rank::advice, o.current, std::move(d)});
  }
}

}  // namespace turnstile::checker
