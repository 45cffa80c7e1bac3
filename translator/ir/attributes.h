// translator/ir/attributes.h: what an operation has beside its operands, by typed keys: `attributes.at(attr::axes)` is
// a std::vector<int>.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "dsl/base/size_expression.h"

namespace tilewright::translator {

/// A number, folded; its text() is canonical: "X.0", "(X.0 + 1) // 2".
using Size = SizeExpression;

/// One entry of `index=[...]`.
struct IndexEntry {
    enum class Kind { slice, position, newaxis };
    Kind kind = Kind::newaxis;
    Size start = Size::integer(0); ///< slice: of its first element; position: the index
    Size step = Size::integer(1);  ///< slice

    static IndexEntry slice(Size start, Size step) { return {Kind::slice, std::move(start), std::move(step)}; }
    static IndexEntry position(Size at) { return {Kind::position, std::move(at), Size::integer(1)}; }
    static IndexEntry newaxis() { return {}; }
    /// All of an axis.
    static IndexEntry all() { return slice(Size::integer(0), Size::integer(1)); }

    bool operator==(const IndexEntry&) const = default;
};

/// What programs write between quotes.
struct Text {
    std::string text;

    bool operator==(const Text&) const = default;
};

/// What decides the order of a reduction besides its extents, kept while a program is rewritten.
struct SumOrder {
    bool contiguous = false; ///< NumPy's contiguous axis is reduced
    int joined = 1;          ///< so many of the last axes are one long one
    int iterations = 0;      ///< so many leading axes were loops: each iteration has its results
    bool library = false;    ///< a product: by a library

    bool operator==(const SumOrder&) const = default;
};

enum class AttributeName : std::uint8_t {
#define ATTRIBUTE(name, type) name,
#include "translator/ir/attributes.def"
};
/// As programs write it.
const char* text_of(AttributeName name);

struct Attribute {
    AttributeName name;
    std::variant<bool, int, std::string, Text, Size, std::vector<int>, std::vector<IndexEntry>, SumOrder> value;

    bool operator==(const Attribute&) const = default;
};

struct AttributeInfo {
    const char* name;
    enum class Place : std::uint8_t { braces, loops, passes } place; ///< where programs have it
    decltype(Attribute::value) empty;                                ///< a value of its type
};
/// In the order of AttributeName.
const std::vector<AttributeInfo>& attribute_infos();

/// The name of an attribute whose value is a T.
template <class T> struct AttributeKey {
    AttributeName name;
    Attribute operator()(T value) const { return {name, std::move(value)}; }
};

namespace attr {
#define ATTRIBUTE(name, type) inline constexpr AttributeKey<type> name{AttributeName::name};
#include "translator/ir/attributes.def"
} // namespace attr

/// In the order in which programs write them.
class Attributes {
  public:
    Attributes() = default;
    Attributes(std::initializer_list<Attribute> given) {
        for (const Attribute& attribute : given)
            set(attribute);
    }

    bool has(AttributeName name) const { return entry(name) != nullptr; }
    template <class T> bool has(AttributeKey<T> key) const { return has(key.name); }
    /// Null where the operation has none.
    template <class T> const T* find(AttributeKey<T> key) const {
        const Attribute* const found = entry(key.name);
        return found != nullptr ? &std::get<T>(found->value) : nullptr;
    }
    /// Throws InternalError where the operation has none.
    template <class T> const T& at(AttributeKey<T> key) const {
        const T* const found = find(key);
        if (found == nullptr) refuse(key.name);
        return *found;
    }
    template <class T> void set(AttributeKey<T> key, T value) { set(key(std::move(value))); }
    void set(Attribute attribute);
    template <class T> void erase(AttributeKey<T> key) {
        std::erase_if(entries_, [&](const Attribute& entry) { return entry.name == key.name; });
    }

    bool empty() const { return entries_.empty(); }
    std::size_t size() const { return entries_.size(); }
    auto begin() const { return entries_.begin(); }
    auto end() const { return entries_.end(); }
    bool operator==(const Attributes&) const = default;

    /// Each size in them, those of index entries too.
    void for_each_size(const std::function<void(const Size&)>& see) const;
    /// Replaces each of them.
    void map_sizes(const std::function<Size(const Size&)>& replace);

  private:
    const Attribute* entry(AttributeName name) const {
        for (const Attribute& entry : entries_)
            if (entry.name == name) return &entry;
        return nullptr;
    }
    [[noreturn]] static void refuse(AttributeName name);

    std::vector<Attribute> entries_;
};

/// "[0:1, X.0, newaxis]"
std::string text_of(const std::vector<IndexEntry>& entries);
/// "[1, 0]"
std::string text_of(const std::vector<int>& axes);
/// Of an index or update of two axes, the index with its entries exchanged: [1:1, j - 1] -> [j - 1, 1:1].
void exchange_axes(Attributes& attributes);
/// The value as programs write it.
std::string value_text(const Attribute& attribute);

} // namespace tilewright::translator
