// SPDX-License-Identifier: Apache-2.0
#include "model/ptx/scope.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "model/must.h"

namespace turnstile::ptx {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// "%r17" split at 2: 17. Leading zeros are another name; numbers of more than 7 digits exceed every range.
std::optional<uint32_t> number_from(std::string_view name, std::size_t split) {
  const std::string_view digits = name.substr(split);
  if (digits.empty() || digits.size() > 7 || (digits.size() > 1 && digits[0] == '0')) return std::nullopt;
  uint32_t value = 0;
  for (const char c : digits) value = value * 10 + static_cast<uint32_t>(c - '0');
  return value;
}

std::size_t first_trailing_digit(std::string_view name) {
  std::size_t i = name.size();
  while (i > 0 && is_digit(name[i - 1])) --i;
  return i;
}

constexpr std::size_t kLongestCompared = 64;

// Keeps the closest of the names offered; farther than a third of the name is no help.
class Closest {
 public:
  explicit Closest(std::string_view wanted)
      : wanted_(wanted), limit_(std::clamp<std::size_t>(wanted.size() / 3, 1, 3)) {}

  void offer(std::string_view name) {
    if (name.size() > kLongestCompared || wanted_.size() > kLongestCompared || name == wanted_ || limit_ == 0)
      return;
    const std::size_t d = edit_distance(wanted_, name, limit_);
    if (d > limit_ || (!best_.empty() && d >= distance_)) return;
    best_ = name;
    distance_ = d;
  }
  std::string_view best() const { return best_; }

 private:
  std::string_view wanted_;
  std::size_t limit_;
  std::string_view best_;
  std::size_t distance_ = 0;
};

}  // namespace

std::size_t edit_distance(std::string_view a, std::string_view b, std::size_t limit) {
  const std::size_t difference = a.size() > b.size() ? a.size() - b.size() : b.size() - a.size();
  if (difference > limit || b.size() > kLongestCompared) return limit + 1;
  std::array<std::size_t, kLongestCompared + 1> row{};
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t above = row[j];
      row[j] = std::min({above + 1, row[j - 1] + 1, diagonal + (a[i - 1] == b[j - 1] ? 0 : 1)});
      diagonal = above;
    }
  }
  return row[b.size()];
}

void Names::close() {
  must(!scopes_.empty(), "a scope of names is open");
  for (const uint32_t first = scopes_.back(); bindings_.size() > first; bindings_.pop_back()) {
    const Entry& e = bindings_.back();
    map_of(e.binding.kind)[e.binding.name] = e.hidden;
    if (e.binding.kind == NameKind::reg_range && is_digit(e.binding.name.back())) --digit_prefixes_;
  }
  scopes_.pop_back();
}

std::optional<Binding> Names::declare(const Binding& binding) {
  must(!scopes_.empty() && !binding.name.empty(), "a scope of names is open");
  uint32_t& slot = map_of(binding.kind).try_emplace(binding.name, kNone).first->second;
  if (slot != kNone && bindings_[slot].depth == depth()) return bindings_[slot].binding;
  if (binding.kind != NameKind::reg_range) {
    const Found range = in_ranges(binding.name);
    if (range.entry != nullptr && range.entry->depth == depth()) return range.entry->binding;
  } else if (is_digit(binding.name.back())) {
    ++digit_prefixes_;
  }
  bindings_.push_back({binding, slot, depth()});
  slot = static_cast<uint32_t>(bindings_.size() - 1);
  return std::nullopt;
}

Names::Found Names::in_ranges(std::string_view name) const {
  Found best;
  const std::size_t digits = first_trailing_digit(name);
  const std::size_t last_split = digit_prefixes_ > 0 ? name.size() : std::min(digits + 1, name.size());
  for (std::size_t split = std::max<std::size_t>(digits, 1); split < last_split; ++split) {
    const std::optional<uint32_t> number = number_from(name, split);
    if (!number) continue;
    const auto it = ranges_.find(name.substr(0, split));
    if (it == ranges_.end()) continue;
    // An inner range may be too short for the number and an outer one of the same prefix long enough.
    for (uint32_t i = it->second; i != kNone; i = bindings_[i].hidden) {
      const Entry& e = bindings_[i];
      if (*number >= e.binding.count) continue;
      if (best.entry == nullptr || e.depth > best.entry->depth) best = {&e, *number};
      break;
    }
  }
  return best;
}

Names::Found Names::find_entry(std::string_view name) const {
  Found found = in_ranges(name);
  const auto it = singles_.find(name);
  if (it == singles_.end() || it->second == kNone) return found;
  const Entry& single = bindings_[it->second];
  if (found.entry == nullptr || single.depth >= found.entry->depth) found = {&single, 0};
  return found;
}

std::optional<Binding> Names::find(std::string_view name) const {
  const Found found = find_entry(name);
  if (found.entry == nullptr) return std::nullopt;
  Binding binding = found.entry->binding;
  if (binding.kind == NameKind::reg_range) {
    binding.kind = NameKind::reg;
    binding.index += found.offset;
  }
  return binding;
}

std::string Names::suggestion(std::string_view name) const {
  const std::size_t digits = first_trailing_digit(name);
  if (digits > 0 && digits < name.size()) {
    const auto it = ranges_.find(name.substr(0, digits));
    if (it != ranges_.end() && it->second != kNone) {
      const Binding& range = bindings_[it->second].binding;
      return fmt::format("; declared at line {} are {}0 to {}{}", range.position.line, range.name, range.name,
                         range.count - 1);
    }
  }
  Closest names(name);
  Closest prefixes(name.substr(0, digits));
  constexpr std::size_t compared = 20'000;
  const std::size_t count = std::min(bindings_.size(), compared);
  for (std::size_t i = 0; i < count; ++i) {
    const Binding& b = bindings_[bindings_.size() - 1 - i].binding;
    if (b.kind == NameKind::reg_range)
      prefixes.offer(b.name);
    else
      names.offer(b.name);
  }
  if (!names.best().empty()) return fmt::format("; did you mean '{}'?", names.best());
  if (prefixes.best().empty() || digits == name.size()) return {};
  const std::string close = std::string(prefixes.best()) + std::string(name.substr(digits));
  return find_entry(close).entry != nullptr ? fmt::format("; did you mean '{}'?", close) : std::string();
}

void Labels::open() {
  scopes_.push_back({static_cast<uint32_t>(labels_.size()), static_cast<uint32_t>(uses_.size())});
}

void Labels::close(std::vector<ResolvedLabel>& resolved) {
  must(!scopes_.empty(), "a scope of labels is open");
  const Scope scope = scopes_.back();
  std::size_t kept = scope.first_use;
  for (std::size_t i = scope.first_use; i < uses_.size(); ++i) {
    const auto it = innermost_.find(uses_[i].name);
    if (it != innermost_.end() && it->second != kNone && labels_[it->second].depth == depth())
      resolved.push_back({uses_[i], labels_[it->second].label});
    else
      uses_[kept++] = uses_[i];
  }
  uses_.resize(kept);
  for (; labels_.size() > scope.first_label; labels_.pop_back())
    innermost_[labels_.back().label.name] = labels_.back().hidden;
  scopes_.pop_back();
}

std::optional<Label> Labels::define(const Label& label) {
  must(!scopes_.empty(), "a scope of labels is open");
  uint32_t& slot = innermost_.try_emplace(label.name, kNone).first->second;
  if (slot != kNone && labels_[slot].depth == depth()) return labels_[slot].label;
  labels_.push_back({label, slot, depth()});
  slot = static_cast<uint32_t>(labels_.size() - 1);
  all_.emplace_back(label.name, label.position.line);
  return std::nullopt;
}

std::string Labels::suggestion(std::string_view name) const {
  Closest names(name);
  constexpr std::size_t compared = 20'000;
  std::size_t offered = 0;
  for (const auto& [other, line] : all_) {
    if (other == name)
      return fmt::format("; the label of that name at line {} is in a block that does not enclose this place",
                         line);
    if (offered++ < compared) names.offer(other);
  }
  return names.best().empty() ? std::string() : fmt::format("; did you mean '{}'?", names.best());
}

void Labels::clear() {
  labels_.clear();
  scopes_.clear();
  uses_.clear();
  all_.clear();
  innermost_ = {};  // not clear(): that costs the buckets of the largest entry so far, for every entry
}

}  // namespace turnstile::ptx
