// SPDX-License-Identifier: Apache-2.0
// Reads tests/ptx_forms and makes a kernel and a launch file of each case.
#include <doctest/doctest.h>

#include <array>
#include <fstream>
#include <map>
#include <sstream>

#include "tests/sim/ptx_forms.h"

namespace turnstile::test {

namespace {

constexpr unsigned lanes = 32;

void replace_all(std::string& text, const std::string& from, const std::string& to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
}

std::string hexadecimal(uint64_t value) {
  std::ostringstream text;
  text << "0x" << std::hex << value;
  return text.str();
}

std::ifstream open_file(const std::string& file) {
  std::ifstream in(std::string(TURNSTILE_SOURCE_DIR) + "/tests/ptx_forms/" + file);
  INFO(file);
  REQUIRE(in.is_open());
  return in;
}

/// frame.cases: what stands around every case.
struct Surroundings {
  std::string module, frame, launch;
  std::map<std::string, std::string> names;
};

const Surroundings& surroundings() {
  static const Surroundings all = [] {
    Surroundings s;
    std::ifstream in = open_file("frame.cases");
    for (std::string line; std::getline(in, line);) {
      if (line.empty() || line[0] == '#') continue;
      const size_t equals = line.find(" = ");
      REQUIRE(equals != std::string::npos);
      const std::string key = line.substr(0, equals), text = line.substr(equals + 3);
      if (key == "module") s.module += text + "\n";
      if (key == "frame") s.frame += text + "\n";
      if (key == "launch") s.launch += text + "\n";
      if (key.rfind("let ", 0) == 0) s.names[key.substr(4)] = text;
    }
    return s;
  }();
  return all;
}

/// $name, $name(argument) with $1 in its text; what is left of `$` is the form.
std::string expanded(std::string text, const std::string& form) {
  const auto is_name = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  for (size_t at = text.find('$'); at != std::string::npos; at = text.find('$', at)) {
    size_t end = at + 1;
    while (end < text.size() && is_name(text[end])) ++end;
    const std::string name = text.substr(at + 1, end - at - 1);
    if (name.empty()) {
      text.replace(at, 1, form);
      at += form.size();
      continue;
    }
    const auto found = surroundings().names.find(name);
    INFO(name);
    REQUIRE(found != surroundings().names.end());
    std::string meaning = found->second;
    if (end < text.size() && text[end] == '(') {
      const size_t close = text.find(')', end);
      REQUIRE(close != std::string::npos);
      replace_all(meaning, "$1", text.substr(end + 1, close - end - 1));
      end = close + 1;
    }
    text.replace(at, end - at, meaning);
  }
  return text;
}

FormCase header_of(const std::string& line) {
  FormCase c;
  const size_t close = line.find(']');
  c.form = line.substr(1, close - 1);
  std::string rest = line.substr(close + 1);
  c.expected = "runs";
  if (const size_t arrow = rest.find("=> "); arrow != std::string::npos) {
    c.expected = rest.substr(arrow + 3);
    rest.resize(arrow);
  }
  unsigned grid = 0;
  std::istringstream words(rest);
  for (std::string word; words >> word;) {
    const size_t equals = word.find('=');
    const auto number =
        equals == std::string::npos ? 0u : static_cast<unsigned>(std::stoul(word.substr(equals + 1)));
    if (word.rfind("sm_", 0) == 0) c.target = word;
    if (word == "wide") c.wide = true;
    if (word == "flat") c.flat = true;
    if (word.rfind("threads=", 0) == 0) c.threads = number;
    if (word.rfind("cluster=", 0) == 0) c.cluster = number;
    if (word.rfind("grid=", 0) == 0) grid = number;
  }
  c.grid = grid != 0 ? grid : c.cluster;
  return c;
}

bool has_part(const std::string& form, const std::string& part) {
  return ("." + form + ".").find("." + part + ".") != std::string::npos;
}

/// An operand of each class: its name, how a 64-bit word becomes its value, and the other way round.
struct OperandClass {
  char letter;
  const char* name;
  const char* take;
  const char* give;
};
constexpr OperandClass operand_classes[] = {
    {'p', "%p", "and.b64 %d30, %d20, 1; setp.ne.s64 REG, %d30, 0;", "selp.b64 %d30, 1, 0, REG;"},
    {'b', "%b", "cvt.u8.u64 REG, %d20;", ""},
    {'h', "%h", "cvt.u16.u64 REG, %d20;", "cvt.u64.u16 %d30, REG;"},
    {'r', "%r", "cvt.u32.u64 REG, %d20;", "cvt.u64.u32 %d30, REG;"},
    {'d', "%d", "mov.b64 REG, %d20;", "mov.b64 %d30, REG;"},
    {'c', "", "cvt.u32.u64 %r31, %d20; and.b32 %r31, %r31, 1; add.cc.u32 %r31, %r31, -1;", ""},
};

/// What a set carry flag, in %r31, does to a result.
std::string folded_carry() {
  return " cvt.u64.u32 %d28, %r31; mul.lo.u64 %d28, %d28, " + std::to_string(form_carry) +
         "; xor.b64 %d30, %d30, %d28;";
}

const OperandClass& class_of(char letter) {
  for (const OperandClass& k : operand_classes)
    if (k.letter == letter) return k;
  FAIL("no class of operands: " << letter);
  return operand_classes[0];
}

/// Every source from the table of the module, the instruction, and its result to `out`.
std::string arithmetic_body(const FormCase& c) {
  std::string body = "mov.u64 %d31, TABLE; mad.wide.u32 %d31, %r0, 8, %d31;\n", operands;
  for (size_t i = 1; i < c.operands.size(); ++i) {
    const OperandClass& k = class_of(c.operands[i]);
    const std::string name = k.name +
                             std::string(k.letter == 'd'   ? "2"
                                         : k.letter == 'b' ? ""
                                                           : "1") +
                             std::to_string(i);
    std::string take = k.take;
    replace_all(take, "REG", name);
    body += "ld.global.u64 %d20, [%d31+" + std::to_string((i - 1) * lanes * 8) + "]; " + take + "\n";
    if (k.letter != 'c') operands += ", " + name;
  }
  const OperandClass& result = class_of(c.operands[0]);
  const std::string to = result.name + std::string(c.operands[0] == 'd' ? "29" : "9");
  std::string give = result.give;
  replace_all(give, "REG", to);
  if (has_part(c.form, "cc")) give = "addc.u32 %r31, 0, 0; " + give + folded_carry();
  return body + c.form + " " + to + operands + "; " + give + " st.global.u64 [%d6], %d30;\n";
}

/// What the instruction reads: the last type of the mnemonic.
std::string source_type(const FormCase& c) {
  static const char* const types[] = {"f32x2",  "f64",  "f32",    "f16x2",  "f16",
                                      "bf16x2", "bf16", "e4m3x2", "e2m1x2", "ue8m0x2"};
  const size_t last = c.form.rfind('.');
  const std::string type = c.form.substr(last + 1);
  for (const char* t : types)
    if (type == t) return type;
  return "integer";
}

std::vector<uint64_t> edges(const std::string& type) {
  if (type == "f32" || type == "f32x2")
    return {0,          0x80000000, 0x3f800000, 0xbf800000, 0x7f800000, 0xff800000, 0x7fc00000,
            0x7f7fffff, 0x00800000, 0x00000001, 0x807fffff, 0x40490fdb, 0xc2f6e979, 0x3effffff,
            0x4f000000, 0x5f7fffff, 0x33800000, 0x3f7fffff, 0x3f800001, 0x43e08000, 0xc7000000};
  if (type == "f16" || type == "f16x2")
    return {0,      0x8000, 0x3c00, 0xbc00, 0x7c00, 0xfc00, 0x7e00, 0x7bff, 0x0400,
            0x0001, 0x83ff, 0x3555, 0x4248, 0xd640, 0x3bff, 0x3c01, 0x1400};
  if (type == "bf16" || type == "bf16x2")
    return {0,      0x8000, 0x3f80, 0xbf80, 0x7f80, 0xff80, 0x7fc0, 0x7f7f, 0x0080,
            0x0001, 0x807f, 0x3eaa, 0x4049, 0xc2f7, 0x3f7f, 0x3f81, 0x3380};
  if (type == "f64")
    return {0,
            0x8000000000000000,
            0x3ff0000000000000,
            0xbff0000000000000,
            0x7ff0000000000000,
            0xfff0000000000000,
            0x7ff8000000000000,
            0x7fefffffffffffff,
            0x0010000000000000,
            1,
            0x400921fb54442d18,
            0xc05edd2f1a9fbe77,
            0x3fefffffffffffff};
  return {0,
          1,
          0xffffffffffffffff,
          0x7fffffffffffffff,
          0x8000000000000000,
          31,
          32,
          33,
          63,
          64,
          255,
          256,
          0x7fff7fff7fff7fff,
          0x8000800080008000,
          0x7fffffff7fffffff,
          0x80000000,
          0x80000001,
          0x5555555555555555,
          0x123456789abcdef0,
          0xdeadbeefcafe4321,
          7,
          16,
          0x00ff00ff00ff00ff,
          0xfedcba9876543210,
          3,
          100};
}

}  // namespace

uint64_t form_input(const FormCase& c, size_t i, unsigned lane) {
  const std::string type = source_type(c);
  const std::vector<uint64_t> all = edges(type);
  const auto pick = [&](size_t step) {
    return all[(lane * (2 * i + 1) + 5 * i + lane / 16 * 3 + step) % all.size()];
  };
  const char letter = c.operands.at(1 + i);
  if (letter == 'p' || letter == 'c') return lane >> i & 1;
  if (letter == 'r' && (c.form.rfind("shl", 0) == 0 || c.form.rfind("shr", 0) == 0) && i == 1)
    return edges("integer")[(lane * 3 + 5) % 26] & 0xffffffff;
  uint64_t value = pick(0);
  if (type == "f32x2") value |= pick(7) << 32;
  if (type == "f16x2" || type == "bf16x2") value |= pick(7) << 16;
  if (c.form == "fma.rn.f32.f16" && i == 2) value = edges("f32")[(lane * 5 + 1) % 21];
  const unsigned bits = letter == 'b' ? 8 : letter == 'h' ? 16 : letter == 'r' ? 32 : 64;
  const uint64_t mask = bits == 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
  const bool divides = (c.form.rfind("div.", 0) == 0 || c.form.rfind("rem.", 0) == 0) && type == "integer";
  if (divides && i == 1) value = (value | 1) & (mask >> 1);  // by zero, and -1 of the least: undefined
  return value & mask;
}

std::vector<FormCase> read_form_cases() {
  std::vector<FormCase> out;
  for (const char* file : {"control.cases", "memory.cases", "lanes.cases", "async.cases", "refused.cases"}) {
    std::ifstream in = open_file(file);
    unsigned number = 0;
    for (std::string line; std::getline(in, line);) {
      ++number;
      if (line.empty() || line[0] == '#') continue;
      if (line[0] == '[') {
        out.push_back(header_of(line));
        out.back().place = file + (":" + std::to_string(number));
      } else {
        REQUIRE(!out.empty());
        out.back().body += expanded(line, out.back().form) + "\n";
      }
    }
  }
  std::ifstream in = open_file("arithmetic.cases");
  unsigned number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    if (line.empty() || line[0] == '#') continue;
    FormCase c;
    const size_t colon = line.find(": ");
    c.place = "arithmetic.cases:" + std::to_string(number);
    c.form = line.substr(0, colon);
    for (const char letter : line.substr(colon + 2))
      if (letter != ' ') c.operands += letter;
    for (const char* later : {"f32x2", "ue8m0x2", "e2m1x2"})
      if (has_part(c.form, later)) c.target = "sm_100a";
    if (c.form == "fma.rn.f32.f16") c.target = "sm_100a";
    c.body = arithmetic_body(c);
    out.push_back(c);
  }
  return out;
}

std::string form_module(const std::string& target) {
  return ".version 8.8\n.target " + target + "\n.address_size 64\n" + surroundings().module;
}

std::string form_words(const FormCase& c) {
  std::string text;
  for (size_t i = 0; i + 1 < c.operands.size(); ++i)
    for (unsigned lane = 0; lane < lanes; ++lane)
      text += (i + lane == 0 ? "" : ", ") + hexadecimal(form_input(c, i, lane)) + (lane % 8 == 7 ? "\n" : "");
  return text;
}

std::string form_kernel(const FormCase& c, const std::string& name) {
  std::string text;
  if (!c.operands.empty())
    text = ".global .align 8 .b64 table_" + name + "[" + std::to_string((c.operands.size() - 1) * lanes) +
           "] = {" + form_words(c) + "};\n";
  text += surroundings().frame;
  replace_all(text, "BODY", c.body);
  replace_all(text, "TABLE", "table_" + name);
  replace_all(text, "NAME", name);
  replace_all(text, "THREADS", std::to_string(c.threads));
  replace_all(text, "CLUSTER",
              c.cluster == 1 ? "" : ".reqnctapercluster " + std::to_string(c.cluster) + ", 1, 1");
  replace_all(text, "SM90", c.target == "sm_80" ? "" : ".reg .b128 %q<4>;");
  return text;
}

std::string form_launch(const FormCase& c) {
  std::string text = surroundings().launch;
  replace_all(text, "GRID", std::to_string(c.grid));
  replace_all(text, "THREADS", std::to_string(c.threads));
  replace_all(text, "RANKS", std::to_string(c.cluster));
  if (c.flat) replace_all(text, "box = [16, 4]", "box = [16, 1]");
  return text;
}

}  // namespace turnstile::test
