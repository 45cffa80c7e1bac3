// tests/autotune/space_programs.h: programs whose spaces the tests look at.
#pragma once

namespace tilewright::autotune {

inline constexpr const char* kKmeans = R"(tilewright-program 1
function kmeans
arg X: float64[X.0, X.1]
arg means: float64[means.0, X.1]
guard means.0 >= 1 "empty"
%1: float64[means.0, 1, X.1] = index(means) {index=[0:1, newaxis, 0:1]}
%2: float64[means.0, X.0, X.1] = subtract(X, %1)
%3: float64[means.0, X.0, X.1] = multiply(%2, %2)
norm: float64[means.0, X.0] = sum(%3) {axes=[2]}
%4: float64[means.0, X.0] = sqrt(norm)
argmin: int64[X.0] = argmin(%4) {axis=0}
return argmin
)";

inline constexpr const char* kExp = R"(tilewright-program 1
function f
arg x: float64[x.0]
%1: float64[x.0] = sin(x)
y: float64[x.0] = exp(%1)
return y
)";

inline constexpr const char* kLaplace = R"(tilewright-program 1
function f
arg x: float64[x.0, x.1]
guard x.0 >= 2 "rows"
guard x.1 >= 2 "columns"
%1: float64[x.0 - 2, x.1 - 2] = index(x) {index=[1:1, 0:1]}
%2: float64[x.0 - 2, x.1 - 2] = index(x) {index=[2:1, 1:1]}
y: float64[x.0 - 2, x.1 - 2] = add(%1, %2)
return y
)";

/// A named step that two stages read at two places each.
inline constexpr const char* kStencilSteps = R"(tilewright-program 1
function f
arg u: float64[u.0, u.1]
guard u.0 >= 4 "rows"
%1: float64[u.0 - 2, u.1] = index(u) {index=[0:1, 0:1]}
%2: float64[u.0 - 2, u.1] = index(u) {index=[1:1, 0:1]}
%3: float64[u.0 - 2, u.1] = index(u) {index=[2:1, 0:1]}
%4: float64[u.0 - 2, u.1] = add(%1, %3)
%5: float64[u.0 - 2, u.1] = multiply(%2, %4)
%6: float64[u.0 - 2, u.1] = subtract(%5, %2)
step: float64[u.0 - 2, u.1] = multiply(%6, %6)
%7: float64[u.0 - 3, u.1] = index(step) {index=[0:1, 0:1]}
%8: float64[u.0 - 3, u.1] = index(step) {index=[1:1, 0:1]}
up: float64[u.0 - 3, u.1] = subtract(%8, %7)
down: float64[u.0 - 3, u.1] = multiply(%8, %7)
y: float64[u.0 - 3, u.1] = add(up, down)
return y
)";

/// One step of a diffusion whose fluxes are exponentials, each read at two places.
inline constexpr const char* kDearFluxes = R"(tilewright-program 1
function f
arg u: float64[u.0, u.1]
guard u.0 >= 3 "rows"
%1: float64[u.0 - 1, u.1] = index(u) {index=[0:1, 0:1]}
%2: float64[u.0 - 1, u.1] = index(u) {index=[1:1, 0:1]}
%3: float64[u.0 - 1, u.1] = subtract(%2, %1)
%4: float64[u.0 - 1, u.1] = exp(%3)
flux: float64[u.0 - 1, u.1] = multiply(%4, %3)
%5: float64[u.0 - 2, u.1] = index(flux) {index=[0:1, 0:1]}
%6: float64[u.0 - 2, u.1] = index(flux) {index=[1:1, 0:1]}
y: float64[u.0 - 2, u.1] = subtract(%6, %5)
return y
)";

/// Exponentials of what lies above a row's sum, each read at two places: the sums belong to where these are computed.
inline constexpr const char* kDearOfSums = R"(tilewright-program 1
function f
arg u: float64[u.0, u.1]
guard u.0 >= 2 "rows"
m: float64[u.0] = sum(u) {axes=[1]}
%1: float64[u.0, 1] = index(m) {index=[0:1, newaxis]}
%2: float64[u.0, u.1] = subtract(u, %1)
e: float64[u.0, u.1] = exp(%2)
%3: float64[u.0 - 1, u.1] = index(e) {index=[0:1, 0:1]}
%4: float64[u.0 - 1, u.1] = index(e) {index=[1:1, 0:1]}
y: float64[u.0 - 1, u.1] = subtract(%4, %3)
return y
)";

/// The nearest of some points, of which each result looks at all.
inline constexpr const char* kNearest = R"(tilewright-program 1
function f
arg q: float64[q.0, 2]
arg p: float64[p.0, 2]
guard p.0 >= 1 "empty"
%1: float64[q.0, 1, 2] = index(q) {index=[0:1, newaxis, 0:1]}
%2: float64[1, p.0, 2] = index(p) {index=[newaxis, 0:1, 0:1]}
%3: float64[q.0, p.0, 2] = subtract(%1, %2)
%4: float64[q.0, p.0, 2] = multiply(%3, %3)
d: float64[q.0, p.0] = sum(%4) {axes=[2]}
nearest: int64[q.0] = argmin(d) {axis=1}
return nearest
)";

inline constexpr const char* kSoftmax = R"(tilewright-program 1
function softmax
arg x: float32[x.0, x.1]
guard x.1 >= 1 "empty"
max: float32[x.0] = max(x) {axes=[1]}
%1: float32[x.0, 1] = index(max) {index=[0:1, newaxis]}
%2: float32[x.0, x.1] = subtract(x, %1)
e: float32[x.0, x.1] = exp(%2)
sum: float32[x.0] = sum(e) {axes=[1]}
%3: float32[x.0, 1] = index(sum) {index=[0:1, newaxis]}
divide: float32[x.0, x.1] = divide(e, %3)
return divide
)";

inline constexpr const char* kMandelbrot = R"(tilewright-program 1
function mandelbrot
arg x: float32[x.0]
arg y: float32[y.0, 1]
scalar maxiter: int64
%1: int64[] = const() {value=0}
%2: int64[y.0, x.0] = broadcast_to(%1)
%3: float32[] = const() {value=0.0}
%4: float32[y.0, x.0] = broadcast_to(%3)
%5: float32[] = const() {value=16.0}
N: int64[y.0, x.0], A: float32[y.0, x.0], B: float32[y.0, x.0] = for n in range(0, maxiter, 1) carry (N_2: int64[y.0, x.0] = %2, A_2: float32[y.0, x.0] = %4, B_2: float32[y.0, x.0] = %4) {
  a2: float32[y.0, x.0] = multiply(A_2, A_2)
  b2: float32[y.0, x.0] = multiply(B_2, B_2)
  %6: float32[y.0, x.0] = add(a2, b2)
  I: bool[y.0, x.0] = less(%6, %5)
  %7: int64[] = scalar_size() {size=n}
  N_3: int64[y.0, x.0] = where(I, %7, N_2)
  %8: float32[y.0, x.0] = subtract(a2, b2)
  %9: float32[y.0, x.0] = add(%8, x)
  A_3: float32[y.0, x.0] = where(I, %9, A_2)
  %10: float32[y.0, x.0] = multiply(A_2, B_2)
  %11: float32[y.0, x.0] = add(%10, %10)
  %12: float32[y.0, x.0] = add(%11, y)
  B_3: float32[y.0, x.0] = where(I, %12, B_2)
  yield N_3, A_3, B_3
}
return (A, B, N)
)";

/// A loop over one axis, read at its own elements and as a sum.
inline constexpr const char* kRecurrence = R"(tilewright-program 1
function f
arg x: float64[x.0]
scalar k: int64
z: float64[x.0] = for t in range(0, k, 1) carry (y: float64[x.0] = x) {
  %1: float64[x.0] = multiply(y, x)
  yield %1
}
%2: float64[x.0] = add(z, x)
s: float64[] = sum(z) {axes=[0]}
return (%2, s)
)";

/// `e` is read at two places; what it computes is more than a few operations.
inline constexpr const char* kTwice = R"(tilewright-program 1
function f
arg x: float64[x.0]
guard x.0 >= 1 "empty"
%1: float64[x.0] = exp(x)
%2: float64[x.0] = sin(x)
e: float64[x.0] = multiply(%1, %2)
%3: float64[x.0 - 1] = index(e) {index=[1:1]}
%4: float64[x.0 - 1] = index(e) {index=[0:1]}
y: float64[x.0 - 1] = multiply(%3, %4)
return y
)";

inline constexpr const char* kColumnSums = R"(tilewright-program 1
function f
arg x: float64[x.0, x.1]
sum: float64[x.1] = sum(x) {axes=[0]}
return sum
)";

/// X.T @ f(X @ w): what is computed from each row weighs it in a sum over all rows.
inline constexpr const char* kWeighedRows = R"(tilewright-program 1
function f
arg X: float64[X.0, X.1]
arg w: float64[X.1]
%1: float64[X.0, X.1] = multiply(X, w)
dot: float64[X.0] = sum(%1) {axes=[1]}
p: float64[X.0] = exp(dot)
%2: float64[X.1, X.0] = transpose(X) {axes=[1, 0]}
%3: float64[X.1, X.0] = multiply(%2, p)
total: float64[X.1] = sum(%3) {axes=[1]}
return total
)";

/// Steps over an array, each of which also writes its border.
inline constexpr const char* kSteps = R"(tilewright-program 1
function f
arg A: float64[A.0, A.1]
scalar k: int64
guard A.0 >= 2 "rows"
guard A.1 >= 2 "columns"
B: float64[A.0, A.1] = for t in range(0, k, 1) carry (A_2: float64[A.0, A.1] = A) {
  %1: float64[A.0 - 2, A.1 - 2] = index(A_2) {index=[1:1, 2:1]}
  %2: float64[A.0 - 2, A.1 - 2] = index(A_2) {index=[1:1, 0:1]}
  %3: float64[A.0 - 2, A.1 - 2] = add(%1, %2)
  %4: float64[A.0 - 2, A.1 - 2] = multiply(%3, %3)
  %5: float64[A.0 - 2, A.1 - 2] = multiply(%4, %3)
  %6: float64[A.0 - 2, A.1 - 2] = add(%5, %2)
  A_3: float64[A.0, A.1] = update(A_2, %6) {index=[1:1, 1:1]}
  %7: float64[A.1] = index(A_3) {index=[1, 0:1]}
  A_4: float64[A.0, A.1] = update(A_3, %7) {index=[0, 0:1]}
  yield A_4
}
return B
)";

/// A product of matrices written as a sum: the terms of an element are added one by one.
inline constexpr const char* kSumOfProducts = R"(tilewright-program 1
function f
arg a: float32[a.0, a.1]
arg b: float32[a.1, b.1]
%1: float32[a.0, a.1, 1] = index(a) {index=[0:1, 0:1, newaxis]}
%2: float32[1, a.1, b.1] = index(b) {index=[newaxis, 0:1, 0:1]}
%3: float32[a.0, a.1, b.1] = multiply(%1, %2)
sum: float32[a.0, b.1] = sum(%3) {axes=[1]}
return sum
)";

/// Points, each coordinate by a factor of its own: no loop over all elements.
inline constexpr const char* kScaledRows = R"(tilewright-program 1
function f
arg x: float64[x.0, x.1]
arg c: float64[x.1]
y: float64[x.0, x.1] = multiply(x, c)
return y
)";

/// A picture, each colour by a factor of its own.
inline constexpr const char* kScaledColours = R"(tilewright-program 1
function f
arg x: float64[x.0, x.1, x.2]
arg c: float64[x.2]
y: float64[x.0, x.1, x.2] = multiply(x, c)
return y
)";

/// Vectors, each by its sum of squares.
inline constexpr const char* kUnitRows = R"(tilewright-program 1
function f
arg x: float64[x.0, x.1]
%1: float64[x.0, x.1] = multiply(x, x)
sum: float64[x.0] = sum(%1) {axes=[1]}
%2: float64[x.0, 1] = index(sum) {index=[0:1, newaxis]}
y: float64[x.0, x.1] = divide(x, %2)
return y
)";

/// Points in place, and their first column alone.
inline constexpr const char* kWrittenRows = R"(tilewright-program 1
function f
arg x: float64[x.0, x.1]
guard x.1 >= 1 "columns"
%1: float64[x.0, x.1] = multiply(x, x)
%2: float64[x.0] = index(%1) {index=[0:1, 0]}
%3: float64[x.0] = add(%2, %2)
%4: float64[x.0, x.1] = update(%1, %3) {index=[0:1, 0]}
write x = %4
return none
)";

inline constexpr const char* kTotal = R"(tilewright-program 1
function f
arg x: float64[x.0]
sum: float64[] = sum(x) {axes=[0]}
return sum
)";

/// Each product is read by the update of a search that has a loop nest of its own: its result is read per pair.
inline constexpr const char* kReadByAnUpdate = R"(tilewright-program 1
function f
arg a: int16[a.0, a.1, 1]
guard a.0 >= 1 "empty"
%1: int64[a.0, a.1, 1] = cast(a)
prod: int64[a.0, a.1] = prod(%1) {axes=[2]}
best: int64[a.1] = argmax(prod) {axis=0}
%3: bool[a.0, a.1, 1] = equal(a, a)
%4: int64[a.0, a.1, 1] = cast(%3)
y: bool[a.0, a.1, a.1] = greater_equal(%4, best)
return y
)";

/// `w` is the same for every element of the result.
inline constexpr const char* kTable = R"(tilewright-program 1
function f
arg X: float64[X.0]
arg m: float64[m.0, m.1]
guard m.0 >= 1 "empty"
w: float64[m.0] = sum(m) {axes=[1]}
%1: float64[m.0, 1] = index(w) {index=[0:1, newaxis]}
%2: float64[m.0, X.0] = subtract(X, %1)
%3: float64[m.0, X.0] = absolute(%2)
argmin: int64[X.0] = argmin(%3) {axis=0}
return argmin
)";

/// The reduced loop is half as long as a size.
inline constexpr const char* kHalfAnAxis = R"(tilewright-program 1
function f
arg a: uint32[a.0, a.1]
guard a.0 // 2 >= 1 "empty"
%1: uint32[a.0 // 2, a.1] = index(a) {index=[1:2, 0:1]}
argmin: int64[a.1] = argmin(%1) {axis=0}
return argmin
)";

/// A mean inside of the sum of squares of a standard deviation that is written into parts of a result.
inline constexpr const char* kStdIntoParts = R"(tilewright-program 1
function f
arg a: float64[a.0, a.1]
std: float64[a.1] = sum(a) {axes=[0]}
%2: float64[1, a.1] = index(std) {index=[newaxis, 0:1]}
%3: int64[] = scalar_size() {size=a.0}
%4: float64[] = cast(%3)
%5: float64[1, a.1] = divide(%2, %4)
%6: float64[a.0, a.1] = subtract(a, %5)
%7: float64[a.0, a.1] = square(%6)
std_2: float64[a.1] = sum(%7) {axes=[0]}
v1: float64[a.1] = sqrt(std_2)
%9: float64[] = const() {value=0.0}
%10: float64[2*a.1] = broadcast_to(%9)
%11: float64[2*a.1] = update(%10, v1) {index=[0:1]}
update: float64[2*a.1] = update(%11, v1) {index=[a.1:1]}
return update
)";

/// One result is computed from the other.
inline constexpr const char* kTwoResults = R"(tilewright-program 1
function f
arg x: float64[x.0]
v: float64[x.0] = exp(x)
w: float64[x.0] = multiply(v, v)
return (v, w)
)";

} // namespace tilewright::autotune
