// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "cli/corpus.h"
#include "cli/text.h"

namespace turnstile::cli {

// The table of `turnstile corpus` as text, row by row. Colours mark what is wrong.

std::string render_mutant_head();
std::string render_mutant_row(const golden::Mutant& mutant, const MutantAnswer& answer, const Style& style);
std::string render_clean_head();
std::string render_clean_row(const golden::CleanLaunch& launch, const CorpusAnswer& answer,
                             const Style& style);

/// "21 of 21 right class and line, 12 of 12 clean".
std::string render_corpus_summary(const std::vector<MutantAnswer>& mutants,
                                  const std::vector<CorpusAnswer>& clean, const Style& style);

/// "M=128 N=256".
std::string settings_text(const golden::Settings& set);

}  // namespace turnstile::cli
