// SPDX-License-Identifier: Apache-2.0
#include "sim/copy.h"

#include <algorithm>

#include "sim/execution_log.h"
#include "sim/machine.h"
#include "sim/position_tracker.h"

namespace turnstile::sim {

std::vector<BoxRow> box_rows(const TensorMap& map, std::span<const int64_t> coordinates) {
  const size_t rank = map.dims.size();
  if (coordinates.size() != rank) {
    std::vector<BoxRow> out;
    for (size_t r = 1; r < coordinates.size(); ++r) {
      const int64_t one[2] = {coordinates[0], coordinates[r]};
      out.push_back(box_rows(map, one).front());
      out.back().box_offset = static_cast<uint32_t>((r - 1) * map.box[0] * element_bytes(map.type));
    }
    return out;
  }
  const auto element = static_cast<int64_t>(element_bytes(map.type));
  const auto inner = static_cast<int64_t>(map.box[0]);
  const int64_t first = std::max<int64_t>(coordinates[0], 0);
  const int64_t last = std::min<int64_t>(coordinates[0] + inner, static_cast<int64_t>(map.dims[0]));
  size_t rows = 1;
  for (size_t d = 1; d < rank; ++d) rows *= map.box[d];

  std::vector<BoxRow> out;
  out.reserve(rows);
  std::vector<uint32_t> index(rank, 0);
  for (size_t r = 0; r < rows; ++r) {
    BoxRow row;
    row.box_offset = static_cast<uint32_t>(static_cast<int64_t>(r) * inner * element);
    bool inside = last > first;
    int64_t offset = static_cast<int64_t>(map.offset) + first * element;
    for (size_t d = 1; d < rank; ++d) {
      const int64_t c = coordinates[d] + index[d];
      inside = inside && c >= 0 && c < static_cast<int64_t>(map.dims[d]);
      if (inside) offset += c * static_cast<int64_t>(map.strides[d - 1]);  // outside, it may overflow
    }
    if (inside) {
      row.global = static_cast<uint64_t>(offset);
      row.skip = static_cast<uint32_t>((first - coordinates[0]) * element);
      row.bytes = static_cast<uint32_t>((last - first) * element);
    }
    out.push_back(row);
    for (size_t d = 1; d < rank; ++d) {
      if (++index[d] < map.box[d]) break;
      index[d] = 0;
    }
  }
  return out;
}

namespace {

/// The global side as strided ranges: rows that follow each other at one stride are one range.
std::vector<ByteRange> global_ranges(const std::vector<BoxRow>& rows) {
  std::vector<ByteRange> out;
  for (const BoxRow& r : rows) {
    if (r.bytes == 0) continue;
    if (!out.empty()) {
      ByteRange& last = out.back();
      const uint64_t width = last.end - last.begin;
      const uint64_t stride = r.global - last.begin;
      if (width == r.bytes &&
          (last.count == 1 ? r.global >= last.end : r.global == last.begin + last.stride * last.count)) {
        if (last.count == 1) last.stride = stride;
        ++last.count;
        continue;
      }
    }
    out.push_back({r.global, r.global + r.bytes, 0, 1});
  }
  return out;
}

}  // namespace

std::vector<ByteRange> box_ranges(const TensorMap& map, std::span<const int64_t> coordinates) {
  return global_ranges(box_rows(map, coordinates));
}

namespace {

void fill_out_of_bounds(const TensorMap& map, ByteRun& row) {
  // PTX 5.5.3.3: zero, or for floats NaN; an H200 fills with halves of 0x7ff7 whatever the format
  // (golden/records/numerics/tensor_maps.txt).
  std::fill(row.known.begin(), row.known.end(), uint8_t{1});
  std::fill(row.value.begin(), row.value.end(), uint8_t{0});
  if (map.fill == OutOfBoundsFill::zero) return;
  for (size_t i = 0; i < row.value.size(); ++i) row.value[i] = i % 2 == 0 ? 0xf7 : 0x7f;
}

/// A load through a map of tf32 rounds each element to nearest even, and gives one NaN of its own. Stores
/// round nothing (golden/records/numerics/tensor_maps.txt).
void round_to_tf32(ByteRun& row, size_t begin, size_t end) {
  for (size_t at = begin; at + 4 <= end; at += 4) {
    const auto known = row.known.begin() + static_cast<std::ptrdiff_t>(at);
    if (std::find(known, known + 4, uint8_t{0}) != known + 4) continue;
    uint32_t word = 0;
    for (size_t i = 0; i < 4; ++i) word |= uint32_t{row.value[at + i]} << (8 * i);
    const bool nan = (word & 0x7fffffffu) > 0x7f800000u;
    word = nan ? 0x7fffe000u : (word + 0xfffu + (word >> 13 & 1)) & ~0x1fffu;
    for (size_t i = 0; i < 4; ++i) row.value[at + i] = static_cast<uint8_t>(word >> (8 * i));
  }
}

/// Shared addresses of the 16-byte chunks of a dense box row; TMA swizzles by address bits.
template <typename Visit>
void for_each_chunk(const TensorMap& map, uint32_t base, const BoxRow& row, uint32_t row_bytes, Visit visit) {
  for (uint32_t at = 0; at < row_bytes; at += 16) {
    const uint32_t bytes = std::min<uint32_t>(16, row_bytes - at);
    visit(swizzled(map.swizzle, base + row.box_offset + at), at, bytes);
  }
}

}  // namespace

namespace {

/// Writes what a store brings to global memory, or combines it with what is there.
void store_global(Cta& cta, const Copy& copy, uint32_t buffer, uint64_t offset, size_t bytes,
                  const ByteRun& run, size_t from, uint32_t place) {
  if (copy.reduction.kind == Reduction::Kind::none)
    return cta.write_global(buffer, offset, bytes, run, from, place);
  ByteRun old;
  old.resize(bytes, cta.provenance());
  cta.global.read(buffer, offset, bytes, old, 0);
  reduce_run(copy.reduction, old, 0, run, from, bytes);
  forget_order(cta, old);
  cta.write_global(buffer, offset, bytes, old, 0, place);
  if (!copy.reduction.depends_on_order()) return;
  std::string text = "float sums of bulk reductions depend on the order in which the copies land (BK7)";
  if (std::find(cta.not_predicted.begin(), cta.not_predicted.end(), text) == cta.not_predicted.end())
    cta.not_predicted.push_back(std::move(text));
}

}  // namespace

CopyEffect land_tensor_copy(Cta& cta, const Copy& copy) {
  const TensorMap& map = copy.made_map ? *copy.made_map : cta.launch.tensor_maps[copy.map];
  const uint32_t place = cta.recorder.trace().ops[copy.op].place;
  const std::vector<BoxRow> rows = box_rows(map, {copy.coordinates, copy.coordinate_count});
  const auto row_bytes = static_cast<uint32_t>(map.box[0] * element_bytes(map.type));
  const uint64_t box_bytes = copy.bytes;
  const ByteRange whole{copy.shared, copy.shared + box_bytes, 0, 1};
  CopyEffect effect;
  const uint32_t on_chip = (copy.to_shared ? *copy.target : cta).shared_footprint({&whole, 1});
  std::vector<ByteRange> outside = global_ranges(rows);
  const bool touches_global = !outside.empty();
  if (!touches_global && cta.machine.positions != nullptr)
    cta.machine.positions->note_empty_box(copy.position_use);
  const uint32_t off_chip = touches_global ? cta.recorder.footprint(Space::global, map.buffer, outside) : 0;

  ByteRun row;
  row.resize(row_bytes, cta.provenance());
  if (copy.to_shared) {
    if (touches_global) effect.reads.push_back(off_chip);
    effect.writes.push_back(on_chip);
    if (cta.global.opaque(map.buffer)) {
      copy.target->shared.forget(copy.shared, box_bytes);
      return effect;
    }
    for (const BoxRow& r : rows) {
      fill_out_of_bounds(map, row);
      if (cta.machine.log != nullptr) cta.machine.log->begin_run();
      if (r.bytes != 0) cta.global.read(map.buffer, r.global, r.bytes, row, r.skip);
      if (map.type == ElementType::tf32) round_to_tf32(row, r.skip, r.skip + r.bytes);
      for_each_chunk(map, copy.shared, r, row_bytes, [&](uint32_t address, uint32_t at, uint32_t bytes) {
        copy.target->shared.write(address, at, bytes, row);
      });
    }
    return effect;
  }
  effect.reads.push_back(on_chip);
  if (touches_global) effect.writes.push_back(off_chip);
  if (cta.global.opaque(map.buffer)) return effect;
  ByteRun& chunk = cta.scratch;
  for (const BoxRow& r : rows) {
    if (r.bytes == 0) continue;
    for_each_chunk(map, copy.shared, r, row_bytes, [&](uint32_t address, uint32_t at, uint32_t bytes) {
      cta.shared.read(address, bytes, chunk);
      std::copy_n(chunk.value.begin(), bytes, row.value.begin() + at);
      std::copy_n(chunk.known.begin(), bytes, row.known.begin() + at);
      if (cta.provenance()) std::copy_n(chunk.cells.begin(), bytes, row.cells.begin() + at);
    });
    store_global(cta, copy, map.buffer, r.global, r.bytes, row, r.skip, place);
  }
  return effect;
}

namespace {

/// A store of some bytes of each 16 (.cp_mask): runs of them, which repeat every 16 bytes.
CopyEffect land_masked_store(Cta& cta, const Copy& copy) {
  const uint32_t place = cta.recorder.trace().ops[copy.op].place;
  const auto count = static_cast<uint32_t>(copy.bytes / 16);
  CopyEffect effect;
  ByteRun run;
  for (unsigned first = 0; first < 16;) {
    unsigned last = first;
    while (last < 16 && (copy.byte_mask >> last & 1) != 0) ++last;
    if (last == first) {
      ++first;
      continue;
    }
    const unsigned bytes = last - first;
    const ByteRange on_chip{copy.shared + first, copy.shared + last, 16, count};
    const ByteRange off_chip{copy.offset + first, copy.offset + last, 16, count};
    effect.reads.push_back(cta.shared_footprint({&on_chip, 1}));
    effect.writes.push_back(cta.recorder.footprint(Space::global, copy.buffer, {&off_chip, 1}));
    run.resize(bytes, cta.provenance());
    for (uint32_t chunk = 0; chunk < count; ++chunk) {
      cta.shared.read(copy.shared + first + 16 * chunk, bytes, run);
      cta.write_global(copy.buffer, copy.offset + first + 16 * chunk, bytes, run, 0, place);
    }
    first = last;
  }
  return effect;
}

}  // namespace

CopyEffect land_plain_copy(Cta& cta, const Copy& copy) {
  if (copy.byte_mask != 0xffff) return land_masked_store(cta, copy);
  const uint32_t place = cta.recorder.trace().ops[copy.op].place;
  const ByteRange on_chip{copy.shared, copy.shared + copy.bytes, 0, 1};
  const ByteRange off_chip{copy.offset, copy.offset + copy.bytes, 0, 1};
  const uint32_t inside = (copy.to_shared ? *copy.target : cta).shared_footprint({&on_chip, 1});
  const uint32_t outside = cta.recorder.footprint(Space::global, copy.buffer, {&off_chip, 1});
  CopyEffect effect;
  ByteRun run;
  run.resize(copy.bytes, cta.provenance());
  if (copy.to_shared) {
    effect.reads.push_back(outside);
    effect.writes.push_back(inside);
    cta.global.read(copy.buffer, copy.offset, copy.bytes, run, 0);
    copy.target->shared.write(copy.shared, 0, copy.bytes, run);
  } else {
    effect.reads.push_back(inside);
    effect.writes.push_back(outside);
    cta.shared.read(copy.shared, copy.bytes, run);
    store_global(cta, copy, copy.buffer, copy.offset, copy.bytes, run, 0, place);
  }
  return effect;
}

}  // namespace turnstile::sim
