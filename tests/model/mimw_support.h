// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "model/files.h"
#include "model/mimw/mimw.h"

namespace turnstile {

inline MimwProgram program_of(std::string_view text) {
  Result<MimwProgram> program = parse_mimw(text, "t.mimw");
  if (!program) FAIL(program.error().text());
  return *program;
}

inline Orchestration unrolled(std::string_view text, const std::string& variant = "ok",
                              const std::map<std::string, int64_t>& values = {}) {
  Result<Orchestration> made = unroll(program_of(text), variant, values);
  if (!made) FAIL(made.error().text());
  return std::move(*made);
}

/// The error of parsing, or of unrolling the first variant; "" if there is none.
inline std::string mimw_error(std::string_view text, const std::map<std::string, int64_t>& values = {}) {
  const Result<MimwProgram> program = parse_mimw(text, "t.mimw");
  if (!program) return program.error().text();
  const Result<Orchestration> made = unroll(*program, variants(*program).front(), values);
  return made ? std::string() : made.error().text();
}

/// What the first agent of a text does, when only that is of interest.
inline std::vector<Event> events_of(std::string_view declarations, std::string_view operations) {
  return unrolled(std::string(declarations) + "\nagent A\n" + std::string(operations)).strands[0].events;
}

inline std::vector<EventKind> kinds(const std::vector<Event>& events) {
  std::vector<EventKind> all;
  for (const Event& e : events) all.push_back(e.kind);
  return all;
}

inline const std::string& corpus_folder() {
  static const std::string folder = std::string(TURNSTILE_SOURCE_DIR) + "/tests/corpus";
  return folder;
}

inline std::vector<std::string> corpus_files() {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(corpus_folder()))
    if (entry.path().extension() == ".mimw") files.push_back(entry.path().string());
  std::sort(files.begin(), files.end());
  return files;
}

/// Those that are programs of orchestration_bugs.md: "A1", "C12b", "T3", "ring".
inline std::vector<std::string> catalogue_files() {
  std::vector<std::string> files;
  for (const std::string& path : corpus_files()) {
    const std::string id = std::filesystem::path(path).stem().string();
    const bool numbered = id.size() >= 2 && id[0] >= 'A' && id[0] <= 'T' && id[1] >= '0' && id[1] <= '9';
    if (numbered || id == "ring") files.push_back(path);
  }
  return files;
}

inline std::string text_of(const std::string& path) {
  Result<std::string> text = read_file(path, mimw_max_text);
  if (!text) FAIL(text.error().text());
  return *text;
}

/// The bytes that an event touches.
inline ByteRange bytes_of(const Orchestration& o, const Event& e) {
  const Footprint& f = o.tables.footprints.at(e.footprint);
  REQUIRE(f.range_count == 1);
  return o.tables.ranges.at(f.first_range);
}

}  // namespace turnstile
