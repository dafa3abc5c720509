// SPDX-License-Identifier: Apache-2.0

// P2: the byte count of a phase beyond 2^20 - 1, reached in legal steps (MB3, MB5, MB17).

#include "mbarrier_script.cuh"

namespace probes {
namespace {

constexpr uint32_t top = (1u << 20) - 1;
constexpr Step init1{Op::init, 1}, one{Op::arrive, 1}, expect_top{Op::expect_tx, top},
    complete_top{Op::complete_tx, top};

void at_top(Bench& b, const Variant&) { run_script(b, {init1, expect_top, complete_top, one}); }
void at_bottom(Bench& b, const Variant&) { run_script(b, {init1, complete_top, expect_top, one}); }
void one_above(Bench& b, const Variant&) {
  run_script(b, {init1, expect_top, {Op::expect_tx, 1}, complete_top, {Op::complete_tx, 1}, one});
}
void arrive_first(Bench& b, const Variant&) {
  run_script(b, {init1, expect_top, {Op::expect_tx, 1}, one, complete_top, {Op::complete_tx, 1}});
}
void two_above(Bench& b, const Variant&) {
  run_script(b, {init1, expect_top, {Op::expect_tx, 2}, complete_top, {Op::complete_tx, 2}, one});
}
void double_top(Bench& b, const Variant&) {
  run_script(b, {init1, expect_top, expect_top, one, complete_top, complete_top});
}
void full_wrap(Bench& b, const Variant&) {
  run_script(b, {init1,
                 expect_top,
                 expect_top,
                 {Op::expect_tx, 2},
                 one,
                 {Op::complete_tx, 2},
                 complete_top,
                 complete_top});
}
void one_below(Bench& b, const Variant&) {
  run_script(
      b,
      {init1, complete_top, {Op::complete_tx, 1}, {Op::complete_tx, 1}, expect_top, {Op::expect_tx, 2}, one});
}
void exactly_below(Bench& b, const Variant&) {
  run_script(b, {init1, complete_top, {Op::complete_tx, 1}, expect_top, {Op::expect_tx, 1}, one});
}
void single_2_20(Bench& b, const Variant&) {
  run_script(b, {init1, {Op::expect_tx, 1u << 20}, complete_top, {Op::complete_tx, 1}, one});
}
void single_large(Bench& b, const Variant&) {
  run_script(b,
             {init1, {Op::expect_tx, 2000000}, one, {Op::complete_tx, 1000000}, {Op::complete_tx, 1000000}});
}
void single_2_21(Bench& b, const Variant&) { run_script(b, {init1, {Op::expect_tx, 1u << 21}, one}); }
void real_copies(Bench& b, const Variant&) {
  constexpr Step expect{Op::expect_tx, 131072}, copy{Op::bulk, 131072};
  run_script(b, {init1, expect, expect, expect, expect, expect, expect, expect, expect, expect,
                 one,   copy,   copy,   copy,   copy,   copy,   copy,   copy,   copy,   copy});
}
void real_copies_below(Bench& b, const Variant&) {
  constexpr Step expect{Op::expect_tx, 131072}, copy{Op::bulk, 131072};
  run_script(b, {init1, expect, expect, expect, expect, expect, expect, expect, one, copy, copy, copy, copy,
                 copy, copy, copy});
}

constexpr Variant variants[] = {
    {"at_top", true, "expect 2^20-1, complete 2^20-1, arrive: the phase completes", at_top},
    {"at_bottom", true, "complete 2^20-1 first, expect 2^20-1, arrive: the phase completes", at_bottom},
    {"copies_below_1_MiB", true, "seven bulk copies of 128 KiB in one phase", real_copies_below},
    {"one_above", false, "expect 2^20-1, expect 1, complete both, arrive", one_above},
    {"one_above_arrive_first", false, "expect 2^20-1, expect 1, arrive, complete both", arrive_first},
    {"two_above", false, "expect 2^20-1, expect 2: one more than 2^20", two_above},
    {"double", false, "expect 2^20-1 twice, arrive, complete twice", double_top},
    {"sum_2_21", false, "expects that sum to 2^21, arrive: does the phase complete with 2 MiB open?",
     full_wrap},
    {"one_below", false, "complete 2^20-1, 1 and 1 before any expect, then expect the sum", one_below},
    {"exactly_below", false, "complete 2^20-1, then 1: -2^20, then expect the sum", exactly_below},
    {"single_2_20", false, "one expect of 2^20", single_2_20},
    {"single_2000000", false, "one expect of 2000000, which ptxas accepts", single_large},
    {"single_2_21", false, "one expect of 2^21, arrive", single_2_21},
    {"copies_above_1_MiB", false, "nine bulk copies of 128 KiB in one phase", real_copies},
};

}  // namespace

const Probe p02{"P2", variants};

}  // namespace probes
