// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <initializer_list>

#include "ptx.cuh"

/// One warp applies a list of operations to one mbarrier and notes after each what can be seen: the 64-bit
/// word and what test_wait says of both parities. P1, P2, P6 and P15 are lists for it.
namespace probes {

enum class Op : int {
  init,
  inval,
  arrive,        ///< count form, value = count
  arrive_lanes,  ///< the first `value` lanes arrive together, one each
  arrive_drop,
  expect_tx,
  complete_tx,  ///< the simulating instruction
  arrive_expect_tx,
  bulk,  ///< a copy of `value` bytes that completes on the barrier; noted once it has had time to land
  bulk_no_wait,  ///< the same, noted at once
  wait,          ///< nothing but time: 100 us
};

constexpr const char* op_name[] = {"init",        "inval",        "arrive",      "arrive_lanes",
                                   "arrive_drop", "expect_tx",    "complete_tx", "arrive_expect_tx",
                                   "bulk",        "bulk_no_wait", "wait_100us"};

struct Step {
  Op op;
  uint32_t value;
};

constexpr int max_steps = 24;
struct Script {
  int count = 0;
  Step step[max_steps] = {};
};

constexpr uint32_t script_copy_bytes = 131072;  ///< the largest copy of a script

/// Cells of step i: word, ready(parity 0) | ready(parity 1) << 1 (4 = not asked: the object is not valid),
/// state token.
static __global__ void mbarrier_script(uint64_t* cells, const char* source, Script script) {
  extern __shared__ __align__(1024) char buffer[];
  __shared__ __align__(8) uint64_t object;
  const uint32_t bar = shared_address(&object), lane = threadIdx.x;
  if (lane == 0) object = 0;
  __syncwarp();
  bool valid = false;
  for (int i = 0; i < script.count; ++i) {
    const Op op = script.step[i].op;
    const uint32_t n = script.step[i].value;
    uint64_t state = 0;
    if (op == Op::arrive_lanes) {
      if (lane < n) state = mbar_arrive(bar);
    } else if (lane == 0) {
      if (op == Op::init) mbar_init(bar, n);
      if (op == Op::inval) mbar_inval(bar);
      if (op == Op::arrive) state = mbar_arrive(bar, n);
      if (op == Op::arrive_drop) state = mbar_arrive_drop(bar, n);
      if (op == Op::expect_tx) mbar_expect(bar, n);
      if (op == Op::complete_tx) mbar_complete_tx(bar, n);
      if (op == Op::arrive_expect_tx) state = mbar_arrive_expect(bar, n);
      if (op == Op::bulk || op == Op::bulk_no_wait) bulk_load(shared_address(buffer), source, n, bar);
      if (op == Op::bulk || op == Op::wait) sleep_us(100);
    }
    if (op == Op::init) valid = true;
    if (op == Op::inval) valid = false;
    __syncwarp();
    if (op != Op::bulk_no_wait) __nanosleep(2000);
    if (lane == 0) {
      const int at = cell_first + 3 * i;
      put(cells, at, mbar_word(bar));
      put(cells, at + 1, valid ? (mbar_test(bar, 0) ? 1 : 0) | (mbar_test(bar, 1) ? 2 : 0) : 4);
      put(cells, at + 2, state);
      put(cells, cell_reached, static_cast<uint64_t>(i) + 1);
      __threadfence_system();
    }
    __syncwarp();
  }
}

/// Runs a script and adds "steps" to the line: one object a step that was reached.
inline void run_script(Bench& bench, std::initializer_list<Step> steps) {
  Script script;
  for (const Step& s : steps) script.step[script.count++] = s;
  const char* source = bench.device_array<char>(script_copy_bytes, 0x5A);
  bench.run(mbarrier_script, Shape{1, 32, 1, script_copy_bytes}, bench.cells, source, script);
  std::string text = "[";
  for (int i = 0; i < static_cast<int>(bench.cells[cell_reached]) && i < script.count; ++i) {
    const uint64_t* at = bench.cells + cell_first + 3 * i;
    text += std::string(i == 0 ? "" : ",") + "{\"op\":\"" + op_name[static_cast<int>(script.step[i].op)] +
            "\",\"value\":" + std::to_string(script.step[i].value) + ",\"word\":\"" + Bench::hex_text(at[0]) +
            "\"";
    if (at[1] != 4) {
      text += ",\"ready0\":" + std::to_string(at[1] & 1) + ",\"ready1\":" + std::to_string(at[1] >> 1 & 1);
    }
    text += ",\"state\":\"" + Bench::hex_text(at[2]) + "\"}";
  }
  bench.json("steps", text + "]");
}

}  // namespace probes
