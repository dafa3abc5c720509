// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "model/result.h"

namespace turnstile {

/// Value of an integer expression of a launch file, for example "min(sms, ceil_div(M,128)*ceil_div(N,256))".
///
///   sum     := product (('+' | '-') product)*
///   product := factor (('*' | '/' | '%') factor)*
///   factor  := '-' factor | number | variable | function '(' sum (',' sum)* ')' | '(' sum ')'
///
/// Numbers are decimal or 0x hexadecimal. `/` and `%` truncate as in C. Functions: min and max of one or
/// more, ceil_div(a, b) and round_up(a, b) with b > 0. Everything is 64-bit signed; overflow is an error,
/// never a wrapped value. The error's column counts from 1 in `text`, and its message quotes the expression.
Result<int64_t> evaluate(std::string_view text, const std::map<std::string, int64_t>& vars);

/// Whether `name` can be a variable: a letter or '_', then letters, digits, '_', and not the name of a
/// function.
bool is_variable_name(std::string_view name);

}  // namespace turnstile
