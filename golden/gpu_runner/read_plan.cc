// SPDX-License-Identifier: Apache-2.0
#include "golden/gpu_runner/read_plan.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <optional>
#include <system_error>

namespace turnstile {
namespace {

constexpr uint64_t kPlanLimit = 1 << 20, kBufferLimit = uint64_t{64} << 30;
constexpr size_t kMaxBuffers = 256, kMaxTensorMaps = 64, kMaxParameters = 256, kMaxName = 64;

// The position of a word in a list is the value of the driver's enumeration (cuda.h, CUtensorMap*).
constexpr std::string_view kTypes[] = {"u8",  "u16", "u32", "s32",  "u64",     "s64",
                                       "f16", "f32", "f64", "bf16", "f32_ftz", "tf32"};
constexpr std::string_view kInterleaves[] = {"none", "16B", "32B"};
constexpr std::string_view kSwizzles[] = {"none", "32B", "64B", "128B"};
constexpr std::string_view kPromotions[] = {"none", "64B", "128B", "256B"};
constexpr std::string_view kFills[] = {"zero", "nan"};

/// The words of one line; nothing when a quote is not closed or an escape is unknown.
std::optional<std::vector<std::string>> split(std::string_view line) {
  std::vector<std::string> words;
  size_t i = 0;
  while (true) {
    while (i < line.size() && (line[i] == ' ' || line[i] == '\t' || line[i] == '\r')) ++i;
    if (i == line.size()) return words;
    std::string word;
    if (line[i] == '"') {
      for (++i; i < line.size() && line[i] != '"'; ++i) {
        if (line[i] == '\\' && (++i == line.size() || (line[i] != '"' && line[i] != '\\')))
          return std::nullopt;
        word += line[i];
      }
      if (i == line.size()) return std::nullopt;
      ++i;
    } else {
      for (; i < line.size() && line[i] != ' ' && line[i] != '\t' && line[i] != '\r'; ++i) word += line[i];
    }
    words.push_back(std::move(word));
  }
}

/// Takes the words of one statement from left to right. The first thing that is wrong is kept; later reads
/// give zero values.
class Words {
 public:
  explicit Words(std::vector<std::string> words) : words_(std::move(words)) {}

  std::string text(const char* what) {
    if (next_ == words_.size()) {
      fail(std::string("lacks ") + what);
      return {};
    }
    return words_[next_++];
  }
  std::string name() {
    std::string word = text("a name");
    if (word.empty() || word.size() > kMaxName) fail("a name has 1 to 64 bytes");
    return word;
  }
  uint64_t number(const char* what, uint64_t low, uint64_t high) {
    const std::string word = text(what);
    const bool hex = word.starts_with("0x");
    uint64_t value = 0;
    const char* begin = word.data() + (hex ? 2 : 0);
    const char* end = word.data() + word.size();
    const auto [stop, error] = std::from_chars(begin, end, value, hex ? 16 : 10);
    if (error != std::errc{} || stop != end || value < low || value > high) {
      fail(std::string(what) + " must be a number from " + std::to_string(low) + " to " +
           std::to_string(high) + ", not '" + word + "'");
      return low;
    }
    return value;
  }
  uint32_t number32(const char* what, uint32_t low, uint32_t high = UINT32_MAX) {
    return static_cast<uint32_t>(number(what, low, high));
  }
  uint32_t one_of(const char* what, std::span<const std::string_view> list) {
    const std::string word = text(what);
    const auto found = std::ranges::find(list, word);
    if (found == list.end()) {
      fail(std::string("unknown ") + what + " '" + word + "'");
      return 0;
    }
    return static_cast<uint32_t>(found - list.begin());
  }
  void keyword(std::string_view word) {
    if (text("a keyword") != word) fail("expects the word '" + std::string(word) + "'");
  }
  template <typename List>
  size_t index_in(const char* what, const List& list) {
    const std::string word = name();
    for (size_t i = 0; i < list.size(); ++i) {
      if (list[i].name == word) return i;
    }
    fail(std::string("no ") + what + " is called '" + word + "' above");
    return 0;
  }
  void fail(std::string reason) {
    if (error_.empty()) error_ = std::move(reason);
  }
  bool done() {
    if (next_ < words_.size()) fail("has a word too many: '" + words_[next_] + "'");
    return error_.empty();
  }
  bool good() const { return error_.empty(); }
  const std::string& error() const { return error_; }

 private:
  std::vector<std::string> words_;
  size_t next_ = 0;
  std::string error_;
};

struct Reader {
  Plan plan;
  std::filesystem::path folder;
  uint64_t total_bytes = 0;

  std::filesystem::path path(Words& words) {
    const std::string word = words.text("a path");
    return word.empty() ? std::filesystem::path() : folder / word;
  }

  void buffer(Words& words) {
    Plan::Buffer b;
    b.name = words.name();
    b.bytes = words.number("the size of a buffer", 1, kBufferLimit - total_bytes);
    total_bytes += b.bytes;
    const std::string fill = words.text("zero, poison, file or generate");
    if (fill == "zero") {
      b.fill = Plan::Fill::zero;
    } else if (fill == "poison") {
      b.fill = Plan::Fill::poison;
    } else if (fill == "file") {
      b.fill = Plan::Fill::file;
      b.file = path(words);
    } else if (fill == "generate") {
      generated(words, b);
    } else {
      words.fail("cannot be filled by '" + fill + "'");
    }
    if (std::ranges::any_of(plan.buffers, [&](const auto& other) { return other.name == b.name; })) {
      words.fail("names a buffer that exists: '" + b.name + "'");
    }
    if (plan.buffers.size() == kMaxBuffers) words.fail("is one buffer too many");
    plan.buffers.push_back(std::move(b));
  }

  static void generated(Words& words, Plan::Buffer& b) {
    b.fill = Plan::Fill::generate;
    const std::string family = words.text("a family"), type = words.text("an element type");
    if (const auto known = family_from_name(family))
      b.family = *known;
    else
      words.fail("unknown family '" + family + "'");
    if (const auto known = element_from_name(type))
      b.type = *known;
    else
      words.fail("unknown element type '" + type + "'");
    b.seed = words.number("the seed", 0, UINT64_MAX);
    b.stream = words.number("the stream", 0, UINT64_MAX);
    b.rows = words.number("rows", 1, b.bytes);
    b.columns = words.number("columns", 1, b.bytes);
    b.pitch = words.number("the row pitch", b.columns, b.bytes);
    if (words.good() && b.pitch > b.bytes / element_bytes(b.type) / b.rows)
      words.fail("needs more bytes than the buffer has");
  }

  void tensor_map(Words& words) {
    Plan::TensorMap t;
    t.name = words.name();
    t.buffer = words.index_in("buffer", plan.buffers);
    t.offset = words.number("the offset", 0, plan.buffers.empty() ? 0 : plan.buffers[t.buffer].bytes);
    t.type = words.one_of("element type", kTypes);
    const uint32_t rank = words.number32("the rank", 1, 5);
    words.keyword("dims");
    for (uint32_t i = 0; i < rank; ++i) t.dims.push_back(words.number("a dimension", 1, uint64_t{1} << 32));
    words.keyword("strides");
    for (uint32_t i = 1; i < rank; ++i) t.strides.push_back(words.number("a stride", 0, uint64_t{1} << 40));
    words.keyword("box");
    for (uint32_t i = 0; i < rank; ++i) t.box.push_back(words.number32("a box dimension", 1, 256));
    words.keyword("element_strides");
    for (uint32_t i = 0; i < rank; ++i)
      t.element_strides.push_back(words.number32("an element stride", 1, 8));
    t.interleave = words.one_of("interleave", kInterleaves);
    t.swizzle = words.one_of("swizzle", kSwizzles);
    t.l2_promotion = words.one_of("L2 promotion", kPromotions);
    t.fill = words.one_of("fill", kFills);
    if (std::ranges::any_of(plan.tensor_maps, [&](const auto& other) { return other.name == t.name; })) {
      words.fail("names a tensor map that exists: '" + t.name + "'");
    }
    if (plan.tensor_maps.size() == kMaxTensorMaps) words.fail("is one tensor map too many");
    plan.tensor_maps.push_back(std::move(t));
  }

  void parameter(Words& words) {
    Plan::Parameter p;
    const std::string kind = words.text("buffer, tensormap, u32, u64 or f32");
    if (kind == "buffer") {
      p.kind = Plan::Parameter::Kind::buffer;
      p.index = words.index_in("buffer", plan.buffers);
      p.value = words.number("the offset", 0, plan.buffers.empty() ? 0 : plan.buffers[p.index].bytes);
    } else if (kind == "tensormap") {
      p.kind = Plan::Parameter::Kind::tensor_map;
      p.index = words.index_in("tensor map", plan.tensor_maps);
    } else if (kind == "u32" || kind == "f32") {
      p.value = words.number("the value", 0, UINT32_MAX);
    } else if (kind == "u64") {
      p.kind = Plan::Parameter::Kind::u64;
      p.value = words.number("the value", 0, UINT64_MAX);
    } else {
      words.fail("unknown kind of parameter '" + kind + "'");
    }
    if (plan.parameters.size() == kMaxParameters) words.fail("is one parameter too many");
    plan.parameters.push_back(p);
  }

  void output(Words& words) {
    Plan::Output o;
    o.buffer = words.index_in("buffer", plan.buffers);
    o.file = words.text("a file name");
    if (o.file.empty() || o.file.find('/') != std::string::npos || o.file.starts_with(".") ||
        o.file == "info.txt") {
      words.fail("needs a bare file name other than info.txt, not '" + o.file + "'");
    }
    const auto same = [&](const Plan::Output& other) {
      return other.file == o.file || other.buffer == o.buffer;
    };
    if (std::ranges::any_of(plan.outputs, same))
      words.fail("repeats a buffer or file that another output has");
    plan.outputs.push_back(std::move(o));
  }

  void dim3(Words& words, std::array<uint32_t, 3>& to) {
    for (uint32_t& d : to) d = words.number32("a dimension", 1);
  }

  void statement(const std::string& verb, Words& words) {
    if (verb == "ptx")
      plan.module = path(words);
    else if (verb == "entry")
      plan.entry = words.text("the entry's name");
    else if (verb == "grid")
      dim3(words, plan.grid);
    else if (verb == "block")
      dim3(words, plan.block);
    else if (verb == "cluster")
      dim3(words, plan.cluster);
    else if (verb == "shared")
      plan.dynamic_shared = words.number32("bytes", 0, 1 << 20);
    else if (verb == "repeat")
      plan.repeat = words.number32("the number of runs", 1, 1000);
    else if (verb == "buffer")
      buffer(words);
    else if (verb == "tensormap")
      tensor_map(words);
    else if (verb == "param")
      parameter(words);
    else if (verb == "output")
      output(words);
    else
      words.fail("is no statement of a plan");
  }

  std::string missing() const {
    if (plan.module.empty()) return "ptx";
    if (plan.entry.empty()) return "entry";
    if (plan.grid[0] == 0) return "grid";
    if (plan.block[0] == 0) return "block";
    return {};
  }
};

}  // namespace

RunnerResult<std::string> read_file(const std::filesystem::path& path, uint64_t limit) {
  std::error_code error;
  const uint64_t size = std::filesystem::file_size(path, error);
  if (error) return usage_error(path.string() + ": " + error.message());
  if (size > limit) return usage_error(path.string() + ": longer than " + std::to_string(limit) + " bytes");
  std::string text(size, '\0');
  std::ifstream in(path, std::ios::binary);
  if (!in.read(text.data(), static_cast<std::streamsize>(size)))
    return usage_error(path.string() + ": cannot be read");
  return text;
}

RunnerResult<Plan> parse_plan(std::string_view text, const std::filesystem::path& path) {
  Reader reader;
  reader.folder = path.parent_path();
  bool first = true;
  for (size_t line = 1; !text.empty(); ++line) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view statement = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::string where = path.string() + ":" + std::to_string(line) + ": ";
    if (first) {
      if (statement != "turnstile-plan 1")
        return usage_error(where + "the first line must be 'turnstile-plan 1'");
      first = false;
      continue;
    }
    if (statement.starts_with("#")) continue;
    auto split_words = split(statement);
    if (!split_words)
      return usage_error(where + "a quote is not closed, or an escape is neither \\\" nor \\\\");
    if (split_words->empty()) continue;
    const std::string verb = split_words->front();
    split_words->erase(split_words->begin());
    Words words(std::move(*split_words));
    reader.statement(verb, words);
    if (!words.done()) return usage_error(where + "'" + verb + "' " + words.error());
  }
  if (first) return usage_error(path.string() + ": empty plan");
  if (const std::string missing = reader.missing(); !missing.empty()) {
    return usage_error(path.string() + ": the statement '" + missing + "' is missing");
  }
  return std::move(reader.plan);
}

RunnerResult<Plan> read_plan(const std::filesystem::path& path) {
  auto text = read_file(path, kPlanLimit);
  if (auto* error = std::get_if<RunnerError>(&text)) return std::move(*error);
  return parse_plan(std::get<std::string>(text), path);
}

}  // namespace turnstile
