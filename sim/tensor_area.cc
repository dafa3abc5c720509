// SPDX-License-Identifier: Apache-2.0
#include "sim/tensor_area.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/cta.h"

namespace turnstile::sim {

namespace {

/// A shape of tcgen05.ld and st (PTX ISA 9.7.16.8.1): what one repetition covers.
struct Shape {
  std::string_view name;
  uint32_t lanes, columns, registers;
};
constexpr Shape kShapes[] = {
    {"32x32b", 32, 1, 1},  {"16x64b", 16, 2, 1},   {"16x128b", 16, 4, 2},
    {"16x256b", 16, 8, 4}, {"16x32bx2", 16, 1, 1},
};
constexpr uint32_t kMostRegisters = 128;

const Shape* find_shape(std::string_view name, uint32_t repeat) {
  for (const Shape& s : kShapes)
    if (s.name == name && repeat != 0 && (repeat & (repeat - 1)) == 0 &&
        repeat * s.registers <= kMostRegisters)
      return &s;
  return nullptr;
}

}  // namespace

uint32_t tensor_access_registers(const std::string& shape, uint32_t repeat) {
  const Shape* s = find_shape(shape, repeat);
  return s == nullptr ? 0 : s->registers * repeat;
}

std::vector<TensorArea> tensor_access_areas(const std::string& shape, uint32_t repeat, bool packed,
                                            uint64_t address, uint32_t split) {
  const Shape* s = find_shape(shape, repeat);
  if (s == nullptr) return {};
  // Packed: a register holds 16 bits each of two neighbouring columns.
  TensorArea area{tensor_lane(address), s->lanes, tensor_column(address),
                  s->columns * repeat * (packed ? 2 : 1)};
  std::vector<TensorArea> out{area};
  if (shape == "16x32bx2") {
    area.column += split;
    out.push_back(area);
  }
  return out;
}

std::string tensor_area_problem(const Cta& cta, const std::vector<TensorArea>& areas) {
  for (const TensorArea& a : areas) {
    if (a.lane + a.lanes > TensorArea::all_lanes || a.column + a.columns > TensorMemory::columns)
      return fmt::format(
          "lanes {} to {}, columns {} to {} are not all in tensor memory (128 lanes, 512 columns)", a.lane,
          a.lane + a.lanes - 1, a.column, a.column + a.columns - 1);
    const auto allocated = cta.tensor.memory.allocations();
    // An access may span allocations that lie side by side.
    uint32_t covered = a.column;
    for (const TensorMemory::Allocation& one : allocated)
      if (one.first <= covered && covered < one.first + one.count) covered = one.first + one.count;
    if (covered < a.column + a.columns)
      return fmt::format("column {} of tensor memory is not allocated", covered);
  }
  return {};
}

uint32_t tensor_footprint(Cta& cta, const std::vector<TensorArea>& areas) {
  std::vector<ByteRange> ranges;
  for (const TensorArea& a : areas) {
    const uint64_t begin = uint64_t{a.lane} * TensorArea::row_bytes + 4 * uint64_t{a.column};
    const ByteRange range{begin, begin + 4 * uint64_t{a.columns}, a.lanes == 1 ? 0 : TensorArea::row_bytes,
                          a.lanes};
    const bool known = std::any_of(ranges.begin(), ranges.end(), [&](const ByteRange& r) {
      return r.begin == range.begin && r.end == range.end && r.count == range.count;
    });
    if (!known) ranges.push_back(range);
  }
  std::sort(ranges.begin(), ranges.end(),
            [](const ByteRange& a, const ByteRange& b) { return a.begin < b.begin; });
  return cta.recorder.footprint(Space::tensor, cta.index, ranges);
}

}  // namespace turnstile::sim
