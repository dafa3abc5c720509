// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "golden/digest.h"
#include "golden/record.h"

using namespace turnstile;
using namespace turnstile::golden;

namespace {

Record small_record() {
  Record r;
  r.launch_file = "gemm.toml";
  r.case_name = "one tile";
  r.vars = {{"K", 64}, {"M", -1}};
  r.entry = "gemm";
  r.ptx_file = "gemm.ptx";
  r.ptx_sha256 = sha256_hex(std::string_view("ptx"));
  r.inputs = {{"A", 16, sha256_hex(std::string_view("a")), "normal seed 1 stream 0"}};
  r.gpu = "NVIDIA H200";
  r.compute_capability = "9.0";
  r.driver = "580.1";
  r.cuda_driver_api = "13.0";
  r.cuda_toolkit = "13.0";
  r.sms = 132;
  r.date = "2026-01-31T12:00:00Z";
  r.repetitions = 3;
  r.kernel_ms = 0.0125;
  static const std::string elements = "abcdefgh";
  const MatrixView view{ElementType::bf16, 2, 2, 2, std::as_bytes(std::span(elements))};
  r.outputs = {{"C", ElementType::bf16, 2, 2, matrix_sha256(view), row_digests(view), packed(view)}};
  return r;
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

std::string complaint(const std::string& text) {
  const auto r = parse_record(text, "x.json");
  return r ? "" : r.error().text();
}

std::string fresh_folder(const char* name) {
  const auto path = std::filesystem::temp_directory_path() / (std::string(name) + std::to_string(getpid()));
  std::filesystem::remove_all(path);
  std::filesystem::create_directories(path);
  return path.string();
}

}  // namespace

TEST_CASE("a record is read back as it was written") {
  const Record before = small_record();
  const auto after = parse_record(format_record(before), "x.json");
  REQUIRE_MESSAGE(after, after.error().text());
  CHECK(format_record(*after) == format_record(before));
  CHECK(after->vars == before.vars);
  CHECK(after->outputs[0].elements == before.outputs[0].elements);
  CHECK(after->outputs[0].row_digests == before.outputs[0].row_digests);
  CHECK(after->kernel_ms == before.kernel_ms);
  CHECK(after->sms == 132);
}

TEST_CASE("a record that was cut off anywhere is refused with file, line and column") {
  const std::string text = format_record(small_record());
  for (size_t length = 0; length + 1 < text.size();
       ++length) {  // without the last line break it is still whole
    const auto r = parse_record(text.substr(0, length), "x.json");
    REQUIRE_FALSE(r);
    CHECK(r.error().file == "x.json");
    CHECK(r.error().line >= 1);
    CHECK(r.error().message.find("truncated") != std::string::npos);
  }
}

TEST_CASE("a record with any one byte changed is refused or read, never a crash") {
  const std::string text = format_record(small_record());
  for (size_t at = 0; at < text.size(); ++at)
    for (const char byte : {'\0', '"', '{', ']', '9', '\xff'}) {
      std::string damaged = text;
      damaged[at] = byte;
      (void)parse_record(damaged, "x.json");
    }
}

TEST_CASE("damage in the elements or digests of a record is seen") {
  const std::string text = format_record(small_record());
  CHECK(complaint(replaced(text, "61626364", "61626365")) ==
        "x.json: outputs[0].elements: expected elements that match the sha256 beside them (the record was "
        "damaged or "
        "edited)");
  CHECK(complaint(replaced(text, "61626364", "616263")) ==
        "x.json: outputs[0].elements[0]: expected 8 hex digits");
  CHECK(complaint(replaced(text, "\"rows\": 2", "\"rows\": 3")) ==
        "x.json: outputs[0].row_digests: expected 3 digests, one a row");
  CHECK(complaint(replaced(text, "\"rows\": 2", "\"rows\": 18446744073709551615")) ==
        "x.json: outputs[0].rows: expected a whole number from 0 to 4294967296");
  CHECK(complaint(replaced(text, "\"type\": \"bf16\"", "\"type\": \"bf17\"")) ==
        "x.json: outputs[0].type: expected an element type (bf16, f16, f32, u32, ...)");
}

TEST_CASE("what a record lacks or should not have is named") {
  const std::string text = format_record(small_record());
  CHECK(complaint("[]") ==
        "x.json: top level: expected an object with a key \"turnstile_golden\" (the version of the format)");
  CHECK(complaint(replaced(text, "\"turnstile_golden\": 1", "\"turnstile_golden\": 2")) ==
        "x.json: turnstile_golden: expected 1, the only version that this turnstile reads");
  CHECK(complaint(replaced(text, "\"driver\"", "\"drivel\"")) ==
        "x.json: gpu: expected no key \"drivel\" here");
  CHECK(complaint(replaced(text, "\"sms\": 132", "\"sms\": \"132\"")) ==
        "x.json: gpu.sms: expected a whole number from 0 to 100000");
  CHECK(complaint(replaced(text, "\"K\": 64", "\"K\": 6.5")) ==
        "x.json: vars.K: expected a whole number of 64 bits");
  CHECK(complaint(std::string(100'000, '[')).find("truncated") !=
        std::string::npos);  // depth alone must not crash
}

TEST_CASE("file names of records hold no awkward letters and stay inside the folder") {
  CHECK(record_path("r", "gemm", "M=77 N=512") == "r/gemm/M=77_N=512.json");
  CHECK(record_path("r", "gemm", "") == "r/gemm/default.json");
  CHECK(record_path("r", "../x", "../../etc/passwd") == "r/_._x/_._.._etc_passwd.json");
}

TEST_CASE("a record that cannot be written leaves nothing behind") {
  const std::string folder = fresh_folder("turnstile-record-");
  // A file stands where a folder is needed.
  std::ofstream(folder + "/gemm") << "in the way";
  CHECK_FALSE(write_record(folder + "/gemm/a.json", small_record()));
  // The target is a folder: the rename must fail, and the partial file must go.
  std::filesystem::create_directories(folder + "/b.json/x");
  CHECK_FALSE(write_record(folder + "/b.json", small_record()));
  size_t entries = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder)) ++entries;
  CHECK(entries == 2);
  // And a good one is there as a whole, with folders made as needed.
  REQUIRE(write_record(folder + "/new/c.json", small_record()));
  const auto back = read_record(folder + "/new/c.json");
  REQUIRE(back);
  CHECK(format_record(*back) == format_record(small_record()));
  std::filesystem::remove_all(folder);
}

TEST_CASE("a record says which inputs are no longer the same") {
  const Record r = small_record();
  CHECK(staleness(r, r.inputs, r.ptx_sha256, "").differences.empty());
  CHECK_FALSE(staleness(r, r.inputs, r.ptx_sha256, "").ptx_changed);
  std::vector<RecordedInput> now = {{"A", 16, sha256_hex(std::string_view("other")), "wide seed 1 stream 0"},
                                    {"B", 1, sha256_hex(std::string_view("")), "zeros"}};
  const Staleness s = staleness(r, now, "other", "");
  CHECK(s.ptx_changed);
  REQUIRE(s.differences.size() == 2);
  CHECK(s.differences[0] ==
        "input A has other contents now (wide seed 1 stream 0, 16 bytes; recorded normal seed 1 stream 0, 16 "
        "bytes)");
  CHECK(s.differences[1] == "input B is not in the record");
}
