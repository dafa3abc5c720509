// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <string>

#include "model/files.h"
#include "model/launch/toml_reader.h"

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

const std::set<std::string> kClasses = {"hang",      "race",     "proxy_fence",
                                        "overtaken", "stale",    "barrier_protocol",
                                        "resource",  "lifetime", "register_hazard"};

}  // namespace

TEST_CASE("every mutant of the GEMM is described, on lines that are unique, with its PTX beside it") {
  const std::string source = contents("gemm_bf16_hopper.cu");
  const auto table = parse_toml(contents("mutants.toml"), "mutants.toml");
  REQUIRE(table);
  std::set<std::string> described;
  for (const char* list : {"mutants", "batch_mutants"}) {
    for (const TomlValue& mutant : table->find(list)->items) {
      const std::string name = mutant.find("name")->text;
      CAPTURE(name);
      CHECK(described.insert(name).second);
      CHECK(lines_with(source, mutant.find("line")->text) == 1);
      if (const TomlValue* others = mutant.find("others")) {
        for (const TomlValue& other : others->items) {
          CAPTURE(other.text);
          CHECK(lines_with(source, other.text) == 1);
        }
      }
      if (const TomlValue* verdict = mutant.find("class")) {
        CHECK(kClasses.contains(verdict->text));
        for (const TomlValue& other : mutant.find("or")->items) CHECK(kClasses.contains(other.text));
        CHECK(mutant.find("show") != nullptr);
      }
      CHECK(contents("mutants/" + name + ".ptx") != contents("gemm_bf16_hopper.ptx"));
    }
  }
  CHECK(described == names_in_source(source));
  CHECK(table->find("mutants")->items.size() >= 16);
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
