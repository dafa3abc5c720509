// SPDX-License-Identifier: Apache-2.0

// P1: more arrivals in a phase than it expects (MB6, MB15, Q1). Single arrivals cannot exceed a phase,
// because the last one completes it; the count form can.

#include "mbarrier_script.cuh"

namespace probes {
namespace {

constexpr Step one{Op::arrive, 1};

void exact(Bench& b, const Variant&) { run_script(b, {{Op::init, 2}, one, one, one, one, one}); }
void three_of_two(Bench& b, const Variant&) {
  run_script(b, {{Op::init, 2}, {Op::arrive, 3}, one, one, one, one});
}
void four_of_two(Bench& b, const Variant&) {
  run_script(b, {{Op::init, 2}, {Op::arrive, 4}, one, one, one, one});
}
void five_of_two(Bench& b, const Variant&) {
  run_script(b, {{Op::init, 2}, {Op::arrive, 5}, one, one, one, one});
}
void two_of_one_left(Bench& b, const Variant&) {
  run_script(b, {{Op::init, 2}, one, {Op::arrive, 2}, one, one, one, one});
}
void with_bytes_open(Bench& b, const Variant&) {
  run_script(b,
             {{Op::init, 2}, {Op::expect_tx, 64}, one, one, one, {Op::complete_tx, 64}, one, one, one, one});
}
void lanes_exact(Bench& b, const Variant&) {
  run_script(b, {{Op::init, 32}, {Op::arrive_lanes, 32}, {Op::arrive_lanes, 32}});
}
void lanes_three_of_two(Bench& b, const Variant&) {
  run_script(b, {{Op::init, 2}, {Op::arrive_lanes, 3}, one, one, one});
}
void lanes_32_of_one(Bench& b, const Variant&) {
  run_script(b, {{Op::init, 1}, {Op::arrive_lanes, 32}, one, one});
}
void lanes_31_of_one(Bench& b, const Variant&) {
  run_script(b, {{Op::init, 1}, {Op::arrive_lanes, 31}, one, one});
}
void arrive_zero(Bench& b, const Variant&) { run_script(b, {{Op::init, 2}, {Op::arrive, 0}, one, one}); }

constexpr Variant variants[] = {
    {"exact", true, "count 2, five single arrivals: phases complete at the 2nd and the 4th", exact},
    {"lanes_exact", true, "count 32, 32 lanes arrive together, twice", lanes_exact},
    {"arrive_3_of_2", false, "count 2, one arrive of count 3, then single arrivals", three_of_two},
    {"arrive_4_of_2", false, "count 2, one arrive of count 4, then single arrivals", four_of_two},
    {"arrive_5_of_2", false, "count 2, one arrive of count 5, then single arrivals", five_of_two},
    {"arrive_2_of_1_left", false, "count 2, one arrival, then an arrive of count 2, then single arrivals",
     two_of_one_left},
    {"third_while_bytes_open", false, "count 2, 64 bytes expected, three arrivals, then the bytes",
     with_bytes_open},
    {"lanes_3_of_2", false, "count 2, three lanes arrive together", lanes_three_of_two},
    {"lanes_32_of_1", false, "count 1, 32 lanes arrive together (triton 9498)", lanes_32_of_one},
    {"lanes_31_of_1", false, "count 1, 31 lanes arrive together", lanes_31_of_one},
    {"arrive_0", false, "count 2, an arrive of count 0", arrive_zero},
};

}  // namespace

const Probe p01{"P1", variants};

}  // namespace probes
