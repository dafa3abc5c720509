// SPDX-License-Identifier: Apache-2.0
#include "sim/matrix.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sim/copy.h"
#include "sim/cta.h"
#include "sim/numerics/matrix_product.h"
#include "sim/recorder.h"
#include "sim/sum_log.h"

namespace turnstile::sim {

OperandView decode_descriptor(uint64_t descriptor) {
  OperandView v;
  v.start = static_cast<uint32_t>(descriptor & 0x3fff) << 4;
  v.leading_bytes = static_cast<uint32_t>(descriptor >> 16 & 0x3fff) << 4;
  v.stride_bytes = static_cast<uint32_t>(descriptor >> 32 & 0x3fff) << 4;
  v.base_offset = static_cast<uint32_t>(descriptor >> 49 & 7);
  constexpr Swizzle modes[4] = {Swizzle::none, Swizzle::b128, Swizzle::b64, Swizzle::b32};
  v.swizzle = modes[descriptor >> 62];
  return v;
}

uint32_t OperandView::chunk_address(uint32_t row, uint32_t chunk) const {
  if (swizzle == Swizzle::none) return start + row / 8 * stride_bytes + chunk * leading_bytes + row % 8 * 16;
  const uint32_t row_bytes = swizzle == Swizzle::b128 ? 128 : swizzle == Swizzle::b64 ? 64 : 32;
  return swizzled(swizzle, start + row / 8 * stride_bytes + row % 8 * row_bytes + chunk * 16);
}

std::vector<ByteRange> operand_ranges(const OperandView& view, uint32_t rows, uint32_t row_bytes) {
  std::vector<ByteRange> ranges;
  ranges.reserve(size_t{rows} * row_bytes / 16);
  for (uint32_t r = 0; r < rows; ++r)
    for (uint32_t c = 0; c < row_bytes / 16; ++c) {
      const uint32_t at = view.chunk_address(r, c);
      ranges.push_back({at, at + 16, 0, 1});
    }
  normalise(ranges);
  return ranges;
}

namespace {

/// Where an operand lies that runs along MN: swizzle atoms are as wide as the swizzle and 8 steps of K deep
/// (PTX ISA, canonical layouts of wgmma). Without swizzle the two strides change places.
struct MnMajorAtoms {
  uint32_t start, width, along, deep;

  explicit MnMajorAtoms(const OperandView& v) : start(v.start), width(16) {
    if (v.swizzle == Swizzle::b128) width = 128;
    if (v.swizzle == Swizzle::b64) width = 64;
    if (v.swizzle == Swizzle::b32) width = 32;
    along = v.swizzle == Swizzle::none ? v.stride_bytes : v.leading_bytes;
    deep = v.swizzle == Swizzle::none ? v.leading_bytes : v.stride_bytes;
  }
  /// Before swizzling; `byte` counts along MN.
  uint32_t address(uint32_t byte, uint32_t k) const {
    return start + byte / width * along + k / 8 * deep + k % 8 * width + byte % width;
  }
};

}  // namespace

uint32_t mn_major_address(const OperandView& v, uint32_t row, uint32_t k) {
  return swizzled(v.swizzle, MnMajorAtoms(v).address(2 * (row / 8 * 8), k)) + 2 * (row % 8);
}

std::vector<ByteRange> mn_major_ranges(const OperandView& v, uint32_t extent, uint32_t depth) {
  std::vector<ByteRange> out;
  const MnMajorAtoms atoms(v);
  for (uint32_t at = 0; at < extent; at += atoms.width)
    for (uint32_t k = 0; k < depth; k += 8) {
      const uint32_t begin = atoms.address(at, k);
      out.push_back({begin, begin + atoms.width * std::min(8u, depth - k), 0, 1});
    }
  normalise(out);
  return out;
}

const OperandFootprint& operand_footprint(Cta& cta, uint64_t descriptor, uint32_t rows, bool mn_major,
                                          uint32_t k_bytes) {
  const auto key = std::pair(descriptor, k_bytes << 16 | rows << 1 | (mn_major ? 1u : 0u));  // they repeat
  auto [it, fresh] = cta.operand_footprints.try_emplace(key);
  OperandFootprint& out = it->second;
  if (!fresh) return out;
  const OperandView view = decode_descriptor(descriptor);
  if (view.base_offset != 0) {
    out.problem = "a matrix base offset, which the simulator has no model of";
    return out;
  }
  if (!mn_major && view.swizzle == Swizzle::b32 && k_bytes > 32) {
    out.unmodelled = "an operand of 64 bytes along K in a swizzle of 32 bytes";
    return out;
  }
  constexpr uint32_t element_bytes_mn = 2;  // only 16-bit types have transposed operands
  const std::vector<ByteRange> ranges =
      mn_major ? mn_major_ranges(view, rows * element_bytes_mn, k_bytes / element_bytes_mn)
               : operand_ranges(view, rows, k_bytes);
  const uint64_t begin = ranges.front().begin, end = ranges.back().end;
  if (begin < AddressMap::shared_static_base || end > cta.shared.size())
    out.problem = fmt::format("an operand at shared 0x{:x} to 0x{:x}, outside shared memory", begin, end);
  else
    out.footprint = cta.shared_footprint(ranges);
  return out;
}

namespace {

void forget_results(Cta& cta, uint32_t first_warp, const Decoded& d) {
  for (uint32_t w = 0; w < 4; ++w)
    for (uint32_t r : d.dst)
      if (r != Decoded::none) cta.warps[first_warp + w]->regs.forget(r, all_lanes);
}

/// Rows of an operand of one wgmma, each the 32 bytes of K; `complete` is false if a byte is not known.
struct Tile {
  std::vector<uint8_t> bytes;
  bool complete = true;

  explicit Tile(uint32_t rows) : bytes(size_t{rows} * wgmma_k_bytes) {}
  /// Flips the sign of each element.
  void negate(uint32_t element_bytes) {
    for (size_t at = element_bytes - 1; at < bytes.size(); at += element_bytes) bytes[at] ^= 0x80;
  }
};

Tile gather(const Cta& cta, const OperandView& view, uint32_t rows) {
  Tile t(rows);
  for (uint32_t r = 0; r < rows; ++r)
    for (uint32_t c = 0; c < wgmma_k_bytes / 16; ++c) {
      const uint32_t at = view.chunk_address(r, c);
      t.complete = t.complete && cta.shared.all_known(at, 16);
      std::copy_n(cta.shared.data(at), 16, &t.bytes[size_t{r} * wgmma_k_bytes + c * 16]);
    }
  return t;
}

/// The same of an operand that lies along MN (transposed): swizzle atoms as in mn_major_ranges, each row of
/// them one step of K. Elements have 16 bits.
Tile gather_mn_major(const Cta& cta, const OperandView& v, uint32_t rows) {
  Tile t(rows);
  const MnMajorAtoms atoms(v);
  for (uint32_t k = 0; k < wgmma_k_bytes / 2; ++k)
    for (uint32_t r = 0; r < rows; r += 8) {
      const uint32_t at = swizzled(v.swizzle, atoms.address(2 * r, k));
      // The footprint is that of whole lines; of a start that is not aligned, swizzling may leave it.
      t.complete = t.complete && at + 16 <= cta.shared.size() && cta.shared.all_known(at, 16);
      if (!t.complete) return t;
      for (uint32_t i = 0; i < 8; ++i)
        std::copy_n(cta.shared.data(at) + 2 * i, 2, &t.bytes[size_t{r + i} * wgmma_k_bytes + 2 * k]);
    }
  return t;
}

Tile gather_operand(const Cta& cta, uint64_t descriptor, bool mn_major, uint32_t rows) {
  const OperandView view = decode_descriptor(descriptor);
  return mn_major ? gather_mn_major(cta, view, rows) : gather(cta, view, rows);
}

/// A in registers: register i of lane 4g+t holds 4 bytes of row g + 8*(i%2), from 4t + 16*(i/2) on (PTX ISA
/// 9.7.15.5.2, the figures of A).
Tile gather_registers(const Cta& cta, uint32_t first_warp, const Decoded& d) {
  Tile t(64);
  for (uint32_t w = 0; w < 4; ++w)
    for (uint32_t i = 0; i < 4; ++i)
      for (uint32_t lane = 0; lane < warp_size; ++lane) {
        const RegisterFile& regs = cta.warps[first_warp + w]->regs;
        t.complete = t.complete && regs.known(d.src[i], lane);
        const uint64_t word = regs.get(d.src[i], lane);
        const size_t row = 16 * w + lane / 4 + 8 * (i % 2);
        for (uint32_t b = 0; b < 4; ++b)
          t.bytes[row * wgmma_k_bytes + lane % 4 * 4 + 16 * (i / 2) + b] =
              static_cast<uint8_t>(word >> (8 * b));
      }
  return t;
}

/// Accumulators of f16 lie in pairs in a register: element i of a lane as in result_place all the same.
void compute_bits(Cta& cta, uint32_t first_warp, const WarpGroupOp& op) {
  const Decoded& d = *op.text;
  const uint32_t n = d.shape[1], k = d.shape[2];
  Tile a = d.variant == 1 ? gather_registers(cta, first_warp, d)
                          : gather_operand(cta, op.a, (d.mn_major & 1) != 0, 64);
  Tile b = gather_operand(cta, op.b, (d.mn_major & 2) != 0, n);
  if ((d.negated & 1) != 0) a.negate(d.element_bits / 8u);
  if ((d.negated & 2) != 0) b.negate(d.element_bits / 8u);
  const auto of_register = static_cast<uint32_t>(n / 2 / d.dst.size());
  const uint32_t bits = 32 / of_register;
  std::vector<uint32_t> result(size_t{64} * n, 0);
  bool known = a.complete && b.complete;
  if (op.scale_d != 0)
    for (uint32_t w = 0; w < 4; ++w)
      for (uint32_t i = 0; i < n / 2; ++i) {
        const RegisterFile& regs = cta.warps[first_warp + w]->regs;
        const uint32_t reg = d.dst[i / of_register], shift = bits * (i % of_register);
        known = known && regs.known(reg) == all_lanes;
        for (uint32_t lane = 0; lane < warp_size; ++lane) {
          const ResultPlace p = result_place(w, lane, i);
          result[p.row * n + p.column] =
              static_cast<uint32_t>(regs.get(reg, lane) >> shift & width_mask(bits));
        }
      }
  if (!known) {
    forget_results(cta, first_warp, d);
    return;
  }
  multiply_matrices(d.arithmetic, 64, n, k, a.bytes, b.bytes, result);
  for (uint32_t w = 0; w < 4; ++w)
    for (uint32_t i = 0; i < d.dst.size(); ++i)
      for (uint32_t lane = 0; lane < warp_size; ++lane) {
        uint32_t word = 0;
        for (uint32_t h = 0; h < of_register; ++h) {
          const ResultPlace p = result_place(w, lane, i * of_register + h);
          word |= result[p.row * n + p.column] << (bits * h);
        }
        cta.warps[first_warp + w]->regs.set(d.dst[i], lane, word);
      }
}

/// Whether results are 32 bits wide and operands lie along K in whole bytes, all of them.
bool has_expressions(const Decoded& d) {
  return d.mn_major == 0 && !d.sparse && d.element_bits >= 8 && d.dst.size() == d.shape[1] / 2;
}

/// Expressions of the elements of an operand.
std::vector<Hash128> gather_expressions(const Cta& cta, const OperandView& view, uint32_t rows,
                                        uint32_t columns, uint32_t bytes) {
  std::vector<Hash128> out(size_t{rows} * columns);
  const uint32_t of_chunk = 16 / bytes;
  for (uint32_t r = 0; r < rows; ++r)
    for (uint32_t c = 0; c < columns / of_chunk; ++c) {
      const uint32_t at = view.chunk_address(r, c);
      for (uint32_t i = 0; i < of_chunk; ++i) {
        Hash128 parts[4];
        for (uint32_t b = 0; b < bytes; ++b) parts[b] = cta.shared.byte(at + bytes * i + b);
        out[size_t{r} * columns + c * of_chunk + i] = value_of({parts, bytes});
      }
    }
  return out;
}

/// Of A in registers: register i of lane 4g+t holds elements of row g + 8*(i%2), from column (t + 4*(i/2))
/// times the elements of a register on.
std::vector<Hash128> gather_register_expressions(const Cta& cta, uint32_t first_warp, const Decoded& d,
                                                 uint32_t bytes) {
  const uint32_t columns = d.shape[2], of_register = 4 / bytes;
  std::vector<Hash128> out(size_t{64} * columns);
  for (uint32_t w = 0; w < 4; ++w)
    for (uint32_t i = 0; i < 4; ++i)
      for (uint32_t lane = 0; lane < warp_size; ++lane)
        for (uint32_t e = 0; e < of_register; ++e) {
          const RegisterFile& regs = cta.warps[first_warp + w]->regs;
          Hash128 parts[4];
          for (uint32_t b = 0; b < bytes; ++b) parts[b] = regs.byte(d.src[i], lane, e * bytes + b);
          const uint32_t row = 16 * w + lane / 4 + 8 * (i % 2);
          const uint32_t column = (lane % 4 + 4 * (i / 2)) * of_register + e;
          out[size_t{row} * columns + column] = value_of({parts, bytes});
        }
  return out;
}

Hash128 positive_zero(uint32_t bytes) {
  const Hash128 zeros[4] = {hash_constant_byte(0), hash_constant_byte(0), hash_constant_byte(0),
                            hash_constant_byte(0)};
  return value_of({zeros, bytes});
}

/// Notes the group if row `a` is of the row under test and `b` is the line asked for.
void log_step(SumLog& log, const WarpGroupOp& op, const Hash128* a, const Hash128* b, uint32_t k) {
  SumStep step;
  step.place = op.text->index;
  step.starts = op.scale_d == 0;
  uint64_t found = 0;
  for (uint32_t x = 0; x < k; ++x) {
    const auto column = log.batch_columns.find(a[x].hi);
    if (column == log.batch_columns.end() || !log.other_lines.contains(b[x].hi)) continue;
    if (found == 0) step.first = step.last = column->second;
    step.contiguous = step.contiguous && (found == 0 || column->second == step.last + 1);
    step.first = std::min(step.first, column->second);
    step.last = std::max(step.last, column->second);
    ++found;
  }
  if (found != 0) log.steps.push_back(step);
}

/// Names of results: each is a function of one row, one column and what stood there before. Which function is
/// not asked, so that the sums over k need not be spelled out.
void name_products(Hash128 node, std::span<const Hash128> a, std::span<const Hash128> b,
                   std::span<const Hash128> c, uint32_t k, std::span<Hash128> result) {
  const auto lines = [&](std::span<const Hash128> elements) {
    std::vector<Hash128> out;
    for (size_t at = 0; at < elements.size(); at += k) {
      Hash128 line = hash_number(34, k);
      for (const Hash128& e : elements.subspan(at, k)) line = combine(line, e);
      out.push_back(line);
    }
    return out;
  };
  const std::vector<Hash128> rows = lines(a), columns = lines(b);
  for (size_t i = 0; i < result.size(); ++i)
    result[i] = combine(combine(node, c[i]), combine(rows[i / columns.size()], columns[i % columns.size()]));
}

void set_results(Cta& cta, uint32_t first_warp, const Decoded& d, std::span<const Hash128> result) {
  const uint32_t n = d.shape[1];
  for (uint32_t w = 0; w < 4; ++w)
    for (uint32_t i = 0; i < d.dst.size(); ++i)
      for (uint32_t lane = 0; lane < warp_size; ++lane) {
        const ResultPlace p = result_place(w, lane, i);
        cta.warps[first_warp + w]->regs.set_expression(d.dst[i], lane, 4, result[p.row * n + p.column]);
      }
}

// One node per output and group: the accumulator before, and the products of the group in any order (T6: the
// sum inside a group is exact, so its order is free). A product of two known +0 adds nothing and is left out.
// Rows that hold leaves of foreign rows only cannot concern the row under test: they get one foreign mark
// each instead of an expression.
void compute_expressions(Cta& cta, uint32_t first_warp, const WarpGroupOp& op) {
  const Decoded& d = *op.text;
  const uint32_t n = d.shape[1], k = d.shape[2];
  const uint32_t bytes = d.element_bits / 8u;
  const std::vector<Hash128> a = d.variant == 1
                                     ? gather_register_expressions(cta, first_warp, d, bytes)
                                     : gather_expressions(cta, decode_descriptor(op.a), 64, k, bytes);
  const std::vector<Hash128> b = gather_expressions(cta, decode_descriptor(op.b), n, k, bytes);
  const Hash128 zero = positive_zero(bytes);
  const bool ordered = bytes != 2;  // T6 is known of 16-bit types
  const Hash128 node = combine(d.key_name, hash_number(30, d.negated));

  std::vector<Hash128> c(size_t{64} * n);
  for (uint32_t w = 0; w < 4; ++w)
    for (uint32_t i = 0; i < d.dst.size(); ++i)
      for (uint32_t lane = 0; lane < warp_size; ++lane) {
        const ResultPlace p = result_place(w, lane, i);
        c[p.row * n + p.column] = op.scale_d != 0
                                      ? cta.warps[first_warp + w]->regs.expression(d.dst[i], lane, 4)
                                      : hash_number(31, 0);
      }
  std::vector<Hash128> result(size_t{64} * n);
  if (cta.names_values()) {
    name_products(node, a, b, c, k, result);
    return set_results(cta, first_warp, d, result);
  }
  std::vector<uint32_t> distinct;  // rows already computed
  for (uint32_t r = 0; r < 64; ++r) {
    const Hash128* row = &a[size_t{r} * k];
    const bool foreign = std::any_of(row, row + k, [](const Hash128& h) { return h.foreign(); });
    if (foreign) {
      const Hash128 mark = combine(hash_number(32, r), {1, op.op});
      std::fill_n(&result[size_t{r} * n], n, mark);
      continue;
    }
    // Rows beyond the end of the matrix are all the same zeros: compute one of them.
    auto twin = std::find_if(distinct.begin(), distinct.end(), [&](uint32_t other) {
      return std::equal(row, row + k, &a[size_t{other} * k]) &&
             std::equal(&c[r * n], &c[r * n] + n, &c[other * n]);
    });
    if (twin != distinct.end()) {
      std::copy_n(&result[size_t{*twin} * n], n, &result[size_t{r} * n]);
      continue;
    }
    distinct.push_back(r);
    for (uint32_t j = 0; j < n; ++j) {
      const Hash128* column = &b[size_t{j} * k];
      if (cta.sum_log != nullptr) log_step(*cta.sum_log, op, row, column, k);
      Hash128 sum = hash_number(33, k);
      for (uint32_t x = 0; x < k; ++x)
        if (!(row[x] == zero && column[x] == zero)) {
          const Hash128 product = combine(row[x], column[x]);
          sum = ordered ? combine(sum, product) : add_unordered(sum, product);
        }
      result[r * n + j] = combine(combine(node, c[r * n + j]), sum);
    }
  }
  set_results(cta, first_warp, d, result);
}

}  // namespace

std::optional<std::vector<uint8_t>> operand_bytes_of_k(const Cta& cta, const OperandView& view, bool mn_major,
                                                       uint32_t rows) {
  Tile t = mn_major ? gather_mn_major(cta, view, rows) : gather(cta, view, rows);
  if (!t.complete) return std::nullopt;
  return std::move(t.bytes);
}

void run_matrix_op(Cta& cta, WarpGroup& group, WarpGroupOp& op) {
  const Decoded& d = *op.text;
  const auto first_warp = static_cast<uint32_t>(&group - cta.groups.data()) * 4;
  const AgentId issuer = cta.recorder.trace().ops[op.op].issuer;
  auto reads = [&](uint64_t descriptor, uint32_t rows, bool mn_major, uint32_t k_bytes) {
    const uint32_t footprint = operand_footprint(cta, descriptor, rows, mn_major, k_bytes).footprint;
    Event& e = cta.recorder.add(EventKind::async_access, issuer, d.index);
    e.object = op.op;
    e.footprint = footprint;
  };
  if (d.variant == 0) reads(op.a, 64, (d.mn_major & 1) != 0, wgmma_k_bytes);
  reads(op.b, d.shape[1], (d.mn_major & 2) != 0, d.sparse ? 2 * wgmma_k_bytes : wgmma_k_bytes);
  switch (cta.options.domain) {
    case Domain::control:
      forget_results(cta, first_warp, d);
      break;
    case Domain::bits:
      if (d.opaque)
        forget_results(cta, first_warp, d);
      else
        compute_bits(cta, first_warp, op);
      break;
    case Domain::provenance:
    case Domain::names:
      if (!cta.writes_expressions(d)) {
        forget_results(cta, first_warp, d);
        break;
      }
      if (!has_expressions(d)) {
        if (!cta.names_values())
          cta.recorder.unknown(
              d.index,
              fmt::format("'{}' with these operands has no expression of its results yet", d.text->mnemonic),
              {});
        forget_results(cta, first_warp, d);
        break;
      }
      compute_expressions(cta, first_warp, op);
      break;
  }
  cta.recorder.add(EventKind::async_complete, issuer, d.index).object = op.op;
}

}  // namespace turnstile::sim
