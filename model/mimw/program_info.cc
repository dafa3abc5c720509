// SPDX-License-Identifier: Apache-2.0
// What a text offers without being unrolled: its variants and its expectations.
#include <algorithm>

#include "model/mimw/mimw.h"

namespace turnstile {
namespace {

void add_once(std::vector<std::string>& names, const std::vector<std::string>& more) {
  for (const std::string& name : more)
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
}

// Depth is bounded by the parser.
void add_marks(std::vector<std::string>& names, const std::vector<mimw::Statement>& statements) {
  for (const mimw::Statement& s : statements) {
    add_once(names, s.marks);
    add_marks(names, s.body);
    add_marks(names, s.otherwise);
  }
}

}  // namespace

std::vector<std::string> variants(const MimwProgram& program) {
  std::vector<std::string> names;
  for (const mimw::Expectation& e : program.tree.expectations) add_once(names, e.variants);
  add_marks(names, program.tree.statements);
  if (names.empty()) names.emplace_back("ok");
  return names;
}

std::vector<MimwExpectation> expectations(const MimwProgram& program) {
  std::vector<MimwExpectation> all;
  for (const mimw::Expectation& e : program.tree.expectations) {
    for (const std::string& variant : e.variants) {
      MimwExpectation one{variant, {}, e.derived, e.at.line};
      for (const mimw::ExpectedFinding& f : e.findings) one.findings.push_back({f.verdict_class, f.subjects});
      all.push_back(std::move(one));
    }
  }
  return all;
}

}  // namespace turnstile
