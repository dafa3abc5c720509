// SPDX-License-Identifier: Apache-2.0
#include "golden/numerics/sweeps.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <sstream>
#include <utility>

#include "golden/numerics/operands.h"
#include "model/ptx/program.h"

namespace turnstile {

namespace {

constexpr size_t kMostForms = 4096;
constexpr std::string_view kSweptTypes[] = {"f64",    "f32",    "tf32", "f16", "bf16", "f16x2", "bf16x2",
                                            "e4m3x2", "e5m2x2", "s8",   "u8",  "s16",  "u16",   "s32",
                                            "u32",    "s64",    "u64",  "b32", "b64"};

std::vector<std::string> words_of(std::string_view mnemonic) {
  std::vector<std::string> words;
  while (!mnemonic.empty()) {
    const size_t end = std::min(mnemonic.find('.'), mnemonic.size());
    words.emplace_back(mnemonic.substr(0, end));
    mnemonic.remove_prefix(std::min(end + 1, mnemonic.size()));
  }
  return words;
}

/// The last type of a mnemonic is that of its operands.
std::string source_type(std::string_view mnemonic) {
  std::string found;
  for (const std::string& word : words_of(mnemonic))
    if (std::ranges::find(kSweptTypes, word) != std::end(kSweptTypes)) found = word;
  return found;
}

bool packed_pair(std::string_view type) { return type == "f16x2" || type == "bf16x2"; }

unsigned register_bits(std::string_view type) {
  if (packed_pair(type)) return 32;
  if (type.ends_with("x2")) return 16;
  if (type.ends_with("64")) return 64;
  return type.ends_with("16") ? 16 : 32;
}

bool on_memory(std::string_view domain) {
  return domain == "global" || domain == "shared" || domain == "bulk";
}

ptx::Instruction instruction_of(std::string_view mnemonic, unsigned sources) {
  ptx::Instruction instruction;
  instruction.mnemonic = mnemonic;
  instruction.modifiers = words_of(mnemonic);
  instruction.operands.resize(1 + sources);
  for (ptx::Operand& operand : instruction.operands) operand.kind = ptx::OperandKind::reg;
  return instruction;
}

std::optional<uint64_t> hexadecimal(std::string_view text) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

Result<std::vector<SweepRecord>> read_sweeps(const std::string& path) {
  std::ifstream file(path);
  if (!file) return fail(path, 0, 0, "cannot be read");
  std::vector<SweepRecord> records;
  unsigned number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    if (line.empty() || line[0] == '#') continue;
    std::istringstream words(line);
    SweepRecord record;
    size_t blocks = 0;
    std::string weighted;
    words >> record.domain >> record.mnemonic >> record.operands >> record.log2 >> blocks >> record.digits >>
        weighted;
    const auto total = hexadecimal(weighted);
    const bool sizes = record.operands >= 1 && record.operands <= 3 && record.log2 <= 32 && blocks >= 1 &&
                       blocks <= 4096 && (record.digits == 8 || record.digits == 16);
    if (!words || !total || !sizes || records.size() == kMostForms)
      return fail(path, number, 0, "not a line 'DOMAIN MNEMONIC OPERANDS LOG2 BLOCKS DIGITS TOTAL SUM...'");
    record.weighted = *total;
    for (std::string word; record.sums.size() < blocks && words >> word;) {
      const auto sum = hexadecimal(word);
      if (!sum || word.size() != record.digits) return fail(path, number, 0, "'" + word + "' is no checksum");
      record.sums.push_back(*sum);
    }
    if (record.sums.size() != blocks) return fail(path, number, 0, "fewer checksums than the line says");
    records.push_back(std::move(record));
  }
  return records;
}

std::optional<SweepModel> SweepModel::of(const SweepRecord& record, std::string& why) {
  SweepModel model;
  model.domain_ = record.domain;
  model.source_ = source_type(record.mnemonic);
  model.packed_ = packed_pair(model.source_);
  model.operands_ = record.operands;
  if (on_memory(record.domain)) {
    const std::vector<std::string> words = words_of(record.mnemonic);
    sim::Reduction reduction;
    for (const std::string& word : words)
      if (sim::reduction_kind(word) != sim::Reduction::Kind::none) reduction.kind = sim::reduction_kind(word);
    const std::string element =
        model.packed_ ? model.source_.substr(0, model.source_.size() - 2) : model.source_;
    const auto type = element_from_name(element);
    if (!type || reduction.kind == sim::Reduction::Kind::none) {
      why = record.mnemonic + ": no reduction known";
      return std::nullopt;
    }
    reduction.type = *type;
    if (!sim::reduction_is_defined(reduction)) {
      why = record.mnemonic + ": not a reduction that the simulator has";
      return std::nullopt;
    }
    if (model.packed_ && record.domain == "shared") {
      why = record.mnemonic + ": ptxas 13.0 has code for this that adds the low element only";
      return std::nullopt;
    }
    model.lanes_ = model.packed_ ? 2 : 1;
    model.reduction_ = reduction;
    return model;
  }
  const ptx::Instruction instruction = instruction_of(record.mnemonic, record.operands);
  if (sim::find_pure(instruction, model.op_, why) != sim::PureLookup::found) return std::nullopt;
  if (model.op_.run == nullptr) {
    why = record.mnemonic + ": no exact model";
    return std::nullopt;
  }
  // The probe has results of 8 bits in a register of 32.
  if (model.op_.result_bits == 8 && model.op_.result_is_signed) model.extended_ = 8;
  return model;
}

uint64_t SweepModel::operand(unsigned position, uint64_t index) const {
  const auto word = static_cast<uint32_t>(index);
  if (domain_ == "all32") return position == 0 ? word : numeric_probe::companion32(word);
  if (domain_ == "high32") return uint64_t{word} << 32 | numeric_probe::companion32(word);
  if (domain_ == "all16") return packed_ ? word | numeric_probe::companion16(word) << 16 : word;
  const uint64_t bits = numeric_probe::register_operand(source_, position, index);
  return register_bits(source_) == 64 ? bits : bits & ((uint64_t{1} << register_bits(source_)) - 1);
}

uint64_t SweepModel::result(uint64_t index) const {
  if (reduction_) {
    const uint64_t old = operand(0, index), value = operand(1, index);
    const unsigned bits = register_bits(source_) / lanes_;
    const uint64_t mask = bits == 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
    uint64_t word = 0;
    for (unsigned lane = 0; lane < lanes_; ++lane) {
      const uint64_t a = old >> (lane * bits) & mask, b = value >> (lane * bits) & mask;
      const uint64_t sum = domain_ == "bulk" ? sim::reduce_word(*reduction_, a, b)
                                             : sim::reduce_atomically(*reduction_, domain_ == "shared", a, b);
      word |= (sum & mask) << (lane * bits);
    }
    return word;
  }
  uint64_t in[3] = {};
  for (unsigned k = 0; k < operands_; ++k) in[k] = operand(k, index);
  const uint64_t word = op_.run(op_.config, in);
  return extended_ == 8 ? static_cast<uint32_t>(static_cast<int8_t>(word)) : word;
}

SweepSums sweep_block(const SweepModel& model, unsigned log2, uint64_t block) {
  SweepSums sums;
  const uint64_t first = block << log2, end = (block + 1) << log2;
  for (uint64_t i = first; i < end; ++i) {
    const uint64_t word = model.result(i);
    sums.mixed += numeric_probe::checksum_term(word, i);
    sums.weighted += numeric_probe::weighted_term(word, i);
  }
  return sums;
}

bool agrees(const SweepRecord& record, uint64_t block, uint64_t mixed) {
  const uint64_t sum = record.digits == 16 ? mixed : (mixed ^ mixed >> 32) & 0xffffffffu;
  return record.sums.at(block) == sum;
}

}  // namespace turnstile
