// SPDX-License-Identifier: Apache-2.0
// tests/ptx_forms: every instruction form that the surveys counted is executed by a small kernel of its own,
// gives the value that a second computation gives, and is accepted by ptxas where there is one.
#include "tests/sim/ptx_forms.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include "model/launch/launch.h"
#include "model/ptx/parser.h"
#include "sim/handlers.h"
#include "sim/launch_run.h"
#include "sim/program.h"

namespace turnstile::test {

namespace {

/// What a program says of the values of a form: a second word for those that have no exact model.
bool has_model(const sim::Decoded& d) {
  return !d.opaque && (d.run != sim::exec_pure || d.pure.run != nullptr);
}

}  // namespace

FormOutcome run_form(const FormCase& c) {
  FormOutcome o;
  Result<ptx::Module> module = ptx::parse(form_module(c.target) + form_kernel(c, "k"), "k.ptx");
  if (!module) return {.problem = module.error().text()};
  Result<Launch> launch = parse_launch(form_launch(c), "k.toml", {});
  if (!launch) return {.problem = launch.error().text()};
  auto program = sim::build_program(std::move(*module), *launch);
  if (!program) return {.problem = program.error().text()};
  bool contained = false;
  for (const sim::Decoded& d : (*program)->code) {
    if (d.text->mnemonic != c.form) continue;
    contained = true;
    o.has_model = has_model(d);
  }
  if (!contained) return {.problem = "the kernel does not contain the form"};
  sim::RunOptions options;
  options.domain = sim::Domain::bits;
  options.every_cancel_count = true;  // launch control: here the run in which a second CTA is handed over
  if (c.grid > c.cluster) {
    options.clusters_to_cancel = 1;
    options.ctas = std::vector<uint32_t>{0};
  }
  Result<sim::RunResult> result = sim::run_launch(**program, *launch, options);
  if (!result) return {.problem = result.error().text()};
  for (const Trace& t : result->traces) {
    if (!t.faults.empty()) {
      o.fault_rule = t.faults[0].rule;
      o.problem = t.faults[0].rule + ": " + t.faults[0].message;
    } else if (!t.unknowns.empty()) {
      o.problem = "?: " + t.unknowns[0].message;
    } else if (!t.blocked.empty()) {
      o.problem = "blocked";
    }
  }
  o.predicted = result->not_predicted.empty();
  o.out.resize(result->buffers.at(0).size() / 8);
  std::memcpy(o.out.data(), result->buffers[0].data(), 8 * o.out.size());
  return o;
}

namespace {

uint32_t word_of(const FormOutcome& o, unsigned lane) {
  return static_cast<uint32_t>(o.out.at(lane / 2) >> (lane % 2 * 32));
}

/// Empty: as the case says.
std::string disagreement(const FormCase& c) {
  const FormOutcome o = run_form(c);
  if (c.expected.rfind("fault ", 0) == 0)
    return o.fault_rule == c.expected.substr(6) ? "" : "no such fault: " + o.problem;
  if (c.expected.rfind("refused ", 0) == 0)
    return o.problem.find(c.expected.substr(8)) != std::string::npos &&
                   o.problem.find("is not implemented") != std::string::npos
               ? ""
               : "not refused like that: " + o.problem;
  if (c.expected == "unknown") return o.problem.rfind("?: ", 0) == 0 ? "" : "not unknown: " + o.problem;
  if (!o.problem.empty()) return o.problem;
  if (c.expected == "runs") return {};
  unsigned factor = 0, summand = 0;
  if (std::sscanf(c.expected.c_str(), "lane*%u+%u", &factor, &summand) != 2) return "what is expected?";
  if (!o.predicted) return "its result is not predicted";
  for (unsigned lane = 0; lane < 32; ++lane) {
    const uint32_t got = word_of(o, c.wide ? 2 * lane : lane);
    if (got != lane * factor + summand)
      return "lane " + std::to_string(lane) + " has " + std::to_string(got) + ", not " +
             std::to_string(lane * factor + summand);
  }
  return {};
}

std::string arithmetic_disagreement(const FormCase& c) {
  const FormOutcome o = run_form(c);
  if (!o.problem.empty()) return o.problem;
  for (unsigned lane = 0; lane < 32; ++lane) {
    std::vector<uint64_t> in;
    for (size_t i = 0; i + 1 < c.operands.size(); ++i) in.push_back(form_input(c, i, lane));
    const FormResult want = form_reference(c, in);
    if ((want.kind == FormResult::Kind::unknown) == o.predicted)
      return "predicted, or not, against the reference";
    const uint64_t got = o.out.at(lane);
    std::string text = "lane " + std::to_string(lane) + ":";
    char buffer[64];
    for (uint64_t word : in) {
      std::snprintf(buffer, sizeof buffer, " %llx", static_cast<unsigned long long>(word));
      text += buffer;
    }
    std::snprintf(buffer, sizeof buffer, " gives %llx, not %llx (%g)", static_cast<unsigned long long>(got),
                  static_cast<unsigned long long>(want.bits), want.value);
    text += buffer;
    const auto as_float = static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(got)));
    switch (want.kind) {
      case FormResult::Kind::unknown:
        break;
      case FormResult::Kind::exact:
        if (got != want.bits) return text;
        break;
      case FormResult::Kind::nan:
        if (c.operands[0] == 'r' && c.form.find("x2") == std::string::npos && !std::isnan(as_float))
          return text;
        break;
      case FormResult::Kind::close:
        // Infinities, subnormals and what lies far outside f32 are left to the tests of the functions.
        if (std::isfinite(as_float) && std::fabs(want.value) > 1e-37 && std::fabs(want.value) < 3e38 &&
            std::fabs(as_float - want.value) > std::fabs(want.value) * want.within + 1e-6)
          return text;
        break;
    }
  }
  return {};
}

}  // namespace

std::set<std::string> counted_forms() {
  std::set<std::string> forms;
  for (const char* file : {"ptx_forms.tsv", "ptx_forms_tlx.tsv"}) {
    std::ifstream in(std::string(TURNSTILE_SOURCE_DIR) + "/tests/model/data/" + file);
    REQUIRE(in.is_open());
    std::string line;
    std::getline(in, line);  // heading
    while (std::getline(in, line)) forms.insert(line.substr(0, line.find('\t')));
  }
  return forms;
}

namespace {

/// ptxas: $PTXAS, or in the PATH; empty if there is none.
std::string find_ptxas() {
  if (const char* named = std::getenv("PTXAS"); named != nullptr) return named;
  const char* path = std::getenv("PATH");
  std::string rest = path == nullptr ? "" : path;
  while (!rest.empty()) {
    const size_t colon = std::min(rest.find(':'), rest.size());
    const std::string file = rest.substr(0, colon) + "/ptxas";
    if (access(file.c_str(), X_OK) == 0) return file;
    rest.erase(0, colon + 1);
  }
  return {};
}

/// What ptxas says about a file; empty if it takes it.
std::string assembled(const std::string& ptxas, const std::string& target,
                      const std::filesystem::path& file) {
  const std::filesystem::path log = file.string() + ".log";
  const std::string arch = "-arch=" + target, input = file.string(), output = file.string() + ".cubin";
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    const int out = open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (out < 0 || dup2(out, 1) < 0 || dup2(out, 2) < 0) _exit(126);
    execl(ptxas.c_str(), ptxas.c_str(), arch.c_str(), "-o", output.c_str(), input.c_str(),
          static_cast<char*>(nullptr));
    _exit(127);
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return {};
  std::ifstream in(log);
  std::string text((std::istreambuf_iterator<char>(in)), {});
  return text.empty() ? "ptxas did not run" : text;
}

}  // namespace

TEST_CASE("every form that the surveys counted has a kernel in tests/ptx_forms") {
  std::set<std::string> forms = counted_forms();
  CHECK(forms.size() == 540);
  for (const FormCase& c : read_form_cases()) forms.erase(c.form);
  for (const std::string& missing : forms) FAIL_CHECK(missing);
}

TEST_CASE("every form of tests/ptx_forms is executed and gives what it has to") {
  const char* only = std::getenv("TURNSTILE_FORM");
  for (const FormCase& c : read_form_cases()) {
    if (only != nullptr && c.form.find(only) == std::string::npos) continue;
    const std::string why = c.operands.empty() ? disagreement(c) : arithmetic_disagreement(c);
    INFO(c.place << " " << c.form << ": " << why);
    CHECK(why.empty());
  }
}

TEST_CASE("ptxas accepts every kernel of tests/ptx_forms") {
  const std::string ptxas = find_ptxas();
  if (ptxas.empty()) {
    MESSAGE("skipped: no ptxas in $PTXAS or the PATH (the triton package on PyPI ships one)");
    return;
  }
  std::map<std::string, std::string> modules;  // by target: its cases as one file
  size_t number = 0;
  for (const FormCase& c : read_form_cases()) {
    std::string& text = modules.try_emplace(c.target, form_module(c.target)).first->second;
    text += "// " + c.place + " " + c.form + "\n" + form_kernel(c, "k" + std::to_string(number++));
  }
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("turnstile_forms." + std::to_string(getpid()));
  std::filesystem::create_directory(folder);
  for (const auto& module : modules) {  // clang 14 cannot capture a structured binding
    const std::string& target = module.first;
    const std::filesystem::path file = folder / (target + ".ptx");
    std::ofstream(file) << module.second;
    INFO(target);
    CHECK(assembled(ptxas, target, file) == "");
  }
  std::filesystem::remove_all(folder);
}

}  // namespace turnstile::test
