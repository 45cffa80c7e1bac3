// dsl/runtime/cuda/cubins.cpp: finds FOLDER/DIGEST.sm_90.cubin, DIGEST being the first 32 digits of the PTX's SHA-256.
// Such a file is one line, "tilewright-cubin 2 sm_90 SHA-256-OF-THE-PTX SHA-256-OF-THE-REST", and the cubin,
// which is made of what ptx_for gives for that architecture.
#include "dsl/runtime/cuda/launch.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstdio>
#include <mutex>
#include <vector>

#include "dsl/base/error.h"

namespace tilewright::runtime::cuda {
namespace {

// SHA-256: FIPS 180-4, section 6.2. The runtime needs libc alone, so it has its own.

using Words = std::array<std::uint32_t, 8>;

constexpr std::uint32_t kRounds[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

void add_block(Words& state, const unsigned char* block) {
    std::uint32_t w[64];
    for (int i = 0; i < 16; ++i)
        w[i] = std::uint32_t{block[4 * i]} << 24 | std::uint32_t{block[4 * i + 1]} << 16 |
               std::uint32_t{block[4 * i + 2]} << 8 | block[4 * i + 3];
    for (int i = 16; i < 64; ++i) {
        const std::uint32_t a = w[i - 15], b = w[i - 2];
        w[i] = w[i - 16] + w[i - 7] + (std::rotr(a, 7) ^ std::rotr(a, 18) ^ a >> 3) +
               (std::rotr(b, 17) ^ std::rotr(b, 19) ^ b >> 10);
    }
    Words s = state;
    for (int i = 0; i < 64; ++i) {
        const std::uint32_t choice = (s[4] & s[5]) ^ (~s[4] & s[6]);
        const std::uint32_t majority = (s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]);
        const std::uint32_t one =
            s[7] + (std::rotr(s[4], 6) ^ std::rotr(s[4], 11) ^ std::rotr(s[4], 25)) + choice + kRounds[i] + w[i];
        const std::uint32_t two = (std::rotr(s[0], 2) ^ std::rotr(s[0], 13) ^ std::rotr(s[0], 22)) + majority;
        s = {one + two, s[0], s[1], s[2], s[3] + one, s[4], s[5], s[6]};
    }
    for (std::size_t i = 0; i < state.size(); ++i)
        state[i] += s[i];
}

/// 64 lower-case hexadecimal digits.
std::string sha256(std::string_view bytes) {
    Words state = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    std::size_t at = 0;
    for (; at + 64 <= bytes.size(); at += 64)
        add_block(state, reinterpret_cast<const unsigned char*>(bytes.data()) + at);
    std::string tail(bytes.substr(at));
    tail.push_back('\x80');
    tail.resize(tail.size() <= 56 ? 56 : 120, '\0');
    for (int shift = 56; shift >= 0; shift -= 8)
        tail.push_back(static_cast<char>(std::uint64_t{bytes.size()} * 8 >> shift));
    for (std::size_t i = 0; i < tail.size(); i += 64)
        add_block(state, reinterpret_cast<const unsigned char*>(tail.data()) + i);
    std::string hex;
    for (std::uint32_t word : state)
        for (int shift = 28; shift >= 0; shift -= 4)
            hex.push_back("0123456789abcdef"[word >> shift & 15]);
    return hex;
}

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
