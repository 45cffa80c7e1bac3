// python/native/unwinding.cpp: a thread that Python ends while it is in our code stops there, and is not unwound.
//
// While CPython 3.11 to 3.13 finalizes, a thread that asks for the GIL (a daemon thread behind a kernel, behind a
// callback, or somewhere in Python code that we called) is ended by pthread_exit(), which unwinds its stack. Our frames
// would give up references without the GIL on the way, and a destructor ends the process: "terminate called", SIGABRT.
// CPython 3.14 lets such a thread hang instead. So does this: the linker puts it in front of the function that each
// C++ frame with something to clean up is unwound by (--wrap=__gxx_personality_v0), so that no place where the GIL is
// taken has to know of it.
#include <unistd.h>
#include <unwind.h>

extern "C" {

// NOLINTBEGIN(bugprone-reserved-identifier): names that the linker gives.
_Unwind_Reason_Code __real___gxx_personality_v0(int version, _Unwind_Action actions, _Unwind_Exception_Class kind,
                                                _Unwind_Exception* exception, _Unwind_Context* context);

_Unwind_Reason_Code __wrap___gxx_personality_v0(int version, _Unwind_Action actions, _Unwind_Exception_Class kind,
                                                _Unwind_Exception* exception, _Unwind_Context* context) {
    // Nobody else ends a Python thread from within: exceptions unwind in another way.
    while ((static_cast<int>(actions) & _UA_FORCE_UNWIND) != 0)
        pause();
    return __real___gxx_personality_v0(version, actions, kind, exception, context);
}
// NOLINTEND(bugprone-reserved-identifier)
}
