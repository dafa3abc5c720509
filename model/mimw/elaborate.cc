// SPDX-License-Identifier: Apache-2.0
// The first two passes: constants and agents. elaborate_resources.cc has the third, unroll_agent.cc the last.
#include "model/mimw/elaborate.h"

#include <algorithm>

#include "fmt/format.h"
#include "model/launch/nearest_name.h"
#include "model/mimw/library.h"

namespace turnstile::mimw {
namespace {

constexpr int64_t kMostCtas = 16;       // a cluster (semantics.md section 4)
constexpr int64_t kMostThreads = 1024;  // of a CTA
constexpr int64_t kMostAgents = 4096;
constexpr size_t kMostValues = 65536;

}  // namespace

Elaboration::Elaboration(const SyntaxTree& tree, std::string place_file, std::string variant,
                         Overrides overrides, Builder& builder)
    : tree_(&tree),
      place_file_(std::move(place_file)),
      variant_(std::move(variant)),
      overrides_(std::move(overrides)),
      builder_(&builder),
      symbols_(tree),
      evaluator_(tree, symbols_, builder.problems) {}

bool Elaboration::exists(const Statement& s) const {
  return s.marks.empty() || std::find(s.marks.begin(), s.marks.end(), variant_) != s.marks.end();
}

bool Elaboration::set_constant(const std::string& name, Position at, Value value) {
  if (name == "me" || name == "cta")
    return builder_->problems.fail(at, fmt::format("'{}' is the agent's own: its {}", name,
                                                   name == "me" ? "position in the list" : "CTA"));
  const uint32_t symbol = symbols_.of(name);
  if (constants_.find(symbol) != nullptr)
    return builder_->problems.fail(at, fmt::format("'{}' has a value already", name));
  const auto override = overrides_.values.find(name);
  if (override != overrides_.values.end()) {
    if (value.is_list)
      return builder_->problems.fail(
          at, fmt::format("'{}' is a list; only numbers can be set from outside", name));
    value.number = override->second;
    overridden_.insert(name);
  }
  constants_.set(symbol, std::move(value));
  return true;
}

bool Elaboration::bind(const Statement& s) {
  for (const Binding& b : s.bindings) {
    const std::optional<Value> value = evaluator_.value(b, constants_);
    if (!value || !set_constant(b.name, b.at, *value)) return false;
  }
  return true;
}

bool Elaboration::bind_parameter(const Statement& s) {
  MimwParameter parameter{s.name, {}, s.at.line};
  for (const ParameterValue& choice : s.choices) {
    const std::optional<int64_t> low = evaluator_.number(choice.low, constants_);
    if (!low) return false;
    const std::optional<int64_t> high = choice.high ? evaluator_.number(*choice.high, constants_) : low;
    if (!high) return false;
    if (*high < *low)
      return builder_->problems.fail(evaluator_.start_of(choice.low),
                                     fmt::format("the range {}..{} is empty", *low, *high));
    // The difference is taken without sign: it may exceed 63 bits.
    if (static_cast<uint64_t>(*high) - static_cast<uint64_t>(*low) >= kMostValues ||
        parameter.values.size() + static_cast<size_t>(*high - *low) >= kMostValues)
      return builder_->problems.fail(evaluator_.start_of(choice.low),
                                     fmt::format("'{}' has more than {} values", s.name, kMostValues));
    for (int64_t v = *low; v <= *high; ++v) {
      parameter.values.push_back(v);
      if (v == *high) break;  // it may be the greatest number
    }
  }
  const int64_t first = parameter.values.front();
  parameters_.push_back(std::move(parameter));
  return set_constant(s.name, s.at, {false, first, {}});
}

bool Elaboration::check_overrides() {
  for (const auto& [name, value] : overrides_.values) {
    if (overridden_.contains(name)) continue;
    const std::vector<std::string_view> known = constants_.known(symbols_);
    return builder_->problems.fail({}, fmt::format("there is no value '{}' to set in variant '{}'{}", name,
                                                   variant_, suggestion(name, known, "values")));
  }
  return true;
}

bool Elaboration::evaluate_constants() {
  for (const Statement& s : tree_->statements) {
    if (!exists(s)) continue;
    if (s.kind == Statement::Kind::let && !bind(s)) return false;
    if (s.kind == Statement::Kind::param && !bind_parameter(s)) return false;
  }
  return check_overrides();
}

std::map<std::string, int64_t> Elaboration::numbers() const {
  std::map<std::string, int64_t> numbers;
  for (uint32_t symbol = 0; symbol < symbols_.size(); ++symbol)
    if (const Value* value = constants_.find(symbol); value != nullptr && !value->is_list)
      numbers.emplace(symbols_.name(symbol), value->number);
  return numbers;
}

void Elaboration::note_cta(const Declared& d) {
  if (!d.cta) return;
  const std::optional<int64_t> cta =
      evaluator_.number_in(*d.cta, constants_, 0, kMostCtas - 1, "the rank of a CTA");
  if (cta) ctas_ = std::max(ctas_, static_cast<uint32_t>(*cta + 1));
}

bool Elaboration::read_agent(const Statement& s) {
  AgentBlock block;
  block.statement = &s;
  const auto cta = [&](const std::optional<ExprId>& id, int64_t otherwise) {
    return id ? evaluator_.number_in(*id, constants_, 0, kMostCtas - 1, "the rank of a CTA")
              : std::optional<int64_t>(otherwise);
  };
  const std::optional<int64_t> first = cta(s.first, 0);
  if (!first) return false;
  const std::optional<int64_t> last = cta(s.last, *first);
  if (!last) return false;
  if (*last < *first)
    return builder_->problems.fail(s.at, fmt::format("'@{}..{}' holds no CTA", *first, *last));
  block.first_cta = static_cast<uint16_t>(*first);
  block.last_cta = static_cast<uint16_t>(*last);
  ctas_ = std::max(ctas_, static_cast<uint32_t>(*last + 1));
  if (s.size) {
    const std::optional<int64_t> threads =
        evaluator_.number_in(*s.size, constants_, 1, kMostThreads, "the number of threads of an agent");
    if (!threads) return false;
    block.threads = static_cast<uint32_t>(*threads);
  }
  const bool replace = !overrides_.consumers.empty() && &s == last_agent_;
  if (replace) block.names = overrides_.consumers;
  for (const Declared& d : s.agents) {
    if (replace) break;
    if (!d.extent) {
      block.names.push_back(d.name);
      continue;
    }
    const std::optional<int64_t> n =
        evaluator_.number_in(*d.extent, constants_, 0, kMostAgents, "the number of agents");
    if (!n) return false;
    for (int64_t i = 0; i < *n; ++i) block.names.push_back(fmt::format("{}[{}]", d.name, i));
  }
  blocks_.push_back(std::move(block));
  return true;
}

bool Elaboration::add_instance(const Statement& s) {
  std::vector<std::string_view> known;
  const Pattern* pattern = nullptr;
  for (const Pattern& p : library()) {
    known.push_back(p.name);
    if (p.name == s.name) pattern = &p;
  }
  Problems& problems = builder_->problems;
  if (pattern == nullptr)
    return problems.fail(
        s.at, fmt::format("there is no pattern '{}'{}", s.name, suggestion(s.name, known, "patterns")));
  Overrides overrides;
  overrides.consumers = s.consumers;
  for (const Binding& b : s.bindings) {
    const std::optional<Value> value = evaluator_.value(b, constants_);
    if (!value) return false;
    if (!overrides.values.emplace(b.name, value->number).second)
      return problems.fail(b.at, fmt::format("'{}' is set twice", b.name));
  }
  Result<MimwProgram> parsed = parse_mimw(pattern->text, std::string(pattern->file));
  if (!parsed) return problems.fail(s.at, parsed.error().text());
  const std::vector<std::string> names = variants(*parsed);
  const std::string variant = s.variant.empty() ? names.front() : s.variant;
  if (std::find(names.begin(), names.end(), variant) == names.end()) {
    const std::vector<std::string_view> views(names.begin(), names.end());
    return problems.fail(s.variant_at, fmt::format("'{}' has no variant '{}'{}", s.name, variant,
                                                   suggestion(variant, views, "variants")));
  }
  Instance instance;
  instance.statement = &s;
  instance.tree = std::make_unique<SyntaxTree>(std::move(parsed->tree));
  instance.elaboration = std::make_unique<Elaboration>(*instance.tree, std::string(pattern->file), variant,
                                                       std::move(overrides), *builder_);
  problems.enter(s.at, s.name);
  const bool done = instance.elaboration->evaluate_constants() && instance.elaboration->find_agents();
  problems.leave();
  instances_.push_back(std::move(instance));
  return done;
}

bool Elaboration::find_agents() {
  for (const Statement& s : tree_->statements)
    if (exists(s) && s.kind == Statement::Kind::agent) last_agent_ = &s;
  for (const Statement& s : tree_->statements) {
    if (!exists(s)) continue;
    if (s.kind == Statement::Kind::agent && !read_agent(s)) return false;
    if (s.kind == Statement::Kind::use && !add_instance(s)) return false;
    for (const Declared& d : s.declared) note_cta(d);
    if (builder_->problems.failed()) return false;
  }
  return true;
}

bool Elaboration::add_agents() {
  for (Instance& i : instances_) {
    builder_->problems.enter(i.statement->at, i.statement->name);
    const bool done = i.elaboration->add_agents();
    builder_->problems.leave();
    if (!done) return false;
  }
  for (AgentBlock& block : blocks_) {
    for (uint16_t cta = block.first_cta; cta <= block.last_cta; ++cta) {
      for (const std::string& name : block.names) {
        // One text for several CTAs makes agents of one name; reports tell them apart by their CTA.
        const std::string shown = block.first_cta == block.last_cta ? name : fmt::format("{}@{}", name, cta);
        const std::optional<Strand> strand =
            builder_->add_agent(shown, cta, block.threads, block.statement->at);
        if (!strand) return false;
        block.strands.push_back(*strand);
      }
    }
  }
  return true;
}

}  // namespace turnstile::mimw
