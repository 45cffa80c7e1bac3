// python/native/face/older_generators.cpp: the state of a RandomState, in its own memory.
#include "python/native/face/older_generators.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>

#include "python/native/face/generators.h"
#include "python/native/face/twin_calls.h"

namespace tilewright::face {
namespace {

constexpr int kWords = 624, kBehind = 397;

/// numpy/random/src/mt19937/mt19937.h.
struct NumpyMt19937 {
    std::uint32_t key[kWords];
    int place;
};
/// numpy/random/src/legacy/legacy-distributions.h.
struct LeftNumber {
    const BitGenerator* bits;
    int is_there;
    double number;
};

struct Found {
    NumpyMt19937* words = nullptr;
    LeftNumber* left = nullptr;
    explicit operator bool() const { return left != nullptr; }
};

/// A RandomState has a copy of its BitGenerator, and behind that a LeftNumber which leads there. Nothing, perhaps with
/// a Python error, of other objects.
Found find(PyObject* generator) {
    static PyObject *kind = nullptr, *words_kind = nullptr;
    kept_or_nothing(kind, "numpy.random", "RandomState");
    kept_or_nothing(words_kind, "numpy.random", "MT19937");
    if (!kind || reinterpret_cast<PyObject*>(Py_TYPE(generator)) != kind) return {};
    const Ref bits(PyObject_GetAttrString(generator, "_bit_generator"));
    if (!bits || reinterpret_cast<PyObject*>(Py_TYPE(bits.get())) != words_kind) return {};
    const BitGenerator* const original = bit_generator_of(bits.get());
    if (!original) return {};
    static const Py_ssize_t size = [] {
        const Ref bytes(PyObject_GetAttrString(kind, "__basicsize__"));
        return bytes ? PyLong_AsSsize_t(bytes.get()) : 0;
    }();
    auto* const memory = reinterpret_cast<std::byte*>(generator);
    constexpr auto bits_size = static_cast<Py_ssize_t>(sizeof(BitGenerator));
    constexpr auto left_size = static_cast<Py_ssize_t>(sizeof(LeftNumber));
    constexpr Py_ssize_t step = sizeof(void*);
    for (Py_ssize_t at = sizeof(PyObject); at + bits_size + left_size <= size; at += step) {
        const std::byte* const copy = memory + at;
        if (std::memcmp(copy, original, sizeof(BitGenerator)) != 0) continue;
        for (Py_ssize_t behind = at + bits_size; behind + left_size <= size; behind += step)
            if (std::memcmp(memory + behind, &copy, sizeof copy) == 0)
                return {static_cast<NumpyMt19937*>(original->state), reinterpret_cast<LeftNumber*>(memory + behind)};
    }
    return {};
}

Found found_or_error(PyObject* generator) {
    const Found found = find(generator);
    if (!found && !PyErr_Occurred())
        PyErr_Format(PyExc_ValueError, "%R is not a numpy.random.RandomState on MT19937.", generator);
    return found;
}

template <class T> Ref copied_array(const T* from, npy_intp count, int type) {
    Ref made(PyArray_New(&PyArray_Type, 1, &count, type, nullptr, nullptr, 0, 0, nullptr));
    if (made) std::copy_n(from, count, data_of<T>(numpy_array(made.get())));
    return made;
}

template <class T> const T* vector_of(PyObject* object, int type, npy_intp count) {
    PyArrayObject* const array = plain(object);
    const bool fits = array && PyArray_TYPE(array) == type && PyArray_SIZE(array) == count;
    return fits ? data_of<const T>(array) : nullptr;
}

/// Each word of those that three before it make, those of this round or of the one before.
void make_words(std::uint32_t* key, std::int64_t from) {
    for (std::int64_t i = from; i < kWords; ++i) {
        const std::uint32_t y = (key[i] & 0x80000000) | (key[(i + 1) % kWords] & 0x7fffffff);
        key[i] = key[(i + kBehind) % kWords] ^ (y >> 1) ^ ((y & 1) * 0x9908b0df);
    }
}

/// Whether one that we draw a normal number from says the same of itself.
bool finds_them() {
    const Ref make = imported_or_nothing("numpy.random", "RandomState");
    const Ref generator(make ? PyObject_CallFunction(make.get(), "i", 1234) : nullptr);
    const Ref drawn(generator ? PyObject_CallMethod(generator.get(), "standard_normal", nullptr) : nullptr);
    const Found found = drawn ? find(generator.get()) : Found();
    const Ref state(found ? PyObject_CallMethod(generator.get(), "get_state", nullptr) : nullptr);
    PyObject* key = nullptr;
    const char* name = nullptr;
    int place = 0, is_there = 0;
    double number = 0;
    if (!state || !PyTuple_Check(state.get()) ||
        !PyArg_ParseTuple(state.get(), "sOiid", &name, &key, &place, &is_there, &number))
        return PyErr_Clear(), false;
    const auto* const words = vector_of<std::uint32_t>(key, NPY_UINT32, kWords);
    return words && std::equal(words, words + kWords, found.words->key) && place == found.words->place &&
           is_there == 1 && found.left->is_there == 1 && number == found.left->number;
}

} // namespace

PyObject* reads_mt19937(PyObject*, PyObject*) {
    static int known = -1; // without a lock, which would wait for the GIL
    if (known < 0) known = finds_them();
    return PyBool_FromLong(known);
}

PyObject* mt19937_state(PyObject*, PyObject* generator) {
    const Found found = found_or_error(generator);
    if (!found) return nullptr;
    const std::int64_t places[] = {found.words->place, kWords, found.left->is_there != 0, 2};
    const Ref key = copied_array(found.words->key, kWords, NPY_UINT32), all = copied_array(places, 4, NPY_INT64);
    const Ref left = copied_array(&found.left->number, 1, NPY_DOUBLE);
    return key && all && left ? PyTuple_Pack(3, key.get(), all.get(), left.get()) : nullptr;
}

PyObject* set_mt19937_state(PyObject*, PyObject* const* args, Py_ssize_t count) {
    if (count != 4) return PyErr_Format(PyExc_TypeError, "set_mt19937_state: four arguments, not %zd.", count);
    const auto* const key = vector_of<std::uint32_t>(args[1], NPY_UINT32, kWords);
    const auto* const places = vector_of<std::int64_t>(args[2], NPY_INT64, 4);
    const auto* const left = vector_of<double>(args[3], NPY_DOUBLE, 1);
    if (!key || !places || !left || places[0] < 0 || places[0] > kWords || places[1] < 0 || places[1] > kWords)
        return PyErr_Format(PyExc_ValueError, "set_mt19937_state: no state of a MT19937.");
    const Found found = found_or_error(args[0]);
    if (!found) return nullptr;
    std::copy_n(key, kWords, found.words->key);
    make_words(found.words->key, places[1]);
    found.words->place = static_cast<int>(places[0]);
    found.left->is_there = places[2] != 0;
    found.left->number = *left;
    return PyLong_FromLong(0);
}

} // namespace tilewright::face
