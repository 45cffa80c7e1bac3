// dsl/runtime/cgroup.h: the control groups that this process is in.
#pragma once

#include <functional>
#include <string>

namespace tilewright::runtime {

/// Calls `visit` for each folder that may say something of a controller ("cpu", "memory"), from the process's own group
/// up to the root; inside a container the path may be the host's and not exist, then only the root is there. `is_v2`:
/// which files lie there.
void visit_cgroups(const std::string& controller,
                   const std::function<void(const std::string& folder, bool is_v2)>& visit);

/// The first line of a file. False where there is none.
bool read_line(const std::string& path, char* line, int size);

} // namespace tilewright::runtime
