// dsl/base/halide_guard.h: Halide's exceptions become ours. Halide::Error does not derive from std::exception, so a
// plain catch misses it; every call into Halide that may fail goes through here.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "Halide.h"
#include "dsl/base/error.h"

namespace tilewright {

/// Halide's message as a part of a sentence of ours: no "Error: " in front, no list of arguments behind, one line.
inline std::string halide_message(const Halide::Error& error) {
    std::string_view text = error.what();
    for (std::string_view prefix : {std::string_view("Error: "), std::string_view("Internal Error")}) {
        if (text.starts_with(prefix)) text.remove_prefix(prefix.size());
    }
    text = text.substr(0, text.find("\nVars:"));
    std::string line;
    for (char c : text) {
        if (c != '\n') {
            line += c;
        } else if (!line.empty() && line.back() != ' ') {
            line += ' ';
        }
    }
    while (!line.empty() && (line.back() == ' ' || line.back() == '.'))
        line.pop_back();
    return line.empty() ? "Halide failed without saying why" : line;
}

/// Runs `body`; what Halide throws is thrown again as ErrorType with `where` in front ("labels.vectorize(i, 16)").
template <class ErrorType, class Body> auto guarded(const std::string& where, Body&& body) -> decltype(body()) {
    try {
        return std::forward<Body>(body)();
    } catch (const Halide::Error& error) {
        throw ErrorType((where.empty() ? "" : where + ": ") + halide_message(error) + ".");
    }
}
template <class Body> auto guarded(const std::string& where, Body&& body) -> decltype(body()) {
    return guarded<ScheduleError>(where, std::forward<Body>(body));
}
template <class Body> auto guarded(Body&& body) -> decltype(body()) {
    return guarded<ScheduleError>(std::string(), std::forward<Body>(body));
}

} // namespace tilewright
