// tests/translator/evaluate_main.cpp: runs programs for a Python test: requests on stdin, results on stdout.
//
// Request, one line each, raw bytes after the lines that announce them:
//   program BYTES            then the text
//   variant NAME OPTION | layout NAME c|f|any | size NAME VALUE | contract NAME | schedule none|vectorize
//   array NAME DTYPE RANK EXTENT... BYTES        then the elements
//   run
// Answer: "ok COUNT" and per result "DTYPE RANK EXTENT... BYTES" and its bytes, or "error BYTES" and the text.
#include <cstdio>
#include <iostream>
#include <sstream>

#include "dsl/base/error.h"
#include "harness.h"

namespace {

using namespace tilewright::translator;

std::string read_bytes(std::size_t count) {
    std::string out(count, '\0');
    std::cin.read(out.data(), static_cast<std::streamsize>(count));
    return out;
}

void answer_error(const std::string& text) {
    std::cout << "error " << text.size() << "\n" << text << std::flush;
}

struct Request {
    std::string program;
    std::map<std::string, harness::Array> arrays;
    harness::RunOptions options;
};

void answer(const Request& request) {
    Program program = read_program(request.program);
    std::vector<harness::Array> results = harness::run(program, request.arrays, request.options);
    std::cout << "ok " << results.size() << "\n";
    for (const harness::Array& array : results) {
        std::cout << array.dtype << " " << array.shape.size();
        for (std::int64_t extent : array.shape)
            std::cout << " " << extent;
        std::cout << " " << array.bytes.size() << "\n";
        std::cout.write(array.bytes.data(), static_cast<std::streamsize>(array.bytes.size()));
    }
    std::cout << std::flush;
}

} // namespace

int main() {
    std::ios::sync_with_stdio(false);
    Request request;
    for (std::string line; std::getline(std::cin, line);) {
        std::istringstream words(line);
        std::string verb;
        std::string name;
        std::string value;
        words >> verb;
        if (verb == "program") {
            std::size_t count = 0;
            words >> count;
            request = Request();
            request.program = read_bytes(count);
        } else if (verb == "array") {
            std::size_t rank = 0;
            std::size_t count = 0;
            harness::Array array;
            words >> name >> array.dtype >> rank;
            array.shape.resize(rank);
            for (std::int64_t& extent : array.shape)
                words >> extent;
            words >> count;
            std::string bytes = read_bytes(count);
            array.bytes.assign(bytes.begin(), bytes.end());
            request.arrays[name] = std::move(array);
        } else if (verb == "run") {
            try {
                answer(request);
            } catch (const tilewright::Error& error) {
                answer_error(error.what());
            } catch (const Halide::Error& error) {
                answer_error(std::string("Halide: ") + error.what());
            } catch (const std::exception& error) {
                answer_error(error.what());
            }
        } else {
            words >> name >> value;
            if (verb == "variant") request.options.translate.variant[name] = value;
            if (verb == "layout")
                request.options.translate.layouts[name] = value == "c"   ? Layout::c
                                                          : value == "f" ? Layout::f
                                                                         : Layout::any;
            if (verb == "size") request.options.translate.sizes_here[name] = std::stoll(value);
            if (verb == "contract") request.options.translate.contract = name;
            if (verb == "schedule" && name == "vectorize") request.options.schedule = harness::vectorize_all;
        }
    }
    return 0;
}
