// SPDX-License-Identifier: Apache-2.0
#include "cli/barrier_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

namespace turnstile::cli {

namespace {

constexpr size_t longest_name = 64;  // of a line that nobody wrote for people

bool begins_identifier(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool continues_identifier(char c) { return begins_identifier(c) || (c >= '0' && c <= '9'); }

/// The dotted name that starts at `at`, less a method that is called on it ("full" of "full.index(i)").
std::string dotted_name(std::string_view text, size_t at) {
  size_t end = at, last_dot = at;
  while (end < text.size() && (continues_identifier(text[end]) || text[end] == '.')) {
    if (text[end] == '.') last_dot = end;
    ++end;
  }
  if (end < text.size() && text[end] == '(') end = last_dot;
  return std::string(text.substr(at, end - at));
}

/// Where the `=` of an assignment stands; npos: there is none before the first bracket.
size_t assignment(std::string_view line) {
  const size_t at = line.find_first_of("=([{#");
  if (at == std::string_view::npos || line[at] != '=' || at == 0) return std::string_view::npos;
  const bool compares = at + 1 < line.size() && line[at + 1] == '=';
  const bool updates = std::string_view("=<>!+-*/%&|^").find(line[at - 1]) != std::string_view::npos;
  return compares || updates ? std::string_view::npos : at;
}

/// "full" of "full", "full: tl.constexpr", "auto full"; empty for "a, b".
std::string assigned_name(std::string_view target) {
  if (target.find(',') != std::string_view::npos) return {};
  target = target.substr(0, target.find(':'));
  size_t end = target.size();
  while (end > 0 && !continues_identifier(target[end - 1])) --end;
  size_t begin = end;
  while (begin > 0 && (continues_identifier(target[begin - 1]) || target[begin - 1] == '.')) --begin;
  return begin < end && begins_identifier(target[begin]) ? std::string(target.substr(begin, end - begin))
                                                         : std::string();
}

/// The line without its comment. (`//` divides in Python; what follows names nothing there either.)
std::string_view without_comment(std::string_view line) {
  return line.substr(0, std::min(line.find('#'), line.find("//")));
}

/// A line that begins a function: a barrier that is made there is the compiler's own.
bool begins_function(std::string_view line) {
  return line.starts_with("def ") || line.starts_with("async def ");
}

bool has_symbol(const Trace& trace, uint64_t address) {
  return std::any_of(trace.shared_names.begin(), trace.shared_names.end(),
                     [&](const NamedRange& n) { return address >= n.range.begin && address < n.range.end; });
}

std::string name_of_place(const Place& place, SourceText& source) {
  const SourcePosition position{place.file, place.line, place.column, place.ptx_line, {}};
  const std::string line = source.line(position);
  if (begins_function(line)) return "compiler's mbarrier";
  std::string name = name_in_source(line);
  return name.empty() ? "mbarrier of " + position_text(position) : name;
}

bool continues_address(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); }

/// Faults are told while the program runs, when barriers have no names yet: "shared+0x40" becomes "full[1]".
/// `names`: by address; empty: CTAs call it by different names.
void name_in_text(std::string& text, const std::map<uint64_t, std::string>& names) {
  constexpr std::string_view prefix = "shared+0x";
  for (size_t at = text.find(prefix); at != std::string::npos; at = text.find(prefix, at)) {
    size_t end = at + prefix.size();
    uint64_t address = 0;
    for (; end < text.size() && continues_address(text[end]) && address >> 32 == 0; ++end)
      address =
          address * 16 + static_cast<uint64_t>(text[end] <= '9' ? text[end] - '0' : text[end] - 'a' + 10);
    const auto known = names.find(address);
    if (known == names.end() || known->second.empty()) {
      at = end;
      continue;
    }
    text.replace(at, end - at, known->second);
    at += known->second.size();
  }
}

}  // namespace

std::string name_in_source(std::string_view line) {
  line = without_comment(line);
  std::string name;
  if (const size_t equals = assignment(line); equals != std::string_view::npos) {
    name = assigned_name(line.substr(0, equals));
  } else if (size_t at = line.find('('); at != std::string_view::npos) {
    while (at < line.size() && !begins_identifier(line[at]) && line[at] != ',' && line[at] != ')') ++at;
    if (at < line.size() && begins_identifier(line[at])) name = dotted_name(line, at);
  }
  return name.size() <= longest_name ? name : std::string();
}

void name_barriers(Trace& trace, SourceText& source) {
  constexpr size_t most_barriers =
      4096;  // a kernel of people has tens; each looks through the names before it
  if (trace.barriers.size() > most_barriers) return;
  std::map<uint32_t, std::string> name_of;                                   // by place
  std::map<std::pair<std::string, uint16_t>, std::set<uint64_t>> addresses;  // by name and CTA
  std::vector<std::string> names(trace.barriers.size());
  for (const Event& e : trace.events) {
    if (e.kind != EventKind::mbarrier_init || !names[e.object].empty()) continue;
    const Place& place = trace.places[e.place];
    const BarrierInfo& info = trace.barriers[e.object];
    if (place.line == 0 || has_symbol(trace, info.address)) continue;
    const auto [at, fresh] = name_of.try_emplace(e.place);
    if (fresh) at->second = name_of_place(place, source);
    names[e.object] = at->second;
    addresses[{at->second, info.cta}].insert(info.address);
  }
  std::map<uint64_t, std::string> by_address;
  for (uint32_t b = 0; b < names.size(); ++b) {
    if (names[b].empty()) continue;
    BarrierInfo& info = trace.barriers[b];
    const std::set<uint64_t>& all = addresses[{names[b], info.cta}];
    const auto stage = std::distance(all.begin(), all.find(info.address));
    info.name = all.size() == 1 ? names[b] : fmt::format("{}[{}]", names[b], stage);
    trace.shared_names.push_back({{info.address, info.address + 8, 0, 1}, info.name, Space::shared});
    const auto [at, fresh] = by_address.try_emplace(info.address, info.name);
    if (!fresh && at->second != info.name) at->second.clear();
  }
  for (Fault& f : trace.faults)
    for (std::string* text : {&f.message, &f.help, &f.subject}) name_in_text(*text, by_address);
  for (Unknown& u : trace.unknowns) name_in_text(u.message, by_address);
}

}  // namespace turnstile::cli
