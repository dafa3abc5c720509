// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "model/mimw/builder.h"
#include "model/mimw/evaluate.h"
#include "model/mimw/mimw.h"
#include "model/mimw/operations.h"

namespace turnstile::mimw {

/// Constants of a text that are replaced from outside: --set, and `use .. with`.
struct Overrides {
  std::map<std::string, int64_t> values;
  std::vector<std::string> consumers;  ///< names for the last agent block
};

/// One variant of one text on its way to an orchestration, in four passes over its top level, because later
/// ones need all of the earlier ones: constants; agents (they tell how many CTAs there are); barriers and
/// other resources; what the agents do.
class Elaboration {
 public:
  Elaboration(const SyntaxTree& tree, std::string place_file, std::string variant, Overrides overrides,
              Builder& builder);

  bool evaluate_constants();
  const std::vector<MimwParameter>& parameters() const { return parameters_; }
  std::map<std::string, int64_t> numbers() const;
  /// The text's own patterns (`use`) are made here; their first two passes happen with it.
  bool find_agents();
  uint32_t ctas() const { return ctas_; }
  bool add_agents();
  bool add_resources();
  bool run_agents();

 private:
  friend class AgentRun;

  struct Instance {  // of `use`
    const Statement* statement = nullptr;
    std::unique_ptr<SyntaxTree> tree;
    std::unique_ptr<Elaboration> elaboration;
  };
  struct AgentBlock {
    const Statement* statement = nullptr;
    uint16_t first_cta = 0, last_cta = 0;
    uint32_t threads = 32;
    std::vector<std::string> names;
    std::vector<Strand> strands;  ///< by CTA, then by name
  };

  bool exists(const Statement& s) const;
  bool bind(const Statement& s);
  bool bind_parameter(const Statement& s);
  bool set_constant(const std::string& name, Position at, Value value);
  bool check_overrides();
  bool add_instance(const Statement& s);
  bool read_agent(const Statement& s);
  void note_cta(const Declared& d);
  void scan(const std::vector<Statement>& statements);
  bool add_resource(const Statement& s);
  bool add_barriers(const Statement& s);
  bool add_barrier(const Declared& d, uint16_t cta, std::optional<int64_t> extent, uint32_t count);
  bool add_variables(const Statement& s);
  bool add_memory(const Statement& s);
  bool name_resource(uint16_t cta, const std::string& name, Position at, Resource resource);
  std::optional<std::vector<uint16_t>> ctas_of(const Declared& d);
  Space space_of(const std::string& name) const;

  const SyntaxTree* tree_;
  std::string place_file_;
  std::string variant_;
  Overrides overrides_;
  Builder* builder_;
  Symbols symbols_;
  Evaluator evaluator_;
  Names constants_;
  std::set<std::string> overridden_;
  std::vector<MimwParameter> parameters_;
  std::vector<Instance> instances_;
  std::vector<AgentBlock> blocks_;
  std::set<std::string> initialised_;  ///< barriers that some mbar_init names
  std::set<std::string> global_;       ///< descriptors and buffers in global memory
  std::vector<std::string> descriptors_;
  bool option_inits_ = false;
  const Statement* last_agent_ = nullptr;  ///< the block that Overrides::consumers renames
  uint32_t ctas_ = 1;
};

}  // namespace turnstile::mimw
