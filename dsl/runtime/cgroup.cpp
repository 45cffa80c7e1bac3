// dsl/runtime/cgroup.cpp: /proc/self/cgroup, and where version 1 and version 2 have their files.
#include "dsl/runtime/cgroup.h"

#include <cstdio>
#include <cstring>

namespace tilewright::runtime {

bool read_line(const std::string& path, char* line, int size) {
    FILE* file = std::fopen(path.c_str(), "re");
    if (!file) return false;
    bool ok = std::fgets(line, size, file) != nullptr;
    std::fclose(file);
    return ok;
}

void visit_cgroups(const std::string& controller,
                   const std::function<void(const std::string& folder, bool is_v2)>& visit) {
    FILE* file = std::fopen("/proc/self/cgroup", "re");
    if (!file) return;
    char line[4096];
    while (std::fgets(line, sizeof line, file)) {
        line[std::strcspn(line, "\n")] = 0;
        char* controllers = std::strchr(line, ':');
        char* path = controllers ? std::strchr(controllers + 1, ':') : nullptr;
        if (!path) continue;
        *path++ = 0;
        ++controllers;
        const bool is_v2 = *controllers == 0;
        const std::string list = std::string(",") + controllers + ",";
        if (!is_v2 && list.find("," + controller + ",") == std::string::npos) continue;
        for (std::string group = path;;) {
            if (is_v2) {
                visit("/sys/fs/cgroup" + group, true);
            } else {
                visit("/sys/fs/cgroup/" + controller + group, false);
                if (controller != controllers) visit(std::string("/sys/fs/cgroup/") + controllers + group, false);
            }
            const std::size_t slash = group.rfind('/');
            if (slash == std::string::npos || group == "/" || group.empty()) break;
            group.resize(slash);
        }
    }
    std::fclose(file);
}

} // namespace tilewright::runtime
