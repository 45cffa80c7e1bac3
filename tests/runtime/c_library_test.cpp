// tests/runtime/c_library_test.cpp: libkernels.a and kernels.h, linked into a C program by a C compiler.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include "dsl/base/error.h"
#include "dsl/code/static_library.h"
#include "tests/runtime/kernel_files.h"

namespace tilewright::runtime {
namespace {

using dsl::c_header;
using dsl::CFunction;
using dsl::write_static_library;
using tests::kAxpyPlan;
using tests::kernel;
using tests::kKmeansPlan;

class CLibrary : public testing::Test {
  protected:
    void SetUp() override {
#ifdef __SANITIZE_ADDRESS__
        GTEST_SKIP() << "the archive would need the sanitizers' runtime";
#endif
        char pattern[] = "/tmp/tw_c_library_XXXXXX";
        folder_ = mkdtemp(pattern);
        km_ = kernel("km");
        axpy_ = kernel("axpy");
    }
    void TearDown() override {
        if (folder_.empty()) return;
        EXPECT_EQ(std::system(("rm -r " + folder_).c_str()), 0);
    }
    void write(const std::string& name, const std::string& text) {
        std::ofstream(folder_ + "/" + name) << text;
    }
    std::string run(const std::string& command) {
        std::string line = "cd " + folder_ + " && " + command + " > out.txt 2>&1; echo \"exit $?\" >> out.txt";
        EXPECT_EQ(std::system(line.c_str()), 0);
        return tests::read_file(folder_ + "/out.txt");
    }
    std::string folder_, km_, axpy_;
};

TEST_F(CLibrary, ATenLineProgramCallsKmeans) {
    std::vector<CFunction> functions{{"get_labels", kKmeansPlan}, {"axpy", kAxpyPlan}};
    write_static_library(folder_, TW_C_RUNTIME, functions, {{"km", km_}, {"axpy", axpy_}});
    write("kernels.h", c_header(functions));
    write("main.c", R"(#include "kernels.h"
#include <stdio.h>
int main(void) {
    double X[6] = {5, 5, 10, 10, 6, 4}, M[4] = {5, 5, 10, 10};
    int64_t labels[3], x_shape[] = {3, 2}, m_shape[] = {2, 2}, n[] = {3};
    struct tw_array x = tw_contiguous(X, TW_FLOAT64, 2, x_shape), m = tw_contiguous(M, TW_FLOAT64, 2, m_shape);
    struct tw_array out = tw_contiguous(labels, TW_INT64, 1, n);
    if (get_labels(&x, &m, &out) != TW_OK) return puts(tw_last_error()), 1;
    printf("%d %d %d\n", (int)labels[0], (int)labels[1], (int)labels[2]);
}
)");
    EXPECT_EQ(run(std::string(TW_C_COMPILER) +
                  " -std=c99 -Wall -Wextra -Werror main.c libkernels.a -lpthread -ldl -lm -o main && ./main"),
              "0 1 0\nexit 0\n");
    // Scalars by value, overlap with an argument, an unknown result shape, and mistakes.
    write("more.c", R"(#include "kernels.h"
#include <stdio.h>
#include <stdlib.h>
int main(void) {
    double X[6] = {1, 2, 3, 4, 5, 6}, Y[6] = {10, 20, 30, 40, 50, 60};
    int64_t s[] = {2, 3}, t[] = {3, 2};
    struct tw_array x = tw_contiguous(X, TW_FLOAT64, 2, s), y = tw_contiguous(Y, TW_FLOAT64, 2, s), z = tw_contiguous(NULL, TW_FLOAT32, 0, s);
    printf("%d", axpy(2.5, &x, &y, &z));
    printf(" %d %d %d %d\n", z.dtype == TW_FLOAT64, z.rank, (int)z.shape[0], (int)z.shape[1]);
    z.data = malloc(48);
    int rc = axpy(2.5, &x, &y, &z);
    printf("%d %g %g\n", rc, ((double*)z.data)[0], ((double*)z.data)[5]);
    rc = axpy(2.5, &x, &y, &x);
    printf("%d %g %g\n", rc, X[0], X[5]);
    struct tw_array wrong = tw_contiguous(Y, TW_FLOAT64, 2, t), narrow = tw_contiguous(Y, TW_FLOAT32, 2, s);
    rc = axpy(2.5, &x, &wrong, &z);
    printf("%d %s\n", rc, tw_last_error());
    rc = axpy(2.5, &x, &narrow, &z);
    printf("%d %s\n", rc, tw_last_error());
    rc = axpy(2.5, &x, NULL, &z);
    printf("%d %s\n", rc, tw_last_error());
    rc = axpy(2.5, &x, &y, &wrong);
    printf("%d %s\n", rc, tw_last_error());
    free(z.data);
    return 0;
}
)");
    EXPECT_EQ(run(std::string(TW_C_COMPILER) +
                  " -std=c99 -Wall -Wextra -Werror more.c libkernels.a -lpthread -ldl -lm -o more && ./more"),
              "1 1 2 2 3\n0 12.5 75\n0 12.5 75\n"
              "2 axpy: rows differ: X.shape[0] is 2 and Y.shape[0] is 3.\n"
              "2 axpy: Y is float32[2, 3], but it takes float64[:, :].\n"
              "2 axpy: Y is NULL, but it takes float64[:, :].\n"
              "2 axpy: result Z is float64[3, 2], but it needs C-contiguous float64[2, 3].\nexit 0\n");
    // Position independent: the same archive in a shared object, with no other undefined symbols.
    EXPECT_EQ(run(std::string(TW_C_COMPILER) + " -shared -fPIC -Wl,-z,defs -Wl,-u,get_labels libkernels.a -lpthread "
                                               "-ldl -lm -lc -o libk.so && echo shared"),
              "shared\nexit 0\n");
}

TEST_F(CLibrary, ArraysOfADeviceComeWithAStream) {
    const std::string plan = R"(tilewright-plan 1
function same
scalar a float64
arg x float64 1
result y float64 [x.0]
return y
version "cuda"
require isa cuda-sm_80
copy x to y
end
)";
    std::vector<CFunction> functions{{"same", plan}};
    write_static_library(folder_, TW_C_RUNTIME, functions, {});
    const std::string header = c_header(functions);
    EXPECT_NE(header.find("int same_cuda(void* stream, double a_, const struct tw_array* x_, struct tw_array* y_);"),
              std::string::npos)
        << header;
    write("kernels.h", header);
    write("main.c", R"(#include "kernels.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
static double* device_array(void* cuda) {
    unsigned long long address = 0;
    ((int (*)(unsigned long long*, size_t))dlsym(cuda, "cuMemAlloc_v2"))(&address, 24);
    return (double*)address;
}
int main(void) {
    void *cuda = dlopen(getenv("FAKE"), RTLD_NOW), *context = 0;
    int64_t n[] = {3};
    double* X, *Y, host[3] = {0};
    struct tw_array x, y;
    ((int (*)(unsigned))dlsym(cuda, "cuInit"))(0);
    ((int (*)(void**, int))dlsym(cuda, "cuDevicePrimaryCtxRetain"))(&context, 1);
    ((int (*)(void*))dlsym(cuda, "cuCtxSetCurrent"))(context);
    X = device_array(cuda), Y = device_array(cuda);
    X[0] = 1, X[1] = 2, X[2] = 3; /* memory of the fake device is memory */
    x = tw_contiguous(X, TW_FLOAT64, 1, n), y = tw_contiguous(NULL, TW_FLOAT64, 1, n);
    printf("%d", same_cuda(NULL, 0.5, &x, &y));
    y.data = Y;
    printf(" %d", same_cuda(NULL, 0.5, &x, &y));
    printf(" %g %g %g %s\n", Y[0], Y[1], Y[2], tw_last_error());
    y.data = host;
    printf("%d", same_cuda(NULL, 0.5, &x, &y));
    printf(" %s\n", tw_last_error());
    printf("%d", same(0.5, &x, &y));
    printf(" %s\n", tw_last_error());
    return 0;
}
)");
    const std::string build =
        std::string(TW_C_COMPILER) + " -std=c99 -Wall -Wextra main.c libkernels.a -lpthread -ldl -lm -o main";
    EXPECT_EQ(run(build + " && FAKE=" TW_FAKE_DRIVER " TILEWRIGHT_LIBCUDA=" TW_FAKE_DRIVER " ./main"),
              "1 0 1 2 3 same_cuda: a result has no memory yet; its shape was filled in.\n"
              "2 same_cuda: result y is in memory of the host, but the call is for a CUDA device. Copy it there.\n"
              "3 same: no version serves x float64[3] as they lie in memory: one needs arrays on a device of compute "
              "capability 8.0 or later. Tune the function with such arguments too.\nexit 0\n");
    EXPECT_EQ(run("FAKE=" TW_FAKE_DRIVER " TILEWRIGHT_LIBCUDA=/nowhere ./main").substr(0, 55),
              "7 7 0 0 0 same_cuda: cuda: there is no CUDA driver here");
}

TEST_F(CLibrary, ArgumentsAreWrittenAndComplexArraysAreCs) {
    std::string plan = R"(tilewright-plan 1
function squares
arg Z complex128 1 written
arg C complex128 1
scalar c complex128
scalar n int64
return None
version "only"
temp t complex128 [Z.0]
for k from 0 to n step 1 {
  call square in "square" (c.real, c.imag, Z.real, Z.imag, t.real, t.imag)
  copy t to Z
}
end
)";
    std::vector<CFunction> functions{{"squares", plan}};
    std::string square = kernel("square");
    write_static_library(folder_, TW_C_RUNTIME, functions, {{"square", square}});
    std::string header = c_header(functions);
    write("kernels.h", header);
    EXPECT_NE(header.find("/* Z complex128[:] (written), C complex128[:] -> nothing; returns a tw_status. */\n"
                          "int squares(struct tw_array* Z_, const struct tw_array* C_, struct tw_complex128 c_, "
                          "int64_t n_);\n"),
              std::string::npos)
        << header;
    write("main.c", R"(#include "kernels.h"
#include <complex.h>
#include <stdio.h>
int main(void) {
    double _Complex Z[4] = {1, 2 * I, 7, 7}, C[2] = {0, 0};
    int64_t shape[] = {2};
    struct tw_array z = tw_contiguous(Z, TW_COMPLEX128, 1, shape), c = tw_contiguous(C, TW_COMPLEX128, 1, shape);
    struct tw_complex128 by = {0.5, 1};
    int rc = squares(&z, &c, by, 2);
    printf("%d %g %g %g %g %g\n", rc, creal(Z[0]), cimag(Z[0]), creal(Z[1]), cimag(Z[1]), creal(Z[2]));
    c.data = Z + 1;
    rc = squares(&z, &c, by, 2);
    printf("%d %s\n", rc, tw_last_error());
    c.data = C;
    z.strides[0] = 8;
    rc = squares(&z, &c, by, 2);
    printf("%d %s\n", rc, tw_last_error());
    z.strides[0] = 0;
    rc = squares(&z, &c, by, 2);
    printf("%d %s\n", rc, tw_last_error());
    return 0;
}
)");
    EXPECT_EQ(run(std::string(TW_C_COMPILER) +
                  " -std=c99 -Wall -Wextra -Werror main.c libkernels.a -lpthread -ldl -lm -o main && ./main"),
              "0 1.75 4 11.75 -6 7\n"
              "2 squares: Z shares memory with C, and the call writes into it. Pass a copy of one.\n"
              "2 squares: Z is not aligned to its elements. Copy it.\n"
              "2 squares: elements of Z share memory with each other, and the call writes into it. Pass a copy.\n"
              "exit 0\n");
}

TEST_F(CLibrary, AResultApartFromWhatIsWritten) {
    std::string plan = "tilewright-plan 1\nfunction halved\narg A float64 1 written\nresult B float64 [A.0]\nreturn B\n"
                       "version \"only\"\ncall half in \"half\" (A, B)\ncall step in \"step\" (1, A)\nend\n";
    std::vector<CFunction> functions{{"halved", plan}};
    std::string half = kernel("half"), step = kernel("step");
    write_static_library(folder_, TW_C_RUNTIME, functions, {{"half", half}, {"step", step}});
    write("kernels.h", c_header(functions));
    write("main.c", R"(#include "kernels.h"
#include <stdio.h>
int main(void) {
    double A[3] = {1, 2, 3}, B[2];
    int64_t shape[] = {2};
    struct tw_array a = tw_contiguous(A, TW_FLOAT64, 1, shape), b = tw_contiguous(B, TW_FLOAT64, 1, shape);
    int rc = halved(&a, &b);
    printf("%d %g %g %g %g %g\n", rc, A[0], A[1], A[2], B[0], B[1]);
    b.data = A + 1;
    rc = halved(&a, &b);
    printf("%d %s\n", rc, tw_last_error());
    return 0;
}
)");
    EXPECT_EQ(run(std::string(TW_C_COMPILER) +
                  " -std=c99 -Wall -Wextra -Werror main.c libkernels.a -lpthread -ldl -lm -o main && ./main"),
              "0 3 5 3 0.5 1\n2 halved: result B shares memory with A, and the call writes into both.\nexit 0\n");
}

TEST_F(CLibrary, ManyScalarsComeFromRegistersAndStack) {
    std::string plan = "tilewright-plan 1\nfunction many\n";
    for (int i = 0; i < 7; ++i)
        plan += "scalar n" + std::to_string(i) + " int64\n";
    for (int i = 0; i < 9; ++i)
        plan += "scalar a" + std::to_string(i) + " float64\n";
    plan += "scalar c complex128\nscalar flag bool\narg X float64 2\narg Y float64 2\n"
            "guard n0 == 10 \"n0\"\nguard n5 == 15 \"n5\"\nguard n6 == 16 \"n6\"\nresult Z float64 [X.0, X.1]\nreturn "
            "Z\nversion \"only\"\n"
            "call axpy in \"axpy\" (a8, X, Y, Z)\nend\n";
    std::vector<CFunction> functions{{"many", plan}};
    write_static_library(folder_, TW_C_RUNTIME, functions, {{"axpy", axpy_}});
    write("kernels.h", c_header(functions));
    write("main.c", R"(#include "kernels.h"
#include <stdio.h>
int main(void) {
    double X[1] = {2}, Y[1] = {100}, Z[1];
    int64_t s[] = {1, 1};
    struct tw_array x = tw_contiguous(X, TW_FLOAT64, 2, s), y = tw_contiguous(Y, TW_FLOAT64, 2, s), z = tw_contiguous(Z, TW_FLOAT64, 2, s);
    struct tw_complex128 c = {1, 2};
    int rc = many(10, 11, 12, 13, 14, 15, 16, 0, 1, 2, 3, 4, 5, 6, 7, 8.5, c, 1, &x, &y, &z);
    printf("%d %s %g\n", rc, tw_last_error(), Z[0]);
    return 0;
}
)");
    EXPECT_EQ(run(std::string(TW_C_COMPILER) + " main.c libkernels.a -lpthread -ldl -lm -o main && ./main"),
              "0  117\nexit 0\n");
}

TEST_F(CLibrary, AFloatBehindAPairThatFoundOneRegisterTakesThatRegister) {
    std::string plan = "tilewright-plan 1\nfunction pair\n";
    for (int i = 0; i < 7; ++i)
        plan += "scalar n" + std::to_string(i) + " int64\nscalar a" + std::to_string(i) + " float32\n";
    plan += "scalar c complex128\nscalar n7 int64\nscalar d float64\nscalar e complex64\narg X float64 2\n"
            "arg Y float64 2\nguard n6 == 16 \"n6\"\nguard n7 == 17 \"n7\"\nresult Z float64 [X.0, X.1]\nreturn Z\n"
            "version \"only\"\ncall axpy in \"axpy\" (d, X, Y, Z)\nend\n";
    std::vector<CFunction> functions{{"pair", plan}};
    write_static_library(folder_, TW_C_RUNTIME, functions, {{"axpy", axpy_}});
    write("kernels.h", c_header(functions));
    write("main.c", R"(#include "kernels.h"
#include <stdio.h>
int main(void) {
    double X[1] = {2}, Y[1] = {100}, Z[1];
    int64_t s[] = {1, 1};
    struct tw_array x = tw_contiguous(X, TW_FLOAT64, 2, s), y = tw_contiguous(Y, TW_FLOAT64, 2, s), z = tw_contiguous(Z, TW_FLOAT64, 2, s);
    struct tw_complex128 c = {1, 2};
    struct tw_complex64 e = {3, 4};
    int rc = pair(10, 0, 11, 1, 12, 2, 13, 3, 14, 4, 15, 5, 16, 6, c, 17, 8.5, e, &x, &y, &z);
    printf("%d %s %g\n", rc, tw_last_error(), Z[0]);
    return 0;
}
)");
    EXPECT_EQ(run(std::string(TW_C_COMPILER) + " main.c libkernels.a -lpthread -ldl -lm -o main && ./main"),
              "0  117\nexit 0\n");
}

TEST_F(CLibrary, IsTheSameEachTimeAndNamesWhatIsWrong) {
    std::vector<CFunction> functions{{"axpy", kAxpyPlan}};
    for (const char* name : {"/a", "/b"}) {
        ASSERT_EQ(mkdir((folder_ + name).c_str(), 0700), 0);
        write_static_library(folder_ + name, TW_C_RUNTIME, functions, {{"axpy", axpy_}});
    }
    EXPECT_EQ(tests::read_file(folder_ + "/a/libkernels.a"), tests::read_file(folder_ + "/b/libkernels.a"));
    EXPECT_EQ(run("ls a"), "libkernels.a\nexit 0\n");
    auto message = [&](const std::string& folder, const std::string& runtime, const std::string& name) {
        try {
            write_static_library(folder, runtime, {{name, kAxpyPlan}}, {{"axpy", axpy_}});
        } catch (const ExportError& e) {
            return std::string(e.what());
        }
        return std::string("written");
    };
    EXPECT_EQ(message(folder_, TW_C_RUNTIME, "größe"),
              "libkernels.a: 'größe' is not a name in C. Export it under another with --out.");
    EXPECT_EQ(message(folder_, folder_ + "/none.o", "f").substr(0, 14), "libkernels.a: ");
    EXPECT_EQ(message(folder_ + "/no", TW_C_RUNTIME, "f"),
              folder_ + "/no/kernels.o: it cannot be written: No such file or directory. Choose another folder with "
                        "--out.");
}

} // namespace
} // namespace tilewright::runtime
