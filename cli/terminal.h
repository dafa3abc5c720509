// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "cli/text.h"
#include "model/report.h"
#include "model/result.h"

namespace turnstile::cli {

/// Exit codes of every verb (design.md section 6, docs/cli.md).
enum class Exit : int { clean = 0, findings = 1, unusable = 2, inconclusive = 3 };

Exit exit_of(Verdict verdict);

/// The worst of two, where findings outweigh unreadable input, which outweighs not knowing.
Exit worst(Exit a, Exit b);

/// Where people read: colours and progress only on terminals, results on stdout, remarks and errors on
/// stderr.
class Terminal {
 public:
  /// Looks at stdout, stderr, NO_COLOR, TERM and CI.
  static Terminal detect();
  /// No colours, no progress.
  static Terminal plain() { return {}; }

  const Style& out() const { return out_; }

  void print(std::string_view text) const;
  /// "turnstile: error: ..." on stderr.
  void complain(std::string_view message) const;

  /// One line on stderr that replaces the one before; nothing if stderr is not a terminal.
  void progress(std::string_view line) const;
  /// Removes the progress line. Called before anything else is printed.
  void clear_progress() const;

 private:
  Style out_;
  Style err_;
  bool shows_progress_ = false;
};

/// After this, Ctrl-C and SIGTERM only set a flag, the first time; the second ends the program at once.
void catch_interrupts();
bool interrupted();

}  // namespace turnstile::cli
