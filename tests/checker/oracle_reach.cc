// SPDX-License-Identifier: Apache-2.0
//
// Reachability in the graph of a trace. Node i is event i; nodes beyond are phase completions (causal order
// only). Trace order is a topological order, so the set of what is before a node is the union over its
// predecessors. Quadratic in everything.
#include <algorithm>
#include <map>
#include <vector>

#include "model/protocol/mbarrier.h"
#include "model/protocol/named_barrier.h"
#include "tests/checker/oracles.h"

namespace turnstile::test {

namespace {

using Set = std::vector<bool>;

void merge(Set& into, const Set& from) {
  for (size_t i = 0; i < from.size(); ++i)
    if (from[i]) into[i] = true;
}

struct Completion {
  std::vector<size_t> contributions;  // events; bytes: the issue
  std::vector<size_t> waits;          // that passed while this was the open phase
  bool bytes = false;
  size_t node = 0;
};

/// One order over the events of a trace.
class Order {
 public:
  Order(const Trace& trace, bool causal) : trace_(trace), causal_(causal) {
    const size_t n = trace.events.size();
    before_.assign(3 * n + 1, Set(3 * n + 1, false));
    next_node_ = n;
    std::vector<size_t> last(trace.agents.size(), n);  // program order
    std::map<uint32_t, std::vector<size_t>> issues;
    std::vector<Mbarrier> machines(trace.barriers.size());
    std::vector<std::vector<size_t>> released(
        trace.barriers.size());  // visibility: all release arrivals so far
    std::map<uint32_t, NamedBarrier> named;
    std::map<std::pair<uint32_t, uint64_t>, std::vector<size_t>> in_instance;
    std::map<uint32_t, std::vector<std::pair<size_t, uint64_t>>>
        landed;                                        // barrier -> landing access, generation
    std::map<uint32_t, std::vector<size_t>> accesses;  // op -> its accesses
    completions_.resize(trace.barriers.size());
    for (auto& c : completions_) c.resize(1);

    for (size_t i = 0; i < n; ++i) {
      const Event& e = trace.events[i];
      const bool async = e.kind == EventKind::async_access || e.kind == EventKind::async_complete;
      if (!async) {
        if (last[e.agent.v] < n) edge(last[e.agent.v], i);
        last[e.agent.v] = i;
      }
      const auto completed = [&](uint32_t b) {
        Completion& c = completions_[b].back();
        c.node = next_node_++;
        for (size_t x : c.contributions) edge(x, c.node);
        completions_[b].emplace_back();
      };
      switch (e.kind) {
        case EventKind::mbarrier_init:
          machines[e.object].init(e.count);
          break;
        case EventKind::mbarrier_arrive:
          completions_[e.object].back().contributions.push_back(i);
          if (e.has(Event::release)) released[e.object].push_back(i);
          if ((e.has(Event::expects_bytes)
                   ? machines[e.object].arrive_expect_tx(e.bytes)
                   : machines[e.object].arrive(e.count)) == Mbarrier::Outcome::completed)
            completed(e.object);
          break;
        case EventKind::mbarrier_expect_tx:
          completions_[e.object].back().contributions.push_back(i);
          if (machines[e.object].expect_tx(e.bytes) == Mbarrier::Outcome::completed) completed(e.object);
          break;
        case EventKind::mbarrier_wait: {
          start_[i] = before_[i];  // the past of the wait before it learns anything
          auto& all = completions_[e.object];
          if (all.size() > 1) {
            if (causal_)
              edge(all[all.size() - 2].node, i);
            else
              for (size_t g = 0; g + 1 < all.size(); ++g)
                for (size_t x : all[g].contributions)
                  if (std::find(released[e.object].begin(), released[e.object].end(), x) !=
                      released[e.object].end())
                    edge(x, i);
            if (!causal_)
              for (auto [access, generation] : landed[e.object])
                if (generation < machines[e.object].generation()) edge_alone(access, i);
          }
          all.back().waits.push_back(i);
          break;
        }
        case EventKind::named_barrier_arrive: {
          NamedBarrier& m = named[e.object];
          in_instance[{e.object, m.instance() + 1}].push_back(i);
          const uint64_t instance = m.instance();
          if (instance > 0)
            for (size_t x : in_instance[{e.object, instance}]) foreign_named_ |= !before_[i][x];
          m.contribute(e.count, static_cast<uint32_t>(e.bytes));
          break;
        }
        case EventKind::named_barrier_pass:
          for (size_t x : in_instance[{e.object, e.generation}]) edge(x, i);
          break;
        case EventKind::async_issue:
          issues[e.object].push_back(i);
          break;
        case EventKind::async_access: {
          const auto& from = issues[e.object];
          if (causal_)
            for (size_t x : from) edge(x, i);
          else
            common(from, i);
          accesses[e.object].push_back(i);
          const AsyncOp& op = trace.ops[e.object];
          if (op.kind == AsyncOp::Kind::bulk_load)
            landed[op.barrier].push_back({i, machines[op.barrier].generation()});
          break;
        }
        case EventKind::async_complete: {
          const AsyncOp& op = trace.ops[e.object];
          if (op.kind != AsyncOp::Kind::bulk_load) break;
          Completion& c = completions_[op.barrier].back();
          c.contributions.push_back(issues[e.object].front());
          c.bytes = true;
          if (machines[op.barrier].complete_tx(op.bytes) == Mbarrier::Outcome::completed)
            completed(op.barrier);
          break;
        }
        case EventKind::group_wait:
          for (const auto& [o, list] : accesses) {
            const AsyncOp& op = trace.ops[o];
            if (op.kind == AsyncOp::Kind::bulk_load || op.queue != e.object || op.group > e.generation)
              continue;
            for (size_t x : list)
              if (!(e.has(Event::read_only) && trace.events[x].has(Event::write))) edge_alone(x, i);
            if (causal_)
              for (size_t x : issues[o]) edge(x, i);
          }
          break;
        default:
          break;
      }
    }
    last_ = last;
    issues_ = issues;
    generations_.clear();
    for (const Mbarrier& m : machines) generations_.push_back(m.generation());
  }

  bool ordered(size_t a, size_t b) const { return before_[b][a]; }
  const std::map<uint32_t, std::vector<size_t>>& issues() const { return issues_; }

  /// Is completion `g` (1 = first) of `b` in a set? Directly, or because all its contributions are and none
  /// were bytes.
  bool known(const Set& past, uint32_t b, uint64_t g) const {
    if (g == 0) return true;
    const Completion& c = completions_[b][g - 1];
    if (past[c.node]) return true;
    return !c.bytes &&
           std::all_of(c.contributions.begin(), c.contributions.end(), [&](size_t x) { return past[x]; });
  }

  void conditions(NaiveFindings& f) const {
    f.foreign |= foreign_named_;
    for (uint32_t b = 0; b < completions_.size(); ++b)
      for (size_t g = 0; g < completions_[b].size(); ++g) {
        const Completion& c = completions_[b][g];
        const bool complete = g + 1 < completions_[b].size();
        for (size_t x : c.contributions) f.foreign |= !known(with_self(x), b, g);
        for (size_t w : c.waits) {
          if (g > 1) f.early_pass |= !known(start_.at(w), b, g - 1);
          if (complete) f.lapped |= !before_[c.node][w];
        }
      }
    for (const Blocked& w : trace_.blocked) {
      if (w.on != Blocked::On::mbarrier || last_[w.agent.v] >= trace_.events.size()) continue;
      f.early_pass |= !known(with_self(last_[w.agent.v]), w.object, generations_[w.object]);
    }
  }

 private:
  Set with_self(size_t x) const {
    Set s = before_[x];
    s[x] = true;
    return s;
  }
  void edge(size_t from, size_t to) {
    before_[to][from] = true;
    merge(before_[to], before_[from]);
  }
  void edge_alone(size_t from, size_t to) { before_[to][from] = true; }  // own bytes only: no history
  void common(const std::vector<size_t>& from, size_t to) {
    Set both = with_self(from.front());
    for (size_t x : from) {
      const Set s = with_self(x);
      for (size_t i = 0; i < both.size(); ++i) both[i] = both[i] && s[i];
    }
    merge(before_[to], both);
    for (size_t x : from)
      if (from.size() == 1) before_[to][x] = true;
  }

  const Trace& trace_;
  bool causal_;
  std::vector<Set> before_;
  size_t next_node_ = 0;
  std::vector<std::vector<Completion>> completions_;
  std::map<size_t, Set> start_;
  std::vector<size_t> last_;
  std::map<uint32_t, std::vector<size_t>> issues_;
  std::vector<uint64_t> generations_;
  bool foreign_named_ = false;
};

bool overlap(const Trace& t, const Event& a, const Event& b) {
  const Footprint &f = t.footprints[a.footprint], &g = t.footprints[b.footprint];
  if (f.space != g.space || f.allocation != g.allocation) return false;
  for (uint32_t i = 0; i < f.range_count; ++i)
    for (uint32_t j = 0; j < g.range_count; ++j) {
      const ByteRange &r = t.ranges[f.first_range + i], &s = t.ranges[g.first_range + j];
      for (uint32_t k = 0; k < r.count; ++k)
        for (uint32_t l = 0; l < s.count; ++l)
          if (r.begin + k * r.stride < s.end + l * s.stride && s.begin + l * s.stride < r.end + k * r.stride)
            return true;
    }
  return false;
}

}  // namespace

NaiveFindings examine(const Trace& trace) {
  NaiveFindings f;
  Order(trace, true).conditions(f);
  const Order visible(trace, false);
  const auto is_access = [](const Event& e) {
    return e.kind == EventKind::access || e.kind == EventKind::async_access;
  };
  for (size_t j = 0; j < trace.events.size(); ++j)
    for (size_t i = 0; i < j; ++i) {
      const Event &a = trace.events[i], &b = trace.events[j];
      if (!is_access(a) || !is_access(b) || !(a.has(Event::write) || b.has(Event::write)) ||
          !overlap(trace, a, b))
        continue;
      if (a.kind == EventKind::access && b.kind == EventKind::access && a.has(Event::atomic) &&
          b.has(Event::atomic))
        continue;
      if (!visible.ordered(i, j)) {
        f.first_race = std::min(f.first_race, j);
        continue;
      }
      if (a.kind != EventKind::access || b.kind != EventKind::async_access || !a.has(Event::write)) continue;
      // Some fence after the write lies before every issue of the operation.
      const auto& issues = visible.issues().at(b.object);
      bool fenced = false;
      for (size_t k = i + 1; k < j; ++k)
        fenced |= trace.events[k].kind == EventKind::fence_proxy_async &&
                  trace.events[k].has(Event::shared_space) && visible.ordered(i, k) &&
                  std::all_of(issues.begin(), issues.end(), [&](size_t x) { return visible.ordered(k, x); });
      if (!fenced) f.first_unfenced = std::min(f.first_unfenced, j);
    }
  return f;
}

}  // namespace turnstile::test
