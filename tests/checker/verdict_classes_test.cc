// SPDX-License-Identifier: Apache-2.0
#include "checker/verdict_classes.h"

#include <doctest/doctest.h>

using namespace turnstile;

namespace {

Diagnostic finding(FindingClass c, const std::string& rule) {
  Diagnostic d;
  d.finding_class = c;
  d.rule = rule;
  return d;
}

}  // namespace

TEST_CASE("a finding belongs to the verdict classes of orchestration_bugs.md 2.3 by class and rule") {
  CHECK(belongs_to(finding(FindingClass::hang, "MB16"), "deadlock"));
  CHECK(belongs_to(finding(FindingClass::hang, "MB18"), "deadlock"));
  CHECK(belongs_to(finding(FindingClass::hang, "MB18"), "tx-imbalance"));
  CHECK(belongs_to(finding(FindingClass::resource, "RG4"), "deadlock"));
  CHECK_FALSE(belongs_to(finding(FindingClass::barrier_protocol, "MB18"), "deadlock"));
  CHECK(belongs_to(finding(FindingClass::race, "M4"), "race"));
  CHECK_FALSE(belongs_to(finding(FindingClass::race, "MB11"), "race"));
  CHECK(belongs_to(finding(FindingClass::race, "MB11"), "mbar-before-init"));
  CHECK(belongs_to(finding(FindingClass::proxy_fence, "PX1"), "fence"));
  CHECK_FALSE(belongs_to(finding(FindingClass::proxy_fence, "PX2"), "fence"));
  CHECK(belongs_to(finding(FindingClass::proxy_fence, "PX2"), "fence-war"));
  CHECK_FALSE(belongs_to(finding(FindingClass::race, "M4"), "no such class"));
  Diagnostic lint = finding(FindingClass::race, "TC23");
  CHECK_FALSE(belongs_to(lint, "lint"));
  lint.severity = Severity::lint;
  CHECK(belongs_to(lint, "lint"));
}

TEST_CASE("a subject without index or CTA stands for all of them") {
  CHECK(same_subject("buf[1]", "buf"));
  CHECK(same_subject("buf[1]", "buf[1]"));
  CHECK(same_subject("@1.buf[1]", "buf"));
  CHECK(same_subject("@1.e", "@1.e"));
  CHECK(same_subject("c.l", "c"));
  CHECK(same_subject("id5", "id5"));
  CHECK_FALSE(same_subject("buf[1]", "buf[2]"));
  CHECK_FALSE(same_subject("buffer", "buf"));
  CHECK_FALSE(same_subject("@0.e", "@1.e"));
  CHECK_FALSE(same_subject("e", "@1.e"));
  CHECK_FALSE(same_subject("", "buf"));
}
