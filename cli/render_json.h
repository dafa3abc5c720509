// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/check_launch.h"
#include "cli/check_mimw.h"
#include "cli/corpus.h"
#include "cli/golden_rows.h"
#include "cli/mimw_corpus.h"
#include "cli/source_text.h"
#include "cli/terminal.h"
#include "cli/timeline.h"
#include "golden/batch.h"
#include "golden/captures.h"
#include "golden/explain.h"
#include "golden/numerics/record_families.h"
#include "golden/predict.h"

namespace turnstile::cli {

// The answers of the verbs as JSON, one document each, ended by a line break. Schema: docs/json.md.

/// `shown`: which of the outcomes the text answer would show in full.
std::string json_of_check(const std::vector<CheckOutcome>& outcomes, std::optional<size_t> shown,
                          SourceText& source, Exit exit);
std::string json_of_simulate(const Launch& launch, const golden::Prediction& prediction,
                             const std::vector<OutputSummary>& outputs,
                             const std::vector<golden::Explanation>& explanations, Exit exit);
/// `file`: where the picture went.
std::string json_of_timeline(const Launch& launch, const LaunchTimeline& result, const std::string& file,
                             Exit exit);
std::string json_of_golden(const std::string& verb, const std::vector<GoldenRow>& rows, Exit exit);
std::string json_of_batch(const golden::RowQuestion& question, const golden::RowAnswer& answer, Exit exit);
std::string json_of_corpus(const golden::Expectations& table, const std::vector<MutantAnswer>& mutants,
                           const std::vector<CorpusAnswer>& clean, Exit exit);
std::string json_of_mimw(const MimwProgram& program, const std::vector<MimwOutcome>& outcomes,
                         std::optional<size_t> shown, SourceText& source, Exit exit);
std::string json_of_cases(const std::string& path, const std::vector<CorpusLine>& lines, Exit exit);
std::string json_of_selftest(const std::string& captures_folder,
                             const std::vector<golden::CaptureFamily>& captures,
                             const std::string& records_folder,
                             const std::vector<golden::RecordFamily>& records, Exit exit);
std::string json_of_error(const std::string& verb, const Error& error);

/// Tells of input that cannot be used, as the document too if `json`. Returns the exit code.
Exit refuse(const Terminal& terminal, const std::string& verb, bool json, const Error& error);

}  // namespace turnstile::cli
