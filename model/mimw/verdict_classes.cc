// SPDX-License-Identifier: Apache-2.0
#include "model/mimw/verdict_classes.h"

namespace turnstile::mimw {
namespace {

constexpr std::string_view kClasses[] = {
    "deadlock",
    "race",
    "stale",
    "fence",
    "fence-war",
    "mbar-underflow",
    "tx-imbalance",
    "mbar-reinit",
    "mbar-before-init",
    "mbar-init-unfenced",
    "nbar-arrives-only",
    "nbar-surplus",
    "nbar-count",
    "remote-after-exit",
    "remote-wait",
    "collective-before-peer",
    "free-before-peer-alloc",
    "leak",
    "exit-in-flight",
    "lint",
};

}  // namespace

std::span<const std::string_view> verdict_classes() { return kClasses; }

}  // namespace turnstile::mimw
