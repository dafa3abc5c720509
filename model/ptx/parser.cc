// SPDX-License-Identifier: Apache-2.0
#include "model/ptx/parser.h"

#include <fmt/format.h>

#include <charconv>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "model/ptx/body.h"
#include "model/ptx/declarations.h"
#include "model/ptx/expression.h"
#include "model/ptx/limits.h"

namespace turnstile::ptx {
namespace {

// Module scope: header, variables, functions, entries, debug data (ptx.md section 3).
class ModuleParser {
 public:
  ModuleParser(std::string_view text, Module& module)
      : cursor_(text, module.path), module_(module), locations_(module) {
    names_.open();
  }

  bool parse() {
    if (!header()) return false;
    while (!cursor_.at(TokenKind::end))
      if (!statement()) return false;
    locations_.finish();
    return !cursor_.failed();
  }
  const Error& error() const { return cursor_.error(); }

 private:
  struct Linkage {
    bool is_extern = false;
    bool is_given = false;
  };

  bool header() {
    if (cursor_.at(TokenKind::end)) return cursor_.expected("'.version' at the start of a PTX file");
    if (!cursor_.accept_directive(".version"))
      return cursor_.expected("'.version' at the start (is this a PTX file?)");
    const Token version = cursor_.token();
    if (version.kind != TokenKind::number) return cursor_.expected("the version of PTX");
    cursor_.advance();
    unsigned major = 0;
    const char* end = version.text.data() + version.text.size();
    const std::from_chars_result r = std::from_chars(version.text.data(), end, major);
    const std::string_view minor(r.ptr, static_cast<std::size_t>(end - r.ptr));
    const bool is_version = r.ec == std::errc{} && minor.size() > 1 && minor.front() == '.' &&
                            minor.find_first_not_of("0123456789", 1) == std::string_view::npos;
    if (!is_version || major < 7 || major > 9)
      return cursor_.fail(version.position, fmt::format("PTX version {} is not supported: 7.0 to 9.x are",
                                                        quoted(version.text)));
    module_.version = std::string(version.text);
    if (!cursor_.accept_directive(".target")) return cursor_.expected("'.target' after the version");
    return target() && address_size();
  }

  bool target() {
    if (!cursor_.at(TokenKind::identifier)) return cursor_.expected("the target, for example 'sm_90a'");
    const Token name = cursor_.take();
    if (!name.text.starts_with("sm_"))
      return cursor_.fail(name.position,
                          fmt::format("{} is not a target: expected one like 'sm_90a'", quoted(name.text)));
    module_.target = std::string(name.text);
    while (cursor_.accept(',')) {  // `debug`, `texmode_independent`: no influence on execution
      if (!cursor_.at(TokenKind::identifier)) return cursor_.expected("an option of the target");
      cursor_.advance();
    }
    return !cursor_.failed();
  }

  bool address_size() {
    if (!cursor_.accept_directive(".address_size"))
      return cursor_.expected("'.address_size 64' after the target");
    const Position where = cursor_.token().position;
    uint64_t size = 0;
    if (!parse_number(cursor_, "the size of addresses", 32, 64, size)) return false;
    return size == 64 ||
           cursor_.fail(where, fmt::format("an address size of {} is not supported, only 64", size));
  }

  bool statement() {
    Linkage linkage;
    while (cursor_.at_directive(".extern") || cursor_.at_directive(".visible") ||
           cursor_.at_directive(".weak") || cursor_.at_directive(".common")) {
      linkage.is_given = true;
      if (cursor_.take().text == ".extern") linkage.is_extern = true;
    }
    if (!cursor_.at(TokenKind::directive))
      return cursor_.expected("a directive such as '.entry' or '.global'");
    const Token t = cursor_.take();
    if (t.text == ".entry") return entry(t.position);
    if (t.text == ".func") return function(t.position);
    if (const std::optional<StateSpace> space = variable_space(t); space && *space != StateSpace::param)
      return variables(*space, linkage.is_extern);
    if (!linkage.is_given) {
      if (t.text == ".file") return locations_.parse_file(cursor_);
      if (t.text == ".loc") return locations_.parse_loc(cursor_);
      if (t.text == ".section") return section(t.position);
      if (t.text == ".pragma") return parse_pragma(cursor_);
    }
    return cursor_.fail(t.position, fmt::format("the directive {} is not supported here", quoted(t.text)));
  }

  bool variables(StateSpace space, bool is_extern) {
    std::vector<Declared> declared;
    if (!parse_variables(cursor_, space, is_extern, declared)) return false;
    for (Declared& d : declared) {
      if (is_extern && is_known_extern(d)) continue;
      const Binding binding{d.name, NameKind::module_symbol, static_cast<uint32_t>(variables_.size()), 1,
                            d.symbol.position};
      if (!declare(cursor_, names_, binding)) return false;
      initialised_bytes_ += d.symbol.initial.size();
      variables_.push_back(std::move(d.symbol));
      if (variables_.size() > limits::module_symbols || initialised_bytes_ > limits::module_initialised_bytes)
        return too_many_variables(variables_.back().position);
    }
    return true;
  }

  // `.extern .shared` of one name may be declared again for every kernel that uses it.
  bool is_known_extern(const Declared& d) const {
    const std::optional<Binding> older = names_.find(d.name);
    return older && older->kind == NameKind::module_symbol && variables_[older->index].is_extern &&
           variables_[older->index].space == d.symbol.space;
  }

  bool too_many_variables(Position where) {
    return cursor_.fail(
        where, fmt::format("more than {} variables or {} initialised bytes in one file (those of the module "
                           "count in every entry)",
                           limits::module_symbols, limits::module_initialised_bytes));
  }

  // `.section .debug_info { … }` (PS9)
  bool section(Position where) {
    if (!cursor_.at(TokenKind::directive)) return cursor_.expected("the name of the section");
    const Token name = cursor_.take();
    cursor_.open("the section " + quoted(name.text), where);
    if (!cursor_.at('{')) return cursor_.expected("'{' after the name of the section");
    if (!cursor_.skip_block()) return false;
    cursor_.close();
    return true;
  }

  bool skip_parentheses() {
    const Position began = cursor_.token().position;
    cursor_.open("the list", began);
    uint32_t depth = 0;
    do {
      if (cursor_.at(TokenKind::end)) return cursor_.expected("')'");
      if (cursor_.at('(')) ++depth;
      if (cursor_.at(')')) --depth;
      cursor_.advance();
    } while (depth > 0);
    cursor_.close();
    return !cursor_.failed();
  }

  // Device functions are known by name only. A body is not read: whoever executes a call to it must refuse it
  // (PS3, PG30).
  bool function(Position where) {
    cursor_.open("the function", where);
    if (cursor_.at('(') && !skip_parentheses()) return false;
    if (!cursor_.at(TokenKind::identifier)) return cursor_.expected("the name of the function");
    const Token name = cursor_.take();
    const std::optional<Binding> older = names_.find(name.text);
    if (!older || older->kind != NameKind::function || entries_known_.contains(name.text))
      if (!declare(cursor_, names_, {name.text, NameKind::function, 0, 0, name.position})) return false;
    if (cursor_.at('(') && !skip_parentheses()) return false;
    cursor_.accept_directive(".noreturn");
    Directives ignored;
    if (!parse_performance(cursor_, name.text, ignored)) return false;
    if (cursor_.at('{')) {
      if (!cursor_.skip_block()) return false;
    } else if (!cursor_.expect(';', [&] { return "or a body after the function " + quoted(name.text); })) {
      return false;
    }
    cursor_.close();
    return true;
  }

  bool entry(Position where) {
    if (!cursor_.at(TokenKind::identifier)) return cursor_.expected("the name of the entry");
    const Token name = cursor_.take();
    if (module_.entries.size() == limits::module_entries)
      return cursor_.fail(name.position, fmt::format("more than {} entries", limits::module_entries));
    module_.entries.emplace_back();
    Entry& e = module_.entries.back();
    e.name = std::string(name.text);
    e.position = where;
    locations_.forget();
    Context context{cursor_, names_, labels_, locations_, spent_, e};
    names_.open();
    if (cursor_.at('(')) {
      cursor_.open("the parameter list of entry " + quoted(name.text), cursor_.take().position);
      if (!parse_parameters(context)) return false;
      cursor_.close();
    }
    if (!parse_performance(cursor_, name.text, e.directives)) return false;
    if (cursor_.at(';')) return prototype();
    if (!entries_known_.insert({name.text, name.position}).second)
      return cursor_.fail(name.position, fmt::format("entry {} is defined twice", quoted(name.text)));
    if (!copy_variables(e, name.position)) return false;
    cursor_.open("the body of entry " + quoted(name.text), where);
    if (!cursor_.expect('{', "at the start of the body")) return false;
    names_.open();
    if (!parse_body(context)) return false;
    names_.close();
    return true;
  }

  // `.visible .entry name(…);` announces an entry and adds nothing.
  bool prototype() {
    names_.close();
    module_.entries.pop_back();
    cursor_.advance();
    return !cursor_.failed();
  }

  bool copy_variables(Entry& e, Position where) {
    spent_.symbols += variables_.size() + e.symbols.size();
    spent_.initialised_bytes += initialised_bytes_;
    if (spent_.symbols > limits::module_symbols ||
        spent_.initialised_bytes > limits::module_initialised_bytes)
      return too_many_variables(where);
    e.symbols.insert(e.symbols.end(), variables_.begin(), variables_.end());
    return true;
  }

  Cursor cursor_;
  Module& module_;
  Locations locations_;
  Names names_;
  Labels labels_;
  Spent spent_;
  std::vector<Symbol> variables_;  // of the module, so far
  uint64_t initialised_bytes_ = 0;
  std::unordered_map<std::string_view, Position> entries_known_;
};

}  // namespace

Result<Module> parse(std::string_view text, std::string path) {
  if (text.size() > limits::text_bytes)
    return fail(std::move(path), 0, 0, fmt::format("larger than {} MiB", limits::text_bytes >> 20));
  Module module;
  module.path = std::move(path);
  ModuleParser parser(text, module);
  if (!parser.parse()) return tl::unexpected<Error>(parser.error());
  return module;
}

Result<Module> parse_file(const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) return fail(path, 0, 0, "is a directory, not a PTX file");
  std::ifstream in(path, std::ios::binary | std::ios::ate);
  if (!in) return fail(path, 0, 0, "cannot be opened");
  const std::streamoff size = in.tellg();
  if (size < 0) return fail(path, 0, 0, "cannot be read");
  if (static_cast<uint64_t>(size) > limits::text_bytes)
    return fail(path, 0, 0, fmt::format("larger than {} MiB", limits::text_bytes >> 20));
  std::string text(static_cast<std::size_t>(size), '\0');
  in.seekg(0);
  if (!in.read(text.data(), size)) return fail(path, 0, 0, "cannot be read");
  return parse(text, path);
}

}  // namespace turnstile::ptx
