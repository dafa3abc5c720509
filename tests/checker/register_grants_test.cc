// SPDX-License-Identifier: Apache-2.0
//
// setmaxnreg whose largest requests do not fit together (RG8), though each is granted in time: the way of
// every kernel of Triton with four warp groups.
#include "checker/register_grants.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <initializer_list>
#include <utility>

using namespace turnstile::checker;

namespace {

/// Requests of warps in program order. A request knows what its warp knew before, and the request named in
/// `after`, with all that that one knew, as behind a barrier.
class Kernel {
 public:
  explicit Kernel(uint32_t warps) : clocks_(warps, std::vector<uint32_t>(16)) {
    for (uint32_t w = 0; w < warps; ++w) clocks_[w][w] = 1;
  }

  size_t ask(uint16_t warp, int64_t taken, std::initializer_list<size_t> after = {}) {
    std::vector<uint32_t>& clock = clocks_[warp];
    for (const size_t a : after)
      for (size_t lane = 0; lane < clock.size(); ++lane)
        clock[lane] = std::max(clock[lane], asked_[a].causal[lane]);
    asked_.push_back({0, warp, taken, {warp, clock[warp]}, clock});
    ++clock[warp];
    return asked_.size() - 1;
  }
  bool granted() const { return always_granted(asked_); }

 private:
  std::vector<std::vector<uint32_t>> clocks_;
  std::vector<RegisterRequest> asked_;
};

}  // namespace

TEST_CASE("K7: an inc that waits only for decs which nothing holds up is always granted") {
  Kernel k(8);
  for (uint16_t w = 0; w < 4; ++w) k.ask(w, 100);
  for (uint16_t w = 4; w < 8; ++w) k.ask(w, -100);
  CHECK(k.granted());

  Kernel short_of_one(8);
  for (uint16_t w = 0; w < 4; ++w) short_of_one.ask(w, 101);
  for (uint16_t w = 4; w < 8; ++w) short_of_one.ask(w, -100);
  CHECK_FALSE(short_of_one.granted());
}

TEST_CASE("K7: registers that are taken, given back and taken by others, in the order of a barrier") {
  Kernel k(8);
  for (uint16_t w = 4; w < 8; ++w) k.ask(w, -100);
  size_t back = 0;
  for (uint16_t w = 0; w < 4; ++w) k.ask(w, 100);
  for (uint16_t w = 0; w < 4; ++w) back = k.ask(w, -100, {4, 5, 6, 7});
  for (uint16_t w = 4; w < 8; ++w) k.ask(w, 100, {back - 3, back - 2, back - 1, back});
  CHECK(k.granted());
}

TEST_CASE("K7: a dec that comes after the inc which waits for it is never executed") {
  Kernel k(8);
  size_t last = 0;
  for (uint16_t w = 0; w < 4; ++w) last = k.ask(w, 100);
  for (uint16_t w = 4; w < 8; ++w) k.ask(w, -100, {last});
  CHECK_FALSE(k.granted());
}

TEST_CASE("K7: two groups that each got half of what they want wait for each other") {
  Kernel k(12);
  for (uint16_t w = 8; w < 12; ++w) k.ask(w, -50);  // enough for four warps of eight
  for (uint16_t w = 0; w < 8; ++w) k.ask(w, 50);
  CHECK_FALSE(k.granted());

  Kernel one_group(8);
  for (uint16_t w = 4; w < 8; ++w) one_group.ask(w, -50);
  for (uint16_t w = 0; w < 4; ++w) one_group.ask(w, 50);
  CHECK(one_group.granted());
}

TEST_CASE("K7: warps of one group that ask for different counts are not decided") {
  Kernel k(8);
  for (uint16_t w = 0; w < 4; ++w) k.ask(w, w == 0 ? 40 : 50);
  for (uint16_t w = 4; w < 8; ++w) k.ask(w, -100);
  CHECK_FALSE(k.granted());
}
