// python/native/face/measured_calls.cpp: the clock round a call, and which calls a thread is in.
#include "python/native/face/measured_calls.h"

#include <algorithm>
#include <chrono>
#include <vector>

namespace tilewright::face {
namespace {

struct Under {
    PyObject* function; ///< the call holds it
    long long began_ns;
};

std::vector<Under>& calls_here() {
    static thread_local std::vector<Under> calls;
    return calls;
}

/// As time.perf_counter_ns().
long long now_ns() {
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    return std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
}

} // namespace

long long& missed_here_ns() {
    static thread_local long long ns = 0;
    return ns;
}

PyObject* measured_call(PyObject* self, PyObject* run, const RawCall& call, std::size_t bits, MeasuredCalls& measured,
                        bool& is_due) {
    std::vector<Under>& here = calls_here();
    const long long missed_ns = missed_here_ns(), began_ns = now_ns();
    here.push_back({self, began_ns});
    PyObject* const result = call_likewise(run, call, bits);
    here.pop_back();
    measured.ns += now_ns() - began_ns - (missed_here_ns() - missed_ns);
    ++measured.calls;
    is_due = measured.ns > measured.next_look_ns ||
             (measured.looked_every > 0 && measured.calls % measured.looked_every == 0);
    return result;
}

bool is_in_measured_call(PyObject* self) {
    return std::ranges::any_of(calls_here(), [&](const Under& one) { return one.function == self; });
}

Ref measured_calls_here() {
    Ref list(PyList_New(0));
    for (const Under& one : calls_here()) {
        const Ref item(list ? Py_BuildValue("(OL)", one.function, one.began_ns) : nullptr);
        if (!item || PyList_Append(list.get(), item.get()) != 0) return Ref();
    }
    return list;
}

} // namespace tilewright::face
