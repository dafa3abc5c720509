// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <set>

#include "model/trace.h"
#include "sim/launch_run.h"
#include "sim/program.h"

namespace turnstile::sim {

/// The registers from which the values of some stores and the guards of some branches are made: a run with
/// names (Domain::names) that follows these tells about them what one that follows all registers does, at a
/// fraction of its cost. A value outside has no name, so that nothing is concluded from it, and a slice that
/// lacks something costs certainty only. `stores`: lines of the PTX. `trace`: tells which stores a load may
/// find in memory. `known`: a slice whose registers, stores and branches are in this one too; may be null.
std::shared_ptr<const NameSlice> name_slice(const Program& program, const Trace& trace,
                                            const NameSlice* known, const std::set<uint32_t>& stores,
                                            const std::set<uint32_t>& branches);

}  // namespace turnstile::sim
