// python/native/face/result_form.h: what a function's result is made of, beside what a plan gives: objects whose
// attributes and items it sets, lists, dicts, constants.
#pragma once

#include <memory>
#include <vector>

#include "python/native/face/numpy_api.h"

namespace tilewright::face {

class ResultForm {
  public:
    /// A form as python/tilewright/result_forms.py makes it, or a callable of (made, *objects). Null with a Python
    /// error.
    static std::shared_ptr<const ResultForm> read(PyObject* form);

    /// The function's result, when the objects have what it sets. `made`: the tuple that the plan gives; `objects`: the
    /// caller's, borrowed. Null with a Python error.
    PyObject* result_of(PyObject* made, PyObject* const* objects, std::size_t count) const;

    int traverse(visitproc visit, void* data) const;

  private:
    enum class Kind { made, constant, object, tuple, list, dict, called, changed, by_python };
    /// The attributes of one object, or its items, that are set: `names` one by one to what `Node::parts` gives.
    struct Change {
        Py_ssize_t object;
        bool has_items;
        std::vector<PyObject*> names;
        /// Of each attribute, the latest class that it was set in, and whether that holds it plainly: no property of
        /// the name stands before it. The GIL guards it.
        struct Known {
            Ref type;
            bool is_plain = false;
        };
        mutable std::vector<Known> known{};
    };
    /// What it has of Python is borrowed of the form. parts: of items, values, arguments; of changed: the result, then
    /// what is set.
    struct Node {
        Kind kind = Kind::made;
        Py_ssize_t number = 0;
        PyObject* value = nullptr;
        std::vector<PyObject*> keys{};
        std::vector<Node> parts{};
        std::vector<Change> changes{};
    };
    struct Call {
        PyObject* made;
        PyObject* const* objects;
        std::size_t count;
    };

    static bool read(PyObject* form, Node& node);
    static bool read_all(PyObject* forms, std::vector<Node>& parts);
    static bool read_changes(PyObject* changes, Node& node);
    static Ref value(const Node& node, const Call& call);
    static Ref changed(const Node& node, const Call& call);
    static bool set(const Change& change, std::size_t k, PyObject* owner, PyObject* value);
    static int traverse(const Node& node, visitproc visit, void* data);

    Ref form_;
    Node root_;
};

/// finished(form, made, objects): what the form makes, of the tuple that a plan gives and of a tuple of objects.
PyObject* finished(PyObject*, PyObject* args);

} // namespace tilewright::face
