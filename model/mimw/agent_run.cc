// SPDX-License-Identifier: Apache-2.0
// The last pass: control flow. Names that an agent gives a value (let, for) belong to the whole agent, not to
// their block: `let p=p^1` in a branch is the p of the next iteration.
#include "model/mimw/agent_run.h"

#include <algorithm>

#include "fmt/format.h"

namespace turnstile::mimw {

AgentRun::AgentRun(Elaboration& text, Strand strand, uint32_t me)
    : text_(&text),
      builder_(text.builder_),
      problems_(&text.builder_->problems),
      strand_(std::move(strand)),
      scope_(text.constants_) {
  scope_.set_number(text_->symbols_.of("me"), me);
  scope_.set_number(text_->symbols_.of("cta"), strand_.cta);
}

bool AgentRun::run(const Statement& agent) {
  if (!block(agent.body)) return false;
  if (ended_) return true;
  const uint32_t place =
      builder_->add_place(agent.at, text_->place_file_, fmt::format("end of {}", agent.text));
  return exit(place, agent.at);
}

bool AgentRun::block(const std::vector<Statement>& statements) {
  for (const Statement& s : statements) {
    if (!text_->exists(s)) continue;
    if (!statement(s)) return false;
    if (ended_) return true;
  }
  return true;
}

bool AgentRun::statement(const Statement& s) {
  if (!builder_->step(s)) return false;
  switch (s.kind) {
    case Statement::Kind::let:
      return let(s);
    case Statement::Kind::loop:
      return loop(s);
    case Statement::Kind::branch: {
      const std::optional<int64_t> condition = text_->evaluator_.number(*s.condition, scope_);
      return condition && block(*condition != 0 ? s.body : s.otherwise);
    }
    case Statement::Kind::operation:
      return operation(s);
    case Statement::Kind::param:
    case Statement::Kind::mbar:
    case Statement::Kind::var:
    case Statement::Kind::pool:
    case Statement::Kind::cluster:
    case Statement::Kind::buffer:
    case Statement::Kind::tmem:
    case Statement::Kind::agent:
    case Statement::Kind::use:
    case Statement::Kind::option:
      break;  // the parser lets none of them into an agent
  }
  return problems_->fail(s.at, "a declaration inside of an agent");
}

bool AgentRun::own_name(const std::string& name, Position at) {
  if (name != "me" && name != "cta") return true;
  return problems_->fail(at, fmt::format("'{}' is the agent's own: its {}", name,
                                         name == "me" ? "position in the list" : "CTA"));
}

bool AgentRun::let(const Statement& s) {
  for (const Binding& b : s.bindings) {
    std::optional<Value> value = text_->evaluator_.value(b, scope_);
    if (!value || !own_name(b.name, b.at)) return false;
    scope_.set(text_->symbols_.of(b.name), std::move(*value));
  }
  return true;
}

bool AgentRun::loop(const Statement& s) {
  const Evaluator& evaluate = text_->evaluator_;
  const std::optional<int64_t> first =
      s.first ? evaluate.number(*s.first, scope_) : std::optional<int64_t>(0);
  const std::optional<int64_t> last = evaluate.number(*s.last, scope_);
  if (!first || !last || !own_name(s.name, s.at)) return false;
  const uint32_t symbol = text_->symbols_.of(s.name);
  const Value* outer = scope_.find(symbol);
  const std::optional<Value> before = outer == nullptr ? std::nullopt : std::optional<Value>(*outer);
  // `for i < n` ends before n, `for i in a..b` includes b.
  for (int64_t i = *first; s.first ? i <= *last : i < *last; ++i) {
    if (!builder_->step(s)) return false;
    scope_.set_number(symbol, i);
    if (!block(s.body)) return false;
    if (ended_) return true;
    if (i == *last) break;  // it may be the greatest number
  }
  if (before)
    scope_.set(symbol, *before);
  else
    scope_.erase(symbol);
  return true;
}

bool AgentRun::exit(uint32_t place, Position at) {
  ended_ = true;
  Event e;
  e.kind = EventKind::exit;
  e.place = place;
  return builder_->emit(strand_, e, at);
}

bool Elaboration::run_agents() {
  for (Instance& i : instances_) {
    builder_->problems.enter(i.statement->at, i.statement->name);
    const bool done = i.elaboration->run_agents();
    builder_->problems.leave();
    if (!done) return false;
  }
  for (const AgentBlock& block : blocks_) {
    for (size_t i = 0; i < block.strands.size(); ++i) {
      const auto me = static_cast<uint32_t>(i % block.names.size());
      if (!AgentRun(*this, block.strands[i], me).run(*block.statement)) return false;
    }
  }
  return true;
}

}  // namespace turnstile::mimw
