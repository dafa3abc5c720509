// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "model/mimw/problems.h"
#include "model/trace.h"

namespace turnstile::mimw {

/// Gives every object of a text bytes of its own, so that objects conflict exactly if the text says so: by
/// the same name and index, or by buffers placed `at` overlapping addresses.
///
/// Shared and tensor memory of each CTA have windows that do not meet, so that an address alone tells which
/// object it is (Trace::shared_names).
class Memory {
 public:
  static constexpr uint64_t window = uint64_t{1} << 24;  ///< bytes of one CTA's shared or tensor memory
  static constexpr uint64_t default_bytes = 128;         ///< of an object that is not declared
  static constexpr uint64_t barrier_bytes = 8;           ///< MB1
  static constexpr uint64_t column_bytes = 512;          ///< TC1: 128 lanes of 32 bits

  struct Declaration {
    Position at;
    Space space = Space::shared;
    uint16_t cta = 0;
    std::string name;
    std::optional<int64_t> extent;
    uint64_t bytes = default_bytes;   ///< of one element
    std::optional<uint64_t> address;  ///< in the window
  };

  /// `show_cta`: names say "@0.buf"; the text has more than one CTA.
  Memory(Trace& tables, Problems& problems, bool show_cta)
      : tables_(&tables), problems_(&problems), show_cta_(show_cta) {}

  /// All declarations with an address come before all others and before any use.
  bool declare(const Declaration& d);
  /// Declared once: every shared object must be.
  bool has_declared_buffers() const { return declared_buffers_; }

  /// The object of this name, made if it is not declared. Nothing after an error.
  std::optional<uint32_t> find(Space space, uint16_t cta, const std::string& name, Position at);
  /// The bytes of an object or of one of its elements.
  std::optional<uint32_t> footprint(uint32_t object, std::optional<int64_t> index, Position at);
  /// The bytes of the whole object as far as it is known at the end of the unrolling.
  uint32_t extent_so_far(uint32_t object);
  /// First byte of a footprint.
  uint64_t address(uint32_t footprint) const;

  /// Bytes for an mbarrier object.
  std::optional<uint64_t> reserve(uint16_t cta, uint64_t bytes, Position at) {
    return reserve(Space::shared, cta, bytes, at);
  }
  std::string shown(uint16_t cta, const std::string& name) const;
  std::string shown(uint16_t cta, const std::string& name, int64_t index) const;

  /// Completes the footprints of extent_so_far().
  void finish();

 private:
  struct Object {
    Space space = Space::shared;
    uint32_t allocation = 0;
    uint16_t cta = 0;
    std::string name;
    bool declared = false;
    std::optional<int64_t> extent;  ///< declared array
    uint64_t base = 0, bytes = default_bytes;
    std::optional<uint32_t> whole;  ///< footprint
    std::unordered_map<int64_t, uint32_t> elements;
    std::optional<uint32_t> so_far;
  };

  /// `c` for `c.l`, and the other way round; empty: none of them is used undeclared.
  std::string relative(const std::string& key) const;
  std::optional<uint64_t> reserve(Space space, uint16_t cta, uint64_t bytes, Position at);
  std::optional<uint32_t> undeclared(Object& o, std::optional<int64_t> index, Position at);
  std::optional<uint32_t> in_array(Object& o, std::optional<int64_t> index, Position at);
  uint32_t add_footprint(const Object& o, uint64_t begin, uint64_t end, std::string name);
  uint64_t& next_free(Space space, uint32_t allocation) { return next_[{space, allocation}]; }
  static uint64_t window_base(Space space, uint16_t cta);

  Trace* tables_;
  Problems* problems_;
  bool show_cta_;
  bool declared_buffers_ = false;
  std::vector<Object> objects_;
  std::map<std::string, uint32_t> by_name_;              ///< "2:1.tm.acc"
  std::map<std::pair<Space, uint32_t>, uint64_t> next_;  ///< offset in the window
};

}  // namespace turnstile::mimw
