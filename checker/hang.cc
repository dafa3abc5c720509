// SPDX-License-Identifier: Apache-2.0
//
// Who waits for whom. Nodes are the blocked strands; an edge leads from a strand to each blocked strand of a
// warp that its barrier still needs. Needed are the warps that contributed to it before and have not in this
// phase; where it has no history, those of its siblings (full[0] for full[1]). Shown is one cause: a
// resource, missing bytes, a warp that ended, else a cycle; all that lead to it are its consequences.
#include <algorithm>
#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/strong_components.hpp>
#include <map>
#include <set>

#include "checker/explain.h"
#include "checker/registers.h"

namespace turnstile::checker {

namespace {

using Graph = boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS>;
using On = Blocked::On;

struct Wait {
  std::set<uint32_t> present;          ///< warps that have contributed to the open phase
  std::map<uint32_t, size_t> missing;  ///< warps that contributed earlier, and their last contribution
  bool guessed = false;                ///< `missing` comes from a sibling barrier
  bool bytes_missing = false;          ///< arrivals are in, bytes are not balanced
  bool expect_only = false;            ///< bytes are expected by a warp that does not arrive
  bool untouched = false;              ///< an mbarrier that nobody ever contributed to
  uint32_t arrived = 0, expected = 0;  ///< arrivals; named barriers: threads
};

class Hang {
 public:
  explicit Hang(const Story& story) : story_(story), trace_(story.trace), graph_(story.trace.blocked.size()) {
    for (size_t i = 0; i < trace_.events.size(); ++i)
      if (trace_.events[i].kind == EventKind::exit) ended_[story_.warp(i)] = i;
    for (const Blocked& b : trace_.blocked) ended_.erase(warp(b));
    for (const Blocked& b : trace_.blocked) waits_.push_back(examine(b));
    connect();
  }

  void explain(std::vector<Ranked>& out) {
    std::vector<bool> told(trace_.blocked.size(), false);
    for (int causes = 0; causes < 3; ++causes) {
      const size_t first = choose(told);
      if (first == trace_.blocked.size()) return;
      out.push_back({trace_.blocked[first].on == On::registers ? Rank::resource : Rank::hang,
                     trace_.events.size() + first, tell(first, told)});
    }
  }

 private:
  uint32_t warp(const Blocked& b) const { return warp_key(trace_.agents[b.agent.v]); }
  bool same_object(const Blocked& a, const Blocked& b) const {
    return a.on == b.on && (a.on == On::registers || a.object == b.object);
  }
  std::string family(uint32_t b) const {
    const std::string& name = trace_.barriers[b].name;
    return name.substr(0, name.find('['));
  }

  Wait examine(const Blocked& b) const {
    Wait w;
    if (b.on == On::mbarrier) {
      const Mbarrier& m = story_.history.barrier(b.object);
      w.expected = m.expected();
      w.arrived = m.expected() - m.pending();
      w.bytes_missing = m.valid() && m.pending() == 0;
      w.untouched = m.generation() == 0;
      for (const History::Entry& e : story_.history.of(b.object)) {
        if (e.kind == History::Kind::wait) continue;
        w.untouched = false;
        const bool wanted = w.bytes_missing ? e.kind != History::Kind::arrive ||
                                                  story_.event(e.event).has(Event::expects_bytes)
                                            : e.kind == History::Kind::arrive;
        if (!wanted) continue;
        if (e.generation == m.generation() && !w.bytes_missing)
          w.present.insert(story_.warp(e.event));
        else
          w.missing[story_.warp(e.event)] = e.event;
      }
      for (const History::Entry& e : story_.history.of(b.object))
        w.expect_only |= e.kind == History::Kind::expect && e.generation == m.generation() &&
                         !w.bytes_missing && !w.present.contains(story_.warp(e.event));
      for (uint32_t p : w.present) w.missing.erase(p);
      if (w.missing.empty() && !w.bytes_missing && !family(b.object).empty()) {
        for (uint32_t other = 0; other < trace_.barriers.size(); ++other)
          if (other != b.object && family(other) == family(b.object))
            for (const History::Entry& e : story_.history.of(other))
              if (e.kind == History::Kind::arrive && !w.present.contains(story_.warp(e.event)))
                w.missing[story_.warp(e.event)] = e.event;
        w.guessed = !w.missing.empty();
      }
    } else if (b.on == On::named_barrier) {
      NamedBarrier machine;
      const auto all = story_.history.named(b.object, machine);
      w.expected = machine.arrived() > 0 ? machine.expected() : b.count;
      w.arrived = machine.arrived();
      for (const History::Contribution& c : all) {
        if (c.instance == machine.instance())
          w.present.insert(story_.warp(c.event));
        else
          w.missing[story_.warp(c.event)] = c.event;
      }
      for (uint32_t p : w.present) w.missing.erase(p);
    } else if (b.on == On::warp_sync) {
      w.missing[warp(b)] = no_event;
    } else if (b.on == On::cluster_barrier) {
      examine_cluster(b, w);
    } else if (b.on == On::signal) {
      for (size_t i = 0; i < trace_.events.size(); ++i)
        if (const EventKind kind = story_.event(i).kind;
            (kind == EventKind::signal_add || kind == EventKind::signal_set) &&
            story_.event(i).object == b.object)
          w.missing[story_.warp(i)] = i;
    }
    return w;
  }

  /// Who has arrived once more than the others has arrived in the generation that does not complete.
  void examine_cluster(const Blocked& b, Wait& w) const {
    std::map<uint32_t, std::pair<size_t, size_t>> arrivals;  // by warp: how many, the last
    size_t most = 0;
    const size_t cluster = cluster_of(b.agent);
    for (size_t i = 0; i < trace_.events.size(); ++i) {
      if (story_.event(i).kind != EventKind::cluster_arrive || cluster_of(story_.event(i).agent) != cluster)
        continue;
      auto& [count, last] = arrivals[story_.warp(i)];
      most = std::max(most, ++count);
      last = i;
    }
    w.expected = trace_.cluster_barrier_count;
    for (const auto& [key, arrival] : arrivals) {
      if (arrival.first == most) {
        w.present.insert(key);
        w.arrived += story_.event(arrival.second).count;
      } else {
        w.missing[key] = arrival.second;
      }
    }
  }
  size_t cluster_of(AgentId agent) const {
    return trace_.agents[agent.v].cta / std::max(1u, trace_.cluster_ctas);
  }

  void connect() {
    for (size_t i = 0; i < waits_.size(); ++i)
      for (size_t j = 0; j < waits_.size(); ++j) {
        const Blocked &a = trace_.blocked[i], &b = trace_.blocked[j];
        if (i == j || (same_object(a, b) && a.on != On::warp_sync) || a.on == On::registers ||
            a.on == On::group)
          continue;
        // Without any history everybody may be the one who is missing.
        if (waits_[i].missing.contains(warp(b)) || waits_[i].missing.empty()) boost::add_edge(i, j, graph_);
      }
    component_.resize(waits_.size());
    const size_t components =
        waits_.empty() ? 0 : static_cast<size_t>(boost::strong_components(graph_, component_.data()));
    component_size_.assign(components, 0);
    for (int c : component_) ++component_size_[static_cast<size_t>(c)];
  }

  bool in_cycle(size_t i) const { return component_size_[static_cast<size_t>(component_[i])] > 1; }

  /// D1 fails for this wait: it would have passed at another time.
  bool overtaken(size_t i) const {
    return std::any_of(story_.seen.breaches.begin(), story_.seen.breaches.end(), [&](const Breach& b) {
      return b.kind == Breach::Kind::blocked_early &&
             same_object(trace_.blocked[b.blocked], trace_.blocked[i]);
    });
  }

  size_t waiters(size_t i) const {
    return static_cast<size_t>(
        std::count_if(trace_.blocked.begin(), trace_.blocked.end(),
                      [&](const Blocked& b) { return same_object(b, trace_.blocked[i]); }));
  }

  int weight(size_t i) const {  // the smaller, the nearer to the cause
    const Wait& w = waits_[i];
    const bool all_ended =
        !w.missing.empty() && std::all_of(w.missing.begin(), w.missing.end(),
                                          [&](const auto& m) { return ended_.contains(m.first); });
    const bool waits_for_blocked = boost::out_degree(i, graph_) > 0;
    if (trace_.blocked[i].on == On::registers) return 0;
    if (w.bytes_missing || w.expect_only) return 1;
    const bool columns = trace_.blocked[i].on == On::tensor_alloc;  // TC4: nobody can free them
    if (columns && (!waits_for_blocked || in_cycle(i))) return 1;
    if (all_ended) return 2;
    if (trace_.blocked[i].on == On::named_barrier && w.arrived > 0 &&
        (!waits_for_blocked || w.missing.empty()))
      return 3;
    // Who is through with its work and waits for more, at a barrier of all roles, waits for those who wait
    // for a phase: the phase is what is missing.
    if (in_cycle(i)) return trace_.blocked[i].on == On::named_barrier ? 6 : w.arrived > 0 ? 4 : 5;
    return waits_for_blocked ? 7 : 6;
  }

  size_t choose(const std::vector<bool>& told) const {
    size_t best = trace_.blocked.size();
    for (size_t i = 0; i < waits_.size(); ++i) {
      if (told[i]) continue;
      if (best == trace_.blocked.size() ||
          std::pair(weight(i), waiters(i)) < std::pair(weight(best), waiters(best)))
        best = i;
    }
    return best;
  }

  /// From `start` along edges back to itself, shortest; empty if there is no such way.
  std::vector<size_t> cycle(size_t start) const {
    std::vector<size_t> from(waits_.size(), no_event), queue{start};
    for (size_t head = 0; head < queue.size(); ++head) {
      for (auto [edge, end] = boost::out_edges(queue[head], graph_); edge != end; ++edge) {
        const size_t next = boost::target(*edge, graph_);
        if (next == start) {
          std::vector<size_t> path{queue[head]};
          while (path.back() != start) path.push_back(from[path.back()]);
          std::reverse(path.begin(), path.end());
          return path;
        }
        if (from[next] == no_event) {
          from[next] = queue[head];
          queue.push_back(next);
        }
      }
    }
    return {};
  }

  std::string object(const Blocked& b) const {
    switch (b.on) {
      case On::mbarrier:
        return story_.names.barrier(b.object);
      case On::named_barrier:
        return story_.names.named_barrier(b.object);
      case On::registers:
        return "registers";
      case On::group:
        return "a group of asynchronous operations";
      case On::warp_sync:
        return "the other lanes of its warp";
      case On::cluster_barrier:
        return "the cluster barrier";
      case On::signal:
        return trace_.signals[b.object].name;
      case On::pool:
        return trace_.pools[b.object].name;
      case On::tensor_alloc:
        return "columns of tensor memory";
    }
    return {};
  }

  std::string awaited(const Blocked& b) const {
    if (b.on != On::mbarrier) return object(b);
    return object(b) + ", " + Names::phase(story_.history.barrier(b.object).generation());
  }

  /// Marks everything that waits, directly or not, for `cause`.
  void mark_consequences(size_t cause, std::vector<bool>& told) const {
    told[cause] = true;
    for (size_t i = 0; i < waits_.size(); ++i)
      if (same_object(trace_.blocked[i], trace_.blocked[cause])) told[i] = true;
    for (bool more = true; more;) {
      more = false;
      for (size_t i = 0; i < waits_.size(); ++i) {
        if (told[i]) continue;
        for (auto [edge, end] = boost::out_edges(i, graph_); edge != end && !told[i]; ++edge)
          told[i] = told[boost::target(*edge, graph_)];
        more |= told[i];
      }
    }
  }

  Diagnostic tell(size_t cause, std::vector<bool>& told) const {
    const Blocked& b = trace_.blocked[cause];
    Diagnostic d;
    d.finding_class = FindingClass::hang;
    d.where = story_.names.position(b.place);
    d.label = awaited(b);
    d.subject = b.on == On::named_barrier ? story_.names.named_id(b.object) : object(b);
    d.suspected = overtaken(cause);
    const std::string who = story_.names.warp(b.agent);
    switch (b.on) {
      case On::mbarrier:
        d.message = who + " waits for a phase of " + object(b) + " that never completes";
        tell_mbarrier(cause, d);
        break;
      case On::named_barrier:
        d.message = who + " waits at " + object(b) + " for threads that never come";
        tell_named(cause, d);
        break;
      case On::registers:
        d.message = who + " waits for " + std::to_string(b.count) + " registers that are never released";
        tell_registers(cause, d);
        break;
      case On::group:
        d.rule = "BK2";
        d.message = who + " waits for asynchronous operations that never end";
        break;
      case On::warp_sync:
        d.rule = "N2";
        d.message = who + " waits for lanes of its warp that never come";
        d.help = "execute the instruction with all lanes of its mask, outside divergent code";
        break;
      case On::cluster_barrier:
        d.rule = "C2";
        d.message = who + " waits at the cluster barrier for threads that never arrive";
        d.facts.push_back(std::to_string(waits_[cause].arrived) + " of " +
                          std::to_string(waits_[cause].expected) + " have arrived");
        d.help = "let every role of every CTA of the cluster arrive equally often";
        break;
      case On::signal:
        d.rule = "F1";
        d.message = who + " waits for a value of " + object(b) + " that never comes";
        tell_signal(b, d);
        break;
      case On::pool:
        d.rule = "RG4";
        d.message = who + " waits for " + std::to_string(b.count) + " units of " + object(b) +
                    " that are never given back";
        d.help = "give back what was taken on every path; take all that is needed at once";
        break;
      case On::tensor_alloc:
        d.rule = "TC4";
        d.help = "free the columns on every path; allocate all that is needed at once";
        d.message =
            who + " waits for " + std::to_string(b.count) + " columns of tensor memory that are never freed";
        break;
    }
    tell_missing(cause, d);
    if (in_cycle(cause)) tell_cycle(cause, d);
    mark_consequences(cause, told);
    std::set<uint32_t> places{b.place};
    size_t more = 0;
    for (size_t i = 0; i < waits_.size(); ++i) {
      const Blocked& other = trace_.blocked[i];
      if (!told[i] || !places.insert(other.place).second) continue;
      if (d.sides.size() < 6)
        d.sides.push_back(story_.names.note(
            other.place, story_.names.warp(other.agent) + " waits here for " + awaited(other)));
      else
        ++more;
    }
    if (more > 0) d.facts.push_back(std::to_string(more) + " more places where strands wait");
    return d;
  }

  void tell_mbarrier(size_t i, Diagnostic& d) const {
    const Blocked& b = trace_.blocked[i];
    const Wait& w = waits_[i];
    const Mbarrier& m = story_.history.barrier(b.object);
    const std::string name = object(b), phase = Names::phase(m.generation());
    if (!m.valid()) {
      d.rule = "MB10";
      d.facts.push_back(name + " is not initialised");
      d.help = "mbarrier.init before any use, then __syncthreads()";
      return;
    }
    d.rule = w.bytes_missing ? (m.tx() > 0 ? "MB18" : "MB19") : "MB16";
    if (overtaken(i)) {
      d.rule = "W4";
      d.help =
          "see the finding \"missed\" at this line: the barrier completed the phase that was meant, unseen";
    }
    d.facts.push_back(name + " has " + std::to_string(w.arrived) + " of " + std::to_string(w.expected) +
                      " arrivals in " + phase);
    if (m.tx() > 0) d.facts.push_back(std::to_string(m.tx()) + " expected bytes have not come");
    if (m.tx() < 0) d.facts.push_back(std::to_string(-m.tx()) + " bytes more than expected have come");
    if (w.bytes_missing) {
      d.help = "expect exactly the bytes of the copies of that phase";
      return;
    }
    for (const History::Entry& e : story_.history.of(b.object)) {
      if (e.generation != m.generation() || e.kind == History::Kind::wait || e.kind == History::Kind::bytes)
        continue;
      if (e.kind == History::Kind::arrive)
        d.sides.push_back(story_.at(e.event, story_.who(e.event) + " has arrived here"));
      if (e.kind == History::Kind::expect && !w.present.contains(story_.warp(e.event))) {
        d.sides.push_back(
            story_.at(e.event, story_.who(e.event) + " expects bytes here, which is not an arrival"));
        d.help = "use mbarrier.arrive.expect_tx: an expect_tx alone does not count as an arrival";
      }
      if (d.sides.size() == 3) break;
    }
    const bool all_fresh =
        std::all_of(waits_.begin(), waits_.end(), [](const Wait& x) { return x.untouched; });
    if (w.untouched && all_fresh && b.count == 0 && in_cycle(i)) {
      d.rule = "W2";
      d.facts.push_back("no phase of any barrier waited on has begun: one side waits where it should start");
      d.facts.push_back("a fresh barrier lets parity 1 pass; parity 0 waits for its first completion");
      d.help = "start the side that finds its buffers empty with phase 1";
    } else if (d.help.empty()) {
      d.help = w.arrived == 0 && w.missing.empty()
                   ? "let somebody arrive on " + name + ", or do not wait for it"
                   : "arrive on " + name + " once in each phase, on every path, or lower its initial count";
    }
  }

  void tell_signal(const Blocked& b, Diagnostic& d) const {
    int64_t value = trace_.signals[b.object].initial;
    for (const Event& e : trace_.events) {
      if (e.object != b.object) continue;
      if (e.kind == EventKind::signal_add)
        value = static_cast<int64_t>(static_cast<uint64_t>(value) + e.bytes);
      if (e.kind == EventKind::signal_set) value = static_cast<int64_t>(e.bytes);
    }
    d.facts.push_back(object(b) + " is " + std::to_string(value) + " when nothing moves any more");
    d.help = "let somebody raise " + object(b) + " on every path, or do not wait for it";
  }

  void tell_named(size_t i, Diagnostic& d) const {
    const Wait& w = waits_[i];
    d.rule = "NX2";
    d.facts.push_back(std::to_string(w.arrived) + " of " + std::to_string(w.expected) +
                      " threads have arrived");
    std::string present;
    for (uint32_t p : w.present) present += (present.empty() ? "" : ", ") + story_.names.warp_number(p);
    if (!present.empty()) d.facts.push_back("arrived: " + present);
    d.help = w.missing.empty() ? "name the number of threads that really meet here: 32 for each warp"
                               : "let every warp reach the barrier the same number of times";
  }

  void tell_registers(size_t i, Diagnostic& d) const {
    const uint16_t cta = trace_.agents[trace_.blocked[i].agent.v].cta;
    const RegisterPool pool = register_pool(trace_, cta);
    d.finding_class = FindingClass::resource;
    d.rule = "RG4";
    std::map<uint32_t, uint32_t> held;
    for (uint32_t h : pool.held) ++held[h];
    std::string text;
    for (const auto& [count, warps] : held)
      text += (text.empty() ? "" : ", ") + std::to_string(warps) + " warps hold " + std::to_string(count);
    d.facts.push_back("registers per thread: " + text + "; the CTA was launched with " +
                      std::to_string(pool.total) + " (summed over its warps)");
    uint64_t wanted = 0;
    for (const Blocked& b : trace_.blocked)
      if (b.on == On::registers && trace_.agents[b.agent.v].cta == cta)
        wanted += b.count - std::min(b.count, pool.held[trace_.agents[b.agent.v].warp]);
    const uint64_t left = pool.total - std::min(pool.total, pool.used);
    d.facts.push_back(std::to_string(wanted) + " more are asked for, " + std::to_string(left) + " are free");
    d.help = "choose setmaxnreg counts whose sum over all warps is at most that of the launch (RG8)";
  }

  void tell_missing(size_t i, Diagnostic& d) const {
    if (trace_.blocked[i].on == On::warp_sync) return;
    size_t told = 0;
    for (const auto& [number, event] : waits_[i].missing) {
      if (++told > 4) break;
      const std::string who = story_.names.warp_number(number);
      std::string text = who +
                         (trace_.blocked[i].on == On::signal ? " wrote it last"
                          : waits_[i].bytes_missing          ? " fills it"
                          : waits_[i].guessed                ? " arrives on its sibling barriers"
                                                             : " arrived in an earlier phase") +
                         " (" + story_.line(event) + ")";
      if (const auto end = ended_.find(number); end != ended_.end()) {
        text += ", and has ended (" + story_.line(end->second) + ")";
        d.sides.push_back(story_.at(end->second, who + " ended here"));
      }
      for (const Blocked& other : trace_.blocked)
        if (warp(other) == number) {
          text += ", and waits for " + awaited(other) + " (" + story_.names.line(other.place) + ")";
          break;
        }
      d.facts.push_back(text);
    }
    const Blocked& b = trace_.blocked[i];
    if (b.on == On::mbarrier && !waits_[i].bytes_missing && waits_[i].missing.empty() &&
        waits_[i].present.empty() && d.rule != "W2") {
      d.facts.push_back("nobody ever arrives on " + object(b));
      tell_ended(d);
    }
  }

  /// Where nobody ever arrived, those who ended are the first suspects: one line for each place where a role
  /// ended.
  void tell_ended(Diagnostic& d) const {
    std::set<std::pair<std::string, uint32_t>> known;
    for (const auto& [number, event] : ended_) {
      const Event& e = story_.event(event);
      if (!known.insert({trace_.agents[e.agent.v].role, e.place}).second || known.size() > 3) continue;
      d.sides.push_back(story_.at(event, story_.names.warp_number(number) + " ended here"));
    }
  }

  void tell_cycle(size_t cause, Diagnostic& d) const {
    const std::vector<size_t> path = cycle(cause);
    if (path.empty()) return;
    std::string text = "waiting on each other: ";
    for (size_t k = 0; k < path.size(); ++k) {
      const Blocked& b = trace_.blocked[path[k]];
      text += (k == 0 ? "" : " <- ") + story_.names.warp(b.agent) + " -> " + object(b);
    }
    d.facts.push_back(text + " <- " + story_.names.warp(trace_.blocked[cause].agent));
  }

  const Story& story_;
  const Trace& trace_;
  Graph graph_;
  std::map<uint32_t, size_t> ended_;  ///< warps that ended, and where
  std::vector<Wait> waits_;
  std::vector<int> component_;
  std::vector<size_t> component_size_;
};

}  // namespace

void explain_hang(const Story& story, std::vector<Ranked>& out) {
  // A strand that polls on, or a fault elsewhere, might still have set the others free.
  if (story.trace.blocked.empty() || stopped(story.trace)) return;
  if (story.trace.blocked.size() > 2048) return;
  Hang(story).explain(out);
}

}  // namespace turnstile::checker
