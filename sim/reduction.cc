// SPDX-License-Identifier: Apache-2.0
#include "sim/reduction.h"

#include <algorithm>
#include <utility>

#include "model/launch/generate.h"
#include "sim/numerics/scalar.h"
#include "sim/register_file.h"

namespace turnstile::sim {

namespace {

bool is_float(ElementType t) {
  return t == ElementType::f16 || t == ElementType::bf16 || t == ElementType::f32 || t == ElementType::f64;
}
bool is_signed(ElementType t) {
  return t == ElementType::s8 || t == ElementType::s16 || t == ElementType::s32 || t == ElementType::s64;
}

int64_t extended(uint64_t word, size_t bytes) {
  const unsigned unused = static_cast<unsigned>(64 - 8 * bytes);
  return static_cast<int64_t>(word << unused) >> unused;
}

/// Sums of f64 next to memory hand on a NaN as it is, the contribution's first.
uint64_t sum_in_memory(uint64_t old, uint64_t value) {
  if (decode(ElementType::f64, value).kind == NumberClass::nan) return value;
  if (decode(ElementType::f64, old).kind == NumberClass::nan) return old;
  return float_add(ElementType::f64, old, value);
}

}  // namespace

bool Reduction::depends_on_order() const { return kind == Kind::add && is_float(type); }

Reduction::Kind reduction_kind(std::string_view name) {
  using enum Reduction::Kind;
  static constexpr std::pair<std::string_view, Reduction::Kind> names[] = {
      {"add", add}, {"min", min},     {"max", max},   {"inc", inc},
      {"dec", dec}, {"and", bit_and}, {"or", bit_or}, {"xor", bit_xor}};
  for (const auto& [text, kind] : names)
    if (text == name) return kind;
  return none;
}

bool reduction_is_defined(const Reduction& r) {
  using enum ElementType;
  const bool integer = r.type == u32 || r.type == s32 || r.type == u64 || r.type == s64;
  switch (r.kind) {
    case Reduction::Kind::none:
      return false;
    case Reduction::Kind::add:
      return integer || is_float(r.type);
    case Reduction::Kind::min:
    case Reduction::Kind::max:
      return integer || r.type == f16 || r.type == bf16;
    case Reduction::Kind::inc:
    case Reduction::Kind::dec:
      return r.type == u32;
    case Reduction::Kind::bit_and:
    case Reduction::Kind::bit_or:
    case Reduction::Kind::bit_xor:
      return r.type == b32 || r.type == b64 || integer;
  }
  return false;
}

uint64_t reduce_word(const Reduction& r, uint64_t old, uint64_t value) {
  const size_t bytes = element_bytes(r.type);
  const uint64_t mask = width_mask(static_cast<unsigned>(8 * bytes));
  const bool less = is_signed(r.type) ? extended(value, bytes) < extended(old, bytes) : value < old;
  switch (r.kind) {
    case Reduction::Kind::none:
      return value;
    case Reduction::Kind::add:
      if (!is_float(r.type)) return (old + value) & mask;
      // Bulk reductions keep subnormals of f32 too: an H200 says so (docs/numerics.md), against BK7.
      return r.type == ElementType::f64 ? sum_in_memory(old, value) : float_add(r.type, old, value);
    case Reduction::Kind::min:
      return is_float(r.type) ? float_min(r.type, old, value) : less ? value : old;
    case Reduction::Kind::max:
      return is_float(r.type) ? float_max(r.type, old, value) : less ? old : value;
    case Reduction::Kind::inc:
      return old >= value ? 0 : old + 1;
    case Reduction::Kind::dec:
      return old == 0 || old > value ? value : old - 1;
    case Reduction::Kind::bit_and:
      return old & value;
    case Reduction::Kind::bit_or:
      return old | value;
    case Reduction::Kind::bit_xor:
      return old ^ value;
  }
  return value;
}

uint64_t reduce_atomically(const Reduction& r, bool in_shared, uint64_t old, uint64_t value) {
  if (r.kind == Reduction::Kind::add && r.type == ElementType::f32)
    return float_add(r.type, old, value, {.flush_subnormals = !in_shared});
  if (r.kind == Reduction::Kind::add && r.type == ElementType::f64 && in_shared)
    return float_add(r.type, value, old);
  return reduce_word(r, old, value);
}

void reduce_run(const Reduction& r, ByteRun& old, size_t at, const ByteRun& contribution, size_t from,
                size_t bytes) {
  const size_t width = element_bytes(r.type);
  const bool with_cells = !old.cells.empty();
  for (size_t e = 0; e + width <= bytes; e += width) {
    uint64_t before = 0, added = 0;
    bool known = true;
    Cells mine{}, theirs{};
    for (size_t i = 0; i < width; ++i) {
      const size_t to = at + e + i, source = from + e + i;
      before |= uint64_t{old.value[to]} << (8 * i);
      added |= uint64_t{contribution.value[source]} << (8 * i);
      known = known && old.known[to] != 0 && contribution.known[source] != 0;
      if (!with_cells) continue;
      mine[i] = old.known[to] != 0 ? hash_constant_byte(old.value[to]) : old.cells[to];
      theirs[i] = contribution.known[source] != 0 ? hash_constant_byte(contribution.value[source])
                                                  : contribution.cells[source];
    }
    const uint64_t result = known ? reduce_word(r, before, added) : 0;
    Hash128 expression{};
    if (with_cells && !known) {
      const Hash128 node =
          hash_number(39, static_cast<uint64_t>(r.kind) << 8 | static_cast<uint64_t>(r.type));
      expression = combine(combine(node, value_of({mine.data(), width})), value_of({theirs.data(), width}));
    }
    for (size_t i = 0; i < width; ++i) {
      old.value[at + e + i] = static_cast<uint8_t>(result >> (8 * i));
      old.known[at + e + i] = known ? 1 : 0;
      if (with_cells && !known) old.cells[at + e + i] = byte_of(expression, static_cast<unsigned>(i));
    }
  }
}

}  // namespace turnstile::sim
