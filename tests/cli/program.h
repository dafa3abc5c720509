// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "golden/subprocess.h"

namespace turnstile::test {

inline std::string data(const std::string& name) {
  return std::string(TURNSTILE_SOURCE_DIR) + "/tests/cli/data/" + name;
}

/// Runs build/turnstile as a user would.
inline golden::Finished run_turnstile(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), std::string(TURNSTILE_BINARY_DIR) + "/turnstile");
  const auto finished = golden::run_program(arguments, 120);
  return finished ? *finished : golden::Finished{-1, false, {}, finished.error().text()};
}

/// A folder of its own for one test.
class Folder {
 public:
  explicit Folder(const std::string& name)
      : path_(
            (std::filesystem::temp_directory_path() / ("turnstile-" + name + "-" + std::to_string(getpid())))
                .string()) {
    std::filesystem::remove_all(path_);
    std::filesystem::create_directories(path_);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() { std::filesystem::remove_all(path_); }

  std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  const std::string& path() const { return path_; }

  std::string write(const std::string& name, const std::string& text, bool executable = false) const {
    const std::string file = path_ + "/" + name;
    std::ofstream(file) << text;
    if (executable) std::filesystem::permissions(file, std::filesystem::perms::owner_all);
    return file;
  }
  /// Files below, of any depth.
  size_t files() const {
    size_t n = 0;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(path_))
      n += entry.is_regular_file() ? 1 : 0;
    return n;
  }

 private:
  std::string path_;
};

inline std::string slurp(const std::string& path) {
  std::ostringstream out;
  out << std::ifstream(path).rdbuf();
  return out.str();
}

inline bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// Lines, without their breaks.
inline std::vector<std::string> lines(const std::string& text) {
  std::vector<std::string> out;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) out.push_back(line);
  return out;
}

}  // namespace turnstile::test
