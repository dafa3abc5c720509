// SPDX-License-Identifier: Apache-2.0

// Record <-> JSON. Reading never trusts the file: sizes are checked against the shape before anything is
// allocated from them, unknown and missing keys are errors, and the digests must match the elements beside
// them.

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <string_view>

#include "golden/digest.h"
#include "golden/record.h"

namespace turnstile::golden {

namespace {

using Json = nlohmann::ordered_json;

constexpr int format_version = 1;

/// Walks a document that may hold anything. The first complaint is kept, every later read gives a default
/// value, so that the reading code stays a list of fields; `error` is looked at before a value that matters
/// is used.
class Reader {
 public:
  explicit Reader(std::string path) : path_(std::move(path)) {}

  void complain(const std::string& where, const std::string& expected) {
    if (error.empty()) error = fmt::format("{}: expected {}", where.empty() ? "top level" : where, expected);
  }

  const Json& member(const Json& object, const std::string& where, const char* key) {
    const auto found = object.is_object() ? object.find(key) : object.end();
    if (object.is_object() && found != object.end()) return *found;
    complain(where, fmt::format("a key \"{}\"", key));
    return nothing_;
  }

  void only_keys(const Json& object, const std::string& where,
                 std::initializer_list<std::string_view> known) {
    if (!object.is_object()) return complain(where, "an object");
    for (const auto& item : object.items())
      if (std::find(known.begin(), known.end(), item.key()) == known.end())
        complain(where, fmt::format("no key \"{}\" here", item.key().substr(0, 40)));
  }

  std::string string(const Json& object, const std::string& where, const char* key) {
    const Json& value = member(object, where, key);
    if (value.is_string()) return value.get<std::string>();
    complain(child(where, key), "a string");
    return {};
  }

  std::string digest(const Json& object, const std::string& where, const char* key, bool may_be_empty) {
    std::string text = string(object, where, key);
    const bool good = (may_be_empty && text.empty()) || (text.size() == 64 && from_hex(text));
    if (!good) complain(child(where, key), "64 hex digits (a SHA-256)");
    return text;
  }

  uint64_t number(const Json& object, const std::string& where, const char* key, uint64_t largest) {
    const Json& value = member(object, where, key);
    if (value.is_number_unsigned() && value.get<uint64_t>() <= largest) return value.get<uint64_t>();
    complain(child(where, key), fmt::format("a whole number from 0 to {}", largest));
    return 0;
  }

  double real(const Json& object, const std::string& where, const char* key) {
    const Json& value = member(object, where, key);
    if (value.is_number()) return value.get<double>();
    complain(child(where, key), "a number");
    return 0;
  }

  const Json& array(const Json& object, const std::string& where, const char* key) {
    const Json& value = member(object, where, key);
    if (value.is_array()) return value;
    complain(child(where, key), "an array");
    return empty_array_;
  }

  static std::string child(const std::string& where, const std::string& key) {
    return where.empty() ? key : where + "." + key;
  }

  tl::unexpected<Error> failure() const { return fail(path_, 0, 0, error); }

  std::string error;  ///< empty while all is well

 private:
  std::string path_;
  const Json nothing_;
  const Json empty_array_ = Json::array();
};

RecordedInput read_input(Reader& reader, const Json& object, const std::string& where) {
  reader.only_keys(object, where, {"buffer", "bytes", "sha256", "origin"});
  RecordedInput input;
  input.buffer = reader.string(object, where, "buffer");
  input.bytes = reader.number(object, where, "bytes", uint64_t{1} << 40);
  input.sha256 = reader.digest(object, where, "sha256", false);
  input.origin = reader.string(object, where, "origin");
  return input;
}

void read_row_digests(Reader& reader, const Json& list, const std::string& where, RecordedOutput& output) {
  if (list.size() != output.rows)
    return reader.complain(where, fmt::format("{} digests, one a row", output.rows));
  output.row_digests.reserve(list.size());
  for (size_t i = 0; i < list.size(); ++i) {
    const std::string* text = list[i].get_ptr<const std::string*>();
    const auto bytes = text != nullptr && text->size() == 16 ? from_hex(*text) : std::nullopt;
    if (!bytes) return reader.complain(fmt::format("{}[{}]", where, i), "16 hex digits");
    uint64_t digest = 0;
    for (std::byte b : *bytes) digest = digest << 8 | std::to_integer<uint64_t>(b);
    output.row_digests.push_back(digest);
  }
}

void read_elements(Reader& reader, const Json& list, const std::string& where, RecordedOutput& output) {
  const uint64_t row_bytes = output.columns * element_bytes(output.type);
  if (!list.is_array() || list.size() != output.rows)
    return reader.complain(where, fmt::format("{} strings, one a row", output.rows));
  for (size_t i = 0; i < list.size(); ++i) {
    const std::string* text = list[i].get_ptr<const std::string*>();
    const auto bytes = text != nullptr && text->size() == 2 * row_bytes ? from_hex(*text) : std::nullopt;
    if (!bytes)
      return reader.complain(fmt::format("{}[{}]", where, i), fmt::format("{} hex digits", 2 * row_bytes));
    output.elements.insert(output.elements.end(), bytes->begin(), bytes->end());
  }
  const MatrixView view{output.type, output.rows, output.columns, output.columns, output.elements};
  if (matrix_sha256(view) != output.sha256)
    return reader.complain(where,
                           "elements that match the sha256 beside them (the record was damaged or edited)");
  if (row_digests(view) != output.row_digests)
    reader.complain(where,
                    "elements that match the row digests beside them (the record was damaged or edited)");
}

RecordedOutput read_output(Reader& reader, const Json& object, const std::string& where) {
  reader.only_keys(object, where, {"buffer", "type", "rows", "columns", "sha256", "row_digests", "elements"});
  RecordedOutput output;
  output.buffer = reader.string(object, where, "buffer");
  const std::string type = reader.string(object, where, "type");
  if (const auto known = element_from_name(type))
    output.type = *known;
  else
    reader.complain(Reader::child(where, "type"), "an element type (bf16, f16, f32, u32, ...)");
  output.rows = reader.number(object, where, "rows", uint64_t{1} << 32);
  output.columns = reader.number(object, where, "columns", uint64_t{1} << 32);
  output.sha256 = reader.digest(object, where, "sha256", false);
  if (!reader.error.empty()) return output;
  read_row_digests(reader, reader.array(object, where, "row_digests"), Reader::child(where, "row_digests"),
                   output);
  if (reader.error.empty() && object.contains("elements"))
    read_elements(reader, object["elements"], Reader::child(where, "elements"), output);
  return output;
}

void read_kernel(Reader& reader, const Json& kernel, Record& record) {
  reader.only_keys(kernel, "kernel", {"entry", "ptx", "ptx_sha256", "source", "source_sha256"});
  record.entry = reader.string(kernel, "kernel", "entry");
  record.ptx_file = reader.string(kernel, "kernel", "ptx");
  record.ptx_sha256 = reader.digest(kernel, "kernel", "ptx_sha256", false);
  record.source_file = reader.string(kernel, "kernel", "source");
  record.source_sha256 = reader.digest(kernel, "kernel", "source_sha256", true);
}

void read_gpu(Reader& reader, const Json& gpu, Record& record) {
  reader.only_keys(gpu, "gpu",
                   {"name", "compute_capability", "sms", "driver", "cuda_driver_api", "cuda_toolkit"});
  record.gpu = reader.string(gpu, "gpu", "name");
  record.compute_capability = reader.string(gpu, "gpu", "compute_capability");
  record.sms = static_cast<uint32_t>(reader.number(gpu, "gpu", "sms", 100'000));
  record.driver = reader.string(gpu, "gpu", "driver");
  record.cuda_driver_api = reader.string(gpu, "gpu", "cuda_driver_api");
  record.cuda_toolkit = reader.string(gpu, "gpu", "cuda_toolkit");
}

void read_run(Reader& reader, const Json& run, Record& record) {
  reader.only_keys(run, "run", {"date", "repetitions", "kernel_ms"});
  record.date = reader.string(run, "run", "date");
  record.repetitions = static_cast<uint32_t>(reader.number(run, "run", "repetitions", 1'000'000));
  record.kernel_ms = reader.real(run, "run", "kernel_ms");
}

void read_vars(Reader& reader, const Json& vars, Record& record) {
  if (!vars.is_object()) return reader.complain("vars", "an object");
  for (const auto& item : vars.items()) {
    const bool fits =
        item.value().is_number_integer() &&
        !(item.value().is_number_unsigned() && item.value().get<uint64_t>() > uint64_t{INT64_MAX});
    if (!fits) return reader.complain("vars." + item.key().substr(0, 40), "a whole number of 64 bits");
    record.vars[item.key()] = item.value().get<int64_t>();
  }
}

/// Line and column of a byte offset.
Error error_at(const std::string& text, const std::string& path, size_t offset, std::string message) {
  const std::string_view before = std::string_view(text).substr(0, std::min(offset, text.size()));
  const size_t last_break = before.rfind('\n');
  const size_t column = last_break == std::string_view::npos ? before.size() + 1 : before.size() - last_break;
  return Error{path, static_cast<unsigned>(1 + std::count(before.begin(), before.end(), '\n')),
               static_cast<unsigned>(column), std::move(message)};
}

}  // namespace

Result<Record> parse_record(const std::string& text, const std::string& path) {
  Json document;
  try {  // the library reports bad JSON by throwing; this is the edge where that becomes a value
    document = Json::parse(text);
  } catch (const Json::parse_error& e) {
    const bool cut_off = e.byte > text.size();
    return tl::unexpected(error_at(text, path, e.byte == 0 ? 0 : e.byte - 1,
                                   cut_off ? "not a golden record: the file ends in the middle (truncated?)"
                                           : "not a golden record: JSON syntax error here"));
  } catch (const Json::exception& e) {
    return fail(path, 0, 0, fmt::format("not a golden record: {}", e.what()));
  }
  Reader reader(path);
  if (!document.is_object() || !document.contains("turnstile_golden")) {
    reader.complain("", "an object with a key \"turnstile_golden\" (the version of the format)");
    return reader.failure();
  }
  if (reader.number(document, "", "turnstile_golden", 1'000'000) != format_version) {
    reader.complain("turnstile_golden",
                    fmt::format("{}, the only version that this turnstile reads", format_version));
    return reader.failure();
  }
  reader.only_keys(
      document, "",
      {"turnstile_golden", "launch", "case", "vars", "kernel", "inputs", "gpu", "run", "outputs"});
  Record record;
  record.launch_file = reader.string(document, "", "launch");
  record.case_name = reader.string(document, "", "case");
  read_vars(reader, reader.member(document, "", "vars"), record);
  read_kernel(reader, reader.member(document, "", "kernel"), record);
  read_gpu(reader, reader.member(document, "", "gpu"), record);
  read_run(reader, reader.member(document, "", "run"), record);
  const Json& inputs = reader.array(document, "", "inputs");
  for (size_t i = 0; i < inputs.size() && reader.error.empty(); ++i)
    record.inputs.push_back(read_input(reader, inputs[i], fmt::format("inputs[{}]", i)));
  const Json& outputs = reader.array(document, "", "outputs");
  for (size_t i = 0; i < outputs.size() && reader.error.empty(); ++i)
    record.outputs.push_back(read_output(reader, outputs[i], fmt::format("outputs[{}]", i)));
  if (outputs.empty()) reader.complain("outputs", "at least one output");
  if (!reader.error.empty()) return reader.failure();
  return record;
}

std::string format_record(const Record& record) {
  Json document;
  document["turnstile_golden"] = format_version;
  document["launch"] = record.launch_file;
  document["case"] = record.case_name;
  document["vars"] = Json::object();
  for (const auto& [name, value] : record.vars) document["vars"][name] = value;
  document["kernel"] = {{"entry", record.entry},
                        {"ptx", record.ptx_file},
                        {"ptx_sha256", record.ptx_sha256},
                        {"source", record.source_file},
                        {"source_sha256", record.source_sha256}};
  document["inputs"] = Json::array();
  for (const RecordedInput& input : record.inputs)
    document["inputs"].push_back({{"buffer", input.buffer},
                                  {"bytes", input.bytes},
                                  {"sha256", input.sha256},
                                  {"origin", input.origin}});
  document["gpu"] = {{"name", record.gpu},
                     {"compute_capability", record.compute_capability},
                     {"sms", record.sms},
                     {"driver", record.driver},
                     {"cuda_driver_api", record.cuda_driver_api},
                     {"cuda_toolkit", record.cuda_toolkit}};
  document["run"] = {
      {"date", record.date}, {"repetitions", record.repetitions}, {"kernel_ms", record.kernel_ms}};
  document["outputs"] = Json::array();
  for (const RecordedOutput& output : record.outputs) {
    Json json = {{"buffer", output.buffer},
                 {"type", element_name(output.type)},
                 {"rows", output.rows},
                 {"columns", output.columns},
                 {"sha256", output.sha256}};
    Json& digests = json["row_digests"] = Json::array();
    for (uint64_t digest : output.row_digests) digests.push_back(fmt::format("{:016x}", digest));
    if (!output.elements.empty()) {
      const MatrixView view{output.type, output.rows, output.columns, output.columns, output.elements};
      Json& rows = json["elements"] = Json::array();
      for (uint64_t r = 0; r < view.rows; ++r) rows.push_back(to_hex(view.row(r)));
    }
    document["outputs"].push_back(std::move(json));
  }
  // Names come from files of the user and need not be UTF-8: replace rather than throw.
  return document.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace turnstile::golden
