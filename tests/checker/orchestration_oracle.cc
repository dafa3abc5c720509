// SPDX-License-Identifier: Apache-2.0
//
// Every interleaving, naively: a state is a row of numbers, each step copies it. The rules are written down
// once more from semantics.md, without generation numbers: parities and flags only.
#include "tests/checker/orchestration_oracle.h"

#include <algorithm>
#include <string_view>
#include <unordered_set>
#include <vector>

namespace turnstile::test {

namespace {

using Kind = EventKind;
using Op = AsyncOp::Kind;

/// Of a strand at a named barrier: it waits for an instance that never completes (NX1).
constexpr int stuck = 3;

/// Allocations of tensor memory that are told apart: two numbers, counts of 64 to 512.
constexpr size_t kinds_of_allocation = 32;

/// A state is one row of 16-bit numbers; each group of them begins where the one before ends.
using Row = std::u16string;

struct Group {
  size_t begin = 0;
};

struct State {
  Row row;
  int at(Group g, size_t i) const { return static_cast<int16_t>(row[g.begin + i]); }
  void set(Group g, size_t i, int64_t x) { row[g.begin + i] = static_cast<char16_t>(x); }
  void add(Group g, size_t i, int64_t x) { set(g, i, at(g, i) + x); }
};

int number(uint64_t x) { return static_cast<int16_t>(x); }

class Search {
 public:
  Search(const Orchestration& program, uint64_t limit)
      : program_(program), t_(program.tables), limit_(limit) {
    const size_t f = t_.footprints.size();
    overlap_.assign(f, std::vector<bool>(f));
    for (size_t a = 0; a < f; ++a)
      for (size_t b = 0; b < f; ++b) overlap_[a][b] = overlaps(t_.footprints[a], t_.footprints[b]);
  }

  std::optional<OrchestrationTruth> run() {
    std::vector<State> todo{start()};
    std::unordered_set<Row> seen{todo.front().row};
    while (!todo.empty()) {
      const State s = std::move(todo.back());
      todo.pop_back();
      if (++truth_.states > limit_) return std::nullopt;
      next_.clear();
      stopped_ = false;
      bool all_done = true;
      for (size_t a = 0; a < strands(); ++a) {
        if (ended(s, a)) continue;
        all_done = false;
        strand_step(s, a);
      }
      for (size_t o = 0; o < t_.ops.size(); ++o)
        if (in_flight(s, o)) operation_step(s, o);
      races(s);
      if (next_.empty() && !all_done && !stopped_) truth_.hang = true;
      for (State& n : next_)
        if (seen.insert(n.row).second) todo.push_back(std::move(n));
    }
    return truth_;
  }

 private:
  Group group(State& s, size_t size, int64_t value = 0) {
    const Group g{s.row.size()};
    s.row.append(size, static_cast<char16_t>(value));
    return g;
  }

  State start() {
    State s;
    const size_t agents = t_.agents.size(), barriers = t_.barriers.size();
    pc_ = group(s, agents);
    sync_ = group(s, agents);
    arrives_ = group(s, agents);
    cluster_ = group(s, agents);
    in_generation_ = group(s, agents);
    pending_ = group(s, barriers);
    tx_ = group(s, barriers);
    parity_ = group(s, barriers);
    count_ = group(s, barriers);
    arrived_ = group(s, size_t{16} * t_.cluster_ctas);
    expected_ = group(s, size_t{16} * t_.cluster_ctas);
    whole_ = group(s, size_t{16} * t_.cluster_ctas);
    signals_ = group(s, t_.signals.size());
    pools_ = group(s, t_.pools.size());
    tags_ = group(s, t_.footprints.size());
    ops_ = group(s, t_.ops.size(), -1);
    registers_ = group(s, t_.cluster_ctas);
    columns_ = group(s, 3 * size_t{t_.cluster_ctas});
    live_ = group(s, kinds_of_allocation * t_.cluster_ctas);
    for (size_t b = 0; b < barriers; ++b) {
      s.set(pending_, b, t_.barriers[b].initial_count);
      s.set(count_, b, t_.barriers[b].initial_count);
    }
    for (size_t i = 0; i < t_.signals.size(); ++i) s.set(signals_, i, t_.signals[i].initial);
    for (size_t i = 0; i < t_.pools.size(); ++i) s.set(pools_, i, t_.pools[i].initial);
    return s;
  }

  static bool ranges_meet(const ByteRange& a, const ByteRange& b) {
    for (uint32_t i = 0; i < a.count; ++i)
      for (uint32_t j = 0; j < b.count; ++j)
        if (a.begin + i * a.stride < b.end + j * b.stride && b.begin + j * b.stride < a.end + i * a.stride)
          return true;
    return false;
  }
  bool overlaps(const Footprint& a, const Footprint& b) const {
    if (a.space != b.space || a.allocation != b.allocation) return false;
    for (uint32_t i = 0; i < a.range_count; ++i)
      for (uint32_t j = 0; j < b.range_count; ++j)
        if (ranges_meet(t_.ranges[a.first_range + i], t_.ranges[b.first_range + j])) return true;
    return false;
  }

  size_t strands() const { return program_.strands.size(); }
  bool ended(const State& s, size_t a) const {
    return static_cast<size_t>(s.at(pc_, a)) >= program_.strands[a].events.size();
  }
  const Event& next(const State& s, size_t a) const {
    return program_.strands[a].events[static_cast<size_t>(s.at(pc_, a))];
  }
  bool in_flight(const State& s, size_t o) const {
    return s.at(ops_, o) >= 0 && static_cast<size_t>(s.at(ops_, o)) < program_.operations[o].size();
  }
  const Event& next_of_op(const State& s, size_t o) const {
    return program_.operations[o][static_cast<size_t>(s.at(ops_, o))];
  }
  bool cta_ended(const State& s, uint32_t cta) const {
    for (size_t a = 0; a < strands(); ++a)
      if (t_.agents[a].cta == cta && !ended(s, a)) return false;
    return true;
  }

  void complete(State& s, size_t b) const {
    if (s.at(pending_, b) != 0 || s.at(tx_, b) != 0) return;
    s.set(pending_, b, s.at(count_, b));
    s.set(parity_, b, 1 - s.at(parity_, b));
  }

  void refuse() { truth_.refused = stopped_ = true; }
  void touch_dead() { truth_.dead = stopped_ = true; }

  // Something in another CTA, which may have ended (D2).
  bool gone(const State& s, uint32_t cta, size_t a) const {
    return t_.agents[a].cta != cta && cta_ended(s, cta);
  }

  void strand_step(const State& s, size_t a) {
    const Event& e = next(s, a);
    State n = s;
    n.add(pc_, a, 1);
    const size_t o = e.object;
    const int count = static_cast<int>(e.count), bytes = number(e.bytes);
    switch (e.kind) {
      case Kind::mbarrier_arrive:
      case Kind::mbarrier_expect_tx:
        if (gone(s, t_.barriers[o].cta, a)) return touch_dead();
        if (e.kind == Kind::mbarrier_expect_tx || e.has(Event::expects_bytes)) n.add(tx_, o, bytes);
        if (e.kind == Kind::mbarrier_arrive) {
          if (s.at(pending_, o) < count) return refuse();  // MB15
          if (e.has(Event::drops)) {
            if (s.at(count_, o) <= count) return refuse();  // MB21
            n.add(count_, o, -count);
          }
          n.add(pending_, o, -count);
        }
        complete(n, o);  // Q19, probe P15: an expect too may complete the phase
        break;
      case Kind::mbarrier_wait:
        if (t_.barriers[o].cta != t_.agents[a].cta) return refuse();  // MB8
        if (s.at(parity_, o) == count) return;                        // the phase of that parity is open
        break;
      case Kind::named_barrier_arrive:
        if (count == 0 || count % 32 != 0) return refuse();  // N1
        // NX1, Q6: the contribution counts for nothing, and who waits with it waits for ever. (The H200
        // traps, P8: whatever comes after it is as good as any other, and a hang is what PTX tools see.)
        if (s.at(arrived_, o) != 0 && s.at(expected_, o) != count) {
          truth_.refused = true;
          if (e.has(Event::waits)) n.set(sync_, a, stuck);
          break;
        }
        if (s.at(arrived_, o) + bytes > count) return refuse();  // NX3
        n.set(whole_, o, e.has(Event::whole_cta) && (s.at(arrived_, o) == 0 || s.at(whole_, o) == 1));
        n.set(expected_, o, count);
        n.add(arrived_, o, bytes);
        if (e.has(Event::waits)) {
          n.set(sync_, a, 1);
        } else {
          const int bit = 1 << (o % 16);
          if ((s.at(arrives_, a) & bit) != 0) truth_.refused = true;  // N7: twice in one instance; goes on
          n.set(arrives_, a, s.at(arrives_, a) | bit);
        }
        if (n.at(arrived_, o) == count)
          release(n, o);
        else
          release_without_ended(n, o);
        break;
      case Kind::named_barrier_pass:
        if (s.at(sync_, a) != 2) return;
        n.set(sync_, a, 0);
        break;
      case Kind::cluster_arrive:
        if (s.at(in_generation_, a) != 0) return refuse();  // C1
        n.set(in_generation_, a, 1);
        n.set(cluster_, a, 1);
        settle_cluster(n);
        break;
      case Kind::cluster_wait:
        if (s.at(cluster_, a) != 2) return;  // C2: only after an arrival of its own
        n.set(cluster_, a, 0);
        break;
      case Kind::access:
        if (gone(s, t_.footprints[e.footprint].allocation, a)) return touch_dead();
        if (!touch(n, e)) truth_.stale = true;
        break;
      case Kind::async_issue:
        n.set(ops_, o, 0);
        if (t_.ops[o].kind == Op::cp_async && t_.ops[o].barrier != AsyncOp::none && t_.ops[o].bytes == 1)
          n.add(pending_, t_.ops[o].barrier, 1);  // MB20: without .noinc
        break;
      case Kind::signal_add:
        n.add(signals_, o, bytes);
        break;
      case Kind::signal_set:
        n.set(signals_, o, bytes);
        break;
      case Kind::signal_wait:
        if (e.has(Event::equal) ? s.at(signals_, o) != bytes : s.at(signals_, o) < bytes) return;
        break;
      case Kind::pool_acquire:
        if (s.at(pools_, o) < count) return;
        n.add(pools_, o, -count);
        break;
      case Kind::pool_release:
        n.add(pools_, o, count);
        break;
      case Kind::exit:
        if (count == 0) break;
        settle_cluster(n);  // C5
        for (size_t b = 0; b < 16; ++b) release_without_ended(n, 16u * t_.agents[a].cta + b);
        break;
      case Kind::group_wait:
        if (!groups_done(s, e)) return;
        break;
      case Kind::registers_release:
        if (e.count > e.bytes) return refuse();  // RG2
        n.add(registers_, t_.agents[a].cta, bytes - count);
        break;
      case Kind::registers_acquire:
        if (e.count < e.bytes) return refuse();
        if (s.at(registers_, t_.agents[a].cta) < count - bytes) return;  // RG4
        n.add(registers_, t_.agents[a].cta, bytes - count);
        break;
      case Kind::tensor_alloc:
      case Kind::tensor_dealloc:
      case Kind::tensor_relinquish:
        if (!step_columns(s, n, e, t_.agents[a].cta)) return;
        break;
      case Kind::group_commit:  // the groups are part of the program
      case Kind::fence_proxy_async:
        break;
      default:
        return refuse();
    }
    if (ended(n, a) && cta_ended(n, t_.agents[a].cta)) end_cta(n, t_.agents[a].cta);
    next_.push_back(std::move(n));
  }

  // N3, N8: the instance is over.
  void release(State& s, size_t o) const {
    s.set(arrived_, o, 0);
    s.set(expected_, o, 0);
    s.set(whole_, o, 0);
    for (size_t w = 0; w < strands(); ++w) {
      if (t_.agents[w].cta == o / 16) s.set(arrives_, w, s.at(arrives_, w) & ~(1 << (o % 16)));
      if (s.at(sync_, w) == 1 && next(s, w).object == o) s.set(sync_, w, 2);
    }
  }
  // N8, probe P8: nobody named a thread count, and all that have not ended wait here.
  void release_without_ended(State& s, size_t o) const {
    if (s.at(arrived_, o) == 0 || s.at(whole_, o) == 0) return;
    for (size_t w = 0; w < strands(); ++w)
      if (t_.agents[w].cta == o / 16 && !(ended(s, w) && program_.strands[w].events.back().count > 0) &&
          !(s.at(sync_, w) == 1 && next(s, w).object == o))
        return;
    release(s, o);
  }

  // TC4 to TC7. False: it waits, or is refused.
  bool step_columns(const State& s, State& n, const Event& e, size_t cta) {
    const size_t used = 3 * cta, last = used + 1, given_up = used + 2;
    if (e.kind == Kind::tensor_relinquish) {
      n.set(columns_, given_up, 1);
      return true;
    }
    const int count = static_cast<int>(e.count);
    const size_t which =
        cta * kinds_of_allocation + 16 * (e.generation / 32) + static_cast<size_t>(count) / 64;
    if (e.kind == Kind::tensor_dealloc) {
      if (s.at(live_, which) == 0) return refuse(), false;  // TC6
      n.add(live_, which, -1);
      n.add(columns_, used, -count);
      return true;
    }
    if (s.at(columns_, used) + count > 512) return false;                                   // TC4: blocks
    if (s.at(columns_, given_up) != 0) return refuse(), false;                              // TC7
    if (s.at(columns_, last) != 0 && s.at(columns_, last) < count) return refuse(), false;  // TC5
    n.set(columns_, last, count);
    n.add(live_, which, 1);
    n.add(columns_, used, count);
    return true;
  }

  // BK1 to BK4, CA3, WG3, TC17: every operation of a group up to this one is done, or has read.
  bool groups_done(const State& s, const Event& wait) const {
    for (size_t o = 0; o < t_.ops.size(); ++o) {
      if (t_.ops[o].queue != wait.object || t_.ops[o].group > wait.generation || !in_flight(s, o)) continue;
      const auto& events = program_.operations[o];
      const bool still = std::any_of(events.begin() + s.at(ops_, o), events.end(), [&](const Event& e) {
        return !wait.has(Event::read_only) || (e.kind == Kind::async_access && !e.has(Event::write));
      });
      if (still) return false;
    }
    return true;
  }

  // May the next step of an operation come before `earlier`, of the same thread, is over?
  bool waits_for(size_t o, size_t earlier, bool completes) const {
    const AsyncOp &op = t_.ops[o], &first = t_.ops[earlier];
    switch (t_.queues[op.queue].kind) {
      case QueueInfo::Kind::cp_async:  // CA8; HB2: an arrival follows all copies before it
        return completes && (op.barrier != AsyncOp::none || first.group < op.group);
      case QueueInfo::Kind::wgmma:  // WG3
        return completes && first.group < op.group;
      case QueueInfo::Kind::tensor:  // TC15: same accumulator; TC24: a commit follows every mma
        if (first.kind == Op::tensor_commit && op.kind == Op::tensor_commit)  // TLX-MMA-5: commits in order
          return t_.barriers[first.barrier].cta == t_.barriers[op.barrier].cta;
        return first.kind == Op::tensor_mma &&
               (op.kind == Op::tensor_commit || accumulator(o) == accumulator(earlier));
      default:
        return false;  // BK1, TC17
    }
  }
  uint32_t accumulator(size_t o) const {
    for (const Event& e : program_.operations[o])
      if (e.kind == Kind::async_access && e.has(Event::write)) return e.footprint;
    return AsyncOp::none;
  }
  bool may_step(const State& s, size_t o) const {
    if (t_.ops[o].queue == AsyncOp::none) return true;
    const bool completes = next_of_op(s, o).kind == Kind::async_complete;
    for (size_t earlier = 0; earlier < o; ++earlier)  // a thread issues them in the order of their numbers
      if (t_.ops[earlier].queue == t_.ops[o].queue && in_flight(s, earlier) &&
          waits_for(o, earlier, completes))
        return false;
    return true;
  }

  // D5: a copy that will write into the CTA is still in flight. TC6: nothing may stay allocated.
  void end_cta(const State& s, uint32_t cta) {
    truth_.dead |= s.at(columns_, 3 * size_t{cta}) != 0;  // TC6: a leak
    for (size_t o = 0; o < t_.ops.size(); ++o)
      if (in_flight(s, o) && t_.ops[o].kind == Op::bulk_load)
        for (const Event& e : program_.operations[o])
          truth_.dead |= e.kind == Kind::async_access && t_.footprints[e.footprint].allocation == cta;
  }

  // Complete when all strands that have not ended have arrived, and somebody has.
  void settle_cluster(State& s) const {
    bool any = false;
    for (size_t a = 0; a < strands(); ++a) {
      if (s.at(in_generation_, a) == 0 && !ended(s, a)) return;
      any |= s.at(in_generation_, a) != 0;
    }
    if (!any) return;
    for (size_t a = 0; a < strands(); ++a) {
      if (s.at(in_generation_, a) != 0) s.set(cluster_, a, 2);
      s.set(in_generation_, a, 0);
    }
  }

  bool touch(State& s, const Event& e) const {
    if (e.kind == Kind::access && e.has(Event::atomic)) return true;  // neither demands a tag nor leaves one
    const int tag = number(e.generation);
    if (!e.has(Event::write)) return tag == 0 || s.at(tags_, e.footprint) == tag;
    for (size_t f = 0; f < overlap_.size(); ++f)
      if (overlap_[e.footprint][f]) s.set(tags_, f, tag);
    return true;
  }

  void operation_step(const State& s, size_t o) {
    if (!may_step(s, o)) return;
    const Event& e = next_of_op(s, o);
    State n = s;
    n.add(ops_, o, 1);
    if (e.kind == Kind::async_access) {
      if (gone(s, t_.footprints[e.footprint].allocation, t_.ops[o].issuer.v)) return touch_dead();
      if (!touch(n, e)) truth_.stale = true;
    } else if (const uint32_t b = t_.ops[o].barrier; b != AsyncOp::none) {
      if (gone(s, t_.barriers[b].cta, t_.ops[o].issuer.v)) return touch_dead();
      if (!cta_ended(s, t_.barriers[b].cta)) {
        if (t_.ops[o].kind == Op::tensor_commit || t_.ops[o].kind == Op::cp_async) {
          if (s.at(pending_, b) < 1) return refuse();  // MB15
          n.add(pending_, b, -1);
        } else {
          n.add(tx_, b, -number(t_.ops[o].bytes));
        }
        complete(n, b);
      }
    }
    next_.push_back(std::move(n));
  }

  void races(const State& s) {
    possible_.clear();
    for (size_t a = 0; a < strands(); ++a)
      if (!ended(s, a) && next(s, a).kind == Kind::access) possible_.push_back(&next(s, a));
    for (size_t o = 0; o < t_.ops.size(); ++o)
      if (in_flight(s, o) && next_of_op(s, o).kind == Kind::async_access && may_step(s, o))
        possible_.push_back(&next_of_op(s, o));
    for (size_t i = 0; i < possible_.size(); ++i)
      for (size_t j = i + 1; j < possible_.size(); ++j) {
        const Event &x = *possible_[i], &y = *possible_[j];
        if (x.kind == Kind::access && y.kind == Kind::access && x.has(Event::atomic) && y.has(Event::atomic))
          continue;
        if ((x.has(Event::write) || y.has(Event::write)) && overlap_[x.footprint][y.footprint])
          truth_.race = true;
      }
  }

  const Orchestration& program_;
  const Trace& t_;
  uint64_t limit_;
  std::vector<std::vector<bool>> overlap_;
  OrchestrationTruth truth_;
  std::vector<State> next_;
  std::vector<const Event*> possible_;
  Group pc_;             // per strand
  Group sync_;           // per strand, named barriers: 0 not waiting, 1 waiting, 2 may go on, 3 stuck
  Group arrives_;        // per strand, a bit for each id: arrived without waiting in its open instance
  Group cluster_;        // per strand: 0 not arrived since its last wait, 1 arrived, 2 completed since
  Group in_generation_;  // per strand: arrived in the open generation of the cluster barrier
  Group pending_, tx_, parity_, count_;  // per mbarrier; count: arrivals of the next phase
  Group arrived_, expected_, whole_;     // per named barrier; whole: nobody named a thread count
  Group registers_;                      // per CTA, of each thread of a group: given back and not taken
  Group signals_, pools_;
  Group columns_;  // per CTA: columns allocated, of the last allocation, whether the permit is given up
  Group live_;     // per CTA, allocation number (0 or 1) and count / 64: allocations
  Group tags_;     // per footprint
  Group ops_;      // per operation: -1 not issued, else events done
  bool stopped_ = false;  ///< a step of this state was refused: having no successor is then no hang
};

}  // namespace

std::string OrchestrationTruth::text() const {
  std::string out;
  for (const auto& [is, name] :
       {std::pair(hang, "hang "), {race, "race "}, {stale, "stale "}, {refused, "refused "}, {dead, "dead "}})
    if (is) out += name;
  return out.empty() ? "nothing" : out;
}

std::optional<OrchestrationTruth> explore_naively(const Orchestration& program, uint64_t limit) {
  return Search(program, limit).run();
}

}  // namespace turnstile::test
