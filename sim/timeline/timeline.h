// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/trace.h"
#include "sim/timeline/latency_model.h"

namespace turnstile::sim {

/// When everything of one trace happens, by a latency model: an estimate. A trace has no times; its order is
/// one of many that the causes in it allow. So each event takes place when its agent has done the one before
/// and its causes have happened, whatever stands before it in the trace; the causes always do stand before
/// it.

/// What a row of the picture shows.
struct TimelineTrack {
  enum class Kind : uint8_t { warp, copy_engine, tensor_core };
  Kind kind = Kind::warp;
  uint16_t cta = 0;   ///< in the trace
  uint16_t warp = 0;  ///< of a warp; several strands of one warp that are apart have tracks of their own
  std::string role;   ///< of a warp, if it has one
};

/// What time goes to. Also the categories of the critical path.
enum class TimeUse : uint8_t {
  work,          ///< a warp executes
  wake,          ///< from the cause of a wait to the warp that goes on
  copy,          ///< the copy engine moves bytes
  copy_latency,  ///< of a copy, beyond its bytes
  matrix,        ///< the tensor core computes
  matrix_latency,
  memory,  ///< loads, atomics and classic copies of threads
};
constexpr size_t time_uses = 7;
const char* name_of(TimeUse use);

/// What a warp waits for.
enum class WaitKind : uint8_t {
  none,
  mbarrier,
  named_barrier,
  cluster_barrier,
  group,
  memory,
  flag,
  registers,
  other
};

struct TimelineSpan {
  static constexpr uint32_t none = 0xffffffff;
  uint32_t track = 0;
  TimeUse use = TimeUse::work;
  WaitKind wait = WaitKind::none;  ///< not none: the warp waits
  uint64_t begin = 0, end = 0;     ///< cycles from the start of the CTA
  uint32_t place = 0;              ///< of its last instruction, or of the operation
  uint32_t object = none;          ///< wait: barrier, queue, ...; copy, matrix: number in Trace::ops
  uint64_t phase = 0;              ///< wait: generation that it waited for
  uint32_t cause = none;           ///< wait: span in which its cause lies
  uint64_t cause_time = 0;         ///< when that happened; `end` is later
  bool critical = false;           ///< part of it is on the critical path
};

/// A stretch of the critical path. The stretches follow each other without a gap from 0 to the end.
struct PathStep {
  uint64_t begin = 0, end = 0;
  TimeUse use = TimeUse::work;
  uint32_t track = 0;
  uint32_t place = 0;
};

/// Where warps of one role, or of one warp group, wait for one thing.
struct TimelineStall {
  std::string who;   ///< "consumer 0", or "warps 4-7"
  std::string what;  ///< "full[*]"
  WaitKind kind = WaitKind::none;
  uint32_t place = 0;             ///< where the longest of these waits stands
  uint64_t waits = 0;             ///< of one warp
  uint64_t cycles = 0;            ///< in all of these, of one warp: the one that waits longest
  uint64_t used[time_uses] = {};  ///< what the causes were doing meanwhile
};

struct Timeline {
  std::vector<TimelineTrack> tracks;
  std::vector<TimelineSpan> spans;  ///< of one track: in order of time, disjoint
  std::vector<PathStep> path;
  std::vector<TimelineStall> stalls;        ///< the longest first
  uint64_t cycles = 0;                      ///< of the CTAs of this trace
  uint64_t copy_busy = 0, matrix_busy = 0;  ///< cycles, of the busiest CTA
  bool has_tensor_memory = false;           ///< tcgen05: constants that nobody measured went into it
};

struct TimelineOptions {
  uint32_t active_sms = 1;  ///< that run such a CTA at the same time
  uint32_t machine_sms = 132;
  double sharing = 1;  ///< SMs that load the same bytes, on average
};

/// The trace must have been recorded with RunOptions::work_of = instruction_work, and have ended (nothing
/// blocked).
Timeline make_timeline(const Trace& trace, const LatencyModel& model, const TimelineOptions& options);

}  // namespace turnstile::sim
