// python/native/face/measured_calls.h: calls that Python makes while it is not known who serves a function best, with
// the time that they take.
#pragma once

#include "python/native/face/vector_calls.h"

namespace tilewright::face {

/// Of one function, since it was made.
struct MeasuredCalls {
    long long calls = 0;
    long long ns = 0;           ///< without what calls of hot functions inside took outside of compiled code
    long long next_look_ns = 0; ///< `ns` from which on somebody looks at them
    long long looked_every = 0; ///< so many calls
};

/// `run` makes the call, which is counted: one of `self`. Null with what it raised. `is_due`: whether to look at them.
PyObject* measured_call(PyObject* self, PyObject* run, const RawCall& call, std::size_t bits, MeasuredCalls& measured,
                        bool& is_due);

/// Whether this thread is in a measured call of it.
bool is_in_measured_call(PyObject* self);

/// A list of those that this thread is in, the outermost first: (function, time.perf_counter_ns() of its beginning).
Ref measured_calls_here();

/// What calls of hot functions took in this thread outside of compiled code, in ns: no time of their callers.
long long& missed_here_ns();

} // namespace tilewright::face
