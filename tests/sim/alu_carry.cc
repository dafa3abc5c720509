// SPDX-License-Identifier: Apache-2.0
// Carry chains against integers of 128 bits: PTX ISA 9.7.2 gives no more than "carry-out" and "borrow-out".
#include <string>
#include <vector>

#include "tests/sim/alu_support.h"

using namespace turnstile;

namespace {

__extension__ using Wide = unsigned __int128;

/// The condition code register and the instructions that use it, on words of 32 or 64 bits.
class Chain {
 public:
  explicit Chain(unsigned bits) : bits_(bits) {}

  uint64_t operator()(const std::string& operation, std::vector<uint64_t> in) {
    sim::PureOp op;
    std::string why;
    const std::string mnemonic = operation + ".u" + std::to_string(bits_);
    REQUIRE(find_pure(test::instruction(mnemonic, in.size()), op, why) == sim::PureLookup::found);
    if (op.reads_carry) in.push_back(carry_);
    REQUIRE(in.size() == op.inputs);
    const uint64_t result = op.run(op.config, in.data());
    if (op.writes_carry) carry_ = op.run_second(op.config, in.data());
    CHECK(carry_ <= 1);
    return result;
  }
  uint64_t carry() const { return carry_; }

 private:
  unsigned bits_;
  uint64_t carry_ = 0;
};

/// Words of which many are all ones or zero, so that carries run through them.
uint64_t rough(test::Words& words, unsigned bits) {
  const uint64_t mask = bits == 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
  const uint64_t word = words.next();
  switch (words.next() % 4) {
    case 0:
      return mask;
    case 1:
      return 0;
    case 2:
      return word & 1;
    default:
      return word & mask;
  }
}

Wide joined(const std::vector<uint64_t>& limbs, unsigned bits) {
  Wide out = 0;
  for (size_t i = limbs.size(); i-- > 0;) out = out << bits | limbs[i];
  return out;
}

}  // namespace

TEST_CASE("chains of add and sub are additions and subtractions of 128 bits") {
  test::Words words(11);
  for (const unsigned bits : {32u, 64u})
    for (int round = 0; round < 2000; ++round) {
      const size_t count = 128 / bits;
      std::vector<uint64_t> a, b, sum, difference;
      for (size_t i = 0; i < count; ++i) {
        a.push_back(rough(words, bits));
        b.push_back(rough(words, bits));
      }
      Chain chain(bits);
      for (size_t i = 0; i < count; ++i) sum.push_back(chain(i == 0 ? "add.cc" : "addc.cc", {a[i], b[i]}));
      const Wide x = joined(a, bits), y = joined(b, bits);
      CHECK(joined(sum, bits) == x + y);
      CHECK(chain.carry() == (x + y < x ? 1 : 0));
      for (size_t i = 0; i < count; ++i)
        difference.push_back(chain(i == 0 ? "sub.cc" : "subc.cc", {a[i], b[i]}));
      CHECK(joined(difference, bits) == x - y);
      CHECK(chain.carry() == (x < y ? 0 : 1));  // as an H200 has it
      // Without .cc the flag is read and stays.
      const uint64_t flag = chain.carry();
      CHECK(chain("addc", {0, 0}) == flag);
      CHECK(chain.carry() == flag);
    }
}

TEST_CASE("chains of mad are products of 64 and 128 bits") {
  test::Words words(12);
  for (int round = 0; round < 2000; ++round) {
    const uint64_t x = words.next() | (round % 3 == 0 ? 0xffffffff00000000u : 0), y = words.next();
    const uint64_t a0 = x & 0xffffffff, a1 = x >> 32, b0 = y & 0xffffffff, b1 = y >> 32;
    Chain c(32);
    std::vector<uint64_t> r(4);
    // The product of a, then that of b1 added one limb higher, as compilers write it.
    r[0] = c("mul.lo", {a0, b0});
    r[1] = c("mul.hi", {a0, b0});
    r[1] = c("mad.lo.cc", {a1, b0, r[1]});
    r[2] = c("madc.hi", {a1, b0, 0});
    r[1] = c("mad.lo.cc", {a0, b1, r[1]});
    r[2] = c("madc.hi.cc", {a0, b1, r[2]});
    r[3] = c("addc", {0, 0});
    r[2] = c("mad.lo.cc", {a1, b1, r[2]});
    r[3] = c("madc.hi", {a1, b1, r[3]});
    CHECK(joined(r, 32) == static_cast<Wide>(x) * y);
    Chain wide(64);
    const uint64_t z = words.next();
    const uint64_t low = wide("mad.lo.cc", {x, y, z}), high = wide("madc.hi", {x, y, 0});
    CHECK(joined({low, high}, 64) == static_cast<Wide>(x) * y + z);
  }
}

TEST_CASE("mad.hi of signed words: the high half is signed, the carry that of the word addition") {
  sim::PureOp op;
  std::string why;
  REQUIRE(find_pure(test::instruction("mad.hi.cc.s32", 3), op, why) == sim::PureLookup::found);
  const uint64_t in[] = {0xffffffff, 1, 1};  // the product is -1: its high half is all ones
  CHECK(op.run(op.config, in) == 0);
  CHECK(op.run_second(op.config, in) == 1);
  REQUIRE(find_pure(test::instruction("mad.hi.cc.u32", 3), op, why) == sim::PureLookup::found);
  CHECK(op.run(op.config, in) == 1);
  CHECK(op.run_second(op.config, in) == 0);
}
