// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "model/launch/launch.h"
#include "model/result.h"
#include "sim/hash128.h"
#include "sim/launch_run.h"

namespace turnstile::sim {

class ExecutionLog;

/// Some bytes on their way between memory and registers: value, whether it is known, and (provenance domain)
/// its expression.
struct ByteRun {
  std::vector<uint8_t> value;
  std::vector<uint8_t> known;  ///< 0 or 1
  std::vector<Hash128> cells;  ///< empty outside the provenance domain; valid where not known

  void resize(size_t bytes, bool with_cells) {
    value.resize(bytes);
    known.resize(bytes);
    if (with_cells) cells.resize(bytes);
  }
};

/// The shared window of one CTA, or the local memory of one thread. Addresses are offsets in the window.
/// Bounds are checked by the caller.
class WindowMemory {
 public:
  WindowMemory(uint64_t bytes, bool with_cells)
      : value_(bytes),
        known_(bytes),
        block_known_(bytes / block_bytes + 1),
        cells_(with_cells ? bytes : 0, undefined_byte) {}

  bool contains(uint64_t address, uint64_t bytes) const {
    return address <= value_.size() && bytes <= value_.size() - address;
  }
  uint64_t size() const { return value_.size(); }
  void read(uint64_t address, size_t bytes, ByteRun& out) const;
  void write(uint64_t address, size_t from, size_t bytes, const ByteRun& in);
  void forget(uint64_t address, size_t bytes);
  const uint8_t* data(uint64_t address) const { return &value_[address]; }
  bool all_known(uint64_t address, size_t bytes) const;
  /// No byte here is known, nor marked. A hint, by blocks: false is always right.
  bool nothing_known(uint64_t address, size_t bytes) const {
    for (uint64_t block = address / block_bytes; block * block_bytes < address + bytes; ++block)
      if (block_known_[block] != 0) return false;
    return true;
  }

  /// Marks on bytes, for what follows values through memory (sim/position_tracker.h): whoever writes a byte
  /// takes its mark away, and marks of bytes that are read are kept in mind. 0: no mark.
  void mark_bytes() { marks_.assign(value_.size(), 0); }
  uint32_t mark(uint64_t address) const { return marks_.empty() ? 0 : marks_[address]; }
  bool all_marked(uint64_t address, size_t bytes, uint32_t mark) const;
  void set_mark(uint64_t address, size_t bytes, uint32_t mark);
  const std::vector<uint32_t>& marks_read() const { return marks_read_; }
  void forget_marks_read() { marks_read_.clear(); }
  void forget_mark_read(uint32_t mark) { std::erase(marks_read_, mark); }

  /// Tells `log` what is read and written here, under this number.
  void note_in(ExecutionLog& log, uint32_t number) {
    log_ = &log;
    number_ = number;
  }

  Hash128 byte(uint64_t address) const {
    return known_[address] ? hash_constant_byte(value_[address]) : cells_[address];
  }

 private:
  static constexpr uint64_t block_bytes = 1024;

  std::vector<uint8_t> value_;
  std::vector<uint8_t> known_;
  std::vector<uint8_t> block_known_;  ///< 0: no byte of the block is known or marked: nothing to forget
  std::vector<Hash128> cells_;
  std::vector<uint32_t> marks_;               ///< by byte; empty: nobody marks
  mutable std::vector<uint32_t> marks_read_;  ///< each once, or a few times
  ExecutionLog* log_ = nullptr;
  uint32_t number_ = 0;
};

/// How the leaves of the provenance domain are named: the row under test of each batch buffer by its place
/// inside the row, so that the same row of another batch has the same names; all other rows as foreign
/// (design.md section 5).
struct RowUnderTest {
  uint64_t row = 0;
};

/// Global memory: the buffers of the launch, then the variables of the module.
class GlobalMemory {
 public:
  static Result<GlobalMemory> create(const Launch& launch,
                                     const std::vector<std::vector<std::byte>>& variables, Domain domain,
                                     RowUnderTest row);

  size_t buffer_count() const { return buffers_.size(); }
  uint64_t bytes_of(uint32_t buffer) const { return buffers_[buffer].bytes; }
  /// Whether reading can give known values; otherwise copies need not touch data at all.
  bool opaque(uint32_t buffer) const { return buffers_[buffer].opaque; }
  /// Whether reading can give known values. With names, a buffer that says nothing has them all the same.
  bool gives_values(uint32_t buffer) const { return !buffers_[buffer].opaque && !buffers_[buffer].leaves; }
  void read(uint32_t buffer, uint64_t offset, size_t bytes, ByteRun& out, size_t at) const;
  void write(uint32_t buffer, uint64_t offset, size_t bytes, const ByteRun& in, size_t from);
  /// Makes the bytes unknown, without an expression.
  void forget(uint32_t buffer, uint64_t offset, size_t bytes);
  std::vector<std::vector<std::byte>> take_contents(size_t launch_buffers);

  /// Tells `log` what is read and written, under the numbers of the buffers.
  void note_in(ExecutionLog& log) { log_ = &log; }

  /// Expression of an element of an output buffer; a constant if it was never written.
  Hash128 element(uint32_t buffer, uint64_t offset, unsigned bytes) const;
  bool written(uint32_t buffer, uint64_t offset) const;

 private:
  static constexpr uint64_t page_bytes = 256;
  struct Page {
    Hash128 cells[page_bytes];
    bool written[page_bytes] = {};
  };
  struct Buffer {
    std::string name;
    uint64_t bytes = 0;
    bool opaque = false;         // control domain, data not needed: every read is unknown, writes are dropped
    bool leaves = false;         // provenance domain: contents are leaves until written
    std::vector<uint8_t> value;  // empty if opaque or leaves
    std::vector<uint8_t> known;  // 0 where an unknown value was written; empty: all known
    uint64_t element_bytes = 1, pitch = 1, columns = 1;
    std::vector<uint64_t> shape;
    int batch_axis = -1;
    std::unordered_map<uint64_t, Page> pages;  // provenance: written bytes
  };
  Hash128 leaf(uint32_t buffer, uint64_t offset) const;
  /// With names, the value of which the bytes that lie together are bytes. A divisor of page_bytes.
  static constexpr size_t group_bytes = 16;
  static Hash128 group_name(uint32_t buffer, uint64_t offset);

  std::vector<Buffer> buffers_;
  Domain domain_ = Domain::control;
  RowUnderTest row_;
  ExecutionLog* log_ = nullptr;
};

}  // namespace turnstile::sim
