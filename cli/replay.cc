// SPDX-License-Identifier: Apache-2.0

// turnstile replay: makes the program of a witness again, executes it under the schedule of the witness, and
// says whether the fault shows.
#include "cli/replay.h"

#include <fmt/format.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <charconv>
#include <memory>

#include "cli/last_arrivers.h"
#include "cli/mimw_corpus.h"
#include "cli/render_json.h"
#include "cli/text.h"
#include "cli/verbs.h"
#include "model/files.h"
#include "sim/grouping.h"
#include "sim/launch_run.h"
#include "sim/program.h"
#include "sim/tickets.h"

namespace turnstile::cli {

namespace {

/// What the input lines of a witness say.
struct Input {
  std::string launch, mimw, variant;
  LaunchOverrides overrides;
  std::map<std::string, int64_t> values;
  uint64_t cta = 0;
  uint32_t handed = 0;
  bool draws_tickets = false;
  std::optional<uint32_t> last;
  PolicyChoice policies;
};

template <typename Number>
bool number(const std::string& text, Number& out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc() && end == text.data() + text.size();
}

Result<Input> input_of(const Witness& witness, const std::string& file) {
  Input input;
  for (const auto& [key, value] : witness.input) {
    const auto bad = [&file, &key = key, &value = value] {
      return fail(file, 0, 0, fmt::format("'input {} {}' is not understood", key, value));
    };
    if (key == "launch") {
      input.launch = value;
    } else if (key == "mimw") {
      input.mimw = value;
    } else if (key == "variant") {
      input.variant = value;
    } else if (key == "case") {
      input.overrides.case_name = value;
    } else if (key == "ptx") {
      input.overrides.kernel_path = value;
    } else if (key == "policy") {
      if (const std::string problem = apply_policy(input.policies, value, file); !problem.empty())
        return fail(file, 0, 0, fmt::format("'input {} {}': {}", key, value, problem));
    } else if (key == "cta") {
      if (!number(value, input.cta)) return bad();
    } else if (key == "last") {
      if (!number(value, input.last.emplace())) return bad();
    } else if (key == "handed" || key == "drawn") {
      if (!number(value, input.handed)) return bad();
      input.draws_tickets = key == "drawn";
    } else if (key == "set") {
      const size_t equals = value.find('=');
      int64_t number_value = 0;
      if (equals == std::string::npos || !number(value.substr(equals + 1), number_value)) return bad();
      input.overrides.vars[value.substr(0, equals)] = number_value;
      input.values[value.substr(0, equals)] = number_value;
    } else {
      return bad();
    }
  }
  if (input.launch.empty() == input.mimw.empty())
    return fail(file, 0, 0, "the witness does not say which program it belongs to");
  return input;
}

Result<Orchestration> program_of(const Input& input) {
  if (!input.mimw.empty()) {
    const Result<MimwProgram> program = read_mimw(input.mimw);
    if (!program) return tl::unexpected(program.error());
    return unroll(*program, input.variant, input.values);
  }
  const Result<Launch> launch = read_launch(input.launch, input.overrides);
  if (!launch) return tl::unexpected(launch.error());
  if (input.cta >= launch->cta_count())
    return fail(input.launch, 0, 0, fmt::format("the launch has no CTA {}", input.cta));
  const Result<sim::ProgramHandle> program = sim::load_program(*launch);
  if (!program) return tl::unexpected(program.error());
  sim::RunOptions options;
  options.domain = sim::Domain::control;
  options.ctas.push_back(static_cast<uint32_t>(input.cta));
  options.clusters_to_cancel = input.handed;
  std::optional<sim::TicketCounter> tickets;
  if (input.draws_tickets) tickets = sim::find_ticket_counter(**program, *launch);
  if (tickets) options.tickets = &*tickets;
  Result<LastArrivers> arrivers = LastArrivers{};
  if (input.last)
    arrivers = find_last_arrivers(**program, *launch, sim::trace_count(**program, *launch), interrupted);
  if (!arrivers) return tl::unexpected(arrivers.error());
  for (sim::Arrivals& group : arrivers->groups) {
    const auto at = std::find(group.clusters.begin(), group.clusters.end(), *input.last);
    if (at == group.clusters.end()) continue;
    group.last = static_cast<uint32_t>(at - group.clusters.begin());
    options.arrivals = &group;
  }
  options.every_cancel_count = true;  // the witness is about this one
  const Result<sim::RunResult> run = sim::run_launch(**program, *launch, options);
  if (!run) return tl::unexpected(run.error());
  if (run->traces.empty()) return fail(input.launch, 0, 0, "the launch leaves no trace");
  return orchestration_of(run->traces.front());
}

Exit run_replay(const std::string& file, const Terminal& terminal) {
  const Result<std::string> text = read_file(file, max_witness_bytes);
  if (!text) return refuse(terminal, "replay", false, text.error());
  const Result<Witness> witness = parse_witness(*text, file);
  if (!witness) return refuse(terminal, "replay", false, witness.error());
  const Result<Input> input = input_of(*witness, file);
  if (!input) return refuse(terminal, "replay", false, input.error());
  Result<Orchestration> program = program_of(*input);
  if (!program) return refuse(terminal, "replay", false, program.error());
  program->commits_in_order = input->policies.policies.commits_in_order;

  std::string out = wrapped("", "  ", input->mimw.empty() ? input->launch : input->mimw);
  out += wrapped(
      "  ", "  ",
      fmt::format("{} {}: {}", counted(witness->schedule.size(), "step"),
                  witness->shortest ? "(no schedule to such a fault is shorter)" : "(not the shortest)",
                  witness->message));
  if (program_fingerprint(*program) != witness->program)
    out += "  note: the program is not the one that this witness was made from\n";
  CheckOptions options;
  options.policies = input->policies.policies;
  const Replay replayed = replay(*program, *witness, 200, options);
  if (!replayed.problem.empty()) {
    terminal.print(out + "not shown: " + replayed.problem + "\n");
    return Exit::inconclusive;
  }
  size_t number = 0;
  for (const std::string& step : replayed.steps)
    out += wrapped(fmt::format("  {:>4}  ", ++number), "        ", step);
  out += replayed.shown ? "the fault shows again\n" : "the fault does not show\n";
  terminal.print(out);
  return replayed.shown ? Exit::findings : Exit::inconclusive;
}

constexpr const char* replay_examples = R"(Examples:
  turnstile replay .turnstile/3f9c06d2b1a7e854.witness
      Executes the program of the witness once more under its schedule, and tells the steps.
  turnstile check ring.mimw; turnstile replay .turnstile/*.witness
      After a finding that needs a certain schedule; after a repair the fault should not show any more.

Exit codes: 1 the fault shows again, 3 it does not, 2 usage or unreadable input.)";

}  // namespace

void remember_launch(Witness& witness, const std::string& file, const LaunchOverrides& overrides,
                     const CheckOutcome& outcome) {
  witness.input = {{"launch", file}};
  if (!overrides.case_name.empty()) witness.input.emplace_back("case", overrides.case_name);
  if (!overrides.kernel_path.empty()) witness.input.emplace_back("ptx", overrides.kernel_path);
  for (const auto& [name, value] : overrides.vars)
    witness.input.emplace_back("set", fmt::format("{}={}", name, value));
  witness.input.emplace_back("cta", std::to_string(outcome.witness_cta));
  const std::string handed = std::to_string(outcome.witness_handed);
  if (outcome.witness_last)
    witness.input.emplace_back("last", std::to_string(*outcome.witness_last));
  else if (outcome.draws_tickets)
    witness.input.emplace_back("drawn", handed);
  else if (outcome.witness_handed != 0)
    witness.input.emplace_back("handed", handed);
}

void remember_mimw(Witness& witness, const std::string& file, const std::string& variant,
                   const std::map<std::string, int64_t>& values) {
  witness.input = {{"mimw", file}, {"variant", variant}};
  for (const auto& [name, value] : values)
    witness.input.emplace_back("set", fmt::format("{}={}", name, value));
}

void remember_policies(Witness& witness, const PolicyChoice& policies) {
  for (const PolicyChoice::Word& word : policies.words) witness.input.emplace_back("policy", word.text);
}

std::string keep_witness(const Witness& witness, const Terminal& terminal) {
  const Result<std::string> path = write_witness(witness, witness_folder);
  if (path) return *path;
  terminal.complain(path.error().text());
  return {};
}

void add_replay(CLI::App& app, const Terminal& terminal, Exit& exit) {
  CLI::App* verb = app.add_subcommand("replay", "Run a program under the schedule of a witness");
  const auto file = std::make_shared<std::string>();
  verb->add_option("WITNESS", *file, "A file that turnstile check has written to .turnstile/")->required();
  verb->footer(replay_examples);
  verb->callback([file, &terminal, &exit] { exit = run_replay(*file, terminal); });
}

}  // namespace turnstile::cli
