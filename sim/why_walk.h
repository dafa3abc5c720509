// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "sim/execution_log.h"
#include "sim/program.h"
#include "sim/why.h"

namespace turnstile::sim {

/// Follows bytes backwards through a log (ExecutionLog::Mode::steps), breadth first from the element that is
/// asked for, so that what is nearest to it is there should there be too much.
class WhyWalk {
 public:
  WhyWalk(const Program& program, const ExecutionLog& log, Why& out);
  void run(uint32_t buffer, uint64_t offset, uint32_t bytes);

 private:
  /// Bytes that a node wants: of a register of a lane, or of a memory, as they were before a step.
  struct Wanted {
    uint32_t consumer = 0;
    uint32_t at = 0, bytes = 0;
    uint32_t before = 0;
    bool memory = false;
    uint32_t where = 0;    ///< register or memory
    uint64_t address = 0;  ///< in memory; in a register the first byte
    uint16_t cta = 0, warp = 0;
    uint8_t lane = 0;
  };
  using Key = std::tuple<uint32_t, uint8_t, uint32_t, uint64_t, uint32_t>;
  static constexpr uint32_t none = 0xffffffff;

  void follow(Wanted w);
  void follow_memory(const Wanted& w);
  void written_by(const Wanted& w, const LoggedWrite& write, uint64_t begin, uint64_t end);
  void landed(const Wanted& w, const LoggedWrite& write, uint64_t begin, uint64_t end);
  void stored(const Wanted& w, const LoggedStep& s, const LoggedWrite& write, uint64_t begin, uint64_t end);
  void stored_rows(const Wanted& w, const LoggedStep& s, const LoggedWrite& write, uint64_t begin,
                   uint64_t end);
  void computed(const Wanted& w, uint32_t step, const Decoded& d, uint32_t result);
  void loaded(const Wanted& w, uint32_t step, const Decoded& d, uint32_t result);
  void loaded_rows(const Wanted& w, uint32_t step, const Decoded& d, uint32_t result);
  void multiplied(const Wanted& w, uint32_t step, const Decoded& d, uint32_t result);
  void multiplied_by_group(const Wanted& w, uint32_t step, const Decoded& d, uint32_t result);

  /// The step that wrote a register of a lane last before `before`.
  uint32_t writer(const Wanted& w);
  const std::vector<uint32_t>& writers_of(uint16_t cta, uint16_t warp, uint32_t reg);

  /// The node of this key, made with `fill` if there is none yet. `none`: there are too many.
  template <typename Fill>
  uint32_t node(const Key& key, Fill fill);
  void connect(const Wanted& w, uint32_t offset, uint32_t bytes, uint32_t node, uint32_t from);
  void leaf(const Wanted& w, uint32_t offset, uint32_t bytes, std::string text, uint32_t memory = none,
            uint64_t address = 0);
  void stop(const Wanted& w, uint32_t step, std::string text);
  void want(const Wanted& w) { pending_.push_back(w); }
  WhyNode at_step(WhyNode::Kind kind, uint32_t step, uint8_t lane) const;

  const Program& program_;
  const ExecutionLog& log_;
  Why& out_;
  std::deque<Wanted> pending_;
  std::map<Key, uint32_t> known_;
  std::map<std::pair<uint16_t, uint16_t>, std::vector<uint32_t>> steps_of_;  ///< by CTA and warp
  std::map<std::tuple<uint16_t, uint16_t, uint32_t>, std::vector<uint32_t>> writers_;
  std::map<std::pair<uint16_t, uint16_t>, std::vector<uint32_t>> wgmmas_;
  uint64_t scanned_ = 0;
};

}  // namespace turnstile::sim
