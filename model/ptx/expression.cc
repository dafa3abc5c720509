// SPDX-License-Identifier: Apache-2.0
#include "model/ptx/expression.h"

#include <fmt/format.h>

#include <bit>
#include <charconv>
#include <limits>

#include "model/ptx/limits.h"

namespace turnstile::ptx {
namespace {

// Higher binds tighter, as in C. 0: not a binary operator.
int precedence(const Token& t) {
  if (t.kind != TokenKind::punctuation) return 0;
  if (t.is("||")) return 1;
  if (t.is("&&")) return 2;
  if (t.is('|')) return 3;
  if (t.is('^')) return 4;
  if (t.is('&')) return 5;
  if (t.is("==") || t.is("!=")) return 6;
  if (t.is('<') || t.is('>') || t.is("<=") || t.is(">=")) return 7;
  if (t.is("<<") || t.is(">>")) return 8;
  if (t.is('+') || t.is('-')) return 9;
  if (t.is('*') || t.is('/') || t.is('%')) return 10;
  return 0;
}
constexpr int kProduct = 10, kAnything = 1;

bool hex_word(std::string_view digits, std::size_t length, uint64_t& out) {
  if (digits.size() != length) return false;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), out, 16);
  return error == std::errc{} && end == digits.data() + digits.size();
}

bool literal(std::string_view text, Constant& out) {
  const char kind = text.size() > 1 && text[0] == '0' ? text[1] : '\0';
  if (kind == 'f' || kind == 'F') {
    out.kind = Constant::Kind::float32;
    return hex_word(text.substr(2), 8, out.bits);
  }
  if (kind == 'd' || kind == 'D') {
    out.kind = Constant::Kind::float64;
    return hex_word(text.substr(2), 16, out.bits);
  }
  const bool is_hex = kind == 'x' || kind == 'X';
  if (!is_hex && text.find_first_of(".eE") != std::string_view::npos) {
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    out.kind = Constant::Kind::float64;
    out.bits = std::bit_cast<uint64_t>(value);
    return error == std::errc{} && end == text.data() + text.size();
  }
  if (text.ends_with('U')) {
    out.is_unsigned = true;
    text.remove_suffix(1);
  }
  int base = 10;
  if (is_hex) base = 16;
  if (kind == 'b' || kind == 'B') base = 2;
  if (base != 10)
    text.remove_prefix(2);
  else if (text.size() > 1 && text[0] == '0')
    base = 8;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out.bits, base);
  if (error != std::errc{} || end != text.data() + text.size()) return false;
  if ((out.bits >> 63) != 0) out.is_unsigned = true;
  return true;
}

class Expressions {
 public:
  explicit Expressions(Cursor& cursor) : cursor_(cursor) {}

  bool binary(int lowest, Constant& out) { return unary(out) && rest(lowest, out); }

  // Operators of at least this precedence behind a first operand (precedence climbing).
  bool rest(int lowest, Constant& left) {
    for (;;) {
      const int p = precedence(cursor_.token());
      if (p == 0 || p < lowest) break;
      const Token op = cursor_.take();
      Constant right;
      if (!binary(p + 1, right) || !apply(op, left, right)) return false;
    }
    if (lowest == kAnything && cursor_.at('?')) return ternary(left);
    return !cursor_.failed();
  }

  bool apply_sign(const Token& op, Constant& c) {
    if (c.kind != Constant::Kind::integer) {
      if (op.is('+')) return true;
      if (!op.is('-')) return no_floats(op);
      c.bits ^= c.kind == Constant::Kind::float32 ? uint64_t{1} << 31 : uint64_t{1} << 63;
      return true;
    }
    if (op.is('-')) c.bits = 0 - c.bits;
    if (op.is('~')) c.bits = ~c.bits;
    if (op.is('!')) c = {Constant::Kind::integer, false, c.bits == 0 ? uint64_t{1} : uint64_t{0}};
    return true;
  }

  bool unary(Constant& out) {
    if (++depth_ > limits::expression_nesting)
      return cursor_.fail(cursor_.token().position, fmt::format("this expression is nested more than {} deep",
                                                                limits::expression_nesting));
    const bool ok = cursor_.at('-') || cursor_.at('+') || cursor_.at('~') || cursor_.at('!')
                        ? signed_operand(out)
                        : primary(out);
    --depth_;
    return ok;
  }

 private:
  bool signed_operand(Constant& out) {
    const Token op = cursor_.take();
    return unary(out) && apply_sign(op, out);
  }

  bool primary(Constant& out) {
    const Token t = cursor_.token();
    if (t.kind == TokenKind::number) {
      cursor_.advance();
      if (!literal(t.text, out))
        return cursor_.fail(t.position, fmt::format("{} is not a number that PTX can hold", quoted(t.text)));
      return !cursor_.failed();
    }
    if (t.kind == TokenKind::identifier && t.text == "WARP_SZ") {
      cursor_.advance();
      out = {Constant::Kind::integer, false, 32};
      return !cursor_.failed();
    }
    if (!cursor_.accept('(')) return cursor_.expected("a constant");
    if (cursor_.at(TokenKind::directive)) return cast(out);
    return binary(kAnything, out) && cursor_.expect(')', "after the constant expression");
  }

  // `(.s64) x` and `(.u64) x` only change how x is read (PTX ISA 4.5.4).
  bool cast(Constant& out) {
    const bool to_signed = cursor_.at_directive(".s64");
    if (!to_signed && !cursor_.at_directive(".u64")) return cursor_.expected("'.s64' or '.u64' in this cast");
    const Token type = cursor_.take();
    if (!cursor_.expect(')', "after the type of the cast") || !unary(out)) return false;
    if (out.kind != Constant::Kind::integer) return no_floats(type);
    out.is_unsigned = !to_signed;
    return true;
  }

  bool ternary(Constant& condition) {
    const Token question = cursor_.take();
    if (condition.kind != Constant::Kind::integer) return no_floats(question);
    if (++depth_ > limits::expression_nesting)
      return cursor_.fail(question.position, fmt::format("this expression is nested more than {} deep",
                                                         limits::expression_nesting));
    Constant yes, no;
    if (!binary(kAnything, yes) || !cursor_.expect(':', "in the conditional expression") ||
        !binary(kAnything, no))
      return false;
    --depth_;
    condition = condition.bits != 0 ? yes : no;
    return true;
  }

  bool no_floats(const Token& op) {
    return cursor_.fail(op.position,
                        fmt::format("{} on floating-point constants is not supported", quoted(op.text)));
  }

  bool apply(const Token& op, Constant& left, const Constant& right) {
    if (left.kind != Constant::Kind::integer || right.kind != Constant::Kind::integer) return no_floats(op);
    const bool is_unsigned = left.is_unsigned || right.is_unsigned;
    const uint64_t a = left.bits, b = right.bits;
    const auto sa = static_cast<int64_t>(a), sb = static_cast<int64_t>(b);
    const auto set = [&](uint64_t bits) {
      left = {Constant::Kind::integer, is_unsigned, bits};
      return true;
    };
    const auto truth = [&](bool value) {
      left = {Constant::Kind::integer, false, value ? uint64_t{1} : uint64_t{0}};
      return true;
    };
    if (op.is('+')) return set(a + b);
    if (op.is('-')) return set(a - b);
    if (op.is('*')) return set(a * b);
    if (op.is('&')) return set(a & b);
    if (op.is('|')) return set(a | b);
    if (op.is('^')) return set(a ^ b);
    if (op.is("&&")) return truth(a != 0 && b != 0);
    if (op.is("||")) return truth(a != 0 || b != 0);
    if (op.is("==")) return truth(a == b);
    if (op.is("!=")) return truth(a != b);
    if (op.is('<')) return truth(is_unsigned ? a < b : sa < sb);
    if (op.is('>')) return truth(is_unsigned ? a > b : sa > sb);
    if (op.is("<=")) return truth(is_unsigned ? a <= b : sa <= sb);
    if (op.is(">=")) return truth(is_unsigned ? a >= b : sa >= sb);
    if (op.is("<<") || op.is(">>")) {
      if (b > 63)
        return cursor_.fail(op.position, "the shift count of a constant expression must be between 0 and 63");
      left.bits = op.is("<<") ? a << b : left.is_unsigned ? a >> b : static_cast<uint64_t>(sa >> b);
      return true;
    }
    if (b == 0) return cursor_.fail(op.position, "division by zero in a constant expression");
    const bool divides = op.is('/');
    if (is_unsigned) return set(divides ? a / b : a % b);
    if (sb == -1) return set(divides ? 0 - a : 0);  // INT64_MIN / -1 must not trap
    return set(static_cast<uint64_t>(divides ? sa / sb : sa % sb));
  }

  Cursor& cursor_;
  uint32_t depth_ = 0;
};

bool in_range(Cursor& cursor, const Token& first, const Constant& c, std::string_view what, uint64_t lowest,
              uint64_t highest, uint64_t& out) {
  if (c.kind != Constant::Kind::integer || c.is_negative() || c.bits < lowest || c.bits > highest)
    return cursor.fail(first.position,
                       fmt::format("{} must be a whole number between {} and {}", what, lowest, highest));
  out = c.bits;
  return true;
}

}  // namespace

bool begins_constant(const Token& t) {
  return t.kind == TokenKind::number || t.is('(') || t.is('-') || t.is('+') || t.is('~') || t.is('!') ||
         (t.kind == TokenKind::identifier && t.text == "WARP_SZ");
}

bool parse_constant(Cursor& cursor, Constant& out) { return Expressions(cursor).binary(kAnything, out); }

bool parse_constant_after_sign(Cursor& cursor, Token sign, Constant& out) {
  Expressions expressions(cursor);
  return expressions.unary(out) && expressions.apply_sign(sign, out) && expressions.rest(kAnything, out);
}

bool parse_constant_after_value(Cursor& cursor, Constant& first_and_out) {
  return Expressions(cursor).rest(kAnything, first_and_out);
}

bool parse_summand(Cursor& cursor, Constant& out) { return Expressions(cursor).binary(kProduct, out); }

bool parse_number(Cursor& cursor, std::string_view what, uint64_t lowest, uint64_t highest, uint64_t& out) {
  const Token first = cursor.token();
  if (first.kind != TokenKind::number) return cursor.expected(what);
  cursor.advance();
  Constant c;
  if (!literal(first.text, c))
    return cursor.fail(first.position,
                       fmt::format("{} is not a number that PTX can hold", quoted(first.text)));
  return !cursor.failed() && in_range(cursor, first, c, what, lowest, highest, out);
}

bool parse_integer(Cursor& cursor, std::string_view what, uint64_t lowest, uint64_t highest, uint64_t& out) {
  const Token first = cursor.token();
  if (!begins_constant(first)) return cursor.expected(what);
  Constant c;
  return parse_constant(cursor, c) && in_range(cursor, first, c, what, lowest, highest, out);
}

}  // namespace turnstile::ptx
