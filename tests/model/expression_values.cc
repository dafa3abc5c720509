// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <cstdint>
#include <limits>
#include <random>
#include <string>

#include "model/launch/expression.h"

namespace turnstile {
namespace {

const std::map<std::string, int64_t> kVars = {{"M", 513}, {"N", 256}, {"K", 0}, {"sms", 132}};

int64_t value(const std::string& text) {
  const Result<int64_t> result = evaluate(text, kVars);
  INFO(text);
  REQUIRE_MESSAGE(result.has_value(), result.error().message);
  return *result;
}

Error error(const std::string& text) {
  const Result<int64_t> result = evaluate(text, kVars);
  INFO(text);
  REQUIRE_FALSE(result.has_value());
  return result.error();
}

bool mentions(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// Text of a random expression and its value, computed beside it in 128 bits; no value where 64 bits do not
/// hold it.
struct Random {
  std::string text;
  __int128 value = 0;
  bool valid = true;
};
Random random_expression(std::mt19937& random, int depth) {
  if (depth == 0 || random() % 4 == 0) {
    const int64_t number = static_cast<int64_t>(random() % 1000);
    return {std::to_string(number), number, true};
  }
  const Random a = random_expression(random, depth - 1), b = random_expression(random, depth - 1);
  Random result{"", 0, a.valid && b.valid};
  switch (random() % 8) {
    case 0:
      result.text = "(" + a.text + "+" + b.text + ")", result.value = a.value + b.value;
      break;
    case 1:
      result.text = "(" + a.text + " - " + b.text + ")", result.value = a.value - b.value;
      break;
    case 2:
      result.text = "(" + a.text + "*" + b.text + ")", result.value = a.value * b.value;
      break;
    case 3:
    case 4:
      result.text = "(" + a.text + (random() % 2 == 0 ? "/" : "%");
      result.valid = result.valid && b.value != 0;
      if (result.valid) result.value = result.text.back() == '/' ? a.value / b.value : a.value % b.value;
      result.text += b.text + ")";
      break;
    case 5:
      result.text = "min(" + a.text + "," + b.text + ")",
      result.value = a.value < b.value ? a.value : b.value;
      break;
    case 6:
      result.text = "max( " + a.text + " , " + b.text + " )",
      result.value = a.value < b.value ? b.value : a.value;
      break;
    default:
      result.text = "-" + a.text, result.value = -a.value, result.valid = a.valid;
      break;
  }
  if (result.value > std::numeric_limits<int64_t>::max() ||
      result.value < std::numeric_limits<int64_t>::min()) {
    result.valid = false;
    result.value = 0;
  }
  return result;
}

}  // namespace

TEST_CASE("expressions have the value that C gives them") {
  CHECK(value("1+2*3") == 7);
  CHECK(value("(1+2)*3") == 9);
  CHECK(value("10-3-2") == 5);
  CHECK(value("100/7/2") == 7);
  CHECK(value("-7/2") == -3);
  CHECK(value("-7%4") == -3);
  CHECK(value("2*-3") == -6);
  CHECK(value("--5") == 5);
  CHECK(value("0x1F + 0xfF") == 31 + 255);
  CHECK(value("  M ") == 513);
  CHECK(value("9223372036854775807") == INT64_MAX);
  CHECK(value("-9223372036854775807-1") == INT64_MIN);
}

TEST_CASE("functions of launch files") {
  CHECK(value("min(sms, ceil_div(M,128)*ceil_div(N,256))") == 5);
  CHECK(value("max(K,1)") == 1);
  CHECK(value("max(3,9,4)") == 9);
  CHECK(value("min(7)") == 7);
  CHECK(value("round_up(max(K,1),8)*2") == 16);
  CHECK(value("ceil_div(0,128)") == 0);
  CHECK(value("ceil_div(128,128)") == 1);
  CHECK(value("ceil_div(129,128)") == 2);
  CHECK(value("ceil_div(0-5,2)") == -2);
  CHECK(value("round_up(17,8)") == 24);
  CHECK(value("round_up(16,8)") == 16);
}

TEST_CASE("errors quote the expression and the column") {
  CHECK(error("M + P").message ==
        "in the expression \"M + P\", column 5: unknown variable 'P'; known variables: K, M, N, sms");
  CHECK(error("M + P").column == 5);
  CHECK(mentions(error("smx").message, "did you mean 'sms'?"));
  CHECK(mentions(error("ceil_dif(M,2)").message, "did you mean 'ceil_div'?"));
  CHECK(error("M +").column == 4);
  CHECK(mentions(error("M +").message, "ends here"));
  CHECK(mentions(error("").message, "ends here"));
  CHECK(error("(M").column == 3);
  CHECK(mentions(error("M N").message, "unexpected 'N'"));
  CHECK(mentions(error("M / K").message, "by zero"));
  CHECK(mentions(error("M % K").message, "by zero"));
  CHECK(mentions(error("ceil_div(M,K)").message, "positive divisor"));
  CHECK(mentions(error("ceil_div(M)").message, "takes 2 arguments"));
  CHECK(mentions(error("min()").message, "was expected"));
  CHECK(mentions(error("12ab").message, "not a number"));
  CHECK(mentions(error("0x").message, "not a number"));
  CHECK(mentions(error("1.5").message, "unexpected '.5'"));
  CHECK(mentions(error("M ^ 2").message, "unexpected '^ 2'"));
  CHECK(mentions(error("$").message, "'$'"));
}

TEST_CASE("overflow is an error, never a wrapped value") {
  CHECK(mentions(error("9223372036854775808").message, "64 signed bits"));
  CHECK(mentions(error("9223372036854775807+1").message, "'+'"));
  CHECK(mentions(error("-9223372036854775807-2").message, "'-'"));
  CHECK(mentions(error("3037000500*3037000500").message, "'*'"));
  CHECK(mentions(error("(-9223372036854775807-1)/-1").message, "'/'"));
  CHECK(mentions(error("-(-9223372036854775807-1)").message, "'-'"));
  CHECK(mentions(error("round_up(9223372036854775807, 8)").message, "round_up"));
  CHECK(mentions(error("0xFFFFFFFFFFFFFFFF").message, "64 signed bits"));
}

TEST_CASE("deep and long expressions are refused, not recursed into") {
  CHECK(mentions(error(std::string(2000, '(')).message, "nested deeper"));
  CHECK(mentions(error(std::string(2000, '-') + "1").message, "nested deeper"));
  std::string calls;
  for (int i = 0; i < 500; ++i) calls += "min(";
  CHECK(mentions(error(calls).message, "nested deeper"));
  CHECK(mentions(error(std::string(5000, ' ') + "1").message, "4096"));
  CHECK(value(std::string(30, '(') + "1" + std::string(30, ')')) == 1);
}

TEST_CASE("random expressions agree with 128-bit arithmetic") {
  std::mt19937 random(20261130);
  size_t valid = 0;
  for (int i = 0; i < 4000; ++i) {
    const Random expression = random_expression(random, 5);
    const Result<int64_t> result = evaluate(expression.text, {});
    INFO(expression.text);
    REQUIRE(result.has_value() == expression.valid);
    if (!result) continue;
    ++valid;
    REQUIRE(*result == static_cast<int64_t>(expression.value));
  }
  CHECK(valid > 2000);
}

TEST_CASE("random garbage gives a value or an error with a column inside the text") {
  std::mt19937 random(3);
  const std::string alphabet = "MNK0189x+-*/%(), minax_ceil_div\"\\\n\x80";
  for (int i = 0; i < 20000; ++i) {
    std::string text;
    for (size_t length = random() % 24; length > 0; --length) text += alphabet[random() % alphabet.size()];
    const Result<int64_t> result = evaluate(text, kVars);
    if (!result) REQUIRE((result.error().column >= 1 && result.error().column <= text.size() + 1));
  }
}

TEST_CASE("names of variables") {
  CHECK(is_variable_name("M"));
  CHECK(is_variable_name("_k_2"));
  CHECK_FALSE(is_variable_name(""));
  CHECK_FALSE(is_variable_name("2M"));
  CHECK_FALSE(is_variable_name("k-tiles"));
  CHECK_FALSE(is_variable_name("min"));
}

}  // namespace turnstile
