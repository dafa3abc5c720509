// SPDX-License-Identifier: Apache-2.0
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <new>
#include <string>
#include <vector>

#include "cli/verbs.h"
#include "model/launch/nearest_name.h"

using namespace turnstile::cli;

namespace {

/// What is wrong with the first word, if it is no verb: CLI11 would only say that a verb is missing.
std::string wrong_verb(const CLI::App& app, int argc, char** argv) {
  if (argc < 2 || argv[1][0] == '-') return {};
  const std::string word = argv[1];
  std::vector<std::string> names;
  for (const CLI::App* verb : app.get_subcommands({})) names.push_back(verb->get_name());
  if (std::find(names.begin(), names.end(), word) != names.end()) return {};
  const std::vector<std::string_view> known(names.begin(), names.end());
  return "no verb '" + word + "'" + turnstile::suggestion(word, known, "verbs");
}

}  // namespace

int main(int argc, char** argv) {
  const Terminal terminal = Terminal::detect();
  Exit exit = Exit::clean;
  CLI::App app(
      "turnstile runs a GPU kernel on the CPU: it finds hangs and races in every schedule, and predicts the "
      "GPU's bits.");
  app.name("turnstile");
  app.set_version_flag("--version", "turnstile 0.1.0");
  app.require_subcommand(1);
  app.footer(
      "Begin with: turnstile check LAUNCH.toml (docs/launch-file.md), turnstile check FILE.mimw "
      "(docs/mimw.md).\n"
      "Exit codes: 0 clean, 1 findings, 2 usage or unreadable input, 3 not decided.  turnstile VERB --help "
      "shows examples.");
  add_check(app, terminal, exit);
  add_replay(app, terminal, exit);
  add_simulate(app, terminal, exit);
  add_batch(app, terminal, exit);
  add_corpus(app, terminal, exit);
  add_fmt(app, terminal, exit);
  add_golden(app, terminal, exit);
  add_numerics(app, terminal, exit);
  catch_interrupts();
  if (const std::string wrong = wrong_verb(app, argc, argv); !wrong.empty()) {
    terminal.complain(wrong);
    return static_cast<int>(Exit::unusable);
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {  // CLI11 answers --help and wrong usage by throwing
    if (e.get_exit_code() == 0) return app.exit(e);
    terminal.complain(std::string(e.what()) + " (turnstile --help)");
    return static_cast<int>(Exit::unusable);
  } catch (const std::bad_alloc&) {  // an input may ask for more than this machine has
    terminal.complain("out of memory: the launch needs more than this machine has");
    return static_cast<int>(Exit::unusable);
  }
  return static_cast<int>(exit);
}
