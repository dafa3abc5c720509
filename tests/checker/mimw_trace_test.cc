// SPDX-License-Identifier: Apache-2.0
// What the task interpreter makes of the corpus is what the checker takes.
#include <doctest/doctest.h>

#include <filesystem>

#include "checker/check.h"
#include "checker/trace_defect.h"
#include "model/files.h"
#include "model/mimw/mimw.h"
#include "sim/orchestration_run.h"

using namespace turnstile;

TEST_CASE("every program of the corpus can be executed, and its traces are accepted") {
  size_t programs = 0;
  for (const auto& entry : std::filesystem::directory_iterator(TURNSTILE_SOURCE_DIR "/tests/corpus")) {
    if (entry.path().extension() != ".mimw") continue;
    const std::string file = entry.path().string();
    CAPTURE(file);
    const Result<std::string> text = read_file(file, mimw_max_text);
    REQUIRE(text);
    const Result<MimwProgram> program = parse_mimw(*text, file);
    REQUIRE(program);
    for (const std::string& variant : variants(*program)) {
      CAPTURE(variant);
      const Result<Orchestration> orchestration = unroll(*program, variant);
      REQUIRE(orchestration);
      REQUIRE(orchestration_defect(*orchestration) == "");
      ++programs;
      for (const auto policy : {sim::Schedule::Policy::bursts, sim::Schedule::Policy::eager}) {
        sim::Schedule schedule;
        schedule.policy = policy;
        const Trace trace = sim::run_orchestration(*orchestration, schedule);
        CHECK(checker::trace_defect(trace) == "");
        for (const Note& reason : check(trace).inconclusive)
          CHECK(reason.text.find("contradicts") == std::string::npos);
        const Orchestration again = orchestration_of(trace);
        CHECK(orchestration_defect(again) == "");
        if (!trace.blocked.empty() || !trace.faults.empty()) continue;
        REQUIRE(again.strands.size() == orchestration->strands.size());
        for (size_t s = 0; s < again.strands.size(); ++s)
          CHECK(again.strands[s].events.size() == orchestration->strands[s].events.size());
      }
    }
  }
  CHECK(programs > 190);
}
