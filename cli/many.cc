// SPDX-License-Identifier: Apache-2.0
//
// Many checks of one command. The work is done by run_parallel; what this adds is order: lines appear in the
// order of the items whatever finishes first, and the smallest failing item is the same on every machine.
#include "cli/many.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>

#include "cli/parallel.h"
#include "cli/progress.h"
#include "cli/sweep_grid.h"
#include "cli/text.h"

namespace turnstile::cli {

namespace {

/// Items of one group, as the overview wants them, with their numbers.
struct Group {
  std::string name;
  std::vector<size_t> items;
  std::vector<SweepCell> cells;
};

std::vector<Group> groups_of(const ManyChecks& checks, const std::vector<size_t>& done) {
  std::vector<Group> groups;
  std::vector<bool> is_done(checks.items.size());
  for (const size_t i : done) is_done[i] = true;
  for (size_t i = 0; i < checks.items.size(); ++i) {
    const ManyChecks::Item& item = checks.items[i];
    auto group =
        std::find_if(groups.begin(), groups.end(), [&](const Group& g) { return g.name == item.group; });
    if (group == groups.end()) group = groups.insert(groups.end(), {item.group, {}, {}});
    group->items.push_back(i);
    group->cells.push_back(
        {item.values, is_done[i] ? std::optional<Report>(checks.report(i)) : std::nullopt});
  }
  return groups;
}

/// One overview a group; empty if there is nothing swept, or if one of them would be too wide.
std::string overview(const ManyChecks& checks, const std::vector<Group>& groups, const Style& style) {
  if (checks.swept.empty()) return {};
  std::string text;
  for (const Group& group : groups) {
    const std::string grid = render_grid(checks.swept, group.cells, style);
    if (grid.empty()) return {};
    if (!group.name.empty()) text += fmt::format("  {}\n", printable(group.name));
    text += grid;
  }
  return text;
}

class Runner {
 public:
  Runner(const ManyChecks& checks, bool rows, bool quiet, const Terminal& terminal)
      : checks_(checks),
        streams_(rows && overview(checks, groups_of(checks, {}), {}).empty()),
        quiet_(quiet),
        terminal_(terminal),
        done_(checks.items.size()) {}

  ManyAnswer run() {
    const auto start = std::chrono::steady_clock::now();
    run_in_order(
        checks_.items.size(), [&](size_t i) { work(i); }, [&](size_t i) { print_row(i); },
        [&](size_t count) {
          const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start;
          terminal_.progress(progress_bar({count, checks_.items.size(), findings_, passed.count()}));
        },
        [&] { return interrupted() || failed_; });
    terminal_.clear_progress();
    ManyAnswer answer;
    answer.error = error_;
    if (answer.error) return answer;
    for (size_t i = 0; i < checks_.items.size(); ++i)
      if (done_[i]) answer.done.push_back(i);
    for (const size_t i : answer.done) answer.exit = worst(answer.exit, exit_of(checks_.report(i).verdict));
    if (interrupted()) answer.exit = worst(answer.exit, Exit::inconclusive);
    const std::vector<Group> groups = groups_of(checks_, answer.done);
    if (!streams_) answer.text = overview(checks_, groups, terminal_.out());
    choose(groups, answer);
    return answer;
  }

 private:
  void work(size_t i) {
    const Result<void> checked = checks_.check(i);
    if (checked) {
      findings_ += checks_.report(i).verdict == Verdict::finding ? 1 : 0;
      done_[i] = true;
      return;
    }
    const std::lock_guard lock(mutex_);
    if (!error_ || i < error_item_) {
      error_ = checked.error();
      error_item_ = i;
      if (const std::string setting = setting_text(checks_.swept, checks_.items[i].values); !setting.empty())
        error_->message += fmt::format(" ({})", setting);
    }
    failed_ = true;
  }

  void print_row(size_t i) const {
    if (streams_ && done_[i] && (!quiet_ || checks_.report(i).verdict != Verdict::clean))
      terminal_.print(checks_.row(i));
  }

  void choose(const std::vector<Group>& groups, ManyAnswer& answer) const {
    std::vector<SweepCell> cells(checks_.items.size());
    for (const Group& g : groups)
      for (size_t i = 0; i < g.items.size(); ++i) cells[g.items[i]] = g.cells[i];
    answer.shown = smallest_failing(checks_.swept, cells);
    if (!answer.shown || checks_.swept.empty()) return;
    Report& report = checks_.report(*answer.shown);
    if (report.verdict != Verdict::finding || report.diagnostics.empty()) return;
    for (const Group& g : groups)
      if (g.name == checks_.items[*answer.shown].group)
        report.diagnostics.front().facts.push_back(smallest_text(
            checks_.swept, g.cells,
            static_cast<size_t>(std::find(g.items.begin(), g.items.end(), *answer.shown) - g.items.begin())));
  }

  const ManyChecks& checks_;
  const bool streams_;
  const bool quiet_;
  const Terminal& terminal_;
  std::vector<std::atomic<bool>> done_;
  std::atomic<uint64_t> findings_ = 0;
  std::atomic<bool> failed_ = false;
  std::mutex mutex_;
  std::optional<Error> error_;
  size_t error_item_ = 0;
};

}  // namespace

ManyAnswer check_many(const ManyChecks& checks, bool rows, bool quiet, const Terminal& terminal) {
  return Runner(checks, rows, quiet, terminal).run();
}

std::optional<size_t> ManyAnswer::shown_place() const {
  if (!shown) return std::nullopt;
  return static_cast<size_t>(std::find(done.begin(), done.end(), *shown) - done.begin());
}

std::string item_text(const ManyChecks& checks, size_t item) {
  const std::string values = setting_text(checks.swept, checks.items[item].values);
  const std::string group = printable(checks.items[item].group);
  return group.empty() || values.empty() ? group + values : group + "  " + values;
}

std::string shown_title(const ManyChecks& checks, const ManyAnswer& answer) {
  const bool finding = checks.report(*answer.shown).verdict == Verdict::finding;
  const std::string name = item_text(checks, *answer.shown);
  return fmt::format("The {} that {}{}:", checks.swept.empty() ? "first" : "smallest",
                     finding ? "fails" : "is not decided", name.empty() ? "" : ", " + name);
}

std::string many_summary(const ManyChecks& checks, const ManyAnswer& answer) {
  const auto clean =
      static_cast<uint64_t>(std::count_if(answer.done.begin(), answer.done.end(), [&](size_t i) {
        return checks.report(i).verdict == Verdict::clean;
      }));
  std::string text = fmt::format("{} of {} clean", grouped(clean), counted(answer.done.size(), checks.noun));
  if (answer.done.size() < checks.items.size())
    text += fmt::format("; stopped by the user, {} not checked",
                        grouped(checks.items.size() - answer.done.size()));
  return text;
}

}  // namespace turnstile::cli
