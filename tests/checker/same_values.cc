// SPDX-License-Identifier: Apache-2.0
//
// Several warps write the same value to one word, as Triton does with role tables, captures and replicated
// layouts (M4): by the letter a race, but one that nobody can see. Advice, and never a clean verdict where a
// value can depend on the order.
#include <array>
#include <random>
#include <set>

#include "tests/checker/expect.h"
#include "tests/checker/trace_builder.h"

using namespace turnstile;
using namespace turnstile::test;

namespace {

struct Words : TraceBuilder {
  using TraceBuilder::TraceBuilder;
  void put(uint32_t agent, uint32_t line, uint64_t value, uint32_t buffer = 0) {
    write(agent, line, shared(buffer));
    trace.events.back().bytes = value;
  }
  void get(uint32_t agent, uint32_t line) { read(agent, line, shared(0)); }
  /// These warps meet at a named barrier of their own.
  void meet(uint32_t line, uint32_t id, const std::vector<uint32_t>& warps) {
    const uint64_t instance = ++instances_[id];
    const auto threads = static_cast<uint32_t>(32 * warps.size());
    for (uint32_t w : warps) bar_contribute(w, line, id, threads, true);
    for (uint32_t w : warps) bar_pass(w, line, id, instance);
  }
  Trace done() {
    for (uint32_t w = 0; w < trace.warps; ++w) exit(w, 99);
    return trace;
  }

 private:
  std::array<uint64_t, 16> instances_ = {};
};

}  // namespace

TEST_CASE("M4: warps that write the same value to one word are told of, and the launch is clean") {
  Words t(3);
  t.put(0, 1, 5);
  t.put(1, 2, 5);
  t.meet(3, 1, {0, 1, 2});
  t.get(2, 4);
  expect_lint(t.done(), "M4", 2);
}

TEST_CASE("M4: different values, values that nobody knows, or atomics are a race as ever") {
  for (const auto& [first, second] : {std::pair{5, 6}, {0, 0}, {0, 5}}) {
    Words t(2);
    t.put(0, 1, static_cast<uint64_t>(first));
    t.put(1, 2, static_cast<uint64_t>(second));
    expect_first(t.done(), FindingClass::race, "M4", 2);
  }
  Words t(2);
  t.put(0, 1, 5);
  t.atomic(1, 2, t.shared(0));
  t.trace.events.back().bytes = 5;
  expect_first(t.done(), FindingClass::race, "M4", 2);
}

TEST_CASE("M4: who comes after one of the writes of a value finds it, and may read it back at once") {
  Words t(3);
  t.put(0, 1, 5);
  t.get(0, 2);
  t.put(1, 3, 5);
  t.get(0, 4);
  t.get(1, 5);
  t.meet(6, 1, {0, 2});
  t.get(2, 7);
  expect_lint(t.done(), "M4", 3);
}

TEST_CASE("M4: who comes after none of the writes races") {
  Words t(3);
  t.put(0, 1, 5);
  t.put(1, 2, 5);
  t.get(2, 3);
  expect_first(t.done(), FindingClass::race, "M4", 3);
}

TEST_CASE("M4: another value has to come after every write of the one before, and after its readers") {
  Words t(3);
  t.put(0, 1, 5);
  t.put(1, 2, 5);
  t.meet(3, 1, {1, 2});
  t.put(2, 4, 6);
  expect_first(t.done(), FindingClass::race, "M4", 4);

  Words reader(3);
  reader.put(0, 1, 5);
  reader.get(0, 2);
  reader.put(1, 3, 5);
  reader.meet(4, 1, {1, 2});
  reader.put(2, 5, 6);
  expect_first(reader.done(), FindingClass::race, "M4", 5);

  Words all(3);
  all.put(0, 1, 5);
  all.put(1, 2, 5);
  all.meet(3, 1, {0, 1, 2});
  all.put(2, 4, 6);
  expect_lint(all.done(), "M4", 2);
}

namespace {

/// A step of some warps: one writes `value`, one reads (0), or all of them meet.
struct Step {
  std::vector<uint32_t> warps;
  uint32_t barrier = 0;  ///< 0: none
  uint64_t value = 0;
};

std::vector<Step> random_steps(std::mt19937& random) {
  const std::vector<std::vector<uint32_t>> groups = {{}, {0, 1}, {0, 2}, {1, 2}, {0, 1, 2}};
  std::vector<Step> steps(4 + random() % 7);
  for (Step& s : steps) {
    s.barrier = random() % 3 == 0 ? 1 + random() % 4 : 0;
    s.warps = s.barrier != 0 ? groups[s.barrier] : std::vector<uint32_t>{static_cast<uint32_t>(random() % 3)};
    s.value = random() % 3;
  }
  return steps;
}

/// Every order that the barriers allow: what each read can find, and what is left at the end.
class Orders {
 public:
  explicit Orders(const std::vector<Step>& steps) : steps_(steps), found_(steps.size() + 1) {
    for (uint32_t s = 0; s < steps.size(); ++s)
      for (uint32_t w : steps[s].warps) program_[w].push_back(s);
    go({}, 0);
  }
  bool determined() const {
    return std::all_of(found_.begin(), found_.end(), [](const auto& values) { return values.size() <= 1; });
  }

 private:
  using At = std::array<size_t, 3>;

  void go(At at, uint64_t memory) {
    if (!seen_.insert({at, memory}).second) return;
    bool over = true;
    for (uint32_t w = 0; w < 3; ++w) {
      if (at[w] == program_[w].size()) continue;
      over = false;
      const uint32_t s = program_[w][at[w]];
      const Step& step = steps_[s];
      const bool all_here = std::all_of(step.warps.begin(), step.warps.end(), [&](uint32_t other) {
        return at[other] < program_[other].size() && program_[other][at[other]] == s;
      });
      if (!all_here) continue;
      At next = at;
      for (uint32_t other : step.warps) ++next[other];
      if (step.barrier == 0 && step.value == 0) found_[s].insert(memory);
      go(next, step.barrier == 0 && step.value != 0 ? step.value : memory);
    }
    if (over) found_.back().insert(memory);
  }

  const std::vector<Step>& steps_;
  std::array<std::vector<uint32_t>, 3> program_;
  std::vector<std::set<uint64_t>> found_;  ///< by step; last: the memory at the end
  std::set<std::pair<At, uint64_t>> seen_;
};

}  // namespace

TEST_CASE("M4: a clean verdict means that every order reads and leaves the same") {
  size_t told = 0, races = 0, needless = 0;
  for (uint32_t seed = 1; seed <= 6000; ++seed) {
    std::mt19937 random(seed);
    const std::vector<Step> steps = random_steps(random);
    Words t(3);
    for (uint32_t s = 0; s < steps.size(); ++s) {
      const uint32_t line = s + 1;
      if (steps[s].barrier != 0)
        t.meet(line, steps[s].barrier, steps[s].warps);
      else if (steps[s].value == 0)
        t.get(steps[s].warps[0], line);
      else
        t.put(steps[s].warps[0], line, steps[s].value);
    }
    const Report report = check(t.done());
    const bool determined = Orders(steps).determined();
    CAPTURE(seed);
    INFO(text_of(report));
    if (report.verdict == Verdict::clean) CHECK(determined);
    told += report.verdict == Verdict::clean && !report.diagnostics.empty();
    races += report.verdict == Verdict::finding;
    needless += report.verdict == Verdict::finding && determined;
  }
  CHECK(told > 300);
  CHECK(races > 1000);
  CHECK(needless < races / 10);  // a value written over by chance before anybody looks
}
