// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "model/launch/launch.h"
#include "model/ptx/program.h"
#include "model/result.h"
#include "model/trace.h"
#include "sim/alu/pure.h"
#include "sim/launch_run.h"
#include "sim/numerics/matrix_arithmetic.h"
#include "sim/reduction.h"
#include "sim/register_file.h"

namespace turnstile::sim {

class Cta;
struct Warp;
struct Decoded;

/// What executing one instruction for some lanes of a warp did.
enum class Step : uint8_t {
  next,     ///< go on with the next instruction
  moved,    ///< the handler placed the lanes itself (branch, exit, split)
  blocked,  ///< nothing happened yet; try the same instruction again later
  stop,     ///< the CTA ends here: a fault or an unknown stands in the trace
};
using Handler = Step (*)(Cta&, Warp&, const Decoded&, LaneMask);

/// How a memory access is ordered (M1, M7, M8).
enum MemoryOrder : uint8_t { order_strong = 1, order_acquire = 2, order_release = 4 };

enum class AddressSpace : uint8_t { generic, global, shared, local, param };

/// A loop that waits for a value in memory, found at its load (sim/poll_loop.h): it ends when the value
/// stands in this relation to the bound.
struct FlagPoll {
  enum class Until : uint8_t { equal, not_equal, at_least, above, below, at_most, other };
  Until until = Until::other;
  bool is_signed = false;
  bool value_is_used = false;  ///< after the loop
  uint32_t bound = 0;          ///< register
};

/// One instruction, ready to run. All operands are numbers of registers: immediates, special registers and
/// addresses of variables live in registers of their own behind the declared ones, so that handlers know one
/// kind of operand only.
struct Decoded {
  static constexpr uint32_t none = 0xffffffff;
  Handler run = nullptr;
  const ptx::Instruction* text = nullptr;
  uint32_t index = 0;  ///< of the instruction; also the place number in traces
  uint32_t guard = none;
  bool guard_negated = false;
  std::vector<uint32_t> dst;  ///< `none` for a sink
  std::vector<uint8_t> dst_bits;
  std::vector<uint32_t> src;     ///< addresses give their base register here
  uint32_t negated = 0;          ///< bit i: source i is a negated predicate
  std::vector<int64_t> offsets;  ///< of the address operands, in order
  uint32_t target = 0;           ///< branch target
  PureOp pure;
  // Meaning depends on the handler; see the decoder of each family.
  AddressSpace space = AddressSpace::generic;
  uint8_t bytes = 0;  ///< element size of a memory access
  uint8_t vector = 1;
  bool is_signed = false;
  uint8_t variant = 0;
  Reduction reduction;          ///< of a bulk reduction, red.async
  Scope scope = Scope::cta;     ///< of memory order and fences
  uint8_t order = 0;            ///< bits of MemoryOrder; 0: weak (M1)
  uint32_t poll = none;         ///< index into Program::flag_polls
  bool any_cta = false;         ///< a shared::cluster address: of any CTA of the cluster (MB7, D1)
  bool opaque = false;          ///< matrix operations, redux: results stay unknown, having no exact model
  uint8_t element_bits = 0;     ///< matrix operations: of A and B
  MatrixArithmetic arithmetic;  ///< of these: what they compute; `none` if opaque
  bool sparse = false;          ///< wgmma, mma.sync: half of A is stored
  uint8_t mn_major = 0;         ///< wgmma: bit 0: rows of A lie along M (transposed), bit 1: of B along N
  bool four_rows = false;       ///< tensor copies: tile::gather4, tile::scatter4
  bool byte_mask = false;       ///< cp.async.bulk: copies some bytes of each 16
  bool call_parameter = false;  ///< names a parameter of a call
  bool is_move = false;         ///< exec_move of a register: may be a rename (Cta::check_in_flight)
  bool is_wgmma = false;        ///< looks after registers in flight itself
  bool uses_fragments = false;  ///< touches registers that some wgmma uses too, or that are moved there (WG1)
  bool is_rename = false;       ///< of these: a mov
  uint32_t shape[3] = {0, 0, 0};  ///< wgmma M, N, K
  std::string_view key;           ///< mnemonic family for provenance
  Hash128 key_name;               ///< of that
};

/// Layout of the shared window, generic windows and parameters of one launch.
struct AddressMap {
  static constexpr uint64_t shared_static_base = 0x400;  ///< the first KiB belongs to the system on sm_90
  static constexpr unsigned rank_shift =
      24;  ///< of the CTA's rank in shared addresses of cluster launches (PE7)
  static constexpr uint64_t shared_window = uint64_t{0x7f} << 40;
  static constexpr uint64_t local_window = uint64_t{0x7e} << 40;
  static constexpr uint64_t param_window = uint64_t{0x7d} << 40;
  static constexpr uint64_t window_bytes = uint64_t{1} << 40;
  static constexpr uint32_t most_buffers = 100;  ///< their windows stay below those above
  static constexpr uint64_t buffer_base(uint32_t buffer) { return (uint64_t{buffer} + 1) << 40; }
};

struct Program {
  ptx::Module module;
  const ptx::Entry* entry = nullptr;
  std::vector<Decoded> code;
  std::vector<Place> places;
  uint32_t register_count = 0;                                  ///< declared plus constants plus specials
  std::vector<std::pair<uint32_t, uint64_t>> constants;         ///< register -> value, the same in every lane
  std::vector<std::pair<uint32_t, uint64_t>> shared_addresses;  ///< register -> offset of a shared variable,
                                                                ///< if each CTA has its own address for it
  std::vector<std::pair<uint32_t, std::string>> specials;       ///< register -> special register name
  static constexpr uint64_t most_register_words = uint64_t{1} << 25;  ///< of a CTA: registers times lanes
  std::vector<uint8_t> register_bits;
  uint64_t shared_bytes = 0;  ///< end of the shared window (static and dynamic)
  uint64_t dynamic_shared_base = 0;
  uint64_t local_bytes = 0;       ///< per thread
  std::vector<std::byte> params;  ///< parameter block; tensor maps in the format of sim/descriptor.h
  std::vector<uint8_t> params_known;
  std::unordered_map<uint64_t, uint32_t> tensor_map_at;  ///< parameter offset -> index in Launch::tensor_maps
  std::vector<std::vector<std::byte>>
      variables;  ///< module-scope .global/.const, as buffers behind those of the launch
  std::vector<std::string> variable_names;
  uint32_t registers_per_thread = 0;  ///< at entry; 0 if unknown
  std::map<uint32_t, std::vector<uint32_t>>
      peeks;              ///< polls that decide only whether these waits are skipped
  Dim3 cluster{1, 1, 1};  ///< of the launch file, or .reqnctapercluster
  bool explicit_cluster = false;
  std::vector<FlagPoll> flag_polls;
  bool waits_globally = false;  ///< some loop waits for a value in global memory, which another CTA may write

  uint32_t cluster_size() const { return cluster[0] * cluster[1] * cluster[2]; }
};

/// Decodes the kernel of a launch from PTX that is already parsed; load_program is this on the launch's file.
Result<ProgramHandle> build_program(ptx::Module module, const Launch& launch);

/// Finds the handler of an instruction: sim/forms.cc. Error: not implemented, with file, line and mnemonic.
Result<Decoded> decode_form(const ptx::Instruction& instruction, const Program& program, Decoded base);

}  // namespace turnstile::sim
