// tests/translator/program_cases.h: programs that several tests read.
#pragma once

namespace tilewright::translator::harness {

inline constexpr const char* kKMeans = R"(tilewright-program 1
function get_labels "kmeans.py"
arg X: float64[X.0, X.1]
arg means: float64[means.0, X.1]
guard means.0 >= 1 "attempt to get argmin of an empty sequence" @8
%1: float64[means.0, 1, X.1] = index(means) {index=[0:1, newaxis, 0:1]} @8
%2: float64[means.0, X.0, X.1] = subtract(X, %1) @8
%3: float64[means.0, X.0, X.1] = multiply(%2, %2) @8
norm: float64[means.0, X.0] = sum(%3) {axes=[2]} @8
%4: float64[means.0, X.0] = sqrt(norm) @8
argmin: int64[X.0] = argmin(%4) {axis=0} @8
return argmin
)";

inline constexpr const char* kSoftmax = R"(tilewright-program 1
function softmax "soft max.py"
arg A: float32[A.0, A.1]
arg B: float32[A.1, B.1]
scalar a: float64
guard B.1 >= 1 "zero-size \"array\" to\\reduction" @3
z: float32[A.0, B.1] = matmul(A, B) @2
max: float32[A.0] = max(z) {axes=[1]} @3
%1: float32[A.0, 1] = index(max) {index=[0:1, newaxis]} @3
%2: float32[A.0, B.1] = subtract(z, %1) @3
e: float32[A.0, B.1] = exp(%2) @3
sum: float32[A.0] = sum(e) {axes=[1]} @4
%3: float32[A.0, 1] = index(sum) {index=[0:1, newaxis]} @4
%4: float32[A.0, B.1] = divide(e, %3) @4
return (%4, A)
)";

inline constexpr const char* kCalls = R"text(tilewright-program 1
function spectrum "spectrum.py"
arg a: float64[a.0, a.0]
guard a.0 == a.1 "a is not square" @2
eigh: int64[] = call(a) {callee="numpy.linalg.eigh($0) as r1"} @2
%1: float64[a.0] = call(eigh) {callee="r1.eigenvalues"} @2
y: float64[a.0] = multiply(%1, %1) @3
join: float64[a.0] = call(y, a) {callee="mine($0, $1, \"(a, b\", sep=\"\\\\\")"} @4
unique: int64[] = call(join) {callee="numpy.unique($0) as r3"} @5
return (held(unique), join)
)text";

inline constexpr const char* kRegions = R"(tilewright-program 1
function mandel
arg Z: float64[Z.0]
scalar maxiter: int64
zero: int64[Z.0] = iota() {axis=0}
Z2: float64[Z.0], N2: int64[Z.0] = for i in range(0, maxiter, 1) carry (Z1: float64[Z.0] = Z, N1: int64[Z.0] = zero) {
  %1: bool[Z.0] = less(Z1, Z1) @3
  %2: bool[] = any(%1) {axes=[0]}
  Z3: float64[Z.0] = if %2 {
    %3: float64[Z.0] = add(Z1, Z1)
    yield %3
  } else {
    yield Z1
  } @5
  yield Z3, N1
} @2
x2: float64[Z.0] = while carry (x1: float64[Z.0] = Z2) {
  %5: bool[Z.0] = less(x1, x1)
  %6: bool[] = any(%5) {axes=[0]}
  yield %6
} do {
  %7: float64[Z.0] = add(x1, x1)
  yield %7
}
return (x2, N2)
)";

inline constexpr const char* kWrites = R"(tilewright-program 1
function step
scalar maxiter: int64
scalar horizon: float64
arg C: complex128[C.0, C.1]
arg Z: complex128[C.0, C.1]
arg N: int64[C.0, C.1]
guard maxiter >= 1 "the function was traced where maxiter >= 1." @1
%1: complex128[] = const() {value=0.0-1.0j}
%2: complex128[C.0, C.1] = multiply(C, %1) @2
sum: complex128[C.0] = sum(%2) {axes=[1]} @2
Z_2: complex128[C.0, C.1], N_2: int64[C.0, C.1] = for n in range(maxiter - 1, -1, -1) carry (Z_3: complex128[C.0, C.1] = Z, N_3: int64[C.0, C.1] = N) {
  %3: float64[C.0, C.1] = absolute(Z_3) @3
  I: bool[C.0, C.1] = less(%3, horizon) @3
  %4: int64[] = scalar_size() {size=n} @4
  %5: int64[C.0, C.1] = where(I, %4, N_3) @4
  %6: complex128[C.0, C.1] = square(Z_3) @5
  %7: complex128[C.0, C.1] = conjugate(%6) @5
  s: complex128[C.0] = for j in range(0, min(n + 1, C.1), 1) carry (s_2: complex128[C.0] = sum) {
    %8: complex128[C.0] = index(%7) {index=[0:1, j]} @6
    %9: complex128[min(n + 1, C.0)] = index(%8) {index=[0:1]} @6
    s_3: complex128[C.0] = update(s_2, %9) {index=[0:1]} @6
    yield s_3
  } @6
  yield %7, %5
} @2
write Z = Z_2
write N = N_2
return ()
)";

inline constexpr const char* kFromData = R"(tilewright-program 1
function spmv
arg rows: int64[rows.0]
arg columns: int64[columns.0]
arg x: float64[x.0]
guard x.0 >= 1 "index is out of bounds for axis 0 with size 0" @9
zero: float64[] = const() {value=0.0}
%1: float64[rows.0] = broadcast_to(zero)
%2: int64[] = scalar_size() {size=x.0}
%3: bool[columns.0] = less(columns, %2)
inside: bool[] = all(%3) {axes=[0]}
y: float64[rows.0] = for i in range(0, rows.0, 1) carry (y_2: float64[rows.0] = %1) {
  %4: int64[] = index(rows) {index=[i]}
  %5: int64[] = minimum(%4, %4)
  n: size = read(%5) {min=0, max=columns.0} @8
  %6: int64[n] = index(columns) {index=[0:1]} @9
  part: float64[n] = take(x, %6) {axis=0} @9
  sum: float64[] = sum(part) {axes=[0]} @9
  y_3: float64[rows.0] = update(y_2, sum) {index=[i]} @9
  yield y_3
} @7
%7: int64[] = index(rows) {index=[0]}
check inside "line 9: an index \"out of bounds\" for axis 0"
write x = x
return (y, int(%7))
)";

} // namespace tilewright::translator::harness
