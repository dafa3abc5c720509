// SPDX-License-Identifier: Apache-2.0

// The constants of the timeline against the record of the probe that measured them (kernels/probes/latency).

#include "sim/timeline/latency_model.h"

#include <doctest/doctest.h>

#include <cmath>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <string>

using namespace turnstile;
using namespace turnstile::sim;

namespace {

/// Medians by the name of the figure, and the constants so far by theirs.
std::map<std::string, double> measured() {
  std::ifstream in(std::string(TURNSTILE_SOURCE_DIR) + "/golden/records/latency/h200.json");
  const nlohmann::json record = nlohmann::json::parse(in, nullptr, false);
  REQUIRE(!record.is_discarded());
  CHECK(record.at("failed") == "");
  std::map<std::string, double> out;
  for (const auto& line : record.at("lines"))
    if (line.contains("name")) out[line.at("name")] = line.at("median");
  return out;
}

std::optional<double> term_of(const std::string& text, const std::map<std::string, double>& known) {
  if (const auto it = known.find(text); it != known.end()) return it->second;
  char* end = nullptr;
  const double number = std::strtod(text.c_str(), &end);
  if (text.empty() || *end != '\0') return std::nullopt;
  return number;
}

/// From left to right, without precedence.
std::optional<double> value_of(const std::string& formula, const std::map<std::string, double>& known) {
  std::istringstream in(formula);
  std::string word, operation;
  in >> word;
  std::optional<double> value = term_of(word, known);
  while (value && in >> operation >> word) {
    const std::optional<double> next = term_of(word, known);
    if (!next) return std::nullopt;
    value = operation == "+"   ? *value + *next
            : operation == "-" ? *value - *next
            : operation == "*" ? *value * *next
                               : *value / *next;
  }
  return value;
}

}  // namespace

TEST_CASE(
    "every constant of the timeline follows from the record of the H200, or says that nobody measured it") {
  std::map<std::string, double> known = measured();
  const LatencyModel model = h200_model();
  for (const LatencySource& source : latency_table()) {
    INFO("constant ", std::string(source.name));
    CHECK_EQ(model.*source.field, source.value);
    CHECK(source.value > 0);
    CHECK(!source.what.empty());
    if (!source.formula.empty()) {
      const std::optional<double> value = value_of(std::string(source.formula), known);
      REQUIRE(value.has_value());
      CHECK(std::abs(*value - source.value) <= 0.0006 + 0.001 * std::abs(*value));  // the table is rounded
    }
    known[std::string(source.name)] = source.value;
  }
}

TEST_CASE("the table sets every constant once") {
  LatencyModel all;
  double* const first = reinterpret_cast<double*>(&all);
  const size_t count = sizeof(LatencyModel) / sizeof(double);
  CHECK_EQ(latency_table().size(), count);
  for (const LatencySource& source : latency_table()) {
    CHECK_EQ(all.*source.field, 0);
    all.*source.field = 1;
  }
  for (size_t i = 0; i < count; ++i) CHECK_EQ(first[i], 1);
}
