// SPDX-License-Identifier: Apache-2.0
#include "cli/golden_case.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <chrono>
#include <ctime>
#include <filesystem>

#include "golden/explain.h"
#include "golden/predict.h"

namespace turnstile::cli {

namespace {

using golden::Record;

/// A launch, its record (if there is one) and where that stands.
struct Subject {
  Launch launch;
  std::string path;
  std::optional<Record> record;
};

std::string now_text() { return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr))); }

GoldenRow failed(GoldenRow row, const Error& error) {
  row.status = GoldenRow::Status::failed;
  row.error = error.text();
  return row;
}

Result<Subject> subject_of(const GoldenArguments& arguments, const std::string& case_name) {
  LaunchOptions options = arguments.launch;
  options.case_name = case_name;
  Result<Launch> launch = launch_of(options);
  if (!launch) return tl::unexpected(launch.error());
  Subject subject{std::move(*launch), {}, std::nullopt};
  subject.path = golden::record_path(records_folder(arguments), subject.launch.entry, case_name);
  std::error_code ignored;
  if (!std::filesystem::exists(subject.path, ignored)) return subject;
  Result<Record> record = golden::read_record(subject.path);
  if (!record) return tl::unexpected(record.error());
  if (record->case_name != case_name)
    return fail(subject.path, 0, 0,
                fmt::format("is the record of case \"{}\"; \"{}\" has the same file name", record->case_name,
                            case_name));
  subject.record = std::move(*record);
  return subject;
}

/// Whether the record is about what the launch file says today. Other inputs make a comparison meaningless;
/// another kernel is remarked on.
Result<void> check_freshness(const Subject& subject, GoldenRow& row) {
  const Result<Record> today = golden::describe_launch(subject.launch);
  if (!today) return tl::unexpected(today.error());
  const golden::Staleness stale =
      golden::staleness(*subject.record, today->inputs, today->ptx_sha256, today->source_sha256);
  if (stale.ptx_changed)
    row.remarks.push_back(
        "the PTX is not the one that the record was made with; the bits are compared all the same");
  if (!stale.differences.empty())
    return fail(subject.path, 0, 0, "the record is about other inputs: " + stale.differences.front());
  return {};
}

const golden::RecordedOutput* output_of(const Record& record, const std::string& buffer) {
  for (const golden::RecordedOutput& output : record.outputs)
    if (output.buffer == buffer) return &output;
  return nullptr;
}

using Contents = std::vector<std::vector<std::byte>>;

Result<void> match_record(const Launch& launch, const Contents& left, const std::string& name,
                          const Record& record, GoldenRow& row) {
  for (size_t i = 0; i < launch.buffers.size(); ++i) {
    const Buffer& buffer = launch.buffers[i];
    if (buffer.role == BufferRole::in) continue;
    const golden::RecordedOutput* recorded = output_of(record, buffer.name);
    if (recorded == nullptr)
      return fail(row.record_file, 0, 0, fmt::format("holds no output {}", buffer.name));
    const Result<golden::MatrixView> view = golden::view_of(buffer, left[i]);
    if (!view) return tl::unexpected(view.error());
    Result<golden::Comparison> comparison = golden::compare(*view, *recorded);
    if (!comparison)
      return fail(row.record_file, 0, 0,
                  fmt::format("output {}: {}", buffer.name, comparison.error().text()));
    row.matches.push_back({name, "record", buffer.name, buffer.type, std::move(*comparison)});
  }
  return {};
}

Result<void> match_contents(const Launch& launch, const Contents& left, const Contents& right,
                            GoldenRow& row) {
  for (size_t i = 0; i < launch.buffers.size(); ++i) {
    const Buffer& buffer = launch.buffers[i];
    if (buffer.role == BufferRole::in) continue;
    const Result<golden::MatrixView> a = golden::view_of(buffer, left[i]);
    const Result<golden::MatrixView> b = golden::view_of(buffer, right[i]);
    if (!a) return tl::unexpected(a.error());
    if (!b) return tl::unexpected(b.error());
    Result<golden::Comparison> comparison = golden::compare(*a, *b);
    if (!comparison) return tl::unexpected(comparison.error());
    row.matches.push_back({"GPU", "sim", buffer.name, buffer.type, std::move(*comparison)});
  }
  return {};
}

/// Status of a row whose comparisons are done.
void conclude(GoldenRow& row, const golden::Prediction* prediction) {
  row.status = GoldenRow::Status::equal;
  for (const Match& match : row.matches)
    if (!match.comparison.equal()) row.status = GoldenRow::Status::different;
  if (prediction == nullptr) return;
  for (const std::string& what : prediction->not_predicted)
    row.remarks.push_back(what + " has no exact model");
  if (!prediction->not_predicted.empty()) row.status = GoldenRow::Status::not_predicted;
  for (const std::string& problem : prediction->problems) row.remarks.push_back("simulator: " + problem);
  if (!prediction->problems.empty()) row.status = GoldenRow::Status::different;
}

std::string shorter(const std::string& digest) { return digest.substr(0, 12); }

/// What a new record says differently from the one on disk, of what people would want to know before it is
/// overwritten.
std::vector<std::string> changes(const Record& old, const Record& made) {
  std::vector<std::string> out;
  const auto note = [&](const char* what, const std::string& a, const std::string& b) {
    if (a != b) out.push_back(fmt::format("{}: recorded {}, now {}", what, a, b));
  };
  note("PTX", shorter(old.ptx_sha256), shorter(made.ptx_sha256));
  note("source", shorter(old.source_sha256), shorter(made.source_sha256));
  for (const std::string& difference :
       golden::staleness(old, made.inputs, made.ptx_sha256, made.source_sha256).differences)
    out.push_back(difference);
  for (const golden::RecordedOutput& output : made.outputs) {
    const golden::RecordedOutput* before = output_of(old, output.buffer);
    if (before == nullptr)
      out.push_back(fmt::format("output {}: not in the old record", output.buffer));
    else
      note(fmt::format("output {}", output.buffer).c_str(), shorter(before->sha256), shorter(output.sha256));
  }
  if (old.outputs.size() > made.outputs.size()) out.push_back("the old record has more outputs");
  return out;
}

class Stopwatch {
 public:
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace

namespace {

/// Explains the first element of which the simulator and another side have different bits. `others`: what the
/// other side has of each buffer, as far as it is known element by element.
void explain_difference(const Launch& launch, const GoldenArguments& arguments,
                        const golden::Prediction& prediction,
                        const std::vector<std::optional<golden::MatrixView>>& others, GoldenRow& row) {
  constexpr double longest = 120;  // the launch runs three times more, and once for each cause that is tried
  if (arguments.no_why || !prediction.usable()) return;
  for (const Match& match : row.matches) {
    const bool sim_is_left = match.left == "sim";
    if ((!sim_is_left && match.right != "sim") || !match.comparison.first) continue;
    if (prediction.seconds > longest) {
      row.remarks.push_back(
          "not explained, because the launch takes long to simulate: turnstile simulate --why does that");
      return;
    }
    for (uint32_t i = 0; i < launch.buffers.size(); ++i) {
      if (launch.buffers[i].name != match.buffer) continue;
      const golden::ElementDifference& d = *match.comparison.first;
      golden::ElementQuestion question{i, d.row, d.column, sim_is_left ? d.right : d.left, nullptr};
      if (others[i]) question.other = &*others[i];
      question.differing = match.comparison.differing;
      Result<golden::Explanation> answer = golden::explain_element(launch, question);
      if (answer)
        row.explanation = std::move(*answer);
      else
        row.remarks.push_back("not explained: " + answer.error().text());
      row.explained_side = sim_is_left ? match.right : match.left;
      return;
    }
  }
}

/// What a record holds of the buffers in full.
std::vector<std::optional<golden::MatrixView>> recorded_views(const Launch& launch, const Record& record) {
  std::vector<std::optional<golden::MatrixView>> out(launch.buffers.size());
  for (size_t i = 0; i < out.size(); ++i)
    if (const golden::RecordedOutput* o = output_of(record, launch.buffers[i].name);
        o != nullptr && !o->elements.empty())
      out[i] = golden::MatrixView{o->type, o->rows, o->columns, o->columns, o->elements};
  return out;
}

}  // namespace

std::string records_folder(const GoldenArguments& arguments) {
  if (!arguments.records.empty()) return arguments.records;
  std::error_code ignored;
  std::filesystem::path folder = std::filesystem::path(arguments.launch.file).parent_path();
  const std::filesystem::path below = std::filesystem::path("golden") / "records";
  // Upwards by names while there are any, so that paths in messages stay as short as the user's own.
  for (;;) {
    if (std::filesystem::is_directory(folder / below, ignored)) return (folder / below).string();
    if (!folder.has_relative_path()) return below.string();
    folder = folder.parent_path();
  }
}

std::string record_command(const GoldenArguments& arguments, const std::string& case_name) {
  std::string command = "turnstile golden record " + arguments.launch.file;
  if (!case_name.empty()) command += " --case " + case_name;
  return command;
}

GoldenRow record_case(const GoldenArguments& arguments, const std::string& case_name, const GpuRunner& run) {
  const Stopwatch watch;
  GoldenRow row;
  row.case_name = case_name;
  Result<Subject> subject = subject_of(arguments, case_name);
  // A damaged record may be replaced, but only when told to.
  if (!subject) return failed(std::move(row), subject.error());
  row.record_file = subject->path;
  const Result<golden::GpuRun> made = run(subject->launch);
  if (!made) return failed(std::move(row), made.error());
  row.seconds = watch.seconds();
  if (!made->identical) {
    row.status = GoldenRow::Status::different;
    row.remarks.push_back(
        fmt::format("{} runs on the GPU gave different bits: this kernel cannot have a golden record",
                    made->repetitions));
    return row;
  }
  const Result<Record> record = golden::make_record(subject->launch, *made, now_text());
  if (!record) return failed(std::move(row), record.error());
  if (subject->record) {
    const std::vector<std::string> differences = changes(*subject->record, *record);
    if (differences.empty()) {
      row.status = GoldenRow::Status::unchanged;
      return row;
    }
    if (!arguments.update) {
      row.status = GoldenRow::Status::different;
      row.remarks = differences;
      row.remarks.push_back("not overwritten; --update does that");
      return row;
    }
  }
  if (const Result<void> written = golden::write_record(subject->path, *record); !written)
    return failed(std::move(row), written.error());
  row.status = GoldenRow::Status::written;
  row.remarks.push_back(fmt::format("{}, driver {}, {} runs alike, {:.4f} ms", made->gpu, made->driver,
                                    made->repetitions, made->kernel_ms));
  return row;
}

GoldenRow verify_case(const GoldenArguments& arguments, const std::string& case_name) {
  const Stopwatch watch;
  GoldenRow row;
  row.case_name = case_name;
  const Result<Subject> subject = subject_of(arguments, case_name);
  if (!subject) return failed(std::move(row), subject.error());
  row.record_file = subject->path;
  if (!subject->record)
    return failed(std::move(row), Error{subject->path, 0, 0,
                                        "there is no record of this case; on a machine with the GPU: " +
                                            record_command(arguments, case_name)});
  if (const Result<void> fresh = check_freshness(*subject, row); !fresh)
    return failed(std::move(row), fresh.error());
  const Result<golden::Prediction> prediction = golden::predict(subject->launch);
  if (!prediction) return failed(std::move(row), prediction.error());
  const Result<void> matched =
      match_record(subject->launch, prediction->buffers, "sim", *subject->record, row);
  if (!matched) return failed(std::move(row), matched.error());
  conclude(row, &*prediction);
  explain_difference(subject->launch, arguments, *prediction,
                     recorded_views(subject->launch, *subject->record), row);
  row.seconds = watch.seconds();
  return row;
}

GoldenRow crossval_case(const GoldenArguments& arguments, const std::string& case_name,
                        const GpuRunner& run) {
  const Stopwatch watch;
  GoldenRow row;
  row.case_name = case_name;
  const Result<Subject> subject = subject_of(arguments, case_name);
  if (!subject) return failed(std::move(row), subject.error());
  row.record_file = subject->path;
  const Result<golden::GpuRun> made = run(subject->launch);
  if (!made) return failed(std::move(row), made.error());
  const Result<golden::Prediction> prediction = golden::predict(subject->launch);
  if (!prediction) return failed(std::move(row), prediction.error());
  Result<void> step = match_contents(subject->launch, made->buffers, prediction->buffers, row);
  if (step && subject->record) step = check_freshness(*subject, row);
  if (step && subject->record)
    step = match_record(subject->launch, made->buffers, "GPU", *subject->record, row);
  if (!step) return failed(std::move(row), step.error());
  conclude(row, &*prediction);
  std::vector<std::optional<golden::MatrixView>> others(subject->launch.buffers.size());
  for (size_t i = 0; i < others.size(); ++i)
    if (const auto view = golden::view_of(subject->launch.buffers[i], made->buffers[i]); view)
      others[i] = *view;
  explain_difference(subject->launch, arguments, *prediction, others, row);
  if (!made->identical) {
    row.status = GoldenRow::Status::different;
    row.remarks.push_back(fmt::format("{} runs on the GPU gave different bits", made->repetitions));
  }
  if (!subject->record && row.status == GoldenRow::Status::equal) {
    row.status = GoldenRow::Status::no_record;
    row.error = subject->path + ": there is no record of this case; make it with " +
                record_command(arguments, case_name);
  }
  row.seconds = watch.seconds();
  return row;
}

Exit exit_of(const GoldenRow& row) {
  switch (row.status) {
    case GoldenRow::Status::written:
    case GoldenRow::Status::unchanged:
    case GoldenRow::Status::equal:
      return Exit::clean;
    case GoldenRow::Status::different:
      return Exit::findings;
    case GoldenRow::Status::not_predicted:
      return Exit::inconclusive;
    case GoldenRow::Status::no_record:
    case GoldenRow::Status::failed:
      return Exit::unusable;
  }
  return Exit::unusable;
}

std::string status_name(GoldenRow::Status status) {
  switch (status) {
    case GoldenRow::Status::written:
      return "written";
    case GoldenRow::Status::unchanged:
      return "unchanged";
    case GoldenRow::Status::equal:
      return "equal";
    case GoldenRow::Status::different:
      return "different";
    case GoldenRow::Status::not_predicted:
      return "not predicted";
    case GoldenRow::Status::no_record:
      return "no record";
    case GoldenRow::Status::failed:
      return "failed";
  }
  return "failed";
}

}  // namespace turnstile::cli
