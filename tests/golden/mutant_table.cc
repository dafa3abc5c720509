// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "golden/expectations.h"
#include "model/files.h"

// mutants.toml, the kernel's source and the committed PTX must tell the same story.

using namespace turnstile;

namespace {

const std::string kFolder = TURNSTILE_SOURCE_DIR "/kernels/gemm_bf16_hopper/";

std::string contents(const std::string& name) {
  const auto text = read_file(kFolder + name, 1 << 20);
  REQUIRE(text);
  return *text;
}

size_t lines_with(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    count += text.substr(begin, end - begin).find(part) != std::string::npos;
    begin = end + 1;
  }
  return count;
}

std::set<std::string> names_in_source(const std::string& source) {
  const size_t begin = source.find("enum class Mutant {"), end = source.find("};", begin);
  std::set<std::string> names;
  for (size_t at = source.find("\n  ", begin); at < end; at = source.find("\n  ", at + 1)) {
    names.insert(source.substr(at + 3, source.find(',', at) - at - 3));
  }
  names.erase("none");
  return names;
}

std::vector<std::string> kernels_beside(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    names.push_back(entry.path().stem().string());
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace

TEST_CASE("every mutant of the GEMM is described, on lines that are unique, with its PTX beside it") {
  const std::string source = contents("gemm_bf16_hopper.cu");
  const auto table = golden::read_expectations(kFolder + "mutants.toml");
  REQUIRE(table);
  std::set<std::string> described;
  const auto check_texts = [&](const std::string& name, const std::vector<std::string>& lines) {
    CAPTURE(name);
    for (const std::string& line : lines) {
      CAPTURE(line);
      CHECK(lines_with(source, line) == 1);
    }
    CHECK(contents("mutants/" + name + ".ptx") != contents("gemm_bf16_hopper.ptx"));
    described.insert(name);
  };
  for (const golden::Mutant& mutant : table->mutants) {
    check_texts(mutant.name, {mutant.line});
    check_texts(mutant.name, mutant.other_lines);
    CHECK(std::filesystem::equivalent(mutant.kernel_path, kFolder + "mutants/" + mutant.name + ".ptx"));
  }
  for (const golden::BatchMutant& mutant : table->batch_mutants) check_texts(mutant.name, {mutant.line});
  CHECK(described == names_in_source(source));
  const std::vector<std::string> files = kernels_beside(kFolder + "mutants");
  CHECK(std::vector<std::string>(described.begin(), described.end()) == files);
}

TEST_CASE("the table is as large as was promised: 16 mutants, and 12 launches that must be clean") {
  const auto table = golden::read_expectations(kFolder + "mutants.toml");
  REQUIRE(table);
  CHECK(table->mutants.size() >= 16);
  CHECK(table->clean.size() >= 12);
  for (const golden::Mutant& mutant : table->mutants) {
    CAPTURE(mutant.name);
    CHECK(mutant.other_classes.size() <= 1);
    CHECK(mutant.show.size() >= 2);
    // A text that would match nearly any line proves nothing.
    CHECK(mutant.line.size() >= 20);
    for (const std::string& line : mutant.other_lines) CHECK(line.size() >= 20);
  }
  // The edges that the issue names, in k tiles of 64 columns with a ring of 4 stages.
  std::set<int64_t> k_tiles;
  bool more_tiles_than_ctas = false;
  bool ragged[3] = {};
  for (const golden::CleanLaunch& launch : table->clean) {
    const int64_t m = launch.set.at("M"), n = launch.set.at("N"), k = launch.set.at("K");
    k_tiles.insert((k + 63) / 64);
    more_tiles_than_ctas |= (m + 127) / 128 * ((n + 255) / 256) > launch.set.at("sms");
    ragged[0] |= m % 128 != 0, ragged[1] |= n % 256 != 0, ragged[2] |= k % 64 != 0;
  }
  for (const int64_t tiles : {0, 1, 4, 5, 9}) CHECK(k_tiles.contains(tiles));
  CHECK(more_tiles_than_ctas);
  for (const bool seen : ragged) CHECK(seen);
}

TEST_CASE("the committed PTX holds no path of the machine that made it") {
  std::vector<std::string> names = {"gemm_bf16_hopper.ptx"};
  for (const auto& entry : std::filesystem::directory_iterator(kFolder + "mutants")) {
    names.push_back("mutants/" + entry.path().filename().string());
  }
  for (const std::string& name : names) {
    CAPTURE(name);
    const std::string text = contents(name);
    CHECK(text.find(".target sm_90a") != std::string::npos);
    CHECK(lines_with(text, "\t.file\t") == 1);
    CHECK(lines_with(text, "\t.file\t1 \"gemm_bf16_hopper.cu\"") == 1);
    CHECK(text.find("_GLOBAL__N_") == std::string::npos);
    CHECK(text.find("_ZZ16gemm_bf16_hopperE4full[32]") != std::string::npos);
  }
}
