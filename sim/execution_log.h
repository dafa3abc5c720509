// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "sim/register_file.h"

namespace turnstile::sim {

class Machine;
class Cta;
class GlobalMemory;
struct Warp;
struct Decoded;
struct WarpGroupOp;
enum class Step : uint8_t;

/// One thing that a run did, in the order in which it was done: an instruction of some lanes of a warp, an
/// operation that landed, a matrix operation whose four warps had come.
struct LoggedStep {
  static constexpr uint16_t landing = 0xffff, matrix = 0xfffe;  ///< instead of a warp
  uint32_t code = 0;                                            ///< index of the instruction
  uint16_t cta = 0;                                             ///< number in the log
  uint16_t warp = 0;
  LaneMask lanes = 0;
};

/// Bytes that a step wrote. `from`: where they stood in the run of bytes that a landing moves.
struct LoggedWrite {
  uint32_t step = 0;
  uint32_t bytes = 0;
  uint32_t from = 0;
  uint32_t run = 0;  ///< number of that run in its landing
  uint64_t address = 0;
};

/// Bytes that a landing read, and where in its run of bytes they went.
struct LoggedRead {
  uint32_t step = 0;
  uint32_t memory = 0;
  uint32_t bytes = 0;
  uint32_t at = 0;
  uint64_t address = 0;
  uint32_t run = 0;
};

/// Where each lane of a memory instruction went: `memory` and `base` + `delta`; of ldmatrix and stmatrix the
/// rows that the lanes name. Of shuffles, `delta` is the lane that gives.
struct LoggedLanes {
  static constexpr uint32_t nowhere = 0xffffffff;  ///< several memories, or one that is not followed
  uint32_t memory = nowhere;
  uint64_t base = 0;
  std::array<uint32_t, warp_size> delta{};
};

struct LoggedMatrix {
  uint32_t step = 0;
  uint32_t code = 0;
  uint16_t cta = 0;
  uint32_t first_warp = 0;
  uint64_t a = 0, b = 0;  ///< descriptors
  bool accumulates = false;
};

/// A memory of the log: a buffer of the launch or variable of the module, or the shared memory of a CTA.
struct LoggedMemory {
  bool shared = false;
  uint32_t number = 0;  ///< buffer, or CTA of the log
};

/// What a run executed, kept so that a value can be followed back to where it came from (sim/why.h): not the
/// values, which a second run gives where they are asked for. Memory: 12 bytes an instruction, 144 one that
/// touches memory; bounded by `most_bytes`, beyond which `overflowed` says so and nothing more is kept.
class ExecutionLog {
 public:
  enum class Mode : uint8_t {
    writers,  ///< only which machine wrote some bytes last, and whether machines read what others wrote
    steps,    ///< everything but values
    values,   ///< hands each step and matrix operation to `visit_step`, `visit_matrix` before it is executed
  };
  explicit ExecutionLog(Mode mode) : mode_(mode) {}

  static constexpr uint64_t most_bytes = uint64_t{3} << 29;

  // writers
  uint32_t watched_buffer = 0;
  uint64_t watched_begin = 0, watched_end = 0;
  std::optional<uint32_t> last_writer;  ///< number of the machine, in the order of attaching
  bool machines_depend = false;         ///< a machine read bytes of a buffer that another had written to

  // steps
  std::vector<LoggedStep> steps;
  std::vector<LoggedMemory> memories;
  std::vector<std::vector<LoggedWrite>> writes;  ///< by memory, in the order of steps
  std::vector<LoggedRead> reads;
  std::map<uint32_t, LoggedLanes> lane_targets;  ///< by step
  std::vector<LoggedMatrix> matrices;
  /// Numbers of the matrix operations of a warp group, in order: that of the n-th wgmma of each of its warps.
  std::map<std::pair<uint16_t, uint32_t>, std::vector<uint32_t>> matrices_of;
  std::vector<std::array<uint32_t, 3>> positions;  ///< of the CTAs of the log in the grid
  bool overflowed = false;

  // values
  std::function<void(uint32_t step, Cta&, Warp&, const Decoded&)> visit_step;
  std::function<void(uint32_t step, Cta&, const WarpGroupOp&, uint32_t first_warp)> visit_matrix;

  // Told by the machine (Cta, GlobalMemory, WindowMemory).
  void attach(Machine& machine);
  void before(Cta& cta, Warp& warp, const Decoded& d, LaneMask lanes);
  void after(Cta& cta, Warp& warp, const Decoded& d, LaneMask lanes, Step step);
  void begin_landing(Cta& cta, uint32_t place);
  void end_landing() { landing_ = false; }
  /// What a landing writes from now on has nothing to do with what it has read so far.
  void begin_run() {
    ++run_;
    next_at_ = 0;
    read_since_write_ = true;
  }
  void matrix_operation(Cta& cta, const WarpGroupOp& op, uint32_t first_warp);
  void wrote(uint32_t memory, uint64_t address, uint64_t bytes, uint64_t from);
  void read(uint32_t memory, uint64_t address, uint64_t bytes, uint64_t at);
  static constexpr uint64_t follow = ~uint64_t{0};  ///< `at` of a read: behind the read before it

 private:
  LoggedLanes lanes_of(const Cta& cta, const Warp& warp, const Decoded& d, LaneMask lanes) const;
  uint16_t cta_of(const Cta& cta) const;
  void keep(uint64_t bytes);

  Mode mode_;
  uint32_t machine_ = 0;
  uint16_t first_cta_ = 0;  ///< of the machine that runs
  uint32_t step_ = 0;       ///< the step that is being executed
  bool landing_ = false;
  uint64_t kept_ = 0;
  uint64_t next_at_ = 0;
  uint32_t run_ = 0;
  bool read_since_write_ = false;
  std::optional<LoggedLanes> pending_;
  std::map<uint32_t, std::set<uint32_t>> written_by_;  ///< writers: buffer -> machines
};

}  // namespace turnstile::sim
