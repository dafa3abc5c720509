// SPDX-License-Identifier: Apache-2.0
// multimem: one address that stands for memory of several devices Read, checked, and
// decided up to the place where one is executed: a launch file has no multicast object, and of any other
// address the behaviour is undefined.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "sim/form_reading.h"
#include "sim/forms_async.h"
#include "sim/handlers.h"

namespace turnstile::sim {

namespace {

constexpr std::array<std::string_view, 22> multimem_types = {
    "b32", "b64",  "u32",  "u64",    "s32",    "s64",    "f16",    "f16x2", "bf16", "bf16x2", "f32",
    "f64", "e4m3", "e5m2", "e4m3x2", "e5m2x2", "e4m3x4", "e5m2x4", "v2",    "v4",   "v8",     "global"};
constexpr std::array<std::string_view, 13> multimem_words = {
    "weak", "relaxed", "acquire",  "release",  "cta",       "cluster", "gpu",
    "sys",  "noftz",   "acc::f32", "acc::f16", "ld_reduce", "st"};

template <size_t n>
bool is_one(const std::array<std::string_view, n>& words, std::string_view m) {
  return std::find(words.begin(), words.end(), m) != words.end();
}

}  // namespace

Reading read_multimem(const ptx::Instruction& i, Decoded& d) {
  d.run = exec_multimem;
  const std::string_view verb =
      i.modifiers.size() > 1 ? std::string_view(i.modifiers[1]) : std::string_view();
  if (verb != "ld_reduce" && verb != "st" && verb != "red") return "this operation";
  size_t operations = 0;
  for (size_t m = 2; m < i.modifiers.size(); ++m) {
    const std::string& x = i.modifiers[m];
    if (reduction_kind(x) != Reduction::Kind::none)
      ++operations;
    else if (!is_one(multimem_types, x) && !is_one(multimem_words, x))
      return fmt::format("modifier '.{}'", x);
  }
  if (operations != (verb == "st" ? 0u : 1u)) return "its modifiers";
  d.variant = verb == "ld_reduce" ? 0 : 1;
  return fine;
}

Step exec_multimem(Cta& cta, Warp&, const Decoded& d, LaneMask) {
  return cta.unknown(
      d,
      fmt::format("'{}' needs a multicast address, and a launch file has none: what lies behind "
                  "it is not known",
                  d.text->mnemonic),
      "check the kernel without the part that uses multimem");
}

}  // namespace turnstile::sim
