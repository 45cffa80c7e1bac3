// python/native/face/draw_calls.cpp: which draws are made here, and the state of the generator that they are made from.
#include "python/native/face/draw_calls.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "python/native/face/generators.h"

namespace tilewright::face {

using runtime::Pcg64;

namespace {

constexpr npy_intp kLeast = 64;        ///< draws that are worth the way to the state
constexpr npy_intp kLong = 1 << 14;    ///< during which other threads may run Python
constexpr npy_intp kMost = 0xfffffffe; ///< elements that halves of words tell apart

/// The state of the generator whose bound method is called, under its lock. Nothing for other generators, and where
/// another thread draws.
class Drawing {
  public:
    explicit Drawing(PyObject* method) {
        static PyObject* const self = PyUnicode_InternFromString("__self__");
        const Ref generator(PyObject_GetAttr(method, self));
        const Ref bits = generator ? bits_of(generator.get()) : Ref();
        NumpyPcg64* const found = bits ? pcg64_of(bits.get()) : nullptr;
        const bool is_ours = found && lock_.take(bits.get(), StreamLock::Wait::no);
        PyErr_Clear();
        if (!is_ours) return;
        theirs_ = found;
        from = theirs_->state();
    }
    ~Drawing() {
        if (theirs_) theirs_->set(from);
    }
    Drawing(const Drawing&) = delete;
    Drawing& operator=(const Drawing&) = delete;
    explicit operator bool() const { return theirs_ != nullptr; }

    Pcg64 from;

  private:
    StreamLock lock_;
    NumpyPcg64* theirs_ = nullptr;
};

template <class F> void maybe_without_gil(npy_intp count, const F& draw) {
    if (count < kLong)
        draw();
    else
        without_gil(draw);
}

std::optional<std::int64_t> integer(PyObject* object) {
    if (!object || !PyLong_CheckExact(object)) return std::nullopt;
    int overflow = 0;
    const std::int64_t value = PyLong_AsLongLongAndOverflow(object, &overflow);
    return overflow ? std::nullopt : std::optional(value);
}
/// Of a Python number.
std::optional<double> number(PyObject* object) {
    if (!object || !(PyFloat_CheckExact(object) || PyLong_CheckExact(object))) return std::nullopt;
    const double value = PyFloat_AsDouble(object);
    if (PyErr_Occurred()) return PyErr_Clear(), std::nullopt;
    return value;
}

/// An integer, or a tuple of them.
std::optional<std::vector<npy_intp>> shape_of(PyObject* size) {
    if (!size) return std::nullopt;
    std::vector<npy_intp> shape;
    const bool is_tuple = PyTuple_CheckExact(size);
    for (Py_ssize_t k = 0; k < (is_tuple ? PyTuple_Size(size) : 1); ++k) {
        const auto extent = integer(is_tuple ? PyTuple_GetItem(size, k) : size);
        if (!extent || *extent < 0) return std::nullopt;
        shape.push_back(*extent);
    }
    const npy_intp elements = PyArray_OverflowMultiplyList(shape.data(), static_cast<int>(shape.size()));
    return elements < kLeast || shape.size() > 8 ? std::nullopt : std::optional(std::move(shape));
}

template <class T, class F>
Ref drawn(PyObject* method, const std::optional<std::vector<npy_intp>>& shape, DType dtype, const F& draw) {
    if (!shape) return {};
    Drawing drawing(method);
    Ref result = drawing ? new_twin_result(dtype, static_cast<int>(shape->size()), shape->data()) : Ref();
    if (!result) return {};
    const npy_intp count = PyArray_SIZE(numpy_array(result.get()));
    auto* const to = data_of<T>(numpy_array(result.get()));
    maybe_without_gil(count, [&] { draw(drawing.from, to, count); });
    return result;
}

Ref floats(TwinCall given, double low, double range, PyObject* size) {
    return drawn<double>(given.callee(), shape_of(size), DType::float64, [&](Pcg64& from, double* to, npy_intp count) {
        runtime::draw_floats(from, low, range, to, count);
    });
}

/// A generator whose next word is known.
class Asked {
  public:
    Asked() {
        bits_ = Ref(pcg64_type() ? PyObject_CallFunction(pcg64_type(), "i", 1) : nullptr);
        const Ref generator(bits_ ? PyObject_CallFunctionObjArgs(generator_type(), bits_.get(), nullptr) : nullptr);
        draw_ = Ref(generator ? PyObject_GetAttrString(generator.get(), "standard_normal") : nullptr);
        state_ = bits_ ? pcg64_of(bits_.get()) : nullptr;
    }

    /// The normal number that begins with a place of a layer. `is_at_once`: whether it takes one word.
    std::optional<double> normal(std::uint64_t layer, std::uint64_t place, bool& is_at_once) {
        if (!draw_ || !state_) return std::nullopt;
        const Pcg64::Words wanted = layer | place
                                                << 9; // of its upper half all bits are zeros: the word is the lower one
        state_->words[0] = (wanted - state_->words[1]) * Pcg64::kBack;
        const Ref drawn(PyObject_CallNoArgs(draw_.get()));
        if (!drawn || !PyFloat_CheckExact(drawn.get())) return std::nullopt;
        is_at_once = state_->words[0] == wanted;
        return PyFloat_AsDouble(drawn.get());
    }

  private:
    Ref bits_, draw_;
    NumpyPcg64* state_ = nullptr;
};

/// NumPy's layers, as its draws show them.
bool ask_for_layers(runtime::NormalLayers& layers) {
    constexpr std::uint64_t easy = std::uint64_t{1} << 40; // a place near the middle: a power of two shows the unit
    Asked asked;
    bool is_at_once = false;
    for (std::size_t k = 0; k < layers.unit.size(); ++k) {
        const auto x = asked.normal(k, easy, is_at_once);
        if (!x || *x <= 0) return false;
        layers.unit[k] = *x / static_cast<double>(easy);
        const double edge = layers.unit[k] * 0x1p52;
        layers.height[k] = k == 0 ? 1 : std::exp(-0.5 * edge * edge);
    }
    layers.inside[1] = 0;
    for (std::size_t k = 0; k < layers.unit.size(); ++k) {
        if (k == 1) continue;
        const double inner = layers.unit[k == 0 ? layers.unit.size() - 1 : k - 1];
        std::uint64_t& inside = layers.inside[k];
        inside = static_cast<std::uint64_t>(inner / layers.unit[k] * 0x1p52) - 2;
        const std::uint64_t most = inside + 4;
        // What is rounded may be one off.
        for (is_at_once = true; inside <= most; ++inside) {
            if (!asked.normal(k, inside, is_at_once)) return false;
            if (!is_at_once) break;
        }
        if (is_at_once || inside == most - 4) return false;
    }
    return true;
}

const runtime::NormalLayers* normal_layers() {
    static const runtime::NormalLayers* known = nullptr;
    if (!known) {
        auto made = std::make_unique<runtime::NormalLayers>();
        if (!ask_for_layers(*made)) return PyErr_Clear(), nullptr;
        known = made.release();
    }
    return known;
}

Ref normals(TwinCall given, double middle, double scale, PyObject* size) {
    const runtime::NormalLayers* const layers = normal_layers();
    if (!layers) return {};
    return drawn<double>(given.callee(), shape_of(size), DType::float64, [&](Pcg64& from, double* to, npy_intp count) {
        runtime::draw_normals(from, *layers, middle, scale, to, count);
    });
}

Ref integers(PyObject* method, std::int64_t low, std::int64_t high, PyObject* size) {
    // As many as NumPy takes halves of words for.
    const std::uint64_t most = static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low);
    if (high < low || most >= std::numeric_limits<std::uint32_t>::max()) return {};
    return drawn<std::int64_t>(method, shape_of(size), DType::int64,
                               [&](Pcg64& from, std::int64_t* to, npy_intp count) {
                                   runtime::draw_integers(from, low, static_cast<std::uint32_t>(most), to, count);
                               });
}

bool shuffled(PyObject* method, PyArrayObject* x) {
    const npy_intp count = PyArray_SIZE(x);
    if (count < kLeast || count > kMost) return false;
    Drawing drawing(method);
    bool is_done = false;
    if (drawing)
        maybe_without_gil(count, [&] {
            const auto bytes = static_cast<std::size_t>(PyArray_ITEMSIZE(x));
            is_done = runtime::shuffle(drawing.from, PyArray_DATA(x), count, bytes);
        });
    return is_done;
}

Ref random_of(TwinCall given) {
    PyObject* const size = given.take("size");
    return given.is_all() ? floats(given, 0, 1, size) : Ref();
}

Ref uniform_of(TwinCall given) {
    PyObject *const first = given.take("low"), *const last = given.take("high"), *const size = given.take("size");
    const auto low = first ? number(first) : 0.0, high = last ? number(last) : 1.0;
    if (!given.is_all() || !low || !high || !std::isfinite(*high - *low)) return {};
    // What becomes of other ranges is NumPy's to say: it refuses -0.0 as well.
    return std::signbit(*high - *low) ? Ref() : floats(given, *low, *high - *low, size);
}

Ref standard_normal_of(TwinCall given) {
    PyObject* const size = given.take("size");
    return given.is_all() ? normals(given, -0.0, 1, size) : Ref(); // which changes no zero
}

Ref normal_of(TwinCall given) {
    PyObject *const first = given.take("loc"), *const second = given.take("scale"), *const size = given.take("size");
    const auto middle = first ? number(first) : 0.0, scale = second ? number(second) : 1.0;
    if (!given.is_all() || !middle || !scale || !(*scale >= 0) || std::signbit(*scale)) return {};
    return normals(given, *middle, *scale, size);
}

Ref integers_of(TwinCall given) {
    PyObject *const first = given.take("low"), *const last = given.take("high"), *const size = given.take("size");
    const bool has_dtype = given.take("dtype") != nullptr;
    PyObject* const endpoint = given.take("endpoint");
    const auto low = is_none(last) ? 0 : integer(first), high = integer(is_none(last) ? first : last);
    if (!given.is_all() || has_dtype || (endpoint && !PyBool_Check(endpoint)) || !low || !high) return {};
    if (endpoint == Py_True) return integers(given.callee(), *low, *high, size);
    return *high > *low ? integers(given.callee(), *low, *high - 1, size) : Ref();
}

Ref shuffle_of(TwinCall given) {
    PyArrayObject* const x = plain(given.take("x"));
    if (!given.is_all() || !x || PyArray_NDIM(x) != 1 || !PyArray_ISWRITEABLE(x) || !PyArray_ISNUMBER(x)) return {};
    return shuffled(given.callee(), x) ? Ref::borrowed(Py_None) : Ref();
}

Ref permutation_of(TwinCall given) {
    PyObject* const x = given.take("x");
    if (!given.is_all()) return {};
    Ref made;
    if (const auto count = integer(x); count && *count >= kLeast && *count <= kMost) {
        made = new_twin_result(DType::int64, 1, &*count);
        if (!made) return {};
        auto* const to = data_of<std::int64_t>(numpy_array(made.get()));
        for (std::int64_t i = 0; i < *count; ++i)
            to[i] = i;
    } else {
        PyArrayObject* const array = plain(x);
        if (!array || PyArray_NDIM(array) != 1 || !PyArray_ISNUMBER(array)) return {};
        made = Ref(PyArray_NewCopy(array, NPY_CORDER));
        if (!made) return PyErr_Clear(), Ref();
    }
    return shuffled(given.callee(), numpy_array(made.get())) ? std::move(made) : Ref();
}

/// With replacement, and each as likely as the others.
Ref choice_of(TwinCall given) {
    PyObject *const a = given.take("a"), *const size = given.take("size"), *const replace = given.take("replace");
    if (!given.is_all() || (replace && replace != Py_True)) return {};
    if (const auto count = integer(a)) return *count > 0 ? integers(given.callee(), 0, *count - 1, size) : Ref();
    PyArrayObject* const array = plain(a);
    if (!array || PyArray_NDIM(array) != 1 || PyArray_SIZE(array) == 0 || !PyArray_ISNUMBER(array)) return {};
    const Ref places = integers(given.callee(), 0, PyArray_SIZE(array) - 1, size);
    return places ? Ref(PyArray_TakeFrom(array, places.get(), 0, nullptr, NPY_RAISE)) : Ref();
}

/// Whether this NumPy draws what we do: `drawn` twice, of two generators of one seed, and their states.
bool agrees(const char* name, PyObject* (*arguments)(), Ref (*compute)(TwinCall)) {
    Ref results[2], states[2], given[2];
    for (int k = 0; k < 2; ++k) {
        PyObject *const make_bits = pcg64_type(), *const make = generator_type();
        const Ref bits(make_bits ? PyObject_CallFunction(make_bits, "i", 1234) : nullptr);
        const Ref generator(make && bits ? PyObject_CallFunctionObjArgs(make, bits.get(), nullptr) : nullptr);
        const Ref method(generator ? PyObject_GetAttrString(generator.get(), name) : nullptr);
        for (int time = 0; method && time < 2; ++time) { // the second one begins with half a word
            given[k] = Ref(arguments());
            if (!given[k]) break;
            results[k] = k == 0 ? Ref(PyObject_Call(method.get(), given[k].get(), nullptr))
                                : compute(TwinCall(method.get(), given[k].get(), nullptr));
        }
        if (results[k]) states[k] = Ref(PyObject_GetAttrString(bits.get(), "state"));
        if (!states[k]) return PyErr_Clear(), false;
        if (results[k].get() == Py_None) results[k] = Ref::borrowed(PyTuple_GetItem(given[k].get(), 0));
    }
    const int are_alike = PyObject_RichCompareBool(states[0].get(), states[1].get(), Py_EQ);
    if (are_alike != 1 || !PyArray_Check(results[0].get()) || !PyArray_Check(results[1].get()))
        return PyErr_Clear(), false;
    auto *const a = numpy_array(results[0].get()), *const b = numpy_array(results[1].get());
    return PyArray_TYPE(a) == PyArray_TYPE(b) && PyArray_SAMESHAPE(a, b) &&
           std::memcmp(PyArray_DATA(a), PyArray_DATA(b), static_cast<std::size_t>(PyArray_NBYTES(a))) == 0;
}

PyObject* some_numbers() {
    npy_intp count = 99;
    const Ref array(PyArray_New(&PyArray_Type, 1, &count, NPY_INT64, nullptr, nullptr, 0, 0, nullptr));
    for (npy_intp i = 0; array && i < count; ++i)
        data_of<std::int64_t>(numpy_array(array.get()))[i] = i;
    return array ? PyTuple_Pack(1, array.get()) : nullptr;
}
PyObject* some_fractions() {
    return Py_BuildValue("(i)", 999); // normal numbers of each layer
}
PyObject* some_range() {
    return Py_BuildValue("(ddi)", -1.25, 7.1, 99);
}
PyObject* some_integers() {
    return Py_BuildValue("(LLi)", -5LL, 3'000'000'000LL, 99); // of three words one does
}
PyObject* some_choices() {
    return Py_BuildValue("(ii)", 7, 99);
}

} // namespace

#define DRAW(function, compute, name, arguments)                                                                       \
    Ref function(TwinCall given) {                                                                                     \
        static int known = -1; /* threads may find it out at once: a lock here would wait for the GIL */               \
        if (known < 0) known = agrees(name, arguments, compute);                                                       \
        return known ? compute(given) : Ref();                                                                         \
    }
DRAW(draw_random, random_of, "random", some_fractions)
DRAW(draw_uniform, uniform_of, "uniform", some_range)
DRAW(draw_standard_normal, standard_normal_of, "standard_normal", some_fractions)
DRAW(draw_normal, normal_of, "normal", some_range)
DRAW(draw_integers, integers_of, "integers", some_integers)
DRAW(draw_shuffled, shuffle_of, "shuffle", some_numbers)
DRAW(draw_permutation, permutation_of, "permutation", some_numbers)
DRAW(draw_choice, choice_of, "choice", some_choices)
#undef DRAW

} // namespace tilewright::face
