// SPDX-License-Identifier: Apache-2.0
//
// Scopes between CTAs against a naive derivation: all pairs of accesses over a graph of events, no clocks.
// Random runs of four warps in two CTAs that read, write, fence and hand over to each other with arrivals and
// waits of either scope. The graph follows the texts M7 to M9 and the probes P12 and P16; it shares no code
// with the checker.
#include <random>

#include "tests/checker/expect.h"
#include "tests/checker/trace_builder.h"

using namespace turnstile;
using namespace turnstile::test;

namespace {

constexpr uint32_t kWarps = 4, kBuffers = 3;

struct ScopedRun {
  Trace trace;
  struct Pair {
    size_t arrive, wait;
  };
  std::vector<Pair> hand_overs;
};

ScopedRun random_scopes(std::mt19937_64& random, bool wide) {
  TraceBuilder t(kWarps);
  t.cluster(2, kWarps);
  t.cluster_sync(1, 1);
  ScopedRun run;
  const auto pick = [&](uint64_t n) { return static_cast<uint32_t>(random() % n); };
  uint32_t line = 10;
  for (uint32_t step = 0, n = 6 + pick(14); step < n; ++step, ++line) {
    const uint32_t warp = pick(kWarps), buffer = pick(kBuffers);
    const uint32_t where = t.shared_of(static_cast<uint16_t>(buffer % 2), buffer);
    switch (pick(8)) {
      case 0:
        t.write(warp, line, where);
        break;
      case 1:
      case 2:
        t.read(warp, line, where);
        if (pick(2) == 0) t.fence(warp, line);
        break;
      case 3:
        t.fence(warp, line);
        break;
      case 4:
        t.memory_fence(warp, line, pick(2) == 0 ? Event::fence_release : Event::fence_acquire);
        t.trace.events.back().scope = pick(4) == 0 ? Scope::cta : Scope::cluster;
        break;
      default: {
        const uint32_t to = (warp + 1 + pick(kWarps - 1)) % kWarps;
        const uint32_t b = t.barrier("b" + std::to_string(step), 1, static_cast<uint16_t>(to % 2));
        t.arrive(warp, line, b);
        t.trace.events.back().scope = wide || pick(2) == 0 ? Scope::cluster : Scope::cta;
        run.hand_overs.push_back({t.trace.events.size() - 1, 0});
        t.wait(to, ++line, b, 0, 1);
        t.trace.events.back().scope = wide || pick(2) == 0 ? Scope::cluster : Scope::cta;
        run.hand_overs.back().wait = t.trace.events.size() - 1;
      }
    }
  }
  t.cluster_sync(1000, 2);
  t.exit_all(1001);
  run.trace = std::move(t.trace);
  return run;
}

/// What must be ordered and is not, by the graph.
class ScopeGraph {
 public:
  ScopeGraph(const ScopedRun& run, bool strict)
      : run_(run), events_(run.trace.events), strict_(strict), full_(events_.size()), any_(events_.size()) {
    for (size_t b = 0; b < events_.size();
         ++b)  // program order, and the cluster barrier before and after all
      for (size_t a = 0; a < b; ++a)
        if (same(a, b) || (is_wait(b) && events_[a].kind == EventKind::cluster_arrive)) edge(a, b);
    for (const ScopedRun::Pair& h : run.hand_overs) {
      any_[h.arrive].push_back(h.wait);
      std::vector<size_t> sources, targets;
      if (!far(h) || events_[h.arrive].scope != Scope::cta) sources.push_back(h.arrive);
      if (!far(h) || events_[h.wait].scope != Scope::cta) targets.push_back(h.wait);
      for (size_t f = 0; f < events_.size(); ++f) {
        if (events_[f].kind != EventKind::fence || events_[f].scope == Scope::cta) continue;
        if (events_[f].has(Event::fence_release) && f < h.arrive && same(f, h.arrive)) sources.push_back(f);
        if (events_[f].has(Event::fence_acquire) && f > h.wait && same(f, h.wait)) targets.push_back(f);
      }
      for (const size_t s : sources)
        for (const size_t t : targets) edge(s, t);
    }
  }

  bool races() const {
    for (size_t b = 0; b < events_.size(); ++b)
      for (size_t a = 0; a < b; ++a) {
        if (events_[a].kind != EventKind::access || events_[b].kind != EventKind::access) continue;
        if (events_[a].footprint != events_[b].footprint) continue;
        const bool writes = events_[a].has(Event::write);
        if (!writes && !events_[b].has(Event::write)) continue;
        if (!reaches(a, b, full_) && (writes || !over(a, b))) return true;
      }
    return false;
  }

 private:
  bool same(size_t a, size_t b) const { return events_[a].agent == events_[b].agent; }
  bool is_wait(size_t e) const { return events_[e].kind == EventKind::cluster_wait; }
  bool far(const ScopedRun::Pair& h) const {
    return events_[h.arrive].agent.v % 2 != events_[h.wait].agent.v % 2;
  }
  void edge(size_t a, size_t b) {
    full_[a].push_back(b);
    any_[a].push_back(b);
  }

  static bool reaches(size_t from, size_t to, const std::vector<std::vector<size_t>>& edges) {
    std::vector<bool> seen(edges.size());
    std::vector<size_t> todo{from};
    while (!todo.empty()) {
      const size_t at = todo.back();
      todo.pop_back();
      if (at == to) return true;
      if (seen[at]) continue;
      seen[at] = true;
      todo.insert(todo.end(), edges[at].begin(), edges[at].end());
    }
    return false;
  }

  /// P16: a read is over after a proxy fence of its own thread, and after a release of a wide scope to
  /// another CTA, by the arrive or by a fence before it; whoever comes after that knows.
  bool over(size_t read, size_t b) const {
    if (strict_) return false;
    for (size_t f = read + 1; f < b; ++f)
      if (events_[f].kind == EventKind::fence_proxy_async && same(f, read) && reaches(f, b, any_))
        return true;
    for (const ScopedRun::Pair& h : run_.hand_overs) {
      if (!far(h) || !reaches(h.wait, b, any_)) continue;
      if (events_[h.arrive].scope != Scope::cta && reaches(read, h.arrive, full_)) return true;
      for (size_t f = 0; f < h.arrive; ++f)
        if (events_[f].kind == EventKind::fence && events_[f].has(Event::fence_release) &&
            events_[f].scope != Scope::cta && same(f, h.arrive) && reaches(read, f, full_))
          return true;
    }
    return false;
  }

  const ScopedRun& run_;
  const std::vector<Event>& events_;
  bool strict_;
  std::vector<std::vector<size_t>> full_, any_;  ///< edges that order everything; all that order execution
};

}  // namespace

TEST_CASE("HB1: scopes between CTAs agree with all pairs over the graph of events") {
  size_t racy = 0, clean = 0, forgiven = 0;
  for (uint64_t seed = 1; seed <= 4000; ++seed) {
    std::mt19937_64 random(seed);
    const ScopedRun run = random_scopes(random, seed % 8 == 0);
    CAPTURE(seed);
    bool found[2] = {false, false};
    for (const bool strict : {false, true}) {
      CheckOptions options;
      if (strict) options.policies.remote_scope = Policies::Scope::strict;
      const Report r = check(run.trace, options);
      INFO(text_of(r));
      // Of the findings those about accesses count, which name two sides; strict blames arrivals and waits
      // too.
      found[strict] = std::any_of(r.diagnostics.begin(), r.diagnostics.end(), [](const Diagnostic& d) {
        return d.severity == Severity::error && !d.sides.empty() && (d.rule == "HB1" || d.rule == "M4");
      });
      CHECK(found[strict] == ScopeGraph(run, strict).races());
    }
    CHECK((found[1] || !found[0]));
    racy += found[0];
    clean += !found[0];
    forgiven += found[1] && !found[0];
  }
  CHECK(racy > 500);
  CHECK(clean > 500);
  CHECK(forgiven > 20);
}
