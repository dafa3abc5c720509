// SPDX-License-Identifier: Apache-2.0

// turnstile fmt: canonical layout of .mimw texts (docs/mimw.md). A file is written beside itself and renamed,
// and only if it changes: what cannot be read, laid out or written is left as it was.
#include <fmt/format.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <filesystem>
#include <memory>
#include <system_error>

#include "cli/verbs.h"
#include "model/files.h"
#include "model/mimw/mimw.h"

namespace turnstile::cli {
namespace {

struct FmtArguments {
  std::vector<std::string> files;
  bool check = false;
};

/// A link goes on being one, and the file keeps its permissions.
Result<void> replace(const std::string& file, const std::string& text) {
  std::error_code problem;
  const std::filesystem::path target = std::filesystem::canonical(file, problem);
  if (problem) return fail(file, 0, 0, "cannot write the file: " + problem.message());
  const std::filesystem::perms before = std::filesystem::status(target, problem).permissions();
  const Result<void> written = write_file_atomically(target.string(), text);
  if (written && !problem) std::filesystem::permissions(target, before, problem);
  return written;
}

/// Clean: the file has, or has now, the canonical layout.
Exit format_file(const std::string& file, bool check, const Terminal& terminal) {
  const Result<std::string> text = read_file(file, mimw_max_text);
  const Result<std::string> laid_out = text ? format_mimw(*text, file) : text;
  if (!laid_out) {
    terminal.complain(laid_out.error().text());
    return Exit::unusable;
  }
  if (*laid_out == *text) return Exit::clean;
  if (check) {
    terminal.print(fmt::format("{}: not in canonical layout\n", file));
    return Exit::findings;
  }
  if (const Result<void> written = replace(file, *laid_out); !written) {
    terminal.complain(written.error().text());
    return Exit::unusable;
  }
  terminal.print(fmt::format("{}: laid out\n", file));
  return Exit::clean;
}

}  // namespace

void add_fmt(CLI::App& app, const Terminal& terminal, Exit& exit) {
  auto arguments = std::make_shared<FmtArguments>();
  CLI::App* verb = app.add_subcommand("fmt", "Put .mimw texts into canonical layout");
  verb->add_option("FILE", arguments->files, ".mimw texts")->required();
  verb->add_flag("--check", arguments->check, "Change nothing; exit code 1 if a file would change");
  verb->footer(R"(Examples:
  turnstile fmt ring.mimw
  turnstile fmt --check tests/corpus/*.mimw)");
  verb->callback([arguments, &terminal, &exit] {
    exit = Exit::clean;
    for (const std::string& file : arguments->files)
      exit = worst(exit, format_file(file, arguments->check, terminal));
  });
}

}  // namespace turnstile::cli
