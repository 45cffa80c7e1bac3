// autotune/measure/worker_process.h: one tilewright-worker: spawned, asked line by line with time limits, killed.
#pragma once

#include <atomic>
#include <string>
#include <sys/types.h>
#include <vector>

#include "autotune/measure/messages.h"

namespace tilewright::autotune {

struct WorkerAnswer {
    enum class Kind {
        line,      ///< it answered
        died,      ///< `text` says how, with the end of what it wrote to stderr
        timed_out, ///< it was killed after the limit
        cancelled  ///< it was killed because the search was interrupted
    };
    Kind kind = Kind::line;
    std::string text; ///< the line, or what happened
    int signal = 0;   ///< that ended it, 0 where it exited
    std::string id;   ///< the schedule that ran then
};

/// Starts on first use; a dead one is started again by the next start(). Not for several threads at once.
class WorkerProcess {
  public:
    /// `device`: the ordinal that the worker measures on; -1: it measures on the CPU, or only builds.
    WorkerProcess(std::string program, std::string job_file, int device = -1);
    ~WorkerProcess();
    WorkerProcess(const WorkerProcess&) = delete;
    WorkerProcess& operator=(const WorkerProcess&) = delete;

    bool running() const { return pid_ > 0; }
    /// Requires !running(). Throws DeviceError when the program cannot be started.
    void start();
    /// Sends a line and waits for one. Requires running().
    WorkerAnswer ask(const std::string& request, double limit_s, const std::atomic<bool>* cancel);
    pid_t pid() const { return pid_; }

  private:
    WorkerAnswer ended(WorkerAnswer::Kind kind);
    std::string end_of_stderr() const;
    void close_all();

    std::string program_;
    std::string job_file_;
    int device_;
    pid_t pid_ = -1;
    int to_worker_ = -1;
    int from_worker_ = -1;
    int stderr_ = -1;
    int status_ = -1;
    std::string unread_;
};

/// "SIGSEGV (wild memory access)" and so on.
std::string signal_words(int signal);

} // namespace tilewright::autotune
