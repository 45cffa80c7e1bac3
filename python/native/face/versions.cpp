// python/native/face/versions.cpp: terms from Python's tuples, the plan by the runtime.
#include <exception>
#include <stdexcept>

#include "dsl/runtime/plan.h"
#include "python/native/face/face_errors.h"
#include "python/native/face/face_types.h"
#include "python/native/face/texts.h"

namespace tilewright::face {
namespace {

using runtime::PlanRequirement;

/// False with an error set.
template <class See> bool for_each_item(PyObject* sequence, const See& see) {
    const Py_ssize_t size = PySequence_Size(sequence);
    for (Py_ssize_t i = 0; i < size; ++i) {
        const Ref item(PySequence_GetItem(sequence, i));
        if (!item || !see(item.get())) return false;
    }
    return size >= 0;
}

PlanRequirement requirement(const std::string& kind, const std::string& what) {
    using Kind = PlanRequirement::Kind;
    if (kind == "condition") return {Kind::condition, "", parse_condition(what)};
    return {kind == "isa" ? Kind::isa : kind == "c" ? Kind::layout_c : Kind::layout_f, what, {}};
}

bool append_version(PyObject* version, runtime::Plan& whole) {
    const char *label = nullptr, *suffix = nullptr, *text = nullptr;
    PyObject* asked = nullptr;
    if (!PyArg_ParseTuple(version, "sssO:compose_plan", &label, &suffix, &text, &asked)) return false;
    std::vector<PlanRequirement> requirements;
    const bool read = for_each_item(asked, [&](PyObject* item) {
        const char *kind = nullptr, *what = nullptr;
        if (!PyArg_ParseTuple(item, "ss:compose_plan", &kind, &what)) return false;
        requirements.push_back(requirement(kind, what));
        return true;
    });
    if (!read) return false;
    runtime::Plan plan = runtime::parse_plan(text);
    runtime::PlanVersionBody made = under_terms(std::move(plan.versions.at(0)), label, suffix, requirements);
    if (whole.versions.empty()) {
        whole = std::move(plan);
        whole.versions.clear();
    }
    whole.versions.push_back(std::move(made));
    return true;
}

} // namespace

PyObject* compose_plan(PyObject*, PyObject* versions) {
    try {
        runtime::Plan whole;
        if (!for_each_item(versions, [&](PyObject* version) { return append_version(version, whole); })) return nullptr;
        if (whole.versions.empty()) throw std::invalid_argument("a plan needs a version.");
        return unicode(runtime::print_plan(whole)).release();
    } catch (const std::exception& e) {
        set_error(g_plan_error, e.what());
        return nullptr;
    }
}

} // namespace tilewright::face
