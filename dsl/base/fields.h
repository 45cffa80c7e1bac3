// dsl/base/fields.h: one list of a struct's fields, which whoever writes or reads the struct walks.
//
// Beside a struct, in its namespace, stands
//   TW_FIELDS(LoopInfo, name, reduced, ...);
// and a field which is not in the list does not compile.
#pragma once

#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>

namespace tilewright::dsl {

template <class Struct, class Value> struct Field {
    constexpr Field(const char* field_name, Value Struct::*field) : name(field_name), member(field) {}
    const char* name;
    Value Struct::*member;
};

template <class Struct>
concept HasFields = requires {
    fields_of(std::type_identity<std::remove_const_t<Struct>>{});
};

/// Calls `visit(name, member)` for each field, in the list's order.
template <HasFields Struct, class Visit> constexpr void visit_fields(Struct& object, Visit&& visit) {
    std::apply([&](const auto&... field) { (visit(field.name, object.*(field.member)), ...); },
               fields_of(std::type_identity<std::remove_const_t<Struct>>{}));
}

namespace detail {

struct AnyValue {
    template <class Value> operator Value() const;
};

template <class Struct, std::size_t... Index> constexpr bool is_made_of(std::index_sequence<Index...>) {
    return requires {
        Struct{(static_cast<void>(Index), AnyValue{})...};
    };
}

} // namespace detail

/// How many fields an aggregate has.
template <class Struct, std::size_t AtLeast = 0> constexpr std::size_t count_fields() {
    if constexpr (detail::is_made_of<Struct>(std::make_index_sequence<AtLeast + 1>{}))
        return count_fields<Struct, AtLeast + 1>();
    else
        return AtLeast;
}

template <HasFields Struct>
inline constexpr bool lists_every_field = std::tuple_size_v<decltype(fields_of(std::type_identity<Struct>{}))> ==
                                          count_fields<Struct>();

} // namespace tilewright::dsl

// A macro that names itself is not expanded again while it is being expanded, but by the scans behind that: one for
// each field, of which TW_SCANS has more than any list.
#define TW_SCANS(...) TW_SCANS_4(TW_SCANS_4(TW_SCANS_4(TW_SCANS_4(__VA_ARGS__))))
#define TW_SCANS_4(...) TW_SCANS_1(TW_SCANS_1(TW_SCANS_1(TW_SCANS_1(__VA_ARGS__))))
#define TW_SCANS_1(...) TW_SCAN(TW_SCAN(TW_SCAN(__VA_ARGS__)))
#define TW_SCAN(...) __VA_ARGS__
#define TW_NO_ARGUMENTS ()
#define TW_FIELD_AND_REST() TW_FIELD
#define TW_FIELD(Struct, field, ...)                                                                                   \
    ::tilewright::dsl::Field(#field, &Struct::field)                                                                   \
        __VA_OPT__(, TW_FIELD_AND_REST TW_NO_ARGUMENTS(Struct, __VA_ARGS__))

/// Some of a struct's fields.
#define TW_SOME_FIELDS(Struct, ...)                                                                                    \
    constexpr auto fields_of(std::type_identity<Struct>) {                                                             \
        return std::tuple(TW_SCANS(TW_FIELD(Struct, __VA_ARGS__)));                                                    \
    }
/// All of them.
#define TW_FIELDS(Struct, ...)                                                                                         \
    TW_SOME_FIELDS(Struct, __VA_ARGS__)                                                                                \
    static_assert(::tilewright::dsl::lists_every_field<Struct>)
