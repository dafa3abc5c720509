// SPDX-License-Identifier: Apache-2.0
//
// Sets of accesses instead of clocks: who synchronises takes over the set, nothing is ever compared by
// number.
#include "tests/checker/visibility_oracle.h"

#include <map>
#include <random>
#include <set>
#include <vector>

#include "model/protocol/orchestration_machine.h"

namespace turnstile::test {

namespace {

using Kind = EventKind;
using Set = std::set<size_t>;  ///< accesses, by number

void join(Set& into, const Set& from) { into.insert(from.begin(), from.end()); }

class Schedule {
 public:
  Schedule(const Orchestration& program, std::mt19937_64& random)
      : t_(program.tables),
        random_(random),
        machine_(program),
        strands_(program.strands.size()),
        arrived_(t_.barriers.size()),
        done_(t_.barriers.size()),
        flags_(t_.signals.size()),
        issued_with_(t_.ops.size()),
        accesses_of_(t_.ops.size()),
        instance_(program.strands.size()) {}

  std::optional<InvisibleConflict> run() {
    std::vector<OrchestrationMachine::Step> steps;
    while (!found_) {
      machine_.enabled(steps);
      if (steps.empty()) break;
      std::vector<uint64_t> before;
      for (uint32_t b = 0; b < t_.barriers.size(); ++b) before.push_back(machine_.barrier(b).generation());
      Event event;
      machine_.take(steps[random_() % steps.size()], event);
      if (machine_.stopped()) break;
      take(event);
      for (uint32_t b = 0; b < t_.barriers.size(); ++b)
        if (machine_.barrier(b).generation() != before[b]) done_[b] = arrived_[b];
    }
    return found_;
  }

 private:
  struct Access {
    uint32_t footprint = 0, place = 0;
    uint8_t flags = 0;
    bool generic = false;
    uint32_t tensor_queue = AsyncOp::none;
    Set known;  ///< when it happened
  };
  struct Named {
    Set open;
    uint32_t threads = 0;
    std::map<uint64_t, Set> complete;
  };

  size_t access(const Event& e, const Set& known) {
    Access now{e.footprint, e.place, e.flags, e.kind == Kind::access, AsyncOp::none, known};
    if (!now.generic) {
      const uint32_t queue = t_.ops[e.object].queue;
      if (queue != AsyncOp::none && t_.queues[queue].kind == QueueInfo::Kind::tensor)
        now.tensor_queue = queue;
    }
    for (size_t i = 0; i < all_.size(); ++i)
      if (conflict(all_[i], now) && !known.contains(i) && !behind_a_read(i, now))
        found_ = InvisibleConflict{all_[i].place, now.place};
    all_.push_back(std::move(now));
    return all_.size() - 1;
  }

  static bool conflict(const Access& a, const Access& b) {
    if (a.footprint != b.footprint || ((a.flags | b.flags) & Event::write) == 0) return false;
    if (a.generic && b.generic && (a.flags & b.flags & Event::atomic) != 0) return false;
    return a.tensor_queue == AsyncOp::none || a.tensor_queue != b.tensor_queue;  // TC15, TC16
  }

  // Write, read, write: who knows of the read comes after the write that the read came after (E5).
  bool behind_a_read(size_t earlier, const Access& now) const {
    if ((now.flags & Event::write) == 0) return false;
    for (const size_t read : now.known)
      if (all_[read].footprint == now.footprint && all_[read].known.contains(earlier)) return true;
    return false;
  }

  void take(const Event& e) {
    const uint32_t o = e.object;
    Set& mine = strands_[e.agent.v];
    switch (e.kind) {
      case Kind::access:
        mine.insert(access(e, mine));
        break;
      case Kind::mbarrier_arrive:
        if (e.has(Event::release)) join(arrived_[o], mine);  // HB1, HB5
        break;
      case Kind::mbarrier_wait:
        if (e.has(Event::acquire)) join(mine, done_[o]);
        break;
      case Kind::named_barrier_arrive: {
        Named& n = named_[o];
        join(n.open, mine);
        instance_[e.agent.v] = n.complete.size() + 1;
        n.threads += static_cast<uint32_t>(e.bytes);
        if (n.threads != e.count) break;
        n.complete[n.complete.size() + 1] = std::move(n.open);
        n.open.clear();
        n.threads = 0;
        break;
      }
      case Kind::named_barrier_pass:
        join(mine, named_[o].complete[instance_[e.agent.v]]);
        break;
      case Kind::cluster_arrive:
        if (e.has(Event::release)) join(cluster_, mine);
        break;
      case Kind::cluster_wait:
        if (e.has(Event::acquire)) join(mine, cluster_);
        break;
      case Kind::signal_add:
        if (e.has(Event::release)) join(flags_[o], mine);
        break;
      case Kind::signal_set:
        flags_[o] = e.has(Event::release) ? mine : Set();
        break;
      case Kind::signal_wait:
        if (e.has(Event::acquire)) join(mine, flags_[o]);
        break;
      case Kind::async_issue:
        issued_with_[o] = mine;
        issued_.push_back(o);
        break;
      case Kind::async_access:
        accesses_of_[o].insert(access(e, issued_with_[o]));
        break;
      case Kind::async_complete:
        complete(o);
        break;
      case Kind::group_wait:
        for (const uint32_t op : issued_)
          if (t_.ops[op].queue == o && t_.ops[op].group <= e.generation)
            for (const size_t i : accesses_of_[op])
              if (!e.has(Event::read_only) || (all_[i].flags & Event::write) == 0) mine.insert(i);
        break;
      default:
        break;
    }
  }

  // HB2, HB3: what has landed, and nothing that its issuer knew.
  void complete(uint32_t o) {
    const AsyncOp& op = t_.ops[o];
    if (op.barrier == AsyncOp::none) return;
    join(arrived_[op.barrier], accesses_of_[o]);
    if (op.kind != AsyncOp::Kind::tensor_commit && op.kind != AsyncOp::Kind::cp_async) return;
    for (const uint32_t earlier : issued_) {  // TC24
      if (earlier == o) break;
      if (t_.ops[earlier].queue == op.queue) join(arrived_[op.barrier], accesses_of_[earlier]);
    }
  }

  const Trace& t_;
  std::mt19937_64& random_;
  OrchestrationMachine machine_;
  std::vector<Set> strands_;
  std::vector<Set> arrived_, done_;  ///< by mbarrier: all contributions, those of the last completion
  std::vector<Set> flags_;
  Set cluster_;
  std::map<uint32_t, Named> named_;
  std::vector<Set> issued_with_, accesses_of_;  ///< by operation
  std::vector<uint32_t> issued_;                ///< operations, in order
  std::vector<uint64_t> instance_;              ///< of the named barrier that a strand contributed to last
  std::vector<Access> all_;
  std::optional<InvisibleConflict> found_;
};

}  // namespace

std::optional<InvisibleConflict> invisible_conflict(const Orchestration& program, uint64_t seed,
                                                    unsigned schedules) {
  std::mt19937_64 random(seed);
  for (unsigned i = 0; i < schedules; ++i)
    if (const auto found = Schedule(program, random).run()) return found;
  return std::nullopt;
}

}  // namespace turnstile::test
