// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "model/mimw/memory.h"
#include "model/mimw/mimw.h"
#include "model/mimw/problems.h"
#include "model/orchestration.h"

namespace turnstile::mimw {

/// An mbar, var or pool by its name.
struct Resource {
  enum class Kind : uint8_t { barrier, variable, pool };
  Kind kind = Kind::barrier;
  uint32_t first = 0;             ///< index into the table of its kind
  std::optional<int64_t> extent;  ///< of an array of barriers
};

/// Where the events of one agent go, and how far its queues are.
struct Strand {
  AgentId id;
  uint16_t cta = 0;
  uint32_t threads = 32;

  struct Queue {
    uint32_t index = AsyncOp::none;  ///< into Trace::queues
    uint64_t committed = 0;          ///< groups
    uint64_t issued = 0;             ///< operations
    uint64_t issued_at_commit = 0;
  };
  static constexpr size_t queue_kinds = 7;
  std::array<Queue, queue_kinds> queues;
  struct Columns {
    uint32_t first = 0, count = 0;
  };
  std::vector<Columns> columns;  ///< tensor memory that it has allocated and not freed
};

/// The orchestration as it grows, with the tables that all texts of one unrolling share.
class Builder {
 public:
  Builder(std::string file, MimwLimits limits) : problems(std::move(file)), limits_(limits) {}

  /// Once the number of CTAs is known.
  void start(std::string kernel, uint32_t ctas, bool show_cta);
  Memory& memory() { return *memory_; }
  Trace& tables() { return program_.tables; }
  uint32_t ctas() const { return program_.tables.cluster_ctas; }

  /// A new agent; an error if the CTA has one of this name.
  std::optional<Strand> add_agent(const std::string& name, uint16_t cta, uint32_t threads, Position at);
  uint32_t place(const Statement& s, const std::string& file);
  uint32_t add_place(Position at, const std::string& file, std::string instruction);

  /// Appends an event to a strand; an error if the limit is reached.
  bool emit(const Strand& strand, Event event, Position at);
  /// Appends an event to an asynchronous operation.
  bool emit_operation(uint32_t op, Event event, Position at);
  uint32_t add_operation(AsyncOp op);
  /// The queue of this kind that belongs to the strand.
  Strand::Queue& queue(Strand& strand, QueueInfo::Kind kind);

  /// Counts the execution of a statement, a long one as several; an error if there are too many.
  bool step(const Statement& s);
  /// Number of a label used as a tag; above all numbers that are tags.
  uint64_t label(const std::string& name);
  std::optional<uint64_t> known_label(const std::string& name) const;
  static constexpr uint64_t first_label = uint64_t{1} << 32;

  std::optional<Orchestration> finish();

  Problems problems;
  std::map<std::pair<uint16_t, std::string>, Resource> resources;  ///< var and pool: of CTA 0
  std::vector<Position> barrier_at;                                ///< declarations, by barrier
  std::vector<uint32_t> barrier_count;
  std::vector<bool> barrier_placed;
  bool in_order_copies = false;
  std::vector<uint32_t> next_column;  ///< of tensor memory, by CTA

 private:
  MimwLimits limits_;
  Orchestration program_;
  std::optional<Memory> memory_;
  std::map<std::pair<uint16_t, std::string>, bool> agents_;
  std::vector<uint32_t> next_warp_;  ///< by CTA
  std::unordered_map<const Statement*, uint32_t> places_;
  std::map<std::string, uint64_t> labels_;
  uint64_t events_ = 0, steps_ = 0;
};

}  // namespace turnstile::mimw
