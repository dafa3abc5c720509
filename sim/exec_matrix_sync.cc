// SPDX-License-Identifier: Apache-2.0
// Matrix instructions of one warp: ldmatrix and stmatrix move rows of 16 bytes between shared memory and
// fragments, movmatrix transposes a fragment, mma.sync multiplies (PTX ISA 9.7.14). All are .aligned.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <span>
#include <utility>

#include "sim/handlers.h"
#include "sim/lane_targets.h"
#include "sim/numerics/matrix_product.h"

namespace turnstile::sim {

namespace {

constexpr unsigned matrix_row_bytes = 16;  // of an 8x8 matrix of 16-bit elements

/// Nothing = go on.
std::optional<Step> not_the_whole_warp(Cta& cta, Warp& warp, const Decoded& d, LaneMask lanes) {
  if (!cta.converged(warp, lanes)) return cta.wait_for_lanes(warp, lanes);
  if (lanes == all_lanes) return std::nullopt;
  return cta.unknown(d,
                     fmt::format("'{}' is executed by lanes 0x{:08x} only; it is defined for whole warps",
                                 d.text->mnemonic, lanes),
                     "let all 32 lanes execute it");
}

/// Where in a fragment's matrix byte `b` (0 to 3) of a lane's register lies: its row, and the byte of the
/// row.
struct MatrixByte {
  unsigned row, byte;
};
constexpr MatrixByte matrix_byte(unsigned lane, unsigned b, bool transposed) {
  if (!transposed) return {lane / 4, lane % 4 * 4 + b};
  return {lane % 4 * 2 + b / 2, lane / 4 * 2 + b % 2};
}

/// The lanes 0 to 8n-1 name the rows of n matrices. All must lie in the CTA's own shared memory.
Step resolve_rows(Cta& cta, const Warp& warp, const Decoded& d, std::string_view verb, LaneTargets& targets) {
  const unsigned rows = 8 * d.shape[0];
  const auto named = static_cast<LaneMask>((uint64_t{1} << rows) - 1);
  if (const Step step = resolve_lanes(cta, warp, d, named, verb, targets); step != Step::next) return step;
  for (unsigned lane = 0; lane < rows; ++lane)
    if (targets.at[lane].where != Target::Where::shared)
      return cta.fault(warp, LaneMask{1} << lane, d, "memory",
                       fmt::format("{} {} a matrix row outside the shared memory of its CTA",
                                   thread_name(warp, lane), verb),
                       "pass addresses in shared memory");
  return Step::next;
}

/// In a key of Cta::row_footprints: the offsets are those of matrix rows.
constexpr uint64_t by_rows = 1;

/// Each strand touches what its lanes receive or give.
void record_rows(Cta& cta, Warp& warp, const Decoded& d, const LaneTargets& targets, uint8_t flags) {
  const unsigned matrices = d.shape[0];
  std::array<uint64_t, warp_size + 1> key;
  for (unsigned r = 0; r < 8 * matrices; ++r) key[1 + r] = targets.at[r].offset;
  const auto ranges_of = [&](const Strand& s) {
    std::vector<ByteRange> ranges;
    if (s.lanes == all_lanes) {
      for (unsigned r = 0; r < 8 * matrices; ++r)
        ranges.push_back({targets.at[r].offset, targets.at[r].offset + matrix_row_bytes, 0, 1});
    } else {
      for (LaneMask rest = s.lanes; rest != 0; rest &= rest - 1)
        for (unsigned m = 0; m < matrices; ++m)
          for (unsigned b = 0; b < 4; b += 2) {
            const auto lane = static_cast<unsigned>(std::countr_zero(rest));
            const MatrixByte at = matrix_byte(lane, b, d.variant == 1);
            const uint64_t begin = targets.at[8 * m + at.row].offset + at.byte;
            ranges.push_back({begin, begin + 2, 0, 1});
          }
    }
    normalise(ranges);
    return ranges;
  };
  for (const Strand& s : cta.strands_of(warp, all_lanes, d.index)) {
    key[0] = uint64_t{s.lanes} << 32 | uint64_t{matrices} << 16 | uint64_t{d.variant} << 8 | by_rows;
    const uint32_t footprint = cta.row_footprints.get({key.data(), 1 + size_t{8} * matrices},
                                                      [&] { return cta.shared_footprint(ranges_of(s)); });
    Event& e = cta.recorder.add(EventKind::access, s.agent, d.index);
    e.footprint = footprint;
    e.flags = flags;
    e.scope = d.scope;
  }
}

/// What a fragment of which only the rows are known asks for before it does anything; nothing = go on.
std::optional<Step> rows_only(Cta& cta, Warp& warp, const Decoded& d) {
  if (d.variant != matrix_rows_only) return std::nullopt;
  if (cta.strands_of(warp, all_lanes, d.index).size() != 1)
    return cta.unknown(d,
                       fmt::format("what each lane touches in '{}' is not modelled, only what all of them do",
                                   d.text->mnemonic));
  if (cta.provenance() && !cta.names_values())
    return cta.unknown(d, fmt::format("'{}' has no expression of its results yet", d.text->mnemonic));
  return std::nullopt;
}

/// A register of 32 bits from four bytes, each with its value, whether that is known, and its expression.
class Word {
 public:
  void add(unsigned index, uint8_t value, bool known, const Hash128& cell) {
    value_ |= uint64_t{value} << (8 * index);
    known_ = known_ && known;
    cells_[index] = known ? hash_constant_byte(value) : cell;
  }
  void store(RegisterFile& regs, uint32_t reg, unsigned lane) const {
    if (reg == Decoded::none) return;
    if (known_) return regs.set(reg, lane, value_);
    regs.forget(reg, LaneMask{1} << lane);
    if (!regs.has_cells(reg)) return;
    Cells& cells = regs.cells(reg, lane);
    for (unsigned b = 0; b < cells.size(); ++b) cells[b] = b < 4 ? cells_[b] : hash_constant_byte(0);
  }

 private:
  uint64_t value_ = 0;
  bool known_ = true;
  std::array<Hash128, 4> cells_{};
};

}  // namespace

// Sources: [address]. shape[0]: matrices, variant 1: transposed.
Step exec_load_matrix(Cta& cta, Warp& warp, const Decoded& d, LaneMask lanes) {
  if (auto step = not_the_whole_warp(cta, warp, d, lanes)) return *step;
  LaneTargets targets;
  if (const Step step = resolve_rows(cta, warp, d, "loads", targets); step != Step::next) return step;
  if (const auto step = rows_only(cta, warp, d)) return *step;
  cta.order_strands(warp, lanes, d.index);
  record_rows(cta, warp, d, targets, 0);
  const unsigned rows = 8 * d.shape[0];
  const bool without_data = !cta.with_data() && !cta.writes_expressions(d);
  const auto untouched = [&](const Target& t) {
    return cta.shared.nothing_known(t.offset, matrix_row_bytes);
  };
  if (d.opaque || (without_data && std::all_of(targets.at.begin(), targets.at.begin() + rows, untouched))) {
    for (const uint32_t to : d.dst)
      if (to != Decoded::none) warp.regs.forget(to, all_lanes);
    return Step::next;
  }
  ByteRun all, &row = cta.scratch;
  all.resize(size_t{rows} * matrix_row_bytes, cta.provenance());
  row.resize(matrix_row_bytes, cta.provenance());
  for (unsigned r = 0; r < rows; ++r) {
    cta.shared.read(targets.at[r].offset, matrix_row_bytes, row);
    const auto to = static_cast<ptrdiff_t>(size_t{r} * matrix_row_bytes);
    std::copy_n(row.value.begin(), matrix_row_bytes, all.value.begin() + to);
    std::copy_n(row.known.begin(), matrix_row_bytes, all.known.begin() + to);
    if (cta.provenance()) std::copy_n(row.cells.begin(), matrix_row_bytes, all.cells.begin() + to);
  }
  for (unsigned lane = 0; lane < warp_size; ++lane)
    for (unsigned m = 0; m < d.shape[0]; ++m) {
      Word word;
      for (unsigned b = 0; b < 4; ++b) {
        const MatrixByte place = matrix_byte(lane, b, d.variant == 1);
        const size_t at = size_t{8 * m + place.row} * matrix_row_bytes + place.byte;
        word.add(b, all.value[at], all.known[at] != 0, cta.provenance() ? all.cells[at] : Hash128{});
      }
      word.store(warp.regs, d.dst[m], lane);
    }
  return Step::next;
}

// Sources: [address], a register for each matrix.
Step exec_store_matrix(Cta& cta, Warp& warp, const Decoded& d, LaneMask lanes) {
  if (auto step = not_the_whole_warp(cta, warp, d, lanes)) return *step;
  LaneTargets targets;
  if (const Step step = resolve_rows(cta, warp, d, "stores", targets); step != Step::next) return step;
  if (const auto step = rows_only(cta, warp, d)) return *step;
  cta.order_strands(warp, lanes, d.index);
  record_rows(cta, warp, d, targets, Event::write);
  const unsigned rows = 8 * d.shape[0];
  const bool without_data = !cta.with_data() && !cta.reads_expressions(d);
  if (d.opaque || (without_data && std::all_of(d.src.begin() + 1, d.src.begin() + 1 + d.shape[0],
                                               [&](uint32_t from) { return warp.regs.known(from) == 0; }))) {
    for (unsigned r = 0; r < rows; ++r) cta.shared.forget(targets.at[r].offset, matrix_row_bytes);
    return Step::next;
  }
  ByteRun all;
  all.resize(size_t{rows} * matrix_row_bytes, cta.provenance());
  for (unsigned lane = 0; lane < warp_size; ++lane)
    for (unsigned m = 0; m < d.shape[0]; ++m) {
      const uint32_t from = d.src[1 + m];
      const bool known = warp.regs.known(from, lane);
      for (unsigned b = 0; b < 4; ++b) {
        const MatrixByte place = matrix_byte(lane, b, d.variant == 1);
        const size_t at = size_t{8 * m + place.row} * matrix_row_bytes + place.byte;
        all.value[at] = static_cast<uint8_t>(warp.regs.get(from, lane) >> (8 * b));
        all.known[at] = known ? 1 : 0;
        if (cta.provenance()) all.cells[at] = warp.regs.byte(from, lane, b);
      }
    }
  for (unsigned r = 0; r < rows; ++r)
    cta.shared.write(targets.at[r].offset, size_t{r} * matrix_row_bytes, matrix_row_bytes, all);
  return Step::next;
}

Step exec_move_matrix(Cta& cta, Warp& warp, const Decoded& d, LaneMask lanes) {
  if (auto step = not_the_whole_warp(cta, warp, d, lanes)) return *step;
  cta.order_strands(warp, lanes, d.index);
  std::array<Word, warp_size> words;  // all lanes read before any writes
  for (unsigned lane = 0; lane < warp_size; ++lane)
    for (unsigned b = 0; b < 4; ++b) {
      const MatrixByte from = matrix_byte(lane, b, true);
      const unsigned source = 4 * from.row + from.byte / 4, at = from.byte % 4;
      const bool known = warp.regs.known(d.src[0], source);
      const uint64_t value = warp.regs.get(d.src[0], source);
      words[lane].add(b, static_cast<uint8_t>(value >> (8 * at)), known,
                      warp.regs.has_cells() ? warp.regs.byte(d.src[0], source, at) : Hash128{});
    }
  for (unsigned lane = 0; lane < warp_size; ++lane) words[lane].store(warp.regs, d.dst[0], lane);
  return Step::next;
}

namespace {

// Fragments of mma.sync (PTX ISA 9.7.14.5). Packed rows make one figure of all types: register i of lane
// 4g+t holds, of A, the bytes from 16*(i/2) + 4t on of row g + 8*(i%2) (of 8 rows: from 16i + 4t on of row g)
// and, of B, those from 16i + 4t on of column g; f64 has registers of 8 bytes. Element j of C and D, of which
// a register holds two if they are f16, has row g + 8*(j/2) and column 2t + j%2.

/// m16 or m8, n8, and the bytes of a row of A or a column of B.
struct MmaShape {
  unsigned rows, columns = 8, matrix_row_bytes, register_bytes, a_registers_across;

  explicit MmaShape(const Decoded& d)
      : rows(d.shape[0] == d.shape[1] ? 8 : 16),
        matrix_row_bytes(0),
        register_bytes(d.bytes == 8 ? 8 : 4),
        a_registers_across(rows / 8) {
    matrix_row_bytes = d.shape[1] * 4 * register_bytes;
  }
};

/// Rows of an operand as bytes, from `count` registers of which `down` hold rows that lie 8 apart.
std::vector<uint8_t> packed_rows(const Warp& warp, std::span<const uint32_t> registers, unsigned down,
                                 const MmaShape& s) {
  std::vector<uint8_t> out(size_t{8} * down * s.matrix_row_bytes);
  for (unsigned i = 0; i < registers.size(); ++i)
    for (unsigned lane = 0; lane < warp_size; ++lane) {
      const uint64_t word = warp.regs.get(registers[i], lane);
      const size_t row = lane / 4 + 8 * (i % down);
      const size_t at = row * s.matrix_row_bytes + (i / down * 4 + lane % 4) * s.register_bytes;
      for (unsigned b = 0; b < s.register_bytes; ++b) out[at + b] = static_cast<uint8_t>(word >> (8 * b));
    }
  return out;
}

/// FP6 and FP4 elements stand in bytes of their own: FP6 in the low bits, FP4 in the middle (PTX
/// ISA 9.7.14.5, .kind::f8f6f4 and .kind::mxf8f6f4).
void take_out_of_bytes(const FormatShape& shape, std::vector<uint8_t>& bytes) {
  if (shape.width() >= 8) return;
  const unsigned shift = shape == e2m1_shape ? 2 : 0;
  for (uint8_t& b : bytes)
    b = static_cast<uint8_t>(b >> shift & width_mask(static_cast<unsigned>(shape.width())));
}

/// The operands behind C of an mma with block scaling: a register of scales and, as PTX has them, a byte and
/// a thread of each quad, for A and for B.
struct ScaleOperand {
  uint32_t data, byte, thread;

  ScaleOperand(const Decoded& d, bool of_b) {
    const size_t at = size_t{d.shape[0]} + d.shape[1] + d.shape[2] + (of_b ? 3 : 0);
    data = d.src[at];
    byte = d.src[at + 1];
    thread = d.src[at + 2];
  }
};

/// What selects the scales: the same in all lanes, or nothing.
struct ScaleSelector {
  unsigned byte = 0, thread = 0;
};
std::optional<ScaleSelector> selector_of(const Warp& warp, const ScaleOperand& o) {
  const auto first = [&](uint32_t r) { return static_cast<unsigned>(warp.regs.get(r, 0) & 0xffffu); };
  const ScaleSelector selected{first(o.byte), first(o.thread)};
  for (unsigned lane = 1; lane < warp_size; ++lane)
    if ((warp.regs.get(o.byte, lane) & 0xffffu) != selected.byte ||
        (warp.regs.get(o.thread, lane) & 0xffffu) != selected.thread)
      return std::nullopt;
  return selected;
}

/// Table 37 of the PTX ISA.
bool legal_selector(const ScaleSelector& s, unsigned blocks, bool of_b) {
  return s.thread < (of_b ? 4u : 2u) && s.byte < 4 && s.byte % blocks == 0;
}

/// Scales of a row of A or a column of B, `blocks` each. Of a quad, one thread has those of a column; of A
/// one has those of the row that the quad has, and the next one those of the row 8 below (figures 43 and 44).
std::vector<uint8_t> scales_of(const Warp& warp, uint32_t data, const ScaleSelector& s, unsigned blocks,
                               unsigned rows, bool of_b) {
  std::vector<uint8_t> out(size_t{rows} * blocks);
  for (unsigned row = 0; row < rows; ++row) {
    const unsigned thread = of_b ? s.thread : 2 * s.thread + row / 8;
    const uint64_t word = warp.regs.get(data, row % 8 * 4 + thread);
    for (unsigned b = 0; b < blocks; ++b)
      out[size_t{row} * blocks + b] = static_cast<uint8_t>(word >> (8 * (s.byte + b)));
  }
  return out;
}

/// Place of element j of a lane's part of C or D.
constexpr size_t accumulator_place(unsigned lane, unsigned j) {
  return (lane / 4 + 8 * (j / 2)) * 8 + lane % 4 * 2 + j % 2;
}

/// Where the scales of an mma come from; no blocks: it has none.
struct MmaScales {
  unsigned blocks = 0;
  ScaleSelector a, b;
};

template <typename Word>
void multiply_fragments(Warp& warp, const Decoded& d, const MmaScales& scales) {
  const MmaShape s(d);
  const std::span<const uint32_t> registers(d.src);
  std::vector<uint8_t> a = packed_rows(warp, registers.first(d.shape[0]), s.a_registers_across, s);
  std::vector<uint8_t> b = packed_rows(warp, registers.subspan(d.shape[0], d.shape[1]), 1, s);
  if (d.arithmetic.operand_bits == 8 && d.arithmetic.row != nullptr) {
    take_out_of_bytes(d.arithmetic.a, a);
    take_out_of_bytes(d.arithmetic.b, b);
  }
  const std::span<const uint32_t> c = registers.subspan(d.shape[0] + d.shape[1], d.shape[2]);
  // Registers of 32 bits hold one accumulator or two halves.
  const unsigned of_register = size_t{d.shape[2]} * warp_size == size_t{s.rows} * s.columns ? 1 : 2;
  const unsigned bits = of_register == 2 ? 16 : 8 * sizeof(Word);
  std::vector<Word> results(size_t{s.rows} * s.columns);
  for (unsigned lane = 0; lane < warp_size; ++lane)
    for (unsigned j = 0; j < d.shape[2] * of_register; ++j)
      results[accumulator_place(lane, j)] = static_cast<Word>(
          warp.regs.get(c[j / of_register], lane) >> (bits * (j % of_register)) & width_mask(bits));
  const size_t k = size_t{s.matrix_row_bytes} * 8 / d.arithmetic.operand_bits;
  if constexpr (sizeof(Word) == 8)
    multiply_matrices_f64(s.rows, s.columns, k, a, b, results);
  else if (scales.blocks != 0)
    multiply_scaled(d.arithmetic, s.rows, s.columns, k, a, b, scales.blocks,
                    scales_of(warp, ScaleOperand(d, false).data, scales.a, scales.blocks, s.rows, false),
                    scales_of(warp, ScaleOperand(d, true).data, scales.b, scales.blocks, s.columns, true),
                    results);
  else
    multiply_matrices(d.arithmetic, s.rows, s.columns, k, a, b, results);
  for (unsigned lane = 0; lane < warp_size; ++lane)
    for (unsigned i = 0; i < d.shape[2]; ++i) {
      uint64_t word = 0;
      for (unsigned h = 0; h < of_register; ++h)
        word |= uint64_t{results[accumulator_place(lane, i * of_register + h)]} << (bits * h);
      if (d.dst[i] != Decoded::none) warp.regs.set(d.dst[i], lane, word);
    }
}

/// Each result is an expression of its row of A, its column of B and what it is added to.
void multiply_expressions(Warp& warp, const Decoded& d) {
  const uint32_t a_count = d.shape[0], b_count = d.shape[1];
  std::array<std::array<Hash128, 4>, warp_size> results;
  for (unsigned lane = 0; lane < warp_size; ++lane)
    for (unsigned j = 0; j < 4; ++j) {
      Hash128 h = combine(d.key_name, warp.regs.expression(d.src[a_count + b_count + j], lane, 4));
      const unsigned column = lane % 4 * 2 + j % 2;
      for (uint32_t i = j / 2; i < a_count; i += 2)
        for (unsigned t = 0; t < 4; ++t) h = combine(h, warp.regs.expression(d.src[i], lane / 4 * 4 + t, 4));
      for (uint32_t i = 0; i < b_count; ++i)
        for (unsigned t = 0; t < 4; ++t)
          h = combine(h, warp.regs.expression(d.src[a_count + i], column * 4 + t, 4));
      results[lane][j] = h;
    }
  for (unsigned lane = 0; lane < warp_size; ++lane)
    for (unsigned j = 0; j < 4; ++j)
      if (d.dst[j] != Decoded::none) warp.regs.set_expression(d.dst[j], lane, 4, results[lane][j]);
}

bool all_known(const Warp& warp, const Decoded& d) {
  return std::all_of(d.src.begin(), d.src.end(), [&](uint32_t r) { return warp.regs.known(r) == all_lanes; });
}

}  // namespace

// Sources: A, B, C, with block scaling more. shape: registers of A, B and D.
Step exec_mma(Cta& cta, Warp& warp, const Decoded& d, LaneMask lanes) {
  if (auto step = not_the_whole_warp(cta, warp, d, lanes)) return *step;
  cta.order_strands(warp, lanes, d.index);
  // Counts of integers may decide where control goes; sums of floats are worth their cost for their bits
  // only.
  const bool wanted = cta.options.domain == Domain::bits || d.arithmetic.model == MatrixModel::integer;
  MmaScales scales;
  bool known = !d.opaque && wanted && all_known(warp, d);
  if (known && (d.variant & 8) != 0) {
    const auto a = selector_of(warp, ScaleOperand(d, false)), b = selector_of(warp, ScaleOperand(d, true));
    scales.blocks = d.variant & 7u;
    if (!a || !b) {
      known = false;  // lanes that disagree: the ISA does not say whose selector counts
    } else if (!legal_selector(*a, scales.blocks, false) || !legal_selector(*b, scales.blocks, true)) {
      return cta.fault(
          warp, lanes, d, "operand",
          fmt::format("'{}' selects its scales by byte {}, thread {} of A and byte {}, thread {} of "
                      "B; with {} scales a row the bytes are multiples of {} below 4, the threads "
                      "0 or 1 of A and 0 to 3 of B",
                      d.text->mnemonic, a->byte, a->thread, b->byte, b->thread, scales.blocks, scales.blocks),
          "pass selectors of table 37 of the PTX ISA; any others are undefined behavior");
    } else {
      scales.a = *a;
      scales.b = *b;
    }
  }
  if (known) {
    if (d.arithmetic.model == MatrixModel::f64_chain)
      multiply_fragments<uint64_t>(warp, d, scales);
    else
      multiply_fragments<uint32_t>(warp, d, scales);
    return Step::next;
  }
  if (cta.writes_expressions(d)) {
    const bool scaled = (d.variant & 8) != 0;
    const bool has_expression = d.shape[2] == 4 && d.bytes == 4 && !scaled && !d.sparse;
    if (!has_expression && !cta.names_values())
      return cta.unknown(d, fmt::format("'{}' has no expression of its results yet", d.text->mnemonic));
    if (has_expression) {
      multiply_expressions(warp, d);
      return Step::next;
    }
  }
  for (uint32_t r : d.dst)
    if (r != Decoded::none) warp.regs.forget(r, lanes);
  return Step::next;
}

}  // namespace turnstile::sim
