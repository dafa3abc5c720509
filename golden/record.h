// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "model/launch/launch.h"
#include "model/result.h"

namespace turnstile::golden {

/// An output of at most this many bytes (elements, without row padding) is recorded in full; of larger ones
/// only digests are kept.
constexpr uint64_t full_output_limit = 96 * 1024;

/// Records larger than this are refused before they are parsed.
constexpr uint64_t record_size_limit = uint64_t{256} << 20;

struct RecordedInput {
  std::string buffer;
  uint64_t bytes = 0;
  std::string sha256;  ///< of the whole allocation: proves that both sides start from the same bits
  std::string origin;  ///< "normal seed 1 stream 0" or the .npy file; for people
};

struct RecordedOutput {
  std::string buffer;
  ElementType type = ElementType::b8;
  uint64_t rows = 0;
  uint64_t columns = 0;
  std::string sha256;                 ///< of the elements in row-major order, without padding
  std::vector<uint64_t> row_digests;  ///< golden::row_digests, one a row
  std::vector<std::byte> elements;    ///< row-major without padding; empty if over full_output_limit
};

/// What one GPU made of one case of a launch file. Everything that could explain another result on another
/// day is in it.
struct Record {
  std::string launch_file;  ///< file name without folders
  std::string case_name;
  std::map<std::string, int64_t> vars;
  std::string entry;
  std::string ptx_file;  ///< file name without folders
  std::string ptx_sha256;
  std::string source_file;  ///< empty if the launch file names no source
  std::string source_sha256;
  std::vector<RecordedInput> inputs;
  std::string gpu;
  std::string compute_capability;
  std::string driver;
  std::string cuda_driver_api;
  std::string cuda_toolkit;
  uint32_t sms = 0;
  std::string date;          ///< "2026-01-31T12:00:00Z"
  uint32_t repetitions = 1;  ///< runs that gave these same bits
  double kernel_ms = 0;      ///< median
  std::vector<RecordedOutput> outputs;
};

/// A name that can be a file name and nothing else: awkward letters become `_`, no leading dot, never empty.
std::string safe_file_name(const std::string& name);

/// `golden/records/<entry>/<case>.json` below `directory`; letters that are awkward in file names become `_`.
std::string record_path(const std::string& directory, const std::string& entry, const std::string& case_name);

/// The text of a record: JSON, one digest a line, so that a change can be read in a diff.
std::string format_record(const Record& record);

/// Reads a record and checks that it is whole: known version, no unknown or missing keys, digests that match
/// the elements beside them. `path` is used for messages, which name the line, or the key and what was
/// expected there.
Result<Record> parse_record(const std::string& text, const std::string& path);
Result<Record> read_record(const std::string& path);

/// Writes a record so that the file is either the old one or the whole new one. Makes the folders that are
/// missing.
Result<void> write_record(const std::string& path, const Record& record);

/// What the simulator must be given to be comparable: inputs and output shapes. One line a difference ("input
/// A: other contents (...)"); empty if the record is about this launch. `ptx` and `source` tell whether the
/// kernel is still the recorded one.
struct Staleness {
  std::vector<std::string> differences;
  bool ptx_changed = false;
  bool source_changed = false;
};

/// `inputs` as input_digests gives them for the launch of today.
Staleness staleness(const Record& record, const std::vector<RecordedInput>& inputs,
                    const std::string& ptx_sha256, const std::string& source_sha256);

/// Digests of the contents of all buffers of a launch that the kernel may read (roles in and in_out), in the
/// order of the launch.
Result<std::vector<RecordedInput>> input_digests(const Launch& launch);

/// SHA-256 of a file; of an empty path, the empty string.
Result<std::string> file_sha256(const std::string& path);

/// The part of a record that the launch determines: everything but GPU, run and outputs.
Result<Record> describe_launch(const Launch& launch);

/// An output as it is recorded.
Result<RecordedOutput> record_output(const Buffer& buffer, const std::vector<std::byte>& contents);

}  // namespace turnstile::golden
