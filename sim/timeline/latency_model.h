// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace turnstile::sim {

/// What things cost, in cycles of one SM unless said otherwise: the numbers behind `simulate --timeline`.
/// They are means of one machine (kernels/probes/latency); nothing here is a promise of any document.
struct LatencyModel {
  double clock_mhz = 0;     ///< of an SM whose tensor core has nothing to do
  double clock_one_sm = 0;  ///< while one SM loads and computes wgmma all the time
  double clock_20us = 0;    ///< while all do, in launches of that length, one after the other
  double clock_100us = 0;
  double clock_200us = 0;
  double clock_500us = 0;
  double clock_2ms = 0;
  double launch_us = 0;       ///< two events around an empty kernel
  double cta_turnaround = 0;  ///< from the end of a CTA to the start of the next on its SM

  // A warp executing.
  double instruction = 0;  ///< arithmetic, branches and all that is not named below
  double division = 0;     ///< of integers: a subroutine
  double special = 0;      ///< ex2, rcp, sin and the like
  double shuffle = 0;      ///< shfl, vote, redux, match
  double warp_matrix = 0;  ///< mma.sync

  // Memory, as threads see it.
  double shared_load = 0;     ///< until the result is there
  double shared_row = 0;      ///< issue, for each 128 bytes
  double global_load = 0;     ///< in L2, until the result is there
  double global_row = 0;      ///< issue, for each 128 bytes
  double atomic = 0;          ///< in global memory, until the result is there
  double global_visible = 0;  ///< from a write until a warp that polls it goes on

  // Waiting and telling.
  double mbarrier_arrive = 0;
  double mbarrier_wait = 0;  ///< of a phase that is complete
  double mbarrier_wake = 0;  ///< from the completion to the end of the wait, over mbarrier_wait
  double remote_arrive = 0;  ///< an arrival or st.async in another CTA: until it has come there
  double named_barrier = 0;  ///< from the last arrival
  double cluster_barrier = 0;
  double fence_proxy = 0;
  double fence_cta = 0;
  double fence_gpu = 0;
  double registers_release = 0;
  double registers_acquire = 0;

  // The copy engine.
  double copy_issue = 0;
  double load_rate_one = 0;  ///< bytes a cycle, one SM loading, or all of them the same
  double load_rate_all = 0;  ///< bytes a cycle of one SM, all loading bytes of their own
  double load_latency = 0;   ///< over the time that its bytes take
  double memory_rate = 0;    ///< bytes a cycle from DRAM, of one SM, all loading
  double store_issue = 0;
  double store_rate_one = 0;
  double store_rate_all = 0;
  double store_read = 0;  ///< over its bytes: until shared memory may be written again
  double store_done = 0;  ///< over its bytes: until all is written

  // The tensor core.
  double matrix_issue = 0;    ///< a warp and an instruction
  double matrix_rate = 0;     ///< elements of D times bytes of a row of K, a cycle (wgmma)
  double matrix_column = 0;   ///< of a small wgmma: cycles a column of D
  double matrix_least = 0;    ///< of a small wgmma: cycles besides
  double matrix_latency = 0;  ///< over its own time: until the group is done

  // Blackwell.
  double tensor_rate = 0;  ///< as matrix_rate, of tcgen05.mma
  double tensor_latency = 0;
  double tensor_copy = 0;    ///< tcgen05.cp, shift
  double tensor_access = 0;  ///< tcgen05.ld, st: until it is done
  double tensor_alloc = 0;
  double launch_control = 0;  ///< clusterlaunchcontrol.try_cancel, until the answer is there
};

/// Where one constant comes from.
struct LatencySource {
  double LatencyModel::*field;
  std::string_view name;
  double value;
  /// How it follows from medians of figures of the record and constants above it, read from left to right
  /// without precedence: "setmaxnreg.inc - setmaxnreg.dec". Empty: not measured.
  std::string_view formula;
  std::string_view what;
};

/// The one table. Its formulas over golden/records/latency/h200.json give its values
/// (tests/golden/latency_model.cc).
std::span<const LatencySource> latency_table();

/// The model of an H200; Blackwell's mechanisms have values that nobody measured.
LatencyModel h200_model();

/// Weight of an instruction that leaves no event in a trace (RunOptions::work_of), in 1/16 of a cycle. Those
/// that do leave one weigh nothing: the event has its own cost.
constexpr uint32_t work_unit = 16;
uint16_t instruction_work(std::string_view mnemonic);

/// The clock while a grid runs: it falls with the work of the tensor cores. `tensor_share`: of the time, on
/// an SM that runs a CTA; `active`: share of the SMs that do.
double clock_under_load(const LatencyModel& model, double tensor_share, double active, double microseconds);

/// Cycles for which a wgmma holds the tensor core: its shape stands in the mnemonic ("m64n256k16"), and K is
/// 32 bytes.
uint64_t matrix_cycles(const LatencyModel& model, std::string_view mnemonic);

}  // namespace turnstile::sim
