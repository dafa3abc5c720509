// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "model/report.h"
#include "model/trace.h"

namespace turnstile {

/// Rules on which the documents, the hardware and shipped code disagree (semantics.md section 16): what is
/// reported when they are broken. The defaults are those of that section where no probe has an answer, else
/// they follow the probes (docs/semantics-probes.md).
struct Policies {
  enum class Scope : uint8_t {
    practice,  ///< a remote arrive or wait of scope .cta orders what is over before it: asynchronous
               ///< operations that were waited for, and reads before a proxy fence (P12, P16); a lint says so
    strict,    ///< it orders nothing (M3, M9), and is an error
  };
  Scope remote_scope = Scope::practice;         ///< HB1, Q2
  Severity read_fence = Severity::error;        ///< PX2, P9: generic read, then async write, no proxy fence
  Severity tensor_fence = Severity::lint;       ///< TC23: tcgen05.fence missing beside a thread sync
  Severity async_across_ctas = Severity::lint;  ///< PX5, Q3: async accesses of two CTAs, ordered by barriers
  Severity init_fence = Severity::lint;  ///< MB11: a barrier of another CTA whose init no fence.mbarrier_init
                                         ///< publishes, though a cluster barrier orders it
  Severity register_meeting =
      Severity::lint;                        ///< RG1, P17: setmaxnreg again before the warps of its group met
  Severity exit_in_flight = Severity::lint;  ///< BK6, P14: a bulk store that still reads when its thread ends
  Severity commit_address = Severity::error;  ///< TC24: a shared address as generic operand of tcgen05.commit
  Severity unseen_phase = Severity::error;    ///< S1: an arrival after a phase that nobody waited for
  bool commits_in_order =
      true;  ///< TC24, TLX-MMA-5: tcgen05.commits of one thread arrive in one CTA in the order of issue
};

struct CheckOptions {
  Policies policies;
  uint32_t max_diagnostics = 24;  ///< beyond it the report says how many were left out
};

/// Engine E1 (algorithms.md 7): hangs, races, missing fences, stale data, protocol, lifetime and resource
/// faults of one cluster, and whether they are those of every schedule (conditions ALG-D1 to ALG-D5). A trace
/// that contradicts itself gives an inconclusive report. Linear in events times lanes.
Report check(const Trace& trace, const CheckOptions& options = {});

/// What one run says by itself, and what it leaves to a search over all schedules (algorithms.md 7.1).
struct SingleRunVerdict {
  /// As check() gives it. Diagnostics with `suspected` set rest on a broken condition of the certificate;
  /// each choice point is among the reasons `inconclusive`.
  Report report;
  /// Why this run does not stand for all schedules, though a search can decide: conditions ALG-D1 to ALG-D5,
  /// EXT1 that do not hold, and choice points (K4, K6, K7, LF1, LF2). Empty: the report is that of every
  /// schedule, as far as `undecidable` is empty too.
  std::vector<Note> schedule_dependent;
  /// What no search over this trace decides: unknown inputs, contradictions, a step limit, a fault.
  std::vector<Note> undecidable;
};

SingleRunVerdict check_single_run(const Trace& trace, const CheckOptions& options = {});

/// What one CTA does to global memory, for check_between.
struct GlobalAccessSummary {
  enum class Kind : uint8_t { read, write, atomic };
  struct Range {
    uint32_t buffer = 0;
    uint32_t place = 0;  ///< into `places`
    Kind kind = Kind::read;
    bool writes = false;
    bool async = false;        ///< an atomic: a reduction of the async proxy
    uint8_t element = 0;       ///< an atomic: bytes of an element; 0: not known
    bool conditional = false;  ///< Event::conditional
    ByteRange bytes;
    uint32_t footprint = 0;  ///< in its trace; all ranges of one access of it follow each other
  };
  /// Shared by the CTAs of a launch that do the same.
  struct Names {
    std::vector<std::string> buffers;  ///< by buffer number
    std::vector<SourcePosition> places;
  };
  static constexpr uint32_t of_ticket = 0xffffffff;
  uint32_t cta[3] = {0, 0, 0};  ///< or {n, of_ticket, 0}: whichever draws ticket n (sim/tickets.h)
  std::shared_ptr<const Names> names = std::make_shared<Names>();
  std::vector<Range> ranges;  ///< each (place, footprint) once
};

/// Whether other CTAs can tell two accesses apart by nothing but where they are.
bool same_sort(const GlobalAccessSummary::Range& a, const GlobalAccessSummary::Range& b);

GlobalAccessSummary summarize_global(const Trace& trace);

/// The same accesses by another CTA, at `first_cta`, whose footprints lie elsewhere: `footprints` and
/// `ranges` take the place of those of the trace that `of` was made from.
GlobalAccessSummary moved_summary(const GlobalAccessSummary& of, const uint32_t (&first_cta)[3],
                                  std::span<const Footprint> footprints, std::span<const ByteRange> ranges);

/// Races in global memory between different CTAs of one launch, which nothing orders (semantics.md section
/// 12): any overlap with at least one write, atomics on both sides excepted. Sort and sweep; buffers that
/// nobody writes cost nothing. Several summaries of one CTA are what it does in different runs. Finds at
/// least one pair for every byte that is raced on, not all pairs.
Report check_between(std::span<const GlobalAccessSummary> ctas, const CheckOptions& options = {});

}  // namespace turnstile
