// SPDX-License-Identifier: Apache-2.0
// Hostile input: every truncation and many mutations of the corpus end in a program or in an error with a
// position, never in a crash; what is accepted can be laid out, and unrolls or says why not.
#include <random>

#include "tests/model/mimw_support.h"

namespace turnstile {
namespace {

constexpr MimwLimits kSmall{20'000, 100'000};

void survives(const std::string& text) {
  CAPTURE(text);
  const Result<MimwProgram> program = parse_mimw(text, "f.mimw");
  if (!program) {
    CHECK_FALSE(program.error().message.empty());
    return;
  }
  const Result<std::string> once = format_mimw(text, "f.mimw");
  REQUIRE(once.has_value());
  const Result<std::string> twice = format_mimw(*once, "f.mimw");
  REQUIRE(twice.has_value());
  CHECK(*twice == *once);
  const Result<MimwProgram> laid_out = parse_mimw(*once, "f.mimw");
  REQUIRE(laid_out.has_value());
  CHECK(variants(*laid_out) == variants(*program));
  CHECK(expectations(*laid_out).size() == expectations(*program).size());
  for (const std::string& variant : variants(*program)) {
    const Result<Orchestration> made = unroll(*program, variant, {}, kSmall);
    const Result<Orchestration> again = unroll(*laid_out, variant, {}, kSmall);
    CHECK(made.has_value() == again.has_value());
    if (!made) {
      CHECK_FALSE(made.error().message.empty());
      continue;
    }
    REQUIRE(made->strands.size() == again->strands.size());
    for (size_t s = 0; s < made->strands.size(); ++s)
      CHECK(kinds(made->strands[s].events) == kinds(again->strands[s].events));
  }
}

std::vector<std::string> corpus() {
  std::vector<std::string> texts;
  for (const std::string& path : corpus_files()) {
    const std::string text = text_of(path);
    texts.push_back(text.substr(text.find("\n\n") + 2));
  }
  return texts;
}

}  // namespace

TEST_CASE("every truncation of some corpus files is survived") {
  for (const char* name : {"C1", "H3", "M3"}) {
    const std::string whole = text_of(corpus_folder() + "/" + name + ".mimw");
    const std::string text = whole.substr(whole.find("\n\n") + 2);
    for (size_t n = 0; n < text.size(); ++n) survives(text.substr(0, n));
  }
}

TEST_CASE("mutations of the corpus are survived") {
  const std::vector<std::string> texts = corpus();
  constexpr uint64_t seed = 20261130;
  CAPTURE(seed);
  std::mt19937_64 random(seed);
  const auto below = [&](size_t n) { return static_cast<size_t>(random() % n); };
  constexpr std::string_view alphabet = "0123456789aiSn[]()@#.,:;=<>+-*/%&^| \n\t\x01\xff\"{}";
  constexpr std::string_view words[] = {
      "let ", "for i < ", "if ",  "else\n",         "agent ", "me",  "cta", "999999999",           "-1",
      "not ", " and ",    "x128", "use ring with ", "[bug] ", "=> ", "#",   "9223372036854775807", "buffer ",
      "1..0"};
  for (int round = 0; round < 2000; ++round) {
    std::string text = texts[below(texts.size())];
    const size_t changes = 1 + below(3);
    for (size_t c = 0; c < changes && !text.empty(); ++c) {
      const size_t at = below(text.size());
      switch (below(6)) {
        case 0:
          text.erase(at, 1 + below(8));
          break;
        case 1:
          text.insert(at, 1, alphabet[below(alphabet.size())]);
          break;
        case 2:
          text[at] = alphabet[below(alphabet.size())];
          break;
        case 3:
          text.insert(at, words[below(std::size(words))]);
          break;
        case 4: {  // a line twice
          const size_t begin = text.rfind('\n', at) + 1;
          const size_t end = std::min(text.find('\n', at), text.size() - 1);
          text.insert(begin, text.substr(begin, end + 1 - begin));
          break;
        }
        default:  // a part of another program
          text.insert(at, texts[below(texts.size())].substr(0, below(200)));
      }
    }
    survives(text);
  }
}

TEST_CASE("bytes at random are survived") {
  constexpr uint64_t seed = 7;
  CAPTURE(seed);
  std::mt19937_64 random(seed);
  for (int round = 0; round < 500; ++round) {
    std::string text;
    const size_t n = static_cast<size_t>(random() % 200);
    for (size_t i = 0; i < n; ++i) text += static_cast<char>(random() & 0xff);
    survives(text);
  }
}

}  // namespace turnstile
