// SPDX-License-Identifier: Apache-2.0
// Mnemonics of tcgen05 (ptx.md 7.5).
#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "sim/form_reading.h"
#include "sim/forms_async.h"
#include "sim/handlers.h"
#include "sim/tensor_area.h"
#include "sim/tensor_values.h"

namespace turnstile::sim {

namespace {

/// tcgen05.ld and st: .sync.aligned.SHAPE.xN{.pack::16b}.b32
Reading read_access(const ptx::Instruction& i, Decoded& d) {
  d.run = exec_tensor_access;
  d.variant = i.modifiers[1] == "st" ? 1 : 0;
  if (i.modifiers.size() < 7 || i.modifiers[2] != "sync" || i.modifiers[3] != "aligned" ||
      i.modifiers.back() != "b32")
    return "its modifiers";
  const std::string& shape = i.modifiers[4];
  const std::string& count = i.modifiers[5];
  uint32_t repeat = 0;
  if (count.size() < 2 || count[0] != 'x' ||
      std::from_chars(count.data() + 1, count.data() + count.size(), repeat).ptr !=
          count.data() + count.size())
    return "its modifiers";
  d.is_signed = has(i, d.variant == 1 ? "unpack::16b" : "pack::16b");
  if (i.modifiers.size() != (d.is_signed ? 8u : 7u)) return "its modifiers";
  d.shape[2] = repeat;
  const uint32_t registers = tensor_access_registers(shape, repeat);
  if (registers == 0) return fmt::format("shape .{}.{}", shape, count);
  const size_t split = shape == "16x32bx2" ? 1 : 0;
  if (split == 1) {
    const size_t at = d.variant == 1 ? 1 : 2;
    if (i.operands.size() != 3 || i.operands[at].kind != ptx::OperandKind::immediate) return "its operands";
    d.shape[0] = static_cast<uint32_t>(std::min<uint64_t>(i.operands[at].immediate, 0xffff));
  }
  d.opaque = !tensor_access_place(shape, 0, 0).has_value();
  const size_t given = d.variant == 1 ? d.src.size() - 1 - split : d.dst.size();
  return given == registers ? fine : Reading(fmt::format("{} registers", given));
}

Reading read_tensor_mma(const ptx::Instruction& i, Decoded& d) {
  d.run = exec_tensor_mma;
  const bool sparse = has(i, "sp"), stationary = has(i, "ws");
  std::string_view kind;
  for (const std::string& m : i.modifiers)
    if (m.rfind("kind::", 0) == 0) kind = std::string_view(m).substr(6);
  const bool scaled = has(i, "block_scale");
  const bool mx = kind.rfind("mx", 0) == 0;
  if (scaled != mx) return "its modifiers";
  if (kind == "f16")
    d.shape[0] = 2;
  else if (kind == "tf32")
    d.shape[0] = 4;
  else if (kind == "f8f6f4" || kind == "i8" || kind == "mxf8f6f4" || kind == "mxf4" || kind == "mxf4nvf4")
    d.shape[0] = 1;
  else
    return fmt::format("kind '{}'", kind);
  if (!std::all_of(i.modifiers.begin() + 1, i.modifiers.end(), [&](const std::string& m) {
        return m == "mma" || m == "sp" || m == "ws" || m == "cta_group::1" || m == "cta_group::2" ||
               m.rfind("kind::", 0) == 0 || m == "block_scale" || m.rfind("scale_vec::", 0) == 0 ||
               m == "block16" || m == "block32" || m.rfind("collector::", 0) == 0 || m == "ashift";
      }))
    return "its modifiers";
  if (has(i, "ashift") && (has(i, "collector::a::use") || has(i, "collector::a::fill")))
    return "a .collector that does not go with .ashift (TC30)";
  if (stationary && (scaled || has(i, "cta_group::2") || has(i, "ashift"))) return "its modifiers";
  // [d], a or [a], b {, [sparse metadata]}, idesc {, [scale a], [scale b]} {, {lanes that are not written}},
  // enable-input-d {, scale; .ws: columns of B that are zero}
  size_t at = (scaled ? 6u : 4u) + (sparse ? 1u : 0u);
  if (i.operands.size() <= at) return "its operands";
  d.variant = static_cast<uint8_t>((i.operands[1].kind == ptx::OperandKind::address ? tensor_a : 0) |
                                   (scaled ? tensor_scaled : 0) | (sparse ? tensor_sparse : 0) |
                                   (stationary ? tensor_stationary : 0));
  size_t source = at;
  if (stationary && i.operands[at].kind == ptx::OperandKind::vector) return "its operands";
  if (i.operands[at].kind == ptx::OperandKind::vector) {
    if (i.operands[at].elements.size() != (has(i, "cta_group::2") ? 8u : 4u)) return "this mask of lanes";
    source += i.operands[at].elements.size();
    ++at;
  }
  d.shape[2] = static_cast<uint32_t>(source);
  // No source says what the others give: numerics.md section 4. Nor is anything known of lanes that are left
  // out, or of a scaled D.
  d.opaque = sparse || stationary || has(i, "cta_group::2") || has(i, "ashift") || source != at ||
             i.operands.size() != at + 1;
  return at < i.operands.size() && source < d.src.size() ? fine : Reading("its operands");
}

Reading read_copy_in(const ptx::Instruction& i, Decoded& d) {
  struct Shape {
    std::string_view name;
    uint32_t rows, bytes;
  };
  static constexpr Shape shapes[] = {{"128x256b", 128, 32},
                                     {"4x256b", 4, 32},
                                     {"128x128b", 128, 16},
                                     {"64x128b", 64, 16},
                                     {"32x128b", 32, 16}};
  d.run = exec_tensor_copy_in;
  if (!only(i, {"cp", "cta_group::1", "cta_group::2", "128x256b", "4x256b", "128x128b", "64x128b", "32x128b",
                "warpx2::02_13", "warpx2::01_23", "warpx4", "b8x16", "b6x16_p32", "b4x16_p64"}))
    return "its modifiers";
  for (const Shape& s : shapes)
    if (has(i, s.name)) {
      d.shape[0] = s.rows;
      d.shape[2] = s.bytes;
      // Which lanes get the four rows, and how narrow elements are spread, is not modelled.
      d.opaque = s.rows == 4 || has(i, "b8x16") || has(i, "b6x16_p32") || has(i, "b4x16_p64");
      return fine;
    }
  return "this shape";
}

}  // namespace

Reading read_tensor(const ptx::Instruction& i, Decoded& d) {
  const std::string_view verb =
      i.modifiers.size() > 1 ? std::string_view(i.modifiers[1]) : std::string_view();
  if (verb == "fence::before_thread_sync" || verb == "fence::after_thread_sync") {
    d.run = exec_fence;
    d.variant = static_cast<uint8_t>(verb == "fence::before_thread_sync" ? EventKind::tensor_fence_before
                                                                         : EventKind::tensor_fence_after);
    return i.modifiers.size() == 2 ? fine : Reading("its modifiers");
  }
  if (verb == "wait::ld" || verb == "wait::st") {
    d.run = exec_tensor_wait;
    d.variant = verb == "wait::st" ? 1 : 0;
    return only(i, {verb, "sync", "aligned"}) ? fine : Reading("its modifiers");
  }
  if (verb == "ld" || verb == "st") return read_access(i, d);
  if (has(i, "cta_group::1") == has(i, "cta_group::2")) return "its modifiers";
  d.shape[1] = has(i, "cta_group::2") ? 2 : 1;
  if (verb == "alloc") {
    d.run = exec_tensor_alloc;
    return only(i, {"alloc", "cta_group::1", "cta_group::2", "sync", "aligned", "shared::cta", "b32"})
               ? fine
               : Reading("its modifiers");
  }
  if (verb == "dealloc") {
    d.run = exec_tensor_dealloc;
    return only(i, {"dealloc", "cta_group::1", "cta_group::2", "sync", "aligned", "b32"})
               ? fine
               : Reading("its modifiers");
  }
  if (verb == "relinquish_alloc_permit") {
    d.run = exec_tensor_relinquish;
    return only(i, {verb, "cta_group::1", "cta_group::2", "sync", "aligned"}) ? fine
                                                                              : Reading("its modifiers");
  }
  if (verb == "mma") return read_tensor_mma(i, d);
  if (verb == "cp") return read_copy_in(i, d);
  if (verb == "shift") {
    d.run = exec_tensor_shift;
    return only(i, {"shift", "cta_group::1", "cta_group::2", "down"}) && has(i, "down")
               ? fine
               : Reading("its modifiers");
  }
  if (verb != "commit") return "this operation";
  d.run = exec_tensor_commit;
  d.any_cta = true;
  d.variant = has(i, "multicast::cluster") ? 1 : 0;
  d.space = has(i, "shared::cluster") ? AddressSpace::shared : AddressSpace::generic;
  return only(i, {"commit", "cta_group::1", "cta_group::2", "mbarrier::arrive::one", "shared::cluster",
                  "multicast::cluster", "b64"}) &&
                 has(i, "mbarrier::arrive::one")
             ? fine
             : Reading("its modifiers");
}

std::optional<std::string> tensor_operand_shape(const Decoded& d) {
  const bool split = d.text->modifiers.size() > 4 && d.text->modifiers[4] == "16x32bx2";
  if (d.run == exec_tensor_access) return d.variant == 1 ? (split ? "aiS" : "aS") : (split ? "wai" : "wa");
  if (d.run == exec_tensor_wait || d.run == exec_tensor_relinquish) return "";
  if (d.run == exec_tensor_alloc) return "as";
  if (d.run == exec_tensor_dealloc) return "ss";
  if (d.run == exec_tensor_copy_in) return "as";
  if (d.run == exec_tensor_shift) return "a";
  if (d.run == exec_tensor_commit) return d.variant == 1 ? "as" : "a";
  if (d.run != exec_tensor_mma) return std::nullopt;
  std::string shape = (d.variant & tensor_a) != 0 ? "aas" : "ass";
  shape += (d.variant & tensor_sparse) != 0 ? "as" : "s";
  if ((d.variant & tensor_scaled) != 0) shape += "aa";
  if (d.text->operands[shape.size()].kind == ptx::OperandKind::vector) shape += "S";
  return shape + ((d.variant & tensor_stationary) != 0 ? "ps?" : "pi?");
}

}  // namespace turnstile::sim
