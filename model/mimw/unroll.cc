// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "fmt/format.h"
#include "model/launch/nearest_name.h"
#include "model/mimw/elaborate.h"
#include "model/mimw/mimw.h"

namespace turnstile {
namespace {

Result<void> check_variant(const MimwProgram& program, std::string_view variant) {
  const std::vector<std::string> names = variants(program);
  if (std::find(names.begin(), names.end(), variant) != names.end()) return {};
  const std::vector<std::string_view> views(names.begin(), names.end());
  return fail(program.file, 0, 0,
              fmt::format("there is no variant '{}'{}", variant, suggestion(variant, views, "variants")));
}

}  // namespace

Result<std::vector<MimwParameter>> parameters(const MimwProgram& program, std::string_view variant) {
  if (const Result<void> known = check_variant(program, variant); !known)
    return tl::unexpected<Error>(known.error());
  mimw::Builder builder(program.file, {});
  mimw::Elaboration text(program.tree, program.file, std::string(variant), {}, builder);
  if (!text.evaluate_constants()) return tl::unexpected<Error>(builder.problems.error());
  return text.parameters();
}

Result<std::map<std::string, int64_t>> constants(const MimwProgram& program, std::string_view variant,
                                                 const std::map<std::string, int64_t>& values) {
  if (const Result<void> known = check_variant(program, variant); !known)
    return tl::unexpected<Error>(known.error());
  mimw::Builder builder(program.file, {});
  mimw::Elaboration text(program.tree, program.file, std::string(variant), {values, {}}, builder);
  if (!text.evaluate_constants()) return tl::unexpected<Error>(builder.problems.error());
  return text.numbers();
}

Result<Orchestration> unroll(const MimwProgram& program, std::string_view variant,
                             const std::map<std::string, int64_t>& values, MimwLimits limits) {
  if (const Result<void> known = check_variant(program, variant); !known)
    return tl::unexpected<Error>(known.error());
  mimw::Builder builder(program.file, limits);
  mimw::Elaboration text(program.tree, program.file, std::string(variant), {values, {}}, builder);
  if (!text.evaluate_constants() || !text.find_agents())
    return tl::unexpected<Error>(builder.problems.error());
  builder.start(program.name, text.ctas(), text.ctas() > 1 || program.tree.names_ctas);
  if (!text.add_agents() || !text.add_resources() || !text.run_agents())
    return tl::unexpected<Error>(builder.problems.error());
  if (builder.tables().agents.empty())
    return fail(program.file, 0, 0, fmt::format("variant '{}' has no agent", variant));
  std::optional<Orchestration> made = builder.finish();
  if (!made) return tl::unexpected<Error>(builder.problems.error());
  return std::move(*made);
}

}  // namespace turnstile
