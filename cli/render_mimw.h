// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "cli/check_mimw.h"
#include "cli/mimw_corpus.h"
#include "cli/source_text.h"
#include "cli/text.h"

namespace turnstile::cli {

/// "k_tiles=3 stages=2".
std::string values_text(const std::map<std::string, int64_t>& values);

/// One variant in full: its findings, then the verdict.
std::string render_mimw(const MimwProgram& program, const MimwOutcome& outcome, SourceText& source,
                        const Style& style, bool quiet);

std::string render_case_head();
/// One line of the corpus table, with what is missing below it.
std::string render_case_row(const CorpusLine& line, const Style& style);
std::string render_case_summary(const std::vector<CorpusLine>& lines, const Style& style);

}  // namespace turnstile::cli
