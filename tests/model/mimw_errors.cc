// SPDX-License-Identifier: Apache-2.0
// What a user reads of a .mimw text with a mistake: the exact place, what was read, what was expected.
#include "tests/model/mimw_support.h"

namespace turnstile {

TEST_CASE("a misspelt operation, keyword or option is answered with the nearest one") {
  CHECK(mimw_error("mbar full:1\nagent P\n  arive full\n") ==
        "t.mimw:3:3: there is no operation 'arive'; did you mean 'arrive'?");
  CHECK(mimw_error("agnet P\n  nop\n") ==
        "t.mimw:1:1: expected a declaration, read 'agnet'; did you mean 'agent'?");
  CHECK(mimw_error("option in-order-copy\nagent P\n  nop\n") ==
        "t.mimw:1:8: there is no option 'in-order-copy'; did you mean 'in-order-copies'?");
  CHECK(mimw_error("agent P\n  nop\n=> bug: deadlok\n") ==
        "t.mimw:3:9: there is no verdict class 'deadlok'; did you mean 'deadlock'?");
}

TEST_CASE("a misspelt name is answered with the nearest one") {
  CHECK(mimw_error("mbar full[2]:1\nagent P\n  wait ful[0], 0\n") ==
        "t.mimw:3:8: there is no barrier 'ful'; did you mean 'full'?");
  CHECK(mimw_error("let stages=2\nmbar full[stage]:1\nagent P\n  nop\n") ==
        "t.mimw:2:11: there is no value named 'stage'; did you mean 'stages'?");
  CHECK(mimw_error("var done=0\nagent P\n  inc dne\n") ==
        "t.mimw:3:7: there is no variable 'dne'; did you mean 'done'?");
  CHECK(mimw_error("buffer smem_a[2] bytes 64\nagent P\n  read smem_b[0]\n") ==
        "t.mimw:3:8: there is no buffer 'smem_b'; did you mean 'smem_a'?");
  CHECK(
      mimw_error("agent P\n  for iter < 3\n    write buf#itr\n") ==
      "t.mimw:3:15: there is no value 'itr' for the tag; did you mean 'iter'? A label must look less like a "
      "value");
  CHECK(mimw_error("let k_tiles=3\nagent P\n  nop\n", {{"k_tile", 4}}) ==
        "t.mimw: there is no value 'k_tile' to set in variant 'ok'; did you mean 'k_tiles'?");
}

TEST_CASE("what is not declared says how to declare it") {
  CHECK(mimw_error("agent P\n  arrive full\n") ==
        "t.mimw:2:10: there is no barrier 'full'; declare it: 'mbar NAME:COUNT'");
  CHECK(mimw_error("agent P\n  cluster_sync\n") ==
        "t.mimw:2:3: the cluster barrier has no number of participants; declare it: 'cluster N'");
  CHECK(mimw_error("agent P\n  read buf\n  write buf[0]\n") ==
        "t.mimw:3:9: 'buf' is used with and without an index; declare it: 'buffer buf[n]'");
}

TEST_CASE("a missing operand is reported where it was expected, with the usage") {
  CHECK(mimw_error("mbar b:1\nagent P\n  wait b\n") ==
        "t.mimw:3:9: expected ',' (usage: wait BARRIER, PARITY), read the end of the line");
  CHECK(mimw_error("mbar b:1\nagent P\n  arrive_tx b,  -- bytes\n") ==
        "t.mimw:3:15: expected a value, read the end of the line; usage: arrive_tx BARRIER, BYTES");
  CHECK(mimw_error("agent P\n  tma_load buf, 100\n") == "t.mimw:2:17: expected an object, read '100'");
  CHECK(mimw_error("mbar b:1\nagent P\n  tma_load @0.x, @1.x -> b, 100\n") ==
        "t.mimw:3:29: expected barrier 2 of 2, one for each destination, read '100'");
  CHECK(mimw_error("agent P\n  bar_sync 1\n") ==
        "t.mimw:2:13: expected ',' (usage: bar_sync ID, THREADS), read the end of the line");
  CHECK(mimw_error("agent P\n  bulk_commit 0\n") ==
        "t.mimw:2:15: expected the end of the line, read '0'; usage: bulk_commit");
}

TEST_CASE("declarations without their parts") {
  CHECK(mimw_error("mbar full[2]\nagent P\n  nop\n") ==
        "t.mimw:1:13: expected ':' and the arrival count after 'full', read the end of the line");
  CHECK(mimw_error("let n 3\n") == "t.mimw:1:7: expected '=' after 'n', read '3'");
  CHECK(mimw_error("param S = \n") == "t.mimw:1:10: expected a number or a name, read the end of the line");
  CHECK(mimw_error("agent x128\n  nop\n") == "");  // an agent may be called so
  CHECK(mimw_error("agent P\nagent Q\n  nop\n") ==
        "t.mimw:1:8: 'agent P' has no block; write 'nop' under it if it does nothing");
  CHECK(mimw_error("mbar b:1 b:2\nagent P\n  nop\n") == "t.mimw:1:10: 'b' is declared twice");
  CHECK(mimw_error("let n=1\nlet n=2\nagent P\n  nop\n") == "t.mimw:2:5: 'n' has a value already");
  CHECK(mimw_error("agent P\n  nop\nagent P\n  nop\n") == "t.mimw:3:1: there are two agents 'P' in CTA 0");
  CHECK(mimw_error("pool r=1 must-retun\nagent P\n  nop\n") ==
        "t.mimw:1:15: expected 'return' in 'must-return', read 'retun'");
}

TEST_CASE("indentation that forms no block") {
  CHECK(mimw_error("agent P\n  nop\n    nop\n") ==
        "t.mimw:3:5: 'nop' has no block, but this line is indented under it; only agent, for, if and else "
        "have one");
  CHECK(mimw_error("agent P\n  for i < 2\n      nop\n    nop\n") ==
        "t.mimw:4:5: this line stands deeper than the block before it");
  CHECK(mimw_error("  let n=1\n") ==
        "t.mimw:1:3: the first line is indented; what is declared stands at the left margin");
  CHECK(mimw_error("mbar b:1\nagent P\n  nop\narrive b\n") ==
        "t.mimw:4:1: 'arrive' stands outside of an agent; indent it under its 'agent' line");
  CHECK(mimw_error("agent P\n\tnop\n") == "t.mimw:2:1: expected blanks, read a tab; indent with blanks");
  CHECK(mimw_error("agent P\n  nop\n  else\n    nop\n") ==
        "t.mimw:3:3: 'else' without an 'if' straight before it in the same block");
}

TEST_CASE("slips that people bring from other languages") {
  CHECK(mimw_error("agent P\n  for i in range(3)\n    nop\n") ==
        "t.mimw:2:12: there is no function 'range'; known functions: min, max, ceil_div, len");
  CHECK(mimw_error("agent P\n  for i = 0\n    nop\n") ==
        "t.mimw:2:9: expected '<' or 'in', read '='; loops are 'for i < n' or 'for i in a..b'");
  CHECK(mimw_error("agent P\n  if 1 = 1\n    nop\n") ==
        "t.mimw:2:8: expected a comparison, read '='; equality is '=='");
  CHECK(mimw_error("agent P {\n") == "t.mimw:1:9: unexpected '{'; blocks are formed by indentation");
  CHECK(mimw_error("agent P\n  if 0 < 1 < 2\n    nop\n") ==
        "t.mimw:2:12: comparisons cannot be chained; join them with 'and'");
  CHECK(mimw_error("let a=3x\n") == "t.mimw:1:7: a number goes straight into a letter, 'x'");
  CHECK(mimw_error("let a=99999999999999999999\n") == "t.mimw:1:7: the number does not fit into 64 bits");
}

TEST_CASE("values that the hardware does not have") {
  CHECK(mimw_error("mbar b:1\nagent P\n  for i < 5\n    wait b, i/2\n") ==
        "t.mimw:4:13: a parity is 0 or 1, not 2; take the last bit: '(..)&1'");
  CHECK(mimw_error("agent P\n  bar_sync 16, 64\n") ==
        "t.mimw:2:12: the id of a named barrier is 0 to 15, not 16");
  CHECK(mimw_error("mbar b:0\nagent P\n  nop\n") == "t.mimw:1:8: the arrival count is 1 to 1048575, not 0");
  CHECK(mimw_error("agent P x2000\n  nop\n") ==
        "t.mimw:1:9: the number of threads of an agent is 1 to 1024, not 2000");
  CHECK(mimw_error("agent P @16\n  nop\n") == "t.mimw:1:10: the rank of a CTA is 0 to 15, not 16");
  CHECK(mimw_error("mbar b:1\nagent P\n  arrive @1.b\n") ==
        "t.mimw:3:10: there is no CTA 1; agents and objects are declared in 1 of them");
}

TEST_CASE("arithmetic: nothing wraps, nothing divides by zero") {
  CHECK(mimw_error("let n=5/0\nagent P\n  nop\n") == "t.mimw:1:8: division by zero");
  CHECK(mimw_error("let S=0 n=5%S\nagent P\n  nop\n") == "t.mimw:1:12: remainder of a division by zero");
  CHECK(mimw_error("let n=9223372036854775807+1\nagent P\n  nop\n") ==
        "t.mimw:1:26: the result does not fit into 64 bits");
  CHECK(mimw_error("let n=3037000500*3037000500\nagent P\n  nop\n") ==
        "t.mimw:1:17: the result does not fit into 64 bits");
  CHECK(mimw_error("let n=0-9223372036854775807-1 m=n/(0-1)\nagent P\n  nop\n") ==
        "t.mimw:1:34: the result does not fit into 64 bits");
  CHECK(mimw_error("let n=0-9223372036854775807-1 m=-n\nagent P\n  nop\n") ==
        "t.mimw:1:33: the result does not fit into 64 bits");
  CHECK(mimw_error("let n=1<<63\nagent P\n  nop\n") == "t.mimw:1:8: a shift is by 0 to 62");
  CHECK(mimw_error("let n=4<<62\nagent P\n  nop\n") == "t.mimw:1:8: the result does not fit into 64 bits");
}

TEST_CASE("indices outside of what is declared") {
  CHECK(mimw_error("mbar b[2]:1\nagent P\n  for i < 3\n    arrive b[i]\n") ==
        "t.mimw:4:12: 'b' has 2 barriers; there is no 'b[2]'; as a ring: [.. % 2]");
  CHECK(mimw_error("mbar b[2]:1\nagent P\n  arrive b[0-1]\n") ==
        "t.mimw:3:10: 'b' has 2 barriers; there is no 'b[-1]'");
  CHECK(mimw_error("mbar b[2]:1\nagent P\n  arrive b\n") ==
        "t.mimw:3:10: 'b' is an array of 2 barriers; expected an index");
  CHECK(mimw_error("let work=[1,0]\nagent P\n  if work[2]\n    nop\n") ==
        "t.mimw:3:6: 'work' has 2 elements; there is no element 2");
  CHECK(mimw_error("let work=[1,0]\nagent P\n  if work\n    nop\n") ==
        "t.mimw:3:6: 'work' is a list; take an element, 'work[i]', or len(work)");
  CHECK(mimw_error("buffer a[2] bytes 8\nagent P\n  read a[2]\n") ==
        "t.mimw:3:8: 'a' has 2 elements; there is no element 2");
  CHECK(mimw_error("agent P\n  read a[0-1]\n") == "t.mimw:2:8: there is no element -1 of 'a'");
}

TEST_CASE("one thing taken for another") {
  CHECK(mimw_error("var v=0\nagent P\n  wait v, 0\n") == "t.mimw:3:8: 'v' is a variable; expected a barrier");
  CHECK(mimw_error("mbar b:1\nagent P\n  read b\n") == "t.mimw:3:8: 'b' is a barrier; expected memory");
  CHECK(mimw_error("mbar b:1\nagent P\n  arrive b#1\n") ==
        "t.mimw:3:10: 'b' is a barrier; only memory has generations");
  CHECK(mimw_error("mbar @1.b:1\nagent P\n  arrive b\n") ==
        "t.mimw:3:10: barrier 'b' is declared in CTA 1, not in this one; write '@1.b'");
  CHECK(mimw_error("agent P\n  let me=1\n") ==
        "t.mimw:2:7: 'me' is the agent's own: its position in the list");
  CHECK(mimw_error("let work=[1]\nagent P\n  nop\n", {{"work", 1}}) ==
        "t.mimw:1:5: 'work' is a list; only numbers can be set from outside");
  CHECK(mimw_error("agent P\n  write c\n  write c.l\n") ==
        "t.mimw:3:9: 'c' and 'c.l' are both used, which says nothing about whether they overlap; declare "
        "them as "
        "buffers");
}

TEST_CASE("a program that is too large says so, at the line that makes it so") {
  const std::string error =
      mimw_error("var v=0\nagent P\n  for i < 100000\n    for j < 100000\n      inc v\n");
  CHECK(error == "t.mimw:5:7: the program unrolls to more than 4000000 events; choose smaller trip counts");
  CHECK(mimw_error("agent P\n  for i < 9223372036854775807\n    nop\n")
            .find("t.mimw:3:5: the program executes more than") == 0);
  MimwLimits small;
  small.events = 10;
  const MimwProgram program = program_of("var v=0\nagent P\n  for i < 10\n    inc v\n");
  const Result<Orchestration> made = unroll(program, "ok", {}, small);
  REQUIRE_FALSE(made.has_value());
  CHECK(made.error().text() ==
        "t.mimw:2:1: the program unrolls to more than 10 events; choose smaller trip counts");
}

TEST_CASE("nesting is bounded") {
  std::string parens =
      "let n=" + std::string(1000, '(') + "1" + std::string(1000, ')') + "\nagent P\n  nop\n";
  CHECK(mimw_error(parens).find("the expression nests deeper than 64") != std::string::npos);
  std::string chain = "let n=1";
  for (int i = 0; i < 100000; ++i) chain += "+1";
  CHECK(mimw_error(chain + "\n").find("the expression is too long") != std::string::npos);
  std::string blocks = "agent P\n";
  for (size_t i = 1; i < 200; ++i) blocks += std::string(i, ' ') + "if 1\n";
  CHECK(mimw_error(blocks + std::string(200, ' ') + "nop\n").find("blocks nest deeper than 64") !=
        std::string::npos);
  std::string otherwise = "agent P\n  if 0\n    nop\n";
  for (int i = 0; i < 200; ++i) otherwise += "  else if 0\n    nop\n";
  CHECK(mimw_error(otherwise).find("too many 'else if'") != std::string::npos);
  CHECK(mimw_error(std::string(mimw_max_text + 1, ' ')).find("the most is 1048576") != std::string::npos);
}

TEST_CASE("an empty text is an error") {
  CHECK(mimw_error("") == "t.mimw: the text is empty");
  CHECK(mimw_error("-- nothing\n") == "t.mimw: the text is empty");
  CHECK(mimw_error("name\n").find("the text declares nothing") != std::string::npos);
  CHECK(mimw_error("let n=1\n") == "t.mimw: variant 'ok' has no agent");
}

}  // namespace turnstile
