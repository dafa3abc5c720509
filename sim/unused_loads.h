// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/launch_run.h"

namespace turnstile::sim {

/// Triton lets all threads of a block load, also those for which there is no element of their own, and only
/// one thread of each element store. Where a kernel works in place, such a load competes with that store
/// (M4), and nobody sees what it returned.
///
/// Marks the weak loads of a trace whose value reaches nothing (Event::unused): within the warp it goes to
/// arithmetic, shuffles and votes only, and to stores that this warp has never executed, in no lane. The path
/// is looked for in the text of the kernel, whatever the order of its instructions; the stores are those of
/// the trace, which every schedule has (theory.md).
void mark_unused_loads(const Program& program, Trace& trace);

}  // namespace turnstile::sim
