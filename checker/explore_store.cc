// SPDX-License-Identifier: Apache-2.0
#include "checker/explore_store.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <utility>

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

/// The high bits of the bytes that are zero, and of some others.
uint32_t zero_bytes(uint32_t x) { return (x - 0x01010101u) & ~x & 0x80808080u; }

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

// Four bytes of the parent, one of the length (or 255 and four), the state.
StateTable::StateTable() : buckets_(16) {}

uint64_t StateTable::hash(std::span<const uint8_t> bytes) {
  uint64_t h = bytes.size() * 0x9e3779b97f4a7c15ull;
  size_t i = 0;
  for (; i + 8 <= bytes.size(); i += 8) {
    uint64_t w = 0;
    std::memcpy(&w, bytes.data() + i, 8);
    h = (std::rotl(h, 29) ^ w) * 0x87c37b91114253d5ull;
    h ^= h >> 32;
  }
  uint64_t w = 0;
  for (unsigned shift = 0; i < bytes.size(); ++i, shift += 8) w |= uint64_t{bytes[i]} << shift;
  return finish(std::rotl(h, 29) ^ w);
}

uint64_t StateTable::bytes() const {
  uint64_t units = 0;
  for (const uint32_t end : ends_) units += end;
  return units * unit + buckets_.size() * sizeof(Bucket);
}

bool StateTable::holds(uint32_t at, std::span<const uint8_t> bytes) const {
  const uint8_t* r = record(at) + sizeof(uint32_t);
  if (bytes.size() < long_length)
    return *r == bytes.size() && std::memcmp(r + 1, bytes.data(), bytes.size()) == 0;
  const std::span<const uint8_t> own = state(at);
  return own.size() == bytes.size() && std::memcmp(own.data(), bytes.data(), bytes.size()) == 0;
}

std::span<const uint8_t> StateTable::state(uint32_t at) const {
  const uint8_t* r = record(at) + sizeof(uint32_t);
  if (*r < long_length) return {r + 1, *r};
  uint32_t length = 0;
  std::memcpy(&length, r + 1, sizeof length);
  return {r + 1 + sizeof length, length};
}

uint32_t StateTable::parent(uint32_t at) const {
  uint32_t parent = 0;
  std::memcpy(&parent, record(at), sizeof parent);
  return parent;
}

uint32_t StateTable::after(uint32_t at) const {
  if (at == last_) return none;
  const std::span<const uint8_t> s = state(at);
  const auto past = static_cast<size_t>(s.data() + s.size() - record(at));
  const size_t next = at % chunk_units + (past + unit - 1) / unit;
  const uint32_t chunk = at / static_cast<uint32_t>(chunk_units);
  if (next < ends_[chunk]) return static_cast<uint32_t>(chunk * chunk_units + next);
  return static_cast<uint32_t>((chunk + size_t{1}) * chunk_units);
}

StateTable::Inserted StateTable::insert(std::span<const uint8_t> bytes, uint64_t hash, uint32_t parent) {
  const auto tag = static_cast<uint8_t>(hash);
  const uint32_t wanted = tag * 0x01010101u;
  for (size_t b = bucket(hash);; b = b + 1 == buckets_.size() ? 0 : b + 1) {
    const Bucket& here = buckets_[b];
    for (uint32_t first = 0; first < here.used; first += 4) {
      uint32_t four = 0;
      std::memcpy(&four, here.tags + first, 4);
      for (uint32_t match = zero_bytes(four ^ wanted); match != 0; match &= match - 1) {
        const uint32_t slot = first + static_cast<uint32_t>(std::countr_zero(match)) / 8;
        if (slot < here.used && holds(here.at[slot], bytes)) return {here.at[slot], false};
      }
    }
    if (here.used < Bucket::slots) break;
  }
  must(has_room(), "a search stops before its states cannot be numbered");
  const uint32_t at = append(bytes, parent);
  link(hash, at);
  if (++size_ * 10 > uint64_t{Bucket::slots} * 9 * buckets_.size()) grow();
  return {at, true};
}

uint32_t StateTable::append(std::span<const uint8_t> bytes, uint32_t parent) {
  must(bytes.size() <= largest, "a search stops before a state is too large");
  const bool short_one = bytes.size() < long_length;
  const size_t head = sizeof parent + (short_one ? 1 : 1 + sizeof(uint32_t));
  const size_t units = (head + bytes.size() + unit - 1) / unit;
  if (chunks_.empty() || ends_.back() + units > chunk_units) {
    chunks_.push_back(std::make_unique_for_overwrite<uint8_t[]>(chunk_bytes));
    ends_.push_back(0);
  }
  const auto at = static_cast<uint32_t>((chunks_.size() - 1) * chunk_units + ends_.back());
  uint8_t* r = chunks_.back().get() + ends_.back() * unit;
  std::memcpy(r, &parent, sizeof parent);
  r[sizeof parent] = short_one ? static_cast<uint8_t>(bytes.size()) : long_length;
  if (!short_one) {
    const auto length = static_cast<uint32_t>(bytes.size());
    std::memcpy(r + sizeof parent + 1, &length, sizeof length);
  }
  std::memcpy(r + head, bytes.data(), bytes.size());
  ends_.back() += static_cast<uint32_t>(units);
  last_ = at;
  return at;
}

void StateTable::link(uint64_t hash, uint32_t at) {
  size_t b = bucket(hash);
  while (buckets_[b].used == Bucket::slots) b = b + 1 == buckets_.size() ? 0 : b + 1;
  Bucket& here = buckets_[b];
  here.tags[here.used] = static_cast<uint8_t>(hash);
  here.at[here.used++] = at;
}

void StateTable::grow() {
  const size_t more = buckets_.size() * 2;
  buckets_ = {};  // not both at a time: the states themselves say where they belong
  buckets_.resize(more);
  constexpr size_t ahead = 16;  // their buckets are fetched while others are linked
  std::array<std::pair<uint64_t, uint32_t>, ahead> some;
  for (uint32_t at = first(); at != none;) {
    size_t count = 0;
    for (; count < ahead && at != none; at = after(at)) {
      some[count] = {hash(state(at)), at};
      expect(some[count++].first);
    }
    for (size_t i = 0; i < count; ++i) link(some[i].first, some[i].second);
  }
}

}  // namespace turnstile::checker
