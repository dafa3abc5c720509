// SPDX-License-Identifier: Apache-2.0
#include "checker/verdict_classes.h"

#include <algorithm>

namespace turnstile {

namespace {

const std::vector<VerdictClass>& class_table() {
  static const std::vector<VerdictClass> classes = {
      // RG4 and TC4 are hangs on a resource; their class says which resource.
      {"deadlock", {"RG4", "TC4"}, true, FindingClass::hang, {}},
      {"race", {}, true, FindingClass::race, "MB11"},
      {"stale", {}, true, FindingClass::stale, {}},
      {"fence", {"PX1", "PX7", "TMAP2"}, false, {}, {}},
      {"fence-war", {"PX2"}, false, {}, {}},
      {"mbar-underflow", {"MB15"}, false, {}, {}},
      {"tx-imbalance", {"MB18", "MB19", "ALG-D5b"}, false, {}, {}},
      {"mbar-reinit", {"MB9"}, false, {}, {}},
      {"mbar-before-init", {"MB10", "MB11"}, false, {}, {}},
      {"mbar-init-unfenced", {"MB11"}, false, {}, {}},
      {"nbar-arrives-only", {"C4"}, false, {}, {}},
      {"nbar-surplus", {"NX3", "N7", "EXT1"}, false, {}, {}},
      {"nbar-count", {"NX1"}, false, {}, {}},
      {"remote-after-exit", {"D2", "D3", "D5"}, false, {}, {}},
      {"remote-wait", {"MB8"}, false, {}, {}},
      {"collective-before-peer", {"TC9"}, false, {}, {}},
      {"free-before-peer-alloc", {"TC10"}, false, {}, {}},
      {"leak", {"TC6"}, false, {}, {}},
      {"exit-in-flight", {"BK6"}, false, {}, {}},
  };
  return classes;
}

bool named_by(const VerdictClass& c, std::string_view rule) {
  return std::find(c.rules.begin(), c.rules.end(), rule) != c.rules.end();
}

}  // namespace

std::span<const VerdictClass> verdict_classes_of_findings() { return class_table(); }

bool belongs_to(const Diagnostic& diagnostic, std::string_view verdict_class) {
  if (verdict_class == "lint") return diagnostic.severity == Severity::lint;
  for (const VerdictClass& c : class_table()) {
    if (c.name != verdict_class) continue;
    if (named_by(c, diagnostic.rule)) return true;
    return c.whole_class && diagnostic.finding_class == c.finding_class && diagnostic.rule != c.except;
  }
  return false;
}

bool same_subject(std::string_view found, std::string_view wanted) {
  const auto without_cta = [](std::string_view name) {
    const size_t dot = name.find('.');
    return name.starts_with('@') && dot != std::string_view::npos ? name.substr(dot + 1) : name;
  };
  if (!wanted.starts_with('@')) found = without_cta(found);
  if (found == wanted) return true;
  return found.size() > wanted.size() && found.starts_with(wanted) &&
         (found[wanted.size()] == '[' || found[wanted.size()] == '.');
}

}  // namespace turnstile
