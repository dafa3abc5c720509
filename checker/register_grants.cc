// SPDX-License-Identifier: Apache-2.0
//
// A schedule hangs in setmaxnreg.inc only in a state where some groups wait for one and nothing else can
// move: all that does not come causally after an inc that waits has happened. So it is enough to look at each
// such set of waiting incs: if the pool then holds what one of them wants, the state is no hang. What the
// causal order leaves open is taken for the worse: a dec that may come after an inc that waits has not
// happened, an inc that may come before it has taken its registers. So is how many warps of a group that
// waits have been served: all but one, since what one warp more has taken is missing to everybody.
#include "checker/register_grants.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <utility>

namespace turnstile::checker {

namespace {

constexpr uint64_t kMostStates = 200'000;
constexpr size_t kMostTurns = 256;

/// One setmaxnreg of a warp group: the n-th request of each of its warps.
struct Turn {
  uint16_t cta = 0;
  int64_t taken = 0;  ///< of one warp
  std::vector<const RegisterRequest*> warps;
};

using Group = std::vector<size_t>;  ///< its turns, in program order

struct Turns {
  std::vector<Turn> all;
  std::vector<Group> groups;
  bool uniform = true;  ///< the warps of each group ask for the same, one after the other
};

Turns turns_of(const std::vector<RegisterRequest>& requests) {
  std::map<std::pair<uint16_t, uint16_t>, std::vector<const RegisterRequest*>> by_warp;
  for (const RegisterRequest& r : requests) by_warp[{r.cta, r.warp}].push_back(&r);
  Turns turns;
  std::map<std::pair<uint16_t, uint16_t>, Group> groups;
  for (const auto& [warp, asked] : by_warp) {
    const auto [at, first] = groups.try_emplace({warp.first, static_cast<uint16_t>(warp.second / 4)});
    Group& group = at->second;
    turns.uniform &= first || group.size() == asked.size();
    for (size_t n = 0; n < asked.size() && turns.uniform; ++n) {
      if (first) {
        group.push_back(turns.all.size());
        turns.all.push_back({warp.first, asked[n]->taken, {}});
      }
      Turn& turn = turns.all[group[n]];
      turns.uniform &= turn.taken == asked[n]->taken;
      turn.warps.push_back(asked[n]);
    }
  }
  for (auto& [key, group] : groups) turns.groups.push_back(std::move(group));
  return turns;
}

/// How turn `x` lies to turn `y`: some, or all, of its warps ask after some, or all, warps of `y` were
/// granted.
struct After {
  bool any = false, all = true;

  After(const Turn& x, const Turn& y) {
    for (const RegisterRequest* later : x.warps)
      for (const RegisterRequest* earlier : y.warps) {
        const bool after = later != earlier && knows(later->causal.data(), earlier->epoch);
        any |= after;
        all &= after;
      }
  }
};

class Grants {
 public:
  explicit Grants(const Turns& turns) : turns_(turns), waiting_(turns.groups.size()) {
    for (const Turn& x : turns.all)
      for (const Turn& y : turns.all) after_.emplace_back(x, y);
  }

  /// No set of waiting groups hangs, from group `g` on.
  bool safe_from(size_t g) {
    if (g == waiting_.size()) return !hangs();
    waiting_[g] = {};
    if (!safe_from(g + 1)) return false;
    for (const size_t turn : turns_.groups[g]) {
      if (turns_.all[turn].taken <= 0) continue;
      waiting_[g] = {true, turn};
      if (!safe_from(g + 1)) return false;
    }
    waiting_[g] = {};
    return true;
  }

 private:
  struct Waiting {
    bool waits = false;
    size_t turn = 0;
  };

  const After& after(size_t x, size_t y) const { return after_[x * turns_.all.size() + y]; }

  template <typename Test>
  bool any_waiting(Test test) const {
    return std::any_of(waiting_.begin(), waiting_.end(),
                       [&](const Waiting& w) { return w.waits && test(w); });
  }

  /// Registers of one thread left in the pool of a CTA, at least.
  int64_t left(uint16_t cta) const {
    int64_t free = 0;
    for (size_t x = 0; x < turns_.all.size(); ++x) {
      const Turn& turn = turns_.all[x];
      if (turn.cta != cta) continue;
      const auto itself = std::find_if(waiting_.begin(), waiting_.end(),
                                       [&](const Waiting& w) { return w.waits && w.turn == x; });
      if (itself != waiting_.end()) {
        free -= static_cast<int64_t>(turn.warps.size() - 1) * turn.taken;
        continue;
      }
      const bool gone = turn.taken < 0 ? !any_waiting([&](const Waiting& w) { return after(x, w.turn).any; })
                                       : !any_waiting([&](const Waiting& w) { return after(x, w.turn).all; });
      if (gone) free -= static_cast<int64_t>(turn.warps.size()) * turn.taken;
    }
    return free;
  }

  bool hangs() const {
    if (!any_waiting([](const Waiting&) { return true; })) return false;
    const auto unreachable = [&](const Waiting& w) {
      return any_waiting([&](const Waiting& other) { return after(w.turn, other.turn).all; });
    };
    const auto served = [&](const Waiting& w) {
      return turns_.all[w.turn].taken <= left(turns_.all[w.turn].cta);
    };
    return !any_waiting(unreachable) && !any_waiting(served);
  }

  const Turns& turns_;
  std::vector<After> after_;
  std::vector<Waiting> waiting_;  ///< by group
};

}  // namespace

bool always_granted(const std::vector<RegisterRequest>& requests) {
  const Turns turns = turns_of(requests);
  if (!turns.uniform || turns.all.size() > kMostTurns) return false;
  uint64_t states = 1;
  for (const Group& group : turns.groups) {
    uint64_t choices = 1;
    for (const size_t turn : group)
      if (turns.all[turn].taken > 0) ++choices;
    states *= choices;
    if (states > kMostStates) return false;
  }
  return Grants(turns).safe_from(0);
}

}  // namespace turnstile::checker
