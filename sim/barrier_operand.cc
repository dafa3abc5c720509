// SPDX-License-Identifier: Apache-2.0
#include "sim/barrier_operand.h"

#include <fmt/format.h>

namespace turnstile::sim {

namespace {

/// The 32-bit shared address that the operand is; nothing if it is not in shared memory.
std::optional<uint64_t> shared_address(const Warp& warp, const Decoded& d, unsigned lane, size_t operand) {
  const uint64_t address = warp.regs.get(d.src[operand], lane) + static_cast<uint64_t>(d.offsets[operand]);
  if (d.space == AddressSpace::shared) return address & 0xffffffff;
  if (address / AddressMap::window_bytes * AddressMap::window_bytes != AddressMap::shared_window)
    return std::nullopt;
  return address - AddressMap::shared_window;
}

}  // namespace

std::optional<BarrierPlace> barrier_place(Cta& cta, const Warp& warp, const Decoded& d, unsigned lane,
                                          size_t operand) {
  const std::optional<uint64_t> address = shared_address(warp, d, lane, operand);
  Cta* owner = !address ? nullptr : d.any_cta ? cta.owner_of(*address) : &cta;
  if (owner == nullptr) return std::nullopt;
  const uint64_t offset = owner->shared_offset(*address);
  if (offset % 8 != 0 || !owner->shared.contains(offset, 8)) return std::nullopt;
  return BarrierPlace{owner, offset};
}

/// The live barrier object that one lane names; null: a fault was recorded.
BarrierObject* find_barrier(Cta& cta, Warp& warp, const Decoded& d, unsigned lane, size_t operand) {
  const LaneMask bit = LaneMask{1} << lane;
  const std::optional<BarrierPlace> place = barrier_place(cta, warp, d, lane, operand);
  if (!place) {
    const std::optional<uint64_t> address = shared_address(warp, d, lane, operand);
    if (const Cta* other = address ? cta.owner_of(*address) : nullptr;
        !d.any_cta && other != nullptr && other != &cta) {
      cta.fault(
          warp, bit, d, "MB8",
          fmt::format("'{}' names a barrier of the CTA of rank {}: this form knows those of its own CTA only",
                      d.text->mnemonic, other->rank),
          "another CTA's barrier takes arrive and expect_tx with .shared::cluster; its own threads wait on "
          "it");
      return nullptr;
    }
    cta.fault(warp, bit, d, "BS3",
              fmt::format("'{}' names 0x{:x}, which is no 8-byte aligned address in shared memory",
                          d.text->mnemonic, warp.regs.get(d.src[operand], lane)),
              "pass the shared-memory address of the barrier");
    return nullptr;
  }
  if (place->owner != &cta && place->owner->ended()) {
    cta.fault(warp, bit, d, "D3",
              fmt::format("'{}' reaches {} of the CTA of rank {}, which has ended", d.text->mnemonic,
                          cta.shared_name(place->offset), place->owner->rank),
              "keep every CTA alive until its peers are done with it: a cluster barrier before the exit");
    return nullptr;
  }
  BarrierObject* object = place->owner->barrier_at(place->offset);
  if (object == nullptr || !object->state.valid()) {
    const bool own = place->owner == &cta;
    cta.fault(
        warp, bit, d, "MB10",
        fmt::format("'{}' uses {}{}, which is not initialised", d.text->mnemonic,
                    cta.shared_name(place->offset),
                    own ? "" : fmt::format(" of the CTA of rank {}", place->owner->rank)),
        own ? "mbarrier.init, then a CTA barrier, before the first use"
            : "mbarrier.init, fence.mbarrier_init and a cluster barrier before the first use by a peer");
    return nullptr;
  }
  return object;
}

std::string outcome_text(Mbarrier::Outcome outcome, const std::string& name, const Mbarrier& b) {
  switch (outcome) {
    case Mbarrier::Outcome::over_arrival:
      return fmt::format("one arrival too many on {}: phase {} expects {}, {} still pending", name,
                         b.generation(), b.expected(), b.pending());
    case Mbarrier::Outcome::bad_count:
      return fmt::format("an arrival count out of range on {}", name);
    case Mbarrier::Outcome::tx_overflow:
      return fmt::format("the transaction count of {} leaves its range of +-(2^20 - 1) bytes", name);
    case Mbarrier::Outcome::pending_overflow:
      return fmt::format("the pending count of {} leaves its range of 2^20 - 1 arrivals", name);
    case Mbarrier::Outcome::dropped_to_zero:
      return fmt::format("the last participant of {} drops out: later phases expect nobody", name);
    case Mbarrier::Outcome::completes:
      return fmt::format("an arrive.noComplete completes phase {} of {}", b.generation(), name);
    case Mbarrier::Outcome::already_valid:
      return fmt::format("{} is initialised again while it is live", name);
    case Mbarrier::Outcome::invalid_object:
      return fmt::format("{} is not initialised", name);
    case Mbarrier::Outcome::ok:
    case Mbarrier::Outcome::completed:
      return {};
  }
  return {};
}

const char* outcome_help(Mbarrier::Outcome outcome) {
  switch (outcome) {
    case Mbarrier::Outcome::over_arrival:
      return "if several threads arrive here, count them all in the barrier's init; if one thread came round "
             "the ring, let "
             "it wait until the stage is free (its empty barrier) before it arrives again";
    case Mbarrier::Outcome::bad_count:
      return "give a count between 1 and 2^20 - 1";
    case Mbarrier::Outcome::tx_overflow:
      return "expect fewer bytes a phase: split the copy over more stages";
    case Mbarrier::Outcome::pending_overflow:
      return "use cp.async.mbarrier.arrive.noinc, and count its arrivals in the barrier's init";
    case Mbarrier::Outcome::dropped_to_zero:
      return "invalidate the barrier instead, or keep one participant";
    case Mbarrier::Outcome::completes:
      return "let the last arrival of a phase be a plain mbarrier.arrive";
    case Mbarrier::Outcome::already_valid:
      return "initialise a barrier once, or mbarrier.inval it first";
    case Mbarrier::Outcome::invalid_object:
    case Mbarrier::Outcome::ok:
    case Mbarrier::Outcome::completed:
      return "initialise the barrier, then a CTA barrier, before its first use";
  }
  return "";
}

Step check_outcome(Cta& cta, Warp& warp, const Decoded& d, unsigned lane, Mbarrier::Outcome outcome,
                   const BarrierObject& b) {
  const std::string_view rule = broken_rule(outcome);
  if (rule.empty()) return Step::next;
  return cta.fault(warp, LaneMask{1} << lane, d, std::string(rule),
                   outcome_text(outcome, cta.recorder.trace().barriers[b.number].name, b.state),
                   outcome_help(outcome));
}

bool writes_a_barrier(Cta& cta, const Warp& warp, const Decoded& d, unsigned lane, const Cta& target,
                      uint64_t offset, uint64_t bytes) {
  if (!target.overlaps_barrier(offset, bytes)) return false;
  cta.fault(warp, LaneMask{1} << lane, d, "MB9",
            fmt::format("'{}' writes {} bytes at {}, over a live mbarrier object", d.text->mnemonic, bytes,
                        target.shared_name(offset)),
            "keep barriers and data apart, or mbarrier.inval before the memory is used for something else");
  return true;
}

}  // namespace turnstile::sim
