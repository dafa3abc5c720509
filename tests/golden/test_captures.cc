// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "golden/captures.h"

using namespace turnstile;

namespace {

const std::string recorded = TURNSTILE_SOURCE_DIR "/tests/sim/data/tensor_core_captures";
const std::string head =
    "file,gpu,sm,instruction,in_type,acc_type,k,rows,model,L,F,rho,e_zero,c_rule,source_dir\n";
const std::string family = "x.csv,H200,sm_90,wgmma,f16,f32,2,1,t_fdpa,16,25,RZ-FP32,-133,as_is,x\n";
/// 1 * 1 + 2 * 2 + 0 = 5
const std::string vectors = "row,a,b,c,d\n7,3c00 4000,3c00 4000,00000000,40a00000\n";

/// The answer for a folder with these two files; an error is its text.
std::string answer(const std::string& manifest, const std::string& file) {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("turnstile_captures." + std::to_string(getpid()));
  std::filesystem::create_directory(folder);
  std::ofstream(folder / "manifest.csv") << manifest;
  std::ofstream(folder / "x.csv") << file;
  const auto got = golden::compare_captures(folder.string());
  std::filesystem::remove_all(folder);
  if (!got) return got.error().text().substr(folder.string().size() + 1);
  REQUIRE(got->size() == 1);
  return std::to_string(got->front().vectors) + " vectors, " + std::to_string(got->front().mismatches) +
         " mismatches, first " + std::to_string(got->front().first_mismatch);
}

}  // namespace

TEST_CASE("every recorded vector of every GPU is what the models give") {
  const auto families = golden::compare_captures(recorded);
  REQUIRE(families);
  CHECK(families->size() == 48);
  for (const golden::CaptureFamily& f : *families) {
    CAPTURE(f.file);
    CHECK(f.vectors == 500);
    CHECK(f.mismatches == 0);
  }
}

TEST_CASE("a vector that differs is counted and named") {
  CHECK(answer(head + family, vectors) == "1 vectors, 0 mismatches, first 0");
  std::string wrong = vectors;
  wrong[wrong.find("40a00000") + 7] = '1';
  CHECK(answer(head + family, wrong) == "1 vectors, 1 mismatches, first 7");
}

TEST_CASE("a folder that is no folder of captures is refused with its place") {
  const auto nothing = golden::compare_captures("/nonexistent");
  REQUIRE(!nothing);
  CHECK(nothing.error().text().find("/nonexistent/manifest.csv") != std::string::npos);
  CHECK(answer("x\n", vectors).rfind("manifest.csv:1", 0) == 0);
  CHECK(answer(head + "a,b\n", vectors).rfind("manifest.csv:2", 0) == 0);
  std::string other = family;
  other.replace(0, 5, "../x.csv");
  CHECK(answer(head + other, vectors).find("not in this folder") != std::string::npos);
  other = family;
  other.replace(other.find("sm_90"), 5, "sm_13");
  CHECK(answer(head + other, vectors).find("no model of 'wgmma' with 'f16' on 'sm_13'") != std::string::npos);
  other = family;
  other.replace(other.find("t_fdpa"), 6, "fp8_as_f16");
  CHECK(answer(head + other, vectors).find("is one of FP8") != std::string::npos);
  CHECK(answer(head + family, "row,a,b,c,d\n7,3c00,3c00,0,0\n").rfind("x.csv:2", 0) == 0);
  CHECK(answer(head + family, "row,a,b,c,d\n7,3c00 4000,3c00 4000,0\n").rfind("x.csv:2", 0) == 0);
  CHECK(answer(head + family, "row,a,b,c,d\n7,3c00 40zz,3c00 4000,0,0\n").rfind("x.csv:2", 0) == 0);
}
