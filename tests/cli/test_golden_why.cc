// SPDX-License-Identifier: Apache-2.0

// A record of the GEMM with one bit changed: the element, its tile and its path are named.

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>

#include "cli/golden_case.h"
#include "cli/render_golden.h"
#include "golden/digest.h"
#include "golden/record.h"
#include "tests/cli/program.h"

using namespace turnstile;
using namespace turnstile::cli;

namespace {

const std::string case_name = "m128_n256_k64_normal";

GoldenArguments planted_record(const test::Folder& folder, uint64_t row, uint64_t column, uint16_t flip) {
  GoldenArguments a;
  a.launch.file = std::string(TURNSTILE_SOURCE_DIR) + "/kernels/gemm_bf16_hopper/gemm.toml";
  a.records = folder.path();
  auto record = golden::read_record(std::string(TURNSTILE_SOURCE_DIR) + "/golden/records/gemm_bf16_hopper/" +
                                    case_name + ".json");
  REQUIRE(record.has_value());
  golden::RecordedOutput& out = record->outputs.at(0);
  const uint64_t at = 2 * (row * out.columns + column);
  out.elements[at] ^= static_cast<std::byte>(flip & 0xff);
  out.elements[at + 1] ^= static_cast<std::byte>(flip >> 8);
  const golden::MatrixView view{out.type, out.rows, out.columns, out.columns, out.elements};
  out.sha256 = golden::matrix_sha256(view);
  out.row_digests = golden::row_digests(view);
  REQUIRE(golden::write_record(golden::record_path(a.records, "gemm_bf16_hopper", case_name), *record)
              .has_value());
  return a;
}

}  // namespace

TEST_CASE("one bit of a record of the GEMM is changed: the element, the tile and the way to it are named") {
  const test::Folder folder("why");
  const GoldenRow row = verify_case(planted_record(folder, 37, 201, 1), case_name);
  CHECK(row.status == GoldenRow::Status::different);
  REQUIRE(row.explanation.has_value());
  const golden::Explanation& e = *row.explanation;
  CHECK(e.row == 37);
  CHECK(e.column == 201);
  CHECK(e.byte_offset == 2 * (37 * 256 + 201));
  CHECK(e.replayable);
  REQUIRE(e.path.steps.size() == 4);
  CHECK(e.path.steps[0].instruction.starts_with("cp.async.bulk.tensor.2d.global"));
  CHECK(e.path.steps[1].instruction == "st.shared.b32");
  CHECK(e.path.steps[2].instruction == "cvt.rn.bf16x2.f32");
  REQUIRE(e.path.steps[3].chain.has_value());
  const golden::PathChain& chain = *e.path.steps[3].chain;
  // The tile is 64 x 256 of each of two warp groups; row 37 is the first one's.
  CHECK(chain.row == 37);
  CHECK(chain.column == 201);
  CHECK(chain.k == 64);
  CHECK(chain.groups.size() == 4);
  CHECK(chain.a_from.starts_with("A[37, 0] "));
  CHECK(chain.b_from.starts_with("B[201, 0] "));
  for (size_t i = 1; i < 4; ++i) CHECK(chain.groups[i].before.bits == chain.groups[i - 1].after.bits);
  CHECK(chain.groups[3].after.bits == e.path.steps[2].operands[0].bits);
  // Nothing in the arithmetic did that to one element alone.
  REQUIRE(e.causes.has_value());
  for (const golden::Cause& cause : e.causes->found) CHECK_FALSE(cause.differing_after.has_value());
  const std::string text = render_golden_row("verify", row, Style{});
  CHECK(text.find("k group 3 of 4: k 32..47, L=16 products") != std::string::npos);
  CHECK(text.find("1 ulp apart") != std::string::npos);
}

TEST_CASE("simulate --why: the same of any element; mistakes in its name are told") {
  const std::string gemm = std::string(TURNSTILE_SOURCE_DIR) + "/kernels/gemm_bf16_hopper/gemm.toml";
  const auto ask = [&](const std::string& element) {
    return test::run_turnstile({"simulate", gemm, "--case", case_name, "--why", element});
  };
  const golden::Finished good = ask("C:37,201");
  CHECK(good.exit_code == 0);
  CHECK(good.output.find("C[37, 201] of bf16 [128, 256]") != std::string::npos);
  CHECK(good.output.find("wgmma.mma_async") != std::string::npos);
  CHECK(ask("C:9673").output.find("C[37, 201] of bf16") != std::string::npos);
  CHECK(ask("C:128,0").exit_code == 2);
  CHECK(ask("D:0,0").errors.find("there is no such buffer; there are") != std::string::npos);
  CHECK(ask("C").exit_code == 2);
  CHECK(ask("C:1,-2").exit_code == 2);
}
