// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>

#include "fmt/format.h"
#include "model/launch/nearest_name.h"
#include "model/mimw/cursor.h"
#include "model/mimw/operations.h"
#include "model/mimw/verdict_classes.h"

namespace turnstile::mimw {
namespace {

bool parse_list(Cursor& c, std::vector<ExprId>& values) {
  c.take();  // [
  if (c.accept("]")) return true;
  do {
    const std::optional<ExprId> value = parse_expression(c);
    if (!value) return false;
    values.push_back(*value);
  } while (c.accept(","));
  return c.expect("]", "at the end of the list");
}

/// `name=value`; the name has been taken.
bool parse_value(Cursor& c, Binding& b, bool list_allowed) {
  if (!c.expect("=", fmt::format("after '{}'", b.name))) return false;
  if (c.at("[") && list_allowed) {
    b.is_list = true;
    return parse_list(c, b.values);
  }
  const std::optional<ExprId> value = parse_expression(c);
  if (value) b.values = {*value};
  return value.has_value();
}

bool parse_bindings(Cursor& c, Statement& s, bool lists_allowed) {
  do {
    Binding b;
    b.at = c.position();
    const std::optional<std::string> name = c.word("a name");
    if (!name) return false;
    b.name = *name;
    if (!parse_value(c, b, lists_allowed)) return false;
    s.bindings.push_back(std::move(b));
  } while (c.at_word());
  return c.expect_end(fmt::format("the value of '{}'", s.bindings.back().name));
}

/// `@k.name[extent]`.
bool parse_declared(Cursor& c, Declared& d, std::string_view what) {
  d.at = c.position();
  if (!parse_cta_prefix(c, d.cta)) return false;
  if (d.cta && !c.expect(".", "between the CTA and the name")) return false;
  const std::optional<std::string> name = parse_dotted(c, what);
  if (!name) return false;
  d.name = *name;
  return parse_index(c, d.extent);
}

bool parse_barriers(Cursor& c, Statement& s) {
  do {
    Declared d;
    if (!parse_declared(c, d, "the name of a barrier")) return false;
    if (!c.expect(":", fmt::format("and the arrival count after '{}'", d.name))) return false;
    d.count = parse_expression(c);
    if (!d.count) return false;
    s.declared.push_back(std::move(d));
  } while (!c.at_end());
  return true;
}

bool parse_size(Cursor& c, std::optional<ExprId>& into) {
  if (into) return c.fail(fmt::format("{} stands twice", c.read()));
  c.take();
  into = parse_expression(c);
  return into.has_value();
}

bool parse_memory(Cursor& c, Statement& s) {
  const bool tensor = s.kind == Statement::Kind::tmem;
  const std::string_view size_word = tensor ? "columns" : "bytes";
  do {
    Declared d;
    if (!parse_declared(c, d, tensor ? "the name of a part of tensor memory" : "the name of a buffer"))
      return false;
    s.declared.push_back(std::move(d));
  } while (!c.at_end() && !c.at(size_word) && !c.at("at") && !c.at("global"));
  while (!c.at_end()) {
    if (c.at(size_word)) {
      if (!parse_size(c, s.size)) return false;
    } else if (c.at("at")) {
      if (!parse_size(c, s.address)) return false;
    } else if (!tensor && c.accept("global")) {
      s.global = true;
    } else {
      return c.fail(fmt::format("expected '{}', 'at'{} or the end of the line, read {}", size_word,
                                tensor ? "" : ", 'global'", c.read()));
    }
  }
  return true;
}

bool parse_parameter(Cursor& c, Statement& s) {
  const std::optional<std::string> name = c.word("the name of a parameter");
  if (!name) return false;
  s.name = *name;
  if (!c.expect("=", fmt::format("after '{}'", s.name))) return false;
  do {
    ParameterValue value;
    const std::optional<ExprId> low = parse_expression(c);
    if (!low) return false;
    value.low = *low;
    if (c.accept("..")) {
      value.high = parse_expression(c);
      if (!value.high) return false;
    }
    s.choices.push_back(value);
  } while (c.accept(","));
  return c.expect_end("the values; a parameter has a line of its own");
}

/// `in-order-copies`: words joined by '-'.
std::optional<std::string> parse_hyphenated(Cursor& c, std::string_view what) {
  std::optional<std::string> name = c.word(what);
  while (name && c.accept("-")) {
    const std::optional<std::string> part = c.word("the rest of the name after '-'");
    if (!part) return std::nullopt;
    *name += '-';
    *name += *part;
  }
  return name;
}

bool parse_pool(Cursor& c, Statement& s) {
  while (!c.at_end()) {
    Binding b;
    b.at = c.position();
    const std::optional<std::string> name = c.word("the name of a pool");
    if (!name) return false;
    if (*name == "must" && !s.bindings.empty()) {
      if (!c.expect("-", "in 'must-return'") || !c.expect("return", "in 'must-return'")) return false;
      s.must_return = true;
      return c.expect_end("'must-return'");
    }
    b.name = *name;
    if (!parse_value(c, b, false)) return false;
    s.bindings.push_back(std::move(b));
  }
  return !s.bindings.empty() || c.fail("expected the name of a pool, read the end of the line");
}

bool parse_use(Cursor& c, Statement& s) {
  const std::optional<std::string> name = c.word("the name of a pattern, for example 'ring'");
  if (!name) return false;
  s.name = *name;
  if (c.at_end()) return true;
  if (!c.expect("with", fmt::format("after '{}'", s.name))) return false;
  do {
    Binding b;
    b.at = c.position();
    const std::optional<std::string> key = c.word("a name");
    if (!key) return false;
    b.name = *key;
    if (b.name == "consumers" || b.name == "variant") {
      if (!c.expect("=", fmt::format("after '{}'", b.name))) return false;
      const Position at = c.position();
      if (b.name == "variant") {
        const std::optional<std::string> variant = c.word("the name of a variant");
        if (!variant) return false;
        s.variant = *variant;
        s.variant_at = at;
        continue;
      }
      s.consumers_at = at;
      do {
        const std::optional<std::string> agent = parse_dotted(c, "the name of an agent");
        if (!agent) return false;
        s.consumers.push_back(*agent);
      } while (c.accept(","));
      continue;
    }
    if (!parse_value(c, b, false)) return false;
    s.bindings.push_back(std::move(b));
  } while (!c.at_end());
  return true;
}

/// x128, or x(T).
bool at_threads(const Cursor& c) {
  const Token* token = c.peek();
  if (token == nullptr || token->kind != Token::Kind::word || token->text[0] != 'x') return false;
  if (token->text.size() == 1) return c.peek(1) != nullptr && c.peek(1)->text == "(";
  return token->text.find_first_not_of("0123456789", 1) == std::string_view::npos;
}

bool parse_threads(Cursor& c, Statement& s) {
  if (s.size) return c.fail(fmt::format("expected one number of threads, read {} as well", c.read()));
  if (c.at("x")) {
    c.take();
    s.size = parse_primary(c);
    return s.size.has_value();
  }
  Expr e;
  e.at = c.position();
  const std::string_view digits = c.take().text.substr(1);
  if (std::from_chars(digits.data(), digits.data() + digits.size(), e.number).ec != std::errc{})
    return c.fail(e.at, "the number of threads does not fit into 64 bits");
  s.size = c.add(std::move(e));
  return true;
}

bool parse_agent(Cursor& c, Statement& s) {
  while (!c.at_end()) {
    if (at_threads(c) && !s.agents.empty()) {
      if (!parse_threads(c, s)) return false;
    } else if (c.accept("@")) {
      if (s.first) return c.fail("an agent has one '@'");
      s.first = parse_primary(c);
      if (!s.first) return false;
      if (c.accept("..")) {
        s.last = parse_primary(c);
        if (!s.last) return false;
      }
    } else {
      Declared d;
      d.at = c.position();
      const std::optional<std::string> name = parse_dotted(c, "the name of an agent");
      if (!name || !parse_index(c, d.extent)) return false;
      d.name = *name;
      if (s.first || s.size) return c.fail(d.at, "the names of the agents come before '@' and 'x'");
      s.agents.push_back(std::move(d));
    }
  }
  return !s.agents.empty() || c.fail(fmt::format("expected the name of an agent, read {}", c.read()));
}

constexpr std::string_view kOptions[] = {"inits", "in-order-copies"};

bool parse_option(Cursor& c, Statement& s) {
  const Position at = c.position();
  const std::optional<std::string> name = parse_hyphenated(c, "the name of an option");
  if (!name) return false;
  s.name = *name;
  if (std::find(std::begin(kOptions), std::end(kOptions), s.name) == std::end(kOptions))
    return c.fail(at,
                  fmt::format("there is no option '{}'{}", s.name, suggestion(s.name, kOptions, "options")));
  return c.expect_end("the option");
}

struct Declaration {
  std::string_view word;
  Statement::Kind kind;
};

constexpr Declaration kDeclarations[] = {
    {"let", Statement::Kind::let},       {"param", Statement::Kind::param},
    {"mbar", Statement::Kind::mbar},     {"var", Statement::Kind::var},
    {"pool", Statement::Kind::pool},     {"cluster", Statement::Kind::cluster},
    {"buffer", Statement::Kind::buffer}, {"tmem", Statement::Kind::tmem},
    {"agent", Statement::Kind::agent},   {"use", Statement::Kind::use},
    {"option", Statement::Kind::option},
};

bool unknown_declaration(Cursor& c) {
  const std::string name(c.peek()->text);
  if (find_operation(name) != nullptr || name == "for" || name == "if")
    return c.fail(fmt::format("'{}' stands outside of an agent; indent it under its 'agent' line", name));
  std::vector<std::string_view> known;
  for (const Declaration& d : kDeclarations) known.push_back(d.word);
  return c.fail(
      fmt::format("expected a declaration, read '{}'{}", name, suggestion(name, known, "declarations")));
}

/// Behind the class: `(x;y)`.
bool parse_subjects(Cursor& c, std::vector<std::string>& subjects) {
  do {
    const size_t mark = c.mark();
    std::optional<ExprId> cta, index;
    if (!parse_cta_prefix(c, cta) || (cta && !c.expect(".", "between the CTA and the name"))) return false;
    if (!parse_dotted(c, "the name of an object") || !parse_index(c, index)) return false;
    subjects.push_back(c.text_since(mark));
  } while (c.accept(";"));
  return c.expect(")", "after the objects");
}

}  // namespace

bool parse_let(Cursor& c, Statement& s) {
  c.take();
  s.kind = Statement::Kind::let;
  return parse_bindings(c, s, true);
}

bool parse_declaration(Cursor& c, Statement& s) {
  const Declaration* found = nullptr;
  for (const Declaration& d : kDeclarations)
    if (c.at(d.word)) found = &d;
  if (!c.at_word()) return c.fail(fmt::format("expected a declaration, read {}", c.read()));
  if (found == nullptr) return unknown_declaration(c);
  if (found->kind == Statement::Kind::let) return parse_let(c, s);
  c.take();
  s.kind = found->kind;
  switch (found->kind) {
    case Statement::Kind::param:
      return parse_parameter(c, s);
    case Statement::Kind::mbar:
      return parse_barriers(c, s);
    case Statement::Kind::var:
      return parse_bindings(c, s, false);
    case Statement::Kind::pool:
      return parse_pool(c, s);
    case Statement::Kind::cluster:
      s.size = parse_expression(c);
      return s.size && c.expect_end("the number of participants");
    case Statement::Kind::buffer:
    case Statement::Kind::tmem:
      return parse_memory(c, s);
    case Statement::Kind::agent:
      return parse_agent(c, s);
    case Statement::Kind::use:
      return parse_use(c, s);
    case Statement::Kind::option:
      return parse_option(c, s);
    case Statement::Kind::let:
    case Statement::Kind::loop:
    case Statement::Kind::branch:
    case Statement::Kind::operation:
      break;
  }
  return false;
}

bool parse_expectation(Cursor& c, Expectation& e) {
  e.at = c.position();
  c.take();  // =>
  do {
    const std::optional<std::string> variant = c.word("the name of a variant");
    if (!variant) return false;
    e.variants.push_back(*variant);
  } while (c.accept("|"));
  if (!c.expect(":", "after the variants")) return false;
  bool safe = false;
  do {
    const Position at = c.position();
    ExpectedFinding finding;
    const std::optional<std::string> name = parse_hyphenated(c, "a verdict class");
    if (!name) return false;
    safe = safe || *name == "safe";
    if (safe && !(e.findings.empty() && *name == "safe"))
      return c.fail(at, "'safe' stands alone: nothing may be reported");
    if (safe) continue;
    const auto known = verdict_classes();
    if (std::find(known.begin(), known.end(), *name) == known.end())
      return c.fail(
          at, fmt::format("there is no verdict class '{}'{}", *name, suggestion(*name, known, "classes")));
    finding.verdict_class = *name;
    if (c.accept("(") && !parse_subjects(c, finding.subjects)) return false;
    e.findings.push_back(std::move(finding));
  } while (c.accept(","));
  if (c.accept("[")) {
    if (!c.expect("derived", "between '[' and ']'") || !c.expect("]", "after 'derived'")) return false;
    e.derived = true;
  }
  return c.expect_end("the verdicts");
}

}  // namespace turnstile::mimw
