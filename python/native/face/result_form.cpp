// python/native/face/result_form.cpp: a function's result of what a plan gives, without Python's code.
#include "python/native/face/result_form.h"

#include <iterator>
#include <utility>

namespace tilewright::face {
namespace {

constexpr const char* kKinds[] = {"made", "constant", "object", "tuple", "list", "dict", "called", "changed"};

PyObject* item_of(PyObject* tuple, Py_ssize_t k) {
    if (PyTuple_Check(tuple) && k < PyTuple_Size(tuple)) return PyTuple_GetItem(tuple, k);
    PyErr_SetString(PyExc_TypeError, "finish: expected a form of result_forms.py.");
    return nullptr;
}

bool read_number(PyObject* item, Py_ssize_t& number) {
    number = item ? PyLong_AsSsize_t(item) : -1;
    return number >= 0 || (!PyErr_Occurred() && fail(PyExc_ValueError, "finish: %zd is no number of one.", number));
}

bool read_items(PyObject* tuple, std::vector<PyObject*>& items) {
    if (!tuple) return false;
    if (!PyTuple_Check(tuple)) return item_of(tuple, 0) != nullptr; // with the error
    for (Py_ssize_t k = 0, n = PyTuple_Size(tuple); k < n; ++k)
        items.push_back(PyTuple_GetItem(tuple, k));
    return true;
}

bool are_as_many(std::size_t names, std::size_t values) {
    return names == values || fail(PyExc_ValueError, "finish: %zu names and %zu values.", names, values);
}

/// Whether object.__setattr__ sets an attribute of a class's objects: it is in a slot, or in their `__dict__` without a
/// property of the name, which would be asked. 1, 0, or -1 with a Python error. As own_attributes.py has it.
int is_held_plainly(PyTypeObject* type, PyObject* name) {
    static PyObject* slot = nullptr;
    if (!kept_attribute(slot, "types", "MemberDescriptorType")) return -1;
    const Ref order(PyObject_GetAttrString(reinterpret_cast<PyObject*>(type), "__mro__"));
    if (!order) return -1;
    bool is_first = true, is_property = false;
    for (Py_ssize_t k = 0, n = PyTuple_Size(order.get()); k < n; ++k) {
        const Ref members(PyObject_GetAttrString(PyTuple_GetItem(order.get(), k), "__dict__"));
        const int has_it = members ? PySequence_Contains(members.get(), name) : -1;
        if (has_it < 0) return -1;
        if (!has_it) continue;
        const Ref held(PyObject_GetItem(members.get(), name));
        if (!held) return -1;
        auto* const its_type = reinterpret_cast<PyObject*>(Py_TYPE(held.get()));
        if (its_type == slot) return 1;
        is_property = is_property || (is_first && PyObject_HasAttrString(its_type, "__set__"));
        is_first = false;
    }
    return !is_property;
}

bool append(PyObject* list, PyObject* values) {
    const Py_ssize_t length = PyList_Size(list);
    return PyList_SetSlice(list, length, length, values) == 0;
}

} // namespace

std::shared_ptr<const ResultForm> ResultForm::read(PyObject* form) {
    auto made = std::make_shared<ResultForm>();
    made->form_ = Ref::borrowed(form);
    if (!PyTuple_Check(form)) {
        if (!PyCallable_Check(form))
            return fail(PyExc_TypeError, "finish: %R is neither a form nor callable.", form), nullptr;
        made->root_.kind = Kind::by_python;
        made->root_.value = form;
    } else if (!read(form, made->root_)) {
        return nullptr;
    }
    return made;
}

bool ResultForm::read(PyObject* form, Node& node) {
    PyObject* const word = item_of(form, 0);
    if (!word) return false;
    std::size_t kind = 0;
    while (kind < std::size(kKinds) &&
           !(PyUnicode_Check(word) && PyUnicode_CompareWithASCIIString(word, kKinds[kind]) == 0))
        ++kind;
    PyObject* const first = item_of(form, 1);
    if (!first) return false;
    node.kind = static_cast<Kind>(kind);
    node.value = first;
    switch (node.kind) {
    case Kind::made:
    case Kind::object:
        return read_number(first, node.number);
    case Kind::constant:
        return true;
    case Kind::tuple:
    case Kind::list:
        return read_all(first, node.parts);
    case Kind::dict:
        return read_items(first, node.keys) && read_all(item_of(form, 2), node.parts) &&
               are_as_many(node.keys.size(), node.parts.size());
    case Kind::called:
        return read_all(item_of(form, 2), node.parts);
    case Kind::changed:
        node.parts.emplace_back();
        return read(first, node.parts.back()) && read_changes(item_of(form, 2), node);
    default:
        return fail(PyExc_ValueError, "finish: %R is not known.", word);
    }
}

bool ResultForm::read_all(PyObject* forms, std::vector<Node>& parts) {
    std::vector<PyObject*> items;
    if (!read_items(forms, items)) return false;
    for (PyObject* item : items) {
        parts.emplace_back();
        if (!read(item, parts.back())) return false;
    }
    return true;
}

bool ResultForm::read_changes(PyObject* changes, Node& node) {
    std::vector<PyObject*> items;
    if (!read_items(changes, items)) return false;
    for (PyObject* item : items) {
        Change change{};
        if (!read_number(item_of(item, 0), change.object)) return false;
        PyObject* const has_items = item_of(item, 1);
        if (!has_items || !read_items(item_of(item, 2), change.names)) return false;
        change.has_items = has_items == Py_True;
        change.known.resize(change.names.size());
        const std::size_t before = node.parts.size();
        if (!read_all(item_of(item, 3), node.parts)) return false;
        if (!are_as_many(change.names.size(), node.parts.size() - before)) return false;
        node.changes.push_back(std::move(change));
    }
    return true;
}

PyObject* ResultForm::result_of(PyObject* made, PyObject* const* objects, std::size_t count) const {
    return value(root_, {made, objects, count}).release();
}

Ref ResultForm::value(const Node& node, const Call& call) {
    const auto count = static_cast<Py_ssize_t>(node.parts.size());
    const auto tuple_of_parts = [&] {
        Ref items(PyTuple_New(count));
        for (Py_ssize_t k = 0; items && k < count; ++k) {
            Ref item = value(node.parts[static_cast<std::size_t>(k)], call);
            if (!item) return Ref();
            PyTuple_SetItem(items.get(), k, item.release());
        }
        return items;
    };
    switch (node.kind) {
    case Kind::made:
        return Ref(PySequence_GetItem(call.made, node.number));
    case Kind::constant:
        return Ref::borrowed(node.value);
    case Kind::object:
        if (static_cast<std::size_t>(node.number) < call.count) return Ref::borrowed(call.objects[node.number]);
        return fail(PyExc_IndexError, "finish: there is no object %zd.", node.number), Ref();
    case Kind::tuple:
        return tuple_of_parts();
    case Kind::list: {
        const Ref items = tuple_of_parts();
        return items ? Ref(PySequence_List(items.get())) : Ref();
    }
    case Kind::dict: {
        Ref made(PyDict_New());
        for (std::size_t k = 0; made && k < node.parts.size(); ++k) {
            const Ref item = value(node.parts[k], call);
            if (!item || PyDict_SetItem(made.get(), node.keys[k], item.get()) != 0) return {};
        }
        return made;
    }
    case Kind::called: {
        const Ref arguments = tuple_of_parts();
        return arguments ? Ref(PyObject_Call(node.value, arguments.get(), nullptr)) : Ref();
    }
    case Kind::changed:
        return changed(node, call);
    default: {
        const Ref arguments(PyTuple_New(static_cast<Py_ssize_t>(call.count) + 1));
        if (!arguments) return {};
        PyTuple_SetItem(arguments.get(), 0, Py_NewRef(call.made));
        for (std::size_t k = 0; k < call.count; ++k)
            PyTuple_SetItem(arguments.get(), static_cast<Py_ssize_t>(k) + 1, Py_NewRef(call.objects[k]));
        return Ref(PyObject_Call(node.value, arguments.get(), nullptr));
    }
    }
}

Ref ResultForm::changed(const Node& node, const Call& call) {
    std::vector<Ref> values; // all are made before the first is set
    values.reserve(node.parts.size());
    for (const Node& part : node.parts) {
        values.push_back(value(part, call));
        if (!values.back()) return {};
    }
    std::size_t at = 1;
    for (const Change& change : node.changes) {
        if (static_cast<std::size_t>(change.object) >= call.count)
            return fail(PyExc_IndexError, "finish: there is no object %zd.", change.object), Ref();
        for (std::size_t k = 0; k < change.names.size(); ++k, ++at)
            if (!set(change, k, call.objects[change.object], values[at].get())) return {};
    }
    return values.front();
}

bool ResultForm::set(const Change& change, std::size_t k, PyObject* owner, PyObject* value) {
    PyObject* const name = change.names[k];
    if (change.has_items) {
        const bool appends = PyList_CheckExact(owner) && PyUnicode_Check(name);
        return appends ? append(owner, value) : PyObject_SetItem(owner, name, value) == 0;
    }
    Change::Known& known = change.known[k];
    if (reinterpret_cast<PyObject*>(Py_TYPE(owner)) != known.type.get()) {
        const int is_plain = is_held_plainly(Py_TYPE(owner), name);
        if (is_plain < 0) return false;
        known = {Ref::borrowed(reinterpret_cast<PyObject*>(Py_TYPE(owner))), is_plain == 1};
    }
    if (known.is_plain) return PyObject_GenericSetAttr(owner, name, value) == 0;
    const Ref attributes(PyObject_GetAttrString(owner, "__dict__"));
    return attributes && PyObject_SetItem(attributes.get(), name, value) == 0;
}

int ResultForm::traverse(visitproc visit, void* data) const {
    if (form_)
        if (int rc = visit(form_.get(), data)) return rc;
    return traverse(root_, visit, data);
}

int ResultForm::traverse(const Node& node, visitproc visit, void* data) {
    for (const Change& change : node.changes)
        for (const auto& known : change.known)
            if (known.type)
                if (int rc = visit(known.type.get(), data)) return rc;
    for (const Node& part : node.parts)
        if (int rc = traverse(part, visit, data)) return rc;
    return 0;
}

PyObject* finished(PyObject*, PyObject* args) {
    PyObject *form = nullptr, *made = nullptr, *objects = nullptr;
    if (!PyArg_ParseTuple(args, "OO!O!:finished", &form, &PyTuple_Type, &made, &PyTuple_Type, &objects)) return nullptr;
    const auto read = ResultForm::read(form);
    if (!read) return nullptr;
    std::vector<PyObject*> each;
    for (Py_ssize_t k = 0, n = PyTuple_Size(objects); k < n; ++k)
        each.push_back(PyTuple_GetItem(objects, k));
    return read->result_of(made, each.data(), each.size());
}

} // namespace tilewright::face
