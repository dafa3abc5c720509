// SPDX-License-Identifier: Apache-2.0
// From parsed PTX and a launch to a Program that is ready to run: operands become registers, variables get
// addresses, parameters their bytes, waits their loops.
#include "sim/program.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <map>

#include "model/ptx/parser.h"
#include "sim/descriptor.h"
#include "sim/handlers.h"
#include "sim/launch_run.h"
#include "sim/operand_shapes.h"
#include "sim/peek.h"
#include "sim/poll_loop.h"

namespace turnstile::sim {

namespace {

constexpr uint64_t shared_limit = 227 * 1024;  // what a CTA can have on sm_90, static and dynamic

constexpr uint64_t local_limit = uint64_t{64} << 20;       // of all threads of a CTA
constexpr uint64_t variables_limit = uint64_t{256} << 20;  // module scope, all together

constexpr uint64_t most_cluster_ctas = 16;  // F3: 8 is portable, 16 the most that any GPU has

uint64_t round_up(uint64_t value, uint64_t unit) { return (value + unit - 1) / unit * unit; }

class Builder {
 public:
  Builder(Program& program, const Launch& launch) : p_(program), launch_(launch), entry_(*program.entry) {}

  Result<void> build() {
    if (launch_.threads() == 0 || launch_.threads() > 1024)
      return fail(launch_.path, 0, 0,
                  fmt::format("a block of {} threads; a CTA has 1 to 1024", launch_.threads()));
    p_.register_count = static_cast<uint32_t>(entry_.registers.size());
    for (const ptx::Register& r : entry_.registers) p_.register_bits.push_back(r.bits);
    if (auto r = place_variables(); !r) return r;
    if (auto r = bind_parameters(); !r) return r;
    if (auto r = check_directives(); !r) return r;
    for (uint32_t i = 0; i < entry_.instructions.size(); ++i) {
      auto d = decode(i);
      if (!d) return tl::unexpected<Error>(d.error());
      p_.code.push_back(std::move(*d));
      p_.places.push_back(place(entry_.instructions[i]));
    }
    if (uint64_t{p_.register_count} * ((launch_.threads() + 31) / 32) * 32 > Program::most_register_words)
      return fail(p_.module.path, entry_.position.line, 0,
                  fmt::format("entry '{}' declares {} registers for {} threads, more than one run holds",
                              entry_.name, p_.register_count, launch_.threads()));
    if (p_.code.empty())
      return fail(p_.module.path, entry_.position.line, 0,
                  fmt::format("entry '{}' has no instructions", entry_.name));
    for (uint32_t i = 0; i < p_.code.size(); ++i)
      if (p_.code[i].run == exec_mbarrier_wait) p_.code[i].shape[0] = is_poll_loop(p_, i) ? 1 : 0;
    for (uint32_t i = 0; i < p_.code.size(); ++i) {
      if (p_.code[i].run != exec_mbarrier_wait || p_.code[i].shape[0] != 0) continue;
      std::vector<uint32_t> waits = waits_after_peek(p_, i);
      for (uint32_t w : waits) p_.code[w].shape[2] = 1;
      if (!waits.empty()) p_.peeks[i] = std::move(waits);
    }
    find_flag_polls();
    return {};
  }

 private:
  /// Loads, and atomics that leave the word as it is, around which a loop waits.
  void find_flag_polls() {
    constexpr uint32_t longest = 64;
    for (uint32_t i = 0; i < p_.code.size(); ++i) {
      Decoded& d = p_.code[i];
      if (d.run != exec_load && !(d.run == exec_atomic && leaves_word_alone(p_, d))) continue;
      if (d.space == AddressSpace::local || d.space == AddressSpace::param) continue;
      bool loops = false;
      for (uint32_t j = i + 1; j < std::min<size_t>(p_.code.size(), i + longest) && !loops; ++j)
        loops = p_.code[j].run == exec_branch && p_.code[j].target <= i;
      if (!loops) continue;
      const std::optional<FlagPoll> poll = flag_poll(p_, i);
      if (!poll) continue;
      d.poll = static_cast<uint32_t>(p_.flag_polls.size());
      p_.flag_polls.push_back(*poll);
      p_.waits_globally = p_.waits_globally || (d.order != 0 && d.space != AddressSpace::shared);
    }
    if (p_.flag_polls.empty()) return;
    for (size_t i = p_.code.size(); i-- > 0;) {
      Decoded& d = p_.code[i];
      if (d.run != exec_load || d.order == 0 || d.poll != Decoded::none) continue;
      const std::optional<FlagPoll> poll = first_look(p_, d.index);
      if (!poll) continue;
      d.poll = static_cast<uint32_t>(p_.flag_polls.size());
      p_.flag_polls.push_back(*poll);
    }
  }

  Place place(const ptx::Instruction& i) const {
    Place out;
    out.ptx_file = p_.module.path;
    out.ptx_line = i.position.line;
    out.instruction = i.mnemonic;
    if (!i.location) return out;
    // Helpers are inlined: the line that the kernel's author looks for is where the helper was called.
    const ptx::SourceLocation* at = &p_.module.locations[*i.location];
    for (int depth = 0; at->inlined_at && depth < 64; ++depth) {
      const ptx::SourceLocation& caller = p_.module.locations[*at->inlined_at];
      // Triton outlines each role of a kernel and inlines it again, "called" from the `def` of the kernel,
      // column 1, where no call can stand: the line of the role is the one that its author wrote.
      if (caller.column == 1 && at->line != 0) break;
      at = &caller;
    }
    if (at->file < p_.module.files.size()) out.file = p_.module.files[at->file];
    out.line = at->line;
    out.column = at->column;
    return out;
  }

  Result<void> place_variables() {
    uint64_t at = AddressMap::shared_static_base;
    uint64_t dynamic_alignment = 16, variable_bytes = 0;
    std::vector<uint32_t> dynamic;
    for (uint32_t s = 0; s < entry_.symbols.size(); ++s) {
      const ptx::Symbol& symbol = entry_.symbols[s];
      switch (symbol.space) {
        case ptx::StateSpace::shared:
          if (symbol.is_extern || symbol.bytes == 0) {
            dynamic.push_back(s);
            dynamic_alignment = std::max<uint64_t>(dynamic_alignment, symbol.alignment);
            break;
          }
          at = round_up(at, std::max<uint64_t>(symbol.alignment, 1));
          address_[s] = at;
          at += symbol.bytes;
          if (at > AddressMap::shared_static_base + shared_limit)
            return fail(p_.module.path, symbol.position.line, symbol.position.column,
                        fmt::format("static shared memory exceeds the {} bytes of a CTA on sm_90 with '{}'",
                                    shared_limit, symbol.name));
          break;
        case ptx::StateSpace::param:
          if (s < entry_.parameter_count) {
            address_[s] = symbol.offset;
            break;
          }
          [[fallthrough]];  // a parameter of a call belongs to the thread
        case ptx::StateSpace::local:
          p_.local_bytes = round_up(p_.local_bytes, std::max<uint64_t>(symbol.alignment, 1));
          address_[s] = p_.local_bytes;
          p_.local_bytes += symbol.bytes;
          if (p_.local_bytes * launch_.threads() > local_limit || p_.local_bytes > local_limit)
            return fail(
                p_.module.path, symbol.position.line, symbol.position.column,
                fmt::format("local memory of {} bytes a thread is more than one run holds", p_.local_bytes));
          break;
        case ptx::StateSpace::global:
        case ptx::StateSpace::constant: {
          const uint64_t number = launch_.buffers.size() + p_.variables.size();
          if (number >= AddressMap::most_buffers)
            return fail(
                p_.module.path, symbol.position.line, symbol.position.column,
                fmt::format("more than {} buffers and module-scope variables", AddressMap::most_buffers));
          variable_bytes += symbol.bytes;
          if (symbol.bytes > variables_limit || variable_bytes > variables_limit)
            return fail(p_.module.path, symbol.position.line, symbol.position.column,
                        fmt::format("module-scope variables of more than {} bytes", variables_limit));
          address_[s] = AddressMap::buffer_base(static_cast<uint32_t>(number));
          std::vector<std::byte> bytes = symbol.initial;
          bytes.resize(symbol.bytes);
          p_.variables.push_back(std::move(bytes));
          p_.variable_names.push_back(symbol.name);
          break;
        }
        case ptx::StateSpace::reg:
          break;
      }
    }
    p_.dynamic_shared_base = round_up(at, dynamic_alignment);
    for (uint32_t s : dynamic) address_[s] = p_.dynamic_shared_base;
    p_.shared_bytes = p_.dynamic_shared_base + std::min(launch_.dynamic_shared_bytes, 2 * shared_limit);
    if (p_.shared_bytes - AddressMap::shared_static_base > shared_limit)
      return fail(launch_.path, 0, 0,
                  fmt::format("{} bytes of static and {} of dynamic shared memory exceed the {} bytes of a "
                              "CTA on sm_90; lower dynamic_shared_memory",
                              p_.dynamic_shared_base - AddressMap::shared_static_base,
                              launch_.dynamic_shared_bytes, shared_limit));
    return {};
  }

  Result<void> bind_parameters() {
    if (launch_.buffers.size() > AddressMap::most_buffers)
      return fail(launch_.path, 0, 0,
                  fmt::format("{} buffers; a launch has at most {}", launch_.buffers.size(),
                              AddressMap::most_buffers));
    if (launch_.params.size() != entry_.parameter_count)
      return fail(launch_.path, 0, 0,
                  fmt::format("entry '{}' has {} parameters, [[params]] lists {}", entry_.name,
                              entry_.parameter_count, launch_.params.size()));
    for (uint32_t i = 0; i < entry_.parameter_count; ++i) {
      const ptx::Symbol& symbol = entry_.symbols[i];
      const uint64_t end = symbol.offset + symbol.bytes;
      if (p_.params.size() < end) {
        p_.params.resize(end);
        p_.params_known.resize(end);
      }
      auto put = [&](uint64_t value, uint64_t bytes) {
        for (uint64_t b = 0; b < bytes; ++b) {
          p_.params[symbol.offset + b] = static_cast<std::byte>(value >> (8 * b));
          p_.params_known[symbol.offset + b] = 1;
        }
      };
      auto wrong = [&](std::string_view what, uint64_t bytes) {
        return fail(
            launch_.path, 0, 0,
            fmt::format(
                "parameter {} of '{}' has {} bytes in the PTX (line {}), [[params]] gives {} of {} bytes", i,
                entry_.name, symbol.bytes, symbol.position.line, what, bytes));
      };
      if (const auto* map = std::get_if<TensorMapParameter>(&launch_.params[i])) {
        if (symbol.bytes != 128) return wrong("a tensor map", 128);
        if (symbol.alignment % 64 != 0)
          return fail(p_.module.path, symbol.position.line, 0,
                      fmt::format("BS4: parameter {} is a tensor map and must be aligned to 64 bytes, not {}",
                                  i, symbol.alignment));
        p_.tensor_map_at[symbol.offset] = map->map;
        const TensorMap& made = launch_.tensor_maps[map->map];
        const DescriptorBytes bytes =
            encode_descriptor(made, AddressMap::buffer_base(made.buffer) + made.offset);
        for (size_t b = 0; b < bytes.size(); ++b) {
          p_.params[symbol.offset + b] = static_cast<std::byte>(bytes[b]);
          p_.params_known[symbol.offset + b] = 1;
        }
      } else if (const auto* buffer = std::get_if<BufferParameter>(&launch_.params[i])) {
        if (symbol.bytes != 8) return wrong("a buffer address", 8);
        put(AddressMap::buffer_base(buffer->buffer) + buffer->offset, 8);
      } else if (const auto* scalar = std::get_if<ScalarParameter>(&launch_.params[i])) {
        if (symbol.bytes != scalar->bytes) return wrong(scalar->type, scalar->bytes);
        put(scalar->bits, scalar->bytes);
      }
    }
    return {};
  }

  Result<void> check_directives() {
    const ptx::Directives& d = entry_.directives;
    const uint32_t threads = launch_.threads();
    auto count = [](const std::array<uint32_t, 3>& a) { return uint64_t{a[0]} * a[1] * a[2]; };
    if (d.required_threads && count(*d.required_threads) != threads)
      return fail(launch_.path, 0, 0,
                  fmt::format("block has {} threads, the kernel requires exactly {} (.reqntid)", threads,
                              count(*d.required_threads)));
    if (d.max_threads && threads > count(*d.max_threads))
      return fail(launch_.path, 0, 0,
                  fmt::format("block has {} threads, the kernel allows {} (.maxntid)", threads,
                              count(*d.max_threads)));
    if (auto r = bind_cluster(d); !r) return r;
    // RG10, PL17: the launch file's number, else .maxnreg, else the launch-bound rule.
    if (launch_.registers_per_thread)
      p_.registers_per_thread = *launch_.registers_per_thread;
    else if (d.max_registers)
      p_.registers_per_thread = *d.max_registers;
    else if (d.max_threads && d.min_ctas_per_sm)
      p_.registers_per_thread = static_cast<uint32_t>(
          std::min<uint64_t>(65536 / (count(*d.max_threads) * *d.min_ctas_per_sm) / 8 * 8, 256));
    return {};
  }

  /// The launch file says how CTAs form clusters, or the kernel does (PL3); if both do, they must agree.
  Result<void> bind_cluster(const ptx::Directives& d) {
    p_.cluster = launch_.cluster;
    if (d.required_cluster) {
      if (p_.cluster_size() == 1) p_.cluster = *d.required_cluster;
      if (p_.cluster != *d.required_cluster)
        return fail(
            launch_.path, 0, 0,
            fmt::format("clusters of {}x{}x{} CTAs, the kernel requires {}x{}x{} (.reqnctapercluster)",
                        p_.cluster[0], p_.cluster[1], p_.cluster[2], (*d.required_cluster)[0],
                        (*d.required_cluster)[1], (*d.required_cluster)[2]));
    }
    uint64_t size = 1;
    for (size_t i = 0; i < 3; ++i) {
      size *= p_.cluster[i];
      if (p_.cluster[i] == 0 || size > most_cluster_ctas || launch_.grid[i] % p_.cluster[i] != 0)
        return fail(
            launch_.path, 0, 0,
            fmt::format("clusters of {}x{}x{} CTAs do not fit a grid of {}x{}x{} (at most {} CTAs each)",
                        p_.cluster[0], p_.cluster[1], p_.cluster[2], launch_.grid[0], launch_.grid[1],
                        launch_.grid[2], most_cluster_ctas));
    }
    if (d.max_cluster_rank && size > *d.max_cluster_rank)
      return fail(launch_.path, 0, 0,
                  fmt::format("a cluster has {} CTAs, the kernel allows {} (.maxclusterrank)", size,
                              *d.max_cluster_rank));
    p_.explicit_cluster = d.explicit_cluster || size > 1;
    return {};
  }

  uint32_t new_register(uint8_t bits) {
    p_.register_bits.push_back(bits);
    return p_.register_count++;
  }
  uint32_t constant(uint64_t value) {
    auto [it, fresh] = constants_.try_emplace(value, 0u);
    if (fresh) {
      it->second = new_register(64);
      p_.constants.push_back({it->second, value});
    }
    return it->second;
  }
  /// The address of a shared variable: the same number in every CTA, unless its rank is part of it (PE7).
  uint32_t shared_address(uint64_t value) {
    if (p_.cluster_size() == 1) return constant(value);
    auto [it, fresh] = shared_addresses_.try_emplace(value, 0u);
    if (fresh) {
      it->second = new_register(64);
      p_.shared_addresses.push_back({it->second, value});
    }
    return it->second;
  }
  uint32_t special(const std::string& name) {
    auto [it, fresh] = specials_.try_emplace(name, 0u);
    if (fresh) {
      it->second = new_register(32);
      p_.specials.push_back({it->second, name});
    }
    return it->second;
  }

  /// Address of a variable as `mov` gives it: an offset in its window (global and const: a generic address).
  uint64_t address_of(uint32_t symbol) const {
    auto it = address_.find(symbol);
    return it == address_.end() ? 0 : it->second;
  }

  void add_source(Decoded& d, const ptx::Operand& o) {
    const auto position = static_cast<uint32_t>(d.src.size());
    if (o.negated && position < 32) d.negated |= 1u << position;
    switch (o.kind) {
      case ptx::OperandKind::reg:
        d.src.push_back(o.reg.v);
        break;
      case ptx::OperandKind::immediate:
        if (o.is_float64) decimal_floats_.push_back(position);
        d.src.push_back(constant(o.immediate));
        break;
      case ptx::OperandKind::special:
        d.src.push_back(special(o.name));
        break;
      case ptx::OperandKind::symbol:
        d.call_parameter = d.call_parameter || (o.symbol >= entry_.parameter_count &&
                                                entry_.symbols[o.symbol].space == ptx::StateSpace::param);
        d.src.push_back(entry_.symbols[o.symbol].space == ptx::StateSpace::shared
                            ? shared_address(address_of(o.symbol) + static_cast<uint64_t>(o.offset))
                            : constant(address_of(o.symbol) + static_cast<uint64_t>(o.offset)));
        break;
      case ptx::OperandKind::sink:
        d.src.push_back(constant(0));
        break;
      case ptx::OperandKind::label:
        d.target = o.label;
        break;
      case ptx::OperandKind::vector:
      case ptx::OperandKind::paired:
        for (const ptx::Operand& e : o.elements) add_source(d, e);
        break;
      case ptx::OperandKind::address:
        d.offsets.push_back(o.offset);
        add_source(d, o.elements[0]);
        if (o.elements.size() > 1)
          for (const ptx::Operand& e : o.elements[1].elements) add_source(d, e);
        break;
    }
  }

  void add_destination(Decoded& d, const ptx::Operand& o) {
    if (o.kind == ptx::OperandKind::vector || o.kind == ptx::OperandKind::paired) {
      for (const ptx::Operand& e : o.elements) add_destination(d, e);
      return;
    }
    const bool is_register = o.kind == ptx::OperandKind::reg;
    d.dst.push_back(is_register ? o.reg.v : Decoded::none);
    d.dst_bits.push_back(is_register ? p_.register_bits[o.reg.v] : 0);
  }

  /// Instructions whose first operand is not a destination.
  static bool has_destination(const ptx::Instruction& i) {
    if (i.operands.empty()) return false;
    const std::string_view root = i.root();
    if (root == "bar" || root == "barrier")
      return std::find(i.modifiers.begin(), i.modifiers.end(), "red") != i.modifiers.end();
    static constexpr std::array<std::string_view, 15> without = {
        "st",         "bra",  "brx", "cp",      "prefetch",      "prefetchu", "stmatrix", "nanosleep",
        "setmaxnreg", "call", "red", "discard", "applypriority", "fence",     "membar"};
    if (std::find(without.begin(), without.end(), root) != without.end()) return false;
    const std::string_view verb =
        i.modifiers.size() > 1 ? std::string_view(i.modifiers[1]) : std::string_view();
    if (root == "mbarrier")
      return verb == "arrive" || verb == "arrive_drop" || verb == "test_wait" || verb == "try_wait" ||
             verb == "pending_count";
    if (root == "wgmma") return verb == "mma_async";
    if (root == "tcgen05") return verb == "ld";
    if (root == "multimem") return verb == "ld_reduce";
    if (root == "tensormap" || root == "griddepcontrol") return false;
    if (root == "clusterlaunchcontrol") return verb == "query_cancel";
    return true;
  }

  Result<Decoded> decode(uint32_t index) {
    const ptx::Instruction& i = entry_.instructions[index];
    decimal_floats_.clear();
    Decoded d;
    d.text = &i;
    d.index = index;
    d.key = i.mnemonic;
    d.key_name = hash_text(d.key);
    if (i.guard) {
      d.guard = i.guard->predicate.v;
      d.guard_negated = i.guard->negated;
    }
    size_t first_source = 0;
    if (has_destination(i)) {
      add_destination(d, i.operands[0]);
      first_source = 1;
    }
    const bool is_call = i.root() == "call";
    for (size_t o = first_source; o < i.operands.size(); ++o)
      if (!is_call || o != 1) add_source(d, i.operands[o]);  // operand 1 of a call is the callee
    auto decoded = decode_form(i, p_, std::move(d));
    if (!decoded) return decoded;
    if (const std::string why = operand_problem(*decoded, entry_); !why.empty())
      return fail(p_.module.path, i.position.line, i.position.column,
                  fmt::format("'{}' {}", i.mnemonic, why));
    if (decoded->call_parameter && !is_call && decoded->run != exec_load && decoded->run != exec_store)
      return fail(
          p_.module.path, i.position.line, i.position.column,
          fmt::format("'{}' uses a parameter of a call other than by ld.param and st.param", i.mnemonic));
    add_carry_flag(*decoded);
    narrow_decimal_floats(i, *decoded);
    decoded->is_move = decoded->run == exec_move;
    decoded->is_wgmma = i.root() == "wgmma";
    return decoded;
  }

  /// CC.CF is a register like any other, but that no operand names it. It has no value at the start.
  void add_carry_flag(Decoded& d) {
    if (!d.pure.reads_carry && !d.pure.writes_carry) return;
    if (carry_flag_ == Decoded::none) carry_flag_ = new_register(1);
    if (d.pure.reads_carry) d.src.push_back(carry_flag_);
    if (!d.pure.writes_carry) return;
    d.dst.push_back(carry_flag_);
    d.dst_bits.push_back(1);
  }

  /// A decimal float that stands for a 32-bit float is that float (PG11); the parser gives it as 64 bits.
  void narrow_decimal_floats(const ptx::Instruction& i, Decoded& d) {
    for (uint32_t at : decimal_floats_) {
      const bool arithmetic = (d.run == exec_pure || d.run == exec_pack_pair) && at < d.pure.inputs;
      const bool narrow = arithmetic
                              ? d.pure.input_is_float[at] && d.pure.input_bits[at] == 32
                              : std::find(i.modifiers.begin(), i.modifiers.end(), "f32") != i.modifiers.end();
      if (!narrow || at >= d.src.size()) continue;
      for (auto [reg, bits] : p_.constants) {
        if (reg != d.src[at]) continue;
        const float value = static_cast<float>(std::bit_cast<double>(bits));
        d.src[at] = constant(std::bit_cast<uint32_t>(value));
        break;
      }
    }
  }

  Program& p_;
  const Launch& launch_;
  const ptx::Entry& entry_;
  std::map<uint32_t, uint64_t> address_;
  std::map<uint64_t, uint32_t> constants_;
  std::map<uint64_t, uint32_t> shared_addresses_;
  std::vector<uint32_t> decimal_floats_;  // source positions of the instruction being decoded
  std::map<std::string, uint32_t> specials_;
  uint32_t carry_flag_ = Decoded::none;
};

/// Registers whose values come to a fragment by moves alone, the fragments too.
void add_sources_of_moves(const Program& program, std::vector<uint8_t>& reaches) {
  std::vector<std::vector<uint32_t>> sources(program.register_count);
  for (const Decoded& d : program.code)
    if (d.text->root() == "mov")
      for (const uint32_t to : d.dst)
        if (to != Decoded::none) sources[to].insert(sources[to].end(), d.src.begin(), d.src.end());
  std::vector<uint32_t> open;
  for (uint32_t r = 0; r < reaches.size(); ++r)
    if (reaches[r] != 0) open.push_back(r);
  while (!open.empty()) {
    const uint32_t r = open.back();
    open.pop_back();
    for (const uint32_t from : sources[r])
      if (from != Decoded::none && reaches[from] == 0) {
        reaches[from] = 1;
        open.push_back(from);
      }
  }
}

/// Marks what WG1 asks about: uses of the accumulators and A registers of wgmma by others. A move is none by
/// itself, for most are renames that ptxas removes, wherever they stand: it brings along whether its source
/// was computed since the fence.
void mark_uses_of_fragments(Program& program) {
  std::vector<uint8_t> fragment(program.register_count);
  bool any = false;
  for (const Decoded& d : program.code) {
    if (!d.is_wgmma) continue;
    any = any || !d.dst.empty();
    for (uint32_t r : d.dst) fragment[r] = 1;
    for (size_t i = 0; d.variant == 1 && i < 4 && i < d.src.size(); ++i) fragment[d.src[i]] = 1;
  }
  if (!any) return;
  std::vector<uint8_t> reaches = fragment;
  add_sources_of_moves(program, reaches);
  for (Decoded& d : program.code) {
    if (d.is_wgmma) continue;
    d.is_rename = d.text->root() == "mov";
    const auto is_one = [&](uint32_t r) { return r != Decoded::none && fragment[r] != 0; };
    const auto reaches_one = [&](uint32_t r) { return r != Decoded::none && reaches[r] != 0; };
    d.uses_fragments = (!d.is_rename && std::any_of(d.src.begin(), d.src.end(), is_one)) ||
                       std::any_of(d.dst.begin(), d.dst.end(), reaches_one);
  }
}

}  // namespace

void ProgramDeleter::operator()(Program* program) const { delete program; }

Result<ProgramHandle> load_program(const Launch& launch) {
  auto module = ptx::parse_file(launch.kernel_path);
  if (!module) return tl::unexpected<Error>(module.error());
  return build_program(std::move(*module), launch);
}

Result<ProgramHandle> build_program(ptx::Module module, const Launch& launch) {
  ProgramHandle program(new Program);
  program->module = std::move(module);
  program->entry = program->module.find(launch.entry);
  if (program->entry == nullptr) {
    std::string names;
    for (const ptx::Entry& e : program->module.entries) names += (names.empty() ? "'" : ", '") + e.name + "'";
    return fail(launch.path, 0, 0,
                fmt::format("{} has no entry '{}'; it has {}", program->module.path, launch.entry,
                            names.empty() ? "none" : names));
  }
  if (auto built = Builder(*program, launch).build(); !built) return tl::unexpected<Error>(built.error());
  mark_uses_of_fragments(*program);
  return program;
}

}  // namespace turnstile::sim
