// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "sim/launch_run.h"

namespace turnstile::sim {

/// Whether the names of all values of these CTAs fit into memory.
bool may_name_values(const Program& program, const Launch& launch, uint64_t ctas);

/// Several warps may store the same value to one word without order (M4), as Triton's replicated layouts do
/// with values that the control domain does not know. Executes the cluster of a trace again with names for
/// all values (Domain::names) and writes into the trace what its stores leave (Event::bytes). `options`:
/// those that the trace was made with. Nothing: nothing was learned, and the trace is as before.
struct NamedValues {
  std::shared_ptr<const PositionTape> tape;  ///< of the run with names, if that was followed
};
std::optional<NamedValues> name_stored_values(const Program& program, const Launch& launch,
                                              const RunOptions& options, Trace& trace);

}  // namespace turnstile::sim
