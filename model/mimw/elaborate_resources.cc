// SPDX-License-Identifier: Apache-2.0
// The third pass: barriers, variables, pools, memory, options.
#include <algorithm>

#include "fmt/format.h"
#include "model/mimw/elaborate.h"

namespace turnstile::mimw {
namespace {

constexpr int64_t kMostExtent = 65536;
constexpr size_t kMostBarriers = 65536;
constexpr int64_t kMostCount = (int64_t{1} << 20) - 1;  // MB2

}  // namespace

void Elaboration::scan(const std::vector<Statement>& statements) {
  for (const Statement& s : statements) {
    if (!exists(s)) continue;
    if (s.kind == Statement::Kind::operation && s.op == Operation::mbar_init)
      initialised_.insert(s.targets.front().name);
    if (s.descriptor && global_.insert(s.descriptor->name).second) descriptors_.push_back(s.descriptor->name);
    scan(s.body);
    scan(s.otherwise);
  }
}

Space Elaboration::space_of(const std::string& name) const {
  if (name.starts_with("tm.")) return Space::tensor;
  return global_.contains(name) ? Space::global : Space::shared;
}

std::optional<std::vector<uint16_t>> Elaboration::ctas_of(const Declared& d) {
  std::vector<uint16_t> ctas;
  if (d.cta) {
    const std::optional<int64_t> cta = evaluator_.number(*d.cta, constants_);
    if (!cta) return std::nullopt;
    ctas.push_back(static_cast<uint16_t>(*cta));  // in range: find_agents() has seen it
  } else {
    for (uint32_t cta = 0; cta < builder_->ctas(); ++cta) ctas.push_back(static_cast<uint16_t>(cta));
  }
  return ctas;
}

bool Elaboration::name_resource(uint16_t cta, const std::string& name, Position at, Resource resource) {
  if (builder_->resources.emplace(std::pair{cta, name}, resource).second) return true;
  return builder_->problems.fail(at, fmt::format("'{}' is declared twice", name));
}

bool Elaboration::add_barrier(const Declared& d, uint16_t cta, std::optional<int64_t> extent,
                              uint32_t count) {
  Builder& b = *builder_;
  const auto first = static_cast<uint32_t>(b.tables().barriers.size());
  const bool initialised = !option_inits_ && !initialised_.contains(d.name);
  if (!name_resource(cta, d.name, d.at, {Resource::Kind::barrier, first, extent})) return false;
  for (int64_t i = 0; i < extent.value_or(1); ++i) {
    if (b.tables().barriers.size() >= kMostBarriers)
      return b.problems.fail(d.at, fmt::format("there are more than {} barriers", kMostBarriers));
    BarrierInfo info;
    info.cta = cta;
    info.name = extent ? b.memory().shown(cta, d.name, i) : b.memory().shown(cta, d.name);
    if (initialised) {
      const std::optional<uint64_t> address = b.memory().reserve(cta, Memory::barrier_bytes, d.at);
      if (!address) return false;
      info.address = *address;
      info.initial_count = count;
    }
    b.tables().barriers.push_back(std::move(info));
    b.barrier_at.push_back(d.at);
    b.barrier_count.push_back(count);
    b.barrier_placed.push_back(initialised);
  }
  return true;
}

bool Elaboration::add_barriers(const Statement& s) {
  for (const Declared& d : s.declared) {
    std::optional<int64_t> extent;
    if (d.extent) {
      extent = evaluator_.number_in(*d.extent, constants_, 0, kMostExtent, "the number of barriers");
      if (!extent) return false;
    }
    const std::optional<int64_t> count =
        evaluator_.number_in(*d.count, constants_, 1, kMostCount, "the arrival count");
    const std::optional<std::vector<uint16_t>> ctas = ctas_of(d);
    if (!count || !ctas) return false;
    for (const uint16_t cta : *ctas)
      if (!add_barrier(d, cta, extent, static_cast<uint32_t>(*count))) return false;
  }
  return true;
}

bool Elaboration::add_variables(const Statement& s) {
  for (const Binding& b : s.bindings) {
    const std::optional<int64_t> initial = evaluator_.number(b.values.front(), constants_);
    if (!initial) return false;
    Trace& tables = builder_->tables();
    if (s.kind == Statement::Kind::pool) {
      const auto index = static_cast<uint32_t>(tables.pools.size());
      if (!name_resource(0, b.name, b.at, {Resource::Kind::pool, index, {}})) return false;
      tables.pools.push_back({b.name, *initial, s.must_return});
    } else {
      const auto index = static_cast<uint32_t>(tables.signals.size());
      if (!name_resource(0, b.name, b.at, {Resource::Kind::variable, index, {}})) return false;
      tables.signals.push_back({b.name, *initial});
    }
  }
  return true;
}

bool Elaboration::add_memory(const Statement& s) {
  constexpr int64_t most = static_cast<int64_t>(Memory::window);
  const bool tensor = s.kind == Statement::Kind::tmem;
  const uint64_t unit = tensor ? Memory::column_bytes : 1;
  const int64_t most_units = most / static_cast<int64_t>(unit);
  std::optional<int64_t> size, address;
  if (s.size) {
    size = evaluator_.number_in(*s.size, constants_, 1, most_units, tensor ? "the columns" : "the bytes");
    if (!size) return false;
  }
  if (s.address) {
    address = evaluator_.number_in(*s.address, constants_, 0, most_units, "the address");
    if (!address) return false;
    if (s.declared.size() != 1)
      return builder_->problems.fail(s.declared[1].at,
                                     "several buffers cannot have one address; write a line for each");
    if (s.global) return builder_->problems.fail(s.at, "a buffer in global memory has no address");
  }
  for (const Declared& d : s.declared) {
    Memory::Declaration m;
    m.at = d.at;
    m.name = tensor && !d.name.starts_with("tm.") ? "tm." + d.name : d.name;
    m.space = tensor ? Space::tensor : s.global ? Space::global : space_of(d.name);
    if (size) m.bytes = static_cast<uint64_t>(*size) * unit;
    if (!size && tensor) m.bytes = unit;
    if (address) m.address = static_cast<uint64_t>(*address) * unit;
    if (d.extent) {
      m.extent = evaluator_.number_in(*d.extent, constants_, 0, kMostExtent, "the number of stages");
      if (!m.extent) return false;
    }
    if (m.space == Space::global) {
      if (d.cta) return builder_->problems.fail(d.at, "global memory belongs to no CTA; leave '@' out");
      global_.insert(m.name);
      if (!builder_->memory().declare(m)) return false;
      continue;
    }
    const std::optional<std::vector<uint16_t>> ctas = ctas_of(d);
    if (!ctas) return false;
    for (const uint16_t cta : *ctas) {
      m.cta = cta;
      if (!builder_->memory().declare(m)) return false;
    }
  }
  return true;
}

bool Elaboration::add_resource(const Statement& s) {
  constexpr int64_t most_participants = 65536;
  switch (s.kind) {
    case Statement::Kind::mbar:
      return add_barriers(s);
    case Statement::Kind::var:
    case Statement::Kind::pool:
      return add_variables(s);
    case Statement::Kind::cluster: {
      const std::optional<int64_t> n =
          evaluator_.number_in(*s.size, constants_, 1, most_participants, "the number of participants");
      if (!n) return false;
      if (builder_->tables().cluster_barrier_count != 0)
        return builder_->problems.fail(s.at, "there is one cluster barrier, and it is declared already");
      builder_->tables().cluster_barrier_count = static_cast<uint32_t>(*n);
      return true;
    }
    case Statement::Kind::buffer:
    case Statement::Kind::tmem:  // those with an address came first
      return s.address || add_memory(s);
    case Statement::Kind::let:
    case Statement::Kind::param:
    case Statement::Kind::agent:
    case Statement::Kind::use:
    case Statement::Kind::option:
    case Statement::Kind::loop:
    case Statement::Kind::branch:
    case Statement::Kind::operation:
      return true;
  }
  return true;
}

bool Elaboration::add_resources() {
  scan(tree_->statements);
  for (const Statement& s : tree_->statements) {
    if (!exists(s)) continue;
    if (s.kind == Statement::Kind::option && s.name == "inits") option_inits_ = true;
    if (s.kind == Statement::Kind::option && s.name == "in-order-copies") builder_->in_order_copies = true;
    const bool memory = s.kind == Statement::Kind::buffer || s.kind == Statement::Kind::tmem;
    if (memory && s.address && !add_memory(s)) return false;
  }
  for (Instance& i : instances_) {
    builder_->problems.enter(i.statement->at, i.statement->name);
    const bool done = i.elaboration->add_resources();
    builder_->problems.leave();
    if (!done) return false;
  }
  for (const Statement& s : tree_->statements)
    if (exists(s) && !add_resource(s)) return false;
  return true;
}

}  // namespace turnstile::mimw
