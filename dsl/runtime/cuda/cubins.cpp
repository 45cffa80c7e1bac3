// dsl/runtime/cuda/cubins.cpp: finds FOLDER/DIGEST.sm_90.cubin, DIGEST being the first 32 digits of the PTX's SHA-256.
// Such a file is one line, "tilewright-cubin 2 sm_90 SHA-256-OF-THE-PTX SHA-256-OF-THE-REST", and the cubin,
// which is made of what ptx_for gives for that architecture.
#include "dsl/runtime/cuda/cubins.h"

#include <algorithm>
#include <cstdio>
#include <mutex>
#include <vector>

#include "dsl/base/error.h"
#include "dsl/runtime/cuda/sha256.h"

namespace tilewright::runtime::cuda {
namespace {

struct Folders {
    std::mutex mutex;
    std::vector<std::string> list;
};
Folders& folders() {
    static Folders& instance = *new Folders;
    return instance;
}

/// Streams would make each module half a megabyte larger.
bool read(const std::string& path, std::string& file) {
    FILE* in = std::fopen(path.c_str(), "rbe");
    if (!in) return false;
    char part[1 << 14];
    while (const std::size_t bytes = std::fread(part, 1, sizeof part, in))
        file.append(part, bytes);
    std::fclose(in);
    return true;
}

std::string checked(const std::string& path, const std::string& file, const std::string& arch,
                    const std::string& digest) {
    const std::size_t end = file.find('\n');
    const std::string first = "tilewright-cubin 2 " + arch + " " + digest + " ";
    if (end != std::string::npos && file.compare(0, first.size(), first) == 0) {
        std::string image = file.substr(end + 1);
        if (!image.empty() && file.substr(first.size(), end - first.size()) == sha256(image)) return image;
    }
    throw DeviceError("cuda: " + path + ": the file is not what was written there: its hash differs.",
                      "Export the module again, or delete the file: the driver then assembles the code itself.");
}

} // namespace

void look_for_cubins_in(const std::string& folder) {
    Folders& all = folders();
    std::lock_guard lock(all.mutex);
    if (std::find(all.list.begin(), all.list.end(), folder) == all.list.end()) all.list.push_back(folder);
}

std::string find_cubin(const Device& device, std::string_view ptx) {
    std::vector<std::string> list;
    {
        std::lock_guard lock(folders().mutex);
        list = folders().list;
    }
    if (list.empty()) return {};
    const std::string digest = sha256(ptx);
    // Code for 8.0 runs on 8.6, and on no device of another major number.
    for (int minor = device.minor; minor >= 0; --minor) {
        const std::string arch = "sm_" + std::to_string(device.major) + std::to_string(minor);
        for (const std::string& folder : list) {
            const std::string path = folder + "/" + digest.substr(0, 32) + "." + arch + ".cubin";
            std::string file;
            if (read(path, file)) return checked(path, file, arch, digest);
        }
    }
    return {};
}

} // namespace tilewright::runtime::cuda
