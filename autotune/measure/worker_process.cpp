// autotune/measure/worker_process.cpp: posix_spawn, pipes and poll around one tilewright-worker.
#include "autotune/measure/worker_process.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <map>
#include <poll.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "dsl/base/error.h"

extern char** environ;

namespace tilewright::autotune {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kLongestAnswer = std::size_t{256} << 20;

void close_one(int& descriptor) {
    if (descriptor >= 0) ::close(descriptor);
    descriptor = -1;
}

/// Writes everything; false when the reader is gone. No SIGPIPE: the caller's process decides about its signals, not
/// we.
bool write_all(int descriptor, const std::string& text) {
    std::size_t done = 0;
    while (done < text.size()) {
        const ssize_t count = ::send(descriptor, text.data() + done, text.size() - done, MSG_NOSIGNAL);
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) return false;
        done += static_cast<std::size_t>(count);
    }
    return true;
}

} // namespace

std::string signal_words(int signal) {
    static const std::map<int, const char*> kWords = {
        {SIGSEGV, "SIGSEGV (wild memory access)"},
        {SIGBUS, "SIGBUS (wild memory access)"},
        {SIGILL, "SIGILL (an instruction that this machine does not have)"},
        {SIGABRT, "SIGABRT (an assertion failed)"},
        {SIGFPE, "SIGFPE (integer division by zero)"},
        {SIGKILL, "SIGKILL (killed, perhaps out of memory)"}};
    const auto known = kWords.find(signal);
    return known != kWords.end() ? known->second : "signal " + std::to_string(signal);
}

WorkerProcess::WorkerProcess(std::string program, std::string job_file, int device)
    : program_(std::move(program)), job_file_(std::move(job_file)), device_(device) {}

WorkerProcess::~WorkerProcess() {
    if (running()) {
        ::kill(pid_, SIGKILL);
        while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
        }
    }
    close_all();
}

void WorkerProcess::start() {
    if (running()) return;
    close_all();
    unread_.clear();
    int pair[2] = {-1, -1};
    int answers[2] = {-1, -1};
    // A socket and no pipe for requests: writing to a dead worker must not raise SIGPIPE in the caller's process.
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
        throw DeviceError(std::string("tilewright-worker: no socket for it: ") + std::strerror(errno) + ".");
    to_worker_ = pair[0];
    if (::pipe2(answers, O_CLOEXEC) != 0) {
        ::close(pair[1]);
        throw DeviceError(std::string("tilewright-worker: no pipe for it: ") + std::strerror(errno) + ".");
    }
    from_worker_ = answers[0];
    stderr_ = ::memfd_create("tilewright-worker-stderr", MFD_CLOEXEC);
    status_ = ::memfd_create("tilewright-worker-status", MFD_CLOEXEC);
    if (status_ >= 0 && ::ftruncate(status_, sizeof(WorkerStatus)) != 0) close_one(status_);

    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    // dup2 onto the same number would keep O_CLOEXEC: descriptors below 4 are moved out of the way first.
    auto high = [](int descriptor) {
        if (descriptor < 0 || descriptor > 9) return descriptor;
        const int moved = ::fcntl(descriptor, F_DUPFD_CLOEXEC, 10);
        return moved < 0 ? descriptor : moved;
    };
    std::vector<int> moved;
    auto place = [&](int descriptor, int number) {
        if (descriptor < 0) return;
        const int source = high(descriptor);
        if (source != descriptor) moved.push_back(source);
        posix_spawn_file_actions_adddup2(&actions, source, number);
    };
    place(pair[1], 0);
    place(answers[1], 1);
    place(stderr_, 2);
    place(status_, kStatusDescriptor);
    // Python blocks nothing, but a caller may: the worker starts with nothing blocked, so that limits and kills work.
    sigset_t none;
    sigemptyset(&none);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);

    const std::string parent = std::to_string(::getpid());
    const std::string device = std::to_string(device_);
    const char* arguments[] = {program_.c_str(), job_file_.c_str(), "--parent", parent.c_str(),
                               nullptr,          nullptr,           nullptr};
    if (device_ >= 0) {
        arguments[4] = "--device";
        arguments[5] = device.c_str();
    }
    pid_t pid = -1;
    const int code =
        ::posix_spawn(&pid, program_.c_str(), &actions, &attributes, const_cast<char* const*>(arguments), environ);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    for (int descriptor : moved)
        ::close(descriptor);
    ::close(pair[1]);
    ::close(answers[1]);
    if (code != 0) {
        close_all();
        throw DeviceError("tilewright-worker: " + program_ + " could not be started: " + std::strerror(code) + ".",
                          "Install tilewright again; `autotune doctor` says what is missing.");
    }
    pid_ = pid;
}

WorkerAnswer WorkerProcess::ask(const std::string& request, double limit_s, const std::atomic<bool>* cancel) {
    if (!running()) throw InternalError("tilewright-worker: asked while it does not run.");
    if (!write_all(to_worker_, request + "\n")) return ended(WorkerAnswer::Kind::died);
    const auto start = Clock::now();
    for (;;) {
        if (const auto end = unread_.find('\n'); end != std::string::npos) {
            WorkerAnswer answer;
            answer.text = unread_.substr(0, end);
            unread_.erase(0, end + 1);
            return answer;
        }
        const double left_s = limit_s - std::chrono::duration<double>(Clock::now() - start).count();
        if (left_s <= 0) return ended(WorkerAnswer::Kind::timed_out);
        if (cancel != nullptr && cancel->load()) return ended(WorkerAnswer::Kind::cancelled);
        pollfd wait{from_worker_, POLLIN, 0};
        const int ready = ::poll(&wait, 1, static_cast<int>(std::clamp(left_s * 1000, 1.0, 50.0)));
        if (ready < 0 && errno != EINTR) return ended(WorkerAnswer::Kind::died);
        if (ready <= 0) continue;
        char buffer[65536];
        const ssize_t count = ::read(from_worker_, buffer, sizeof buffer);
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0 || unread_.size() > kLongestAnswer) return ended(WorkerAnswer::Kind::died);
        unread_.append(buffer, static_cast<std::size_t>(count));
    }
}

WorkerAnswer WorkerProcess::ended(WorkerAnswer::Kind kind) {
    WorkerAnswer answer;
    answer.kind = kind;
    // A worker that closed its pipe is about to end by itself: its own signal is worth more than ours.
    int status = 0;
    pid_t waited = 0;
    if (kind == WorkerAnswer::Kind::died)
        for (int step = 0; step < 200 && waited == 0; ++step) {
            waited = ::waitpid(pid_, &status, WNOHANG);
            if (waited == 0) ::usleep(10000);
        }
    if (waited == 0) {
        ::kill(pid_, SIGKILL);
        while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
        }
    }
    pid_ = -1;
    if (status_ >= 0) {
        WorkerStatus where{};
        if (::pread(status_, &where, sizeof where, 0) == static_cast<ssize_t>(sizeof where)) {
            where.id[sizeof where.id - 1] = 0;
            answer.id = where.id;
        }
    }
    if (kind == WorkerAnswer::Kind::died) {
        if (WIFSIGNALED(status)) {
            answer.signal = WTERMSIG(status);
            answer.text = "ended by " + signal_words(answer.signal);
        } else {
            answer.text = "exited with status " + std::to_string(WEXITSTATUS(status));
        }
        if (const std::string said = end_of_stderr(); !said.empty()) answer.text += "; it said: " + said;
    }
    close_all();
    return answer;
}

std::string WorkerProcess::end_of_stderr() const {
    struct stat info {};
    if (stderr_ < 0 || ::fstat(stderr_, &info) != 0 || info.st_size <= 0) return "";
    constexpr off_t kMost = 600;
    const off_t from = std::max<off_t>(0, info.st_size - kMost);
    std::string text(static_cast<std::size_t>(info.st_size - from), '\0');
    const ssize_t count = ::pread(stderr_, text.data(), text.size(), from);
    text.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
    while (!text.empty() && (text.back() == '\n' || text.back() == ' '))
        text.pop_back();
    return text;
}

void WorkerProcess::close_all() {
    close_one(to_worker_);
    close_one(from_worker_);
    close_one(stderr_);
    close_one(status_);
}

} // namespace tilewright::autotune
