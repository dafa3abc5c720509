// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>

namespace turnstile::sim {

class Cta;

/// An asynchronous operation between its issue and its landing that is no bulk copy: cp.async, a deferred
/// arrival, tcgen05, a query. Bulk copies and flights land in the order of issue (one of the schedules).
struct Flight {
  uint32_t op = 0;                 ///< number in the trace
  std::function<void(Cta&)> land;  ///< moves the data, records accesses and the completion
};

}  // namespace turnstile::sim
