// SPDX-License-Identifier: Apache-2.0
#include <new>

#include "cli/verbs.h"

using namespace turnstile::cli;

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
      "Exit codes: 0 clean, 1 findings, 2 usage or unreadable input, 3 not decided.  turnstile VERB --help "
      "shows examples.");
  add_check(app, terminal, exit);
  add_simulate(app, terminal, exit);
  add_batch(app, terminal, exit);
  add_golden(app, terminal, exit);
  catch_interrupts();
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
