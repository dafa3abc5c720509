// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace turnstile::mimw {

/// Syntax tree of a .mimw text: what is written, with positions; nothing is evaluated, names are not looked
/// up. The language is described in docs/mimw.md.

struct Position {
  unsigned line = 0;  ///< 1-based
  unsigned column = 0;
};

/// Expressions lie in one vector of the program and name their operands by index.
using ExprId = uint32_t;

enum class Operator : uint8_t {
  negate,
  logical_not,
  multiply,
  divide,
  remainder,
  add,
  subtract,
  shift_left,
  shift_right,
  bit_and,
  bit_xor,
  bit_or,
  less,
  less_equal,
  greater,
  greater_equal,
  equal,
  not_equal,
  logical_and,
  logical_or,
};

struct Expr {
  enum class Kind : uint8_t { number, name, element, call, unary, binary };
  Kind kind = Kind::number;
  Operator op = Operator::add;  ///< unary, binary
  Position at;                  ///< binary: of the operator
  int64_t number = 0;
  std::string name;               ///< name; element: of the list; call: of the function
  std::vector<ExprId> arguments;  ///< element: the index; unary, binary: the operands
  unsigned height = 1;            ///< of the tree under it
};

/// An object as an operand: `@0.tm.acc[i%S]#i`.
struct Ref {
  Position at;
  std::string text;           ///< as written, without the tag
  std::optional<ExprId> cta;  ///< of `@k.`
  std::string name;           ///< "tm.acc"
  std::optional<ExprId> index;
  std::optional<ExprId> tag;  ///< a plain unknown name here is a label (`#dsT`)
};

/// `name=value` of a let, var, pool or use.
struct Binding {
  Position at;
  std::string name;
  bool is_list = false;
  std::vector<ExprId> values;  ///< one, unless is_list
};

/// A value of a parameter: one number, or `low..high`, both included.
struct ParameterValue {
  ExprId low = 0;
  std::optional<ExprId> high;
};

/// `name[extent]:count` of mbar, `name[extent]` of buffer and tmem.
struct Declared {
  Position at;
  std::optional<ExprId> cta;
  std::string name;
  std::optional<ExprId> extent;
  std::optional<ExprId> count;  ///< mbar
};

enum class Operation : uint8_t;

struct Statement {
  enum class Kind : uint8_t {
    // at the top level and in agents
    let,
    // at the top level
    param,
    mbar,
    var,
    pool,
    cluster,
    buffer,
    tmem,
    agent,
    use,
    option,
    // in agents
    loop,
    branch,
    operation,
  };
  Kind kind = Kind::let;
  Position at;
  std::vector<std::string> marks;  ///< variants in which it exists; empty: all
  std::string text;                ///< of its line, without marks and comment

  std::vector<Binding> bindings;           // let, var, pool, use
  std::string name;                        // param, use, option; loop: its variable
  std::vector<ParameterValue> choices;     // param
  std::vector<Declared> declared;          // mbar, buffer, tmem
  std::vector<std::string> consumers;      // use: names of the agents that take the last block
  Position consumers_at;                   // use
  std::string variant;                     // use
  Position variant_at;                     // use
  bool must_return = false;                // pool
  bool global = false;                     // buffer
  std::optional<ExprId> first, last;       // loop (`< n` has no first); agent: its CTAs
  std::optional<ExprId> size;              // cluster; buffer: bytes; tmem: columns; agent: threads
  std::optional<ExprId> address;           // buffer, tmem
  std::optional<ExprId> condition;         // branch
  std::vector<Declared> agents;            // agent
  Operation op{};                          // operation
  std::vector<Ref> targets;                // operation: what it works on; copies: destinations
  std::vector<Ref> results;                // operation: behind `=>` or `->`
  std::vector<ExprId> values;              // operation
  std::optional<Ref> descriptor;           // operation: behind `using`
  std::vector<Statement> body, otherwise;  // agent, loop, branch
};

/// `race(x;y)`: a class of orchestration_bugs.md 2.3 with its subjects.
struct ExpectedFinding {
  std::string verdict_class;
  std::vector<std::string> subjects;
};

struct Expectation {
  Position at;
  std::vector<std::string> variants;
  std::vector<ExpectedFinding> findings;  ///< empty: safe
  bool derived = false;                   ///< marked [derived]
};

struct SyntaxTree {
  std::string name;  ///< empty if the text does not begin with one
  std::vector<Expr> expressions;
  std::vector<Statement> statements;
  std::vector<Expectation> expectations;
  bool names_ctas = false;  ///< some object is written with `@`
};

}  // namespace turnstile::mimw
