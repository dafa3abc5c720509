// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace turnstile {

/// A verdict cannot be misread: a default-constructed one says nothing (design.md section 6).
enum class Verdict : uint8_t { inconclusive, clean, finding };

std::string_view verdict_name(Verdict verdict);

/// What kind of fault a finding is; the names are those of the mutant tables and of --json.
enum class FindingClass : uint8_t {
  hang,
  race,
  proxy_fence,       ///< ordered, but not visible to the other proxy (PX1, PX2)
  overtaken,         ///< a waiter can be lapped, or can pass a phase early (ALG-D1, ALG-D2)
  stale,             ///< ordered data of the wrong generation
  barrier_protocol,  ///< arrivals or bytes do not match (ALG-D3 to ALG-D5, MB15-MB29), misuse of barrier
                     ///< objects
  resource,          ///< registers
  lifetime,          ///< asynchronous work outlives its CTA (BK6)
  register_hazard,   ///< WG1, WG3
  memory,            ///< out of bounds, misaligned, illegal operands
};

std::string_view finding_class_name(FindingClass c);

enum class Severity : uint8_t { error, lint };

/// A position in the user's source, with the text that a report prints beside it.
struct SourcePosition {
  std::string file;  ///< source file, or the PTX file where there is no line information
  uint32_t line = 0;
  uint32_t column = 0;
  uint32_t ptx_line = 0;
  std::string instruction;
};

struct Note {
  SourcePosition position;  ///< file empty: a plain fact
  std::string text;
};

/// One finding. The order of the parts is the order in which people need them (ux.md): what goes wrong and
/// for whom, where, why, what to do.
struct Diagnostic {
  FindingClass finding_class = FindingClass::hang;
  Severity severity = Severity::error;
  std::string rule;     ///< "MB12", "ALG-D2", "PX1"
  std::string subject;  ///< name of the object: "buf[1]", "full[0]", "@1.e", "tm.acc", "registers"
  std::string message;  ///< one line: who, what, which barrier and phase
  SourcePosition where;
  std::string label;               ///< said beside `where`: "empty[2], phase 1 (parity 1)"
  std::vector<Note> sides;         ///< the other places involved
  std::vector<std::string> facts;  ///< "empty[2] has 1 of 2 arrivals in phase 1"
  std::vector<std::string>
      witness;  ///< shortest schedule that shows it, one step a line; empty if any schedule does
  bool witness_is_shortest = false;
  std::string help;          ///< what to change
  uint64_t occurrences = 1;  ///< same pair of lines
  bool suspected = false;    ///< rests on a broken condition of the certificate, or comes after one (PF13): a
                             ///< search over the schedules confirms or clears it
};

struct Report {
  Verdict verdict = Verdict::inconclusive;
  std::string guarantee;  ///< what the verdict covers: "every schedule of this launch (one run, certificate
                          ///< ALG-D1 to ALG-D5)"
  std::string engine;     ///< "E1 single run"
  std::vector<Diagnostic> diagnostics;    ///< findings first, then lints
  std::vector<Note> inconclusive;         ///< reasons
  std::vector<std::string> not_examined;  ///< what was not looked at
  uint64_t events = 0;
  uint64_t accesses = 0;  ///< byte ranges checked
  uint32_t agents = 0, warps = 0, barriers = 0;
  uint64_t phases = 0;  ///< completed mbarrier phases
};

/// The same class, rule and lines: one finding to a reader.
bool same_finding(const Diagnostic& a, const Diagnostic& b);

/// Folds the report of another cluster of the same launch into one. Equal findings (same class, rule and
/// lines) are counted, not repeated.
void merge_into(Report& total, const Report& part);

/// Sets the verdict from the contents: findings, else inconclusive reasons, else clean.
void conclude(Report& report);

}  // namespace turnstile
