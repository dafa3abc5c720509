// SPDX-License-Identifier: Apache-2.0
#include "sim/launch_run.h"

#include <cxxabi.h>
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <set>
#include <thread>

#include "sim/arrivals.h"
#include "sim/execution_log.h"
#include "sim/grouping.h"
#include "sim/handlers.h"
#include "sim/machine.h"
#include "sim/name_slice.h"
#include "sim/run_rows.h"
#include "sim/stored_values.h"

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
      trace.shared_names.push_back(
          {range, count == 1 ? name : fmt::format("{}[{}]", name, i), Space::shared});
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

namespace {

/// Whether no value can pass from one CTA to another, so that they may run side by side: without data,
/// nothing that is written to global memory can be read back.
bool independent(const Program& program, const Launch& launch, const RunOptions& options) {
  return options.domain == Domain::control && program.variables.empty() &&
         std::none_of(launch.buffers.begin(), launch.buffers.end(),
                      [](const Buffer& b) { return b.control_data; });
}

/// The CTAs to run, checked.
Result<std::vector<uint32_t>> chosen_ctas(const Program& program, const Launch& launch,
                                          const RunOptions& options) {
  // A trace names every instruction: bound what all of them take together.
  constexpr uint64_t most_ctas = 1'000'000, most_places = uint64_t{1} << 25;
  const uint64_t all = launch.cta_count();
  const uint64_t wanted = options.ctas.empty() ? all : options.ctas.size();
  if (wanted > most_ctas || wanted * program.places.size() > most_places)
    return fail(
        launch.path, 0, 0,
        fmt::format("a grid of {} CTAs is more than one run executes; name some with --ctas", wanted));
  std::vector<uint32_t> ctas = options.ctas;
  for (uint32_t i = 0; options.ctas.empty() && i < all; ++i) ctas.push_back(i);
  for (uint32_t number : ctas)
    if (number >= all)
      return fail(launch.path, 0, 0, fmt::format("CTA {} does not exist: the grid has {}", number, all));
  return ctas;
}

/// The CTAs of each machine: the clusters of the CTAs named, each once, in the order in which they are named.
/// If clusters wait for each other, all of them are one machine.
std::vector<std::vector<uint32_t>> machines_of(const Program& program, const Launch& launch,
                                               const std::vector<uint32_t>& ctas, const Arrivals* arrivals) {
  std::vector<std::vector<uint32_t>> machines;
  if (arrivals != nullptr) {
    std::vector<uint32_t>& all = machines.emplace_back();
    for (const uint32_t c : arrivals->clusters)
      for (const uint32_t cta : ctas_of_cluster(program, launch, c)) all.push_back(cta);
    return machines;
  }
  std::set<uint32_t> known;
  bool together = false;
  why_together(program, launch, together);
  if (together) {
    std::vector<uint32_t>& all = machines.emplace_back();
    for (uint32_t c = 0; c < launch.cta_count() / program.cluster_size(); ++c)
      for (uint32_t cta : ctas_of_cluster(program, launch, c)) all.push_back(cta);
    return machines;
  }
  for (uint32_t cta : ctas)
    if (const uint32_t cluster = cluster_of(program, launch, cta); known.insert(cluster).second)
      machines.push_back(ctas_of_cluster(program, launch, cluster));
  return machines;
}

}  // namespace

uint64_t trace_count(const Program& program, const Launch& launch) {
  bool together = false;
  why_together(program, launch, together);
  return together ? 1 : launch.cta_count() / program.cluster_size();
}

uint32_t cta_of_trace(const Program& program, const Launch& launch, uint64_t trace) {
  return ctas_of_cluster(program, launch, static_cast<uint32_t>(trace)).front();
}

bool takes_clusters(const Program& program) {
  return std::any_of(program.code.begin(), program.code.end(),
                     [](const Decoded& d) { return d.run == exec_try_cancel; });
}

Dim3 cluster_shape(const Program& program) { return program.cluster; }

namespace {

struct NamedRun {
  Trace trace;
  std::shared_ptr<const PositionTape> tape;
  std::shared_ptr<const NameSlice> slice;
};

/// The same with names for values, from what memory holds before the launch. They are followed for the
/// branches that ask for them, which are known one after the other; for all values where that is not enough.
std::optional<NamedRun> run_named(const Program& program, const Launch& launch, RunOptions options,
                                  std::span<const uint32_t> ctas, const Trace& before, uint32_t branch) {
  if (!may_name_values(program, launch, ctas.size())) return std::nullopt;
  options.domain = Domain::names;
  options.slice = name_slice(program, before, options.slice.get(), {}, {branch});
  for (;;) {
    Result<GlobalMemory> global = GlobalMemory::create(launch, program.variables, options.domain, {});
    if (!global) return std::nullopt;
    Machine machine(program, launch, *global, options, ctas);
    NamedRun named{machine.run(), nullptr, options.slice};
    named.tape = machine.tape();
    if (!machine.wants_names || options.slice == nullptr) return named;
    std::shared_ptr<const NameSlice> more =
        name_slice(program, named.trace, options.slice.get(), {}, {*machine.wants_names});
    const bool grown = more->registers != options.slice->registers;
    options.slice = grown ? std::move(more) : nullptr;
  }
}

}  // namespace

Result<RunResult> run_ctas(const Program& program, const Launch& launch, const RunOptions& options,
                           GlobalMemory& global, SumLog* log) {
  const Result<std::vector<uint32_t>> ctas = chosen_ctas(program, launch, options);
  if (!ctas) return tl::unexpected<Error>(ctas.error());
  RunResult result;
  const std::vector<std::vector<uint32_t>> machines = machines_of(program, launch, *ctas, options.arrivals);
  result.traces.resize(machines.size());
  result.tapes.resize(machines.size());
  result.atomic_answers.resize(machines.size());
  std::vector<uint8_t> asks(machines.size());
  std::vector<std::shared_ptr<const NameSlice>> slices(machines.size());
  std::vector<uint64_t> steps(machines.size());
  std::vector<std::vector<std::string>> not_predicted(machines.size());
  auto run_one = [&](size_t i) {
    Machine machine(program, launch, global, options, machines[i]);
    for (auto& cta : machine.ctas) cta->sum_log = log;
    if (options.log != nullptr) options.log->attach(machine);
    result.traces[i] = machine.run();
    result.tapes[i] = machine.tape();
    result.atomic_answers[i] = machine.atomic_answers;
    asks[i] = machine.asks_atomics ? 1 : 0;
    if (machine.wants_names) {
      if (std::optional<NamedRun> named =
              run_named(program, launch, options, machines[i], result.traces[i], *machine.wants_names)) {
        result.traces[i] = std::move(named->trace);
        result.tapes[i] = std::move(named->tape);
        slices[i] = std::move(named->slice);
      }
    }
    for (auto& cta : machine.ctas) {
      steps[i] += cta->steps;
      for (std::string& text : cta->not_predicted) not_predicted[i].push_back(std::move(text));
    }
  };

  constexpr size_t most_threads = 16;
  const size_t threads =
      log == nullptr && independent(program, launch, options)
          ? std::min({size_t{std::thread::hardware_concurrency()}, most_threads, machines.size()})
          : 1;
  if (threads <= 1) {
    for (size_t i = 0; i < machines.size(); ++i) run_one(i);
  } else {
    std::atomic<size_t> next = 0;
    std::vector<std::jthread> workers;
    for (size_t t = 0; t < threads; ++t)
      workers.emplace_back([&] {
        for (size_t i = next++; i < machines.size(); i = next++) run_one(i);
      });
  }
  for (size_t i = 0; i < machines.size(); ++i) {
    result.instructions += steps[i];
    if (slices[i] != nullptr) result.slice = slices[i];
    result.asks_atomics = result.asks_atomics || asks[i] != 0;
    for (std::string& text : not_predicted[i])
      if (std::find(result.not_predicted.begin(), result.not_predicted.end(), text) ==
          result.not_predicted.end())
        result.not_predicted.push_back(std::move(text));
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
