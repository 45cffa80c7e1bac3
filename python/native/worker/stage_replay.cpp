// python/native/worker/stage_replay.cpp: results of stages out of a file, and what stages are given compared with it.
#include "python/native/worker/stage_replay.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <utility>

#include "dsl/base/error.h"
#include "dsl/base/half.h"
#include "python/native/worker/compare.h"

namespace tilewright::native {

using runtime::StageArray;
using runtime::StageOutcome;
using Clock = std::chrono::steady_clock;

namespace {

constexpr double kOperandTolerance = 1e-4, kOperandMismatches = 1e-3;

std::string type_text(std::string_view dtype, const std::int64_t* shape, std::size_t rank) {
    std::string text;
    for (std::size_t axis = 0; axis < rank; ++axis)
        text += (axis > 0 ? ", " : "") + std::to_string(shape[axis]);
    return std::string(dtype) + "[" + text + "]";
}

std::string type_text(const StageArray& array) {
    return type_text(info(array.dtype).name, array.shape, static_cast<std::size_t>(array.rank));
}

std::string type_text(const autotune::JobStageArray& array) {
    return type_text(array.dtype, array.shape.data(), array.shape.size());
}

bool is_like(const StageArray& array, const autotune::JobStageArray& recorded) {
    return info(array.dtype).name == recorded.dtype &&
           std::equal(array.shape, array.shape + array.rank, recorded.shape.begin(), recorded.shape.end());
}

bool is_c_order(const StageArray& array) {
    std::int64_t step = info(array.dtype).bytes;
    for (int axis = array.rank; axis-- > 0;) {
        if (array.shape[axis] != 1 && array.strides[axis] != step) return false;
        step *= array.shape[axis];
    }
    return true;
}

/// Calls `body(element, item)` for the elements in C order; `item` goes along in a dense array of them.
template <class Body>
void for_each_element(const StageArray& array, int axis, char* element, char*& item, const Body& body) {
    if (axis == array.rank) {
        body(element, item);
        item += info(array.dtype).bytes;
        return;
    }
    for (std::int64_t i = 0; i < array.shape[axis]; ++i)
        for_each_element(array, axis + 1, element + i * array.strides[axis], item, body);
}

template <class Float> double largest(const char* data, std::int64_t elements) {
    double found = 0;
    for (std::int64_t i = 0; i < elements; ++i) {
        Float element;
        std::memcpy(&element, data + i * static_cast<std::int64_t>(sizeof element), sizeof element);
        const auto value = static_cast<double>(element);
        if (std::isfinite(value)) found = std::max(found, std::abs(value));
    }
    return found;
}

/// What is cancelled in an operand is no part of its size: it counts by the largest of its elements.
autotune::JobTolerance of_operand(autotune::JobTolerance tolerance, DType dtype, const char* data,
                                  std::int64_t elements) {
    if (tolerance.rtol == 0 && tolerance.atol == 0) return tolerance;
    tolerance.rtol = std::max(tolerance.rtol, kOperandTolerance);
    tolerance.index_mismatch_fraction = std::max(tolerance.index_mismatch_fraction, kOperandMismatches);
    const double size = dtype == DType::float64   ? largest<double>(data, elements)
                        : dtype == DType::float32 ? largest<float>(data, elements)
                        : dtype == DType::float16 ? largest<Half>(data, elements)
                                                  : 0;
    tolerance.atol = std::max(tolerance.atol, kOperandTolerance * size);
    return tolerance;
}

std::string times(std::size_t count) {
    return count == 1 ? "once" : std::to_string(count) + " times";
}

} // namespace

StageReplay::StageReplay(const autotune::JobDataSet& set)
    : set_(set), runner_{[](void* context, int stage, const StageArray* arrays, int count) {
                             return static_cast<StageReplay*>(context)->run(stage, arrays, count);
                         },
                         this} {
    std::int64_t least = 0;
    for (const autotune::JobStageCall& call : set.stage_calls)
        for (const autotune::JobStageArray& array : call.arrays)
            least = std::max(least, array.offset_bytes + elements_of(array.shape) * autotune::item_bytes(array.dtype));
    if (!set.stage_calls.empty()) file_.emplace(set.stage_file, static_cast<std::size_t>(least));
    for (const autotune::JobStageCall& described : set.stage_calls) {
        Call call{&described, {}, operands_};
        for (const autotune::JobStageArray& array : described.arrays) {
            const auto dtype = dtype_named(array.dtype);
            if (!dtype) throw InternalError("tuning job: dtype " + array.dtype + ": stages do not have it.");
            call.arrays.push_back({*dtype, elements_of(array.shape), file_->data() + array.offset_bytes});
        }
        operands_ += call.arrays.size() - 1;
        by_text_[described.stage].push_back(calls_.size());
        calls_.push_back(std::move(call));
    }
}

void StageReplay::begin(const std::vector<std::string>& stages, const Watch& watch) {
    watch_ = watch;
    problem_.clear();
    if (watch.kept != nullptr) {
        watch.kept->clear();
        watch.kept->resize(operands_);
    }
    const auto is_same = [](const Stage& known, const std::string& text) { return known.text == text; };
    if (!std::ranges::equal(stages_, stages, is_same)) {
        stages_.clear();
        for (const std::string& text : stages)
            stages_.push_back({text, by_text_[text]});
    }
    for (Stage& stage : stages_)
        stage.next = 0;
}

std::string StageReplay::problem(bool ended) const {
    if (!problem_.empty() || !ended) return problem_;
    for (const Stage& stage : stages_)
        if (stage.next < stage.calls.size())
            return "it calls the stage " + stage.text + " " + times(stage.next) + ", the default schedule " +
                   times(stage.calls.size()) + " (data set " + set_.kind + ")";
    return "";
}

double StageReplay::take_spent_ns() {
    return std::exchange(spent_ns_, 0);
}

StageOutcome StageReplay::refuse(const std::string& why) {
    problem_ = why + " (data set " + set_.kind + ")";
    return StageOutcome::refused;
}

StageOutcome StageReplay::run(int number, const StageArray* arrays, int count) {
    const auto start = Clock::now();
    Stage& stage = stages_[static_cast<std::size_t>(number)];
    if (stage.next == stage.calls.size())
        return refuse("it calls the stage " + stage.text + " more than " + times(stage.calls.size()) +
                      ", which is how often the default schedule does");
    const Call& call = calls_[stage.calls[stage.next++]];
    const auto operands = static_cast<std::size_t>(count) - 1;
    const std::vector<autotune::JobStageArray>& described = call.described->arrays;
    if (operands + 1 != described.size())
        return refuse("it gives the stage " + stage.text + " " + std::to_string(operands) +
                      " arrays, the default schedule " + std::to_string(described.size() - 1));
    for (std::size_t k = 0; k < operands; ++k)
        if (!accept(call, k, arrays[k])) return StageOutcome::refused;
    StageArray result = arrays[operands];
    if (!is_like(result, described.back()))
        return refuse("it takes " + type_text(result) + " of the stage " + stage.text + ", which gave " +
                      type_text(described.back()));
    const Recorded& given = call.arrays.back();
    const auto bytes = static_cast<std::size_t>(info(given.dtype).bytes);
    if (is_c_order(result)) {
        std::memcpy(result.data, given.data, static_cast<std::size_t>(given.elements) * bytes);
    } else {
        char* item = const_cast<char*>(given.data); // only read
        for_each_element(result, 0, static_cast<char*>(result.data), item,
                         [&](char* element, const char* from) { std::memcpy(element, from, bytes); });
    }
    spent_ns_ += std::chrono::duration<double, std::nano>(Clock::now() - start).count();
    return StageOutcome::done;
}

bool StageReplay::accept(const Call& call, std::size_t number, const StageArray& array) {
    const autotune::JobStageArray& described = call.described->arrays[number];
    const std::string& stage = call.described->stage;
    const auto refused = [&](const std::string& why) { return refuse(why) == StageOutcome::done; };
    if (!is_like(array, described))
        return refused("it gives the stage " + stage + " " + type_text(array) + " as $" + std::to_string(number) +
                       ", the default schedule " + type_text(described));
    if (watch_.tolerance == nullptr && watch_.kept == nullptr && watch_.same_as == nullptr) return true;
    const Recorded& recorded = call.arrays[number];
    const auto bytes = static_cast<std::size_t>(info(recorded.dtype).bytes);
    const char* ours = static_cast<const char*>(array.data);
    if (!is_c_order(array)) {
        in_c_order_.resize(static_cast<std::size_t>(recorded.elements) * bytes);
        char* item = in_c_order_.data();
        for_each_element(array, 0, static_cast<char*>(array.data), item,
                         [&](const char* element, char* to) { std::memcpy(to, element, bytes); });
        ours = in_c_order_.data();
    }
    const auto differ = [&](const char* theirs, std::int64_t first, const std::string& others) {
        return refused(place_text("$" + std::to_string(number), described.shape, first) + " of the stage " + stage +
                       " is " + element_text(recorded.dtype, ours, first) + ", " + others + " " +
                       element_text(recorded.dtype, theirs, first));
    };
    const std::size_t place = call.first_operand + number;
    if (watch_.same_as != nullptr) {
        const bool is_kept = place < watch_.same_as->size() && !(*watch_.same_as)[place].empty();
        const char* const theirs = is_kept ? (*watch_.same_as)[place].data() : recorded.data;
        if (const auto first = first_bit_difference(recorded.dtype, ours, theirs, recorded.elements))
            return differ(theirs, *first, "the default schedule gives");
    }
    if (watch_.tolerance != nullptr) {
        const autotune::JobTolerance wide =
            of_operand(*watch_.tolerance, recorded.dtype, recorded.data, recorded.elements);
        if (const auto found = tolerance_difference(recorded.dtype, ours, recorded.data, recorded.elements, wide))
            return differ(recorded.data, found->first, "where NumPy computed the stage it was");
    }
    if (watch_.kept != nullptr && first_bit_difference(recorded.dtype, ours, recorded.data, recorded.elements))
        (*watch_.kept)[place].assign(ours, ours + static_cast<std::size_t>(recorded.elements) * bytes);
    return true;
}

} // namespace tilewright::native
