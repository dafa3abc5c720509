// SPDX-License-Identifier: Apache-2.0
#include "golden/record.h"

#include <fmt/format.h>

#include <filesystem>

#include "golden/digest.h"
#include "model/files.h"

namespace turnstile::golden {

namespace {

std::string file_name(const std::string& path) { return std::filesystem::path(path).filename().string(); }

std::string origin_of(const Buffer& buffer) {
  if (!buffer.values_path.empty()) return file_name(buffer.values_path);
  return fmt::format("{} seed {} stream {}", family_name(buffer.fill), buffer.seed, buffer.stream);
}

}  // namespace

std::string safe_file_name(const std::string& name) {
  std::string out;
  for (char c : name) {
    const bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                       c == '-' || c == '_' || c == '=' || c == '+' || (c == '.' && !out.empty());
    out += plain ? c : '_';
  }
  return out.empty() ? "default" : out;
}

std::string record_path(const std::string& directory, const std::string& entry,
                        const std::string& case_name) {
  return (std::filesystem::path(directory) / safe_file_name(entry) / (safe_file_name(case_name) + ".json"))
      .string();
}

Result<Record> read_record(const std::string& path) {
  const Result<std::string> text = read_file(path, record_size_limit);
  if (!text) return tl::unexpected(text.error());
  return parse_record(*text, path);
}

Result<void> write_record(const std::string& path, const Record& record) {
  std::error_code failure;
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  if (!folder.empty()) std::filesystem::create_directories(folder, failure);
  if (failure)
    return fail(folder.string(), 0, 0, fmt::format("cannot make this folder: {}", failure.message()));
  return write_file_atomically(path, format_record(record));
}

Result<std::string> file_sha256(const std::string& path) {
  if (path.empty()) return std::string();
  const Result<std::string> text = read_file(path, uint64_t{1} << 30);
  if (!text) return tl::unexpected(text.error());
  return sha256_hex(*text);
}

Result<std::vector<RecordedInput>> input_digests(const Launch& launch) {
  std::vector<RecordedInput> inputs;
  for (const Buffer& buffer : launch.buffers) {
    if (buffer.role == BufferRole::out) continue;
    const Result<std::vector<std::byte>> contents = initial_contents(buffer);
    if (!contents) return tl::unexpected(contents.error());
    inputs.push_back({buffer.name, contents->size(), sha256_hex(*contents), origin_of(buffer)});
  }
  return inputs;
}

Result<Record> describe_launch(const Launch& launch) {
  Record record;
  record.launch_file = file_name(launch.path);
  record.case_name = launch.case_name;
  record.vars = launch.vars;
  record.entry = launch.entry;
  record.ptx_file = file_name(launch.kernel_path);
  const Result<std::string> ptx = file_sha256(launch.kernel_path);
  if (!ptx) return tl::unexpected(ptx.error());
  record.ptx_sha256 = *ptx;
  record.source_file = file_name(launch.source_path);
  const Result<std::string> source = file_sha256(launch.source_path);
  if (!source) return tl::unexpected(source.error());
  record.source_sha256 = *source;
  Result<std::vector<RecordedInput>> inputs = input_digests(launch);
  if (!inputs) return tl::unexpected(inputs.error());
  record.inputs = std::move(*inputs);
  return record;
}

Result<RecordedOutput> record_output(const Buffer& buffer, const std::vector<std::byte>& contents) {
  const Result<MatrixView> view = view_of(buffer, contents);
  if (!view) return tl::unexpected(view.error());
  RecordedOutput output{buffer.name,          buffer.type,        view->rows, view->columns,
                        matrix_sha256(*view), row_digests(*view), {}};
  if (view->elements() * element_bytes(buffer.type) <= full_output_limit) output.elements = packed(*view);
  return output;
}

Staleness staleness(const Record& record, const std::vector<RecordedInput>& inputs,
                    const std::string& ptx_sha256, const std::string& source_sha256) {
  Staleness result;
  result.ptx_changed = record.ptx_sha256 != ptx_sha256;
  result.source_changed = record.source_sha256 != source_sha256;
  for (const RecordedInput& now : inputs) {
    const RecordedInput* then = nullptr;
    for (const RecordedInput& candidate : record.inputs)
      if (candidate.buffer == now.buffer) then = &candidate;
    if (then == nullptr)
      result.differences.push_back(fmt::format("input {} is not in the record", now.buffer));
    else if (then->sha256 != now.sha256)
      result.differences.push_back(
          fmt::format("input {} has other contents now ({}, {} bytes; recorded {}, {} bytes)", now.buffer,
                      now.origin, now.bytes, then->origin, then->bytes));
  }
  for (const RecordedInput& then : record.inputs) {
    bool found = false;
    for (const RecordedInput& now : inputs) found = found || now.buffer == then.buffer;
    if (!found)
      result.differences.push_back(fmt::format("recorded input {} is not in the launch", then.buffer));
  }
  return result;
}

}  // namespace turnstile::golden
