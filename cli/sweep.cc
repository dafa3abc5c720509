// SPDX-License-Identifier: Apache-2.0
#include "cli/sweep.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <set>

#include "model/launch/expression.h"

namespace turnstile::cli {

namespace {

/// "2S+1" as people write it on paper: a number in front of a name multiplies it. Hexadecimal numbers stay
/// whole.
std::string with_products(std::string_view text) {
  std::string spelled;
  for (size_t i = 0; i < text.size(); ++i) {
    spelled += text[i];
    if (std::isdigit(static_cast<unsigned char>(text[i])) == 0 || i + 1 == text.size()) continue;
    size_t start = i;  // of the run of letters and digits that this digit belongs to
    while (start > 0 &&
           (std::isalnum(static_cast<unsigned char>(text[start - 1])) != 0 || text[start - 1] == '_'))
      --start;
    const bool number = std::all_of(text.begin() + static_cast<std::ptrdiff_t>(start),
                                    text.begin() + static_cast<std::ptrdiff_t>(i) + 1,
                                    [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; });
    const char next = text[i + 1];
    const bool name = std::isalpha(static_cast<unsigned char>(next)) != 0 || next == '_' || next == '(';
    const bool hexadecimal = start == i && text[i] == '0' && (next == 'x' || next == 'X');
    if (number && name && !hexadecimal) spelled += '*';
  }
  return spelled;
}

/// Names that occur in an expression.
std::set<std::string> names_in(std::string_view text) {
  std::set<std::string> names;
  for (size_t i = 0; i < text.size();) {
    const auto word = [&](size_t at) {
      return std::isalnum(static_cast<unsigned char>(text[at])) != 0 || text[at] == '_';
    };
    if (!word(i)) {
      ++i;
      continue;
    }
    size_t end = i;
    while (end < text.size() && word(end)) ++end;
    const std::string name(text.substr(i, end - i));
    if (is_variable_name(name)) names.insert(name);
    i = end;
  }
  return names;
}

/// The sweeps in an order in which each finds what its expressions use.
Result<std::vector<size_t>> evaluation_order(const std::vector<Sweep>& sweeps) {
  std::vector<size_t> order;
  std::vector<bool> done(sweeps.size());
  while (order.size() < sweeps.size()) {
    const size_t before = order.size();
    for (size_t i = 0; i < sweeps.size(); ++i) {
      if (done[i]) continue;
      const std::set<std::string> needed = names_used(sweeps[i]);
      bool ready = true;
      for (size_t j = 0; j < sweeps.size(); ++j) ready &= done[j] || !needed.contains(sweeps[j].name);
      if (!ready) continue;
      done[i] = true;
      order.push_back(i);
    }
    if (order.size() == before)
      return fail("--sweep: the ranges depend on each other in a circle: give one of them plain numbers");
  }
  return order;
}

Result<std::vector<int64_t>> values_of(const Sweep& sweep, const std::map<std::string, int64_t>& known) {
  std::vector<int64_t> values;
  for (const auto& [first_text, last_text] : sweep.ranges) {
    const auto first = evaluate(first_text, known);
    if (!first) return fail(fmt::format("--sweep {}: {}", sweep.text, first.error().message));
    const auto last = evaluate(last_text, known);
    if (!last) return fail(fmt::format("--sweep {}: {}", sweep.text, last.error().message));
    if (*last < *first && (*first == INT64_MIN || *last != *first - 1))
      return fail(fmt::format("--sweep {}: the range {}..{} runs backwards", sweep.text, *first, *last));
    const uint64_t count =
        *last < *first ? 0 : static_cast<uint64_t>(*last) - static_cast<uint64_t>(*first) + 1;
    if (*last >= *first && (count == 0 || count > most_launches || values.size() + count > most_launches))
      return fail(fmt::format("--sweep {}: more than {} values", sweep.text, most_launches));
    for (uint64_t i = 0; i < count; ++i) values.push_back(*first + static_cast<int64_t>(i));
  }
  return values;
}

}  // namespace

std::set<std::string> names_used(const Sweep& sweep) {
  std::set<std::string> names;
  for (const auto& [first, last] : sweep.ranges) {
    names.merge(names_in(first));
    names.merge(names_in(last));
  }
  return names;
}

Result<Sweep> parse_sweep(const std::string& text) {
  const auto wrong = [&] {
    return fail(
        fmt::format("--sweep {}: expected NAME=FIRST..LAST or NAME=A,B,C, for example --sweep K=0..9", text));
  };
  const size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0 || text.size() > 1000) return wrong();
  Sweep sweep{text, text.substr(0, equals), {}};
  if (!is_variable_name(sweep.name)) return wrong();
  const std::string rest = with_products(std::string_view(text).substr(equals + 1));
  size_t depth = 0, start = 0;  // a comma inside ceil_div(a, b) separates nothing
  for (size_t i = 0; i <= rest.size(); ++i) {
    if (i < rest.size() && rest[i] == '(') ++depth;
    if (i < rest.size() && rest[i] == ')' && depth > 0) --depth;
    if (i < rest.size() && (rest[i] != ',' || depth > 0)) continue;
    const std::string part = rest.substr(start, i - start);
    const size_t dots = part.find("..");
    const std::string first = part.substr(0, dots);
    const std::string last = dots == std::string::npos ? first : part.substr(dots + 2);
    if (first.find_first_not_of(' ') == std::string::npos || last.find_first_not_of(' ') == std::string::npos)
      return wrong();
    sweep.ranges.emplace_back(first, last);
    start = i + 1;
  }
  return sweep;
}

Result<std::vector<std::map<std::string, int64_t>>> combinations(
    const std::vector<Sweep>& sweeps, const std::map<std::string, int64_t>& known) {
  std::set<std::string> names;
  for (const Sweep& sweep : sweeps)
    if (!names.insert(sweep.name).second) return fail(fmt::format("--sweep: {} is swept twice", sweep.name));
  const auto order = evaluation_order(sweeps);
  if (!order) return tl::unexpected(order.error());
  struct Combination {
    std::map<std::string, int64_t> values;
    std::vector<size_t> ranks;  ///< position of each value in its list, by sweep: the order to report in
  };
  std::vector<Combination> all = {{{}, std::vector<size_t>(sweeps.size())}};
  for (const size_t index : *order) {
    std::vector<Combination> wider;
    for (const Combination& base : all) {
      std::map<std::string, int64_t> context = base.values;
      context.insert(known.begin(), known.end());
      const auto values = values_of(sweeps[index], context);
      if (!values) return tl::unexpected(values.error());
      if (wider.size() + values->size() > most_launches)
        return fail(fmt::format("--sweep: more than {} launches", most_launches));
      for (size_t rank = 0; rank < values->size(); ++rank) {
        wider.push_back(base);
        wider.back().values[sweeps[index].name] = (*values)[rank];
        wider.back().ranks[index] = rank;
      }
    }
    all = std::move(wider);
  }
  std::sort(all.begin(), all.end(),
            [](const Combination& a, const Combination& b) { return a.ranks < b.ranks; });
  std::vector<std::map<std::string, int64_t>> settings;
  settings.reserve(all.size());
  for (Combination& c : all) settings.push_back(std::move(c.values));
  return settings;
}

}  // namespace turnstile::cli
