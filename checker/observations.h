// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/trace.h"

namespace turnstile::checker {

// What the engine saw, as indices into the trace. explain.cc turns it into sentences; no other part makes
// text.

constexpr size_t no_event = ~size_t{0};

/// A condition of the certificate that does not hold (algorithms.md 3.2).
struct Breach {
  enum class Kind : uint8_t {
    early_pass,       ///< D1, of a wait that passed
    blocked_early,    ///< D1, of a wait that is blocked at the end: it was overtaken in this run
    lapped,           ///< D2
    foreign_arrival,  ///< D3
    refused,          ///< D4, or another operation that the barrier's state machine refuses
    unannounced,      ///< D5a
    unmatched,        ///< D5b
  };
  Kind kind = Kind::early_pass;
  bool named = false;   ///< a named barrier
  uint32_t object = 0;  ///< barrier index; named: cta * 16 + id
  uint64_t generation =
      0;  ///< D1, D3: the completion that is not in the past; D2: the wait's; else the open one
  size_t event = no_event;       ///< the wait, contribution or expect; blocked_early: none
  size_t blocked = no_event;     ///< index into Trace::blocked
  size_t completion = no_event;  ///< D2: the event that completed the next generation
  std::string_view rule;         ///< refused: what the state machine says
  size_t found = 0;              ///< event at which it was seen to fail: breaches are told in this order
};

/// Two accesses that the visibility order does not order.
struct Conflict {
  enum class Kind : uint8_t {
    race,
    write_unfenced,   ///< PX1, PX7: ordered, but no proxy fence between a generic write and an async access
    read_unfenced,    ///< PX2: the same for a generic read and an async write
    map_unfenced,     ///< TMAP2: a descriptor written by stores, read by a copy, without tensormap fences
    tensor_unfenced,  ///< TC23: accesses to tensor memory, ordered, without tcgen05.fence on both sides
    tensor_queue,     ///< TC16: operations of one thread, no pipelined pair: only the hardware orders them
    across_ctas,      ///< PX5: async accesses of two CTAs, ordered
    same_values,      ///< M4: generic writes that leave the same bytes, in no order
    unused_read,      ///< M4: a load whose value reaches nothing, and a write, in no order
    narrow_scope,     ///< HB1: only an arrival or wait of scope .cta orders them, between two CTAs
  };
  Kind kind = Kind::race;
  size_t prior = no_event;
  size_t current = no_event;
  uint32_t allocation = 0;
  Space space = Space::shared;
  uint64_t begin = 0;  ///< first common bytes
  uint64_t end = 0;
  uint64_t occurrences = 1;
  bool issue_known = false;  ///< one side is a wgmma or a TMA store that reads; the other side knows that it
                             ///< was issued, not that it is over
};

/// A copy over bytes that no one has read since the copy before.
struct Overwrite {
  size_t prior = no_event;
  size_t current = no_event;
  uint64_t occurrences = 1;
};

/// A barrier used where its initialisation is not visible (MB10, MB11).
struct EarlyUse {
  uint32_t barrier = 0;
  size_t init = no_event;  ///< no_event: never initialised
  size_t use = no_event;
};

/// In one generation of a barrier, bytes expected and bytes of the copies issued to it differ (MB18, MB19).
struct ByteMismatch {
  uint32_t barrier = 0;
  uint64_t generation = 0;  ///< completions before it
  uint64_t expected = 0;
  uint64_t issued = 0;
  size_t expect = no_event;  ///< first expect of the generation
  std::vector<size_t> copies;
  uint64_t occurrences = 1;
};

/// A warp waits for a generation that it already waited for and has released since
/// (orchestration_bugs.md 1.1).
struct SecondHelping {
  uint32_t barrier = 0;
  uint64_t generation = 0;
  size_t first = no_event, release = no_event, again = no_event;
  uint64_t occurrences = 1;
};

/// A named barrier misused in one instance.
struct NamedMisuse {
  enum class Kind : uint8_t { count_mismatch, over_arrival, bad_count, twice, arrives_only };
  Kind kind = Kind::count_mismatch;
  uint32_t object = 0;
  uint64_t instance = 0;
  size_t event = no_event;
  size_t other =
      no_event;  ///< the first contributor of the instance, or the same warp's earlier contribution
};

/// An ordered read whose bytes hold another tag than it demands (orchestration_bugs.md 1.1).
struct StaleRead {
  size_t write = no_event;  ///< the last write; no_event: nobody has written
  size_t read = no_event;
  uint64_t occurrences = 1;
};

/// A rule of one of the smaller mechanisms that is broken; rules.cc says what each means.
struct Misuse {
  enum class Kind : uint8_t {
    cluster_twice,         ///< C1: arrives again before the generation is complete; other = its arrival
    cluster_no_wait,       ///< Q15: arrives again without having waited
    cluster_no_arrive,     ///< C2: waits without an arrival of its own
    narrow_arrive,         ///< HB1: object = barrier; a remote arrival of scope .cta
    narrow_wait,           ///< HB1: object = barrier; remote arrivals, a wait of scope .cta
    narrow_signal,         ///< GM3: object = signal
    remote_wait,           ///< MB8: object = barrier
    unfenced_init,         ///< MB11: object = barrier; other = its init
    target_not_started,    ///< D1: amount = CTA
    target_exited,         ///< D2, D3: amount = CTA, other = its last exit, object = barrier or none
    pool_leak,             ///< TC6: object = pool, amount = units that are missing
    tensor_bad_count,      ///< TC4
    tensor_increasing,     ///< TC5: amount = columns of the allocation before
    tensor_relinquished,   ///< TC7: other = the relinquish
    tensor_mixed_groups,   ///< TC8
    tensor_not_allocated,  ///< TC6, of a dealloc
    tensor_leak,           ///< TC6: event = the last alloc, amount = columns
    tensor_other_warp,     ///< TC11: other = the alloc before
    peer_not_started,      ///< TC9: a paired allocation
    peer_not_allocated,    ///< TC10: a paired dealloc; other = the alloc of the peer, or none
    inval_in_flight,       ///< MB10: object = barrier; other = the issue of an arrival that can come later
    phase_unseen,          ///< S1: object = barrier, amount = phase; other = the event that completed it
    peer_frees_before,     ///< TC9: a paired dealloc behind that of the peer; other = the latter
    registers_unmet,       ///< RG1: setmaxnreg again before the warps of the group have met
    access_before_wait,    ///< PD5: other = the griddepcontrol.wait
  };
  static constexpr uint32_t no_object = 0xffffffff;
  Kind kind = Kind::cluster_twice;
  size_t event = no_event;
  size_t other = no_event;
  uint32_t object = 0;
  uint64_t amount = 0;
};

/// Asynchronous work that may outlive its CTA.
struct Undrained {
  enum class Kind : uint8_t { store_reads, store_writes, load };
  Kind kind = Kind::store_reads;
  size_t issue = no_event;
  size_t exit = no_event;
};

/// A reason why one run does not stand for all (K4, K6, K7, LF1, LF2).
struct Uncovered {
  static constexpr uint32_t nowhere = 0xffffffff;
  std::string reason;
  uint32_t place = nowhere;
  bool searchable = true;  ///< a search over the schedules decides it; false: something is not known
};

/// Faults are told where they happen. After these the execution goes on; after any other it stops there.
inline bool stops_execution(const Fault& fault) {
  for (const std::string_view remark : {"TC6", "TC9", "TC10", "TC24", "BK6", "D5", "N7", "C4"})
    if (fault.rule == remark) return false;
  return true;
}
inline bool stopped(const Trace& trace) {
  for (const Fault& f : trace.faults)
    if (stops_execution(f)) return true;
  return trace.cut_short || !trace.live_pollers.empty();
}

struct Observations {
  std::string defect;        ///< not empty: the trace cannot be used (trace_defect.h), nothing was replayed
  std::string inconsistent;  ///< not empty: the trace contradicts itself there, and nothing after that point
                             ///< was looked at
  std::vector<Breach> breaches;
  std::vector<Conflict> conflicts;
  std::vector<Overwrite> overwrites;
  std::vector<EarlyUse> early_uses;
  std::vector<ByteMismatch> byte_mismatches;
  std::vector<SecondHelping> second_helpings;
  std::vector<NamedMisuse> named;
  std::vector<Undrained> undrained;
  std::vector<StaleRead> stale_reads;
  std::vector<Misuse> misuses;
  std::vector<size_t> register_hazards;
  std::vector<Uncovered> uncovered;
  uint64_t phases = 0;
  uint64_t accesses = 0;
  uint32_t agents = 0;  ///< strands that did anything
};

}  // namespace turnstile::checker
