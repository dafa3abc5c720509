// SPDX-License-Identifier: Apache-2.0
#include "fmt/format.h"
#include "model/launch/nearest_name.h"
#include "model/mimw/cursor.h"
#include "model/mimw/operations.h"

namespace turnstile::mimw {
namespace {

std::string_view operand_word(OperationInfo::Operand operand) {
  switch (operand) {
    case OperationInfo::Operand::object:
      return "an object";
    case OperationInfo::Operand::barrier:
      return "a barrier";
    case OperationInfo::Operand::variable:
      return "a variable";
    case OperationInfo::Operand::pool:
      return "a pool";
  }
  return "";
}

bool add_ref(Cursor& c, std::string_view what, std::vector<Ref>& refs) {
  std::optional<Ref> ref = parse_ref(c, what);
  if (!ref) return false;
  refs.push_back(std::move(*ref));
  return true;
}

bool add_value(Cursor& c, const OperationInfo& op, std::vector<ExprId>& values) {
  if (c.at_end())
    return c.fail(fmt::format("expected a value, read the end of the line; usage: {}", op.usage));
  const std::optional<ExprId> value = parse_expression(c);
  if (value) values.push_back(*value);
  return value.has_value();
}

bool parse_targets(Cursor& c, const OperationInfo& op, Statement& s) {
  const std::string_view what = operand_word(op.operand);
  while (s.targets.size() < op.most_targets) {
    if (c.at_end())
      return c.fail(fmt::format("expected {}, read the end of the line; usage: {}", what, op.usage));
    // The slot of mbar_init is memory, whatever the first operand is.
    if (!add_ref(c, s.targets.empty() ? what : "an object", s.targets)) return false;
    if (s.targets.size() < op.least_targets) {
      if (!c.expect(",", fmt::format("(usage: {})", op.usage))) return false;
    } else if (op.most_targets != OperationInfo::many || !c.accept(",")) {
      return true;
    }
  }
  return true;
}

/// Behind `->`: a barrier for each target; behind `=>`: any number of results.
bool parse_results(Cursor& c, const OperationInfo& op, Statement& s) {
  if (op.arrow.empty()) return true;
  if (!c.expect(op.arrow, fmt::format("(usage: {})", op.usage))) return false;
  if (op.arrow == "=>") {
    do {
      if (!add_ref(c, "an object", s.results)) return false;
    } while (c.accept(","));
    return true;
  }
  for (size_t i = 0; i < s.targets.size(); ++i) {
    if (i != 0 && !c.expect(",", "before the barrier of the next destination")) return false;
    if (!add_ref(c, fmt::format("barrier {} of {}, one for each destination", i + 1, s.targets.size()),
                 s.results))
      return false;
  }
  return true;
}

bool parse_values(Cursor& c, const OperationInfo& op, Statement& s) {
  const bool bare = op.most_targets == 0;  // the first value has no comma before it
  if (op.least_values == 0 && c.at_end()) return true;
  while (s.values.size() < op.most_values) {
    const bool first_bare = bare && s.values.empty();
    if (!first_bare && s.values.size() >= op.least_values && !c.at(",")) return true;
    if (!first_bare && !c.expect(",", fmt::format("(usage: {})", op.usage))) return false;
    if (!add_value(c, op, s.values)) return false;
  }
  return true;
}

bool parse_operation(Cursor& c, Statement& s) {
  const Position at = c.position();
  const std::string name(c.take().text);
  const OperationInfo* op = find_operation(name);
  if (op == nullptr) {
    std::vector<std::string_view> known = {"let", "for", "if", "else"};
    for (const OperationInfo& o : operations()) known.push_back(o.name);
    const std::string_view nearest = nearest_name(name, known);
    return c.fail(at, fmt::format("there is no operation '{}'{}", name,
                                  nearest.empty() ? "; docs/mimw.md lists them"
                                                  : fmt::format("; did you mean '{}'?", nearest)));
  }
  s.kind = Statement::Kind::operation;
  s.op = op->operation;
  if (!parse_targets(c, *op, s) || !parse_results(c, *op, s) || !parse_values(c, *op, s)) return false;
  if (op->takes_descriptor && c.accept("using")) {
    s.descriptor = parse_ref(c, "a descriptor");
    if (!s.descriptor) return false;
  }
  if (!c.at_end())
    return c.fail(fmt::format("expected the end of the line, read {}; usage: {}", c.read(), op->usage));
  return !c.failed();
}

bool parse_loop(Cursor& c, Statement& s) {
  c.take();
  s.kind = Statement::Kind::loop;
  const std::optional<std::string> name = c.word("the variable of the loop");
  if (!name) return false;
  s.name = *name;
  if (c.accept("<")) {
    s.last = parse_expression(c);
    return s.last && c.expect_end("the loop");
  }
  if (!c.accept("in"))
    return c.fail(fmt::format("expected '<' or 'in', read {}; loops are 'for {} < n' or 'for {} in a..b'",
                              c.read(), s.name, s.name));
  s.first = parse_expression(c);
  if (!s.first || !c.expect("..", "between the bounds")) return false;
  s.last = parse_expression(c);
  return s.last && c.expect_end("the loop");
}

bool parse_branch(Cursor& c, Statement& s) {
  c.take();
  s.kind = Statement::Kind::branch;
  s.condition = parse_expression(c);
  if (s.condition && c.at("=")) return c.fail("expected a comparison, read '='; equality is '=='");
  return s.condition && c.expect_end("the condition");
}

}  // namespace

bool parse_action(Cursor& c, Statement& s) {
  if (c.at("let")) return parse_let(c, s);
  if (c.at("for")) return parse_loop(c, s);
  if (c.at("if")) return parse_branch(c, s);
  if (!c.at_word()) return c.fail(fmt::format("expected an operation, read {}", c.read()));
  return parse_operation(c, s);
}

}  // namespace turnstile::mimw
