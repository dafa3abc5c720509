// SPDX-License-Identifier: Apache-2.0

// P7: a parity wait that the barrier overtakes by two phases (semantics.md E1, S2, W1, W4): does the waiter
// see anything, when it polls late, and when it is already asleep in try_wait while two phases complete back
// to back?

#include "ptx.cuh"

namespace probes {
namespace {

/// Warp 0 completes `phases` phases of a count-1 barrier; warp 1 sleeps over them and then waits for phase 0.
/// Cells: 0 parity wait ready, 1 test_wait with the state token of phase 0 (taken before), 2 the word.
__global__ void late_waiter(uint64_t* cells, int phases) {
  __shared__ __align__(8) uint64_t object;
  __shared__ uint64_t first_state;
  const uint32_t bar = shared_address(&object), warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  if (threadIdx.x == 0) mbar_init(bar, 1);
  __syncthreads();
  if (warp == 0 && lane == 0) {
    for (int i = 0; i < phases; ++i) {
      const uint64_t state = mbar_arrive(bar);
      if (i == 0) *static_cast<volatile uint64_t*>(&first_state) = state;
    }
  }
  if (warp == 1 && lane == 0) {
    sleep_us(1000);
    put(cells, cell_first, mbar_wait(bar, 0, 20000) ? 1 : 0);
    put(cells, cell_first + 1,
        phases > 0 && mbar_test_state(bar, *static_cast<volatile uint64_t*>(&first_state)) ? 1 : 0);
    put(cells, cell_first + 2, mbar_word(bar));
    put(cells, cell_reached, 1);
  }
}

enum class Poll { try_wait, test_wait };

/// Each round: the waiter begins to wait for the open phase, then the other warp completes that phase and,
/// `gap` cycles later, the next. Cells: 0 rounds, 1 rounds in which the waiter saw its phase, 2 rounds in
/// which it was overtaken.
__global__ void raced_waiter(uint64_t* cells, Poll poll, int phases, int gap, int rounds) {
  __shared__ __align__(8) uint64_t object;
  __shared__ int stop;
  const uint32_t bar = shared_address(&object), warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  if (threadIdx.x == 0) mbar_init(bar, 1);
  const uint64_t end = nanoseconds() + 1000000000;
  uint64_t seen = 0, overtaken = 0;
  uint32_t generation = 0;
  for (int round = 0; round < rounds; ++round) {
    if (threadIdx.x == 0) stop = nanoseconds() > end ? 1 : 0;
    __syncthreads();
    if (stop != 0) break;
    __syncthreads();
    if (warp == 0 && lane == 0) {
      const long long start = clock64();
      while (clock64() - start < 600 + (round & 511)) {
      }
      for (int i = 0; i < phases; ++i) {
        mbar_arrive(bar);
        if (gap > 0 && i + 1 < phases) {
          const long long now = clock64();
          while (clock64() - now < gap) {
          }
        }
      }
    }
    if (warp == 1 && lane == 0) {
      const long long start = clock64();
      bool ready = false;
      while (!ready && clock64() - start < 8000)
        ready = poll == Poll::try_wait ? mbar_try(bar, generation & 1) : mbar_test(bar, generation & 1);
      if (ready) ++seen;
      if (!ready) ++overtaken;
    }
    generation += static_cast<uint32_t>(phases);
  }
  if (warp == 1 && lane == 0) {
    put(cells, cell_first, seen + overtaken);
    put(cells, cell_first + 1, seen);
    put(cells, cell_first + 2, overtaken);
    put(cells, cell_reached, 1);
  }
}

/// How long one try_wait sleeps when nothing completes. Cell 0: nanoseconds of the shortest of eight, 1: of
/// the longest.
__global__ void try_wait_limit(uint64_t* cells) {
  __shared__ __align__(8) uint64_t object;
  const uint32_t bar = shared_address(&object);
  mbar_init(bar, 1);
  uint64_t shortest = ~uint64_t{0}, longest = 0;
  for (int i = 0; i < 8; ++i) {
    const uint64_t start = nanoseconds();
    if (mbar_try(bar, 0)) return;
    const uint64_t took = nanoseconds() - start;
    shortest = took < shortest ? took : shortest;
    longest = took > longest ? took : longest;
  }
  put(cells, cell_first, shortest);
  put(cells, cell_first + 1, longest);
  put(cells, cell_reached, 1);
}

void late(Bench& b, const Variant& v) {
  b.run(late_waiter, Shape{1, 64}, b.cells, v.parameter);
  b.number("phases_completed", static_cast<uint64_t>(v.parameter));
  b.number("parity_0_ready", b.cells[cell_first]);
  b.number("state_ready", b.cells[cell_first + 1]);
  b.hex("word", b.cells[cell_first + 2]);
}

void race(Bench& b, Poll poll, int phases, int gap) {
  b.run(raced_waiter, Shape{1, 64}, b.cells, poll, phases, gap, 20000);
  b.number("rounds", b.cells[cell_first]);
  b.number("seen", b.cells[cell_first + 1]);
  b.number("overtaken", b.cells[cell_first + 2]);
  b.number("gap_cycles", static_cast<uint64_t>(gap));
}
void race_try(Bench& b, const Variant& v) { race(b, Poll::try_wait, 2, v.parameter); }
void race_test(Bench& b, const Variant& v) { race(b, Poll::test_wait, 2, v.parameter); }
void race_one_phase(Bench& b, const Variant&) { race(b, Poll::try_wait, 1, 0); }

void limit(Bench& b, const Variant&) {
  b.run(try_wait_limit, Shape{1, 1}, b.cells);
  b.number("shortest_ns", b.cells[cell_first]);
  b.number("longest_ns", b.cells[cell_first + 1]);
}

constexpr Variant variants[] = {
    {"late_by_0_phases", true, "nothing completed: the wait for phase 0 is not ready", late, 0},
    {"late_by_1_phase", true, "phase 0 completed before the waiter polls: ready", late, 1},
    {"late_by_2_phases", false, "phases 0 and 1 completed before the waiter polls", late, 2},
    {"late_by_3_phases", false, "phases 0 to 2 completed before the waiter polls: parity aliases", late, 3},
    {"late_by_4_phases", false, "phases 0 to 3 completed before the waiter polls", late, 4},
    {"asleep_one_phase", true, "waiter in try_wait, one phase completes: always seen", race_one_phase},
    {"asleep_two_at_once", false, "waiter in try_wait, two phases complete back to back", race_try, 0},
    {"asleep_two_200", false, "the same, 200 cycles between the phases", race_try, 200},
    {"asleep_two_1000", false, "the same, 1000 cycles between the phases", race_try, 1000},
    {"polling_two_at_once", false, "waiter polls with test_wait, two phases complete back to back", race_test,
     0},
    {"polling_two_200", false, "the same, 200 cycles between the phases", race_test, 200},
    {"try_wait_time_limit", false, "how long a try_wait sleeps when nothing completes", limit},
};

}  // namespace

const Probe p07{"P7", variants};

}  // namespace probes
