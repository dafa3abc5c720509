// SPDX-License-Identifier: Apache-2.0
#include "model/protocol/mbarrier.h"

namespace turnstile {

Mbarrier::Outcome Mbarrier::init(uint32_t count) {
  if (valid_) return Outcome::already_valid;
  if (count == 0 || count > max_count) return Outcome::bad_count;
  *this = Mbarrier();
  valid_ = true;
  expected_ = pending_ = count;
  return Outcome::ok;
}

Mbarrier::Outcome Mbarrier::inval() {
  if (!valid_) return Outcome::invalid_object;
  valid_ = false;
  return Outcome::ok;
}

Mbarrier::Outcome Mbarrier::arrive(uint32_t count) {
  if (!valid_) return Outcome::invalid_object;
  if (count == 0 || count > max_count) return Outcome::bad_count;
  if (count > pending_) return Outcome::over_arrival;
  pending_ -= count;
  return settle();
}

// MB21: the last participant may not drop: a barrier that expects nobody has no phases. The text of PTX 9.1
// is silent, 9.4 forbids it.
Mbarrier::Outcome Mbarrier::arrive_drop(uint32_t count) {
  if (!valid_) return Outcome::invalid_object;
  if (count == 0 || count > max_count) return Outcome::bad_count;
  if (count > pending_) return Outcome::over_arrival;
  if (count >= expected_) return Outcome::dropped_to_zero;
  expected_ -= count;
  return arrive(count);
}

Mbarrier::Outcome Mbarrier::arrive_no_complete(uint32_t count) {  // MB22
  if (valid_ && count == pending_ && count != 0 && tx_ == 0) return Outcome::completes;
  return arrive(count);
}

Mbarrier::Outcome Mbarrier::raise_pending() {  // MB20
  if (!valid_) return Outcome::invalid_object;
  if (pending_ == max_count) return Outcome::pending_overflow;
  ++pending_;
  return Outcome::ok;
}

Mbarrier::StateAnswer Mbarrier::ready(const State& state) const {  // W1
  if (state.generation == generation_) return StateAnswer::pending;
  return state.generation + 1 == generation_ ? StateAnswer::ready : StateAnswer::too_old;
}

bool Mbarrier::pending_count(const State& state, uint32_t& count) {  // semantics.md 2.4
  if (state.no_complete) count = state.pending;
  return state.no_complete;
}

Mbarrier::Outcome Mbarrier::announce(uint64_t bytes) {
  if (!valid_) return Outcome::invalid_object;
  if (bytes > static_cast<uint64_t>(max_tx) || tx_ + static_cast<int64_t>(bytes) > max_tx)
    return Outcome::tx_overflow;
  tx_ += static_cast<int64_t>(bytes);
  return Outcome::ok;
}

Mbarrier::Outcome Mbarrier::expect_tx(uint64_t bytes) {  // Q19
  const Outcome outcome = announce(bytes);
  return outcome == Outcome::ok ? settle() : outcome;
}

Mbarrier::Outcome Mbarrier::arrive_expect_tx(uint64_t bytes, bool drops) {
  const Mbarrier before = *this;
  Outcome outcome = announce(bytes);
  if (outcome == Outcome::ok) outcome = drops ? arrive_drop(1) : arrive(1);
  if (!has_result(outcome)) *this = before;
  return outcome;
}

Mbarrier::Outcome Mbarrier::complete_tx(uint64_t bytes) {
  if (!valid_) return Outcome::invalid_object;
  if (bytes > static_cast<uint64_t>(max_tx) || tx_ - static_cast<int64_t>(bytes) < -max_tx)
    return Outcome::tx_overflow;
  tx_ -= static_cast<int64_t>(bytes);
  return settle();
}

Mbarrier::Outcome Mbarrier::settle() {
  if (pending_ != 0 || tx_ != 0) return Outcome::ok;
  ++generation_;
  pending_ = expected_;
  return Outcome::completed;
}

void Mbarrier::restore(bool valid, uint32_t expected, uint32_t pending, int64_t tx, uint64_t generation) {
  valid_ = valid;
  expected_ = expected;
  pending_ = pending;
  tx_ = tx;
  generation_ = generation;
}

std::string_view broken_rule(Mbarrier::Outcome outcome) {
  switch (outcome) {
    case Mbarrier::Outcome::ok:
    case Mbarrier::Outcome::completed:
      return {};
    case Mbarrier::Outcome::invalid_object:
      return "MB10";
    case Mbarrier::Outcome::already_valid:
      return "MB9";
    case Mbarrier::Outcome::bad_count:
      return "MB1";
    case Mbarrier::Outcome::over_arrival:
      return "MB15";
    case Mbarrier::Outcome::tx_overflow:
      return "MB17";
    case Mbarrier::Outcome::pending_overflow:
      return "MB20";
    case Mbarrier::Outcome::dropped_to_zero:
      return "MB21";
    case Mbarrier::Outcome::completes:
      return "MB22";
  }
  return {};
}

}  // namespace turnstile
