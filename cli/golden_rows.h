// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "golden/compare.h"
#include "golden/explain.h"

namespace turnstile::cli {

/// What `turnstile simulate` tells about one output.
struct OutputSummary {
  std::string buffer;
  ElementType type = ElementType::b8;
  uint64_t rows = 0;
  uint64_t columns = 0;
  std::string sha256;
  uint64_t nans = 0;
  uint64_t infinities = 0;
  std::vector<uint64_t> first;  ///< bits of the first elements of row 0
  std::string file;             ///< .npy, if written
};

/// Two sides of one output.
struct Match {
  std::string left;   ///< "sim", "GPU"
  std::string right;  ///< "record", "sim"
  std::string buffer;
  ElementType type = ElementType::b8;
  golden::Comparison comparison;
};

/// What a golden verb found for one case.
struct GoldenRow {
  enum class Status : uint8_t {
    written,        ///< record: a new record
    unchanged,      ///< record: the record on disk says the same
    equal,          ///< verify, crossval: no differing bit
    different,      ///< some bits differ
    not_predicted,  ///< the simulator has no exact model of something that the kernel did
    no_record,      ///< crossval: GPU and simulator agree, but nothing is recorded
    failed,         ///< input unusable; `error` says why
  };
  std::string case_name;
  Status status = Status::failed;
  std::string record_file;
  std::vector<Match> matches;
  std::vector<std::string>
      remarks;  ///< one line each: PTX changed since the record, operation without a model, ...
  std::string error;
  double seconds = 0;
  /// The first element that the simulator and the other side (`explained_side`) have other bits of.
  std::optional<golden::Explanation> explanation;
  std::string explained_side;
};

std::string status_name(GoldenRow::Status status);

}  // namespace turnstile::cli
