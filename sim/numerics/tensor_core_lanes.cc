// SPDX-License-Identifier: Apache-2.0
// Feeds the vector implementations of T-FDPA (tensor_core_lanes.h): operands become floats with their
// exponents beside them, B in blocks of columns; groups of k are done one after the other, and what the
// lanes leave undecided is computed by the reference.
#include "sim/numerics/tensor_core_lanes.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <vector>

#include "sim/numerics/tensor_core_tile.h"

namespace turnstile {

namespace {

constexpr std::size_t largest_group = 32;
/// Between these the product of two floats, and what it is aligned to, stays well inside the exponents of
/// a float.
constexpr int lowest_product = -100, highest_product = 100;

/// An operand as the lanes want it.
struct LaneElement {
  float value = 0;  ///< 0 of a special
  std::int16_t exponent = lane_zero_exponent;
  bool special = false;
};

/// Formats of up to 16 bits whose exponents a float has room for, subnormals included.
LaneElement narrow_element(const FormatShape& shape, std::uint32_t word) {
  const Decoded x = decode(shape, word);
  LaneElement e;
  e.special = x.kind == NumberClass::nan || x.kind == NumberClass::infinite;
  if (x.kind != NumberClass::finite) return e;
  const auto unit = static_cast<std::uint32_t>(x.exponent - shape.fraction_bits + 127) << 23;
  const float magnitude = static_cast<float>(x.significand) * std::bit_cast<float>(unit);
  e.value = x.negative ? -magnitude : magnitude;
  e.exponent = static_cast<std::int16_t>(x.exponent);
  return e;
}

/// bf16 and tf32 are floats whose last bits are zero.
LaneElement wide_element(std::uint32_t bits) {
  LaneElement e;
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  e.special = magnitude >= 0x7f800000u;
  if (e.special || magnitude == 0) return e;
  e.value = std::bit_cast<float>(bits);
  e.exponent = static_cast<std::int16_t>(std::max(1, static_cast<int>(magnitude >> 23)) - 127);
  return e;
}

/// An element without its exponent: below 2, of a subnormal below 1.
float significand_of(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = bits & 0x80000000u, fraction = bits & 0x7fffffu;
  if ((bits & 0x7f800000u) != 0) return std::bit_cast<float>(sign | 0x3f800000u | fraction);
  const float magnitude = static_cast<float>(fraction) * 0x1p-23f;
  return sign != 0 ? -magnitude : magnitude;
}

/// Words of an operand to elements.
class ElementReader {
 public:
  explicit ElementReader(ElementType type) : type_(type), bytes_(operand_bytes(type)) {
    if (bytes_ == 1)
      for (std::uint32_t word = 0; word < table_.size(); ++word)
        table_[word] = narrow_element(shape_of(type), word);
  }
  LaneElement at(const std::uint8_t* row, std::size_t k) const {
    switch (type_) {
      case ElementType::bf16:
        return wide_element(load_word(row + 2 * k, 2) << 16);
      case ElementType::tf32:
        return wide_element(load_word(row + 4 * k, 4) & ~0x1fffu);
      case ElementType::f16:
        return narrow_element({5, 10}, load_word(row + 2 * k, 2));
      default:
        return table_[row[k]];
    }
  }

 private:
  ElementType type_;
  std::size_t bytes_;
  std::array<LaneElement, 256> table_{};
};

/// Lowest and highest exponent of what is not zero.
struct ExponentRange {
  int low = 0, high = 0;
  bool any = false;

  void add(const LaneElement& e) {
    if (e.exponent == lane_zero_exponent) return;
    low = any ? std::min<int>(low, e.exponent) : e.exponent;
    high = any ? std::max<int>(high, e.exponent) : e.exponent;
    any = true;
  }
  bool needs_full_range(const ExponentRange& b) const {
    return any && b.any && (low + b.low < lowest_product || high + b.high > highest_product);
  }
};

/// Element (outer, inner) of a packed operand lies at [outer * stride + inner * step]; A has rows outside, B
/// (of one block) has columns inside.
struct PackedOperand {
  std::vector<float> values, significands;
  std::vector<std::int16_t> exponents;
  std::vector<ExponentRange> ranges;  ///< A: of each group; B: of each block and group

  void fill_significands() {
    significands.resize(values.size());
    std::transform(values.begin(), values.end(), significands.begin(), significand_of);
  }
};

struct PackedRows : PackedOperand {
  std::vector<std::uint8_t> specials;  ///< [row][group]
};

PackedRows pack_rows(const MatrixTile& tile, ElementType type, std::size_t group, std::size_t groups) {
  const ElementReader reader(type);
  PackedRows p;
  p.values.resize(tile.m * tile.k);
  p.exponents.resize(tile.m * tile.k);
  p.specials.resize(tile.m * groups);
  p.ranges.resize(groups);
  for (std::size_t i = 0; i < tile.m; ++i)
    for (std::size_t k = 0; k < tile.k; ++k) {
      const LaneElement e = reader.at(tile.a + i * tile.lda, k);
      p.values[i * tile.k + k] = e.value;
      p.exponents[i * tile.k + k] = e.exponent;
      p.ranges[k / group].add(e);
      if (e.special) p.specials[i * groups + k / group] = 1;
    }
  return p;
}

struct PackedColumns : PackedOperand {
  std::vector<std::uint32_t> specials;  ///< [block][group], a mask of columns
};

PackedColumns pack_columns(const MatrixTile& tile, ElementType type, std::size_t group, std::size_t groups,
                           std::size_t lanes) {
  const ElementReader reader(type);
  const std::size_t blocks = (tile.n + lanes - 1) / lanes;
  PackedColumns p;
  p.values.resize(blocks * tile.k * lanes);
  p.exponents.resize(blocks * tile.k * lanes, lane_zero_exponent);
  p.specials.resize(blocks * groups);
  p.ranges.resize(blocks * groups);
  for (std::size_t j = 0; j < tile.n; ++j) {
    const std::size_t block = j / lanes, lane = j % lanes;
    for (std::size_t k = 0; k < tile.k; ++k) {
      const LaneElement e = reader.at(tile.b + j * tile.ldb, k);
      const std::size_t at = (block * tile.k + k) * lanes + lane;
      p.values[at] = e.value;
      p.exponents[at] = e.exponent;
      p.ranges[block * groups + k / group].add(e);
      if (e.special) p.specials[block * groups + k / group] |= std::uint32_t{1} << lane;
    }
  }
  return p;
}

/// Rows of A and columns of B of one group as words, for the reference.
class Recomputation {
 public:
  Recomputation(const TensorCoreRow& row, const MatrixTile& tile, std::size_t first, std::size_t count)
      : row_(row), tile_(tile), first_(first), count_(count) {}

  /// The lanes of `mask` of row i of a block.
  void operator()(std::size_t i, std::size_t column, std::uint32_t mask, std::uint32_t* d) const {
    std::uint32_t a[largest_group], b[largest_group];
    read(tile_.a + i * tile_.lda, operand_bytes(row_.a), a);
    for (; mask != 0; mask &= mask - 1) {
      const auto lane = static_cast<std::size_t>(std::countr_zero(mask));
      read(tile_.b + (column + lane) * tile_.ldb, operand_bytes(row_.b), b);
      d[lane] = fused_dot_add(row_, std::span<const std::uint32_t>(a, count_),
                              std::span<const std::uint32_t>(b, count_), d[lane]);
    }
  }

 private:
  void read(const std::uint8_t* row, std::size_t bytes, std::uint32_t* words) const {
    for (std::size_t k = 0; k < count_; ++k) words[k] = load_word(row + (first_ + k) * bytes, bytes);
  }

  const TensorCoreRow& row_;
  const MatrixTile& tile_;
  std::size_t first_, count_;
};

}  // namespace

bool lanes_can_do(const TensorCoreRow& row) {
  const auto known = [](ElementType t) {
    return t == ElementType::f16 || t == ElementType::bf16 || t == ElementType::tf32 ||
           t == ElementType::e4m3 || t == ElementType::e5m2;
  };
  // An accumulator in units of 2^(E-F) and 16 products fit 31 bits.
  return known(row.a) && known(row.b) && row.group <= largest_group && row.fraction_bits <= 25;
}

void multiply_accumulate_lanes(const TensorCoreRow& row, const MatrixTile& tile,
                               const LaneImplementation& implementation) {
  const std::size_t group = row.group, groups = (tile.k + group - 1) / group, lanes = implementation.lanes;
  PackedRows a = pack_rows(tile, row.a, group, groups);
  PackedColumns b = pack_columns(tile, row.b, group, groups, lanes);
  const auto full_range = [&](std::size_t block, std::size_t g) {
    return a.ranges[g].needs_full_range(b.ranges[block * groups + g]);
  };
  std::vector<std::uint32_t> d(tile.m * lanes), undecided(tile.m);
  for (std::size_t column = 0; column < tile.n; column += lanes) {
    const std::size_t block = column / lanes, columns = std::min(lanes, tile.n - column);
    const std::uint32_t used = columns == 32 ? ~std::uint32_t{0} : (std::uint32_t{1} << columns) - 1;
    for (std::size_t i = 0; i < tile.m; ++i) {
      std::copy_n(tile.d + i * tile.ldd + column, columns, &d[i * lanes]);
      std::fill_n(&d[i * lanes] + columns, lanes - columns, 0u);
    }
    for (std::size_t g = 0; g < groups; ++g) {
      const std::size_t first = g * group, at_b = (block * tile.k + first) * lanes;
      LaneGroup task;
      task.rows = tile.m;
      task.count = std::min(group, tile.k - first);
      task.fraction_bits = row.fraction_bits;
      task.e_zero = row.e_zero;
      task.rounding = static_cast<std::uint8_t>(row.rho);
      task.full_range = full_range(block, g);
      if (task.full_range && a.significands.empty()) {
        a.fill_significands();
        b.fill_significands();
      }
      task.a_values = &a.values[first];
      task.a_exponents = &a.exponents[first];
      task.a_stride = tile.k;
      task.a_specials = &a.specials[g];
      task.specials_stride = groups;
      task.b_values = &b.values[at_b];
      task.b_exponents = &b.exponents[at_b];
      if (task.full_range) {
        task.a_significands = &a.significands[first];
        task.b_significands = &b.significands[at_b];
      }
      task.b_specials = b.specials[block * groups + g];
      task.d = d.data();
      task.undecided = undecided.data();
      implementation.accumulate(task);
      const Recomputation recompute(row, tile, first, task.count);
      for (std::size_t i = 0; i < tile.m; ++i)
        if ((undecided[i] & used) != 0) recompute(i, column, undecided[i] & used, &d[i * lanes]);
    }
    for (std::size_t i = 0; i < tile.m; ++i)
      std::copy_n(&d[i * lanes], columns, tile.d + i * tile.ldd + column);
  }
}

}  // namespace turnstile
