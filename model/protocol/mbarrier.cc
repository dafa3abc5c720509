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

Mbarrier::Outcome Mbarrier::expect_tx(uint64_t bytes) {
  if (!valid_) return Outcome::invalid_object;
  if (bytes > static_cast<uint64_t>(max_tx) || tx_ + static_cast<int64_t>(bytes) > max_tx)
    return Outcome::tx_overflow;
  tx_ += static_cast<int64_t>(bytes);
  return Outcome::ok;
}

Mbarrier::Outcome Mbarrier::arrive_expect_tx(uint64_t bytes) {
  const Mbarrier before = *this;
  Outcome outcome = expect_tx(bytes);
  if (outcome == Outcome::ok) outcome = arrive(1);
  if (!broken_rule(outcome).empty()) *this = before;
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
  }
  return {};
}

}  // namespace turnstile
