// SPDX-License-Identifier: Apache-2.0
#include "sim/launch_run.h"

#include <cxxabi.h>
#include <fmt/format.h>

#include <cstdlib>

#include "sim/cta.h"
#include "sim/run_rows.h"

namespace turnstile::sim {

namespace {

/// "_ZZ4gemmE4full" -> "full": the author's name of a variable inside a function.
std::string plain_name(const std::string& mangled) {
  int status = 0;
  char* text = abi::__cxa_demangle(mangled.c_str(), nullptr, nullptr, &status);
  std::string name = status == 0 && text != nullptr ? text : mangled;
  std::free(text);
  if (const size_t at = name.rfind("::"); at != std::string::npos) name = name.substr(at + 2);
  return name;
}

}  // namespace

void add_shared_names(const Program& program, const Launch& launch, Trace& trace) {
  constexpr size_t longest = 4096;
  auto add = [&](uint64_t begin, uint64_t bytes, uint32_t count, const std::string& name) {
    for (uint32_t i = 0; i < count && trace.shared_names.size() < longest; ++i) {
      const ByteRange range{begin + i * bytes, begin + (i + 1) * bytes, 0, 1};
      trace.shared_names.push_back({range, count == 1 ? name : fmt::format("{}[{}]", name, i)});
    }
  };
  for (const SharedName& s : launch.shared_names)
    add(program.dynamic_shared_base + s.offset, s.bytes, s.stages, s.name);
  uint64_t at = AddressMap::shared_static_base;
  for (const ptx::Symbol& s : program.entry->symbols) {
    if (s.space != ptx::StateSpace::shared || s.is_extern || s.bytes == 0) continue;
    at = (at + s.alignment - 1) / s.alignment * s.alignment;
    // Arrays of 8-byte objects are barriers by stage more often than not; name them by element.
    const bool by_element = s.alignment == 8 && s.bytes % 8 == 0 && s.bytes > 8 && s.bytes <= 4096;
    add(at, by_element ? 8 : s.bytes, by_element ? static_cast<uint32_t>(s.bytes / 8) : 1,
        plain_name(s.name));
    at += s.bytes;
  }
}

Result<RunResult> run_ctas(const Program& program, const Launch& launch, const RunOptions& options,
                           GlobalMemory& global, SumLog* log) {
  RunResult result;
  std::vector<uint32_t> ctas = options.ctas;
  const uint64_t all = launch.cta_count();
  if (ctas.empty()) {
    if (all > 1'000'000)
      return fail(launch.path, 0, 0,
                  fmt::format("a grid of {} CTAs is more than one run executes; name some with --ctas", all));
    for (uint32_t i = 0; i < all; ++i) ctas.push_back(i);
  }
  for (uint32_t number : ctas) {
    if (number >= all)
      return fail(launch.path, 0, 0, fmt::format("CTA {} does not exist: the grid has {}", number, all));
    const Dim3 position{number % launch.grid[0], number / launch.grid[0] % launch.grid[1],
                        number / (launch.grid[0] * launch.grid[1])};
    Cta cta(program, launch, global, options, position);
    cta.sum_log = log;
    result.traces.push_back(cta.run());
    result.instructions += cta.steps;
  }
  return result;
}

Result<RunResult> run_launch(const Program& program, const Launch& launch, const RunOptions& options) {
  auto global = GlobalMemory::create(launch, program.variables, options.domain, {});
  if (!global) return tl::unexpected<Error>(global.error());
  auto result = run_ctas(program, launch, options, *global);
  if (result && options.domain == Domain::bits)
    result->buffers = global->take_contents(launch.buffers.size());
  return result;
}

}  // namespace turnstile::sim
