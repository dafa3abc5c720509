// SPDX-License-Identifier: Apache-2.0
// The formatter: one layout, comments kept, nothing to do the second time, same meaning.
#include "tests/model/mimw_support.h"

namespace turnstile {
namespace {

std::string formatted(std::string_view text) {
  const Result<std::string> out = format_mimw(text, "t.mimw");
  if (!out) FAIL(out.error().text());
  const Result<std::string> again = format_mimw(*out, "t.mimw");
  REQUIRE(again.has_value());
  CHECK(*again == *out);
  return *out;
}

}  // namespace

TEST_CASE("blanks between tokens, indentation and empty lines become canonical") {
  CHECK(formatted("\n\n  -- head\nring\n\n\n\nlet  n = 5 S=2   l = [ 0 , 1 ]\nparam k=1,2 , 3 .. 5\n"
                  "mbar full [ S ] : 1   @0 . e:n+1\npool r = 504 - ( n+1 )*2  must - return\n"
                  "agent   P  Q.w0  x128 @ 1 .. 2\n"
                  "       for i<n\n"
                  "          [ok | early]   wait full [i % S],(i / S & 1)^1--why\n"
                  "          if  not(i>=2)and n==-1 or  - i<3\n"
                  "             tma_load @0.b [i]# ( i+1 ) , @1.b->@0.e,@1.e,  min( n,2 )*3  using d\n"
                  "          else\n"
                  "             mma a,b=>tm . x#i\n"
                  "=>ok | early:race( @0.x ; @1.x ),mbar - underflow(full[1])[ derived ]\n\n\n") ==
        R"(-- head
ring

let n=5 S=2 l=[0,1]
param k = 1, 2, 3..5
mbar full[S]:1 @0.e:n+1
pool r=504-(n+1)*2 must-return
agent P Q.w0 x128 @1..2
  for i < n
    [ok|early] wait full[i%S], (i/S&1)^1  --why
    if not (i >= 2) and n == -1 or -i < 3
      tma_load @0.b[i]#(i+1), @1.b -> @0.e, @1.e, min(n, 2)*3 using d
    else
      mma a, b => tm.x#i
=> ok|early: race(@0.x;@1.x), mbar-underflow(full[1]) [derived]
)");
}

TEST_CASE("comments keep to their block") {
  CHECK(formatted("-- a\nagent P\n    -- first in the block\n    for i < 2\n        nop\n        -- still in "
                  "the loop\n"
                  "    -- behind the loop\n    nop   -- beside\n-- at the margin\nagent Q\n    nop\n  -- "
                  "between\n") ==
        R"(-- a
agent P
  -- first in the block
  for i < 2
    nop
    -- still in the loop
  -- behind the loop
  nop  -- beside
-- at the margin
agent Q
  nop
-- between
)");
}

TEST_CASE("line ends, byte order marks and missing last line ends do not matter") {
  CHECK(formatted("\xef\xbb\xbf"
                  "agent P\r\n  nop\r\n") == "agent P\n  nop\n");
  CHECK(formatted("agent P\n  nop") == "agent P\n  nop\n");
  CHECK(formatted("agent P\n  nop  \n   \n") == "agent P\n  nop\n");
}

TEST_CASE("a text that does not parse is not formatted") {
  const Result<std::string> out = format_mimw("agent P\n  nopp\n", "t.mimw");
  REQUIRE_FALSE(out.has_value());
  CHECK(out.error().text() == "t.mimw:2:3: there is no operation 'nopp'; did you mean 'nop'?");
}

TEST_CASE("layout does not change the program") {
  for (const std::string& path : catalogue_files()) {
    CAPTURE(path);
    // Widen every indentation and every single blank; the formatter has to find the same text again.
    const std::string text = text_of(path);
    std::string wide;
    bool comment = false;
    for (size_t i = 0; i < text.size(); ++i) {
      if (text[i] == '\n') comment = false;
      if (text.compare(i, 2, "--") == 0) comment = true;
      wide += text[i];
      if (text[i] == ' ' && !comment) wide += ' ';
    }
    const Result<std::string> out = format_mimw(wide, path);
    REQUIRE(out.has_value());
    CHECK(*out == text);
  }
}

}  // namespace turnstile
