// python/native/face/generators.cpp: the states and locks of NumPy's random generators.
#include "python/native/face/generators.h"

#include <utility>

#include "python/native/face/twin_calls.h"

namespace tilewright::face {
namespace {

/// What every draw looks at, found once.
struct Names {
    PyObject* generator = imported_or_nothing("numpy.random", "Generator").release();
    PyObject* pcg64 = imported_or_nothing("numpy.random", "PCG64").release();
    PyObject* reentrant = find_reentrant();
    PyObject* bits = PyUnicode_InternFromString("bit_generator");
    PyObject* capsule = PyUnicode_InternFromString("capsule");
    PyObject* lock = PyUnicode_InternFromString("lock");
    PyObject* acquire = PyUnicode_InternFromString("acquire");
    PyObject* release = PyUnicode_InternFromString("release");

    /// What locks of NumPy's are since 2.3; one of another class would wait for its own thread.
    static PyObject* find_reentrant() {
        const Ref make = imported_or_nothing("threading", "RLock");
        const Ref lock(make ? PyObject_CallNoArgs(make.get()) : nullptr);
        if (!lock) PyErr_Clear();
        return lock ? Py_NewRef(reinterpret_cast<PyObject*>(Py_TYPE(lock.get()))) : nullptr;
    }
};
const Names& names() {
    static const Names* found = nullptr; // without a lock, which would wait for the GIL
    if (!found) found = new Names;
    return *found;
}
bool is_just(PyObject* object, PyObject* type) {
    return object && reinterpret_cast<PyObject*>(Py_TYPE(object)) == type;
}

NumpyPcg64* state_of(PyObject* generator) {
    const Ref bits = bits_of(generator);
    NumpyPcg64* const found = bits ? pcg64_of(bits.get()) : nullptr;
    if (!found) PyErr_Format(PyExc_ValueError, "%R is not a numpy.random.Generator on PCG64.", generator);
    return found;
}

/// What the stages of this thread's calls draw from, the innermost call's on top.
struct Lent {
    PyObject* generators;
    Lent* below;
};
thread_local Lent* t_lent = nullptr;

} // namespace

PyObject* generator_type() {
    return names().generator;
}
PyObject* pcg64_type() {
    return names().pcg64;
}

Ref bits_of(PyObject* generator) {
    if (!is_just(generator, names().generator)) return {};
    Ref bits(PyObject_GetAttr(generator, names().bits));
    if (!bits) PyErr_Clear();
    return bits;
}

BitGenerator* bit_generator_of(PyObject* bits) {
    const Ref capsule(PyObject_GetAttr(bits, names().capsule));
    void* const found = capsule ? PyCapsule_GetPointer(capsule.get(), "BitGenerator") : nullptr;
    if (!found) PyErr_Clear();
    return static_cast<BitGenerator*>(found);
}

NumpyPcg64* pcg64_of(PyObject* bits) {
    const BitGenerator* const found = is_just(bits, names().pcg64) ? bit_generator_of(bits) : nullptr;
    return found ? static_cast<NumpyPcg64*>(found->state) : nullptr;
}

bool StreamLock::take(PyObject* bits, Wait wait, Kind kind) {
    Ref lock(PyObject_GetAttr(bits, names().lock));
    if (!lock) return false;
    if (kind == Kind::reentrant && !is_just(lock.get(), names().reentrant)) return true;
    PyObject* const waits = wait == Wait::yes ? Py_True : Py_False;
    const Ref is_taken(PyObject_CallMethodObjArgs(lock.get(), names().acquire, waits, nullptr));
    if (is_taken.get() != Py_True) return false;
    lock_ = std::move(lock);
    return true;
}

StreamLock::~StreamLock() {
    if (!lock_) return;
    const KeptError kept;
    const Ref released(PyObject_CallMethodObjArgs(lock_.get(), names().release, nullptr));
    if (!released) PyErr_Clear();
}

Ref pcg64_array(const NumpyPcg64& state, int count) {
    npy_intp size = count;
    Ref made(PyArray_New(&PyArray_Type, 1, &size, NPY_UINT64, nullptr, nullptr, 0, 0, nullptr));
    if (!made) return {};
    auto* const to = data_of<std::uint64_t>(numpy_array(made.get()));
    for (int k = 0; k < 2; ++k) {
        to[2 * k] = static_cast<std::uint64_t>(state.words[k] >> 64);
        to[2 * k + 1] = static_cast<std::uint64_t>(state.words[k]);
    }
    if (count > 4) {
        to[4] = state.has_half != 0;
        to[5] = state.half;
    }
    return made;
}

PyObject* pcg64_words(PyObject*, PyObject* generator) {
    const NumpyPcg64* const state = state_of(generator);
    return state ? pcg64_array(*state, 4).release() : nullptr;
}

PyObject* pcg64_state(PyObject*, PyObject* generator) {
    const NumpyPcg64* const state = state_of(generator);
    return state ? pcg64_array(*state, 6).release() : nullptr;
}

PyObject* move_pcg64_on(PyObject*, PyObject* args) {
    PyObject* generator = nullptr;
    long long draws = 0;
    if (!PyArg_ParseTuple(args, "OL:move_pcg64_on", &generator, &draws)) return nullptr;
    if (draws < 0) return PyErr_Format(PyExc_ValueError, "move_pcg64_on: %lld draws.", draws);
    NumpyPcg64* const state = state_of(generator);
    if (!state) return nullptr;
    runtime::Pcg64 now = state->state();
    now.skip(static_cast<std::uint64_t>(draws));
    state->set(now);
    Py_RETURN_NONE;
}

PyObject* set_pcg64_state(PyObject*, PyObject* const* args, Py_ssize_t count) {
    if (count != 5) return PyErr_Format(PyExc_TypeError, "set_pcg64_state: five arguments, not %zd.", count);
    NumpyPcg64* const state = state_of(args[0]);
    if (!state) return nullptr;
    std::uint64_t words[4];
    for (int k = 0; k < 4; ++k) {
        const Ref number(PyNumber_Index(args[k + 1])); // NumPy's as well
        words[k] = number ? PyLong_AsUnsignedLongLong(number.get()) : 0;
        if (PyErr_Occurred()) return nullptr;
    }
    state->set(
        {runtime::Pcg64::Words{words[0]} << 64 | words[1], 0, words[2] != 0, static_cast<std::uint32_t>(words[3])});
    return PyLong_FromLong(0);
}

PyObject* lend(PyObject*, PyObject* generators) {
    t_lent = new Lent{Py_NewRef(generators), t_lent};
    Py_RETURN_NONE;
}

PyObject* take_back(PyObject*, PyObject*) {
    if (!t_lent) return PyErr_Format(PyExc_RuntimeError, "take_back: nothing is lent.");
    const Ref generators(t_lent->generators);
    const Lent* const gone = std::exchange(t_lent, t_lent->below);
    delete gone;
    Py_RETURN_NONE;
}

PyObject* lent(PyObject*, PyObject* name) {
    if (!t_lent) return PyErr_Format(PyExc_RuntimeError, "lent: nothing is lent.");
    const Ref generators = Ref::borrowed(t_lent->generators);
    return PyObject_GetItem(generators.get(), name);
}

} // namespace tilewright::face
