// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <utility>
#include <vector>

#include "sim/hash128.h"

namespace turnstile::sim {

using LaneMask = uint32_t;
inline constexpr unsigned warp_size = 32;
inline constexpr LaneMask all_lanes = 0xffffffff;

constexpr uint64_t width_mask(unsigned bits) { return bits >= 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1; }

/// Expression hashes of the bytes of one register in one lane.
using Cells = std::array<Hash128, 8>;

constexpr Cells undefined_cells() {
  Cells c{};
  c.fill(undefined_byte);
  return c;
}

/// The registers of one warp, lane by lane. A value is known (its bits are exact) or unknown; in the
/// provenance domain an unknown value has cells. Reading a register that was never written gives an unknown
/// value. A known value may have a name besides (name_known), which then is its expression: it is known for
/// this cluster, and the name says what it is for any.
class RegisterFile {
 public:
  /// `names`: of values that no expression describes; null: such values are undefined_byte. `wanted`: by
  /// register, those that have expressions; in the others an unknown value is undefined_byte. Null: all.
  RegisterFile(size_t registers, bool with_cells, NameSource* names = nullptr,
               const std::vector<uint8_t>* wanted = nullptr)
      : bits_(registers * warp_size),
        known_(registers),
        uniform_(registers),
        cells_(with_cells ? registers : 0),
        names_(names),
        wanted_(wanted) {}

  const uint64_t* lanes(uint32_t reg) const { return &bits_[size_t{reg} * warp_size]; }
  uint64_t* lanes(uint32_t reg) {
    uniform_[reg] = 0;
    return &bits_[size_t{reg} * warp_size];
  }
  uint64_t get(uint32_t reg, unsigned lane) const { return bits_[size_t{reg} * warp_size + lane]; }
  LaneMask known(uint32_t reg) const { return known_[reg]; }
  bool known(uint32_t reg, unsigned lane) const { return ((known_[reg] >> lane) & 1) != 0; }

  /// The same known value in all 32 lanes: an operation on such registers is computed once. A hint: false is
  /// always right.
  bool uniform(uint32_t reg) const { return uniform_[reg] != 0; }
  void set_all(uint32_t reg, uint64_t value) {
    unname(reg, all_lanes);
    std::fill_n(lanes(reg), warp_size, value);
    known_[reg] = all_lanes;
    uniform_[reg] = 1;
  }

  void set(uint32_t reg, unsigned lane, uint64_t value) {
    uniform_[reg] = 0;
    unname(reg, LaneMask{1} << lane);
    bits_[size_t{reg} * warp_size + lane] = value;
    known_[reg] |= LaneMask{1} << lane;
  }
  /// The same value in each of these lanes.
  void set_lanes(uint32_t reg, LaneMask mask, uint64_t value) {
    if (mask == all_lanes) return set_all(reg, value);
    unname(reg, mask);
    uint64_t* out = lanes(reg);
    for (LaneMask rest = mask; rest != 0; rest &= rest - 1) out[std::countr_zero(rest)] = value;
    known_[reg] |= mask;
  }
  /// Whether these lanes hold one and the same value; they must be known.
  bool same_in(uint32_t reg, LaneMask mask) const {
    if (uniform(reg) || mask == 0) return true;
    const uint64_t* v = lanes(reg);
    const uint64_t first = v[std::countr_zero(mask)];
    for (LaneMask rest = mask; rest != 0; rest &= rest - 1)
      if (v[std::countr_zero(rest)] != first) return false;
    return true;
  }
  void set_known(uint32_t reg, LaneMask mask) {
    unname(reg, mask);
    known_[reg] |= mask;
  }
  /// The register becomes unknown in these lanes. If it is an expression, that is set afterwards.
  void forget(uint32_t reg, LaneMask mask) {
    known_[reg] &= ~mask;
    uniform_[reg] = 0;
    unname(reg, mask);
    if (!has_cells(reg)) return;
    for (LaneMask rest = mask; rest != 0; rest &= rest - 1) {
      Cells& c = cells(reg, static_cast<unsigned>(std::countr_zero(rest)));
      if (names_ == nullptr) {
        c.fill(undefined_byte);
        continue;
      }
      const Hash128 name = names_->next();
      for (unsigned i = 0; i < c.size(); ++i) c[i] = byte_of(name, i);
    }
  }

  bool has_cells() const { return !cells_.empty(); }
  /// Whether this register has expressions; what is written to the cells of others is gone.
  bool has_cells(uint32_t reg) const {
    return !cells_.empty() && (wanted_ == nullptr || (*wanted_)[reg] != 0);
  }
  Cells& cells(uint32_t reg, unsigned lane) {
    if (!has_cells(reg)) return unwanted_ = undefined_cells();
    if (cells_[reg].empty()) cells_[reg].assign(warp_size, undefined_cells());
    return cells_[reg][lane];
  }
  const Cells& cells(uint32_t reg, unsigned lane) const {
    static constexpr Cells undefined = undefined_cells();
    return cells_.empty() || cells_[reg].empty() ? undefined : cells_[reg][lane];
  }

  /// The known value in this lane has a name, of this many bytes, until it is written again.
  void name_known(uint32_t reg, unsigned lane, unsigned bytes, Hash128 name) {
    if (named_.empty()) named_.resize(known_.size());
    named_[reg] |= LaneMask{1} << lane;
    if (!has_cells(reg)) return;
    Cells& c = cells(reg, lane);
    for (unsigned i = 0; i < c.size(); ++i) c[i] = i < bytes ? byte_of(name, i) : hash_constant_byte(0);
  }
  bool has_name(uint32_t reg, unsigned lane) const {
    return !named_.empty() && ((named_[reg] >> lane) & 1) != 0;
  }

  /// Expression of one byte, whether its value is known or not.
  Hash128 byte(uint32_t reg, unsigned lane, unsigned index) const {
    return known(reg, lane) && !has_name(reg, lane)
               ? hash_constant_byte(static_cast<uint8_t>(get(reg, lane) >> (8 * index)))
               : cells(reg, lane)[index];
  }
  /// Expression of the low `bytes` bytes as one value.
  Hash128 expression(uint32_t reg, unsigned lane, unsigned bytes) const {
    Cells c;
    for (unsigned i = 0; i < bytes; ++i) c[i] = byte(reg, lane, i);
    return value_of({c.data(), bytes});
  }
  /// The register becomes unknown in this lane and is the given expression.
  void set_expression(uint32_t reg, unsigned lane, unsigned bytes, Hash128 h) {
    known_[reg] &= ~(LaneMask{1} << lane);
    uniform_[reg] = 0;
    unname(reg, LaneMask{1} << lane);
    if (!has_cells(reg)) return;
    Cells& c = cells(reg, lane);
    for (unsigned i = 0; i < c.size(); ++i) c[i] = i < bytes ? byte_of(h, i) : hash_constant_byte(0);
  }
  /// Copies value and expression; `shift` and `bytes` select a part of the source (in bytes), zero-extended.
  void copy(uint32_t to, uint32_t from, unsigned lane, unsigned shift, unsigned bytes) {
    if (known(from, lane)) {
      set(to, lane, (get(from, lane) >> (8 * shift)) & width_mask(8 * bytes));
      return;
    }
    const bool expresses = has_cells(to);
    const Cells source = expresses ? std::as_const(*this).cells(from, lane) : Cells{};
    forget(to, LaneMask{1} << lane);
    if (!expresses) return;
    Cells& c = cells(to, lane);
    for (unsigned i = 0; i < c.size(); ++i)
      c[i] = i < bytes && i + shift < c.size() ? source[i + shift] : hash_constant_byte(0);
  }

 private:
  void unname(uint32_t reg, LaneMask mask) {
    if (!named_.empty()) named_[reg] &= ~mask;
  }

  std::vector<uint64_t> bits_;
  std::vector<LaneMask> known_;
  std::vector<uint8_t> uniform_;
  std::vector<std::vector<Cells>> cells_;  ///< by register, of those that were unknown at some time
  std::vector<LaneMask> named_;            ///< known values that have a name; empty: none has
  NameSource* names_ = nullptr;
  const std::vector<uint8_t>* wanted_ = nullptr;
  Cells unwanted_{};  ///< cells of a register that has none
};

}  // namespace turnstile::sim
