// SPDX-License-Identifier: Apache-2.0
#include "cli/rules.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace turnstile::cli {

namespace {

constexpr std::string_view certificate =
    "condition of the certificate that one run speaks for every schedule";

constexpr auto rules = std::to_array<Rule>({
    {"ALG-D1", "no wait passes a phase early",
     "When a wait has passed, the phase before the one it waited for must already have completed in every "
     "schedule at the time when the wait began. Otherwise the wait can take an "
     "older phase of the same parity for its own and go on too soon. Usual cause: the waiting role starts "
     "with the wrong parity, or resets its phase.",
     certificate},
    {"ALG-D2", "no waiter is lapped",
     "Between the completion that a wait waits for and the next completion of the same barrier, the wait "
     "must have passed, in every schedule. Otherwise a slow warp finds the parity flipped twice, and "
     "waits for ever or takes other data. Usual cause: an arrival is missing in the count of the barrier "
     "that holds the other side back, so that it does not wait for this warp.",
     certificate},
    {"ALG-D3", "every arrival belongs to its phase",
     "An arrival must come after the completion of the phase before, in every schedule. Otherwise it can "
     "count in an earlier phase, which then completes too soon.",
     certificate},
    {"ALG-D4", "no phase gets more arrivals than it expects",
     "More arrivals than the barrier's count have no defined meaning in PTX, and in another schedule fall "
     "into the next phase.",
     certificate},
    {"ALG-D5a", "bytes are expected before their phase can complete",
     "Every expect_tx of a phase must come before some arrival of that phase by the same causal chain, so "
     "that the phase cannot complete before its bytes are announced. Use arrive.expect_tx.",
     certificate},
    {"ALG-D5b", "bytes that arrive are bytes that were expected",
     "The bytes which copies deliver to a phase must not exceed those that are expected in it; otherwise the "
     "phase can complete between two copies, or never.",
     certificate},
    {"M4", "conflicting accesses are ordered",
     "Two accesses to the same bytes, at least one a write, must be ordered by a chain of program order and "
     "synchronisation; atomics on both sides excepted. Otherwise the reader may see old, new or mixed "
     "bytes, as the schedule will have it.",
     "PTX 8.9 (causality order, races)"},
    {"M15", "lanes of a warp are ordered only by a synchronisation",
     "Executing together orders nothing: what one lane writes, another lane of the same warp may read only "
     "after bar.warp.sync with both lanes in the mask. shfl, vote and match do not order memory.",
     "PTX 9.7.13.2, 9.7.9"},
    {"MB1", "count of an mbarrier", "The expected count must lie between 1 and 2^20 - 1.", "PTX 9.7.13.15.2"},
    {"MB9", "initialise an mbarrier once",
     "mbarrier.init needs memory that holds no live mbarrier, and a count of at least 1. To re-use the "
     "memory, mbarrier.inval it first. Ordinary loads and stores on a live mbarrier are undefined too.",
     "PTX 9.7.13.15.9"},
    {"MB10", "only live mbarriers can be used",
     "Every operation but init needs an mbarrier that was initialised and not invalidated, and no copy may "
     "still be in flight on it when it is invalidated.",
     "PTX 9.7.13.15.3, .10"},
    {"MB11", "initialisation must be visible to those who use the barrier",
     "After mbarrier.init, threads of the CTA must pass a CTA barrier (__syncthreads) before they use the "
     "object. Otherwise a warp may use it before it exists, and hang.",
     "PTX 9.7.13.4"},
    {"MB12", "copies signal through the generic proxy",
     "A bulk copy updates its mbarrier through the generic proxy, so that no proxy fence is needed after "
     "init. Kernels that have one are right as well.",
     "PTX 9.7.9.25.4.1; older guides disagree"},
    {"MB15", "arrivals do not exceed the count",
     "An arrival beyond the count falls into the next phase, which then completes too early. Usual cause: "
     "all lanes arrive where one was counted.",
     "PTX 9.7.13.15.2"},
    {"MB16", "every expected arrival happens",
     "A phase completes only when all expected arrivals are in. If one is missing, everybody who waits for "
     "the phase waits for ever. Look for a path on which a role skips its arrival, or for a count that is "
     "too high.",
     "PTX 9.7.13.15.4"},
    {"MB17", "byte counts of a phase stay below 2^20",
     "The transaction count of a phase must stay within 2^20 - 1 bytes either way; what happens beyond is "
     "not documented.",
     "PTX 9.7.13.15.2"},
    {"MB18", "every expected byte arrives",
     "A phase that expects more bytes than copies deliver never completes. A TMA load always delivers its "
     "whole box, also where parts are outside of the tensor.",
     "PTX 9.7.13.15.5"},
    {"MB19", "no byte arrives that was not expected",
     "More bytes than expected leave the phase open, or are taken off the next one. Usual cause: the size "
     "given to expect_tx is not the sum of the boxes.",
     "PTX 9.7.13.15.5"},
    {"W1", "waits name the open phase or the one before",
     "A wait by parity is defined only for the phase that is open, and for the one just before it. Older "
     "phases look like one of these two.",
     "PTX 9.7.13.15.16"},
    {"W2", "a fresh barrier lets parity 1 pass",
     "Before the first phase completes, waiting for parity 1 succeeds at once and waiting for parity 0 "
     "waits. Producers start with phase 1, consumers with phase 0.",
     "PTX 9.7.13.15.16"},
    {"W5", "parity is 0 or 1", "Other values of the parity operand are undefined.",
     "ptxas rejects them as immediates"},
    {"N1", "thread count of a named barrier",
     "The count must be a multiple of 32, and not zero for bar.arrive.", "PTX 9.7.13.1"},
    {"N2", "a warp arrives at a named barrier as a whole",
     "Every bar instruction counts for the whole warp: a single elected lane must not execute it.",
     "PTX 9.7.13.1"},
    {"N7", "a warp contributes once to each use of a named barrier",
     "A warp that arrives twice before the barrier resets is counted twice, so that others are released too "
     "soon.",
     "PTX 9.7.13.1"},
    {"NX1", "all sides name the same thread count",
     "Warps that meet at a named barrier must give the same count; the result is undefined otherwise.",
     "PTX 9.7.13.1 (silent on the result)"},
    {"NX2", "a named barrier's count can be reached",
     "If the count is larger than the threads that ever arrive, everybody who waits there waits for ever.",
     "PTX 9.7.13.1"},
    {"NX3", "a named barrier gets no more warps than it counts",
     "The extra warp starts the next use of the barrier, which then completes too soon or hangs.",
     "PTX 9.7.13.1"},
    {"PX1", "generic write, then asynchronous read: proxy fence",
     "Bytes that threads write with ordinary stores become visible to TMA stores and wgmma only after "
     "fence.proxy.async, executed by each writing thread before the synchronisation that leads to the "
     "reader. "
     "Without it stale bytes are read, rarely; compute-sanitizer does not report it.",
     "PTX 8.9.2, 9.7.13.4"},
    {"PX2", "generic read, then asynchronous overwrite: proxy fence",
     "Before a TMA load overwrites bytes that threads have read with ordinary loads, the same fence is asked "
     "for by the text. Shipped kernels leave it out where only an mbarrier lies between; reported as a lint.",
     "PTX 9.7.13.4; contested"},
    {"PX7", "generic write to global memory, then TMA load of it: proxy fence",
     "fence.proxy.async.global, then ordinary release and acquire, must lie between st.global and a TMA load "
     "of the same bytes in one kernel.",
     "PTX 8.9.2"},
    {"WG1", "wgmma.fence before registers change hands",
     "wgmma.fence must lie between any access to accumulator or A registers and the first wgmma that uses "
     "them.",
     "PTX 9.7.15.7.1"},
    {"WG2", "operands of wgmma",
     "All four warps of the group must give the same descriptors, and operands must be aligned and complete "
     "in shared memory.",
     "PTX 9.7.15.5"},
    {"WG3", "accumulators are free only after wgmma.wait_group",
     "Accumulator and A registers of a wgmma may be read or written only after a wait_group that covers its "
     "group.",
     "PTX 9.7.15.7.3"},
    {"WG4", "a stage is released only when the wgmma that reads it has completed",
     "wgmma reads shared memory after it was issued. Arrive on the empty barrier only after a wait_group "
     "that covers the group which reads this stage.",
     "PTX 9.7.15.7.3"},
    {"BK2", "bulk groups belong to the thread that committed them",
     "cp.async.bulk.wait_group waits for copies of the executing thread only. The lane that stored must be "
     "the lane that waits; others learn of it through a barrier.",
     "PTX 9.7.9.27.2.2"},
    {"BK3", "wait_group.read frees the source, nothing else",
     "After .read the shared-memory source may be overwritten; the destination in global memory may still be "
     "incomplete.",
     "PTX 9.7.9.27.2.2"},
    {"BK6", "stores are drained before exit",
     "The shared memory that a bulk store reads must live until it was read: wait (wait_group.read 0) before "
     "the CTA exits. That all bytes are written at exit is not documented either, but relied on; a lint.",
     "PTX is silent; CUTLASS drains"},
    {"RG2", "setmaxnreg goes in the right direction",
     "inc must not name fewer registers than the warp owns, dec not more.", "PTX 9.7.19.5"},
    {"RG4", "registers asked for fit in the pool",
     "setmaxnreg.inc waits until others have given enough registers back. If the sum over all warps is above "
     "the CTA's pool, it waits for ever.",
     "PTX 9.7.19.5"},
    {"BS1", "size and alignment of bulk copies",
     "Sizes are multiples of 16 bytes; source and destination are aligned to 16 bytes.", "PTX 9.7.9.25.4.1"},
    {"BS2", "alignment of TMA tiles in shared memory",
     "128 bytes; with a swizzle, the atom repeats at 256, 512 or 1024 bytes.", "CUDA guide"},
    {"BS3", "alignment of mbarriers", "8 bytes.", "PTX 9.7.13.15.1"},
    {"BS5", "rank of a tensor map", "1 to 5; interleaved layouts need at least 3.", "CUDA driver API"},
    {"BS14", "TMA stores do not start at negative coordinates",
     "Loads may begin outside of the tensor and are filled; stores must start inside.", "PTX 9.7.9.27.1.1"},
    {"memory", "addresses lie inside of their buffer and are aligned",
     "An access outside of the buffers of the launch, or not aligned to its size, stops the kernel on a GPU "
     "or corrupts other data.",
     "PTX 6.4"},
});

bool same_letters(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) {
    return std::tolower(static_cast<unsigned char>(x)) == std::tolower(static_cast<unsigned char>(y));
  });
}

}  // namespace

std::span<const Rule> all_rules() { return rules; }

const Rule* find_rule(std::string_view id) {
  const auto at =
      std::find_if(rules.begin(), rules.end(), [&](const Rule& r) { return same_letters(r.id, id); });
  return at == rules.end() ? nullptr : &*at;
}

}  // namespace turnstile::cli
