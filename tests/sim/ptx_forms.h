// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

/// The forms of tests/ptx_forms: one small kernel for each instruction form that the surveys counted. Its
/// README says how the files are written.
namespace turnstile::test {

struct FormCase {
  std::string place;              ///< file:line
  std::string form;               ///< "add.s32"
  std::string target = "sm_90a";  ///< the least that has it
  unsigned threads = 32, cluster = 1, grid = 1;
  bool flat = false;     ///< the box of the map of rank 2 has one row
  bool wide = false;     ///< each thread leaves 8 bytes in `out`, not 4
  std::string body;      ///< all names replaced
  std::string expected;  ///< "runs", "fault RULE", or "lane*A+B": the word that each lane leaves in `out`
  std::string operands;  ///< arithmetic only: a letter each, destination first
};

/// What became of the kernel of a case.
struct FormOutcome {
  std::string problem;  ///< empty: it ran to its end
  std::string fault_rule = {};
  std::vector<uint64_t> out = {};  ///< as 64-bit words
  bool predicted = true;
  bool has_model = true;  ///< what the form itself gives is computed
};
FormOutcome run_form(const FormCase& c);

/// The rows of tests/model/data/ptx_forms*.tsv.
std::set<std::string> counted_forms();

/// All cases, of all files.
std::vector<FormCase> read_form_cases();

/// The kernel of a case, under this name, without the header of the file; what comes before the first kernel.
std::string form_kernel(const FormCase& c, const std::string& name);
/// The inputs of an arithmetic form, 32 for each of its sources.
std::string form_words(const FormCase& c);
std::string form_module(const std::string& target);
std::string form_launch(const FormCase& c);

/// Of an instruction with .cc: combined by xor with its result where the carry flag is set.
inline constexpr uint64_t form_carry = 0x1e3779b97f4a7c15;

/// Operand `i` of an arithmetic form in a lane: values at the edges of its type.
uint64_t form_input(const FormCase& c, size_t i, unsigned lane);

/// What an arithmetic form has to give, computed by other means than the simulator's.
struct FormResult {
  enum class Kind : uint8_t { exact, nan, close, unknown } kind = Kind::exact;
  uint64_t bits = 0;   ///< exact
  double value = 0.0;  ///< close: an approximation of f32 that lies within `within` of it, relatively
  double within = 0x1p-20;
};
FormResult form_reference(const FormCase& c, const std::vector<uint64_t>& inputs);

}  // namespace turnstile::test
