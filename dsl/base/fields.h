// dsl/base/fields.h: one list of a struct's fields, which whoever writes or reads the struct walks.
//
// Beside a struct stands
//   constexpr auto fields_of(std::type_identity<LoopInfo>) {
//       return std::tuple(Field("name", &LoopInfo::name), Field("reduced", &LoopInfo::reduced), ...);
//   }
//   static_assert(lists_every_field<LoopInfo>);
// so that a field which is not in the list does not compile.
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
