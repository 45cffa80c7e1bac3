// python/native/worker/faults.h: failures that tests inject. Off unless the environment variable
// TILEWRIGHT_WORKER_FAULTS is set.
#pragma once

#include <map>
#include <string>

namespace tilewright::native {

/// TILEWRIGHT_WORKER_FAULTS is a JSON object: the first digits of a schedule's digest -> the name of a fault.
/// While it builds: abort_build, hang_build, memory_build. While it runs: crash, hang, memory, write_behind,
/// write_before, wrong_element, wrong_tail, wrong_special (on data sets other than the recorded call),
/// crash_when_timed.
class Faults {
  public:
    Faults();
    /// The fault of a schedule, "" for none. The longest prefix decides.
    std::string of(const std::string& digest) const;

  private:
    std::map<std::string, std::string> by_prefix_;
};

/// Does what `fault` says about building; returns for all others.
void act_while_building(const std::string& fault);

/// The first result, or the first argument that is written.
struct FaultyResult {
    char* data;
    std::size_t bytes;
    std::size_t item_bytes;
};
/// Does what `fault` says about running, after a real run. False: pretend that memory ran out.
bool act_while_running(const std::string& fault, const FaultyResult& result, bool recorded, bool timed);

} // namespace tilewright::native
