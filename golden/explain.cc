// SPDX-License-Identifier: Apache-2.0
#include "golden/explain.h"

#include <fmt/format.h>

namespace turnstile::golden {

Result<Explanation> explain_element(const Launch& launch, const ElementQuestion& question) {
  if (question.buffer >= launch.buffers.size()) return fail(launch.path, 0, 0, "there is no such buffer");
  const Buffer& buffer = launch.buffers[question.buffer];
  Explanation out;
  out.buffer = buffer.name;
  out.type = buffer.type;
  out.rows = buffer.rows();
  out.columns = buffer.columns();
  out.row = question.row;
  out.column = question.column;
  out.got = question.got;
  if (question.row >= out.rows || question.column >= out.columns)
    return fail(launch.path, 0, 0,
                fmt::format("{} has {} rows of {} elements: there is no [{}, {}]", buffer.name, out.rows,
                            out.columns, question.row, question.column));
  const size_t width = element_bytes(buffer.type);
  out.byte_offset = (question.row * buffer.row_pitch + question.column) * width;
  Result<sim::ProgramHandle> program = sim::load_program(launch);
  if (!program) return tl::unexpected(program.error());
  const Result<sim::Why> why =
      sim::explain_bytes(**program, launch, question.buffer, out.byte_offset, static_cast<uint32_t>(width));
  if (!why) return tl::unexpected(why.error());
  out.predicted = word_of(why->nodes[0].out, 0, width);
  out.path = path_of(*why, **program, launch, question.most_steps);
  out.truncated = why->truncated;
  out.replayable = why->replayable;
  out.replayed_ctas = why->replayed_ctas;
  if (question.got && *question.got != out.predicted)
    out.causes = find_causes(*why, **program, launch, out.path, question.buffer, *question.got,
                             question.other, question.differing);
  return out;
}

}  // namespace turnstile::golden
