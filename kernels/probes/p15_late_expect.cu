// SPDX-License-Identifier: Apache-2.0

// P15: bytes first, then the last arrival, then expect_tx: does the expect complete the phase? (Q19)

#include "mbarrier_script.cuh"

namespace probes {
namespace {

constexpr Step init1{Op::init, 1}, one{Op::arrive, 1}, expect{Op::expect_tx, 64},
    complete{Op::complete_tx, 64};

void expect_first(Bench& b, const Variant&) { run_script(b, {init1, expect, complete, one}); }
void bytes_last(Bench& b, const Variant&) { run_script(b, {init1, expect, one, complete}); }
void bytes_then_expect(Bench& b, const Variant&) { run_script(b, {init1, complete, expect, one}); }
void fused(Bench& b, const Variant&) { run_script(b, {init1, complete, {Op::arrive_expect_tx, 64}}); }
void fused_second(Bench& b, const Variant&) {
  run_script(b, {{Op::init, 2}, complete, one, {Op::arrive_expect_tx, 64}});
}
void late(Bench& b, const Variant&) {
  run_script(b, {init1, complete, one, expect, {Op::wait, 0}, one, one});
}
void late_real(Bench& b, const Variant&) {
  run_script(b, {init1, {Op::bulk, 64}, one, expect, {Op::wait, 0}, one, one});
}
void late_in_steps(Bench& b, const Variant&) {
  run_script(b, {init1, complete, one, {Op::expect_tx, 32}, {Op::expect_tx, 32}, {Op::wait, 0}});
}
void late_beyond(Bench& b, const Variant&) {
  run_script(b, {init1, complete, one, {Op::expect_tx, 80}, {Op::complete_tx, 16}, {Op::wait, 0}});
}
void expect_zero(Bench& b, const Variant&) {
  run_script(b, {init1, {Op::expect_tx, 0}, one, {Op::expect_tx, 0}});
}
void early(Bench& b, const Variant&) { run_script(b, {init1, one, expect, complete, one, one}); }

constexpr Variant variants[] = {
    {"expect_bytes_arrive", true, "expect, bytes, arrive: completes at the arrive", expect_first},
    {"expect_arrive_bytes", true, "expect, arrive, bytes: completes at the bytes", bytes_last},
    {"bytes_expect_arrive", true, "bytes, expect, arrive: completes at the arrive (MB26)", bytes_then_expect},
    {"bytes_fused", true, "bytes, arrive.expect_tx: completes (LT4)", fused},
    {"bytes_arrive_fused", true, "count 2: bytes, arrive, arrive.expect_tx: completes", fused_second},
    {"arrive_expect_bytes", true, "count 1: the arrive completes phase 0 before the bytes (MB24)", early},
    {"late_expect", false, "bytes, arrive, expect: complete at the expect? then two more arrivals", late},
    {"late_expect_real_copy", false, "the same with a bulk copy of 64 bytes", late_real},
    {"late_expect_in_steps", false, "bytes 64, arrive, expect 32, expect 32", late_in_steps},
    {"late_expect_beyond", false, "bytes 64, arrive, expect 80, bytes 16: completes at those bytes?",
     late_beyond},
    {"expect_zero", false, "expect 0, arrive, expect 0", expect_zero},
};

}  // namespace

const Probe p15{"P15", variants};

}  // namespace probes
