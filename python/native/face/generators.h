// python/native/face/generators.h: numpy.random.Generator: its state, as NumPy's own code has it, and its lock.
#pragma once

#include <cstdint>

#include "dsl/runtime/twins/draws.h"
#include "python/native/face/numpy_api.h"

namespace tilewright::face {

/// What the capsule of a bit generator has (numpy/random/bitgen.h): its state, and functions.
struct BitGenerator {
    void* state;
    void* functions[4];
};
/// The state of a PCG64 (numpy/random/src/pcg64/pcg64.h).
struct NumpyPcg64 {
    runtime::Pcg64::Words* words; ///< the state and the increment
    int has_half;
    std::uint32_t half;

    runtime::Pcg64 state() const { return {words[0], words[1], has_half != 0, half}; }
    /// All but the increment.
    void set(const runtime::Pcg64& to) {
        words[0] = to.state;
        has_half = to.has_half;
        half = to.half;
    }
};

/// The bit generator of a Generator; nothing, without an error, of other objects.
Ref bits_of(PyObject* generator);
/// Of a bit generator of NumPy's; null, without an error, of other objects.
BitGenerator* bit_generator_of(PyObject* bits);
/// The state of a bit generator that is a PCG64; null, without an error, of others.
NumpyPcg64* pcg64_of(PyObject* bits);
/// numpy.random.Generator and PCG64; null where NumPy has none.
PyObject* generator_type();
PyObject* pcg64_type();

/// The lock of a bit generator, from take() until this ends. Draws of stages in the same thread may take it again,
/// where it is reentrant.
class StreamLock {
  public:
    StreamLock() = default;
    ~StreamLock();
    StreamLock(StreamLock&& other) noexcept : lock_(std::move(other.lock_)) {}
    StreamLock(const StreamLock&) = delete;
    StreamLock& operator=(const StreamLock&) = delete;

    enum class Wait { no, yes };
    enum class Kind { any, reentrant };
    /// Whether it is ours now, or need not be, as it is not of the kind. False where another thread has it and we do
    /// not wait, or with a Python error.
    bool take(PyObject* bits, Wait wait, Kind kind = Kind::any);

  private:
    Ref lock_;
};

/// Four or six uint64: the halves of the state and of the increment, the high ones first; then whether a half of a word
/// is left, and which.
Ref pcg64_array(const NumpyPcg64& state, int count);

/// pcg64_words(generator): the first four. pcg64_state(generator): all six. ValueError for generators on others.
PyObject* pcg64_words(PyObject*, PyObject* generator);
PyObject* pcg64_state(PyObject*, PyObject* generator);
/// move_pcg64_on(generator, draws): as after so many doubles.
PyObject* move_pcg64_on(PyObject*, PyObject* args);
/// set_pcg64_state(generator, high, low, has_half, half): 0; the increment stays.
PyObject* set_pcg64_state(PyObject*, PyObject* const* args, Py_ssize_t count);

/// lend(generators): what stages of this thread draw from, by the names of arguments, until take_back(). lent(name):
/// the generator under that name of the innermost call.
PyObject* lend(PyObject*, PyObject* generators);
PyObject* take_back(PyObject*, PyObject*);
PyObject* lent(PyObject*, PyObject* name);

} // namespace tilewright::face
