// SPDX-License-Identifier: Apache-2.0

// P8: named barriers with two counts, with count 0 or above the CTA, and with too many arrivals (N1-N8,
// NX1-NX3, Q6). Each warp follows a list of at most three operations and notes when each ended.

#include "ptx.cuh"

namespace probes {
namespace {

enum class Kind : int { none, sync, arrive, leave, sync_all };  // sync_all: bar.sync without a count

struct Action {
  Kind kind = Kind::none;
  int after_us = 0;  ///< when to do it, from the start
  int count = 0;     ///< threads
};

constexpr int warps = 4, actions = 3;
struct Plan {
  Action of[warps][actions] = {};
};

/// CTA 0 follows the plan on barrier 1; CTA 1 is the watchdog.
/// Cell (warp * actions + i): 0 not ended, else nanoseconds since the start, plus 1.
__global__ void follow(uint64_t* cells, uint32_t* done, Plan plan) {
  if (blockIdx.x == 1) {
    if (threadIdx.x == 0) watch(cells, done, warps, 50000);
    return;
  }
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const bool reporter = threadIdx.x % 32 == 0;
  __syncthreads();
  const uint64_t start = nanoseconds();
  for (int i = 0; i < actions; ++i) {
    const Action a = plan.of[warp][i];
    if (a.kind == Kind::none) continue;
    while (nanoseconds() < start + static_cast<uint64_t>(a.after_us) * 1000) __nanosleep(200);
    __syncwarp();
    if (a.kind == Kind::sync) asm volatile("bar.sync 1, %0;" ::"r"(a.count) : "memory");
    if (a.kind == Kind::sync_all) asm volatile("bar.sync 1;" ::: "memory");
    if (a.kind == Kind::arrive) asm volatile("bar.arrive 1, %0;" ::"r"(a.count) : "memory");
    if (reporter) {
      put(cells, cell_first + warp * actions + i, nanoseconds() - start + 1);
      __threadfence_system();
    }
    if (a.kind == Kind::leave) {
      if (reporter) report_done(done);
      return;
    }
  }
  if (reporter) report_done(done);
  while (*static_cast<volatile uint32_t*>(done) < warps) __nanosleep(1000);  // only `leave` exits early
}

constexpr Action sync(int after_us, int count) { return {Kind::sync, after_us, count}; }
constexpr Action arrive(int after_us, int count) { return {Kind::arrive, after_us, count}; }
constexpr Action leave(int after_us) { return {Kind::leave, after_us, 0}; }
constexpr Action sync_all(int after_us) { return {Kind::sync_all, after_us, 0}; }

constexpr Plan plans[] = {
    {{{sync(0, 64)}, {sync(100, 64)}}},
    {{{arrive(0, 64)}, {sync(100, 64)}}},
    {{{sync(0, 64), sync(0, 64)}, {sync(100, 64), sync(300, 64)}}},
    // 3: two counts
    {{{sync(0, 64)}, {sync(100, 128)}}},
    {{{sync(0, 64)}, {sync(100, 128)}, {sync(200, 128)}, {sync(300, 128)}}},
    {{{sync(0, 128)}, {sync(100, 64)}}},
    {{{sync(0, 128)}, {sync(100, 64)}, {sync(200, 64)}, {sync(300, 64)}}},
    {{{sync(0, 96)}, {sync(100, 64)}, {sync(200, 96)}}},
    {{{arrive(0, 128)}, {sync(100, 64)}}},
    // 9: odd counts
    {{{sync(0, 0)}}},
    {{{sync(0, 0)}, {sync(100, 0)}, {sync(200, 0)}, {sync(300, 0)}}},
    {{{sync(0, 4096)}, {sync(100, 4096)}, {sync(200, 4096)}, {sync(300, 4096)}}},
    {{{sync(0, 33)}, {sync(100, 33)}}},
    {{{sync(0, 32)}}},
    // 14: over-arrival
    {{{sync(0, 64)}, {sync(100, 64)}, {sync(200, 64)}}},
    {{{sync(0, 64)}, {sync(100, 64)}, {sync(200, 64)}, {sync(300, 64)}}},
    {{{arrive(0, 64)}, {arrive(100, 64)}, {arrive(200, 64)}, {sync(300, 64)}}},
    {{{arrive(0, 64), arrive(100, 64)}, {sync(200, 64)}}},
    {{{arrive(0, 64), sync(100, 64)}}},
    {{{arrive(0, 64), arrive(100, 64)}, {sync(200, 64)}, {sync(300, 64)}}},
    // 20: exit
    {{{sync(0, 64)}, {leave(100)}}},
    {{{sync(0, 64)}, {leave(100)}, {leave(100)}, {leave(100)}}},
    {{{sync(0, 128)}, {sync(100, 128)}, {sync(200, 128)}, {leave(300)}}},
    // 23: exit, no count
    {{{sync_all(0)}, {sync_all(100)}, {sync_all(200)}, {sync_all(300)}}},
    {{{sync_all(0)}, {sync_all(100)}, {sync_all(200)}, {leave(300)}}},
    {{{sync_all(200)}, {sync_all(300)}, {sync_all(400)}, {leave(0)}}},
    {{{sync(0, 0)}, {sync(100, 0)}, {sync(200, 0)}, {leave(300)}}},
    {{{arrive(0, 64), leave(50)}, {sync(100, 64)}}},
    // 28: counts that no CTA of 128 threads reaches; 4128 = 4096 + 32
    {{{sync(0, 160)}, {sync(100, 160)}, {sync(200, 160)}, {sync(300, 160)}}},
    {{{sync(0, 4128)}}},
    {{{sync(0, 4096)}, {sync(100, 4096)}, {sync(200, 4096)}, {leave(300)}}},
    {{{sync(0, 160)}, {sync(100, 160)}, {sync(200, 160), sync(300, 160)}, {sync(400, 160)}}},
};

void named(Bench& b, const Variant& v) {
  uint32_t* done = b.device_array<uint32_t>(1);
  const Plan& plan = plans[v.parameter];
  b.run(follow, Shape{2, 32 * warps}, b.cells, done, plan);
  std::string text = "[";
  for (int w = 0; w < warps; ++w) {
    for (int i = 0; i < actions; ++i) {
      const Action& a = plan.of[w][i];
      if (a.kind == Kind::none) continue;
      const uint64_t at = b.cells[cell_first + w * actions + i];
      const char* name = a.kind == Kind::sync       ? "sync"
                         : a.kind == Kind::sync_all ? "sync_all"
                         : a.kind == Kind::arrive   ? "arrive"
                                                    : "exit";
      text += std::string(text.size() > 1 ? "," : "") + "{\"warp\":" + std::to_string(w) + ",\"op\":\"" +
              name + "\",\"count\":" + std::to_string(a.count) + ",\"at_us\":" + std::to_string(a.after_us) +
              ",\"passed\":" + (at != 0 ? "1" : "0") + ",\"passed_at_us\":" + std::to_string(at / 1000) + "}";
    }
  }
  b.json("events", text + "]");
}

constexpr Variant variants[] = {
    {"sync_sync_64", true, "two warps, bar.sync 64: both pass when the second comes", named, 0},
    {"arrive_sync_64", true, "bar.arrive 64, bar.sync 64: passes", named, 1},
    {"twice_64", true, "two warps, bar.sync 64 twice", named, 2},
    {"count_32", true, "one warp alone, bar.sync 32: passes", named, 13},
    {"counts_64_128", false, "bar.sync 64, then bar.sync 128 by another warp", named, 3},
    {"counts_64_128_128_128", false, "bar.sync 64, then three warps with bar.sync 128", named, 4},
    {"counts_128_64", false, "bar.sync 128, then bar.sync 64 by another warp", named, 5},
    {"counts_128_64_64_64", false, "bar.sync 128, then three warps with bar.sync 64", named, 6},
    {"counts_96_64_96", false, "bar.sync 96, 64, 96 by three warps", named, 7},
    {"arrive_128_sync_64", false, "bar.arrive 128, then bar.sync 64", named, 8},
    {"count_0_one_warp", false, "bar.sync 0 by one warp", named, 9},
    {"count_0_all_warps", false, "bar.sync 0 by all four warps", named, 10},
    {"count_4096", false, "bar.sync 4096 by all four warps", named, 11},
    {"count_33", false, "bar.sync 33 by two warps", named, 12},
    {"three_of_two", false, "three warps, bar.sync 64", named, 14},
    {"four_of_two", false, "four warps, bar.sync 64: two rounds of two", named, 15},
    {"three_arrives_one_sync", false, "three warps bar.arrive 64, then one bar.sync 64", named, 16},
    {"same_warp_arrives_twice", false, "one warp bar.arrive 64 twice, then another bar.sync 64", named, 17},
    {"same_warp_arrive_then_sync", false, "one warp bar.arrive 64, then bar.sync 64 alone", named, 18},
    {"same_warp_twice_then_two", false, "one warp bar.arrive 64 twice, then two warps bar.sync 64", named,
     19},
    {"exit_one", false, "bar.sync 64; another warp exits, two live on until the end of their lists", named,
     20},
    {"exit_all_others", false, "bar.sync 64; all other warps exit", named, 21},
    {"exit_fourth_of_128", false, "three warps bar.sync 128; the fourth exits", named, 22},
    {"no_count", true, "bar.sync without a count by all four warps: all pass at the last", named, 23},
    {"exit_last_no_count", false, "three warps bar.sync without a count; then the fourth exits", named, 24},
    {"exit_first_no_count", false, "a warp exits; then the other three bar.sync without a count", named, 25},
    {"exit_last_count_0", false, "three warps bar.sync 0; then the fourth exits", named, 26},
    {"exit_after_arrive", false, "bar.arrive 64 and exit; then another warp bar.sync 64", named, 27},
    {"count_160", false, "bar.sync 160 by all four warps", named, 28},
    {"count_4128", false, "bar.sync 4128 by one warp: does the count wrap to 32?", named, 29},
    {"exit_last_count_4096", false, "three warps bar.sync 4096; then the fourth exits", named, 30},
    {"count_160_again", false, "bar.sync 160 by three warps, one of them again, and a fourth", named, 31},
};

}  // namespace

const Probe p08{"P8", variants};

}  // namespace probes
