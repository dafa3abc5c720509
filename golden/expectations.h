// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "model/report.h"
#include "model/result.h"

namespace turnstile::golden {

/// Settings of a launch file's variables, as with `--set`.
using Settings = std::map<std::string, int64_t>;

/// A variant of a kernel with one fault, and what a check must say about it.
struct Mutant {
  std::string name;  ///< letters, digits, '_' and '-' only: it is part of a path
  std::string fault;
  FindingClass finding_class = FindingClass::hang;
  std::vector<FindingClass> other_classes;  ///< right too, where the rules permit several
  std::string line;                         ///< text of a source line: the first error must name it ...
  std::vector<std::string> other_lines;     ///< ... or one of these
  std::vector<Settings> show;   ///< launches that show the fault, the smallest first; at least one
  std::vector<Settings> clean;  ///< launches in which it cannot be met: these must be clean
  std::string kernel_path;      ///< mutants/NAME.ptx beside the table
};

/// A variant that is clean, but whose rows depend on the batch; `turnstile batch check` is for those.
struct BatchMutant {
  std::string name;
  std::string fault;
  std::string line;
  std::string kernel_path;
};

/// A launch of the kernel itself that must be clean.
struct CleanLaunch {
  std::string name;
  Settings set;
};

/// What must be found in a kernel and its variants: a file like kernels/gemm_bf16_hopper/mutants.toml.
struct Expectations {
  std::string path;
  std::string launch_path;  ///< the launch file of all, beside the table
  std::vector<Mutant> mutants;
  std::vector<BatchMutant> batch_mutants;
  std::vector<CleanLaunch> clean;
};

/// Reads a table of at most 1 MiB. Unknown keys, classes that do not exist and names given twice are errors
/// with a position; whether the launch file and the kernels exist is found out by whoever runs them.
Result<Expectations> read_expectations(const std::string& path);

/// Same, from text; `path` is for messages and for the files beside it.
Result<Expectations> parse_expectations(const std::string& text, const std::string& path);

}  // namespace turnstile::golden
