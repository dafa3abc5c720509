// SPDX-License-Identifier: Apache-2.0
//
// Exhaustive search over all interleavings. Naive on purpose; for small programs in tests only.
#include <algorithm>
#include <set>
#include <vector>

#include "tests/checker/oracles.h"

namespace turnstile::test {

namespace {

using K = Step::Kind;

/// One state, as plain numbers so that it can be a key.
struct State {
  std::vector<int> pc, waiting_for;      // per warp; waiting_for: instance of a named barrier + 1, 0: none
  std::vector<int> pending, tx, parity;  // per mbarrier
  std::vector<int> arrived, expected, instance;  // per named barrier id
  std::vector<int> copies;  // warp * 10000 + step, times two, plus one once it has written; sorted

  auto operator<=>(const State&) const = default;
};

class Search {
 public:
  Search(const RoleProgram& program, uint64_t limit) : program_(program), limit_(limit) {}

  std::optional<Truth> run() {
    State start;
    start.pc.assign(program_.roles.size(), 0);
    start.waiting_for = start.pc;
    for (const auto& b : program_.barriers) start.pending.push_back(static_cast<int>(b.count));
    start.tx.assign(start.pending.size(), 0);
    start.parity = start.tx;
    start.arrived.assign(16, 0);
    start.expected = start.instance = start.arrived;
    std::vector<State> todo{start};
    std::set<State> seen{start};
    while (!todo.empty()) {
      const State s = todo.back();
      todo.pop_back();
      if (++truth_.states > limit_) return std::nullopt;
      successors_.clear();
      bool all_done = true;
      for (size_t w = 0; w < s.pc.size(); ++w) {
        if (at_end(s, w)) continue;
        all_done = false;
        step(s, w);
      }
      for (size_t c = 0; c < s.copies.size(); ++c) land(s, c);
      look_for_race(s);
      if (successors_.empty() && !all_done && !refused_here_) truth_.hang = true;
      refused_here_ = false;
      for (State& next : successors_)
        if (seen.insert(next).second) todo.push_back(std::move(next));
    }
    return truth_;
  }

 private:
  const Step& at(const State& s, size_t w) const {
    return program_.roles[w].steps[static_cast<size_t>(s.pc[w])];
  }
  bool at_end(const State& s, size_t w) const {
    return static_cast<size_t>(s.pc[w]) == program_.roles[w].steps.size();
  }

  void complete(State& s, size_t b) {
    if (s.pending[b] != 0 || s.tx[b] != 0) return;
    s.pending[b] = static_cast<int>(program_.barriers[b].count);
    s.parity[b] ^= 1;
  }

  void refuse() { truth_.refused = refused_here_ = true; }

  void step(const State& s, size_t w) {
    const Step& op = at(s, w);
    State n = s;
    ++n.pc[w];
    const size_t b = op.object;
    switch (op.kind) {
      case K::arrive:
      case K::arrive_tx:
        if (op.kind == K::arrive_tx) n.tx[b] += static_cast<int>(op.bytes);
        if (n.pending[b] < static_cast<int>(op.count)) return refuse();
        n.pending[b] -= static_cast<int>(op.count);
        complete(n, b);
        break;
      case K::expect:
        n.tx[b] += static_cast<int>(op.bytes);
        complete(n, b);  // Q19, probe P15
        break;
      case K::wait:
        if (s.parity[b] == static_cast<int>(op.count)) return;  // the phase of that parity is still open
        break;
      case K::load:
        n.copies.push_back(static_cast<int>((w * 10000 + static_cast<size_t>(s.pc[w])) * 2));
        std::sort(n.copies.begin(), n.copies.end());
        break;
      case K::read:
      case K::write:
        break;
      case K::bar_sync:
      case K::bar_arrive: {
        if (s.waiting_for[w] != 0) {
          if (s.instance[b] < s.waiting_for[w]) return;
          n.waiting_for[w] = 0;
          break;
        }
        if (s.arrived[b] != 0 && s.expected[b] != static_cast<int>(op.count)) return refuse();
        n.expected[b] = static_cast<int>(op.count);
        n.arrived[b] += 32;
        if (op.kind == K::bar_sync) {
          n.waiting_for[w] = s.instance[b] + 1;
          --n.pc[w];
        }
        if (n.arrived[b] == n.expected[b]) {
          n.arrived[b] = n.expected[b] = 0;
          ++n.instance[b];
        }
        break;
      }
      default:
        return refuse();
    }
    successors_.push_back(std::move(n));
  }

  const Step& copy(int c) const {
    return program_.roles[static_cast<size_t>(c / 2 / 10000)].steps[static_cast<size_t>(c / 2 % 10000)];
  }

  void land(const State& s, size_t c) {
    State n = s;
    if (s.copies[c] % 2 == 0) {
      ++n.copies[c];
      std::sort(n.copies.begin(), n.copies.end());
    } else {
      const Step& op = copy(s.copies[c]);
      n.copies.erase(n.copies.begin() + static_cast<std::ptrdiff_t>(c));
      n.tx[op.object] -= static_cast<int>(op.bytes);
      complete(n, op.object);
    }
    successors_.push_back(std::move(n));
  }

  void look_for_race(const State& s) {
    std::vector<std::pair<uint32_t, bool>> enabled;  // buffer, writes
    for (size_t w = 0; w < s.pc.size(); ++w)
      if (!at_end(s, w) && (at(s, w).kind == K::read || at(s, w).kind == K::write))
        enabled.emplace_back(at(s, w).buffer, at(s, w).kind == K::write);
    for (int c : s.copies)
      if (c % 2 == 0) enabled.emplace_back(copy(c).buffer, true);
    for (size_t i = 0; i < enabled.size(); ++i)
      for (size_t j = i + 1; j < enabled.size(); ++j)
        truth_.race |= enabled[i].first == enabled[j].first && (enabled[i].second || enabled[j].second);
  }

  const RoleProgram& program_;
  uint64_t limit_;
  Truth truth_;
  std::vector<State> successors_;
  bool refused_here_ = false;
};

}  // namespace

std::optional<Truth> explore(const RoleProgram& program, uint64_t limit) {
  return Search(program, limit).run();
}

}  // namespace turnstile::test
