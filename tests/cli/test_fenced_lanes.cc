// SPDX-License-Identifier: Apache-2.0

// A fence and the relaxed flag behind it, by which lanes of a warp? The fence of a whole warp is one of each
// of its lanes; the fence of one lane is nobody else's, whatever the warp does afterwards (M7: the fence and
// the store that publishes stand in the program of one thread).

#include <doctest/doctest.h>

#include "tests/cli/check_ptx.h"

using namespace turnstile;

namespace {

/// CTA 0: all lanes write their word, `publish` sets the flag. CTA 1 waits for it and reads all words.
Report check_flag(const std::string& publish) {
  return test::check_ptx(
      "fenced-lanes",
      ".version 8.0\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 flag, .param .u64 "
      "out)\n{\n.reg .pred %p<8>; .reg .b32 %r<16>; .reg .b64 %rd<8>;\n"
      "ld.param.u64 %rd0, [flag];\nld.param.u64 %rd1, [out];\nmov.u32 %r0, %tid.x;\nmov.u32 %r1, %ctaid.x;\n"
      "mul.wide.u32 %rd2, %r0, 4;\nadd.s64 %rd2, %rd1, %rd2;\nsetp.eq.u32 %p0, %r0, 0;\n"
      "setp.eq.u32 %p1, %r0, 1;\nsetp.ne.u32 %p2, %r1, 0;\n@%p2 bra READ;\n"
      "st.global.u32 [%rd2], %r0;\nbar.warp.sync -1;\n" +
          publish +
          "bra.uni DONE;\nREAD:\nPOLL:\nld.relaxed.gpu.global.u32 %r2, [%rd0];\nsetp.eq.u32 %p3, %r2, 0;\n"
          "@%p3 bra POLL;\nfence.acq_rel.gpu;\nld.global.u32 %r3, [%rd2];\nst.global.u32 [%rd2+256], %r3;\n"
          "DONE:\nret;\n}\n",
      "[launch]\nblock = [32, 1, 1]\ngrid = [2, 1, 1]\n[[buffers]]\nname = 'flag'\ndtype = 'u32'\nshape = "
      "[1]\n"
      "role = 'in_out'\nfill = 'zeros'\ncontrol_data = true\n[[buffers]]\nname = 'out'\ndtype = 'u32'\nshape "
      "= "
      "[128]\nrole = 'out'\n[[params]]\nbuffer = 'flag'\n[[params]]\nbuffer = 'out'\n");
}

constexpr const char* set = "st.relaxed.gpu.global.u32 [%rd0], 1;\n";

}  // namespace

TEST_CASE("the fence of a whole warp is one of the lane that sets the flag") {
  CHECK(check_flag(std::string("fence.acq_rel.gpu;\n@%p0 ") + set).verdict == Verdict::clean);
  // Also behind a branch, and when the lanes have met again.
  CHECK(check_flag(std::string("fence.acq_rel.gpu;\n@!%p0 bra SKIP;\n") + set + "SKIP:\n").verdict ==
        Verdict::clean);
  CHECK(check_flag(std::string("fence.acq_rel.gpu;\nbar.warp.sync -1;\n@%p0 ") + set).verdict ==
        Verdict::clean);
}

TEST_CASE("the fence of the lane that sets the flag") {
  CHECK(check_flag(std::string("@!%p0 bra SKIP;\nfence.acq_rel.gpu;\n") + set + "SKIP:\n").verdict ==
        Verdict::clean);
  // Fenced, met with the others, then set.
  CHECK(check_flag(std::string("@!%p0 bra SKIP;\nfence.acq_rel.gpu;\nSKIP:\nbar.warp.sync -1;\n@%p0 ") + set)
            .verdict != Verdict::finding);
}

TEST_CASE("the fence of another lane publishes nothing, whether or not the lanes meet between") {
  CHECK(check_flag(set).verdict == Verdict::finding);
  CHECK(check_flag(std::string("@!%p0 bra SKIP;\nfence.acq_rel.gpu;\nSKIP:\n@%p1 ") + set).verdict ==
        Verdict::finding);
  const std::string fenced_by_0 = "@!%p0 bra SKIP;\nfence.acq_rel.gpu;\nSKIP:\nbar.warp.sync -1;\n";
  CHECK(check_flag(fenced_by_0 + "@%p1 " + set).verdict == Verdict::finding);
  CHECK(check_flag(fenced_by_0 + set).verdict == Verdict::finding);
}
