// SPDX-License-Identifier: Apache-2.0
#include "sim/timeline/latency_model.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

namespace turnstile::sim {

namespace {

using M = LatencyModel;

// Medians, never the best round: what a kernel meets.
constexpr LatencySource table[] = {
    {&M::clock_mhz, "clock_mhz", 1980, "clock.sm", "MHz of an SM without tensor work"},
    {&M::clock_one_sm, "clock_one_sm", 1813.2, "clock.load_one_sm_200us",
     "MHz while one SM loads and computes wgmma all the time"},
    {&M::clock_20us, "clock_20us", 1754.4, "clock.load_all_sms_20us",
     "MHz while all SMs do, in launches of 20 us, one after the other"},
    {&M::clock_100us, "clock_100us", 1686.1, "clock.load_all_sms_100us", "the same, launches of 100 us"},
    {&M::clock_200us, "clock_200us", 1675.5, "clock.load_all_sms_200us", "the same, launches of 200 us"},
    {&M::clock_500us, "clock_500us", 1409.4, "clock.load_all_sms_500us", "the same, launches of 500 us"},
    {&M::clock_2ms, "clock_2ms", 1422.8, "clock.load_all_sms_2ms", "the same, launches of 2 ms"},
    {&M::launch_us, "launch_us", 5.888, "launch.full", "us between two events around an empty kernel"},
    {&M::cta_turnaround, "cta_turnaround", 425.7,
     "launch.spin_9_waves - launch.spin_1_wave / 8 * clock_mhz - 20000",
     "from the end of a CTA to the start of the next on its SM"},

    {&M::instruction, "instruction", 2.121, "alu_shf.issue_warps_4",
     "any instruction of a warp that is not named here"},
    {&M::division, "division", 58.027, "alu_div_u32.latency", "an integer division"},
    {&M::special, "special", 8.162, "mufu_ex2.issue_warps_4", "ex2, rcp, sin and the like"},
    {&M::shuffle, "shuffle", 4.549, "shfl.issue_warps_4", "shfl, vote, match, redux"},
    {&M::warp_matrix, "warp_matrix", 6.75, "mma_sync_bf16.issue_warps_4", "mma.sync"},

    {&M::shared_load, "shared_load", 23.656, "ld_shared.latency", "ld.shared to its first use"},
    {&M::shared_row, "shared_row", 4.438, "st_shared.issue_warps_4",
     "issue of 128 bytes of shared memory, without conflicts"},
    {&M::global_load, "global_load", 282.7, "ld_global_l2.latency", "ld.global to its first use, in L2"},
    {&M::global_row, "global_row", 4.562, "st_global.issue_warps_1", "issue of 128 bytes of global memory"},
    {&M::atomic, "atomic", 269.8, "atom_global.latency", "atom.global to its first use"},
    {&M::global_visible, "global_visible", 565.3, "ld_global_l2.latency * 2",
     "a write of a flag until a poll of it returns"},

    {&M::mbarrier_arrive, "mbarrier_arrive", 7, "mbarrier.arrive", "an arrival, expect_tx or init"},
    {&M::mbarrier_wait, "mbarrier_wait", 58.469, "mbarrier.try_wait_ready",
     "a wait for a phase that is complete"},
    {&M::mbarrier_wake, "mbarrier_wake", 34.734, "mbarrier.handoff - mbarrier_arrive - mbarrier_wait",
     "from the completion of a phase to the warp that waits, besides"},
    {&M::remote_arrive, "remote_arrive", 421.9, "mbarrier.remote_handoff - mbarrier.handoff",
     "an arrival at another CTA of the cluster, besides"},
    {&M::named_barrier, "named_barrier", 31.062, "bar_sync.warps_4", "bar.sync, from the last arrival"},
    {&M::cluster_barrier, "cluster_barrier", 359, "cluster_barrier.ctas_2",
     "barrier.cluster, from the last arrival"},
    {&M::fence_proxy, "fence_proxy", 15.969, "fence.proxy_async", "fence.proxy.async"},
    {&M::fence_cta, "fence_cta", 9.219, "fence.cta", "fence.acq_rel.cta"},
    {&M::fence_gpu, "fence_gpu", 277.4, "fence.gpu", "fences of a wider scope"},
    {&M::registers_release, "registers_release", 144, "setmaxnreg.dec", "setmaxnreg.dec"},
    {&M::registers_acquire, "registers_acquire", 28, "setmaxnreg.inc - setmaxnreg.dec",
     "setmaxnreg.inc, once there are enough"},

    {&M::copy_issue, "copy_issue", 80, "tma_load_issue.16k - mbarrier_arrive",
     "issue of cp.async.bulk, loads"},
    {&M::load_rate_one, "load_rate_one", 89.622, "tma_load_l2.rate_one_sm",
     "bytes a cycle that an SM loads from L2 at most"},
    {&M::load_rate_all, "load_rate_all", 36.475, "tma_load_l2.rate_all_sms",
     "bytes a cycle of one SM, when all load bytes of their own"},
    {&M::load_latency, "load_latency", 154,
     "16384 / load_rate_one * -1 + tma_load_l2.16k - tma_load_issue.16k - mbarrier_wake - mbarrier_wait",
     "a load from L2, from issue to its barrier, besides its bytes"},
    {&M::memory_rate, "memory_rate", 17.395, "tma_load_dram.rate_all_sms",
     "bytes a cycle of one SM from DRAM, when all load"},
    {&M::store_issue, "store_issue", 16, "tma_store.issue",
     "issue of cp.async.bulk, stores, with the commit"},
    {&M::store_rate_one, "store_rate_one", 32.181, "tma_store.rate_one_sm",
     "bytes a cycle that an SM stores at most"},
    {&M::store_rate_all, "store_rate_all", 21.299, "tma_store.rate_all_sms",
     "bytes a cycle of one SM, when all store"},
    {&M::store_read, "store_read", 42.44, "8192 / store_rate_one * -1 + tma_store.8k_read - store_issue",
     "a store, until its source may be written again, besides its bytes"},
    {&M::store_done, "store_done", 48.44, "8192 / store_rate_one * -1 + tma_store.8k_done - store_issue",
     "a store, until it is written, besides its bytes"},

    {&M::matrix_issue, "matrix_issue", 2.121, "alu_shf.issue_warps_4",
     "issue of a wgmma: taken to be that of any instruction"},
    {&M::matrix_rate, "matrix_rate", 4079.2, "524288 / wgmma_bf16.n256.rate_groups_1",
     "bytes of K times elements of D a cycle (4096 is 1024 bf16 products)"},
    {&M::matrix_column, "matrix_column", 0.253,
     "wgmma_bf16.n32.rate_groups_1 - wgmma_bf16.n16.rate_groups_1 / 16",
     "a wgmma of few columns: cycles a column"},
    {&M::matrix_least, "matrix_least", 16.421, "matrix_column * -16 + wgmma_bf16.n16.rate_groups_1",
     "a wgmma of few columns: cycles besides"},
    {&M::matrix_latency, "matrix_latency", 75.285, "wgmma_bf16.n256.latency - wgmma_bf16.n256.rate_groups_1",
     "a wgmma, to the end of its wait, besides its time on the tensor core"},

    {&M::tensor_rate, "tensor_rate", 8192, "",
     "tcgen05.mma, twice wgmma: the ratio of the vendor's peak rates"},
    {&M::tensor_latency, "tensor_latency", 75, "", "as wgmma"},
    {&M::tensor_copy, "tensor_copy", 64, "", "tcgen05.cp, shift: a guess"},
    {&M::tensor_access, "tensor_access", 32, "", "tcgen05.ld, st: a guess"},
    {&M::tensor_alloc, "tensor_alloc", 100, "", "tcgen05.alloc, dealloc: a guess"},
    {&M::launch_control, "launch_control", 1000, "",
     "clusterlaunchcontrol.try_cancel to its barrier: a guess"},
};

/// The number after `letter` in "m64n256k16"; 0: none.
uint32_t shape_number(std::string_view shape, char letter) {
  const size_t at = shape.find(letter);
  uint32_t value = 0;
  if (at != std::string_view::npos)
    std::from_chars(shape.data() + at + 1, shape.data() + shape.size(), value);
  return value;
}

bool starts_with_one_of(std::string_view text, std::initializer_list<std::string_view> prefixes) {
  return std::any_of(prefixes.begin(), prefixes.end(),
                     [&](std::string_view p) { return text.starts_with(p); });
}

}  // namespace

std::span<const LatencySource> latency_table() { return table; }

LatencyModel h200_model() {
  LatencyModel model;
  for (const LatencySource& source : table) model.*source.field = source.value;
  return model;
}

uint16_t instruction_work(std::string_view mnemonic) {
  const LatencyModel m = h200_model();
  const auto work = [](double cycles) { return static_cast<uint16_t>(std::lround(cycles * work_unit)); };
  // They leave events, whose costs are above; a mov is a renaming that ptxas removes.
  if (starts_with_one_of(
          mnemonic, {"mov", "cvta", "mbarrier", "bar.", "barrier", "cp.", "wgmma", "tcgen05", "st.",
                     "stmatrix", "red.", "fence", "membar", "setmaxnreg", "ldmatrix", "atom", "exit", "ret"}))
    return 0;
  if (mnemonic.starts_with("ld.") || mnemonic == "ld")
    return mnemonic.starts_with("ld.param") ? work(m.instruction) : 0;
  if (starts_with_one_of(mnemonic, {"div.u", "div.s", "rem."})) return work(m.division);
  if (starts_with_one_of(mnemonic, {"ex2", "lg2", "rcp", "rsqrt", "sqrt", "sin", "cos", "tanh", "div."}))
    return work(m.special);
  if (starts_with_one_of(mnemonic, {"shfl", "vote", "match", "redux", "elect"})) return work(m.shuffle);
  if (mnemonic.starts_with("mma")) return work(m.warp_matrix);
  return work(m.instruction);
}

double clock_under_load(const LatencyModel& model, double tensor_share, double active, double microseconds) {
  const std::array<std::pair<double, double>, 5> points = {{{20, model.clock_20us},
                                                            {100, model.clock_100us},
                                                            {200, model.clock_200us},
                                                            {500, model.clock_500us},
                                                            {2000, model.clock_2ms}}};
  double all = microseconds <= points.front().first ? points.front().second : points.back().second;
  for (size_t i = 0; i + 1 < points.size(); ++i) {
    const auto [t0, f0] = points[i];
    const auto [t1, f1] = points[i + 1];
    if (microseconds >= t0 && microseconds < t1)
      all = f0 + (f1 - f0) * std::log(microseconds / t0) / std::log(t1 / t0);
  }
  const double loaded = model.clock_one_sm + (all - model.clock_one_sm) * std::clamp(active, 0.0, 1.0);
  return model.clock_mhz + (loaded - model.clock_mhz) * std::clamp(tensor_share, 0.0, 1.0);
}

uint64_t matrix_cycles(const LatencyModel& model, std::string_view mnemonic) {
  const size_t at = mnemonic.find(".m64n");
  const double columns = at == std::string_view::npos ? 256 : shape_number(mnemonic.substr(at + 4), 'n');
  const double full = 64 * columns * 32 / model.matrix_rate;
  const double small = model.matrix_least + model.matrix_column * columns;
  return static_cast<uint64_t>(std::llround(std::max(full, small)));
}

}  // namespace turnstile::sim
