// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>

namespace turnstile::cli {

/// Calls `work(i)` once for each i < count, on as many threads as the machine has cores, in order of i as
/// threads come free. `work` must be safe to call from several threads for different i. `tick(done)` is
/// called on the calling thread a few times a second and after the last one. When `stop()` becomes true no
/// further i is begun. Returns how many were done.
size_t run_parallel(size_t count, const std::function<void(size_t)>& work,
                    const std::function<void(size_t)>& tick, const std::function<bool()>& stop);

/// The same; `ready(i)` is called on the calling thread for each i in order, soon after it and all before it
/// are done.
size_t run_in_order(size_t count, const std::function<void(size_t)>& work,
                    const std::function<void(size_t)>& ready, const std::function<void(size_t)>& tick,
                    const std::function<bool()>& stop);

}  // namespace turnstile::cli
