// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "cli/source_text.h"
#include "model/trace.h"

namespace turnstile::cli {

/// Names the mbarriers for which the kernel has no symbol: PTX of Triton, TLX and Gluon has one block of
/// shared memory, and addresses in it say nothing to the author. The line that initialises a barrier does:
/// the barriers of `full = tlx.alloc_barriers(...)` are full[0], full[1], ... by address. Where the source is
/// not to be had, the position stands for the name; what a line that begins a function makes is the
/// compiler's. Faults, which the run told by address, are told by these names too. For reports only.
void name_barriers(Trace& trace, SourceText& source);

/// What a line of source that makes or initialises a barrier calls it: the target of its assignment, else the
/// first thing handed to its first call. Empty: it does not say.
std::string name_in_source(std::string_view line);

}  // namespace turnstile::cli
