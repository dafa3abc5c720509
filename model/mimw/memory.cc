// SPDX-License-Identifier: Apache-2.0
#include "model/mimw/memory.h"

#include <algorithm>

#include "fmt/format.h"
#include "model/launch/nearest_name.h"

namespace turnstile::mimw {
namespace {

std::string key_of(Space space, uint16_t cta, const std::string& name) {
  return fmt::format("{}:{}.{}", static_cast<unsigned>(space), cta, name);
}

}  // namespace

uint64_t Memory::window_base(Space space, uint16_t cta) {
  constexpr uint64_t most_ctas = 64;
  if (space == Space::global) return 0;
  return (space == Space::shared ? cta : most_ctas + cta) * window;
}

std::string Memory::shown(uint16_t cta, const std::string& name) const {
  return show_cta_ ? fmt::format("@{}.{}", cta, name) : name;
}

std::string Memory::shown(uint16_t cta, const std::string& name, int64_t index) const {
  return fmt::format("{}[{}]", shown(cta, name), index);
}

bool Memory::declare(const Declaration& d) {
  const std::string key = key_of(d.space, d.cta, d.name);
  if (by_name_.contains(key)) return problems_->fail(d.at, fmt::format("'{}' is declared twice", d.name));
  if (d.bytes == 0 || d.bytes > window || (d.extent && static_cast<uint64_t>(*d.extent) > window / d.bytes))
    return problems_->fail(d.at, fmt::format("'{}' does not fit into {} bytes", d.name, window));
  Object o;
  o.space = d.space;
  o.cta = d.cta;
  o.name = d.name;
  o.declared = true;
  o.extent = d.extent;
  o.bytes = d.bytes;
  declared_buffers_ = declared_buffers_ || d.space != Space::tensor;
  if (d.space == Space::global) {
    o.allocation = static_cast<uint32_t>(tables_->allocation_names.size());
    tables_->allocation_names.push_back(d.name);
  } else {
    o.allocation = d.cta;
  }
  const uint64_t total = o.bytes * static_cast<uint64_t>(o.extent.value_or(1));
  if (d.address) {
    if (*d.address > window - total)
      return problems_->fail(d.at, fmt::format("'{}' does not fit into {} bytes", d.name, window));
    o.base = window_base(d.space, d.cta) + *d.address;
    uint64_t& next = next_free(o.space, o.allocation);
    next = std::max(next, *d.address + total);
  } else {
    const std::optional<uint64_t> base = reserve(o.space, d.cta, total, d.at);
    if (!base) return false;
    o.base = d.space == Space::global ? 0 : *base;
  }
  by_name_.emplace(key, static_cast<uint32_t>(objects_.size()));
  objects_.push_back(std::move(o));
  return true;
}

std::optional<uint64_t> Memory::reserve(Space space, uint16_t cta, uint64_t bytes, Position at) {
  if (space == Space::global) return 0;  // its allocations are their own windows
  uint64_t& next = next_free(space, cta);
  constexpr uint64_t align = 8;
  next = (next + align - 1) / align * align;
  if (bytes > window || next > window - bytes) {
    problems_->fail(at, fmt::format("the objects of one CTA need more than {} bytes", window));
    return std::nullopt;
  }
  const uint64_t begin = window_base(space, cta) + next;
  next += bytes;
  return begin;
}

std::string Memory::relative(const std::string& key) const {
  const auto after = by_name_.lower_bound(key + ".");
  if (after != by_name_.end() && after->first.starts_with(key + ".")) return objects_[after->second].name;
  const size_t first = key.find('.') + 1;  // of the name
  for (size_t dot = key.find('.', first); dot != std::string::npos; dot = key.find('.', dot + 1)) {
    const auto found = by_name_.find(key.substr(0, dot));
    if (found != by_name_.end()) return objects_[found->second].name;
  }
  return {};
}

std::optional<uint32_t> Memory::find(Space space, uint16_t cta, const std::string& name, Position at) {
  const std::string key = key_of(space, cta, name);
  const auto found = by_name_.find(key);
  if (found != by_name_.end()) return found->second;
  if (declared_buffers_ && space == Space::shared) {
    std::vector<std::string_view> known;
    for (const Object& o : objects_)
      if (o.declared) known.push_back(o.name);
    problems_->fail(at, fmt::format("there is no buffer '{}'{}", name, suggestion(name, known, "buffers")));
    return std::nullopt;
  }
  if (const std::string other = relative(key); !other.empty()) {
    problems_->fail(at,
                    fmt::format("'{}' and '{}' are both used, which says nothing about whether they overlap; "
                                "declare them as buffers",
                                other, name));
    return std::nullopt;
  }
  Object o;
  o.space = space;
  o.cta = cta;
  o.name = name;
  o.allocation = cta;
  if (space == Space::global) {
    o.allocation = static_cast<uint32_t>(tables_->allocation_names.size());
    tables_->allocation_names.push_back(name);
  }
  const auto index = static_cast<uint32_t>(objects_.size());
  objects_.push_back(std::move(o));
  by_name_.emplace(key, index);
  return index;
}

uint32_t Memory::add_footprint(const Object& o, uint64_t begin, uint64_t end, std::string name) {
  tables_->ranges.push_back({begin, end, 0, 1});
  tables_->footprints.push_back(
      {o.space, o.allocation, static_cast<uint32_t>(tables_->ranges.size() - 1), 1});
  if (o.space != Space::global)
    tables_->shared_names.push_back({tables_->ranges.back(), std::move(name), o.space});
  return static_cast<uint32_t>(tables_->footprints.size() - 1);
}

std::optional<uint32_t> Memory::in_array(Object& o, std::optional<int64_t> index, Position at) {
  if (!index) {
    const uint64_t total = o.bytes * static_cast<uint64_t>(o.extent.value_or(1));
    if (!o.whole) o.whole = add_footprint(o, o.base, o.base + total, shown(o.cta, o.name));
    return o.whole;
  }
  if (!o.extent) {
    problems_->fail(
        at, fmt::format("'{}' is declared without an extent, so it has no element {}", o.name, *index));
    return std::nullopt;
  }
  if (*index < 0 || *index >= *o.extent) {
    problems_->fail(at,
                    fmt::format("'{}' has {} elements; there is no element {}", o.name, *o.extent, *index));
    return std::nullopt;
  }
  const uint64_t begin = o.base + static_cast<uint64_t>(*index) * o.bytes;
  const uint32_t added = add_footprint(o, begin, begin + o.bytes, shown(o.cta, o.name, *index));
  o.elements.emplace(*index, added);
  return added;
}

std::optional<uint32_t> Memory::undeclared(Object& o, std::optional<int64_t> index, Position at) {
  // Whether the whole overlaps its elements cannot be known here; guessing would hide races.
  if (index ? o.whole.has_value() : !o.elements.empty()) {
    problems_->fail(at, fmt::format("'{}' is used with and without an index; declare it: 'buffer {}[n]'",
                                    o.name, o.name));
    return std::nullopt;
  }
  if (index && *index < 0) {
    problems_->fail(at, fmt::format("there is no element {} of '{}'", *index, o.name));
    return std::nullopt;
  }
  uint64_t begin = 0;
  if (o.space == Space::global) {
    uint64_t& next = next_free(o.space, o.allocation);
    begin = next;
    next += o.bytes;
  } else {
    const std::optional<uint64_t> reserved = reserve(o.space, o.cta, o.bytes, at);
    if (!reserved) return std::nullopt;
    begin = *reserved;
  }
  const uint32_t added =
      add_footprint(o, begin, begin + o.bytes, index ? shown(o.cta, o.name, *index) : shown(o.cta, o.name));
  if (index)
    o.elements.emplace(*index, added);
  else
    o.whole = added;
  return added;
}

std::optional<uint32_t> Memory::footprint(uint32_t object, std::optional<int64_t> index, Position at) {
  Object& o = objects_[object];
  if (index) {
    const auto found = o.elements.find(*index);
    if (found != o.elements.end()) return found->second;
  } else if (o.whole) {
    return o.whole;
  }
  return o.declared ? in_array(o, index, at) : undeclared(o, index, at);
}

uint32_t Memory::extent_so_far(uint32_t object) {
  Object& o = objects_[object];
  if (!o.so_far) o.so_far = add_footprint(o, o.base, o.base + o.bytes, shown(o.cta, o.name));
  return *o.so_far;
}

uint64_t Memory::address(uint32_t footprint) const {
  return tables_->ranges[tables_->footprints[footprint].first_range].begin;
}

void Memory::finish() {
  for (const Object& o : objects_) {
    if (!o.so_far) continue;
    const uint64_t total = o.bytes * static_cast<uint64_t>(o.extent.value_or(1));
    const auto next = next_.find({o.space, o.allocation});
    tables_->ranges[tables_->footprints[*o.so_far].first_range].end =
        o.base + (o.declared || next == next_.end() ? total : std::max(total, next->second));
  }
}

}  // namespace turnstile::mimw
