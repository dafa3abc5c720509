// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/trace.h"

namespace turnstile::sim {

/// Two strong accesses of different threads are no race only if the scope of each contains the other thread
/// (M3). Takes the mark `atomic` from accesses whose scope does not reach a CTA that touches the same bytes,
/// so that what remains marked is morally strong with all others.
void unmark_narrow_atomics(Trace& trace);
/// Whether there is any whose scope does not reach all CTAs, from this event on.
bool has_narrow_atomics(const Trace& trace, size_t begin);

}  // namespace turnstile::sim
