// SPDX-License-Identifier: Apache-2.0
#include "model/launch/expression.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "model/launch/nearest_name.h"

namespace turnstile {
namespace {

constexpr size_t kLongestExpression = 4096;
constexpr int kDeepestNesting = 64;
constexpr std::string_view kFunctions[] = {"min", "max", "ceil_div", "round_up"};

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Recursive descent; evaluates while it parses.
class Evaluator {
 public:
  Evaluator(std::string_view text, const std::map<std::string, int64_t>& vars) : text_(text), vars_(vars) {}

  Result<int64_t> run() {
    if (text_.size() > kLongestExpression)
      return fail({}, 0, 1,
                  fmt::format("the expression has {} characters; {} are the limit", text_.size(),
                              kLongestExpression));
    Result<int64_t> value = sum();
    if (!value) return value;
    skip_blanks();
    if (at_ != text_.size())
      return failed(at_, fmt::format("unexpected '{}' after the expression's end", rest()));
    return value;
  }

 private:
  Result<int64_t> sum() {
    if (++depth_ > kDeepestNesting)
      return failed(at_, fmt::format("nested deeper than {} levels", kDeepestNesting));
    Result<int64_t> left = product();
    while (left) {
      const size_t place = at_;
      if (accept('+')) {
        left = combine(*left, product(), place, "+",
                       [](int64_t a, int64_t b, int64_t* r) { return __builtin_add_overflow(a, b, r); });
      } else if (accept('-')) {
        left = combine(*left, product(), place, "-",
                       [](int64_t a, int64_t b, int64_t* r) { return __builtin_sub_overflow(a, b, r); });
      } else {
        break;
      }
    }
    --depth_;
    return left;
  }

  Result<int64_t> product() {
    Result<int64_t> left = factor();
    while (left) {
      const size_t place = at_;
      if (accept('*')) {
        left = combine(*left, factor(), place, "*",
                       [](int64_t a, int64_t b, int64_t* r) { return __builtin_mul_overflow(a, b, r); });
      } else if (accept('/')) {
        left = divide(*left, factor(), place, '/');
      } else if (accept('%')) {
        left = divide(*left, factor(), place, '%');
      } else {
        break;
      }
    }
    return left;
  }

  Result<int64_t> factor() {
    skip_blanks();
    if (at_ == text_.size())
      return failed(at_, "a number, variable or '(' was expected, but the expression ends here");
    const size_t place = at_;
    if (accept('-')) {
      if (++depth_ > kDeepestNesting)
        return failed(place, fmt::format("nested deeper than {} levels", kDeepestNesting));
      Result<int64_t> value = factor();
      --depth_;
      return combine(0, value, place, "-",
                     [](int64_t a, int64_t b, int64_t* r) { return __builtin_sub_overflow(a, b, r); });
    }
    if (accept('(')) {
      Result<int64_t> value = sum();
      if (value && !accept(')')) return failed(at_, "')' was expected");
      return value;
    }
    if (is_digit(text_[at_])) return number();
    if (is_letter(text_[at_])) return name();
    return failed(at_, fmt::format("a number, variable or '(' was expected, not '{}'", rest()));
  }

  Result<int64_t> number() {
    const size_t place = at_;
    uint64_t base = 10;
    if (text_.substr(at_, 2) == "0x" || text_.substr(at_, 2) == "0X") {
      base = 16;
      at_ += 2;
    }
    uint64_t value = 0;
    size_t digits = 0;
    for (; at_ < text_.size(); ++at_, ++digits) {
      const char c = text_[at_];
      uint64_t digit = 0;
      if (is_digit(c)) {
        digit = static_cast<uint64_t>(c - '0');
      } else if (base == 16 && ((c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'))) {
        digit = 10 + static_cast<uint64_t>((c | 0x20) - 'a');
      } else {
        break;
      }
      if (value > (uint64_t{std::numeric_limits<int64_t>::max()} - digit) / base)
        return failed(place, "the number does not fit into 64 signed bits");
      value = value * base + digit;
    }
    if (digits == 0 || (at_ < text_.size() && is_letter(text_[at_])))
      return failed(place, "this is not a number");
    return static_cast<int64_t>(value);
  }

  Result<int64_t> name() {
    const size_t place = at_;
    while (at_ < text_.size() && (is_letter(text_[at_]) || is_digit(text_[at_]))) ++at_;
    const std::string word(text_.substr(place, at_ - place));
    if (accept('(')) return call(word, place);
    if (const auto found = vars_.find(word); found != vars_.end()) return found->second;
    std::vector<std::string_view> known;
    for (const auto& [variable, value] : vars_) known.push_back(variable);
    return failed(place, fmt::format("unknown variable '{}'{}", word, suggestion(word, known, "variables")));
  }

  Result<int64_t> call(const std::string& function, size_t place) {
    if (std::find(std::begin(kFunctions), std::end(kFunctions), function) == std::end(kFunctions))
      return failed(place, fmt::format("unknown function '{}'{}", function,
                                       suggestion(function, kFunctions, "functions")));
    std::vector<int64_t> arguments;
    do {
      const Result<int64_t> value = sum();
      if (!value) return value;
      arguments.push_back(*value);
    } while (accept(','));
    if (!accept(')'))
      return failed(at_, fmt::format("',' or ')' was expected in the call of '{}'", function));
    if (function == "min") return *std::min_element(arguments.begin(), arguments.end());
    if (function == "max") return *std::max_element(arguments.begin(), arguments.end());
    if (arguments.size() != 2)
      return failed(place, fmt::format("'{}' takes 2 arguments, not {}", function, arguments.size()));
    const int64_t a = arguments[0], b = arguments[1];
    if (b <= 0) return failed(place, fmt::format("'{}' needs a positive divisor, not {}", function, b));
    const int64_t quotient = a / b + (a % b > 0 ? 1 : 0);
    if (function == "ceil_div") return quotient;
    int64_t product = 0;
    if (__builtin_mul_overflow(quotient, b, &product)) return overflow(place, "round_up");
    return product;
  }

  template <typename Operation>
  Result<int64_t> combine(int64_t left, const Result<int64_t>& right, size_t place, const char* sign,
                          Operation operation) {
    if (!right) return right;
    int64_t value = 0;
    if (operation(left, *right, &value)) return overflow(place, sign);
    return value;
  }

  Result<int64_t> divide(int64_t left, const Result<int64_t>& right, size_t place, char sign) {
    if (!right) return right;
    if (*right == 0) return failed(place, fmt::format("'{}' by zero", sign));
    if (left == std::numeric_limits<int64_t>::min() && *right == -1) return overflow(place, "/");
    return sign == '/' ? left / *right : left % *right;
  }

  Result<int64_t> overflow(size_t place, std::string_view what) {
    return failed(place, fmt::format("the result of '{}' does not fit into 64 signed bits", what));
  }

  void skip_blanks() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
  }
  bool accept(char c) {
    skip_blanks();
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  std::string rest() const { return std::string(text_.substr(at_, 16)); }

  tl::unexpected<Error> failed(size_t at, const std::string& what) {
    while (at < text_.size() && (text_[at] == ' ' || text_[at] == '\t')) ++at;
    return fail({}, 0, static_cast<unsigned>(at + 1),
                fmt::format("in the expression \"{}\", column {}: {}", text_, at + 1, what));
  }

  std::string_view text_;
  const std::map<std::string, int64_t>& vars_;
  size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace

Result<int64_t> evaluate(std::string_view text, const std::map<std::string, int64_t>& vars) {
  return Evaluator(text, vars).run();
}

bool is_variable_name(std::string_view name) {
  if (name.empty() || !is_letter(name[0])) return false;
  if (!std::all_of(name.begin(), name.end(), [](char c) { return is_letter(c) || is_digit(c); }))
    return false;
  return std::find(std::begin(kFunctions), std::end(kFunctions), name) == std::end(kFunctions);
}

}  // namespace turnstile
