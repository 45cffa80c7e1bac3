// dsl/runtime/found_once.cpp: the lock that a fork waits for.
#include "dsl/runtime/found_once.h"

#include <pthread.h>

#include <new>

namespace tilewright::runtime {
namespace {

constinit std::recursive_mutex g_finding;

// When the library is loaded: a thread may find something out before anybody forks.
[[maybe_unused]] const int g_forks_know_finding = pthread_atfork([] { g_finding.lock(); }, [] { g_finding.unlock(); },
                                                                 // Its owner is a thread of the parent, by number.
                                                                 [] { new (&g_finding) std::recursive_mutex; });

} // namespace

std::recursive_mutex& finding() {
    return g_finding;
}

} // namespace tilewright::runtime
