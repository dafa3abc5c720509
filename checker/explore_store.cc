// SPDX-License-Identifier: Apache-2.0
#include "checker/explore_store.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "model/must.h"

namespace turnstile::checker {

namespace {

uint64_t finish(uint64_t x) {  // every input bit reaches every output bit (MurmurHash3, public domain)
  x ^= x >> 33;
  x *= 0xff51afd7ed558ccdull;
  x ^= x >> 33;
  x *= 0xc4ceb9fe1a85ec53ull;
  return x ^ x >> 33;
}

}  // namespace

// Two lanes; each step is invertible in the word, so that states that differ in one word never meet.
Fingerprint fingerprint(std::span<const uint8_t> bytes) {
  uint64_t a = 0x9e3779b97f4a7c15ull, b = bytes.size();
  for (size_t i = 0; i < bytes.size(); i += 8) {
    uint64_t w = 0;
    std::memcpy(&w, bytes.data() + i, std::min<size_t>(8, bytes.size() - i));
    a ^= std::rotl(w * 0x87c37b91114253d5ull, 31) * 0x4cf5ad432745937full;
    a = (std::rotl(a, 27) + b) * 5 + 0x52dce729;
    b ^= std::rotl(w * 0x4cf5ad432745937full, 33) * 0x87c37b91114253d5ull;
    b = (std::rotl(b, 31) + a) * 5 + 0x38495ab5;
  }
  a += b;
  b += a;
  a = finish(a);
  b = finish(b);
  return {a + b, b + (a + b)};
}

StateTable::StateTable() : slots_(1u << 10, none) {}

StateTable::Inserted StateTable::insert(Fingerprint print, uint32_t parent) {
  if (uint64_t{size_} * 5 >= uint64_t{slots_.size()} * 3) grow();
  const size_t mask = slots_.size() - 1;
  size_t slot = print.low & mask;
  for (; slots_[slot] != none; slot = (slot + 1) & mask)
    if (this->print(slots_[slot]) == print) return {slots_[slot], false};
  must(size_ != none, "a search stops before its states cannot be numbered");
  if (size_ % chunk_size == 0) chunks_.push_back(std::make_unique<Chunk>());
  Chunk& last = *chunks_.back();
  last.print[size_ % chunk_size] = print;
  last.parent[size_ % chunk_size] = parent;
  slots_[slot] = size_;
  return {size_++, true};
}

void StateTable::grow() {
  std::vector<uint32_t> bigger(slots_.size() * 2, none);
  const size_t mask = bigger.size() - 1;
  for (uint32_t i = 0; i < size_; ++i) {
    size_t slot = print(i).low & mask;
    while (bigger[slot] != none) slot = (slot + 1) & mask;
    bigger[slot] = i;
  }
  slots_ = std::move(bigger);
}

}  // namespace turnstile::checker
