// SPDX-License-Identifier: Apache-2.0
#include "golden/numerics/matrix_sums.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <fstream>
#include <span>
#include <sstream>
#include <utility>

#include "golden/numerics/matrix_operands.h"
#include "model/launch/generate.h"
#include "sim/numerics/fp8_emulation.h"
#include "sim/numerics/tensor_core.h"

namespace turnstile {

namespace {

constexpr size_t kMostMatrixForms = 4096;

/// Operands of one tile: `lines` rows of A or columns of B.
std::vector<uint64_t> operand_words(const MatrixRecord& record, const numeric_probe::MatrixForm& form,
                                    std::string_view role, unsigned tile) {
  const unsigned lines = role == "a" ? record.m : record.n;
  const std::string_view type = role == "a" ? form.a : form.b;
  const bool negated = record.flag(role == "a" ? "neg_a" : "neg_b");
  const int width = type == "tf32" ? 32 : numeric_probe::format_of(type).width();
  std::vector<uint64_t> words(size_t{lines} * record.k);
  for (unsigned line = 0; line < lines; ++line)
    for (unsigned k = 0; k < record.k; ++k) {
      uint64_t word = numeric_probe::matrix_operand(form, role, tile, line, k);
      if (negated) word ^= uint64_t{1} << (width - 1);
      words[size_t{line} * record.k + k] = word;
    }
  return words;
}

int32_t extended(std::string_view type, uint64_t word) {
  const auto unused = static_cast<unsigned>(32 - numeric_probe::integer_bits(type));
  const auto value = static_cast<uint32_t>(word);
  if (type[0] != 's') return static_cast<int32_t>(value);
  return static_cast<int32_t>(value << unused) >> unused;
}

uint64_t integer_element(const MatrixRecord& record, std::span<const uint64_t> a, std::span<const uint64_t> b,
                         uint64_t c) {
  const bool one_bit = record.a == "b1", exclusive = record.flag("xor");
  std::vector<int32_t> x(a.size()), y(b.size());
  for (size_t k = 0; k < a.size(); ++k) {
    // A product of bits is their and; their xor is the product of it with one.
    x[k] = one_bit && exclusive ? static_cast<int32_t>(a[k] ^ b[k]) : extended(record.a, a[k]);
    y[k] = one_bit && exclusive ? 1 : extended(record.b, b[k]);
  }
  return static_cast<uint32_t>(
      integer_dot_add(x, y, static_cast<int32_t>(static_cast<uint32_t>(c)), record.flag("satfinite")));
}

/// One output element; nothing where there is no row for the instruction.
class ElementModel {
 public:
  explicit ElementModel(const MatrixRecord& record) : record_(record) {
    integer_ = record.c == "s32";
    double_ = record.c == "f64";
    if (integer_ || double_) return;
    const auto a = element_from_name(record.a), b = element_from_name(record.b),
               c = element_from_name(record.c);
    if (!a || !b || !c) return;
    a_ = *a, b_ = *b, c_ = *c;
    emulated_ = record.kind == "mma" && numeric_probe::format_of(record.a).width() == 8;
    const auto unit = record.kind == "mma" ? TensorCoreUnit::hopper_mma : TensorCoreUnit::hopper_wgmma;
    row_ = find_tensor_core_row(unit, a_, b_, c_);
  }

  bool known() const { return integer_ || double_ || emulated_ || row_ != nullptr; }

  uint64_t operator()(std::span<const uint64_t> a, std::span<const uint64_t> b, uint64_t c) const {
    if (integer_) return integer_element(record_, a, b, c);
    if (double_) return f64_dot_add(a, b, c);
    std::vector<uint32_t> x(a.begin(), a.end()), y(b.begin(), b.end());
    if (emulated_) return fp8_as_f16_dot_add(a_, b_, c_, x, y, static_cast<uint32_t>(c));
    return fused_dot_add(*row_, std::span<const uint32_t>(x), std::span<const uint32_t>(y),
                         static_cast<uint32_t>(c));
  }

 private:
  const MatrixRecord& record_;
  const TensorCoreRow* row_ = nullptr;
  ElementType a_{}, b_{}, c_{};
  bool integer_ = false, double_ = false, emulated_ = false;
};

}  // namespace

bool MatrixRecord::flag(std::string_view name) const { return std::ranges::find(flags, name) != flags.end(); }

std::string MatrixRecord::name() const {
  std::ostringstream text;
  text << kind << " m" << m << 'n' << n << 'k' << k << ' ' << a << ' ' << b << ' ' << c;
  const char* before = " (";
  for (const std::string& word : flags) text << std::exchange(before, " ") << word;
  if (!flags.empty()) text << ')';
  return text.str();
}

Result<std::vector<MatrixRecord>> read_matrix_sums(const std::string& path) {
  std::ifstream file(path);
  if (!file) return fail(path, 0, 0, "cannot be read");
  std::vector<MatrixRecord> records;
  unsigned number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    if (line.empty() || line[0] == '#') continue;
    std::istringstream words(line);
    MatrixRecord record;
    std::string flags;
    size_t tiles = 0;
    words >> record.kind >> record.m >> record.n >> record.k >> record.a >> record.b >> record.c >> flags >>
        tiles;
    const auto within = [](unsigned size) { return size >= 1 && size <= 256; };
    const bool kind = record.kind == "mma" || record.kind == "wgmma";
    if (!words || !kind || !within(record.m) || !within(record.n) || !within(record.k) || tiles < 1 ||
        tiles > 4096 || records.size() == kMostMatrixForms)
      return fail(path, number, 0, "not a line 'KIND M N K A B C FLAGS TILES SUM...'");
    std::istringstream names(flags == "-" ? "" : flags);
    for (std::string name; std::getline(names, name, ',');) record.flags.push_back(name);
    for (std::string word; record.sums.size() < tiles && words >> word;) {
      uint32_t sum = 0;
      const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), sum, 16);
      if (error != std::errc{} || end != word.data() + word.size())
        return fail(path, number, 0, "'" + word + "' is no checksum");
      record.sums.push_back(sum);
    }
    if (record.sums.size() != tiles) return fail(path, number, 0, "fewer checksums than the line says");
    records.push_back(std::move(record));
  }
  return records;
}

std::optional<std::vector<uint64_t>> predicted_tile(const MatrixRecord& record, unsigned tile) {
  const ElementModel model(record);
  if (!model.known()) return std::nullopt;
  const numeric_probe::MatrixForm form{record.m, record.n, record.k, record.a, record.b, record.c};
  const std::vector<uint64_t> a = operand_words(record, form, "a", tile),
                              b = operand_words(record, form, "b", tile);
  std::vector<uint64_t> d(size_t{record.m} * record.n);
  for (unsigned row = 0; row < record.m; ++row)
    for (unsigned column = 0; column < record.n; ++column) {
      const uint64_t c = record.flag("no_c") ? 0 : numeric_probe::matrix_accumulator(form, tile, row, column);
      d[size_t{row} * record.n + column] =
          model(std::span(a).subspan(size_t{row} * record.k, record.k),
                std::span(b).subspan(size_t{column} * record.k, record.k), c);
    }
  return d;
}

uint32_t tile_sum(const std::vector<uint64_t>& words) {
  uint64_t sum = 0;
  for (size_t i = 0; i < words.size(); ++i) sum += numeric_probe::checksum_term(words[i], i);
  return static_cast<uint32_t>(sum ^ sum >> 32);
}

}  // namespace turnstile
