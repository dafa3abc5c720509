// SPDX-License-Identifier: Apache-2.0

// P6: mbarrier.init on an object that is already valid, and other breaks of its lifecycle (MB9, MB10, MB21,
// MB1).

#include "mbarrier_script.cuh"

namespace probes {
namespace {

constexpr Step one{Op::arrive, 1}, inval{Op::inval, 0};

void with_inval(Bench& b, const Variant&) {
  run_script(b, {{Op::init, 1}, one, inval, {Op::init, 3}, one, one, one});
}
void fresh_parity(Bench& b, const Variant&) { run_script(b, {{Op::init, 1}}); }
void idle(Bench& b, const Variant&) { run_script(b, {{Op::init, 2}, {Op::init, 3}, one, one, one}); }
void in_phase(Bench& b, const Variant&) { run_script(b, {{Op::init, 2}, one, {Op::init, 2}, one, one}); }
void odd_phase(Bench& b, const Variant&) { run_script(b, {{Op::init, 1}, one, {Op::init, 1}, one}); }
void open_bytes(Bench& b, const Variant&) {
  run_script(b, {{Op::init, 1}, {Op::expect_tx, 64}, {Op::init, 1}, one});
}
void copy_in_flight(Bench& b, const Variant&) {
  run_script(
      b,
      {{Op::init, 1}, {Op::expect_tx, 65536}, {Op::bulk_no_wait, 65536}, {Op::init, 1}, {Op::wait, 0}, one});
}
void after_inval(Bench& b, const Variant&) { run_script(b, {{Op::init, 2}, inval, one, one}); }
void inval_twice(Bench& b, const Variant&) {
  run_script(b, {{Op::init, 2}, inval, inval, {Op::init, 1}, one});
}
void inval_in_phase(Bench& b, const Variant&) {
  run_script(b, {{Op::init, 2}, one, inval, {Op::init, 2}, one, one});
}
void never_initialised(Bench& b, const Variant&) { run_script(b, {one, one}); }
void init_zero(Bench& b, const Variant&) { run_script(b, {{Op::init, 0}, one, one}); }
void init_top(Bench& b, const Variant&) {
  run_script(b, {{Op::init, (1u << 20) - 1}, {Op::arrive, (1u << 20) - 1}, one});
}
void init_above(Bench& b, const Variant&) { run_script(b, {{Op::init, 1u << 20}, one, one}); }
void drop_all(Bench& b, const Variant&) {
  run_script(b, {{Op::init, 2}, {Op::arrive_drop, 1}, one, {Op::arrive_drop, 1}, one, one});
}
void drop_one(Bench& b, const Variant&) {
  run_script(b, {{Op::init, 3}, {Op::arrive_drop, 1}, one, one, one, one});
}

constexpr Variant variants[] = {
    {"fresh", true, "init 1: parity 1 is ready, parity 0 is not (W2)", fresh_parity},
    {"with_inval", true, "init, arrive, inval, init 3, three arrivals", with_inval},
    {"init_max", true, "init 2^20-1, arrive 2^20-1", init_top},
    {"drop", true, "init 3, one drops out: the next phase expects 2", drop_one},
    {"idle", false, "init 2, init 3 with nothing between, three arrivals", idle},
    {"in_phase", false, "init 2, one arrival, init 2, two arrivals", in_phase},
    {"odd_phase", false, "init 1, arrive (phase 1 open), init 1: which parity is ready?", odd_phase},
    {"open_bytes", false, "init 1, expect 64 bytes, init 1, arrive: are the bytes forgotten?", open_bytes},
    {"copy_in_flight", false, "init 1, a bulk copy of 64 KiB, init 1 at once: where do the bytes land?",
     copy_in_flight},
    {"use_after_inval", false, "init 2, inval, arrive twice", after_inval},
    {"inval_twice", false, "init 2, inval, inval, init 1, arrive", inval_twice},
    {"inval_in_phase", false, "init 2, one arrival, inval, init 2, two arrivals", inval_in_phase},
    {"never_initialised", false, "arrive on zeroed memory", never_initialised},
    {"init_0", false, "init 0, two arrivals (ptxas accepts it)", init_zero},
    {"init_2_20", false, "init 2^20, two arrivals (ptxas accepts it)", init_above},
    {"drop_to_zero", false, "both participants drop out, then two arrivals", drop_all},
};

}  // namespace

const Probe p06{"P6", variants};

}  // namespace probes
