// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/terminal.h"

namespace CLI {
class App;
}  // namespace CLI

namespace turnstile::cli {

/// Each adds a verb to the program. A verb that was chosen puts its exit code into `exit`. `exit` and
/// `terminal` must outlive `app`.
void add_check(CLI::App& app, const Terminal& terminal, Exit& exit);
void add_replay(CLI::App& app, const Terminal& terminal, Exit& exit);
void add_simulate(CLI::App& app, const Terminal& terminal, Exit& exit);
void add_batch(CLI::App& app, const Terminal& terminal, Exit& exit);
void add_corpus(CLI::App& app, const Terminal& terminal, Exit& exit);
void add_fmt(CLI::App& app, const Terminal& terminal, Exit& exit);
void add_golden(CLI::App& app, const Terminal& terminal, Exit& exit);
void add_numerics(CLI::App& app, const Terminal& terminal, Exit& exit);

}  // namespace turnstile::cli
