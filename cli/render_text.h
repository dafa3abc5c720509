// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "cli/check_launch.h"
#include "cli/source_text.h"
#include "cli/text.h"

namespace turnstile::cli {

/// One finding, in the order in which people need it (ux.md): what goes wrong and for whom, where, why, the
/// schedule, what to do.
std::string render_diagnostic(const Diagnostic& diagnostic, SourceText& source, const Style& style);

/// One reason why the verdict is not known.
std::string render_inconclusive(const Note& reason, SourceText& source, const Style& style);

/// The whole answer of `turnstile check`. `quiet`: findings and reasons only; nothing if clean.
std::string render_check(const CheckOutcome& outcome, SourceText& source, const Style& style, bool quiet);

/// "gemm  sm_90a  grid 132  cluster 1  384 threads   M=4096": the launch in one line.
std::string render_launch_line(const Launch& launch, const std::string& target);

/// "clean", "inconclusive", or what was found.
std::string verdict_text(const Report& report);

/// Text in the colour of the verdict.
std::string painted_verdict(const Report& report, const std::string& text, const Style& style);

/// "clean: every schedule of this launch (...)      0.11 s": the last line about one launch.
std::string verdict_line(const Report& report, double seconds, const Style& style);

/// All findings and reasons; `quiet`: without lints.
std::string render_findings(const Report& report, SourceText& source, const Style& style, bool quiet);

/// One line of many: label, verdict, time.
std::string render_row(const std::string& label, const Report& report, double seconds, const Style& style);

/// "  replay: turnstile replay .turnstile/3f9c.witness\n"; empty if there is no file.
std::string replay_line(const std::string& witness_file);

/// "2 findings (1 hang, 1 race), 1 lint".
std::string findings_text(const Report& report);

}  // namespace turnstile::cli
