// python/native/face/plan_call_generators.cpp: the generators of a call, from its values to their states and back.
#include "python/native/face/plan_call_generators.h"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

#include "dsl/base/size_expression.h"
#include "python/native/face/face_errors.h"
#include "python/native/face/plan_call.h"

namespace tilewright::face {

bool LoadedPlan::load_generators(const Binding& binding) {
    const Ref list(binding.generators && binding.generators != Py_None ? PySequence_List(binding.generators)
                                                                       : PyList_New(0));
    if (!list) return false;
    for (Py_ssize_t i = 0; i < PyList_Size(list.get()); ++i) {
        PyObject *argument = nullptr, *draws = nullptr;
        Py_ssize_t place = 0;
        int is_locked = 0;
        PyObject* const item = PyList_GetItem(list.get(), i);
        if (!PyTuple_Check(item) || !PyArg_ParseTuple(item, "OnOp:generator", &argument, &place, &draws, &is_locked))
            return !PyErr_Occurred() && fail(PyExc_TypeError, "generators: expected (argument, place, draws, locked).");
        if (place < 0 || static_cast<std::size_t>(place) >= outside_.size())
            return fail(PyExc_ValueError, "generators: there is no place %zd.", place);
        DrawnGenerator made{
            Ref::borrowed(argument), static_cast<std::size_t>(place), is_locked != 0, draws != Py_None, {}};
        if (made.is_counted) {
            const char* const text = PyUnicode_AsUTF8AndSize(draws, nullptr);
            if (!text) return false;
            try {
                made.draws = executable_->compile_size(parse_condition(text));
            } catch (const std::invalid_argument& error) {
                return fail(g_plan_error, "plan of %s: it draws %s numbers: %s.", function_.c_str(), text,
                            error.what());
            }
        }
        drawn_.push_back(std::move(made));
    }
    return true;
}

int LoadedPlan::generator_of(const std::string& argument) const {
    for (std::size_t k = 0; k < drawn_.size(); ++k) {
        PyObject* const name = drawn_[k].argument.get();
        if (PyUnicode_Check(name) && PyUnicode_CompareWithASCIIString(name, argument.c_str()) == 0)
            return static_cast<int>(k);
    }
    return -1;
}

bool CallGenerators::find(Found& places) {
    for (const DrawnGenerator& each : drawn_) {
        Taken found;
        found.generator = Ref::borrowed(places.at(each.place));
        if (!found.generator) return false;
        if (each.argument.get() == Py_None) {
            found.bits = Ref::borrowed(found.generator.get());
        } else {
            found.bits = bits_of(found.generator.get());
            found.state = found.bits ? pcg64_of(found.bits.get()) : nullptr;
            if (!found.state) return false;
        }
        for (const Taken& other : taken_)
            if (each.is_locked && other.bits.get() == found.bits.get()) return false;
        taken_.push_back(std::move(found));
    }
    return true;
}

bool CallGenerators::lock() {
    std::vector<PyObject*> in_order; // one for all calls, so that two never wait for each other
    for (std::size_t k = 0; k < taken_.size(); ++k)
        if (drawn_[k].is_locked) in_order.push_back(taken_[k].bits.get());
    std::ranges::sort(in_order);
    const bool are_counted = std::ranges::any_of(drawn_, &DrawnGenerator::is_counted);
    const auto kind = are_counted ? StreamLock::Kind::any : StreamLock::Kind::reentrant;
    for (PyObject* const bits : in_order) {
        StreamLock lock;
        if (!lock.take(bits, StreamLock::Wait::yes, kind)) return false;
        locks_.push_back(std::move(lock));
    }
    return true;
}

bool CallGenerators::take(Found& places) {
    if (!find(places) || !lock()) return false;
    Ref names;
    for (std::size_t k = 0; k < taken_.size(); ++k) {
        if (!taken_[k].state) continue;
        taken_[k].before = taken_[k].state->state();
        if (drawn_[k].is_counted) continue;
        if (!names) names = Ref(PyDict_New());
        if (!names || PyDict_SetItem(names.get(), drawn_[k].argument.get(), taken_[k].generator.get()) != 0)
            return false;
    }
    is_lent_ = names && Ref(lend(nullptr, names.get()));
    return is_lent_ || !names;
}

bool CallGenerators::count(const std::int64_t* symbols) {
    for (std::size_t k = 0; k < taken_.size(); ++k)
        if (drawn_[k].is_counted && (!drawn_[k].draws.evaluate(symbols, taken_[k].draws) || taken_[k].draws < 0))
            return false;
    return true;
}

void CallGenerators::move_on() {
    for (std::size_t k = 0; k < taken_.size(); ++k) {
        if (!drawn_[k].is_counted) continue;
        runtime::Pcg64 now = taken_[k].before;
        now.skip(static_cast<std::uint64_t>(taken_[k].draws));
        taken_[k].state->set(now);
    }
    is_done_ = true;
}

CallGenerators::~CallGenerators() {
    if (taken_.empty()) return;
    const KeptError kept;
    // Of a call that NumPy makes once more nothing was drawn.
    for (std::size_t k = 0; is_lent_ && !is_done_ && k < taken_.size(); ++k)
        if (taken_[k].state && !drawn_[k].is_counted) taken_[k].state->set(taken_[k].before);
    if (is_lent_ && !Ref(take_back(nullptr, nullptr))) PyErr_Clear();
    locks_.clear();
}

} // namespace tilewright::face
