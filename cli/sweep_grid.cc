// SPDX-License-Identifier: Apache-2.0
#include "cli/sweep_grid.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

namespace turnstile::cli {

namespace {

struct Letter {
  FindingClass finding_class;
  char letter;
};

constexpr std::array<Letter, 10> letters = {{
    {FindingClass::hang, 'H'},
    {FindingClass::race, 'R'},
    {FindingClass::proxy_fence, 'F'},
    {FindingClass::overtaken, 'O'},
    {FindingClass::stale, 'S'},
    {FindingClass::barrier_protocol, 'B'},
    {FindingClass::resource, 'P'},
    {FindingClass::lifetime, 'L'},
    {FindingClass::register_hazard, 'W'},
    {FindingClass::memory, 'M'},
}};

/// The values of one variable, in the order of the sweep.
std::vector<int64_t> values_of(const std::string& name, const std::vector<SweepCell>& cells) {
  std::vector<int64_t> values;
  for (const SweepCell& cell : cells)
    if (std::find(values.begin(), values.end(), cell.values.at(name)) == values.end())
      values.push_back(cell.values.at(name));
  return values;
}

std::string painted(char letter, size_t width, const Style& style) {
  const std::string text = fmt::format("{:>{}}", letter, width);
  return letter == '.' || letter == ' ' ? text : letter == '?' ? style.warning(text) : style.error(text);
}

}  // namespace

std::string setting_text(const std::vector<std::string>& names,
                         const std::map<std::string, int64_t>& values) {
  std::string text;
  for (const std::string& name : names)
    if (const auto value = values.find(name); value != values.end())
      text += fmt::format("{}{}={}", text.empty() ? "" : " ", name, value->second);
  return text;
}

std::string smallest_text(const std::vector<std::string>& names, const std::vector<SweepCell>& cells,
                          size_t smallest) {
  const SweepCell& cell = cells[smallest];
  std::string text = "smallest launch of the sweep that fails: " + setting_text(names, cell.values);
  for (const std::string& name : names) {
    const std::vector<int64_t> list = values_of(name, cells);
    const auto at = std::find(list.begin(), list.end(), cell.values.at(name));
    if (at == list.begin()) continue;
    std::map<std::string, int64_t> below = cell.values;
    below[name] = *(at - 1);
    if (std::any_of(cells.begin(), cells.end(), [&](const SweepCell& c) {
          return c.values == below && c.report && c.report->verdict == Verdict::clean;
        }))
      return text + fmt::format(" ({}={} is clean)", name, below[name]);
  }
  return text;
}

char verdict_letter(const Report& report) {
  if (report.verdict == Verdict::clean) return '.';
  if (report.verdict == Verdict::inconclusive || report.diagnostics.empty()) return '?';
  for (const Letter& l : letters)
    if (l.finding_class == report.diagnostics.front().finding_class) return l.letter;
  return 'X';
}

std::optional<size_t> smallest_failing(const std::vector<std::string>& names,
                                       const std::vector<SweepCell>& cells) {
  std::map<std::string, std::vector<int64_t>> lists;
  for (const std::string& name : names) lists[name] = values_of(name, cells);
  std::optional<size_t> best;
  std::pair<bool, size_t> best_weight;
  for (size_t i = 0; i < cells.size(); ++i) {
    if (!cells[i].report || cells[i].report->verdict == Verdict::clean) continue;
    size_t sum = 0;
    for (const std::string& name : names) {
      const std::vector<int64_t>& list = lists[name];
      sum +=
          static_cast<size_t>(std::find(list.begin(), list.end(), cells[i].values.at(name)) - list.begin());
    }
    const std::pair weight(cells[i].report->verdict != Verdict::finding, sum);
    if (best && best_weight <= weight) continue;
    best = i;
    best_weight = weight;
  }
  return best;
}

std::string render_grid(const std::vector<std::string>& names, const std::vector<SweepCell>& cells,
                        const Style& style) {
  if (names.empty() || cells.empty()) return {};
  const std::vector<int64_t> columns = values_of(names[0], cells);
  size_t width = 2;
  for (const int64_t value : columns) width = std::max(width, std::to_string(value).size() + 1);
  size_t head = names[0].size();
  const std::vector<int64_t> rows = names.size() > 1 ? values_of(names[1], cells) : std::vector<int64_t>{0};
  for (const int64_t value : rows)
    if (names.size() > 1) head = std::max(head, names[1].size() + 1 + std::to_string(value).size());
  if (2 + head + 1 + columns.size() * width > line_width) return {};

  // Blocks: what the variables beyond the second are.
  std::vector<std::string> blocks;
  std::map<std::string, std::map<std::pair<int64_t, int64_t>, const SweepCell*>> grids;
  const std::vector<std::string> others(names.begin() + std::min<std::ptrdiff_t>(2, std::ssize(names)),
                                        names.end());
  for (const SweepCell& cell : cells) {
    const std::string block = setting_text(others, cell.values);
    if (!grids.contains(block)) blocks.push_back(block);
    grids[block][{cell.values.at(names[0]), names.size() > 1 ? cell.values.at(names[1]) : 0}] = &cell;
  }
  std::string text;
  for (const std::string& block : blocks) {
    if (!block.empty()) text += "  " + block + "\n";
    text += fmt::format("  {:<{}} ", names[0], head);
    for (const int64_t column : columns) text += fmt::format("{:>{}}", column, width);
    text += '\n';
    for (const int64_t row : rows) {
      text += fmt::format("  {:<{}} ", names.size() > 1 ? fmt::format("{}={}", names[1], row) : "", head);
      std::string line;
      for (const int64_t column : columns) {
        const auto cell = grids[block].find({column, row});
        const bool there = cell != grids[block].end() && cell->second->report.has_value();
        line += painted(there ? verdict_letter(*cell->second->report) : ' ', width, style);
      }
      text += line.substr(0, line.find_last_not_of(' ') + 1) + '\n';
    }
  }
  std::map<char, size_t> first;
  for (size_t i = 0; i < cells.size(); ++i)
    if (cells[i].report) first.emplace(verdict_letter(*cells[i].report), i);
  for (const auto& [letter, index] : first) {
    if (letter == '.') continue;
    const std::string meaning =
        letter == '?'
            ? "inconclusive"
            : std::string(finding_class_name(cells[index].report->diagnostics.front().finding_class));
    text += fmt::format("  {}: {}, first at {}\n", letter, meaning, setting_text(names, cells[index].values));
  }
  return text;
}

}  // namespace turnstile::cli
