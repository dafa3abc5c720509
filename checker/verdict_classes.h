// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/report.h"

namespace turnstile {

/// The verdict classes of orchestration_bugs.md 2.3, in which a .mimw text says what is expected of it, as
/// classes and rules of diagnostics.
struct VerdictClass {
  std::string_view name;  ///< "mbar-underflow"
  /// Rules (ids of semantics.md and algorithms.md) whose findings belong to the class, whatever their
  /// FindingClass.
  std::vector<std::string_view> rules;
  /// A FindingClass all of whose findings belong to it, but for those of rule `except`.
  bool whole_class = false;
  FindingClass finding_class = FindingClass::hang;
  std::string_view except;
};

/// All of them but `safe` and `lint`, which are about a report and a severity.
std::span<const VerdictClass> verdict_classes_of_findings();

/// Does a finding (or a lint: contested rules are lints by default) belong to a verdict class?
bool belongs_to(const Diagnostic& diagnostic, std::string_view verdict_class);

/// Does a finding about `found` (Diagnostic::subject) concern the object that a text calls `wanted`? "buf"
/// stands for every buf[i] and buf.part of every CTA, "@1.buf" for that of one CTA; "id5" is a named barrier.
bool same_subject(std::string_view found, std::string_view wanted);

}  // namespace turnstile
