// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "model/result.h"

namespace turnstile::golden {

/// How a program ended.
struct Finished {
  int exit_code = 0;       ///< 128 + signal if a signal ended it
  bool timed_out = false;  ///< it was killed at the deadline
  std::string output;      ///< stdout
  std::string errors;      ///< stderr
};

/// Runs a program without a shell: `arguments[0]` is its path, stdin is empty. At `timeout_seconds` the
/// program is killed. Of each stream the first MiB is kept. Error: the program cannot be started.
Result<Finished> run_program(const std::vector<std::string>& arguments, double timeout_seconds);

/// A folder that is removed, with everything in it, at the end of its life.
class ScratchFolder {
 public:
  /// Makes a new folder `parent/prefix-XXXXXX`, and `parent` where it is missing.
  static Result<ScratchFolder> make(const std::string& parent, const std::string& prefix);
  ScratchFolder(ScratchFolder&& other) noexcept : path_(std::move(other.path_)) { other.path_.clear(); }
  ScratchFolder& operator=(ScratchFolder&& other) = delete;
  ~ScratchFolder();

  const std::string& path() const { return path_; }

 private:
  explicit ScratchFolder(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

}  // namespace turnstile::golden
