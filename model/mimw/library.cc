// SPDX-License-Identifier: Apache-2.0
#include "model/mimw/library.h"

namespace turnstile::mimw {
namespace {

// The canonical ring of orchestration_bugs.md 2.5. tests/corpus/ring.mimw is the same text with its header; a
// test holds them together.
constexpr Pattern kLibrary[] = {
    {"ring", "ring.mimw (library)", R"(ring
let n=5 S=2 B=100 E=2 X=B L=B flip=1 nP=n nC=n
mbar full[S]:1 empty[S]:E
agent P
  for i < nP
    [ok|early|nowait] wait empty[i%S], (i/S&1)^flip
    arrive_tx full[i%S], X
    tma_load buf[i%S]#i -> full[i%S], L
agent C0 C1 x128
  for i < nC
    wait full[i%S], i/S&1
    [early] arrive empty[i%S]
    wgmma buf[i%S]#i
    wg_commit
    [ok|early|noempty] wg_wait 0
    [ok|noempty|nowait] arrive empty[i%S]
  wg_wait 0
=> ok: safe
=> early: race(buf), stale(buf)
=> noempty: race(buf), stale(buf), mbar-underflow(full), deadlock
=> nowait: race(buf)
)"},
};

}  // namespace

std::span<const Pattern> library() { return kLibrary; }

}  // namespace turnstile::mimw
