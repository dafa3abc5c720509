// SPDX-License-Identifier: Apache-2.0
#include "sim/forms_async.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/descriptor.h"
#include "sim/form_reading.h"
#include "sim/handlers.h"

namespace turnstile::sim {

namespace {

Scope scope_of(const ptx::Instruction& i) {
  return has(i, "sys")       ? Scope::sys
         : has(i, "gpu")     ? Scope::gpu
         : has(i, "cluster") ? Scope::cluster
                             : Scope::cta;
}

/// [dst], [src], size {, source size or predicate} {, cache policy}.
Reading read_copy(const ptx::Instruction& i, Decoded& d) {
  if (!only(i, {"async", "ca", "cg", "shared", "shared::cta", "global", "L2::cache_hint", "L2::64B",
                "L2::128B", "L2::256B"}) ||
      !has(i, "global") || has(i, "ca") == has(i, "cg") || has(i, "shared") == has(i, "shared::cta"))
    return "its modifiers";
  d.run = exec_cp_async;
  const size_t policy = has(i, "L2::cache_hint") ? 1 : 0;
  if (i.operands.size() < 3 + policy || i.operands.size() > 4 + policy || d.src.size() != i.operands.size())
    return "its operands";
  if (i.operands[2].kind != ptx::OperandKind::immediate) return "a size that is not an immediate";
  const uint64_t bytes = i.operands[2].immediate;
  if (bytes != 16 && (has(i, "cg") || (bytes != 4 && bytes != 8)))
    return fmt::format("a copy of {} bytes", bytes);
  d.bytes = static_cast<uint8_t>(bytes);
  d.src.erase(d.src.begin() + 2);
  d.src.resize(d.src.size() - policy);  // the policy is a hint
  d.negated >>= 1;
  return fine;
}

}  // namespace

Reading read_cp_async(const ptx::Instruction& i, Decoded& d) {
  if (has(i, "mbarrier")) {
    d.run = exec_cp_async_arrive;
    d.variant = has(i, "noinc") ? 1 : 0;
    d.space = has(i, "shared") || has(i, "shared::cta") ? AddressSpace::shared : AddressSpace::generic;
    return only(i, {"async", "mbarrier", "arrive", "noinc", "shared", "shared::cta", "b64"}) &&
                   has(i, "arrive")
               ? fine
               : Reading("its modifiers");
  }
  if (has(i, "commit_group")) {
    d.run = exec_cp_async_commit;
    return only(i, {"async", "commit_group"}) ? fine : Reading("its modifiers");
  }
  if (has(i, "wait_group") || has(i, "wait_all")) {
    d.run = exec_cp_async_wait;
    d.variant = has(i, "wait_all") ? 1 : 0;
    return only(i, {"async", "wait_group", "wait_all"}) && i.modifiers.size() == 3 ? fine
                                                                                   : Reading("its modifiers");
  }
  return read_copy(i, d);
}

Reading read_bulk_reduction(const ptx::Instruction& i, Decoded& d, std::string_view& type) {
  if (!has(i, "reduce")) return fine;
  for (const std::string& m : i.modifiers)
    if (const Reduction::Kind kind = reduction_kind(m); kind != Reduction::Kind::none)
      d.reduction.kind = kind;
  if (d.reduction.kind == Reduction::Kind::none) return "no operation";
  if (has(i, "tensor")) return fine;  // the type is that of the map
  type = i.modifiers.back();
  const std::optional<ElementType> element = element_from_name(type);
  if (!element) return fmt::format("type '.{}'", type);
  d.reduction.type = *element;
  const bool half = *element == ElementType::f16 || *element == ElementType::bf16;
  if (has(i, "noftz") != (half && d.reduction.kind == Reduction::Kind::add)) return "its modifiers";
  return reduction_is_defined(d.reduction) ? fine : Reading(fmt::format("this operation on '.{}'", type));
}

Reading read_peer_copy(const ptx::Instruction& i, Decoded& d) {
  d.run = exec_peer_copy;
  if (has(i, "tensor") || has(i, "multicast::cluster") || has(i, "L2::cache_hint") ||
      !has(i, "shared::cluster"))
    return "its modifiers";
  return d.src.size() == 4 ? fine : Reading("its operands");
}

Reading read_store_async(const ptx::Instruction& i, Decoded& d) {
  d.run = exec_store_async;
  d.variant = i.root() == "red" ? 1 : 0;
  std::string_view operation;
  for (const std::string& m : i.modifiers)
    if (d.variant == 1 && reduction_kind(m) != Reduction::Kind::none) operation = m;
  const std::string_view type = i.modifiers.back();
  if (!only(i, {"async", "weak", "relaxed", "cluster", "shared::cluster", "mbarrier::complete_tx::bytes",
                "v2", "v4", operation, type}) ||
      !has(i, "mbarrier::complete_tx::bytes"))
    return "its modifiers";
  const std::optional<ElementType> element = element_from_name(type);
  d.bytes = element ? static_cast<uint8_t>(element_bytes(*element)) : 0;
  if (d.bytes != 4 && d.bytes != 8) return fmt::format("type '.{}'", type);
  if (d.variant == 1) {
    d.reduction = {reduction_kind(operation), *element};
    if (!reduction_is_defined(d.reduction)) return fmt::format("this operation on '.{}'", type);
  }
  const size_t values = has(i, "v4") ? 4 : has(i, "v2") ? 2 : 1;
  return d.src.size() == values + 2 ? fine : Reading("its operands");
}

Reading read_tensormap(const ptx::Instruction& i, Decoded& d) {
  if (has(i, "cp_fenceproxy")) {
    d.run = exec_tensormap_publish;
    d.scope = scope_of(i);
    if (i.operands.size() != 3 || i.operands[2].kind != ptx::OperandKind::immediate ||
        i.operands[2].immediate != 128)
      return "a size other than 128 (TMAP2)";
    return only(i, {"cp_fenceproxy", "global", "shared::cta", "tensormap::generic", "release", "cta",
                    "cluster", "gpu", "sys", "sync", "aligned"}) &&
                   has(i, "global") && has(i, "shared::cta")
               ? fine
               : Reading("its modifiers");
  }
  d.run = exec_tensormap_replace;
  d.space = has(i, "shared::cta") ? AddressSpace::shared
            : has(i, "global")    ? AddressSpace::global
                                  : AddressSpace::generic;
  if (i.modifiers.size() < 5 || i.modifiers[1] != "replace" || i.modifiers[2] != "tile")
    return "its modifiers";
  const std::optional<DescriptorField> field = descriptor_field(i.modifiers[3]);
  if (!field || !only(i, {"replace", "tile", i.modifiers[3], "shared::cta", "global", "b1024", "b32", "b64"}))
    return "its modifiers";
  d.variant = static_cast<uint8_t>(*field);
  const bool several = *field == DescriptorField::box_dim || *field == DescriptorField::global_dim ||
                       *field == DescriptorField::global_stride || *field == DescriptorField::element_stride;
  return i.operands.size() == (several ? 3u : 2u) ? fine : Reading("this number of operands");
}

Reading read_tensormap_fence(const ptx::Instruction& i, Decoded& d) {
  d.run = exec_tensormap_fence;
  d.variant = has(i, "release") ? 1 : 0;
  d.scope = scope_of(i);
  if (has(i, "release") == has(i, "acquire") ||
      !only(i, {"proxy", "tensormap::generic", "release", "acquire", "cta", "cluster", "gpu", "sys"}))
    return "its modifiers";
  if (d.variant == 1) return fine;
  return i.operands.size() == 2 && i.operands[1].kind == ptx::OperandKind::immediate &&
                 i.operands[1].immediate == 128
             ? fine
             : Reading("a size other than 128 (TMAP2)");
}

Reading read_grid_dependency(const ptx::Instruction& i, Decoded& d) {
  d.run = exec_grid_dependency;
  const bool launches = has(i, "launch_dependents");
  d.variant = static_cast<uint8_t>(launches ? EventKind::dependents_launch : EventKind::dependency_wait);
  return i.modifiers.size() == 2 && (launches || has(i, "wait")) ? fine : Reading("its modifiers");
}

Reading read_launch_control(const ptx::Instruction& i, Decoded& d) {
  d.space = AddressSpace::generic;
  if (has(i, "try_cancel")) {
    d.run = exec_try_cancel;
    d.variant = has(i, "multicast::cluster::all") ? 1 : 0;
    if (has(i, "shared::cta")) d.space = AddressSpace::shared;
    return only(i, {"try_cancel", "async", "shared::cta", "mbarrier::complete_tx::bytes",
                    "multicast::cluster::all", "b128"}) &&
                   has(i, "async") && has(i, "mbarrier::complete_tx::bytes") && has(i, "b128")
               ? fine
               : Reading("its modifiers");
  }
  if (!has(i, "query_cancel") || i.modifiers.back() != "b128") return "its modifiers";
  if (has(i, "is_canceled")) {
    d.run = exec_is_canceled;
    return only(i, {"query_cancel", "is_canceled", "pred", "b128"}) ? fine : Reading("its modifiers");
  }
  d.run = exec_first_ctaid;
  d.variant = has(i, "get_first_ctaid::x")   ? 0
              : has(i, "get_first_ctaid::y") ? 1
              : has(i, "get_first_ctaid::z") ? 2
                                             : 3;
  const bool vector = d.variant == 3;
  if (!only(i, {"query_cancel", "get_first_ctaid", "get_first_ctaid::x", "get_first_ctaid::y",
                "get_first_ctaid::z", "v4", "b32", "b128"}) ||
      vector != has(i, "v4") || vector != has(i, "get_first_ctaid"))
    return "its modifiers";
  return d.dst.size() == (vector ? 4u : 1u) ? fine : Reading("this number of results");
}

std::optional<std::string> async_operand_shape(const Decoded& d) {
  if (d.run == exec_cp_async) {
    const bool negated = d.text->operands.size() > 3 && d.text->operands[3].negated;
    return negated ? "aaip?s?" : "aaix?s?";
  }
  if (d.run == exec_cp_async_commit) return "";
  if (d.run == exec_cp_async_wait) return d.variant == 1 ? "" : "i";
  if (d.run == exec_cp_async_arrive) return "a";
  if (d.run == exec_peer_copy) return "aasa";
  if (d.run == exec_store_async) return "aSa";
  if (d.run == exec_tensormap_replace) return d.text->operands.size() == 3 ? "ass" : "as";
  if (d.run == exec_tensormap_publish) return "aai";
  if (d.run == exec_tensormap_fence) return d.variant == 1 ? "" : "ai";
  if (auto shape = tensor_operand_shape(d)) return shape;
  if (d.run == exec_grid_dependency) return "";
  if (d.run == exec_try_cancel) return "aa";
  if (d.run == exec_is_canceled) return "fs";
  if (d.run == exec_first_ctaid) return d.variant == 3 ? "vs" : "Ds";
  return std::nullopt;
}

}  // namespace turnstile::sim
