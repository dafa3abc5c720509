// SPDX-License-Identifier: Apache-2.0
#include "cli/source_text.h"

#include <fmt/format.h>

#include <filesystem>
#include <sstream>
#include <utility>

#include "cli/text.h"
#include "model/files.h"

namespace turnstile::cli {

namespace {

constexpr uint64_t largest_source = uint64_t{16} << 20;

std::string trimmed(const std::string& text) {
  const size_t first = text.find_first_not_of(" \t\r");
  if (first == std::string::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

}  // namespace

const std::vector<std::string>& SourceText::lines_of(const std::string& file) {
  const auto known = files_.find(file);
  if (known != files_.end()) return known->second;
  std::vector<std::string>& lines = files_[file];
  std::vector<std::filesystem::path> candidates = {file};
  for (const std::string& folder : folders_)
    candidates.push_back(std::filesystem::path(folder) / std::filesystem::path(file).filename());
  for (const std::filesystem::path& candidate : candidates) {
    std::error_code ignored;
    if (!std::filesystem::is_regular_file(candidate, ignored)) continue;
    const Result<std::string> text = read_file(candidate.string(), largest_source);
    if (!text) continue;
    std::istringstream stream(*text);
    for (std::string line; std::getline(stream, line);) lines.push_back(trimmed(line));
    break;
  }
  return lines;
}

std::string SourceText::line(const SourcePosition& position) {
  if (!position.file.empty() && position.line != 0) {
    const std::vector<std::string>& lines = lines_of(position.file);
    if (position.line <= lines.size()) return printable(lines[position.line - 1]);
  }
  return printable(position.instruction);
}

SourceText source_for(const Launch& launch) {
  std::vector<std::string> folders;
  for (const std::string& path : {launch.source_path, launch.kernel_path, launch.path})
    if (!path.empty()) folders.push_back(std::filesystem::path(path).parent_path().string());
  return SourceText(std::move(folders));
}

std::string position_text(const SourcePosition& position) {
  if (position.file.empty()) return {};
  const std::string name = printable(std::filesystem::path(position.file).filename().string());
  return position.line == 0 ? name : fmt::format("{}:{}", name, position.line);
}

}  // namespace turnstile::cli
