// SPDX-License-Identifier: Apache-2.0
#include "cli/render_json.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "golden/matrix.h"

namespace turnstile::cli {

namespace {

using Json = nlohmann::ordered_json;

constexpr int schema_version = 1;

std::string finished(const Json& document) {
  // Source text and names need not be UTF-8: replace rather than throw.
  return document.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

Json head(const std::string& verb, Exit exit) {
  return {{"turnstile", schema_version}, {"verb", verb}, {"exit_code", static_cast<int>(exit)}};
}

Json launch_json(const Launch& launch) {
  Json vars = Json::object();
  for (const auto& [name, value] : launch.vars) vars[name] = value;
  return {{"file", launch.path},   {"case", launch.case_name},
          {"entry", launch.entry}, {"ptx", launch.kernel_path},
          {"vars", vars},          {"grid", launch.grid},
          {"block", launch.block}, {"cluster", launch.cluster}};
}

Json position_json(const SourcePosition& p, SourceText& source) {
  return {{"file", p.file},         {"line", p.line},         {"column", p.column},
          {"ptx_line", p.ptx_line}, {"text", source.line(p)}, {"instruction", p.instruction}};
}

Json note_json(const Note& note, SourceText& source) {
  Json json = {{"text", note.text}};
  if (!note.position.file.empty()) json["where"] = position_json(note.position, source);
  return json;
}

Json diagnostic_json(const Diagnostic& d, SourceText& source) {
  Json sides = Json::array();
  for (const Note& side : d.sides) sides.push_back(note_json(side, source));
  return {{"class", finding_class_name(d.finding_class)},
          {"severity", d.severity == Severity::error ? "error" : "lint"},
          {"rule", d.rule},
          {"subject", d.subject},
          {"message", d.message},
          {"where", position_json(d.where, source)},
          {"label", d.label},
          {"sides", sides},
          {"facts", d.facts},
          {"schedule", d.witness},
          {"schedule_is_shortest", d.witness_is_shortest},
          {"help", d.help},
          {"occurrences", d.occurrences}};
}

Json findings_json(const Report& report, SourceText& source) {
  Json findings = Json::array();
  for (const Diagnostic& d : report.diagnostics) findings.push_back(diagnostic_json(d, source));
  return findings;
}

Json reasons_json(const Report& report, SourceText& source) {
  Json reasons = Json::array();
  for (const Note& n : report.inconclusive) reasons.push_back(note_json(n, source));
  return reasons;
}

Json policies_json(const PolicyChoice& choice) {
  Json json = Json::array();
  for (const PolicyChoice::Word& w : choice.words) json.push_back({{"policy", w.text}, {"source", w.source}});
  return json;
}

/// What launches and variants have in common.
void add_report(Json& json, const Report& report, const PolicyChoice& policies, const std::string& witness,
                SourceText& source) {
  json["verdict"] = verdict_name(report.verdict);
  json["guarantee"] = report.verdict == Verdict::clean ? report.guarantee : "";
  json["engine"] = report.engine;
  json["findings"] = findings_json(report, source);
  json["inconclusive"] = reasons_json(report, source);
  json["not_examined"] = report.not_examined;
  json["policies"] = policies_json(policies);
  if (!witness.empty()) json["witness"] = witness;
  json["agents"] = report.agents;
  json["mbarriers"] = report.barriers;
  json["phases"] = report.phases;
  json["events"] = report.events;
  json["accesses"] = report.accesses;
}

Json outcome_json(const CheckOutcome& outcome, SourceText& source) {
  Json json = {{"launch", launch_json(outcome.launch)}};
  add_report(json, outcome.report, outcome.policies, outcome.witness_file, source);
  json["ctas"] = outcome.launch.cta_count();
  json["ctas_executed"] = outcome.ctas_run - outcome.ctas_followed;
  json["ctas_followed"] = outcome.ctas_followed;
  if (!outcome.launch_control.empty()) json["launch_control"] = outcome.launch_control;
  json["classes"] = outcome.classes;
  json["warps"] = outcome.warps;
  json["seconds"] = {{"execute", outcome.execute_seconds}, {"check", outcome.check_seconds}};
  return json;
}

/// Position of the one that people should look at first; null if all are clean.
Json shown_json(std::optional<size_t> shown) { return shown ? Json(*shown) : Json(nullptr); }

Json answer_json(const CorpusAnswer& answer) {
  Json set = Json::object();
  for (const auto& [name, value] : answer.set) set[name] = value;
  Json json = {{"vars", set},
               {"must_be_clean", answer.must_be_clean},
               {"got", answer.got()},
               {"right", answer.right()},
               {"reason", answer.reason},
               {"seconds", answer.seconds}};
  if (answer.finding_class)
    json["where"] = {{"file", answer.where.file}, {"line", answer.where.line}, {"text", answer.text}};
  return json;
}

Json value_json(const golden::PathValue& v) {
  Json json = Json::object();
  if (!v.bits.empty()) json["bits"] = v.bits;
  if (!v.value.empty()) json["value"] = v.value;
  if (v.step != 0) json["step"] = v.step;
  if (!v.from.empty()) json["from"] = v.from;
  return json;
}

Json chain_json(const golden::PathChain& c) {
  Json groups = Json::array();
  for (const golden::PathGroup& g : c.groups) {
    Json group = {{"first_k", g.first_k},
                  {"last_k", g.last_k},
                  {"before", value_json(g.before)},
                  {"after", value_json(g.after)}};
    if (g.exponent) group["exponent"] = *g.exponent;
    if (!g.largest.empty()) group["largest"] = g.largest;
    groups.push_back(std::move(group));
  }
  Json json = {{"operations", c.operations}, {"k", c.k},           {"row", c.row},      {"column", c.column},
               {"a_from", c.a_from},         {"b_from", c.b_from}, {"k_groups", groups}};
  if (c.group != 0) {
    json["group_length"] = c.group;
    json["fraction_bits"] = c.fraction_bits;
    json["conversion"] = c.conversion;
  } else {
    json["arithmetic"] = c.arithmetic;
  }
  return json;
}

Json why_step_json(const golden::PathStep& s) {
  Json operands = Json::array();
  for (const golden::PathValue& v : s.operands) operands.push_back(value_json(v));
  Json json = {{"step", s.number},   {"instruction", s.instruction},   {"ptx", s.ptx_place},
               {"thread", s.thread}, {"result", value_json(s.result)}, {"operands", operands}};
  if (!s.source.empty()) json["source"] = s.source;
  if (!s.rounding.empty()) json["rounding"] = s.rounding;
  if (!s.where.empty()) json["where"] = s.where;
  if (s.chain) json["chain"] = chain_json(*s.chain);
  return json;
}

Json why_json(const golden::Explanation& e) {
  Json steps = Json::array();
  for (const golden::PathStep& s : e.path.steps) steps.push_back(why_step_json(s));
  Json json = {{"buffer", e.buffer},
               {"type", element_name(e.type)},
               {"rows", e.rows},
               {"columns", e.columns},
               {"row", e.row},
               {"column", e.column},
               {"byte", e.byte_offset},
               {"sim", golden::bits_text(e.type, e.predicted)},
               {"computed_anew", e.replayable},
               {"truncated", e.truncated},
               {"steps", steps},
               {"more_steps", e.path.more}};
  if (e.got) {
    json["other"] = golden::bits_text(e.type, *e.got);
    if (const auto ulps = golden::ulps_apart(e.type, e.predicted, *e.got)) json["ulps"] = *ulps;
  }
  if (!e.causes) return json;
  Json found = Json::array();
  for (const golden::Cause& c : e.causes->found) {
    Json cause = {{"change", c.text}, {"everywhere", c.everywhere}};
    if (c.step != 0) cause["step"] = c.step;
    if (c.differing_after) cause["differing_after"] = *c.differing_after;
    found.push_back(std::move(cause));
  }
  json["causes"] = {{"found", found},
                    {"more", e.causes->more},
                    {"refuted", e.causes->refuted},
                    {"tried", e.causes->tried},
                    {"all_tried", e.causes->all_tried}};
  return json;
}

Json match_json(const Match& match) {
  const golden::Comparison& c = match.comparison;
  Json json = {{"left", match.left},
               {"right", match.right},
               {"buffer", match.buffer},
               {"elements", c.elements},
               {"differing", c.differing},
               {"differing_rows", c.differing_rows},
               {"compared_by", c.by_digest ? "row digest" : "element"}};
  if (c.first)
    json["first"] = {{"row", c.first->row},
                     {"column", c.first->column},
                     {"left", golden::bits_text(match.type, c.first->left)},
                     {"right", golden::bits_text(match.type, c.first->right)}};
  else if (c.first_differing_row)
    json["first"] = {{"row", *c.first_differing_row}};
  if (c.pattern) {
    const golden::DifferencePattern& p = *c.pattern;
    json["where"] = {{"rows", {p.first_row, p.last_row}}, {"columns", {p.first_column, p.last_column}},
                     {"differing_columns", p.columns},    {"row_step", p.row_step},
                     {"column_step", p.column_step},      {"block", {p.block_rows, p.block_columns}}};
    if (p.most_ulps) json["where"]["most_ulps"] = *p.most_ulps;
  }
  return json;
}

}  // namespace

std::string json_of_check(const std::vector<CheckOutcome>& outcomes, std::optional<size_t> shown,
                          SourceText& source, Exit exit) {
  Json document = head("check", exit);
  document["launches"] = Json::array();
  for (const CheckOutcome& outcome : outcomes) document["launches"].push_back(outcome_json(outcome, source));
  document["smallest_failing"] = shown_json(shown);
  return finished(document);
}

std::string json_of_simulate(const Launch& launch, const golden::Prediction& prediction,
                             const std::vector<OutputSummary>& outputs,
                             const std::vector<golden::Explanation>& explanations, Exit exit) {
  Json document = head("simulate", exit);
  document["launch"] = launch_json(launch);
  document["outputs"] = Json::array();
  for (const OutputSummary& output : outputs) {
    Json first = Json::array();
    for (uint64_t bits : output.first) first.push_back(golden::bits_text(output.type, bits));
    Json json = {{"buffer", output.buffer},  {"type", element_name(output.type)},
                 {"rows", output.rows},      {"columns", output.columns},
                 {"sha256", output.sha256},  {"nan", output.nans},
                 {"inf", output.infinities}, {"first", first}};
    if (!output.file.empty()) json["file"] = output.file;
    document["outputs"].push_back(std::move(json));
  }
  if (!explanations.empty()) {
    document["why"] = Json::array();
    for (const golden::Explanation& e : explanations) document["why"].push_back(why_json(e));
  }
  document["not_predicted"] = prediction.not_predicted;
  document["problems"] = prediction.problems;
  document["instructions"] = prediction.instructions;
  document["seconds"] = prediction.seconds;
  return finished(document);
}

std::string json_of_timeline(const Launch& launch, const LaunchTimeline& result, const std::string& file,
                             Exit exit) {
  Json document = head("simulate", exit);
  document["launch"] = launch_json(launch);
  Json timeline = {{"estimate", true}, {"cta", result.cta}};
  if (!result.problem.empty()) {
    timeline["problem"] = result.problem;
    document["timeline"] = std::move(timeline);
    return finished(document);
  }
  const auto uses = [](const uint64_t(&used)[sim::time_uses]) {
    Json json = Json::object();
    for (size_t i = 0; i < sim::time_uses; ++i)
      if (used[i] != 0) json[sim::name_of(static_cast<sim::TimeUse>(i))] = used[i];
    return json;
  };
  uint64_t used[sim::time_uses] = {};
  for (const sim::PathStep& step : result.timeline.path)
    used[static_cast<size_t>(step.use)] += step.end - step.begin;
  timeline["file"] = file;
  timeline["cycles"] = result.timeline.cycles;
  timeline["copy_engine_busy"] = result.timeline.copy_busy;
  timeline["tensor_core_busy"] = result.timeline.matrix_busy;
  timeline["critical_path"] = uses(used);
  timeline["grid"] = {{"resident", result.grid.resident}, {"waves", result.grid.waves},
                      {"cycles", result.grid.cycles},     {"clock_mhz", result.grid.clock_mhz},
                      {"us", result.grid.microseconds},   {"bound_by_memory", result.grid.bound_by_memory}};
  timeline["measured_constants"] = !result.timeline.has_tensor_memory;
  timeline["stalls"] = Json::array();
  for (const sim::TimelineStall& s : result.timeline.stalls)
    timeline["stalls"].push_back({{"who", s.who},
                                  {"for", s.what},
                                  {"waits", s.waits},
                                  {"cycles", s.cycles},
                                  {"meanwhile", uses(s.used)}});
  document["timeline"] = std::move(timeline);
  return finished(document);
}

std::string json_of_golden(const std::string& verb, const std::vector<GoldenRow>& rows, Exit exit) {
  Json document = head(verb, exit);
  document["cases"] = Json::array();
  for (const GoldenRow& row : rows) {
    Json matches = Json::array();
    for (const Match& match : row.matches) matches.push_back(match_json(match));
    Json json = {{"case", row.case_name},     {"status", status_name(row.status)},
                 {"record", row.record_file}, {"comparisons", matches},
                 {"remarks", row.remarks},    {"seconds", row.seconds}};
    if (!row.error.empty()) json["error"] = row.error;
    if (row.explanation) {
      json["why"] = why_json(*row.explanation);
      json["why"]["other_side"] = row.explained_side;
    }
    document["cases"].push_back(std::move(json));
  }
  return finished(document);
}

std::string json_of_batch(const golden::RowQuestion& question, const golden::RowAnswer& answer, Exit exit) {
  Json document = head("batch check", exit);
  constexpr std::string_view names[] = {"inconclusive", "proved", "refuted"};
  document["verdict"] = names[static_cast<size_t>(answer.kind)];
  document["file"] = question.launch_path;
  document["output"] = answer.output;
  document["row"] = question.row;
  document["variable"] = question.variable;
  document["batches"] = Json::array();
  for (const golden::RowBatch& b : answer.batches) {
    Json json = {{"value", b.value},           {"ctas", b.ctas},
                 {"ctas_run", b.ctas_run},     {"elements", b.columns},
                 {"same_expressions", b.same}, {"seconds", b.seconds}};
    if (!b.same) json["first_difference"] = b.first_difference;
    document["batches"].push_back(std::move(json));
  }
  document["explanation"] = answer.explanation;
  if (!answer.reason.empty()) document["reason"] = answer.reason;
  if (!answer.family.empty())
    document["shown_by"] = {
        {"family", answer.family},
        {"seed", answer.seed},
        {"values", {answer.value_a, answer.value_b}},
        {"column", answer.column},
        {"bits",
         {golden::bits_text(answer.type, answer.bits_a), golden::bits_text(answer.type, answer.bits_b)}},
        {"differing_elements", answer.differing_columns}};
  return finished(document);
}

std::string json_of_corpus(const golden::Expectations& table, const std::vector<MutantAnswer>& mutants,
                           const std::vector<CorpusAnswer>& clean, Exit exit) {
  Json document = head("corpus", exit);
  document["file"] = table.path;
  document["mutants"] = Json::array();
  for (size_t i = 0; i < mutants.size(); ++i) {  // an interrupted run has fewer answers than the table rows
    const golden::Mutant& mutant = table.mutants[i];
    Json also = Json::array();
    for (const FindingClass c : mutant.other_classes) also.push_back(finding_class_name(c));
    Json launches = Json::array();
    for (const CorpusAnswer& answer : mutants[i].launches) launches.push_back(answer_json(answer));
    document["mutants"].push_back({{"name", mutant.name},
                                   {"fault", mutant.fault},
                                   {"expected", finding_class_name(mutant.finding_class)},
                                   {"or", also},
                                   {"right", mutants[i].right()},
                                   {"launches", launches}});
  }
  document["clean"] = Json::array();
  for (size_t i = 0; i < clean.size(); ++i) {
    Json json = answer_json(clean[i]);
    json["name"] = table.clean[i].name;
    document["clean"].push_back(std::move(json));
  }
  return finished(document);
}

std::string json_of_mimw(const MimwProgram& program, const std::vector<MimwOutcome>& outcomes,
                         std::optional<size_t> shown, SourceText& source, Exit exit) {
  Json document = head("check", exit);
  document["file"] = program.file;
  document["name"] = program.name;
  document["variants"] = Json::array();
  for (const MimwOutcome& outcome : outcomes) {
    Json values = Json::object();
    for (const auto& [name, value] : outcome.values) values[name] = value;
    Json json = {{"variant", outcome.variant}, {"values", values}};
    add_report(json, outcome.report, outcome.policies, outcome.witness_file, source);
    json["seconds"] = outcome.seconds;
    document["variants"].push_back(std::move(json));
  }
  document["smallest_failing"] = shown_json(shown);
  return finished(document);
}

std::string json_of_cases(const std::string& path, const std::vector<CorpusLine>& lines, Exit exit) {
  Json document = head("corpus", exit);
  document["file"] = path;
  document["cases"] = Json::array();
  for (const CorpusLine& line : lines)
    document["cases"].push_back({{"file", line.file},
                                 {"name", line.name},
                                 {"variant", line.variant},
                                 {"expected", line.expected},
                                 {"got", line.got},
                                 {"right", line.right},
                                 {"missing", line.missing},
                                 {"choices", line.choices},
                                 {"seconds", line.seconds}});
  return finished(document);
}

std::string json_of_selftest(const std::string& captures_folder,
                             const std::vector<golden::CaptureFamily>& captures,
                             const std::string& records_folder,
                             const std::vector<golden::RecordFamily>& records, Exit exit) {
  Json document = head("numerics selftest", exit);
  document["captures"] = captures_folder;
  document["families"] = Json::array();
  for (const golden::CaptureFamily& f : captures) {
    Json family = {
        {"file", f.file},   {"gpu", f.gpu},         {"instruction", f.instruction}, {"types", f.types},
        {"model", f.model}, {"vectors", f.vectors}, {"mismatches", f.mismatches}};
    if (f.mismatches != 0)
      family["first"] = {{"row", f.first_mismatch},
                         {"recorded", fmt::format("0x{:08x}", f.expected)},
                         {"computed", fmt::format("0x{:08x}", f.got)}};
    document["families"].push_back(family);
  }
  document["records"] = records_folder;
  document["forms"] = Json::array();
  for (const golden::RecordFamily& f : records) {
    Json family = {{"operation", f.operation},  {"operands", f.operands},
                   {"forms", f.forms},          {"results", f.results},
                   {"mismatches", f.differing}, {"not_predicted", f.not_predicted}};
    if (f.differing != 0) family["first"] = f.first;
    document["forms"].push_back(family);
  }
  return finished(document);
}

std::string json_of_error(const std::string& verb, const Error& error) {
  Json document = head(verb, Exit::unusable);
  document["error"] = {
      {"file", error.file}, {"line", error.line}, {"column", error.column}, {"message", error.message}};
  return finished(document);
}

Exit refuse(const Terminal& terminal, const std::string& verb, bool json, const Error& error) {
  if (json) terminal.print(json_of_error(verb, error));
  terminal.complain(error.text());
  return Exit::unusable;
}

}  // namespace turnstile::cli
