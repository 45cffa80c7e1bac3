// tests/autotune/test_messages.cpp: what a worker says of an algorithm reaches the search whole.
#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <string>

#include "autotune/measure/messages.h"
#include "dsl/model/algorithm_fields.h"

namespace tilewright::autotune {
namespace {

/// Gives every field, however deep, a value that no other field and no default has.
class Filler {
  public:
    template <class Value> void fill(Value& value) {
        if constexpr (dsl::HasFields<Value>)
            dsl::visit_fields(value, [&](const char*, auto& field) { fill(field); });
        else
            fill_one(value);
    }

  private:
    template <class Value> void fill(std::vector<Value>& values) {
        values.resize(2);
        for (Value& value : values)
            fill(value);
    }
    void fill_one(std::string& value) { value = "text " + std::to_string(++count_); }
    void fill_one(dsl::StagePart& value) { value = static_cast<dsl::StagePart>(1 + ++count_ % 7); }
    void fill_one(bool& value) { value = !value; }
    void fill_one(int& value) { value = 100 + ++count_; }
    void fill_one(std::int64_t& value) { value = (std::int64_t{1} << 40) + ++count_; }
    void fill_one(double& value) { value = 0.1 + ++count_; }
    void fill_one(std::map<std::string, std::string>& value) { value = {{"name " + std::to_string(++count_), "x"}}; }

    int count_ = 0;
};

template <class Struct> Struct filled() {
    Struct object;
    Filler().fill(object);
    return object;
}

dsl::AlgorithmInfo sent(const dsl::AlgorithmInfo& info) {
    return nlohmann::json::parse(nlohmann::json(info).dump()).get<dsl::AlgorithmInfo>();
}

/// Calls `change` for each single field in `object`, which then differs from what it was in that field alone.
template <class Value> void for_each_leaf(Value& value, const std::string& path, const auto& seen) {
    if constexpr (dsl::HasFields<Value>) {
        dsl::visit_fields(value, [&](const char* name, auto& field) { for_each_leaf(field, path + "." + name, seen); });
    } else {
        const Value before = value;
        value = Value{};
        if (value == before) Filler().fill(value);
        seen(path);
        value = before;
    }
}

template <class Value> void for_each_leaf(std::vector<Value>& values, const std::string& path, const auto& seen) {
    const std::vector<Value> before = values;
    values.clear();
    seen(path);
    values = before;
    if constexpr (dsl::HasFields<Value>) for_each_leaf(values.front(), path + "[]", seen);
}

template <class Struct> void expect_each_field_once() {
    Struct object;
    std::set<const void*> places;
    std::set<std::string> names;
    dsl::visit_fields(object, [&](const char* name, auto& field) {
        EXPECT_TRUE(places.insert(&field).second) << name << " is listed twice";
        EXPECT_TRUE(names.insert(name).second) << "two fields have the name " << name;
    });
    EXPECT_EQ(places.size(), dsl::count_fields<Struct>());
}

TEST(Messages, EachFieldIsListedOnce) {
    expect_each_field_once<dsl::LoopInfo>();
    expect_each_field_once<dsl::CallInfo>();
    expect_each_field_once<dsl::DefinitionInfo>();
    expect_each_field_once<dsl::ReadInfo>();
    expect_each_field_once<dsl::StageInfo>();
    expect_each_field_once<dsl::SizeInfo>();
    expect_each_field_once<dsl::AlgorithmInfo>();
    expect_each_field_once<MeasureRequest>();
}

TEST(Messages, ADescriptionArrivesAsItWasSent) {
    const auto info = filled<dsl::AlgorithmInfo>();
    EXPECT_NE(nlohmann::json(info), nlohmann::json(dsl::AlgorithmInfo{}));
    EXPECT_EQ(nlohmann::json(sent(info)), nlohmann::json(info));
    EXPECT_EQ(nlohmann::json(sent(dsl::AlgorithmInfo{})), nlohmann::json(dsl::AlgorithmInfo{}));
}

TEST(Messages, EveryFieldOfADescriptionArrives) {
    auto info = filled<dsl::AlgorithmInfo>();
    const dsl::AlgorithmInfo whole = info;
    std::set<std::string> paths;
    for_each_leaf(info, "", [&](const std::string& path) {
        EXPECT_NE(nlohmann::json(info), nlohmann::json(whole)) << path << " is not compared";
        EXPECT_EQ(nlohmann::json(sent(info)), nlohmann::json(info)) << path << " does not arrive";
        EXPECT_TRUE(paths.insert(path).second) << path;
    });
    EXPECT_EQ(nlohmann::json(info), nlohmann::json(whole));
    EXPECT_EQ(paths.count(".stages[].updates[].associative"), 1u);
    EXPECT_EQ(paths.count(".stages[].pure.calls[].axes"), 1u);
    EXPECT_EQ(paths.count(".stages[].pure.loops[].longest_here"), 1u);
}

TEST(Messages, AMeasurementRequestArrivesAsItWasSent) {
    const auto request = filled<MeasureRequest>();
    EXPECT_EQ(nlohmann::json(request).get<MeasureRequest>(), request);
}

TEST(Messages, EveryFieldOfARequestArrives) {
    MeasureRequest request{"a", "b", 0.5, 4, 70, 3.5, 1.25};
    EXPECT_EQ(nlohmann::json(request).get<MeasureRequest>(), request);
}

} // namespace
} // namespace tilewright::autotune
