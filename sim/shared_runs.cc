// SPDX-License-Identifier: Apache-2.0
#include "sim/shared_runs.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "sim/forked.h"
#include "sim/machine.h"

namespace turnstile::sim {

void share_runs(const Program& program, const Launch& launch, const RunOptions& options,
                std::span<const uint32_t> numbers,
                const std::function<std::vector<uint64_t>(HandedRun run)>& judge,
                const std::function<void(uint32_t handed, const std::vector<uint64_t>& words)>& told) {
  Result<GlobalMemory> global = GlobalMemory::create(launch, program.variables, options.domain, {});
  if (!global) return;
  Forked forked;
  bool over = false;
  RunOptions shared = options;
  shared.hand_over = [&](const Machine& machine) {
    if (over || machine.cancelled >= numbers.back()) over = true;
    if (std::find(numbers.begin(), numbers.end(), machine.cancelled) != numbers.end() && !forked.in_child()) {
      const std::optional<std::vector<uint64_t>> words = forked.fork_here();
      if (words) told(machine.cancelled, *words);
      over = over || !words || forked.failed();
    }
    return !over;
  };
  Machine machine(program, launch, *global, shared, ctas_of_cluster(program, launch, 0));
  Trace trace = machine.run();
  if (!forked.in_child()) return;
  // What it stands for is not this trace alone.
  if (machine.wants_names || machine.asks_atomics) forked.answer({});
  forked.answer(judge({machine.cancelled, std::move(trace), machine.tape()}));
}

}  // namespace turnstile::sim
