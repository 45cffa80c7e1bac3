// python/native/worker/limits.h: what a worker may use, and when it ends.
#pragma once

#include <string>
#include <sys/types.h>

#include "autotune/job.h"

namespace tilewright::native {

/// Ends with the parent, leaves Ctrl-C to it, writes no core files, goes first when memory is short.
void tie_to_parent(pid_t parent);
/// Ends where a device is lost: another process can go on, this one cannot. The end of stderr, `text`, is what the
/// search hears.
void end_with_lost_device(const std::string& text);
/// Limits address space, so that a schedule that wants the whole machine is refused memory instead of ending others.
void limit_memory(const autotune::Job& job);

} // namespace tilewright::native
