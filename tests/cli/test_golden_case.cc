// SPDX-License-Identifier: Apache-2.0

// The golden verbs, with a stand-in for the GPU.

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "cli/golden_case.h"
#include "cli/render_golden.h"
#include "golden/record.h"
#include "tests/cli/program.h"

using namespace turnstile;
using namespace turnstile::cli;
using Status = GoldenRow::Status;

namespace {

GoldenArguments arguments_for(const test::Folder& folder) {
  GoldenArguments a;
  a.launch.file = test::data("squares.toml");
  a.records = folder / "records";
  return a;
}

/// A GPU that computes the squares, but for one element if told so.
Result<golden::GpuRun> fake_gpu(const Launch& launch, bool wrong) {
  golden::GpuRun run;
  run.gpu = "Fake GPU";
  run.compute_capability = "9.0";
  run.driver = "1.2";
  run.cuda_driver_api = "13.0";
  run.cuda_toolkit = "13.0";
  run.sms = 2;
  run.repetitions = 3;
  run.kernel_ms = 0.5;
  run.buffers.resize(1);
  for (uint32_t i = 0; i < launch.buffers[0].rows() * 64; ++i) {
    const uint32_t value = i * i + (wrong && i == 70 ? 1 : 0);
    for (int shift = 0; shift < 32; shift += 8)
      run.buffers[0].push_back(static_cast<std::byte>(value >> shift));
  }
  return run;
}

Result<golden::GpuRun> good_gpu(const Launch& launch) { return fake_gpu(launch, false); }
Result<golden::GpuRun> bad_gpu(const Launch& launch) { return fake_gpu(launch, true); }

}  // namespace

TEST_CASE("record, then verify, then crossval: all agree") {
  const test::Folder folder("golden");
  const GoldenArguments a = arguments_for(folder);
  const GoldenRow written = record_case(a, "two", good_gpu);
  CHECK_MESSAGE(written.status == Status::written, written.error);
  CHECK(written.record_file == folder / "records/squares/two.json");
  const GoldenRow verified = verify_case(a, "two");
  CHECK_MESSAGE(verified.status == Status::equal, verified.error);
  REQUIRE(verified.matches.size() == 1);
  CHECK(verified.matches[0].comparison.elements == 128);
  const GoldenRow crossed = crossval_case(a, "two", good_gpu);
  CHECK_MESSAGE(crossed.status == Status::equal, crossed.error);
  CHECK(crossed.matches.size() == 2);
}

TEST_CASE("one differing bit is found and placed, on whichever side it is") {
  const test::Folder folder("golden-bit");
  const GoldenArguments a = arguments_for(folder);
  REQUIRE(record_case(a, "two", bad_gpu).status == Status::written);
  const GoldenRow verified = verify_case(a, "two");
  CHECK(verified.status == Status::different);
  REQUIRE(verified.matches[0].comparison.first);
  CHECK(verified.matches[0].comparison.first->row == 1);
  CHECK(verified.matches[0].comparison.first->column == 6);   // element 70
  CHECK(verified.matches[0].comparison.first->left == 4900);  // 70 * 70
  CHECK(verified.matches[0].comparison.first->right == 4901);
  CHECK(exit_of(verified) == Exit::findings);
  const GoldenRow crossed = crossval_case(a, "two", good_gpu);
  CHECK(crossed.status == Status::different);
  CHECK(crossed.matches[0].comparison.equal());        // GPU = sim
  CHECK_FALSE(crossed.matches[1].comparison.equal());  // GPU = record
}

TEST_CASE("a record that says something else is overwritten only with --update") {
  const test::Folder folder("golden-update");
  GoldenArguments a = arguments_for(folder);
  REQUIRE(record_case(a, "two", good_gpu).status == Status::written);
  const std::string before = test::slurp(folder / "records/squares/two.json");
  CHECK(record_case(a, "two", good_gpu).status == Status::unchanged);
  const GoldenRow refused = record_case(a, "two", bad_gpu);
  CHECK(refused.status == Status::different);
  REQUIRE(refused.remarks.size() == 2);
  CHECK(refused.remarks[0].starts_with("output out: recorded "));
  CHECK(test::slurp(folder / "records/squares/two.json") == before);
  a.update = true;
  CHECK(record_case(a, "two", bad_gpu).status == Status::written);
  CHECK(test::slurp(folder / "records/squares/two.json") != before);
}

TEST_CASE("a kernel that gives other bits each time gets no record") {
  const test::Folder folder("golden-nondeterministic");
  const GoldenArguments a = arguments_for(folder);
  const GoldenRow row = record_case(a, "two", [](const Launch& launch) {
    auto run = good_gpu(launch);
    run->identical = false;
    return run;
  });
  CHECK(row.status == Status::different);
  CHECK(folder.files() == 0);
}

TEST_CASE("a missing record says how to make it; a record of other inputs or shapes is not compared") {
  const test::Folder folder("golden-missing");
  const GoldenArguments a = arguments_for(folder);
  const GoldenRow missing = verify_case(a, "one");
  CHECK(exit_of(missing) == Exit::unusable);
  CHECK(missing.error.find("turnstile golden record " + a.launch.file + " --case one") != std::string::npos);
  const GoldenRow alone = crossval_case(a, "one", good_gpu);
  CHECK(alone.status == Status::no_record);
  CHECK(exit_of(alone) == Exit::unusable);
  CHECK(render_golden_summary("crossval", {alone}, Style{}) ==
        "0 of 1 case equal, 0 differing elements; GPU = simulator in 1 case without a record\n");
  REQUIRE(record_case(a, "one", good_gpu).status == Status::written);
  GoldenArguments larger = a;
  larger.launch.settings = {"ctas=2"};
  const GoldenRow other = verify_case(larger, "one");
  CHECK(other.status == Status::failed);
  CHECK(other.error.find("not the same shape: u32 [2, 64] against u32 [1, 64]") != std::string::npos);
}

TEST_CASE("a GPU that fails leaves no record") {
  const test::Folder folder("golden-fail");
  const GoldenArguments a = arguments_for(folder);
  const GoldenRow row =
      record_case(a, "two", [](const Launch&) -> Result<golden::GpuRun> { return fail("no GPU"); });
  CHECK(row.status == Status::failed);
  CHECK(row.error == "no GPU");
  CHECK(folder.files() == 0);
}

TEST_CASE("a record that cannot be written is one line, and nothing is left behind") {
  const test::Folder folder("golden-unwritable");
  GoldenArguments a = arguments_for(folder);
  folder.write("records", "a file where the folder should be");
  const GoldenRow row = record_case(a, "two", good_gpu);
  CHECK(row.status == Status::failed);
  CHECK(row.error.find("records") != std::string::npos);
  CHECK(folder.files() == 1);
}

TEST_CASE("what the runner of the GPU says becomes one line: no runner, no GPU, fault, hang") {
  const test::Folder folder("runner");
  const auto run = [&](const std::string& script, const std::string& timeout) {
    const std::string runner = folder.write("fake-gpu", "#!/bin/sh\n" + script + "\n", true);
    return test::run_turnstile({"golden", "record", test::data("squares.toml"), "--case", "one", "--records",
                                folder / "records", "--gpu-runner", runner, "--timeout", timeout, "--json"});
  };
  const auto error_of = [](const golden::Finished& r) {
    const nlohmann::json document = nlohmann::json::parse(r.output, nullptr, false);
    CHECK(r.exit_code == 2);
    return document.is_object() ? document["cases"][0].value("error", "") : r.output;
  };
  CHECK(error_of(run("echo 'turnstile-gpu: no driver' >&2; exit 2", "1")) ==
        "the GPU could not be used: no driver");
  CHECK(error_of(run("echo 'turnstile-gpu: misaligned address' >&2; exit 3", "1")) ==
        "the GPU stopped the kernel: misaligned address");
  CHECK(error_of(run("echo 'turnstile-gpu: timeout after 7 s' >&2; exit 4", "7")) ==
        "the kernel did not end on the GPU within 7 s (a hang): timeout after 7 s");
  CHECK(error_of(run("exit 0", "1")).find("info.txt") != std::string::npos);
  CHECK(error_of(run("kill -9 $$", "1")) ==
        "the GPU could not be used: it ended with exit code 137 and said nothing");
  const golden::Finished absent =
      test::run_turnstile({"golden", "record", test::data("squares.toml"), "--gpu-runner", folder / "absent",
                           "--records", folder / "records"});
  CHECK(absent.exit_code == 2);
  CHECK(absent.output.find("is not a program (--gpu-runner)") != std::string::npos);
  CHECK(folder.files() == 1);  // the script: no record, no partial file
}

TEST_CASE("the runner's outputs are read: a whole record out of a stand-in program") {
  const test::Folder folder("runner-ok");
  // 64 zero words for the output; the info of golden/gpu_runner/plan.md.
  const std::string runner =
      folder.write("fake-gpu",
                   "#!/bin/sh\nset -e\nout=$4\nmkdir \"$out\"\n"
                   "file=$(sed -n 's/^output out //p' \"$3\")\nhead -c 256 /dev/zero > \"$out/$file\"\n"
                   "cat > \"$out/info.txt\" <<'X'\nturnstile-info 1\ngpu NVIDIA H200\ncompute_capability "
                   "9.0\ndriver 580.1\n"
                   "cuda_driver_api 13.0\ncuda_toolkit 13.0\nsms 132\nrepeat 3\nidentical "
                   "yes\nkernel_ms_median 0.0123\nnew_key later\nX\n",
                   true);
  const golden::Finished r =
      test::run_turnstile({"golden", "record", test::data("squares.toml"), "--case", "one", "--records",
                           folder / "records", "--gpu-runner", runner});
  CHECK_MESSAGE(r.exit_code == 0, r.output << r.errors);
  const auto record = golden::read_record(folder / "records/squares/one.json");
  REQUIRE(record);
  CHECK(record->gpu == "NVIDIA H200");
  CHECK(record->sms == 132);
  CHECK(record->kernel_ms == 0.0123);
  CHECK(record->outputs[0].elements == std::vector<std::byte>(256));
  // The simulator computes squares, not zeros: 63 of 64 elements differ, and the first is 1 * 1.
  const golden::Finished v = test::run_turnstile(
      {"golden", "verify", test::data("squares.toml"), "--case", "one", "--records", folder / "records"});
  CHECK(v.exit_code == 1);
  CHECK(v.output.find(
            "error[bits]: out[0,1]  sim 0x00000001 (1)  record 0x00000000 (0);  63 of 64 elements differ") !=
        std::string::npos);
}
