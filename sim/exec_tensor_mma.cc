// SPDX-License-Identifier: Apache-2.0
// tcgen05.mma, cp, shift and commit: asynchronous operations that one thread issues (semantics.md 9.3
// to 9.6). What they touch is exact as far as the descriptors tell; results are computed where they are
// predicted (tensor_values.h).
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <functional>

#include "sim/barrier_operand.h"
#include "sim/deferred_arrival.h"
#include "sim/exec_tensor.h"
#include "sim/handlers.h"
#include "sim/machine.h"
#include "sim/matrix.h"
#include "sim/tensor_area.h"
#include "sim/tensor_values.h"
#include "sim/unknown_operand.h"

namespace turnstile::sim {

namespace {

uint32_t thread_queue(Cta& cta, const Warp& warp, unsigned lane) {
  const auto [it, fresh] = cta.tensor.queues.try_emplace(warp.index * warp_size + lane, 0u);
  if (fresh)
    it->second = cta.recorder.add_queue({.kind = QueueInfo::Kind::tensor,
                                         .cta = cta.index,
                                         .warp = warp.index,
                                         .lane = static_cast<uint8_t>(lane)});
  return it->second;
}

uint32_t issue(Cta& cta, Warp& warp, const Decoded& d, AgentId agent, unsigned lane, AsyncOp::Kind kind,
               uint32_t barrier = AsyncOp::none) {
  AsyncOp op;
  op.kind = kind;
  op.issuer = agent;
  op.place = d.index;
  op.barrier = barrier;
  op.queue = thread_queue(cta, warp, lane);
  op.group = 1;
  const uint32_t number = cta.recorder.add_op(op);
  cta.recorder.add(EventKind::async_issue, agent, d.index).object = number;
  return number;
}

/// An operation of one thread that lands as a whole; `effect`: on the bits of tensor memory.
Step send(Cta& cta, Warp& warp, const Decoded& d, LaneMask lanes, AsyncOp::Kind kind,
          std::vector<TensorTouch> touches, std::function<void(Cta&)> effect = {}) {
  const AgentId agent = cta.strands_of(warp, lanes, d.index).front().agent;
  const auto lane = static_cast<unsigned>(std::countr_zero(lanes));
  const uint32_t number = issue(cta, warp, d, agent, lane, kind);
  cta.flights.push_back({number, [number, list = std::move(touches), act = std::move(effect)](Cta& c) {
                           if (act) act(c);
                           land_tensor(c, number, list);
                         }});
  return Step::next;
}

/// TC12, TC13: one thread issues. Nothing = go on.
std::optional<Step> not_one_thread(Cta& cta, const Warp& warp, const Decoded& d, LaneMask lanes) {
  if (std::popcount(lanes) == 1) return std::nullopt;
  return cta.fault(
      warp, lanes, d, "TC13",
      fmt::format("{} threads of warp {} execute '{}' at once: each issues an operation of its own",
                  std::popcount(lanes), warp.index, d.text->mnemonic),
      "let one elected thread issue it");
}

/// A shared-memory descriptor (PTX ISA 9.7.16.4.1).
struct SharedOperand {
  OperandView view;
  std::string problem;  ///< illegal (TC29)
  std::string unmodelled;
};

SharedOperand shared_operand(uint64_t descriptor) {
  SharedOperand o;
  o.view.start = static_cast<uint32_t>(descriptor & 0x3fff) << 4;
  o.view.leading_bytes = static_cast<uint32_t>(descriptor >> 16 & 0x3fff) << 4;
  o.view.stride_bytes = static_cast<uint32_t>(descriptor >> 32 & 0x3fff) << 4;
  const auto mode = static_cast<uint32_t>(descriptor >> 61);
  if ((descriptor >> 46 & 7) != 1)
    o.problem =
        fmt::format("bits 46 to 48 of a shared-memory descriptor are {}, not 1", descriptor >> 46 & 7);
  if (mode == 3 || mode == 5 || mode == 7)
    o.problem = fmt::format("swizzle mode {} in a shared-memory descriptor", mode);
  if (mode == 1) o.unmodelled = "a swizzle of 128 bytes in atoms of 32";
  if ((descriptor >> 49 & 7) != 0) o.unmodelled = "a matrix base offset";
  if ((descriptor >> 52 & 1) != 0) o.unmodelled = "an absolute leading dimension";
  o.view.swizzle = mode == 2   ? Swizzle::b128
                   : mode == 4 ? Swizzle::b64
                   : mode == 6 ? Swizzle::b32
                               : Swizzle::none;
  return o;
}

/// Byte ranges of an operand whose rows lie along K (K-major): 32 bytes of K, or `row_bytes`.
std::vector<ByteRange> k_major(const OperandView& v, uint32_t rows, uint32_t row_bytes) {
  return operand_ranges(v, rows, row_bytes);
}

/// The part of the instruction descriptor that decides what is touched (PTX ISA 9.7.16.4.2).
struct MatrixShape {
  uint32_t m = 0, n = 0;
  bool a_mn_major = false, b_mn_major = false;
  uint32_t sparsity_selector = 0;
};
MatrixShape matrix_shape(uint32_t descriptor) {
  return {(descriptor >> 24 & 0x1f) << 4, (descriptor >> 17 & 0x3f) << 3, (descriptor >> 15 & 1) != 0,
          (descriptor >> 16 & 1) != 0, descriptor & 3};
}

/// TC28, the part that holds for every kind. Empty: legal.
std::string shape_problem(const MatrixShape& s, uint32_t group) {
  const bool m = group == 1 ? s.m == 64 || s.m == 128 : s.m == 128 || s.m == 256;
  const uint32_t step = group == 1 ? 8 : 16;
  if (!m) return fmt::format("M = {} with cta_group::{}", s.m, group);
  if (s.n == 0 || s.n % step != 0 || s.n > 256) return fmt::format("N = {} with cta_group::{}", s.n, group);
  return {};
}

/// The same for .ws.
std::string stationary_problem(const MatrixShape& s) {
  if (s.m != 32 && s.m != 64 && s.m != 128) return fmt::format("M = {}", s.m);
  if (s.n != 64 && s.n != 128 && s.n != 256) return fmt::format("N = {}", s.n);
  return {};
}

/// Lanes and columns of a matrix of `columns` columns at an address, in each CTA of the group (PTX ISA
/// 9.7.16.10.5). A pair with a sparse A of M = 128 uses half of the lanes, 64 rows in each CTA (layout C).
std::vector<TensorArea> matrix_areas(uint64_t address, const MatrixShape& s, uint32_t group, uint32_t columns,
                                     bool sparse) {
  const uint32_t lane = tensor_lane(address), column = tensor_column(address);
  if (group == 2 && !(sparse && s.m == 128))
    return {{lane, 128, column, s.m == 256 ? columns : (columns + 1) / 2}};  // 64 rows: halves side by side
  if (s.m == 128 && group == 1) return {{lane, 128, column, columns}};
  std::vector<TensorArea> out;  // 64 rows lie in 16 lanes of each quarter
  for (uint32_t quarter = 0; quarter < 4; ++quarter)
    out.push_back({lane % 32 + 32 * quarter, 16, column, columns});
  return out;
}

/// D of .ws fills all lanes: its columns lie in as many groups of lanes as M = 128 has more rows (layouts D,
/// E and G).
std::vector<TensorArea> stationary_areas(uint64_t address, const MatrixShape& s) {
  return {{tensor_lane(address), 128, tensor_column(address), s.n * s.m / 128}};
}

/// Columns of sparsity metadata: 4 bits for each 4 bytes of a row of A, one column of 32 bits for types of 16
/// bits and more, two for others. The address names a pair of columns, of which the selector then takes one;
/// where half of the lanes are used, which one is not modelled, and both count.
std::vector<TensorArea> metadata_areas(uint64_t address, const MatrixShape& s, uint32_t group,
                                       uint32_t element_bytes) {
  const bool half = group == 1 ? s.m == 64 : s.m == 128;
  const bool one = element_bytes >= 2 && !half && s.sparsity_selector < 2;
  if (half) return matrix_areas(address, s, group, 2, true);
  return {
      {tensor_lane(address), 128, tensor_column(address) + (one ? s.sparsity_selector : 0), one ? 1u : 2u}};
}

/// The part of a modifier behind this prefix ("kind::"); empty: there is none.
std::string_view modifier_after(const Decoded& d, std::string_view prefix) {
  for (const std::string& m : d.text->modifiers)
    if (m.rfind(prefix, 0) == 0) return std::string_view(m).substr(prefix.size());
  return {};
}

/// Scales along K of a block-scaled form; of one that does not say so, what its kind has.
uint32_t scale_blocks(const Decoded& d) {
  const std::string_view vector = modifier_after(d, "scale_vec::");
  if (!vector.empty()) return static_cast<uint32_t>(vector[0] - '0');
  const std::string_view kind = modifier_after(d, "kind::");
  if (std::find(d.text->modifiers.begin(), d.text->modifiers.end(), "block16") != d.text->modifiers.end())
    return 4;
  return kind == "mxf8f6f4" ? 1 : 2;
}

std::function<void(Cta&)> forget_columns(uint64_t address, uint32_t count, uint32_t group) {
  return [first = tensor_column(address), count, group](Cta& c) {
    c.tensor.contents.forget_columns(first, count);
    if (Cta* peer = group == 2 ? tensor_peer(c) : nullptr) peer->tensor.contents.forget_columns(first, count);
  };
}

/// Collects what an operation touches in the CTAs of its group; stops at the first thing that is wrong.
class Touches {
 public:
  Touches(Cta& cta, const Warp& warp, const Decoded& d, LaneMask lanes)
      : cta_(cta), warp_(warp), d_(d), lanes_(lanes) {
    ctas_.push_back(&cta);
    if (d.shape[1] == 2) ctas_.push_back(tensor_peer(cta));
  }

  void tensor(const std::vector<TensorArea>& areas, bool reads, bool writes) {
    for (Cta* c : ctas_) {
      if (failed_) return;
      if (const std::string why = tensor_area_problem(*c, areas); !why.empty())
        return fail("TC3", why, "allocate the columns first, and stay inside the allocation");
      const uint32_t footprint = tensor_footprint(*c, areas);
      if (reads) list.push_back({footprint, false});
      if (writes) list.push_back({footprint, true});
    }
  }

  /// The same offsets in both CTAs of a pair.
  template <typename Ranges>
  void shared(uint64_t descriptor, const char* what, Ranges ranges_of) {
    if (failed_) return;
    const SharedOperand operand = shared_operand(descriptor);
    if (!operand.problem.empty())
      return fail("TC29", operand.problem, "build the descriptor as PTX ISA 9.7.16.4.1 says");
    if (!operand.unmodelled.empty()) {
      failed_ = cta_.unknown(d_, fmt::format("'{}' has {}, which the simulator has no model of",
                                             d_.text->mnemonic, operand.unmodelled));
      return;
    }
    const std::vector<ByteRange> ranges = ranges_of(operand.view);
    for (Cta* c : ctas_) {
      if (ranges.front().begin < AddressMap::shared_static_base || ranges.back().end > c->shared.size())
        return fail("TC29",
                    fmt::format("{} of '{}' lies at shared 0x{:x} to 0x{:x}, outside shared memory", what,
                                d_.text->mnemonic, ranges.front().begin, ranges.back().end),
                    "check the descriptor: start address >> 4, strides >> 4, swizzle mode");
      list.push_back({c->shared_footprint(ranges), false});
    }
  }

  void fail(const char* rule, std::string text, std::string help) {
    failed_ = cta_.fault(warp_, lanes_, d_, rule, std::move(text), std::move(help));
  }
  std::optional<Step> failed() const { return failed_; }

  std::vector<TensorTouch> list;

 private:
  Cta& cta_;
  const Warp& warp_;
  const Decoded& d_;
  LaneMask lanes_;
  std::vector<Cta*> ctas_;
  std::optional<Step> failed_;
};

}  // namespace

// Sources: [d], a or [a], b {, [sparse metadata]}, instruction descriptor, with block scaling [scale a],
// [scale b], ..., enable-input-d at shape[2]. variant: bits of TensorForm. shape[0]: bytes of an element
// along M or N. Of a sparse A the half that is stored has the size of a dense one; of B there is twice as
// much.
Step exec_tensor_mma(Cta& cta, Warp& warp, const Decoded& d, LaneMask lanes) {
  if (auto step = not_one_thread(cta, warp, d, lanes)) return *step;
  if (auto step = wrong_cta_group(cta, warp, d, lanes, true)) return *step;
  const bool scaled = (d.variant & tensor_scaled) != 0, a_in_tensor = (d.variant & tensor_a) != 0;
  const bool sparse = (d.variant & tensor_sparse) != 0, stationary = (d.variant & tensor_stationary) != 0;
  const size_t descriptor_at = sparse ? 4 : 3;
  if (!known_in(warp, std::span(d.src).first(descriptor_at + (scaled ? 3 : 1)), lanes))
    return unknown_operand(cta, d);
  const auto lane = static_cast<unsigned>(std::countr_zero(lanes));
  auto address = [&](size_t source, size_t offset) {
    return warp.regs.get(d.src[source], lane) + static_cast<uint64_t>(d.offsets[offset]);
  };
  const uint32_t group = d.shape[1];
  const MatrixShape shape = matrix_shape(static_cast<uint32_t>(warp.regs.get(d.src[descriptor_at], lane)));
  if (const std::string why = stationary ? stationary_problem(shape) : shape_problem(shape, group);
      !why.empty())
    return cta.fault(
        warp, lanes, d, "TC28", fmt::format("'{}' with {}, which it does not have", d.text->mnemonic, why),
        stationary ? "M is 32, 64 or 128, N 64, 128 or 256"
                   : "M is 64 or 128 (a pair: 128 or 256), N up to 256 in steps of 8 (a pair: 16)");
  const uint32_t rows = group == 2 ? shape.m / 2 : shape.m, b_rows = group == 2 ? shape.n / 2 : shape.n;
  constexpr uint32_t k_bytes = 32, k_columns = k_bytes / 4;  // of one instruction, in every kind
  const uint32_t b_k_bytes = sparse ? 2 * k_bytes : k_bytes;
  Touches touches(cta, warp, d, lanes);
  if (a_in_tensor && stationary && shape.m != 128)
    return cta.unknown(
        d, fmt::format("'{}' with A of {} rows in tensor memory: which lanes hold it is not modelled",
                       d.text->mnemonic, shape.m));
  if (a_in_tensor) {
    MatrixShape of_a = shape;
    if (shape.m == 128 && group == 2 && !sparse) of_a.m = 256;
    touches.tensor(matrix_areas(address(1, 1), of_a, group, k_columns, sparse), true, false);
  } else {
    touches.shared(warp.regs.get(d.src[1], lane), "A", [&](const OperandView& v) {
      return shape.a_mn_major ? mn_major_ranges(v, rows * d.shape[0], k_bytes / d.shape[0])
                              : k_major(v, rows, k_bytes);
    });
  }
  const uint64_t b = warp.regs.get(d.src[2], lane);
  if (!shape.b_mn_major && shared_operand(b).view.swizzle == Swizzle::b32 && b_k_bytes > 32)
    return cta.unknown(d, fmt::format("'{}' has a B of 64 bytes along K in a swizzle of 32 bytes, which the "
                                      "simulator has no model of",
                                      d.text->mnemonic));
  touches.shared(b, "B", [&](const OperandView& v) {
    return shape.b_mn_major ? mn_major_ranges(v, b_rows * d.shape[0], b_k_bytes / d.shape[0])
                            : k_major(v, b_rows, b_k_bytes);
  });
  if (sparse) {
    const size_t offset = a_in_tensor ? 2 : 1;
    touches.tensor(metadata_areas(address(3, offset), shape, group, d.shape[0]), true, false);
  }
  if (scaled) {  // one column holds the factors of 32 rows
    const size_t first = (a_in_tensor ? 2u : 1u) + (sparse ? 1u : 0u);
    for (size_t i = 0; i < 2; ++i) {
      const uint64_t at = address(descriptor_at + 1 + i, first + i);
      touches.tensor({{0, TensorArea::all_lanes, tensor_column(at), ((i == 0 ? rows : shape.n) + 31) / 32}},
                     true, false);
    }
  }
  const uint32_t enable = d.src[d.shape[2]];
  const bool accumulates =
      !warp.regs.known(enable, lane) || ((warp.regs.get(enable, lane) ^ (d.negated >> d.shape[2])) & 1) != 0;
  touches.tensor(stationary ? stationary_areas(address(0, 0), shape)
                            : matrix_areas(address(0, 0), shape, group, shape.n, sparse),
                 accumulates, true);
  if (touches.failed()) return *touches.failed();
  if (cta.options.domain != Domain::bits)
    return send(cta, warp, d, lanes, AsyncOp::Kind::tensor_mma, std::move(touches.list));

  TensorProduct product;
  if (!d.opaque && warp.regs.known(enable, lane))
    product = read_instruction_descriptor(modifier_after(d, "kind::"),
                                          static_cast<uint32_t>(warp.regs.get(d.src[descriptor_at], lane)),
                                          scaled ? scale_blocks(d) : 0);
  product.m = shape.m;
  product.n = shape.n;
  product.d = address(0, 0);
  product.a_in_tensor = a_in_tensor;
  product.accumulates = accumulates;
  if (a_in_tensor)
    product.a_address = address(1, 1);
  else
    product.a = shared_operand(warp.regs.get(d.src[1], lane)).view;
  product.b = shared_operand(b).view;
  if (scaled) {
    const size_t first = a_in_tensor ? 2 : 1;
    product.a_scales = address(descriptor_at + 1, first);
    product.b_scales = address(descriptor_at + 2, first + 1);
  }
  // What is not predicted takes whole columns, of both CTAs, with it.
  if (!product.arithmetic.predicted())
    return send(cta, warp, d, lanes, AsyncOp::Kind::tensor_mma, std::move(touches.list),
                forget_columns(address(0, 0), shape.n, group));
  return send(cta, warp, d, lanes, AsyncOp::Kind::tensor_mma, std::move(touches.list),
              [product](Cta& c) { compute_tensor_product(c, product); });
}

// Sources: [address], shared-memory descriptor. shape[0]: rows, shape[2]: bytes of a row.
Step exec_tensor_copy_in(Cta& cta, Warp& warp, const Decoded& d, LaneMask lanes) {
  if (auto step = not_one_thread(cta, warp, d, lanes)) return *step;
  if (auto step = wrong_cta_group(cta, warp, d, lanes, true)) return *step;
  if (!known_in(warp, std::span(d.src).first(2), lanes)) return unknown_operand(cta, d);
  const auto lane = static_cast<unsigned>(std::countr_zero(lanes));
  const uint64_t to = warp.regs.get(d.src[0], lane) + static_cast<uint64_t>(d.offsets[0]);
  Touches touches(cta, warp, d, lanes);
  touches.shared(warp.regs.get(d.src[1], lane), "the source",
                 [&](const OperandView& v) { return k_major(v, d.shape[0], d.shape[2]); });
  // Copies of fewer than 128 rows are repeated in the other quarters (warpx2, warpx4).
  touches.tensor(
      {{tensor_lane(to), d.shape[0] == 4 ? 4 : TensorArea::all_lanes, tensor_column(to), d.shape[2] / 4}},
      false, true);
  if (touches.failed()) return *touches.failed();
  if (cta.options.domain != Domain::bits)
    return send(cta, warp, d, lanes, AsyncOp::Kind::tensor_copy, std::move(touches.list));
  if (d.opaque)
    return send(cta, warp, d, lanes, AsyncOp::Kind::tensor_copy, std::move(touches.list),
                forget_columns(to, d.shape[2] / 4, d.shape[1]));
  const OperandView from = shared_operand(warp.regs.get(d.src[1], lane)).view;
  return send(cta, warp, d, lanes, AsyncOp::Kind::tensor_copy, std::move(touches.list),
              [from, to, rows = d.shape[0], bytes = d.shape[2], group = d.shape[1],
               multicast = modifier_after(d, "warpx2::")](Cta& c) {
                copy_into_tensor(c, from, to, rows, bytes, multicast);
                if (Cta* peer = group == 2 ? tensor_peer(c) : nullptr)
                  copy_into_tensor(*peer, from, to, rows, bytes, multicast);
              });
}

// Sources: [address]. All rows move down by one, eight columns of them.
Step exec_tensor_shift(Cta& cta, Warp& warp, const Decoded& d, LaneMask lanes) {
  if (auto step = not_one_thread(cta, warp, d, lanes)) return *step;
  if (auto step = wrong_cta_group(cta, warp, d, lanes, true)) return *step;
  if (!known_in(warp, std::span(d.src).first(1), lanes)) return unknown_operand(cta, d);
  const auto lane = static_cast<unsigned>(std::countr_zero(lanes));
  const uint64_t at = warp.regs.get(d.src[0], lane) + static_cast<uint64_t>(d.offsets[0]);
  Touches touches(cta, warp, d, lanes);
  touches.tensor({{0, TensorArea::all_lanes, tensor_column(at), 8}}, true, true);
  if (touches.failed()) return *touches.failed();
  return send(cta, warp, d, lanes, AsyncOp::Kind::tensor_copy, std::move(touches.list),
              forget_columns(at, 8, d.shape[1]));
}

namespace {

/// TC24: the live barrier of this CTA whose shared address stands where a generic one belongs.
std::optional<BarrierPlace> shared_as_generic(Cta& cta, const Warp& warp, const Decoded& d, unsigned lane) {
  const uint64_t address = warp.regs.get(d.src[0], lane) + static_cast<uint64_t>(d.offsets[0]);
  if (d.space != AddressSpace::generic || address >> 32 != 0 || cta.owner_of(address) != &cta) return {};
  const uint64_t offset = cta.shared_offset(address);
  const BarrierObject* barrier = offset % 8 == 0 ? cta.barrier_at(offset) : nullptr;
  if (barrier == nullptr || !barrier->state.valid()) return {};
  return BarrierPlace{&cta, offset};
}

}  // namespace

// Sources: [mbarrier] {, mask of CTAs}. One arrival on each barrier when what this thread issued before is
// done (TC24); nothing issued: at once, as soon as it lands.
Step exec_tensor_commit(Cta& cta, Warp& warp, const Decoded& d, LaneMask lanes) {
  if (auto step = wrong_cta_group(cta, warp, d, lanes, false)) return *step;
  if (!known_in(warp, d.src, lanes)) return unknown_operand(cta, d);
  const uint32_t size = cta.machine.cluster_size();
  for (const Strand& s : cta.strands_of(warp, lanes, d.index))
    for (LaneMask rest = s.lanes; rest != 0; rest &= rest - 1) {
      const auto lane = static_cast<unsigned>(std::countr_zero(rest));
      const LaneMask bit = LaneMask{1} << lane;
      std::optional<BarrierPlace> place = barrier_place(cta, warp, d, lane);
      if (!place) {
        place = shared_as_generic(cta, warp, d, lane);
        if (place)
          cta.recorder.fault(s.agent, d.index, "TC24",
                             fmt::format("'{}' has a generic operand and gets 0x{:x}, a shared address",
                                         d.text->mnemonic, warp.regs.get(d.src[0], lane)),
                             "tcgen05.commit...shared::cluster, or cvta.shared before");
      }
      if (!place)
        return cta.fault(
            warp, bit, d, "BS3",
            fmt::format("'{}' names no 8-byte aligned address in shared memory", d.text->mnemonic),
            "pass the shared-memory address of the barrier");
      uint64_t mask = uint64_t{1} << place->owner->rank;
      if (d.variant == 1) mask = warp.regs.get(d.src[1], lane) & 0xffff;
      if (mask == 0 || mask >> size != 0)
        return cta.fault(warp, bit, d, "DX3",
                         fmt::format("a commit to the CTAs of mask 0x{:x} in a cluster of {}", mask, size),
                         "name CTAs of the cluster; does the launch have clusters?");
      for (uint32_t r = 0; r < size; ++r) {
        if ((mask >> r & 1) == 0) continue;
        Cta* target = cta.machine.ctas[cta.cluster * size + r].get();
        BarrierObject* barrier = target->barrier_at(place->offset);
        if (target != &cta && target->ended())
          return cta.fault(
              warp, bit, d, "D2", fmt::format("a commit to the CTA of rank {}, which has ended", r),
              "keep every CTA alive until its peers are done with it: a cluster barrier before the exit");
        if (barrier == nullptr || !barrier->state.valid())
          return cta.fault(warp, bit, d, "MB10",
                           fmt::format("a commit arrives on {}{}, which is not an initialised mbarrier",
                                       cta.shared_name(place->offset),
                                       target == &cta ? "" : fmt::format(" of the CTA of rank {}", r)),
                           target == &cta
                               ? "mbarrier.init, then a CTA barrier, before the first commit"
                               : "mbarrier.init, then a cluster barrier (arrive and wait) that both "
                                 "CTAs pass, before the first commit");
        const uint32_t number =
            issue(cta, warp, d, s.agent, lane, AsyncOp::Kind::tensor_commit, barrier->number);
        cta.flights.push_back(
            {number, [number, barrier, target](Cta& c) { land_arrival(c, number, *barrier, *target); }});
      }
    }
  return Step::next;
}

}  // namespace turnstile::sim
