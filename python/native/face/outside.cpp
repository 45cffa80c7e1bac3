// python/native/face/outside.cpp: places in Python's values, and checks of what is there.
#include "python/native/face/outside.h"

#include <alloca.h>
#include <dlfcn.h>

#include <cstring>
#include <iterator>
#include <utility>

#include "python/native/face/face_types.h"

namespace tilewright::face {
namespace {

/// Of functions, methods and cells. In CPython since 3.0, but not in its stable ABI.
using Getter = PyObject* (*)(PyObject*);

struct Getters {
    std::pair<Getter, const char*> parts[3]; ///< of Kind::code, defaults and keywords
    Getter closure = nullptr;
};

Getter getter_of(const char* symbol) {
    return reinterpret_cast<Getter>(dlsym(RTLD_DEFAULT, symbol));
}

const Getters* getters() {
    static const Getters all = {{{getter_of("PyFunction_GetCode"), "__code__"},
                                 {getter_of("PyFunction_GetDefaults"), "__defaults__"},
                                 {getter_of("PyFunction_GetKwDefaults"), "__kwdefaults__"}},
                                getter_of("PyFunction_GetClosure")};
    return &all;
}

bool is_function(PyObject* object) {
    static PyObject* type = nullptr;
    return reinterpret_cast<PyObject*>(Py_TYPE(object)) == kept_or_nothing(type, "types", "FunctionType");
}

bool is_cell(PyObject* object) {
    static PyObject* type = nullptr;
    return reinterpret_cast<PyObject*>(Py_TYPE(object)) == kept_or_nothing(type, "types", "CellType");
}

Ref closure_of(PyObject* function) {
    const Getter getter = getters()->closure;
    return getter ? Ref::borrowed(getter(function)) : Ref(PyObject_GetAttrString(function, "__closure__"));
}

PyObject* contents_of(PyObject* cell) {
    if (!is_cell(cell)) return nullptr;
    return PyObject_GetAttrString(cell, "cell_contents");
}

template <class Enum> bool read_word(PyObject* word, const char* const* names, int count, Enum& found) {
    for (int k = 0; k < count; ++k)
        if (PyUnicode_Check(word) && PyUnicode_CompareWithASCIIString(word, names[k]) == 0) {
            found = static_cast<Enum>(k);
            return true;
        }
    return fail(PyExc_ValueError, "outside: %R is not known.", word);
}

constexpr const char* kSteps[] = {"object",   "parameter", "entry",    "attribute", "item",
                                  "contents", "closure",   "original", "call"};
constexpr const char* kKinds[] = {"is",      "equal",  "type", "length", "code",  "defaults", "keywords", "same",
                                  "another", "absent", "keys", "lacks",  "holds", "plain",    "call"};

/// The object's own attributes, a dict or a class's view of one; nothing where it has none.
Ref own_attributes_of(PyObject* object) {
    static PyObject* const name = PyUnicode_InternFromString("__dict__");
    Ref attributes(PyObject_GetAttr(object, name));
    if (!attributes) PyErr_Clear();
    return attributes;
}

/// Whether it has that one, or any of several. -1 where that cannot be told.
int has_own(PyObject* object, PyObject* names) {
    const Ref attributes = own_attributes_of(object);
    if (!attributes) return 0;
    if (!PyTuple_Check(names)) return PySequence_Contains(attributes.get(), names);
    for (Py_ssize_t k = 0, n = PyTuple_Size(names); k < n; ++k)
        if (const int has_it = PySequence_Contains(attributes.get(), PyTuple_GetItem(names, k)); has_it != 0)
            return has_it;
    return 0;
}

/// What the classes of an object hold, in the order in which attributes are looked for: views of their own dicts, kept
/// for as long as the order is that tuple. `object` itself holds no attribute that anybody sets.
void find_members(PyTypeObject* type, Ref& order, std::vector<Ref>& members) {
    static PyObject* const mro = PyUnicode_InternFromString("__mro__");
    static PyObject* const attributes = PyUnicode_InternFromString("__dict__");
    Ref now(PyObject_GetAttr(reinterpret_cast<PyObject*>(type), mro));
    if (now && now.get() == order.get()) return;
    members.clear();
    for (Py_ssize_t k = 0, n = now && PyTuple_Check(now.get()) ? PyTuple_Size(now.get()) : 0; k + 1 < n; ++k)
        members.emplace_back(PyObject_GetAttr(PyTuple_GetItem(now.get(), k), attributes));
    order = now;
}

/// Whether a value in a class decides what setting the attribute means: neither a slot nor a constant.
bool is_asked_when_set(PyObject* held) {
    static PyObject* slot = nullptr;
    kept_or_nothing(slot, "types", "MemberDescriptorType");
    auto* const type = reinterpret_cast<PyObject*>(Py_TYPE(held));
    return type != slot && PyObject_HasAttrString(type, "__set__");
}

/// As own_attributes.py has it.
bool are_set_plainly(PyObject* object, PyObject* names, Ref& order, std::vector<Ref>& members) {
    PyTypeObject* const type = Py_TYPE(object);
    if (PyType_GetSlot(type, Py_tp_setattro) != reinterpret_cast<void*>(PyObject_GenericSetAttr) ||
        PyType_GetSlot(type, Py_tp_getattro) != reinterpret_cast<void*>(PyObject_GenericGetAttr))
        return false;
    find_members(type, order, members);
    for (Py_ssize_t k = 0, n = PyTuple_Size(names); k < n; ++k)
        for (const Ref& one : members) {
            const int has_it = one ? PySequence_Contains(one.get(), PyTuple_GetItem(names, k)) : -1;
            if (has_it < 0) return false;
            if (!has_it) continue;
            const Ref held(PyObject_GetItem(one.get(), PyTuple_GetItem(names, k)));
            if (!held || is_asked_when_set(held.get())) return false;
            break;
        }
    return true;
}

bool has_keys(PyObject* dict, PyObject* wanted) {
    if (!PyDict_CheckExact(dict) || PyDict_Size(dict) != PyTuple_Size(wanted)) return false;
    PyObject *key = nullptr, *value = nullptr;
    for (Py_ssize_t at = 0, k = 0; PyDict_Next(dict, &at, &key, &value); ++k)
        if (!same_value(key, PyTuple_GetItem(wanted, k))) return false;
    return true;
}

/// What originals.py gives of a function: what a jitted one was made of, one that reports its calls, itself. Calls no
/// Python code.
Ref original_of(PyObject* function, PyObject* recorded) {
    static PyObject* const wrapped = PyUnicode_InternFromString("__wrapped__");
    if (is_dispatcher(function)) return Ref(PyObject_GetAttr(function, wrapped));
    const Ref attributes = is_function(function) ? own_attributes_of(function) : Ref();
    PyObject* const found = attributes ? PyDict_GetItemWithError(attributes.get(), recorded) : nullptr;
    if (!found) PyErr_Clear();
    return Ref::borrowed(found ? found : function);
}

} // namespace

bool same_value(PyObject* a, PyObject* b) {
    if (a == b) return true;
    if (Py_TYPE(a) != Py_TYPE(b)) return false;
    int equal = PyObject_RichCompareBool(a, b, Py_EQ);
    if (equal < 0) PyErr_Clear();
    if (!PyFloat_Check(a)) return equal == 1; // NumPy's float64 is a float
    double x = PyFloat_AsDouble(a), y = PyFloat_AsDouble(b);
    return std::memcmp(&x, &y, sizeof x) == 0;
}

bool Outside::read(PyObject* places, PyObject* checks, const Signature& signature) {
    Ref list(places && places != Py_None ? PySequence_List(places) : PyList_New(0));
    if (!list) return false;
    for (Py_ssize_t i = 0, n = PyList_Size(list.get()); i < n; ++i) {
        PyObject *word = nullptr, *key = nullptr;
        Place place{-1, Step::object, Ref(), 0, nullptr};
        PyObject* item = PyList_GetItem(list.get(), i);
        if (!PyTuple_Check(item) || !PyArg_ParseTuple(item, "iOO:place", &place.base, &word, &key))
            return !PyErr_Occurred() && fail(PyExc_TypeError, "places: expected (base, step, key).");
        if (!read_word(word, kSteps, static_cast<int>(std::size(kSteps)), place.step)) return false;
        const bool begins = place.step == Step::object || place.step == Step::parameter;
        if (place.base >= i || (place.base < 0) != begins)
            return fail(PyExc_ValueError, "places: %zd does not begin at one before it.", i);
        if (place.step == Step::parameter) {
            const char* name = PyUnicode_AsUTF8AndSize(key, nullptr);
            if (!name) return false;
            place.index = signature.find(std::string(name));
            if (place.index < 0) return fail(PyExc_ValueError, "places: %U is not a parameter.", key);
        } else if (place.step == Step::closure) {
            place.index = PyLong_AsSsize_t(key);
            if (place.index == -1 && PyErr_Occurred()) return false;
        }
        if (PyUnicode_CheckExact(key)) {
            PyObject* interned = Py_NewRef(key);
            PyUnicode_InternInPlace(&interned);
            place.key = Ref(interned);
        } else {
            place.key = Ref::borrowed(key);
        }
        if (place.step == Step::entry && places_[static_cast<std::size_t>(place.base)].step == Step::object) {
            PyObject* dict = places_[static_cast<std::size_t>(place.base)].key.get();
            place.dict = PyDict_Check(dict) ? dict : nullptr;
        }
        places_.push_back(std::move(place));
    }
    list = Ref(checks && checks != Py_None ? PySequence_List(checks) : PyList_New(0));
    if (!list) return false;
    for (Py_ssize_t i = 0, n = PyList_Size(list.get()); i < n; ++i) {
        PyObject *word = nullptr, *value = nullptr;
        Py_ssize_t place = 0;
        PyObject* item = PyList_GetItem(list.get(), i);
        if (!PyTuple_Check(item) || !PyArg_ParseTuple(item, "nOO:check", &place, &word, &value))
            return !PyErr_Occurred() && fail(PyExc_TypeError, "checks: expected (place, kind, value).");
        Check check{static_cast<std::size_t>(place), Kind::is, Ref::borrowed(value), 0, Ref(), {}};
        if (!read_word(word, kKinds, static_cast<int>(std::size(kKinds)), check.kind)) return false;
        if (place < 0 || check.place >= places_.size())
            return fail(PyExc_ValueError, "checks: there is no place %zd.", place);
        if (check.kind == Kind::length) {
            PyObject* type = nullptr;
            if (!PyTuple_Check(value) || !PyArg_ParseTuple(value, "On:length", &type, &check.length)) return false;
            check.value = Ref::borrowed(type);
        } else if (check.kind == Kind::keys || check.kind == Kind::lacks || check.kind == Kind::plain) {
            if (!PyTuple_Check(value)) return fail(PyExc_TypeError, "checks: %U needs a tuple.", word);
        } else if (check.kind == Kind::same || check.kind == Kind::another) {
            check.length = PyLong_AsSsize_t(value);
            if (check.length < 0 || static_cast<std::size_t>(check.length) >= places_.size())
                return fail(PyExc_ValueError, "checks: there is no place %R.", value);
        }
        if (!take_apart(check)) checks_.push_back(all_.size());
        all_.push_back(std::move(check));
    }
    getters();
    return true;
}

bool Outside::take_apart(const Check& check) {
    const Place& place = places_[check.place];
    const bool is_of_function =
        check.kind == Kind::code || check.kind == Kind::defaults || check.kind == Kind::keywords;
    if (is_of_function && place.step == Step::object && is_function(place.key.get()))
        functions_.push_back({place.key.get(), check.value.get(), check.kind});
    else if (place.dict && (check.kind == Kind::is || check.kind == Kind::absent))
        entries_.push_back({place.dict, place.key.get(), check.kind == Kind::is ? check.value.get() : nullptr});
    else
        return false;
    return true;
}

Found::Found(const Outside& outside, PyObject* const* values, void* memory)
    : outside_(outside), values_(values), items_(static_cast<PyObject**>(memory)) {
    std::memset(memory, 0, bytes(outside));
}

Found::~Found() {
    for (std::size_t k = 0; k < outside_.size(); ++k)
        if (items_[k] != nothing()) Py_XDECREF(items_[k]);
}

PyObject* Found::at(std::size_t number) {
    const Outside::Place& place = outside_.places_[number];
    if (place.step == Outside::Step::object) return place.key.get();
    if (place.step == Outside::Step::parameter) return values_[place.index];
    PyObject*& item = items_[number];
    if (!item) {
        PyObject* const base = at(static_cast<std::size_t>(place.base));
        item = base ? Outside::step(place, base).release() : nullptr;
        if (!item) item = nothing();
    }
    return item == nothing() ? nullptr : item;
}

Ref Outside::step(const Place& place, PyObject* base) {
    Ref found;
    switch (place.step) {
    case Step::entry:
        found = PyDict_Check(base) ? Ref::borrowed(PyDict_GetItemWithError(base, place.key.get())) : Ref();
        break;
    case Step::attribute:
        found = Ref(PyObject_GetAttr(base, place.key.get()));
        break;
    case Step::item:
        found = Ref(PyObject_GetItem(base, place.key.get()));
        break;
    case Step::contents:
        found = Ref(contents_of(base));
        break;
    case Step::original:
        found = original_of(base, place.key.get());
        break;
    case Step::call:
        found = Ref(PyObject_CallFunctionObjArgs(place.key.get(), base, nullptr));
        break;
    default: {
        const Ref closure = is_function(base) ? closure_of(base) : Ref();
        const bool has_it = closure && PyTuple_Check(closure.get()) && place.index < PyTuple_Size(closure.get());
        found = has_it ? Ref(contents_of(PyTuple_GetItem(closure.get(), place.index))) : Ref();
    }
    }
    if (!found) PyErr_Clear();
    return found;
}

Ref Outside::value(std::size_t number, PyObject* const* values) const {
    Found found(*this, values, alloca(Found::bytes(*this)));
    return Ref::borrowed(found.at(number));
}

bool Outside::holds(const Check& check, Found& found) const {
    PyObject* const object = found.at(check.place);
    PyObject* const wanted = check.value.get();
    if (!object) return check.kind == Kind::absent;
    switch (check.kind) {
    case Kind::is:
        return object == wanted;
    case Kind::equal:
        return same_value(object, wanted);
    case Kind::type:
        return reinterpret_cast<PyObject*>(Py_TYPE(object)) == wanted;
    case Kind::length:
        return reinterpret_cast<PyObject*>(Py_TYPE(object)) == wanted && PyObject_Size(object) == check.length;
    case Kind::code:
    case Kind::defaults:
    case Kind::keywords:
        return is_function(object) && is_part(check.kind, object, wanted);
    case Kind::same:
    case Kind::another:
        return (found.at(static_cast<std::size_t>(check.length)) == object) == (check.kind == Kind::same);
    case Kind::absent:
        return false;
    case Kind::keys:
        return has_keys(object, wanted);
    case Kind::lacks:
        return has_own(object, wanted) == 0;
    case Kind::holds:
        return has_own(object, wanted) == 1;
    case Kind::plain:
        return are_set_plainly(object, wanted, check.order, check.members);
    default: {
        const Ref answer(PyObject_CallFunctionObjArgs(wanted, object, nullptr));
        return answer && PyObject_IsTrue(answer.get()) == 1;
    }
    }
}

bool Outside::is_part(Kind kind, PyObject* function, PyObject* wanted) {
    const auto& [getter, name] = getters()->parts[static_cast<int>(kind) - static_cast<int>(Kind::code)];
    if (getter) {
        PyObject* part = getter(function);
        return part ? part == wanted : wanted == Py_None;
    }
    const Ref part(PyObject_GetAttrString(function, name));
    return part.get() == wanted;
}

bool Outside::all_hold(Found& found) const {
    for (const Function& f : functions_)
        if (!is_part(f.kind, f.function, f.wanted)) return false;
    for (const Entry& entry : entries_)
        if (PyDict_GetItemWithError(entry.dict, entry.key) != entry.wanted) {
            PyErr_Clear();
            return false;
        }
    for (std::size_t i : checks_)
        if (!holds(all_[i], found)) {
            PyErr_Clear();
            return false;
        }
    return true;
}

int Outside::traverse(visitproc visit, void* data) const {
    auto see = [&](const Ref& ref) { return ref ? visit(ref.get(), data) : 0; };
    for (const Place& place : places_)
        if (int rc = see(place.key)) return rc;
    for (const Check& check : all_) {
        if (int rc = see(check.value)) return rc;
        if (int rc = see(check.order)) return rc;
        for (const Ref& one : check.members)
            if (int rc = see(one)) return rc;
    }
    return 0;
}

} // namespace tilewright::face
