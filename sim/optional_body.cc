// SPDX-License-Identifier: Apache-2.0
#include "sim/optional_body.h"

#include <algorithm>
#include <array>
#include <bit>

#include "sim/handlers.h"
#include "sim/machine.h"
#include "sim/origin.h"

namespace turnstile::sim {

namespace {

constexpr uint32_t kLongestBody = 16'384;

bool may_be_optional(const Decoded& d) {
  constexpr std::array<Handler, 5> harmless = {exec_to_window, exec_from_window, exec_load_matrix,
                                               exec_tensor_access, exec_tensor_wait};
  if (computes_only(d) || std::find(harmless.begin(), harmless.end(), d.run) != harmless.end()) return true;
  if (d.run == exec_load || d.run == exec_store) return d.order == 0 && d.poll == Decoded::none;
  return d.run == exec_branch || (d.run == exec_named_barrier && d.variant == 0);
}

}  // namespace

std::optional<OptionalBody> optional_body(const Program& program, uint32_t branch) {
  const Decoded& jump = program.code[branch];
  if (jump.run != exec_branch || jump.target >= program.code.size()) return std::nullopt;
  OptionalBody body;
  body.end = jump.target;
  // It goes on until it runs into the target of the branch, or jumps there as the branch does.
  uint32_t last = branch, furthest = branch;
  for (uint32_t i = branch + 1; i != body.end; ++i) {
    if (i == program.code.size() || i - branch > kLongestBody) return std::nullopt;
    const Decoded& d = program.code[i];
    if (!may_be_optional(d)) return std::nullopt;
    body.has_barriers = body.has_barriers || d.run == exec_named_barrier;
    if (d.run == exec_tensor_wait) (d.variant == 1 ? body.waits_for_stores : body.waits_for_loads) = true;
    for (const uint32_t r : d.dst)
      if (r != Decoded::none) body.written.push_back(r);
    last = i;
    if (d.run != exec_branch) continue;
    if (d.target == body.end) {
      if (d.guard == Decoded::none) break;
    } else if (d.target <= branch) {
      return std::nullopt;
    } else {
      furthest = std::max(furthest, d.target);
    }
  }
  if (furthest > last) return std::nullopt;
  std::sort(body.written.begin(), body.written.end());
  body.written.erase(std::unique(body.written.begin(), body.written.end()), body.written.end());
  return body;
}

bool Cta::enter_optional_body(Warp& warp, Fragment& fragment, LaneMask lanes) {
  if (with_data() || lanes != fragment.lanes || !warp.bodies.empty()) return false;
  const auto [known, fresh] = bodies_.try_emplace(fragment.pc);
  if (fresh) {
    known->second = optional_body(program, fragment.pc);
    const auto returns = [](const Decoded& d) { return d.run == exec_atomic && !d.dst.empty(); };
    if (known->second && !machine.asks_atomics &&
        std::any_of(program.code.begin(), program.code.end(), returns))
      origin_of_unknown(*this, warp, program.code[fragment.pc].guard, lanes);
  }
  if (!known->second) return false;
  const OptionalBody& body = *known->second;
  OpenBody open{&body, fragment.pc, lanes, {}, false};
  if (std::popcount(lanes) != 1 ||
      machine.positions != nullptr) {  // do all lanes decide alike? Their names tell
    if (!names_values()) {
      machine.wants_names = fragment.pc;
      return false;
    }
    const uint32_t guard = program.code[fragment.pc].guard;
    open.condition = warp.regs.expression(guard, static_cast<unsigned>(std::countr_zero(lanes)), 1);
    open.named = true;
    for (LaneMask rest = lanes; rest != 0; rest &= rest - 1) {
      const Hash128 here = warp.regs.expression(guard, static_cast<unsigned>(std::countr_zero(rest)), 1);
      if (here.foreign() && options.slice != nullptr) machine.wants_names = fragment.pc;
      if (here.foreign() || !(here == open.condition)) return false;
    }
  }
  const auto outstanding = [&](const std::map<uint32_t, TensorState::WarpQueue>& queues) {
    const auto q = queues.find(warp.index);
    return q != queues.end() && q->second.issued != q->second.waited;
  };
  if ((body.waits_for_loads && outstanding(tensor.loads)) ||
      (body.waits_for_stores && outstanding(tensor.stores)) || !warp.in_flight.empty())
    return false;
  if (body.has_barriers && (!open.named || strands_in(warp, lanes) != 1 || !converged(warp, lanes)))
    return false;
  warp.bodies.push_back(open);
  ++fragment.pc;
  return true;
}

void Cta::close_optional_bodies(Warp& warp) {
  std::erase_if(warp.bodies, [&](const OpenBody& open) {
    const bool all_there = std::all_of(warp.fragments.begin(), warp.fragments.end(), [&](const Fragment& f) {
      return (f.lanes & open.lanes) == 0 || f.pc == open.body->end;
    });
    if (!all_there) return false;
    for (const uint32_t r : open.body->written) warp.regs.forget(r, open.lanes);
    return true;
  });
}

size_t Cta::strands_in(const Warp& warp, LaneMask lanes) {
  return static_cast<size_t>(std::count_if(warp.strands.begin(), warp.strands.end(),
                                           [&](const Strand& s) { return (s.lanes & lanes) != 0; }));
}

const OpenBody* Cta::open_body(const Warp& warp, LaneMask lanes) {
  for (const OpenBody& open : warp.bodies)
    if ((open.lanes & lanes) != 0) return &open;
  return nullptr;
}

}  // namespace turnstile::sim
