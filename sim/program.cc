// SPDX-License-Identifier: Apache-2.0
// From parsed PTX and a launch to a Program that is ready to run: operands become registers, variables get
// addresses, parameters their bytes, waits their loops.
#include "sim/program.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <map>

#include "model/ptx/parser.h"
#include "sim/handlers.h"
#include "sim/launch_run.h"
#include "sim/poll_loop.h"

namespace turnstile::sim {

namespace {

constexpr uint64_t shared_limit = 227 * 1024;  // what a CTA can have on sm_90, static and dynamic

uint64_t round_up(uint64_t value, uint64_t unit) { return (value + unit - 1) / unit * unit; }

class Builder {
 public:
  Builder(Program& program, const Launch& launch) : p_(program), launch_(launch), entry_(*program.entry) {}

  Result<void> build() {
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
    if (p_.code.empty())
      return fail(p_.module.path, entry_.position.line, 0,
                  fmt::format("entry '{}' has no instructions", entry_.name));
    for (uint32_t i = 0; i < p_.code.size(); ++i)
      if (p_.code[i].run == exec_mbarrier_wait) p_.code[i].shape[0] = is_poll_loop(p_, i) ? 1 : 0;
    return {};
  }

 private:
  Place place(const ptx::Instruction& i) const {
    Place out;
    out.ptx_file = p_.module.path;
    out.ptx_line = i.position.line;
    out.instruction = i.mnemonic;
    if (!i.location) return out;
    // Helpers are inlined: the line that the kernel's author looks for is where the helper was called.
    const ptx::SourceLocation* at = &p_.module.locations[*i.location];
    for (int depth = 0; at->inlined_at && depth < 64; ++depth) at = &p_.module.locations[*at->inlined_at];
    if (at->file < p_.module.files.size()) out.file = p_.module.files[at->file];
    out.line = at->line;
    out.column = at->column;
    return out;
  }

  Result<void> place_variables() {
    uint64_t at = AddressMap::shared_static_base;
    uint64_t dynamic_alignment = 16;
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
          break;
        case ptx::StateSpace::local:
          p_.local_bytes = round_up(p_.local_bytes, std::max<uint64_t>(symbol.alignment, 1));
          address_[s] = p_.local_bytes;
          p_.local_bytes += symbol.bytes;
          break;
        case ptx::StateSpace::global:
        case ptx::StateSpace::constant: {
          const auto number = static_cast<uint32_t>(launch_.buffers.size() + p_.variables.size());
          address_[s] = AddressMap::buffer_base(number);
          std::vector<std::byte> bytes = symbol.initial;
          bytes.resize(symbol.bytes);
          p_.variables.push_back(std::move(bytes));
          p_.variable_names.push_back(symbol.name);
          break;
        }
        case ptx::StateSpace::param:
          address_[s] = symbol.offset;
          break;
        case ptx::StateSpace::reg:
          break;
      }
    }
    p_.dynamic_shared_base = round_up(at, dynamic_alignment);
    for (uint32_t s : dynamic) address_[s] = p_.dynamic_shared_base;
    p_.shared_bytes = p_.dynamic_shared_base + launch_.dynamic_shared_bytes;
    if (p_.shared_bytes - AddressMap::shared_static_base > shared_limit)
      return fail(launch_.path, 0, 0,
                  fmt::format("{} bytes of static and {} of dynamic shared memory exceed the {} bytes of a "
                              "CTA on sm_90; lower dynamic_shared_memory",
                              p_.dynamic_shared_base - AddressMap::shared_static_base,
                              launch_.dynamic_shared_bytes, shared_limit));
    return {};
  }

  Result<void> bind_parameters() {
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
    if (launch_.cluster[0] * launch_.cluster[1] * launch_.cluster[2] != 1)
      return fail(launch_.path, 0, 0, "clusters of more than one CTA are not implemented");
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
        d.src.push_back(constant(address_of(o.symbol) + static_cast<uint64_t>(o.offset)));
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
    static constexpr std::array<std::string_view, 16> without = {
        "st",        "bra",        "brx", "bar",     "barrier",       "cp",    "prefetch", "prefetchu",
        "nanosleep", "setmaxnreg", "red", "discard", "applypriority", "fence", "membar",   "tcgen05"};
    if (std::find(without.begin(), without.end(), root) != without.end()) return false;
    const std::string_view verb =
        i.modifiers.size() > 1 ? std::string_view(i.modifiers[1]) : std::string_view();
    if (root == "mbarrier")
      return verb == "arrive" || verb == "arrive_drop" || verb == "test_wait" || verb == "try_wait" ||
             verb == "pending_count";
    if (root == "wgmma") return verb == "mma_async";
    return true;
  }

  Result<Decoded> decode(uint32_t index) {
    const ptx::Instruction& i = entry_.instructions[index];
    decimal_floats_.clear();
    Decoded d;
    d.text = &i;
    d.index = index;
    d.key = i.mnemonic;
    if (i.guard) {
      d.guard = i.guard->predicate.v;
      d.guard_negated = i.guard->negated;
    }
    size_t first_source = 0;
    if (has_destination(i)) {
      add_destination(d, i.operands[0]);
      first_source = 1;
    }
    for (size_t o = first_source; o < i.operands.size(); ++o) add_source(d, i.operands[o]);
    auto decoded = decode_form(i, p_, std::move(d));
    if (!decoded) return decoded;
    narrow_decimal_floats(i, *decoded);
    // Handlers index their operands without looking: a form that names too few is refused here.
    if (const std::string why = missing_operands(*decoded); !why.empty())
      return fail(p_.module.path, i.position.line, i.position.column,
                  fmt::format("'{}' {}", i.mnemonic, why));
    return decoded;
  }

  /// A decimal float that stands for a 32-bit float is that float (PG11); the parser gives it as 64 bits.
  void narrow_decimal_floats(const ptx::Instruction& i, Decoded& d) {
    for (uint32_t at : decimal_floats_) {
      const bool arithmetic = d.pure.run != nullptr && at < d.pure.inputs;
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

  static std::string missing_operands(const Decoded& d) {
    struct Need {
      Handler run;
      size_t sources, destinations, addresses;
    };
    const Need needs[] = {
        {exec_move, 1, 1, 0},
        {exec_pack, 2, 1, 0},
        {exec_unpack, 1, 2, 0},
        {exec_select, 3, 1, 0},
        {exec_to_window, 1, 1, 0},
        {exec_from_window, 1, 1, 0},
        {exec_load, 1, d.vector, 1u},
        {exec_store, 1u + d.vector, 0, 1},
        {exec_mbarrier_init, 2, 0, 1},
        {exec_mbarrier_inval, 1, 0, 1},
        {exec_mbarrier_arrive, d.variant == 1 ? 2u : 1u, 0, 1},
        {exec_mbarrier_expect, 2, 0, 1},
        {exec_mbarrier_wait, 2, 1, 1},
        {exec_named_barrier, 1, 0, 0},
        {exec_setmaxnreg, 1, 0, 0},
        {exec_elect, 1, 2, 0},
        {exec_shuffle, 4, 1, 0},
        {exec_vote, 2, 1, 0},
        {exec_warp_sync, 1, 0, 0},
        {exec_tensor_copy, 0, 0, d.variant == 0 ? 3u : 2u},
        {exec_plain_copy, 0, 0, d.variant == 0 ? 3u : 2u},
        {exec_bulk_wait, 1, 0, 0},
        {exec_wgmma_wait, 1, 0, 0},
        {exec_wgmma, d.variant == 1 ? 6u : 3u, 1, 0},
    };
    for (const Need& n : needs) {
      if (n.run != d.run) continue;
      if (d.src.size() < n.sources || d.dst.size() < n.destinations || d.offsets.size() < n.addresses)
        return "has too few operands, or operands of another kind than expected";
      if (n.destinations != 0 && d.run != exec_load && d.run != exec_elect && d.run != exec_unpack &&
          d.run != exec_shuffle && d.run != exec_mbarrier_wait && d.run != exec_vote &&
          d.dst[0] == Decoded::none)
        return "has no register as destination";
    }
    return {};
  }

  Program& p_;
  const Launch& launch_;
  const ptx::Entry& entry_;
  std::map<uint32_t, uint64_t> address_;
  std::map<uint64_t, uint32_t> constants_;
  std::vector<uint32_t> decimal_floats_;  // source positions of the instruction being decoded
  std::map<std::string, uint32_t> specials_;
};

}  // namespace

void ProgramDeleter::operator()(Program* program) const { delete program; }

Result<ProgramHandle> load_program(const Launch& launch) {
  auto module = ptx::parse_file(launch.kernel_path);
  if (!module) return tl::unexpected<Error>(module.error());
  ProgramHandle program(new Program);
  program->module = std::move(*module);
  program->entry = program->module.find(launch.entry);
  if (program->entry == nullptr) {
    std::string names;
    for (const ptx::Entry& e : program->module.entries) names += (names.empty() ? "'" : ", '") + e.name + "'";
    return fail(launch.path, 0, 0,
                fmt::format("{} has no entry '{}'; it has {}", launch.kernel_path, launch.entry,
                            names.empty() ? "none" : names));
  }
  if (auto built = Builder(*program, launch).build(); !built) return tl::unexpected<Error>(built.error());
  return program;
}

}  // namespace turnstile::sim
