// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "model/mimw/syntax.h"
#include "model/orchestration.h"
#include "model/result.h"

namespace turnstile {

/// The .mimw text language (docs/mimw.md; its sketches: orchestration_bugs.md section 2): write an
/// orchestration down before the kernel exists.
///
/// A text holds several *variants* of one program (lines marked `[bug]`, `[fix]`) and *parameters* with lists
/// of values. Choosing a variant and values makes an Orchestration of it.

/// A text that was read without error.
struct MimwProgram {
  std::string file;  ///< as given by the user
  std::string name;  ///< from its first line, or the name of the file without `.mimw`
  mimw::SyntaxTree tree;
};

/// Most bytes of a text, and how deep its blocks, and the parts of an expression, may nest.
inline constexpr size_t mimw_max_text = size_t{1} << 20;
inline constexpr unsigned mimw_max_depth = 64;

/// Reads a text. An error says where, what was read and what was expected.
Result<MimwProgram> parse_mimw(std::string_view text, std::string file);

/// All variants in the order in which the text first names them (verdict lines, then marks); a text that
/// names none has the one variant "ok".
std::vector<std::string> variants(const MimwProgram& program);

/// Variant of this name: rule PX2 (`fence-war`) is switched off (orchestration_bugs.md 2.1).
inline constexpr std::string_view mimw_lenient_variant = "lenient";

struct MimwParameter {
  std::string name;
  std::vector<int64_t> values;  ///< at least one; the first is the default
  unsigned line = 0;
};

/// The `param` lines of a variant, in order. Values may depend on constants, but not on other parameters'
/// chosen values: those count with their defaults.
Result<std::vector<MimwParameter>> parameters(const MimwProgram& program, std::string_view variant);

/// The top-level numbers of a variant (parameters and `let` constants, lists left out) by name, where
/// `values` replaces some as in unroll().
Result<std::map<std::string, int64_t>> constants(const MimwProgram& program, std::string_view variant,
                                                 const std::map<std::string, int64_t>& values = {});

/// What a checker must report of one variant: at least these findings; none of them and nothing else if the
/// list is empty (`safe`).
struct MimwExpectation {
  struct Finding {
    std::string verdict_class;  ///< orchestration_bugs.md 2.3, for example "mbar-underflow"
    /// Objects as the text names them: "buf", "buf[1]", "@0.e", "id5"; "buf" stands for every buf[i]. A
    /// finding must concern one of them. Empty: not said.
    std::vector<std::string> subjects;
  };
  std::string variant;
  std::vector<Finding> findings;
  bool derived = false;  ///< `[derived]`: by reasoning only (orchestration_bugs.md 2.4)
  unsigned line = 0;
};

/// One for each variant of each verdict line.
std::vector<MimwExpectation> expectations(const MimwProgram& program);

/// Bounds of one unrolling; whatever exceeds them is an error at the line that did.
struct MimwLimits {
  uint64_t events = 4'000'000;  ///< of strands and operations together
  uint64_t steps = 32'000'000;  ///< statements executed, whether they make events or not
};

/// The orchestration of one variant. `values` replaces the default of parameters and the value of top-level
/// `let` constants by name (not of lists); a name that the variant does not have is an error. What the events
/// are is written in model/mimw/README.md.
Result<Orchestration> unroll(const MimwProgram& program, std::string_view variant,
                             const std::map<std::string, int64_t>& values = {}, MimwLimits limits = {});

/// The same program in canonical layout: two blanks a level, one line a statement, comments kept. Applying it
/// again changes nothing. A text that parse_mimw refuses is an error.
Result<std::string> format_mimw(std::string_view text, const std::string& file);

}  // namespace turnstile
