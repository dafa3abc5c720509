// SPDX-License-Identifier: Apache-2.0
#include "sim/forms_cluster.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/form_reading.h"
#include "sim/forms_async.h"
#include "sim/handlers.h"

namespace turnstile::sim {

namespace {

/// Width in bytes of the address form (.u32 or .u64); 0: neither.
uint8_t address_bytes(const ptx::Instruction& i) {
  return i.modifiers.back() == "u32" ? 4 : i.modifiers.back() == "u64" ? 8 : 0;
}

}  // namespace

Reading read_mapa(const ptx::Instruction& i, Decoded& d) {
  d.run = exec_mapa;
  d.space = has(i, "shared::cluster") ? AddressSpace::shared : AddressSpace::generic;
  d.bytes = address_bytes(i);
  return only(i, {"shared::cluster", "u32", "u64"}) && d.bytes != 0 ? fine : Reading("its modifiers");
}

Reading read_getctarank(const ptx::Instruction& i, Decoded& d) {
  d.run = exec_getctarank;
  d.space = has(i, "shared::cluster") ? AddressSpace::shared : AddressSpace::generic;
  d.bytes = address_bytes(i);
  return only(i, {"shared::cluster", "u32", "u64"}) && d.bytes != 0 ? fine : Reading("its modifiers");
}

Reading read_isspacep(const ptx::Instruction& i, Decoded& d) {
  d.run = exec_isspacep;
  if (i.modifiers.size() != 2 || !only(i, {"global", "local", "shared", "shared::cta", "shared::cluster",
                                           "param", "param::entry", "const"}))
    return std::string("this state space");
  const std::string& space = i.modifiers[1];
  d.space = space == "global" || space == "const" ? AddressSpace::global
            : space == "local"                    ? AddressSpace::local
            : space.rfind("param", 0) == 0        ? AddressSpace::param
                                                  : AddressSpace::shared;
  d.any_cta = space == "shared::cluster";
  return space == "const" ? Reading("constant memory has no window of its own here") : fine;
}

Reading read_cluster_barrier(const ptx::Instruction& i, Decoded& d) {
  d.variant = has(i, "wait") ? 1 : 0;
  d.run = d.variant == 1 ? exec_cluster_wait : exec_cluster_arrive;
  d.is_signed = has(i, "relaxed");
  const bool fits = d.variant == 1 ? only(i, {"cluster", "wait", "acquire", "aligned"})
                                   : only(i, {"cluster", "arrive", "release", "relaxed", "aligned"});
  return fits && has(i, "arrive") != has(i, "wait") ? fine : Reading("its modifiers");
}

namespace {

/// Type of one element of an atomic, and how many of them one register holds.
struct AtomicType {
  std::string_view name;
  ElementType type;
  uint8_t bytes;  ///< of the register
};
constexpr AtomicType atomic_types[] = {
    {"b16", ElementType::b16, 2},    {"b32", ElementType::b32, 4},   {"b64", ElementType::b64, 8},
    {"u32", ElementType::u32, 4},    {"s32", ElementType::s32, 4},   {"u64", ElementType::u64, 8},
    {"s64", ElementType::s64, 8},    {"f32", ElementType::f32, 4},   {"f64", ElementType::f64, 8},
    {"f16", ElementType::f16, 2},    {"bf16", ElementType::bf16, 2}, {"f16x2", ElementType::f16, 4},
    {"bf16x2", ElementType::bf16, 4}};

}  // namespace

// atom{.sem}{.scope}{.space}.op{.noftz}{.vec}.type d, [a], b{, c}; red the same without d (M1: .relaxed.gpu).
Reading read_atomic(const ptx::Instruction& i, Decoded& d) {
  if (has(i, "async")) return read_store_async(i, d);
  d.run = exec_atomic;
  const AtomicType* type = nullptr;
  size_t type_at = i.modifiers.size() - 1;  // the last, but order is not canonical (PG24)
  for (size_t m = 1; m < i.modifiers.size(); ++m)
    for (const AtomicType& t : atomic_types)
      if (t.name == i.modifiers[m]) {
        if (type != nullptr) return std::string("its modifiers");
        type = &t;
        type_at = m;
      }
  if (type == nullptr) return fmt::format("type '.{}'", i.modifiers.back());
  d.bytes = type->bytes;
  d.reduction.type = type->type;
  d.variant = 0xff;
  bool space = false;
  for (size_t m = 1; m < i.modifiers.size(); ++m) {
    const std::string& x = i.modifiers[m];
    if (m == type_at) continue;
    if (x == "global" || x == "shared" || x == "shared::cta" || x == "shared::cluster") {
      d.space = x == "global" ? AddressSpace::global : AddressSpace::shared;
      d.any_cta = x == "shared::cluster";
      space = true;
    } else if (x == "exch" || x == "cas") {
      d.variant = x == "cas" ? atomic_compare_and_swap : atomic_exchange;
    } else if (const Reduction::Kind kind = reduction_kind(x); kind != Reduction::Kind::none) {
      d.variant = atomic_reduce;
      d.reduction.kind = kind;
    } else if (x == "v2" || x == "v4" || x == "v8") {
      d.vector = static_cast<uint8_t>(x[1] - '0');
    } else if (x == "acquire" || x == "acq_rel" || x == "release" || x == "relaxed") {
      d.order = static_cast<uint8_t>((x.rfind("acq", 0) == 0 ? order_acquire : 0) |
                                     (x == "release" || x == "acq_rel" ? order_release : 0));
    } else if (x != "L2::cache_hint" && x != "noftz" && x != "cta" && x != "cluster" && x != "gpu" &&
               x != "sys") {
      return fmt::format("modifier '.{}'", x);
    }
  }
  d.order |= order_strong;
  if (!has(i, "cta") && !has(i, "cluster") && !has(i, "sys")) d.scope = Scope::gpu;
  if (!space) d.space = AddressSpace::generic;
  const bool bits = type->name[0] == 'b' && type->name[1] != 'f';
  const bool half = d.bytes == 2 || type->name == "f16x2" || type->name == "bf16x2";
  if (i.root() == "red" && (d.variant != atomic_reduce || (d.order & order_acquire) != 0))
    return std::string("this operation");
  switch (d.variant) {
    case atomic_reduce:
      if (!reduction_is_defined(d.reduction) || (type->name == "b16"))
        return std::string("this operation on its type");
      if (half && !has(i, "noftz") && d.reduction.kind == Reduction::Kind::add)
        return std::string("a sum of half floats without .noftz");
      break;
    case atomic_exchange:
      if (!bits || d.bytes == 2) return std::string("this operation on its type");
      break;
    case atomic_compare_and_swap:
      if (!bits) return std::string("this operation on its type");
      break;
    default:
      return std::string("this operation");
  }
  if (d.vector > 1 &&
      (d.variant != atomic_reduce || d.space != AddressSpace::global || d.bytes * d.vector > 16))
    return std::string("this vector");
  return fine;
}

bool read_order(const ptx::Instruction& i, Decoded& d) {
  const bool load = i.root() == "ld", is_volatile = has(i, "volatile"), relaxed = has(i, "relaxed");
  const bool acquire = has(i, "acquire"), release = has(i, "release"), mmio = has(i, "mmio");
  const bool scope = has(i, "cta") || has(i, "cluster") || has(i, "gpu") || has(i, "sys");
  if (acquire + release + relaxed + is_volatile > 1 || (load ? release : acquire)) return false;
  if ((acquire || release || relaxed) != scope || (mmio && !relaxed)) return false;
  if (acquire || release || relaxed || is_volatile) d.order = order_strong;
  if (acquire) d.order |= order_acquire;
  if (release) d.order |= order_release;
  if (is_volatile) d.scope = Scope::sys;  // M12
  return d.order == 0 || (d.space != AddressSpace::local && d.space != AddressSpace::param);
}

Reading read_memory_fence(const ptx::Instruction& i, Decoded& d) {
  d.run = exec_fence;
  d.variant = static_cast<uint8_t>(EventKind::fence);
  const bool membar = i.root() == "membar", acquire = has(i, "acquire"), release = has(i, "release");
  if (!(membar ? only(i, {"cta", "gl", "sys"})
               : only(i, {"sc", "acq_rel", "acquire", "release", "cta", "cluster", "gpu", "sys"})))
    return std::string("its modifiers");
  // M13: .acq_rel is the default, membar is fence.sc, which is acq_rel as well (Q14).
  d.bytes = static_cast<uint8_t>((acquire ? 0 : Event::fence_release) | (release ? 0 : Event::fence_acquire) |
                                 (membar || has(i, "sc") ? Event::fence_sequential : 0));
  return fine;
}

void read_scope(const ptx::Instruction& i, Decoded& d) {
  for (const std::string& m : i.modifiers) {
    if (m == "cluster") d.scope = Scope::cluster;
    if (m == "gpu" || m == "gl") d.scope = Scope::gpu;
    if (m == "sys") d.scope = Scope::sys;
  }
}

std::optional<std::string> cluster_operand_shape(const Decoded& d) {
  if (d.run == exec_atomic) {
    const bool swaps = d.variant == atomic_compare_and_swap;
    const std::vector<std::string>& m = d.text->modifiers;
    const bool policy = std::find(m.begin(), m.end(), "L2::cache_hint") != m.end();  // a hint
    return std::string(d.text->root() == "red" ? "" : "v") +
           (d.vector > 1 ? "aS"
            : swaps      ? "ass"
                         : "as") +
           (policy ? "s" : "");
  }
  if (d.run == exec_mapa) return "dss";
  if (d.run == exec_getctarank) return "ds";
  if (d.run == exec_isspacep) return "fs";
  if (d.run == exec_cluster_arrive || d.run == exec_cluster_wait) return "";
  return std::nullopt;
}

std::string cluster_width_problem(const Decoded& d, const ptx::Entry& entry) {
  auto width = [&](size_t operand) -> unsigned {
    const ptx::Operand& o = d.text->operands[operand];
    return o.kind == ptx::OperandKind::reg ? entry.registers[o.reg.v].bits : 0;
  };
  auto wrong = [&](size_t operand, unsigned bits) {
    return width(operand) != 0 && width(operand) != bits
               ? fmt::format("uses a register of {} bits where it needs {}", width(operand), bits)
               : std::string();
  };
  if (d.run == exec_atomic) {
    const size_t address = d.text->root() == "red" ? 0 : 1;
    auto element = [&](const ptx::Operand& o) {
      const unsigned bits = o.kind == ptx::OperandKind::reg ? entry.registers[o.reg.v].bits : 0;
      return bits == 0 || bits == 8u * d.bytes;
    };
    auto fits = [&](const ptx::Operand& o) {
      if (o.kind != ptx::OperandKind::vector) return d.vector == 1 && element(o);
      return o.elements.size() == d.vector && std::all_of(o.elements.begin(), o.elements.end(), element);
    };
    for (size_t o = 0;
         o < d.text->operands.size() && o < address + (d.variant == atomic_compare_and_swap ? 3 : 2); ++o)
      if (o != address && !fits(d.text->operands[o]))
        return fmt::format("needs {} registers of {} bits as operand {}", d.vector, 8 * d.bytes, o + 1);
    return {};
  }
  if (d.run == exec_mapa) {
    for (size_t at : {size_t{0}, size_t{1}})
      if (std::string why = wrong(at, 8u * d.bytes); !why.empty()) return why;
    return wrong(2, 32);
  }
  if (d.run == exec_getctarank) {
    if (std::string why = wrong(0, 32); !why.empty()) return why;
    return wrong(1, 8u * d.bytes);
  }
  return {};
}

}  // namespace turnstile::sim
