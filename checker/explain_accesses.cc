// SPDX-License-Identifier: Apache-2.0
//
// Races, missing proxy fences and overwritten data in words. Each pair of places once.
#include <algorithm>
#include <optional>

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

/// The bytes that both accesses of a conflict touch, from the first to the last, within the named range of
/// the first.
std::string common_bytes(const Story& story, const Conflict& c) {
  uint64_t begin = c.begin, end = c.end;
  const auto spans = [&](size_t access) {
    std::vector<std::pair<uint64_t, uint64_t>> all;
    const Footprint& f = story.trace.footprints[story.event(access).footprint];
    for (uint32_t r = f.first_range; r < f.first_range + f.range_count && all.size() < 4096; ++r) {
      const ByteRange& range = story.trace.ranges[r];
      for (uint32_t i = 0; i < range.count && all.size() < 4096; ++i)
        all.emplace_back(range.begin + i * range.stride, range.end + i * range.stride);
    }
    std::sort(all.begin(), all.end());
    return all;
  };
  const auto first = spans(c.prior), second = spans(c.current);
  for (size_t i = 0, j = 0; i < first.size() && j < second.size();) {
    const uint64_t lo = std::max(first[i].first, second[j].first),
                   hi = std::min(first[i].second, second[j].second);
    if (lo < hi) begin = std::min(begin, lo), end = std::max(end, hi);
    first[i].second < second[j].second ? ++i : ++j;
  }
  return story.names.bytes(c.space, c.allocation, begin, end);
}

/// One side of a race.
struct Side {
  size_t access = no_event;
  bool load = false, store = false, wgmma = false, generic = false, writes = false;
};

Side side_of(const Story& story, size_t access) {
  const Event& e = story.event(access);
  Side s;
  s.access = access;
  s.generic = e.kind == EventKind::access;
  s.writes = e.has(Event::write) || (s.generic && e.has(Event::atomic));
  if (s.generic) return s;
  const AsyncOp::Kind kind = story.trace.ops[e.object].kind;
  s.load = delivers_bytes(story.trace.ops[e.object]);
  s.store = kind == AsyncOp::Kind::bulk_store;
  s.wgmma = kind == AsyncOp::Kind::wgmma;
  return s;
}

/// A group wait by another thread of the warp group that issued the store: it waits for nothing (BK2).
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

/// Has the warp of an access waited on a barrier before it?
bool waited(const Story& story, size_t access, uint32_t barrier) {
  const uint32_t warp = warp_key(story.trace.agents[agent_of(story, access).v]);
  const auto& entries = story.history.of(barrier);
  return std::any_of(entries.begin(), entries.end(), [&](const History::Entry& e) {
    return e.kind == History::Kind::wait && e.event < access && story.warp(e.event) == warp &&
           story.event(e.event).generation > 0;
  });
}

/// The arrival that lets the copy `load` overwrite what `reader` still reads: of the reader's warp group,
/// else any.
void name_release(const Story& story, size_t reader, size_t load, Diagnostic& d) {
  const uint32_t op = story.event(load).object, barrier = story.trace.ops[op].barrier;
  for (const History::Entry& e : story.history.of(barrier)) {
    if (e.kind != History::Kind::bytes || story.event(e.event).object != op) continue;
    const Refill refill = refill_of(story, barrier, e.generation);
    if (refill.releases.empty()) return;
    const uint32_t group = warp_key(story.trace.agents[agent_of(story, reader).v]) / 4;
    const auto own = std::find_if(refill.releases.begin(), refill.releases.end(),
                                  [&](size_t r) { return story.warp(r) / 4 == group; });
    const size_t release = own == refill.releases.end() ? refill.releases.front() : *own;
    d.sides.push_back(story.at(release, story.who(release) + " releases the buffer here (" +
                                            story.names.barrier(story.event(release).object) + ")"));
    return;
  }
}

bool in_tensor_pipe(AsyncOp::Kind k) {
  return k == AsyncOp::Kind::tensor_mma || k == AsyncOp::Kind::tensor_copy ||
         k == AsyncOp::Kind::tensor_commit;
}

/// The kind of operation that makes an access; nothing: a strand makes it.
std::optional<AsyncOp::Kind> operation_of(const Story& story, size_t access) {
  const Event& e = story.event(access);
  if (e.kind != EventKind::async_access) return std::nullopt;
  return story.trace.ops[e.object].kind;
}

/// A commit by a thread that has issued nothing (TC25): `queue` is not the one of the mma.
size_t commit_by_another_thread(const Story& story, uint32_t queue) {
  for (size_t i = 0; i < story.trace.events.size(); ++i) {
    const Event& e = story.event(i);
    if (e.kind != EventKind::async_issue) continue;
    const AsyncOp& op = story.trace.ops[e.object];
    if (op.kind != AsyncOp::Kind::tensor_commit || op.queue == queue) continue;
    const bool issues = std::any_of(story.trace.ops.begin(), story.trace.ops.end(), [&](const AsyncOp& o) {
      return o.queue == op.queue && o.kind != AsyncOp::Kind::tensor_commit;
    });
    if (!issues) return i;
  }
  return no_event;
}

/// Races on tensor memory, and of operands of tcgen05: what completion is missing.
bool explain_tensor_race(const Story& story, const Conflict& c, const std::string& bytes, Diagnostic& d) {
  using K = AsyncOp::Kind;
  const auto first = operation_of(story, c.prior), second = operation_of(story, c.current);
  const std::string what = story.names.action(story.event(c.current));
  if (!first || *first < K::tensor_mma || *first > K::tensor_commit) return false;
  if (*first == K::tensor_store) {
    d.rule = "TC17";
    d.message = what + " " + bytes + ", which a tcgen05.st may not have written yet";
    d.help = "tcgen05.wait::st by the warp that stores, then the barrier, then the next use";
  } else if (*first == K::tensor_load) {
    d.rule = "TC18";
    d.message = what + " " + bytes + " while a tcgen05.ld may still read it";
    d.help = "tcgen05.wait::ld by the warp that loads, then the barrier, then the overwrite";
  } else if (c.space == Space::shared) {
    d.rule = "TC22";
    d.message = what + " " + bytes + " while a tcgen05.mma still reads it";
    d.help =
        "wait on the barrier of a tcgen05.commit that covers the mma before its operands are overwritten";
  } else if (second && in_tensor_pipe(*second)) {
    d.rule = "TC20";
    d.message = what + " " + bytes + " in no order with a tcgen05 operation of another thread";
    d.help = "issue both from one thread, or order the two threads with a barrier and tcgen05.fence";
  } else {
    d.rule = "TC19";
    d.message = what + " " + bytes + ", which a tcgen05.mma may not have written yet";
    d.help = "tcgen05.commit after the mma by the same thread, wait on its barrier, then read";
  }
  if (!in_tensor_pipe(*first)) return true;
  const size_t other = commit_by_another_thread(story, story.trace.ops[story.event(c.prior).object].queue);
  if (other != no_event) {
    d.rule = "TC25";
    d.sides.push_back(story.at(other, "this commit, by " + story.who(other) +
                                          ", tracks only what that thread has issued: it arrives at once"));
  }
  return true;
}

/// Races of copies through the generic proxy, whose thread has to wait for them.
bool explain_late_race(const Story& story, const Conflict& c, const std::string& bytes, Diagnostic& d) {
  using K = AsyncOp::Kind;
  const auto first = operation_of(story, c.prior);
  const std::string what = story.names.action(story.event(c.current));
  if (first == K::cp_async) {
    const auto second = operation_of(story, c.current);
    const Event &a = story.event(c.prior), &b = story.event(c.current);
    const bool one_group = second == K::cp_async &&
                           story.trace.ops[a.object].queue == story.trace.ops[b.object].queue &&
                           story.trace.ops[a.object].group == story.trace.ops[b.object].group;
    d.rule = one_group ? "CA5" : agent_of(story, c.prior) == agent_of(story, c.current) ? "CA6" : "CA7";
    d.message = one_group ? "two copies of one cp.async group write " + bytes
                          : what + " " + bytes + ", which a cp.async may not have " +
                                (a.has(Event::write) ? "written yet" : "read yet");
    d.help = one_group ? "let the copies of one group write different bytes"
                       : "cp.async.wait_group by the thread that copies, then a barrier for the others";
    return true;
  }
  if (first == K::lds_read) {
    d.rule = "AM10";
    d.message = what + " " + bytes + " while an LDS load may still read it";
    d.help = "s_waitcnt lgkmcnt(0) by the wave that loads, before the barrier";
    return true;
  }
  if (story.event(c.prior).has(Event::tensormap) && story.event(c.prior).kind == EventKind::async_access) {
    d.rule = "TMAP4";
    d.message = "the tensor map " + bytes + " is overwritten while a copy that uses it is in flight";
    d.help = "wait for the last copy that uses the map before it is changed";
    return true;
  }
  return false;
}

/// Did the warp of `access` issue the operation of `landed` before it? Then the operation was under way,
/// however late it landed in this run.
bool under_way(const Story& story, size_t landed, size_t access) {
  const Event &late = story.event(landed), &other = story.event(access);
  if (late.kind != EventKind::async_access) return false;
  const bool by_operation = other.kind == EventKind::async_access;
  const uint32_t warp = warp_key(story.trace.agents[agent_of(story, access).v]);
  for (size_t i = 0; i < story.trace.events.size(); ++i) {
    const Event& e = story.event(i);
    if (by_operation ? e.kind == EventKind::async_issue && e.object == other.object : i == access)
      return false;
    if (e.kind == EventKind::async_issue && e.object == late.object && story.warp(i) == warp) return true;
  }
  return false;
}

/// An access of an st.async (or red.async) to another CTA's shared memory.
bool is_remote_store(const Story& story, size_t access) {
  const Event& e = story.event(access);
  return e.kind == EventKind::async_access && story.trace.ops[e.object].kind == AsyncOp::Kind::remote_store;
}

/// Which of the two is at fault, so that the finding stands at its line: the message, rule and cure are set,
/// the culprit returned.
size_t explain_race(const Story& story, const Conflict& c, const std::string& bytes, Diagnostic& d) {
  Side a = side_of(story, c.prior), b = side_of(story, c.current);
  d.finding_class = FindingClass::race;
  d.rule = "M4";
  const auto who = [&](const Side& s) { return story.names.warp(agent_of(story, s.access)); };
  const auto action = [&](const Side& s) { return story.names.action(story.event(s.access)); };
  const auto actor = [&](const Side& s) { return action(s).substr(0, action(s).rfind(' ')); };

  const Event &prior = story.event(c.prior), &current = story.event(c.current);
  if (prior.has(Event::atomic) && current.has(Event::atomic) && prior.count != current.count) {
    d.rule = "M5";
    d.message = action(side_of(story, c.prior)) + " and " + action(side_of(story, c.current)) + " " + bytes +
                ", in elements of " + std::to_string(prior.count) + " and of " +
                std::to_string(current.count) + " bytes, in no order";
    d.help = "use one size for all strong accesses to these bytes, or order them";
    return c.current;
  }
  Conflict order = c;  // of issue
  const bool late = under_way(story, c.current, c.prior);
  if (late) std::swap(order.prior, order.current);
  if (explain_tensor_race(story, order, bytes, d) || explain_late_race(story, order, bytes, d))
    return order.current;
  if (!b.load || !b.writes) std::swap(a, b);  // b: the copy that writes, if there is one
  if (b.load && b.writes && a.load && a.writes) {
    const std::string first = actor(a), second = actor(b);
    d.message = (first != second       ? first + " and " + second
                 : first == "TMA load" ? "two TMA loads"
                                       : "two " + first) +
                " write " + bytes + " in no order";
    d.help =
        "let the second copy wait until the first was consumed: wait on the barrier that releases the buffer";
    if (is_remote_store(story, a.access) || is_remote_store(story, b.access))
      d.facts.push_back(
          "an st.async tells whoever waits for it of its own bytes only (E5): what its thread has read or "
          "waited "
          "for before is not passed on, so that an answer by st.async releases no buffer");
    return c.current;
  }
  if (b.load && b.writes && !a.store && !(a.wgmma && under_way(story, a.access, b.access)) &&
      !waited(story, a.access, story.trace.ops[story.event(b.access).object].barrier)) {
    d.message = action(a) + " " + bytes + " without having seen the " + actor(b) + " complete that writes it";
    d.help = "wait on the barrier of that copy, for the phase that its bytes complete";
    return a.access;
  }
  if (!a.wgmma) std::swap(a, b);  // a: the wgmma, if there is one
  if (a.wgmma) {
    d.rule = "WG4";
    d.message = actor(b) + " can overwrite " + bytes + " while a wgmma still reads it";
    d.facts.push_back(
        c.issue_known
            ? "the buffer is released after the wgmma was issued, but before its group was waited for"
            : "nothing on the path to the overwrite waits for the wgmma");
    if (b.load && c.issue_known) name_release(story, a.access, b.access, d);
    d.help = "wait for the group (wgmma.wait_group) that reads the buffer, then arrive on its empty barrier";
    return b.access;
  }
  if (!a.store) std::swap(a, b);  // a: the store, if there is one
  if (a.store && a.writes) {
    d.rule = "BK3";
    d.message = action(b) + " " + bytes + ", which a TMA store may not have written yet";
    d.help = "cp.async.bulk.wait_group (without .read) by the thread that issued the store, then a barrier";
    return b.access;
  }
  if (a.store && (c.issue_known || !b.generic)) {
    d.rule = "BK3";
    d.message = action(b) + " " + bytes + " while a TMA store may still read it";
    d.help =
        "the thread that issued the store waits with cp.async.bulk.wait_group.read before the buffer is "
        "filled again, then a barrier";
    if (const size_t other =
            wait_by_another_thread(story, story.trace.ops[story.event(a.access).object].queue);
        other != no_event) {
      d.rule = "BK2";
      d.sides.push_back(
          story.at(other, "this wait, by another thread (" + story.who(other) + ", lane " +
                              std::to_string(story.trace.queues[story.event(other).object].lane) +
                              "), covers only the groups of that thread"));
    }
    return b.access;
  }
  if (a.store) {
    d.message = "TMA store reads " + bytes + ", which " + who(b) +
                " may not have written yet, or writes at the same time";
    d.help =
        "a barrier of all writing warps and the issuing thread, between the writes and the store (and a "
        "proxy fence before it, PX1)";
    return a.access;
  }
  if (!a.load || !a.writes) std::swap(a, b);
  if (a.load && a.writes) {
    d.message = actor(a) + " can overwrite " + bytes + " while " + who(b) + " still uses it";
    d.help = "let the copy wait for an arrival that " + who(b) + " makes after this access";
    return a.access;
  }
  d.message = action(side_of(story, c.prior)) + " and " + action(side_of(story, c.current)) +
              " the same bytes, " + bytes + ", in no order";
  d.help = "put a barrier between the two, on which both warps meet";
  return c.current;
}

/// Ordered by barriers, but by nothing that the kind of memory or proxy asks for besides.
void explain_contested(const Story& story, const Conflict& c, const std::string& bytes, Diagnostic& d) {
  const std::string first = story.names.action(story.event(c.prior)),
                    second = story.names.action(story.event(c.current));
  d.finding_class = FindingClass::proxy_fence;
  if (c.kind == Conflict::Kind::map_unfenced) {
    d.rule = "TMAP2";
    d.message = "a copy uses the tensor map " + bytes + ", which a store may not have made visible";
    d.facts.push_back("the two are ordered, but not by a release and an acquire of the tensormap proxy");
    d.help =
        "fence.proxy.tensormap::generic.release by the writer, the barrier, then .acquire on the map by the "
        "thread that issues the copy";
  } else if (c.kind == Conflict::Kind::tensor_unfenced) {
    d.rule = "TC23";
    d.severity = story.options.policies.tensor_fence;
    d.message = second + " " + bytes + " without tcgen05.fence beside the barrier that orders it";
    d.facts.push_back("contested: PTX asks for the fences, much shipped code leaves them out");
    d.help =
        "tcgen05.fence::before_thread_sync before the arrival, ::after_thread_sync after the wait (a commit "
        "has "
        "the first built in)";
  } else if (c.kind == Conflict::Kind::tensor_queue) {
    d.rule = "TC16";
    d.severity = Severity::lint;
    d.message =
        first + " and " + second + " " + bytes + " one after the other, without a completion in between";
    d.facts.push_back(
        "contested: PTX orders only pipelined pairs; hardware executes the operations of one thread in "
        "order");
    d.help = "tcgen05.commit and a wait between the two";
  } else if (c.kind == Conflict::Kind::unused_read) {
    d.finding_class = FindingClass::race;
    d.rule = "M4";
    d.severity = Severity::lint;
    d.message = first + " and " + second + " the same bytes, " + bytes + ", in no order, for nothing";
    d.facts.push_back(
        "by the letter a race; the value that is loaded reaches no store, branch or address of its warp");
    d.help = "nothing, or no load for the threads that have no element of their own";
  } else if (c.kind == Conflict::Kind::same_values) {
    d.finding_class = FindingClass::race;
    d.rule = "M4";
    d.severity = Severity::lint;
    d.message = "the same values are written to " + bytes + " several times, in no order";
    d.facts.push_back(
        "by the letter a race; whatever the order, memory holds the values that this run wrote");
    d.help = "nothing, if the values are meant to be equal; else one writer, or a barrier between them";
  } else {
    d.rule = "PX5";
    d.severity = story.options.policies.async_across_ctas;
    d.message = second + " " + bytes + " after an asynchronous access of another CTA";
    d.facts.push_back(
        "contested: by the letter async accesses of two CTAs are not ordered; practice relies on it");
    d.help = "nothing, if multicast is meant; else copy in the CTA that uses the data";
  }
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
    d.severity = story.options.policies.read_fence;
    d.message = story.names.action(current) +
                " over bytes that a generic load read before, without a proxy fence: " + bytes;
    d.facts.push_back(
        "seen on an H200, rarely (probe P9): a load whose value is not used before the arrive can be "
        "overtaken "
        "by the copy, and returns the new bytes");
    d.help = "fence.proxy.async" + space +
             " by the reading threads, before they release the buffer; or by the issuing thread, between its "
             "wait and the copy (PX8); if every value is used before the arrive: policy read_fence=lint";
  }
}

/// The arrival, or the wait, whose scope keeps two ordered accesses of different CTAs apart.
size_t narrow_link(const Story& story, const Conflict& c) {
  const auto cta = [&](const Event& e) { return story.trace.agents[e.agent.v].cta; };
  const AgentId from = agent_of(story, c.prior), to = agent_of(story, c.current);
  size_t arrival = no_event, wait = no_event;
  for (size_t i = c.prior + 1; i < c.current; ++i) {
    const Event& e = story.event(i);
    if (e.scope != Scope::cta || (e.kind != EventKind::mbarrier_arrive && e.kind != EventKind::mbarrier_wait))
      continue;
    const bool far = story.trace.barriers[e.object].cta != cta(e);
    const bool own = cta(e) == story.trace.agents[from.v].cta;
    if (e.kind == EventKind::mbarrier_arrive && far && own && (arrival == no_event || e.agent == from))
      arrival = i;
    if (e.kind == EventKind::mbarrier_wait && e.agent == to) wait = i;
  }
  return arrival == no_event ? wait : arrival;
}

void explain_narrow(const Story& story, const Conflict& c, const std::string& bytes, Diagnostic& d) {
  const Side prior = side_of(story, c.prior);
  const std::string what = story.names.action(story.event(c.current)) + " " + bytes;
  d.finding_class = FindingClass::race;
  d.rule = "HB1";
  d.message = what + ", which another CTA " + (prior.writes ? "wrote" : "read") +
              ": the barrier between them has scope .cta";
  if (const size_t link = narrow_link(story, c); link != no_event) {
    const bool arrival = story.event(link).kind == EventKind::mbarrier_arrive;
    d.sides.push_back(story.at(link, story.who(link) + (arrival ? " arrives on " : " waits on ") +
                                         story.names.barrier(story.event(link).object) +
                                         (arrival ? " of another CTA with scope .cta"
                                                  : " with scope .cta for arrivals of another CTA")));
  }
  d.facts.push_back(
      "the scope .cta does not contain the other CTA: it orders nothing between the two (M3, M9)");
  if (prior.generic)
    d.facts.push_back(prior.writes
                          ? "seen on an H200 (probe P12): 4 % of the words read through shared memory of the "
                            "peer, and nearly all through global memory, were the old ones"
                          : "seen on an H200 (probe P16): 20 % of the words that were read before such an "
                            "arrival were already those that the peer stored after it");
  d.help =
      "mbarrier.arrive.release.cluster and mbarrier.try_wait.acquire.cluster; or fence.acq_rel.cluster "
      "before the arrive and after the wait";
  if (prior.generic && !prior.writes)
    d.help = "mbarrier.arrive.release.cluster, or fence.proxy.async by the reading threads before the arrive";
}

void explain_stale(const Story& story, size_t first_breach, std::vector<Ranked>& out) {
  for (const StaleRead& s : story.seen.stale_reads) {
    const Event& read = story.event(s.read);
    const std::string holder = story.names.object_of(read), wanted = std::to_string(read.generation - 1);
    Diagnostic d;
    d.finding_class = FindingClass::stale;
    d.rule = "OB1.1";
    d.subject = holder;
    d.where = story.names.position(place_of(story, s.read));
    d.label = story.names.warp(agent_of(story, s.read)) + ": " + story.names.action(read) + " " + holder;
    if (s.write == no_event) {
      d.message = holder + " is read with tag " + wanted + ", but nobody has written it";
    } else {
      const uint64_t tag = story.event(s.write).generation;
      d.message = holder + " holds data " +
                  (tag == 0 ? "without a tag" : "with tag " + std::to_string(tag - 1)) +
                  " where those with tag " + wanted + " are meant";
      d.sides.push_back(story.names.note(place_of(story, s.write), "the last write before it"));
    }
    d.facts = {"the two are ordered: every schedule that runs this way reads the same wrong data"};
    d.help = "release the buffer after its last read; carry stage and phase on across tiles";
    d.occurrences = s.occurrences;
    d.suspected = first_breach < s.read;
    out.push_back({Rank::stale, s.read, std::move(d)});
  }
}

}  // namespace

void explain_accesses(const Story& story, std::vector<Ranked>& out) {
  size_t first_breach = no_event;
  for (const Breach& b : story.seen.breaches) first_breach = std::min(first_breach, b.event);
  for (const Conflict& c : story.seen.conflicts) {
    const std::string bytes = common_bytes(story, c);
    Diagnostic d;
    d.occurrences = c.occurrences;
    d.subject = story.names.holder(c.space, c.allocation, c.begin);
    size_t culprit = c.current;
    if (c.kind == Conflict::Kind::race)
      culprit = explain_race(story, c, bytes, d);
    else if (c.kind == Conflict::Kind::narrow_scope)
      explain_narrow(story, c, bytes, d);
    else if (c.kind == Conflict::Kind::write_unfenced || c.kind == Conflict::Kind::read_unfenced)
      explain_unfenced(story, c, bytes, d);
    else
      explain_contested(story, c, bytes, d);
    const size_t other = culprit == c.current ? c.prior : c.current;
    d.where = story.names.position(place_of(story, culprit));
    d.label = described(story, culprit, bytes);
    d.sides.insert(d.sides.begin(), story.names.note(place_of(story, other), described(story, other, bytes)));
    if (c.kind == Conflict::Kind::race) {
      d.facts.push_back(
          "nothing orders the two accesses: another schedule, or slower memory, exchanges them");
      d.witness = {
          described(story, other, bytes) + " (" + story.names.line(place_of(story, other)) + ") is late",
          described(story, culprit, bytes) + " (" + story.names.line(place_of(story, culprit)) +
              ") does not wait for it"};
      d.witness_is_shortest = true;
    }
    const bool early_release = d.rule == "WG4" && c.issue_known;
    const bool unfenced_read = c.kind == Conflict::Kind::read_unfenced;
    d.suspected = first_breach < c.current && !unfenced_read;  // a fence that is not there stays so
    if (d.suspected && d.severity == Severity::error && !early_release)
      d.facts.push_back("after a broken condition of the certificate: may be a consequence");
    const Rank rank = d.severity == Severity::lint ? Rank::advice
                      : early_release              ? Rank::early_release
                      : unfenced_read              ? Rank::unfenced_read
                                                   : Rank::data;
    out.push_back({rank, c.current, std::move(d)});
  }
  explain_stale(story, first_breach, out);
  for (const Overwrite& o : story.seen.overwrites) {
    Diagnostic d;
    d.subject = story.names.object_of(story.event(o.current));
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
