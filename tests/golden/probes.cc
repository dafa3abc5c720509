// SPDX-License-Identifier: Apache-2.0

// The record of the silicon probes (kernels/probes/) held against the rules that the code relies on. A probe
// can refute the model; a misuse that happened to work on one chip stays undefined.

#include <doctest/doctest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "model/protocol/mbarrier.h"

using namespace turnstile;
using Json = nlohmann::json;

namespace {

Json loaded(const std::string& name) {
  std::ifstream in(std::string(TURNSTILE_SOURCE_DIR) + "/golden/records/probes/" + name);
  return Json::parse(in, nullptr, false);
}

/// The committed record of P1 to P16.
const Json& record() {
  static const Json all = loaded("h200.json");
  return all;
}

const Json& line(const std::string& probe, const std::string& variant) {
  static const std::vector<Json> later = {loaded("h200_p17.json"), loaded("h200_p18.json"),
                                          loaded("h200_p9_met.json"), loaded("h200_p12_own.json"),
                                          loaded("h200_p19.json")};
  std::vector<const Json*> records = {&record()};
  for (const Json& one : later) records.push_back(&one);
  for (const Json* one : records)
    for (const Json& l : one->at("lines"))
      if (l.at("probe") == probe && l.at("variant") == variant) return l;
  static const Json none;
  FAIL("the record has no line ", probe, " ", variant);
  return none;
}

uint64_t number(const std::string& probe, const std::string& variant, const char* field) {
  const Json& l = line(probe, variant);
  INFO(probe, " ", variant, " ", field);
  REQUIRE(l.contains(field));
  return l.at(field).get<uint64_t>();
}

std::string status(const std::string& probe, const std::string& variant) {
  return line(probe, variant).at("status").get<std::string>();
}

bool defined(Mbarrier::Outcome outcome) {
  return outcome == Mbarrier::Outcome::ok || outcome == Mbarrier::Outcome::completed;
}

/// Replays the steps of a script on the model and compares what test_wait answers, up to the first step
/// without defined result. Returns the number of steps compared.
int replay(const Json& l, Mbarrier& model) {
  int compared = 0;
  for (const Json& step : l.at("steps")) {
    const auto op = step.at("op").get<std::string>();
    const auto n = step.at("value").get<uint32_t>();
    Mbarrier::Outcome outcome = Mbarrier::Outcome::ok;
    if (op == "init") {
      if (model.valid()) return compared;  // MB9: the GPU starts anew, the text says undefined
      outcome = model.init(n);
    } else if (op == "inval") {
      outcome = model.inval();
    } else if (op == "arrive") {
      outcome = model.arrive(n);
    } else if (op == "arrive_lanes") {
      for (uint32_t lane = 0; lane < n && defined(outcome); ++lane) outcome = model.arrive(1);
    } else if (op == "expect_tx") {
      outcome = model.expect_tx(n);
    } else if (op == "complete_tx" || op == "bulk") {
      outcome = model.complete_tx(n);
    } else if (op == "arrive_expect_tx") {
      outcome = model.arrive_expect_tx(n);
    } else if (op != "wait_100us") {
      return compared;  // the model has no such step
    }
    if (!defined(outcome) || (op == "arrive" && n == 0)) return compared;
    if (!model.valid()) continue;
    INFO("step ", compared, ": ", op, " ", n);
    CHECK(model.ready(0) == (step.at("ready0").get<int>() != 0));
    CHECK(model.ready(1) == (step.at("ready1").get<int>() != 0));
    ++compared;
  }
  return compared;
}

}  // namespace

TEST_CASE("the record of the silicon probes is complete, and its GPU survived them") {
  REQUIRE(record().is_object());
  CHECK(record().at("variants_missing") == 0);
  CHECK(record().at("gpu_usable_at_end") == true);
  for (const Json& l : record().at("lines")) {
    // The one control that must hang: nobody decreases, both increases wait for ever (RG4).
    const bool hangs = l.at("probe") == "P11" && l.at("variant") == "none_inc240_inc240";
    INFO(l.at("probe").get<std::string>(), " ", l.at("variant").get<std::string>());
    if (l.at("control") == true) CHECK(l.at("status") == (hangs ? "hang" : "ended"));
  }
}

TEST_CASE("an mbarrier on silicon answers as the state machine does, up to the first undefined step") {
  int compared = 0;
  for (const Json& l : record().at("lines")) {
    if (!l.contains("steps")) continue;
    INFO(l.at("probe").get<std::string>(), " ", l.at("variant").get<std::string>());
    Mbarrier model;
    const int steps = replay(l, model);
    if (l.at("control") == true) CHECK(steps > 0);
    compared += steps;
  }
  CHECK(compared > 100);
}

TEST_CASE("where the GPU stopped with a launch failure, the state machine refuses the step") {
  using Outcome = Mbarrier::Outcome;
  struct Refused {
    const char *probe, *variant;
    Outcome (*step)(Mbarrier&);
    Outcome outcome;
  };
  static constexpr uint32_t top = (1u << 20) - 1;
  const Refused table[] = {
      {"P1", "arrive_3_of_2", [](Mbarrier& b) { return b.arrive(3); }, Outcome::over_arrival},
      {"P1", "arrive_5_of_2", [](Mbarrier& b) { return b.arrive(5); }, Outcome::over_arrival},
      {"P1", "arrive_2_of_1_left", [](Mbarrier& b) { return b.arrive(2); }, Outcome::over_arrival},
      {"P1", "third_while_bytes_open", [](Mbarrier& b) { return b.arrive(1); }, Outcome::over_arrival},
      {"P2", "double", [](Mbarrier& b) { return b.expect_tx(top); }, Outcome::tx_overflow},
      {"P2", "exactly_below", [](Mbarrier& b) { return b.complete_tx(1); }, Outcome::tx_overflow},
      {"P2", "single_2_20", [](Mbarrier& b) { return b.expect_tx(1u << 20); }, Outcome::tx_overflow},
      {"P2", "one_below", [](Mbarrier& b) { return b.complete_tx(1); }, Outcome::tx_overflow},
      {"P2", "single_2_21", [](Mbarrier& b) { return b.expect_tx(1u << 21); }, Outcome::tx_overflow},
      {"P2", "copies_above_1_MiB", [](Mbarrier& b) { return b.expect_tx(131072); }, Outcome::tx_overflow},
      {"P6", "never_initialised", [](Mbarrier& b) { return b.arrive(1); }, Outcome::invalid_object},
  };
  for (const Refused& r : table) {
    INFO(r.probe, " ", r.variant);
    const Json& l = line(r.probe, r.variant);
    CHECK(l.at("status") == "error");
    CHECK(l.at("error") == "kernel: cudaErrorLaunchFailure");
    Mbarrier model;
    const auto reached = static_cast<size_t>(replay(l, model));
    // The 8th expect of 128 KiB reaches 2^20, one more than the documents allow.
    if (std::string(r.variant) != "copies_above_1_MiB") CHECK(reached == l.at("steps").size());
    CHECK(r.step(model) == r.outcome);
  }
}

TEST_CASE("an expect_tx that balances the bytes of a phase without pending arrivals completes it (Q19)") {
  for (const char* variant : {"late_expect", "late_expect_real_copy", "late_expect_in_steps"}) {
    INFO(variant);
    const Json& l = line("P15", variant);
    Mbarrier model;
    CHECK(static_cast<size_t>(replay(l, model)) == l.at("steps").size());
    CHECK(l.at("steps").at(3).at("op") == "expect_tx");
    CHECK(model.generation() > 0);
  }
}

TEST_CASE("a fresh mbarrier is ready for parity 1 and not for parity 0 (W2)") {
  const Json& after_init = line("P6", "fresh").at("steps").at(0);
  CHECK(after_init.at("ready0") == 0);
  CHECK(after_init.at("ready1") == 1);
}

TEST_CASE("a TMA load that lies partly outside completes the full box, filled (MB31)") {
  for (const char* variant :
       {"inside", "right_edge", "bottom_edge", "corner", "negative", "one_row", "corner_swizzled"}) {
    INFO(variant);
    CHECK(number("P3", variant, "completed") == 1);
    CHECK(number("P3", variant, "in_range_right") == number("P3", variant, "bytes_in_range"));
    CHECK(number("P3", variant, "out_of_range_zero") ==
          number("P3", variant, "box_bytes") - number("P3", variant, "bytes_in_range"));
    CHECK(number("P3", variant, "untouched") == 0);
  }
  for (const char* variant : {"inside_16_too_many", "right_edge_in_range", "corner_in_range"}) {
    INFO(variant);
    CHECK(number("P3", variant, "completed") == 0);
  }
}

TEST_CASE("a parity wait that comes late sees only the last completed phase (W1, W4, S2)") {
  Mbarrier model;
  REQUIRE(model.init(1) == Mbarrier::Outcome::ok);
  for (const char* variant :
       {"late_by_0_phases", "late_by_1_phase", "late_by_2_phases", "late_by_3_phases", "late_by_4_phases"}) {
    INFO(variant);
    CHECK((number("P7", variant, "parity_0_ready") != 0) == model.ready(0));
    REQUIRE(model.arrive(1) == Mbarrier::Outcome::completed);
  }
  CHECK(number("P7", "asleep_one_phase", "overtaken") == 0);
}

TEST_CASE("a tile wholly outside is filled and completes; a store of one writes nothing (BS16)") {
  for (const char* variant :
       {"load_next_to_right", "load_next_to_bottom", "load_far", "load_negative", "load_very_far"}) {
    INFO(variant);
    CHECK(number("P4", variant, "completed") == 1);
    CHECK(number("P4", variant, "out_of_range_zero") == number("P4", variant, "box_bytes"));
  }
  for (const char* variant : {"store_corner", "store_next_to_right", "store_next_to_bottom", "store_far"}) {
    INFO(variant);
    CHECK(status("P4", variant) == "ended");
    CHECK(number("P4", variant, "changed_outside_box") + number("P4", variant, "changed_outside_tensor") ==
          0);
  }
}

TEST_CASE("tensor copies that sim refuses stop the GPU too (BS2, BS14, BS15)") {
  const auto error = [](const char* probe, const char* variant) {
    return line(probe, variant).at("error").get<std::string>();
  };
  for (const char* variant : {"store_negative_x", "store_negative_y", "store_negative_far"})
    CHECK(error("P4", variant) == "kernel: cudaErrorIllegalInstruction");
  for (const char* variant : {"load_u32_x1", "load_u32_x2", "load_bf16_x1", "load_bf16_x4", "load_u8_x1",
                              "load_u32_x_minus_1", "load_u32_x1_swizzled", "store_u32_x1", "store_bf16_x4"})
    CHECK(error("P5", variant) == "kernel: cudaErrorIllegalInstruction");
  for (const char* variant : {"shared_plus_64", "shared_plus_16", "shared_plus_8", "store_shared_plus_16"})
    CHECK(error("P5", variant) == "kernel: cudaErrorMisalignedAddress");
}

TEST_CASE("elect.sync elects the lowest lane of the mask, as sim does (Q11)") {
  for (const char* variant : {"together", "spread"}) {
    INFO(variant);
    const uint64_t masks = number("P13", variant, "masks");
    CHECK(masks > 1000);
    CHECK(number("P13", variant, "leader_is_lowest") == masks);
    CHECK(number("P13", variant, "exactly_the_leader_elected") == masks);
    CHECK(number("P13", variant, "lanes_told_another") == 0);
  }
}

TEST_CASE("setmaxnreg increases pass as soon as the pool holds the sum (RG4, RG8, Q20)") {
  for (const char* variant : {"dec24_inc240_inc240", "dec40_inc232_inc232", "late_dec", "dec24_inc232_inc232",
                              "dec24_inc232_inc232_late_dec", "dec24_inc200_inc200"}) {
    INFO(variant);
    CHECK(number("P11", variant, "registers_at_entry") == 168);
    CHECK(status("P11", variant) == "ended");
  }
  CHECK(status("P11", "none_inc240_inc240") == "hang");
  CHECK(status("P11", "dec24_inc248_inc248") == "hang");
}

TEST_CASE("named barriers count warps: a third of two waits for a fourth (N2, NX3)") {
  const auto passed = [](const char* variant) {
    uint64_t count = 0;
    for (const Json& e : line("P8", variant).at("events")) count += e.at("passed").get<uint64_t>();
    return count;
  };
  CHECK(passed("sync_sync_64") == 2);
  CHECK(passed("arrive_sync_64") == 2);
  CHECK(passed("twice_64") == 4);
  CHECK(passed("count_32") == 1);
  CHECK(passed("three_of_two") == 2);
  CHECK(passed("four_of_two") == 4);
}

TEST_CASE("two thread counts at one named barrier are an illegal instruction (NX1)") {
  for (const char* variant : {"counts_64_128", "counts_64_128_128_128", "counts_128_64",
                              "counts_128_64_64_64", "counts_96_64_96", "arrive_128_sync_64", "count_33"}) {
    INFO(variant);
    CHECK(line("P8", variant).at("error") == "kernel: cudaErrorIllegalInstruction");
  }
}

TEST_CASE("a warp that exits releases bar.sync without a count, and none with one (N8)") {
  for (const char* variant : {"exit_one", "exit_all_others", "exit_fourth_of_128"}) {
    INFO(variant);
    CHECK(status("P8", variant) == "hang");
  }
  for (const char* variant : {"no_count", "exit_last_no_count", "exit_first_no_count", "count_0_all_warps",
                              "exit_last_count_0", "exit_after_arrive"}) {
    INFO(variant);
    CHECK(status("P8", variant) == "ended");
  }
  CHECK(status("P8", "count_160") == "hang");  // NX2
}

TEST_CASE("what another CTA may not do to an exited one stops the GPU (D2, D3)") {
  for (const char* variant :
       {"exited_arrive", "exited_arrive_cluster_scope", "exited_load", "exited_store", "exited_bulk_copy"}) {
    INFO(variant);
    CHECK(status("P10", variant) == "error");
  }
}

TEST_CASE("a TMA refill overtakes reads that were released without a proxy fence (PX2)") {
  for (const char* variant : {"elected", "elected_16_copies", "every_thread", "every_thread_16_copies",
                              "relaxed", "half_used", "plain_16", "plain_4", "plain_1", "queued_1"}) {
    INFO(variant);
    CHECK(number("P9", variant, "newer") > 0);
  }
  for (const char* variant : {"used", "used_1_copy", "at_producer"}) {
    INFO(variant);
    CHECK(number("P9", variant, "newer") == 0);
  }
}

TEST_CASE("a default-scope arrive does not publish stores for another CTA (HB1, Q2)") {
  for (const char* variant : {"shared_default", "shared_default_elected", "shared_acquire_only",
                              "global_default", "global_default_elected", "global_release_only"}) {
    INFO(variant);
    CHECK(number("P12", variant, "stale") > 0);
  }
}

TEST_CASE("a default-scope arrive does not keep reads apart from the next stores of another CTA (HB1, Q2)") {
  CHECK(number("P16", "stores_default", "newer") > 0);
  CHECK(number("P16", "bulk_default", "newer") > 0);
  for (const char* variant : {"stores_cluster", "bulk_cluster_fence", "bulk_default_fence"}) {
    INFO(variant);
    CHECK(number("P16", variant, "newer") == 0);
  }
}

TEST_CASE("bytes that complete on a barrier are there after a wait of any scope (HB3)") {
  for (const char* variant : {"bulk_cluster_fence", "bulk_default_fence", "bulk_default", "bulk_cluster"}) {
    INFO(variant);
    CHECK(number("P16", variant, "words_read") > 0);
    CHECK(number("P16", variant, "older") + number("P16", variant, "other") == 0);
  }
}

TEST_CASE("setmaxnreg is executed by each warp for itself: nothing hangs, no value is lost (RG1)") {
  for (const char* variant : {"meet", "no_meeting", "apart", "one_warp", "different"}) {
    INFO(variant);
    CHECK(status("P17", variant) == "ended");
    CHECK(number("P17", variant, "rounds_done") == number("P17", variant, "rounds"));
    CHECK(number("P17", variant, "wrong_lanes") == 0);
  }
}

TEST_CASE(
    "a release and an acquire at the cluster barrier publish inits without fence.mbarrier_init (MB11)") {
  const auto lost = [](const std::string& variant) {
    return number("P18", variant, "lost_arrivals") + number("P18", variant, "lost_async_stores") +
           number("P18", variant, "lost_bulk_copies");
  };
  for (const char* variant : {"release_2", "release_4", "release_8", "fence_relaxed_2", "fence_relaxed_4",
                              "fence_relaxed_8", "fence_release_8"}) {
    INFO(variant);
    CHECK(number("P18", variant, "sent_of_each_kind") > 10'000'000);
    CHECK(lost(variant) == 0);
  }
  // An init after the arrive loses nearly everything: the probe can see what it looks for.
  CHECK(lost("late_2") > 0);
  CHECK(lost("late_8") > 0);
}

TEST_CASE("a meeting of the readers before the arrival does not replace the proxy fence (PX2)") {
  for (const char* variant : {"met", "met_16_copies", "met_plain_16", "met_plain_1"})
    CHECK(number("P9", variant, "newer") > 0);
}

TEST_CASE("a proxy fence does not replace the cluster scope of a remote arrive (HB1)") {
  CHECK(number("P12", "shared_default_fenced", "stale") > 0);
  // Of the writer's own memory the probe cannot tell: not even an arrival before the payload shows there.
  CHECK(number("P12", "own_arrive_first", "stale") == 0);
}

TEST_CASE("a bulk store that is in flight when its CTA exits has arrived when the kernel ends (BK6, Q8)") {
  for (const char* variant : {"committed", "uncommitted"}) {
    INFO(variant);
    CHECK(number("P14", variant, "right") == number("P14", variant, "words"));
  }
  // The exit waits for the store: its SM takes the next CTA as much later as wait_group.read takes.
  const uint64_t idle = number("P14", "time_no_store", "exit_to_next_cta_ns");
  CHECK(number("P14", "time_committed", "exit_to_next_cta_ns") > 2 * idle);
  CHECK(number("P14", "time_wait_read", "exit_to_next_cta_ns") < 2 * idle);
}

TEST_CASE("what P19 answers contradicts no policy (Q3, Q4, Q7, Q13, Q15, Q17)") {
  // A barrier just made and a payload just brought are found by the asynchronous proxy without a fence.
  CHECK(number("P19", "q4_init_copy", "rounds") > 10'000'000);
  CHECK(number("P19", "q4_init_copy", "lost_copies") == 0);
  CHECK(number("P19", "q3_multicast_store", "stale_words") == 0);
  CHECK(number("P19", "q3_store_before_wait", "stale_words") > 0);
  // Lanes at two places of one warp count as one warp, together: never as two.
  CHECK(number("P19", "q7_split_64", "first_half_passed_alone") == 0);
  CHECK(status("P19", "q7_split_32_of_64") == "hang");
  // An open phase is never granted; that a complete one was never denied is no promise (Q13).
  CHECK(number("P19", "q13_try_wait", "granted") == 0);
  CHECK(number("P19", "q13_try_wait", "denied") == 0);
  // A second arrive does not stand for the other CTA's.
  CHECK(number("P19", "q15_twice", "passed_before_the_other_arrived") == 0);
  CHECK(number("P19", "q15_twice_one_cta", "passed_before_the_other_arrived") == 0);
  CHECK(number("P19", "q17_second_does_not_wait", "flag_seen_by_the_third") == 1);
}

TEST_CASE("the stress probes can see what they look for: their controls hold") {
  for (const char* variant : {"fence", "fence_16_copies"}) {
    CHECK(number("P9", variant, "words_read") > 0);
    CHECK(number("P9", variant, "newer") + number("P9", variant, "older") + number("P9", variant, "other") ==
          0);
  }
  CHECK(number("P9", "arrive_first", "newer") > 0);
  CHECK(number("P12", "shared_cluster_scope", "stale") == 0);
  CHECK(number("P12", "global_cluster_scope", "stale") == 0);
  CHECK(number("P12", "shared_arrive_first", "stale") > 0);
  CHECK(number("P16", "bulk_arrive_first", "newer") > 0);
  CHECK(number("P16", "stores_arrive_first", "newer") > 0);
  CHECK(number("P14", "wait_all", "right") == number("P14", "wait_all", "words"));
  CHECK(number("P14", "wait_read", "right") == number("P14", "wait_read", "words"));
  CHECK(number("P14", "overwritten", "other") > 0);
  CHECK(number("P10", "alive_load", "loaded") == 78);
  CHECK(number("P10", "alive_arrive", "peer_ready") == 1);
}
