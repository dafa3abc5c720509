// SPDX-License-Identifier: Apache-2.0
// The model of arithmetic against what an H200 gave (golden/records/numerics): a part of every record here,
// all of them nightly.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "golden/numerics/matrix_sums.h"
#include "golden/numerics/operands.h"
#include "golden/numerics/record_families.h"
#include "golden/numerics/sweeps.h"

namespace turnstile {

namespace {

const std::string kNumericRecords = TURNSTILE_SOURCE_DIR "/golden/records/numerics/";

/// Forms that the simulator does not predict (docs/numerics.md lists them).
bool unpredicted(const SweepRecord& record) {
  return record.mnemonic == "rsqrt.approx.f64" ||
         (record.domain == "shared" && record.mnemonic.ends_with("x2"));
}

/// At most `most` blocks, spread over the record; a different part of each form's range.
std::vector<uint64_t> some_blocks(const SweepRecord& record, uint64_t most) {
  const uint64_t count = record.sums.size(), taken = std::min(most, count);
  uint64_t start = 0;
  for (const char c : record.mnemonic) start = start * 31 + static_cast<unsigned char>(c);
  std::vector<uint64_t> blocks;
  for (uint64_t i = 0; i < taken; ++i) blocks.push_back((start + i * count / taken) % count);
  return blocks;
}

void compare_blocks(const SweepRecord& record, const std::vector<uint64_t>& blocks) {
  INFO(record.domain, " ", record.mnemonic);
  std::string why;
  const auto model = SweepModel::of(record, why);
  INFO(why);
  CHECK(model.has_value() != unpredicted(record));
  if (!model) return;
  uint64_t weighted = 0;
  for (const uint64_t block : blocks) {
    INFO("block ", block, " of 2^", record.log2, " indexes");
    const SweepSums sums = sweep_block(*model, record.log2, block);
    CHECK(agrees(record, block, sums.mixed));
    weighted += sums.weighted;
  }
  if (blocks.size() == record.sums.size()) CHECK(weighted == record.weighted);
}

std::vector<SweepRecord> all_sweeps() {
  auto records = read_sweeps(kNumericRecords + "sweeps.txt");
  REQUIRE(records.has_value());
  return *records;
}

std::vector<MatrixRecord> all_matrices() {
  auto records = read_matrix_sums(kNumericRecords + "matrix.txt");
  REQUIRE(records.has_value());
  return *records;
}

void compare_tiles(const MatrixRecord& record, unsigned tiles) {
  INFO(record.name());
  for (unsigned tile = 0; tile < std::min<size_t>(tiles, record.sums.size()); ++tile) {
    INFO("tile ", tile);
    const auto words = predicted_tile(record, tile);
    REQUIRE(words.has_value());
    CHECK(tile_sum(*words) == record.sums[tile]);
  }
}

std::string written(const std::string& text) {
  const std::string path = TURNSTILE_BINARY_DIR "/numerics_test.txt";
  std::ofstream(path) << text;
  return path;
}

}  // namespace

TEST_CASE("arithmetic of an H200: tuples of operands, all words of 16 bits, atomics, bulk reductions") {
  size_t forms = 0;
  for (const SweepRecord& record : all_sweeps()) {
    if (record.domain == "all32" || record.domain == "high32") continue;
    compare_blocks(record, some_blocks(record, record.domain == "all16" ? 4 : 1));
    ++forms;
  }
  CHECK(forms == 787);
}

TEST_CASE("arithmetic of an H200: approximate functions and conversions over all words, in samples") {
  size_t forms = 0;
  for (const SweepRecord& record : all_sweeps()) {
    if (record.domain != "all32" && record.domain != "high32") continue;
    const bool approximate = record.mnemonic.find("approx") != std::string::npos;
    // A conversion's block is 2^22 words: an eighth of them a run of this test would be too long for all.
    if (approximate || forms % 8 == 0) compare_blocks(record, some_blocks(record, approximate ? 3 : 1));
    ++forms;
  }
  CHECK(forms == 175);
}

TEST_CASE("arithmetic of an H200: infinities and NaNs as tf32") {
  size_t forms = 0;
  for (const SweepRecord& record : all_sweeps()) {
    if (record.domain != "all32" || record.mnemonic.find(".tf32.f32") == std::string::npos) continue;
    REQUIRE(record.log2 == 22);
    compare_blocks(record, {0x7f800000u >> 22, 0xffc00000u >> 22});
    ++forms;
  }
  CHECK(forms == 5);
}

TEST_CASE("totals of the first four MUFU functions are those of the reference") {
  const std::map<std::string, uint64_t> published{{"rcp", 0x6cd72aaff7c6ee4a},
                                                  {"rsqrt", 0xc5e5897a88b74f76},
                                                  {"ex2", 0x75d53e679f252fc9},
                                                  {"lg2", 0x2b306747d1eb3676}};
  size_t seen = 0;
  for (const SweepRecord& record : all_sweeps())
    for (const auto& [function, total] : published)
      if (record.mnemonic == function + ".approx.ftz.f32") {
        CHECK(record.weighted == total);
        ++seen;
      }
  CHECK(seen == 4);
}

TEST_CASE("matrix instructions of an H200: the first tile of each family") {
  const std::vector<MatrixRecord> records = all_matrices();
  CHECK(records.size() == 203);
  // Wide tiles take longest and differ from narrow ones in the layout alone.
  for (const MatrixRecord& record : records) compare_tiles(record, record.n <= 64 ? 8 : 1);
}

// The approximate functions over all words; every block of the conversions would take hours:
// `turnstile numerics selftest --whole`.
TEST_CASE("arithmetic of an H200: every word of the approximate functions, every tile" *
          doctest::test_suite("nightly") * doctest::skip()) {
  for (const char* form : {"ex2.approx", "lg2.approx", "rcp.approx", "rsqrt.approx.f", "sqrt.approx", "sin",
                           "cos", "tanh", "mma", "wgmma"}) {
    const auto families = golden::compare_records(kNumericRecords, {golden::Extent::whole, form});
    REQUIRE(families.has_value());
    INFO(form);
    CHECK(!families->empty());
    for (const golden::RecordFamily& f : *families) {
      INFO(f.operands, " ", f.first);
      CHECK(f.differing == 0);
    }
  }
}

TEST_CASE("families of records: a checksum that is another is named with its form and block") {
  const std::string folder = TURNSTILE_BINARY_DIR "/numerics_families";
  std::filesystem::create_directories(folder);
  // The records of two forms as an H200 gave them, the second with one digit changed in its last block.
  std::string kept, last;
  std::ifstream sweeps(kNumericRecords + "sweeps.txt");
  for (std::string line; std::getline(sweeps, line);)
    if (line.find(" neg.bf16 ") != std::string::npos ||
        line.find(" ex2.approx.ftz.bf16 ") != std::string::npos) {
      kept += last.empty() ? "" : last + "\n";
      last = line;
    }
  REQUIRE(!kept.empty());
  std::ofstream(folder + "/sweeps.txt") << kept << last << "\n";
  std::ofstream(folder + "/matrix.txt") << "";
  auto families = golden::compare_records(folder, {});
  REQUIRE(families.has_value());
  REQUIRE(families->size() == 2);
  for (const golden::RecordFamily& f : *families) {
    CHECK(f.forms == 1);
    CHECK(f.results > 0);
    CHECK(f.differing == 0);
  }
  last.back() = last.back() == '0' ? '1' : '0';
  std::ofstream(folder + "/sweeps.txt") << kept << last << "\n";
  families = golden::compare_records(folder, {golden::Extent::whole, ""});
  REQUIRE(families.has_value());
  CHECK((*families)[0].differing + (*families)[1].differing == 1);
  const golden::RecordFamily& changed = (*families)[0].differing != 0 ? (*families)[0] : (*families)[1];
  CHECK(changed.first.find(", block 15 of 2^12") != std::string::npos);
  // One form by its name: what differs is not selected.
  const std::string other =
      (*families)[0].differing != 0 ? (*families)[1].operation : (*families)[0].operation;
  families = golden::compare_records(folder, {golden::Extent::whole, other});
  REQUIRE(families.has_value());
  REQUIRE(families->size() == 1);
  CHECK((*families)[0].differing == 0);
  CHECK(!golden::compare_records("/nowhere", {}).has_value());
}

TEST_CASE("a record that is cut off or not of the form is refused with its line") {
  for (const char* text :
       {"all32 ex2.approx.f32 1 20 2 16 0 0000000000000000", "all32 ex2.approx.f32 1 20 1 16 0 zz",
        "all32 ex2.approx.f32 1 20 99999 8 0 00000000", "all32 ex2.approx.f32 1 20 1 8 0 000000000",
        "all32 ex2.approx.f32"}) {
    INFO(text);
    const auto records = read_sweeps(written(std::string("# a comment\n") + text + "\n"));
    REQUIRE(!records.has_value());
    CHECK(records.error().line == 2);
  }
  for (const char* text :
       {"mma 16 8 16 f16 f16 f32 - 2 00000000", "mma 16 8 16 f16 f16 f32 - 1 g",
        "mma 999 8 16 f16 f16 f32 - 1 00000000", "hmma 16 8 16 f16 f16 f32 - 1 00000000"}) {
    INFO(text);
    const auto records = read_matrix_sums(written(std::string(text) + "\n"));
    REQUIRE(!records.has_value());
    CHECK(records.error().line == 1);
  }
  CHECK(!read_sweeps("/nowhere").has_value());
}

TEST_CASE("a model that is wrong in one result of a block does not agree") {
  for (const SweepRecord& record : all_sweeps()) {
    if (record.mnemonic != "add.rn.f16") continue;
    std::string why;
    const auto model = SweepModel::of(record, why);
    REQUIRE(model.has_value());
    const SweepSums sums = sweep_block(*model, record.log2, 0);
    CHECK(agrees(record, 0, sums.mixed));
    const uint64_t one = model->result(77);
    const uint64_t other =
        sums.mixed - numeric_probe::checksum_term(one, 77) + numeric_probe::checksum_term(one ^ 1, 77);
    CHECK(!agrees(record, 0, other));
  }
}

}  // namespace turnstile
