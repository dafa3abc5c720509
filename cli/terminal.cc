// SPDX-License-Identifier: Apache-2.0
#include "cli/terminal.h"

#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>

namespace turnstile::cli {

namespace {

// A signal handler can reach nothing but a global; this is the only one of the program.
volatile std::sig_atomic_t interrupt_seen = 0;

extern "C" void note_interrupt(int signal) {
  interrupt_seen = 1;
  std::signal(signal, SIG_DFL);
}

bool is_set(const char* variable) {
  const char* value = std::getenv(variable);
  return value != nullptr && *value != '\0';
}

bool shows_escapes(int descriptor) {
  const char* term = std::getenv("TERM");
  const bool dumb = term == nullptr || std::string_view(term) == "dumb";
  return isatty(descriptor) == 1 && !dumb;
}

int rank(Exit e) {
  switch (e) {
    case Exit::clean:
      return 0;
    case Exit::inconclusive:
      return 1;
    case Exit::unusable:
      return 2;
    case Exit::findings:
      return 3;
  }
  return 3;
}

void write_all(std::FILE* file, std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), file);
  std::fflush(file);
}

}  // namespace

Exit exit_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::clean:
      return Exit::clean;
    case Verdict::finding:
      return Exit::findings;
    case Verdict::inconclusive:
      return Exit::inconclusive;
  }
  return Exit::inconclusive;
}

Exit worst(Exit a, Exit b) { return rank(a) >= rank(b) ? a : b; }

Terminal Terminal::detect() {
  Terminal t;
  const bool wanted = !is_set("NO_COLOR");
  t.out_.color = wanted && shows_escapes(STDOUT_FILENO);
  t.err_.color = wanted && shows_escapes(STDERR_FILENO);
  t.shows_progress_ = shows_escapes(STDERR_FILENO) && !is_set("CI");
  return t;
}

void Terminal::print(std::string_view text) const {
  clear_progress();
  write_all(stdout, text);
}

void Terminal::complain(std::string_view message) const {
  clear_progress();
  write_all(stderr, "turnstile: " + err_.error("error") + ": " + printable(message) + "\n");
}

void Terminal::progress(std::string_view line) const {
  if (shows_progress_) write_all(stderr, "\r\x1b[K" + printable(line));
}

void Terminal::clear_progress() const {
  if (shows_progress_) write_all(stderr, "\r\x1b[K");
}

void catch_interrupts() {
  std::signal(SIGINT, note_interrupt);
  std::signal(SIGTERM, note_interrupt);
}

bool interrupted() { return interrupt_seen != 0; }

}  // namespace turnstile::cli
