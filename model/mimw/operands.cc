// SPDX-License-Identifier: Apache-2.0
// What the operands of an operation stand for. A name without `@` is that of the agent's own CTA, as an
// address of shared memory is in a kernel.
#include "fmt/format.h"
#include "model/launch/nearest_name.h"
#include "model/mimw/agent_run.h"

namespace turnstile::mimw {
namespace {

std::string_view kind_word(Resource::Kind kind) {
  switch (kind) {
    case Resource::Kind::barrier:
      return "barrier";
    case Resource::Kind::variable:
      return "variable";
    case Resource::Kind::pool:
      return "pool";
  }
  return "";
}

std::string_view kind_declaration(Resource::Kind kind) {
  switch (kind) {
    case Resource::Kind::barrier:
      return "mbar NAME:COUNT";
    case Resource::Kind::variable:
      return "var NAME=0";
    case Resource::Kind::pool:
      return "pool NAME=UNITS";
  }
  return "";
}

}  // namespace

std::optional<uint16_t> AgentRun::cta_of(const Ref& ref) {
  if (!ref.cta) return strand_.cta;
  const std::optional<int64_t> cta = text_->evaluator_.number(*ref.cta, scope_);
  if (!cta) return std::nullopt;
  if (*cta >= 0 && *cta < builder_->ctas()) return static_cast<uint16_t>(*cta);
  problems_->fail(ref.at, fmt::format("there is no CTA {}; agents and objects are declared in {} of them",
                                      *cta, builder_->ctas()));
  return std::nullopt;
}

bool AgentRun::unknown_resource(const Ref& ref, Resource::Kind kind) {
  std::vector<std::string_view> known;
  for (const auto& [key, r] : builder_->resources) {
    if (r.kind != kind) continue;
    if (key.second == ref.name)
      return problems_->fail(ref.at,
                             fmt::format("{} '{}' is declared in CTA {}, not in this one; write '@{}.{}'",
                                         kind_word(kind), ref.name, key.first, key.first, ref.name));
    known.push_back(key.second);
  }
  if (known.empty())
    return problems_->fail(ref.at, fmt::format("there is no {} '{}'; declare it: '{}'", kind_word(kind),
                                               ref.name, kind_declaration(kind)));
  const std::string plural = std::string(kind_word(kind)) + "s";
  return problems_->fail(ref.at, fmt::format("there is no {} '{}'{}", kind_word(kind), ref.name,
                                             suggestion(ref.name, known, plural)));
}

const Resource* AgentRun::resource(const Ref& ref, Resource::Kind kind) {
  const std::optional<uint16_t> cta = cta_of(ref);
  if (!cta) return nullptr;
  const std::pair<const Ref*, uint16_t> key{&ref, *cta};
  const auto cached = resources_.find(key);
  if (cached != resources_.end()) return cached->second;
  if (ref.tag) {
    problems_->fail(ref.at,
                    fmt::format("'{}' is a {}; only memory has generations", ref.name, kind_word(kind)));
    return nullptr;
  }
  const bool of_cta = kind == Resource::Kind::barrier;
  if (!of_cta && ref.cta) {
    problems_->fail(ref.at, fmt::format("a {} belongs to no CTA; leave '@' out", kind_word(kind)));
    return nullptr;
  }
  auto found = builder_->resources.find({of_cta ? *cta : uint16_t{0}, ref.name});
  if (found == builder_->resources.end()) found = builder_->resources.find({0, ref.name});
  const bool wrong_cta = found != builder_->resources.end() &&
                         found->second.kind == Resource::Kind::barrier && found->first.first != *cta;
  if (found == builder_->resources.end() || wrong_cta) {
    unknown_resource(ref, kind);
    return nullptr;
  }
  if (found->second.kind != kind) {
    problems_->fail(ref.at, fmt::format("'{}' is a {}; expected a {}", ref.name,
                                        kind_word(found->second.kind), kind_word(kind)));
    return nullptr;
  }
  resources_.emplace(key, &found->second);
  return &found->second;
}

std::optional<uint32_t> AgentRun::barrier(const Ref& ref) {
  const Resource* r = resource(ref, Resource::Kind::barrier);
  if (r == nullptr) return std::nullopt;
  if (!ref.index && !r->extent) return r->first;
  if (!ref.index || !r->extent) {
    problems_->fail(ref.at, ref.index ? fmt::format("'{}' is one barrier, not an array", ref.name)
                                      : fmt::format("'{}' is an array of {} barriers; expected an index",
                                                    ref.name, *r->extent));
    return std::nullopt;
  }
  const std::optional<int64_t> index = text_->evaluator_.number(*ref.index, scope_);
  if (!index) return std::nullopt;
  if (*index >= 0 && *index < *r->extent) return r->first + static_cast<uint32_t>(*index);
  problems_->fail(ref.at,
                  fmt::format("'{}' has {} barriers; there is no '{}[{}]'{}", ref.name, *r->extent, ref.name,
                              *index, *index < 0 ? "" : fmt::format("; as a ring: [.. % {}]", *r->extent)));
  return std::nullopt;
}

std::optional<uint32_t> AgentRun::variable(const Ref& ref) {
  const Resource* r = resource(ref, Resource::Kind::variable);
  if (r == nullptr) return std::nullopt;
  if (!ref.index) return r->first;
  problems_->fail(ref.at, fmt::format("'{}' is one variable, not an array", ref.name));
  return std::nullopt;
}

std::optional<uint32_t> AgentRun::pool(const Ref& ref) {
  const Resource* r = resource(ref, Resource::Kind::pool);
  if (r == nullptr) return std::nullopt;
  if (!ref.index) return r->first;
  problems_->fail(ref.at, fmt::format("'{}' is one pool, not an array", ref.name));
  return std::nullopt;
}

std::optional<uint32_t> AgentRun::object(const Ref& ref) {
  const std::optional<uint16_t> cta = cta_of(ref);
  if (!cta) return std::nullopt;
  const std::pair<const Ref*, uint16_t> key{&ref, *cta};
  const auto cached = objects_.find(key);
  if (cached != objects_.end()) return cached->second;
  for (const auto& [name, r] : builder_->resources) {
    if (name.second != ref.name) continue;
    problems_->fail(ref.at, fmt::format("'{}' is a {}; expected memory", ref.name, kind_word(r.kind)));
    return std::nullopt;
  }
  const Space space = text_->space_of(ref.name);
  if (space == Space::global && ref.cta) {
    problems_->fail(
        ref.at, fmt::format("'{}' is in global memory, which belongs to no CTA; leave '@' out", ref.name));
    return std::nullopt;
  }
  const std::optional<uint32_t> found =
      builder_->memory().find(space, space == Space::global ? uint16_t{0} : *cta, ref.name, ref.at);
  if (found) objects_.emplace(key, *found);
  return found;
}

std::optional<uint32_t> AgentRun::footprint(const Ref& ref) {
  const std::optional<uint32_t> found = object(ref);
  if (!found) return std::nullopt;
  if (!ref.index) return builder_->memory().footprint(*found, std::nullopt, ref.at);
  const std::optional<int64_t> index = text_->evaluator_.number(*ref.index, scope_);
  if (!index) return std::nullopt;
  return builder_->memory().footprint(*found, index, ref.at);
}

std::optional<uint64_t> AgentRun::generation(const Ref& ref) {
  if (!ref.tag) return 0;
  const Expr& e = text_->tree_->expressions[*ref.tag];
  if (e.kind == Expr::Kind::name && scope_.find(text_->symbols_.of(*ref.tag)) == nullptr) {
    if (const std::optional<uint64_t> label = builder_->known_label(e.name)) return *label + 1;
    // A word that is no value is a label, unless it looks like a slip of the fingers.
    const std::string_view nearest = nearest_name(e.name, scope_.known(text_->symbols_));
    if (nearest.empty()) return builder_->label(e.name) + 1;
    problems_->fail(e.at,
                    fmt::format("there is no value '{}' for the tag; did you mean '{}'? A label must look "
                                "less like a value",
                                e.name, nearest));
    return std::nullopt;
  }
  const std::optional<int64_t> tag = text_->evaluator_.number_in(
      *ref.tag, scope_, 0, static_cast<int64_t>(Builder::first_label) - 1, "a tag");
  if (!tag) return std::nullopt;
  return static_cast<uint64_t>(*tag) + 1;
}

std::optional<int64_t> AgentRun::number(const Statement& s, size_t which, int64_t otherwise, int64_t least,
                                        int64_t most, std::string_view what) {
  if (which >= s.values.size()) return otherwise;
  return text_->evaluator_.number_in(s.values[which], scope_, least, most, what);
}

}  // namespace turnstile::mimw
