// SPDX-License-Identifier: Apache-2.0
// The instruction table: which mnemonics mean what. A family is one row: its root, and the function that
// reads its modifiers and picks the semantic function of exec_*.cc. Pure arithmetic is the table of sim/alu.
// To add a form: one row here (or there), one semantic function, one test. What no row accepts is an error
// with its position: never skipped (PG30).
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "sim/form_reading.h"
#include "sim/forms_async.h"
#include "sim/forms_cluster.h"
#include "sim/forms_matrix.h"
#include "sim/handlers.h"
#include "sim/numerics/tensor_core.h"
#include "sim/poll_loop.h"

namespace turnstile::sim {

namespace {

using Modifiers = std::vector<std::string>;

AddressSpace space_of(const ptx::Instruction& i) {
  for (const std::string& m : i.modifiers) {
    if (m == "shared" || m == "shared::cta" || m == "shared::cluster") return AddressSpace::shared;
    if (m == "global") return AddressSpace::global;
    if (m == "local") return AddressSpace::local;
    if (m.rfind("param", 0) == 0) return AddressSpace::param;
    if (m == "const") return AddressSpace::global;
  }
  return AddressSpace::generic;
}

/// Element size in bytes and signedness of the last type modifier.
bool memory_type(const ptx::Instruction& i, Decoded& d) {
  const std::string& t = i.modifiers.back();
  if (t.size() < 2) return false;
  const unsigned bits = static_cast<unsigned>(std::strtoul(t.c_str() + 1, nullptr, 10));
  if ((t[0] != 'b' && t[0] != 'u' && t[0] != 's' && t[0] != 'f') ||
      (bits != 8 && bits != 16 && bits != 32 && bits != 64))
    return false;
  d.bytes = static_cast<uint8_t>(bits / 8);
  d.is_signed = t[0] == 's';
  return true;
}

bool is_order(std::string_view m) {
  return m == "relaxed" || m == "acquire" || m == "release" || m == "volatile" || m == "mmio" || m == "cta" ||
         m == "cluster" || m == "gpu" || m == "sys";
}

Reading read_memory(const ptx::Instruction& i, Decoded& d) {
  for (size_t m = 1; m + 1 < i.modifiers.size(); ++m) {
    const std::string& x = i.modifiers[m];
    const bool plain = x == "shared" || x == "shared::cta" || x == "global" || x == "local" ||
                       x.rfind("param", 0) == 0 || x == "const" || x == "v2" || x == "v4" || x == "v8" ||
                       x == "nc" || x == "weak" || x == "ca" || x == "cg" || x == "cs" || x == "lu" ||
                       x == "cv" || x == "wb" || x == "wt" || is_order(x) || x == "shared::cluster" ||
                       x.rfind("L1::", 0) == 0 || x.rfind("L2::", 0) == 0;
    if (!plain) return fmt::format("modifier '.{}'", x);
    if (x[0] == 'v' && x.size() == 2 && x[1] >= '2' && x[1] <= '8')
      d.vector = static_cast<uint8_t>(x[1] - '0');
  }
  if (has(i, "L2::cache_hint")) {  // the policy, last of the operands, is a hint
    if (d.src.size() < 2) return std::string("its operands");
    d.src.pop_back();
  }
  if (i.modifiers.back() == "b128" && d.vector == 1 && !d.dst.empty()) {
    d.bytes = 8;  // of a 128-bit register only the low half is kept: the answer of a try_cancel lies there
    d.vector = 2;
    d.dst.push_back(Decoded::none);
  } else if (!memory_type(i, d)) {
    return fmt::format("type '.{}'", i.modifiers.back());
  }
  if (d.bytes * d.vector > 32) return std::string("more than 32 bytes at once");
  d.space = space_of(i);
  if (d.call_parameter) {  // parameters of calls lie with the thread's local variables
    if (d.space != AddressSpace::param) return std::string("a parameter of a call");
    d.space = AddressSpace::local;
  }
  d.any_cta = has(i, "shared::cluster");
  if (!read_order(i, d)) return std::string("its memory order");
  return fine;
}

Reading read_load(const ptx::Instruction& i, Decoded& d) {
  d.run = exec_load;
  return read_memory(i, d);
}
Reading read_store(const ptx::Instruction& i, Decoded& d) {
  if (has(i, "async")) return read_store_async(i, d);
  d.run = exec_store;
  if (has(i, "const") || (space_of(i) == AddressSpace::param && !d.call_parameter))
    return std::string("a store to constant memory");
  return read_memory(i, d);
}

/// Width in bytes of a type like "b32"; 0 if there is none.
uint8_t type_bytes(std::string_view type) {
  static constexpr std::array<std::pair<std::string_view, uint8_t>, 13> widths = {{{"b8", 1},
                                                                                   {"u8", 1},
                                                                                   {"s8", 1},
                                                                                   {"b16", 2},
                                                                                   {"u16", 2},
                                                                                   {"s16", 2},
                                                                                   {"b32", 4},
                                                                                   {"u32", 4},
                                                                                   {"s32", 4},
                                                                                   {"f32", 4},
                                                                                   {"b64", 8},
                                                                                   {"u64", 8},
                                                                                   {"s64", 8}}};
  if (type == "f64") return 8;
  for (const auto& [name, bytes] : widths)
    if (name == type) return bytes;
  return 0;
}

bool is_vector(const ptx::Operand& o) { return o.kind == ptx::OperandKind::vector && o.elements.size() > 1; }

/// A 128-bit register keeps its low half only (the answer of a try_cancel): the high half is not known.
Reading read_wide_move(const ptx::Instruction& i, Decoded& d) {
  d.run = exec_move;
  d.bytes = 16;
  if (i.operands.size() != 2) return fine;
  const bool from_vector = is_vector(i.operands[1]), to_vector = is_vector(i.operands[0]);
  if (from_vector && to_vector) return std::string("a move between two vectors");
  if (!from_vector && !to_vector) return fine;
  d.run = exec_move_wide;
  d.vector = 2;
  return i.operands[from_vector ? 1 : 0].elements.size() == 2 ? fine : Reading("this number of parts");
}

Reading read_move(const ptx::Instruction& i, Decoded& d) {
  const std::string& t = i.modifiers.back();
  if (i.modifiers.size() != 2) return std::string("its modifiers");
  if (t == "b128") return read_wide_move(i, d);
  d.bytes = type_bytes(t);
  if (d.bytes == 0 && t != "pred") return fmt::format("type '.{}'", t);
  d.run = exec_move;
  if (i.operands.size() != 2) return fine;  // refused with its operands
  const bool from_vector = is_vector(i.operands[1]), to_vector = is_vector(i.operands[0]);
  if (!from_vector && !to_vector) return fine;
  if (from_vector && to_vector) return std::string("a move between two vectors");
  const size_t parts = i.operands[from_vector ? 1 : 0].elements.size();
  if (parts > d.bytes || d.bytes % parts != 0) return std::string("parts narrower than a byte");
  d.run = from_vector ? exec_pack : exec_unpack;
  d.vector = static_cast<uint8_t>(parts);
  d.bytes = static_cast<uint8_t>(d.bytes / parts);
  return fine;
}

Reading read_select(const ptx::Instruction& i, Decoded& d) {
  d.run = exec_select;
  d.bytes = type_bytes(i.modifiers.back());
  return d.bytes != 0 && i.modifiers.size() == 2 ? fine : Reading("its modifiers");
}

Reading read_cvta(const ptx::Instruction& i, Decoded& d) {
  d.run = has(i, "to") ? exec_from_window : exec_to_window;
  d.space = space_of(i);
  return only(i, {"to", "global", "shared", "shared::cta", "shared::cluster", "local", "param",
                  "param::entry", "const", "u32", "u64"})
             ? fine
             : Reading("this state space");
}

Reading read_branch(const ptx::Instruction& i, Decoded& d) {
  d.run = exec_branch;
  return only(i, {"uni"}) ? fine : Reading("its modifiers");
}
Reading read_indexed_branch(const ptx::Instruction& i, Decoded& d) {
  d.run = exec_branch_indexed;
  if (i.branch_targets.empty()) return std::string("no list of targets");
  return only(i, {"idx", "uni"}) && has(i, "idx") ? fine : Reading("its modifiers");
}
Reading read_exit(const ptx::Instruction&, Decoded& d) {
  d.run = exec_exit;
  return fine;
}
Reading read_trap(const ptx::Instruction&, Decoded& d) {
  d.run = exec_trap;
  return fine;
}
Reading read_hint(const ptx::Instruction&, Decoded& d) {
  d.run = exec_nothing;
  d.src.clear();
  d.dst.clear();
  return fine;
}

Reading read_mbarrier(const ptx::Instruction& i, Decoded& d) {
  const std::string_view verb =
      i.modifiers.size() > 1 ? std::string_view(i.modifiers[1]) : std::string_view();
  d.space = space_of(i);
  if (!only(i, {"init",          "inval",       "arrive",      "arrive_drop",     "noComplete",
                "pending_count", "complete_tx", "expect_tx",   "test_wait",       "try_wait",
                "parity",        "release",     "relaxed",     "acquire",         "cta",
                "cluster",       "shared",      "shared::cta", "shared::cluster", "b64"}))
    return std::string("its modifiers");
  // MB7: what may reach a barrier of another CTA.
  d.any_cta = (verb == "arrive" || verb == "arrive_drop" || verb == "expect_tx" || verb == "complete_tx") &&
              (has(i, "shared::cluster") || d.space == AddressSpace::generic);
  if (has(i, "shared::cluster") &&
      (!d.any_cta || (!d.dst.empty() && d.dst[0] != Decoded::none) || has(i, "noComplete")))
    return std::string("this operation on a barrier of another CTA (MB7)");
  d.is_signed = has(i, "relaxed");
  if (verb == "init") d.run = exec_mbarrier_init;
  if (verb == "inval") d.run = exec_mbarrier_inval;
  if (verb == "expect_tx") d.run = exec_mbarrier_expect;
  if (verb == "complete_tx") d.run = exec_mbarrier_complete;
  if (verb == "pending_count") d.run = exec_mbarrier_pending;
  if (verb == "arrive" || verb == "arrive_drop") {
    d.run = exec_mbarrier_arrive;
    d.variant = static_cast<uint8_t>((has(i, "expect_tx") ? arrive_expects : 0) |
                                     (verb == "arrive_drop" ? arrive_drops : 0) |
                                     (has(i, "noComplete") ? arrive_no_complete : 0));
    if (has(i, "noComplete") && (has(i, "expect_tx") || verb == "arrive_drop"))
      return std::string("its modifiers");
  }
  if (verb == "test_wait" || verb == "try_wait") {
    d.run = exec_mbarrier_wait;
    d.variant = has(i, "parity") ? 0 : 1;
  }
  return d.run != nullptr ? fine : Reading("this operation");
}

Reading read_bar(const ptx::Instruction& i, Decoded& d) {
  if (has(i, "warp")) {
    d.run = exec_warp_sync;
    return only(i, {"warp", "sync"}) ? fine : Reading("its modifiers");
  }
  if (has(i, "cluster")) return read_cluster_barrier(i, d);
  d.run = exec_named_barrier;
  if (has(i, "red")) {
    d.variant = barrier_reduce;
    const bool counts = has(i, "popc");
    d.shape[0] = counts ? barrier_count : has(i, "and") ? barrier_all : barrier_any;
    return only(i, {"red", "popc", "and", "or", "aligned", "cta", "u32", "pred"}) &&
                   has(i, "popc") + has(i, "and") + has(i, "or") == 1 && has(i, "u32") == counts &&
                   has(i, "pred") != counts && d.src.size() >= 2
               ? fine
               : Reading("its modifiers");
  }
  if (!only(i, {"sync", "arrive", "aligned", "cta"})) return std::string("its modifiers");
  d.variant = has(i, "arrive") ? barrier_arrive : barrier_sync;
  if (has(i, "arrive") == has(i, "sync")) return std::string("its modifiers");
  if (d.variant == barrier_arrive && i.operands.size() < 2)
    return std::string("an arrive without a thread count (N1)");
  return fine;
}

Reading read_fence(const ptx::Instruction& i, Decoded& d) {
  d.run = exec_fence;
  if (has(i, "mbarrier_init")) {
    d.variant = static_cast<uint8_t>(EventKind::fence_mbarrier_init);
    return only(i, {"mbarrier_init", "release", "cluster"}) ? fine : Reading("its modifiers");
  }
  if (has(i, "tensormap::generic")) return read_tensormap_fence(i, d);
  // Between virtual addresses of the same memory: the buffers of a launch have one address each.
  if (has(i, "alias") && only(i, {"proxy", "alias"}) && i.modifiers.size() == 3) return read_hint(i, d);
  if (has(i, "proxy")) {
    d.variant = static_cast<uint8_t>(EventKind::fence_proxy_async);
    if (!has(i, "async") || !only(i, {"proxy", "async", "shared::cta", "shared::cluster", "global"}))
      return std::string("this proxy fence");
    const bool shared = has(i, "shared::cta") || has(i, "shared::cluster"), global = has(i, "global");
    d.bytes = static_cast<uint8_t>((shared || !global ? Event::shared_space : 0) |
                                   (global || !shared ? Event::global_space : 0));
    return fine;
  }
  return read_memory_fence(i, d);
}

Reading read_setmaxnreg(const ptx::Instruction& i, Decoded& d) {
  d.run = exec_setmaxnreg;
  d.variant = has(i, "inc") ? 1 : 0;
  if (!only(i, {"inc", "dec", "sync", "aligned", "u32"}) || has(i, "inc") == has(i, "dec"))
    return std::string("its modifiers");
  if (i.operands.size() == 1 && i.operands[0].kind == ptx::OperandKind::immediate) {
    const uint64_t n = i.operands[0].immediate;
    if (n < 24 || n > 256 || n % 8 != 0)
      return std::string("a count that is no multiple of 8 in 24 to 256 (RG1)");
  }
  return fine;
}

Reading read_elect(const ptx::Instruction& i, Decoded& d) {
  d.run = exec_elect;
  return only(i, {"sync"}) && has(i, "sync") ? fine : Reading("its modifiers");
}

Reading read_shuffle(const ptx::Instruction& i, Decoded& d) {
  d.run = exec_shuffle;
  d.variant = has(i, "idx") ? 0 : has(i, "up") ? 1 : has(i, "down") ? 2 : 3;
  return only(i, {"sync", "idx", "up", "down", "bfly", "b32"}) && has(i, "sync") ? fine
                                                                                 : Reading("its modifiers");
}

Reading read_vote(const ptx::Instruction& i, Decoded& d) {
  d.run = exec_vote;
  d.variant = has(i, "all") ? 0 : has(i, "any") ? 1 : has(i, "uni") ? 2 : 3;
  return only(i, {"sync", "all", "any", "uni", "ballot", "pred", "b32"}) && has(i, "sync")
             ? fine
             : Reading("its modifiers");
}

/// .any.sync or .all.sync, of b32 or b64; variant 1: all.
Reading read_match(const ptx::Instruction& i, Decoded& d) {
  d.run = exec_match;
  d.variant = has(i, "all") ? 1 : 0;
  d.bytes = has(i, "b64") ? 8 : 4;
  return only(i, {"any", "all", "sync", "b32", "b64"}) && i.modifiers.size() == 4 && has(i, "sync") &&
                 has(i, "all") != has(i, "any") && has(i, "b32") != has(i, "b64")
             ? fine
             : Reading("its modifiers");
}

Reading read_active_mask(const ptx::Instruction& i, Decoded& d) {
  d.run = exec_active_mask;
  return only(i, {"b32"}) && i.modifiers.size() == 2 ? fine : Reading("its modifiers");
}

Reading read_cp(const ptx::Instruction& i, Decoded& d) {
  if (!has(i, "bulk")) return read_cp_async(i, d);
  if (has(i, "commit_group")) {
    d.run = exec_bulk_commit;
    return only(i, {"async", "bulk", "commit_group"}) ? fine : Reading("its modifiers");
  }
  if (has(i, "wait_group")) {
    d.run = exec_bulk_wait;
    d.variant = has(i, "read") ? 1 : 0;
    return only(i, {"async", "bulk", "wait_group", "read"}) ? fine : Reading("its modifiers");
  }
  if (has(i, "prefetch")) return read_hint(i, d);
  std::string_view reduction_type;
  if (const Reading why = read_bulk_reduction(i, d, reduction_type)) return why;
  if (!std::all_of(i.modifiers.begin() + 1, i.modifiers.end(), [&](const std::string& m) {
        static constexpr std::string_view allowed[] = {"async",
                                                       "bulk",
                                                       "tensor",
                                                       "1d",
                                                       "2d",
                                                       "3d",
                                                       "4d",
                                                       "5d",
                                                       "tile",
                                                       "tile::gather4",
                                                       "tile::scatter4",
                                                       "shared::cluster",
                                                       "shared::cta",
                                                       "global",
                                                       "bulk_group",
                                                       "mbarrier::complete_tx::bytes",
                                                       "multicast::cluster",
                                                       "cta_group::1",
                                                       "cta_group::2",
                                                       "L2::cache_hint",
                                                       "cp_mask"};
        return std::find(std::begin(allowed), std::end(allowed), m) != std::end(allowed) ||
               (d.reduction.kind != Reduction::Kind::none &&
                (m == "reduce" || m == "noftz" || m == reduction_type ||
                 reduction_kind(m) == d.reduction.kind));
      }))
    return std::string("its modifiers");
  const bool is_load = has(i, "mbarrier::complete_tx::bytes");
  if (!is_load && !has(i, "bulk_group")) return std::string("a copy without completion mechanism");
  if (is_load && has(i, "shared::cta") && !has(i, "global")) return read_peer_copy(i, d);
  if (is_load && d.reduction.kind != Reduction::Kind::none) return std::string("its modifiers");
  const size_t multicast = has(i, "multicast::cluster") ? 1 : 0;  // a mask of CTAs behind the barrier
  if (!is_load && (multicast != 0 || has(i, "cta_group::1") || has(i, "cta_group::2")))
    return std::string("its modifiers");
  if (has(i, "cp_mask") && (is_load || has(i, "tensor") || d.reduction.kind != Reduction::Kind::none))
    return std::string("its modifiers");
  d.shape[1] = static_cast<uint32_t>(multicast);
  d.shape[2] = has(i, "cta_group::2") ? 2 : 1;
  d.variant = is_load ? 0 : 1;
  d.run = has(i, "tensor") ? exec_tensor_copy : exec_plain_copy;
  if (has(i, "tensor")) {
    for (const std::string& m : i.modifiers)
      if (m.size() == 2 && m[1] == 'd') d.shape[0] = static_cast<uint32_t>(m[0] - '0');
    d.four_rows = has(i, "tile::gather4") || has(i, "tile::scatter4");
    if (d.four_rows) {  // a column and the numbers of four rows
      if (d.shape[0] != 2 || has(i, "tile::gather4") != is_load || has(i, "tile") ||
          d.reduction.kind != Reduction::Kind::none)
        return std::string("its modifiers");
      d.shape[0] = 5;
    }
    const size_t needed = d.shape[0] + (is_load ? 3 : 2) + multicast;
    if (d.shape[0] == 0 || d.src.size() < needed) return std::string("its operands");
    for (const ptx::Operand& o : i.operands)
      if (o.kind == ptx::OperandKind::address && o.elements.size() > 1 &&
          o.elements[1].elements.size() != d.shape[0])
        return fmt::format("{} coordinates", o.elements[1].elements.size());
    d.src.resize(needed);  // a cache policy behind them is a hint
  } else {
    const size_t needed = (is_load ? 4 : 3) + multicast;
    if (d.src.size() < needed + (has(i, "cp_mask") ? 1 : 0)) return std::string("its operands");
    const uint32_t mask = d.src.back();  // of bytes, behind a cache policy
    d.src.resize(needed);
    if (has(i, "cp_mask")) {
      d.byte_mask = true;
      d.src.push_back(mask);
    }
  }
  return fine;
}

Reading read_redux(const ptx::Instruction& i, Decoded& d) {
  d.run = exec_redux;
  const std::string_view type = i.modifiers.back();
  std::string_view operation;
  for (size_t k = 0; k < reduction_names.size(); ++k)
    if (has(i, reduction_names[k])) {
      operation = reduction_names[k];
      d.variant = static_cast<uint8_t>(k);
    }
  const bool logic = d.variant >= redux_and, floating = type == "f32";
  d.is_signed = type == "s32";
  d.opaque = floating;  // sm_100a: minima of floats, which have no exact model yet
  if (operation.empty() || i.modifiers.size() < 4 || !has(i, "sync") ||
      !(floating ? only(i, {"sync", operation, "abs", "NaN", "f32"}) : only(i, {"sync", operation, type})))
    return "its modifiers";
  if (logic ? type != "b32"
            : type != "u32" && type != "s32" && (!floating || operation == reduction_names[redux_add]))
    return fmt::format("type '.{}'", type);
  return fine;
}

/// Functions are known by name: their bodies are not read.
Reading read_call(const ptx::Instruction& i, Decoded& d) {
  d.run = exec_call;
  d.negated = 0;
  if (!only(i, {"uni"}) || i.operands.size() != 3) return "its modifiers";
  const std::string& callee = i.operands[1].name;
  if (callee == "__assertfail") d.run = exec_trap;
  return callee == "vprintf" || callee == "__assertfail"
             ? fine
             : Reading(fmt::format("a call of '{}', whose body is not executed", callee));
}

struct Family {
  std::string_view root;
  Reading (*read)(const ptx::Instruction&, Decoded&);
};

constexpr std::array<Family, 47> families = {{
    {"ld", read_load},
    {"ldu", read_load},
    {"st", read_store},
    {"mov", read_move},
    {"selp", read_select},
    {"cvta", read_cvta},
    {"bra", read_branch},
    {"brx", read_indexed_branch},
    {"ret", read_exit},
    {"exit", read_exit},
    {"trap", read_trap},
    {"nanosleep", read_hint},
    {"prefetch", read_hint},
    {"prefetchu", read_hint},
    {"discard", read_hint},
    {"applypriority", read_hint},
    {"mbarrier", read_mbarrier},
    {"bar", read_bar},
    {"barrier", read_bar},
    {"fence", read_fence},
    {"membar", read_fence},
    {"setmaxnreg", read_setmaxnreg},
    {"elect", read_elect},
    {"shfl", read_shuffle},
    {"vote", read_vote},
    {"match", read_match},
    {"activemask", read_active_mask},
    {"cp", read_cp},
    {"wgmma", read_wgmma},
    {"mma", read_mma},
    {"ldmatrix", read_load_matrix},
    {"stmatrix", read_store_matrix},
    {"movmatrix", read_move_matrix},
    {"redux", read_redux},
    {"call", read_call},
    {"createpolicy", read_hint},
    {"griddepcontrol", read_grid_dependency},
    {"tcgen05", read_tensor},
    {"tensormap", read_tensormap},
    {"clusterlaunchcontrol", read_launch_control},
    {"mapa", read_mapa},
    {"atom", read_atomic},
    {"red", read_atomic},
    {"multimem", read_multimem},
    {"pmevent", read_hint},
    {"getctarank", read_getctarank},
    {"isspacep", read_isspacep},
}};

tl::unexpected<Error> not_implemented(const ptx::Instruction& i, const Program& program,
                                      std::string_view why) {
  return fail(program.module.path, i.position.line, i.position.column,
              fmt::format("'{}' is not implemented ({}); Turnstile never skips an instruction, since it "
                          "could hide a synchronisation",
                          i.mnemonic, why));
}

}  // namespace

Result<Decoded> decode_form(const ptx::Instruction& instruction, const Program& program, Decoded d) {
  const auto family = std::find_if(families.begin(), families.end(),
                                   [&](const Family& f) { return f.root == instruction.root(); });
  if (family != families.end()) {
    read_scope(instruction, d);
    if (const Reading why = family->read(instruction, d)) return not_implemented(instruction, program, *why);
    if (d.run == exec_mma) bind_mma_arithmetic(d, program.module.target);
    return d;
  }
  std::string why;
  switch (find_pure(instruction, d.pure, why)) {
    case PureLookup::found:
      break;
    case PureLookup::not_pure:
      return not_implemented(instruction, program, "no such operation in the table");
    case PureLookup::unsupported:
      return not_implemented(instruction, program, why);
  }
  if (d.src.size() + (d.pure.reads_carry ? 1 : 0) < d.pure.inputs || d.dst.empty())
    return not_implemented(instruction, program, "this number of operands");
  const bool packs = instruction.root() == "cvt" && d.pure.inputs == 2 && d.pure.result_bits >= 16;
  d.run = packs ? exec_pack_pair : exec_pure;
  return d;
}

}  // namespace turnstile::sim
