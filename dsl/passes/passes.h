// dsl/passes/passes.h: what is done to a pipeline before it is lowered, and to its statement behind Halide's lowering.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "Halide.h"
#include "dsl/model/algorithm_impl.h"

namespace tilewright::dsl {

/// For emit() and for code that runs stages through Halide's JIT: call it once, after all directives were applied.
/// `converts_halves`: whether the target has instructions between float16 and float32.
void add_passes(Halide::Pipeline& pipeline, bool converts_halves);

/// Makes a pipeline branch around statements with markers of rare values (markers.h) at the end of its lowering, at
/// most two copies of each, or takes a plain select where no branch can stand (loop bounds, atomics). Keeps Tuple
/// updates simultaneous too (protect_tuple_updates), which code that uses Halide's JIT under strict_float needs as
/// well.
void add_rare_path_pass(Halide::Pipeline& pipeline);

/// Halide 21 stores the elements of a Tuple one by one where no element's new value needs another's old one. It looks
/// for such needs without looking into calls, and under strict_float every comparison is a call. So
///   best(i) = {select(x < best(i)[0], x, best(i)[0]), select(x < best(i)[0], r, best(i)[1])}
/// is stored as two updates, and the second one compares with the first one's result: argmin is always 0, silently.
/// This gives each element a visible use of what it needs, select(never, best(i)[0], value), in every definition that
/// the pipeline reaches, and adds a lowering pass that makes `never` false. Directives must have been applied before,
/// since rfactor and atomic recognize updates by their shape.
void protect_tuple_updates(Halide::Pipeline& pipeline);

/// Tails such as predicate and shift_inwards_and_blend put predicates on loads and stores. Halide's code generation
/// knows them for vectors alone: a loop that is not vectorized, or the scalar tail of one that is, ends in an LLVM
/// assertion. This turns
///   predicate(c) out[i] = x[i]   ->   if (c) out[i] = x[i]
///   predicate(c) x[i]            ->   c ? x[i] : 0
/// It also turns a vector that is read backwards from a constant place round, and fails where the lanes that the
/// predicate leaves out lie in front of the array (`b[:, ::-1]` of five columns): those are read lane by lane.
Halide::Internal::Stmt branch_scalar_predicates(const Halide::Internal::Stmt& statement);

/// Halide knows that outputs may begin anywhere when it stores to them, but takes loads from an output (an update, or a
/// stage that reads it) for loads from its own, aligned memory. On arrays of NumPy, aligned to 16 bytes, that faults.
/// An allocation of one element is a plain variable on the stack, but vectors that use that element alone still
/// load and store it as aligned memory, which faults too. This forgets what Halide knows about the alignment of both.
Halide::Internal::Stmt forget_alignment(const Halide::Internal::Stmt& statement, const std::set<std::string>& outputs);

/// A tree over the lanes of a sum or product of floats is one number of loads from neighbouring places, which LLVM puts
/// into short vectors again, if at all:
///     (x[i] + x[i + 2]) + (x[i + 1] + x[i + 3])   ->   v = x[ramp(i, 1, 4)]; w = low half of v + high half; w[0] +
///     w[1]
/// In the same order: each lane adds what stood at its place in the tree.
Halide::Internal::Stmt add_lanes_in_vectors(const Halide::Internal::Stmt& statement);

/// Halide refuses to generate code for a float divided by a constant zero, also where the constant is what its own
/// simplification made of an expression (x - x of integers). Here that is an infinity or NaN as for everyone:
///   a / 0.0   ->   a / reinterpret(float, bits of 0.0)
Halide::Internal::Stmt hide_zero_divisors(const Halide::Internal::Stmt& statement);

/// A bool is a byte in memory. Of a stage that is inlined nothing goes through memory, but Halide keeps the
/// conversions, for which vectors of bits are packed and spread again. This turns
///   uint8(condition) != 0   ->   condition
///   select(!condition, a, b)   ->   select(condition, b, a)
Halide::Internal::Stmt plain_truths(const Halide::Internal::Stmt& statement);

/// Halide's loops have no exit. Once vectors and unrolled iterations stand (a "visit" is one run of the innermost
/// serial loop's body that holds markers), this turns
///   for t in a .. a + n { visit }
/// into
///   for s in blocks of 1024 visits { if (alive()) for b in blocks of 32 { if (alive()) for t in visits { if (alive())
///   visit } } }
/// where alive() says whether any lane of any element of the visit is alive at its first iteration. A group whose
/// elements are all done then costs a test for 1024 visits. All markers are gone afterwards.
Halide::Internal::Stmt exit_early(const Halide::Internal::Stmt& statement);

/// A tail that is guarded masks the stores of a vector, and a loop of a constant number of vectors runs on behind the
/// last element: where the array ends long before a block does, most of its iterations store nothing. Each costs
/// hundreds of cycles where its mask leaves out memory that is not there. Such loops of the host end behind the last
/// iteration that any mask lets through.
Halide::Internal::Stmt skip_masked_iterations(const Halide::Internal::Stmt& statement);

/// Stores to these outputs go to their place in the buffer. Where the kernel reads the buffer as well, stores go
/// through the name that it is read by: the compiler takes memory of two names for two memories.
Halide::Internal::Stmt place_outputs(Halide::Internal::Stmt statement, const std::vector<PlacedOutput>& outputs);

/// Halide knows the halves of a complex array as two buffers with strides of two elements, and stores a vector to each
/// element by element. Where both halves of an element are stored one after the other, this makes one store of them:
///     z.0[ramp(b, 2, 16)] = x; z.1[ramp(b, 2, 16)] = y   ->   z.0[ramp(b, 1, 32)] = interleave(x, y)
/// The second buffer begins one element behind the first and has its strides.
Halide::Internal::Stmt interleave_halves(const Halide::Internal::Stmt& statement, const std::vector<Halves>& halves);

/// Before each statement inside the named loops that loads a dense vector from one of `arguments`, the cache lines
/// that lie `bytes_ahead` further on are prefetched, once for each place of memory. Loads that do not move with the
/// loop get none. Halide's own prefetch() walks the box of a stage's reads in every dimension instead: a line for each
/// row of points, where consecutive rows share one.
Halide::Internal::Stmt insert_prefetches(const Halide::Internal::Stmt& statement,
                                         const std::vector<PrefetchLines>& prefetches,
                                         const std::set<std::string>& arguments);

/// What becomes of the markers between float16 and float32 (markers.h): the target's instructions, or the same bits by
/// arithmetic of integers.
Halide::Internal::Stmt lower_half_floats(const Halide::Internal::Stmt& statement, bool as_instructions);

/// Code generation for x86-64 before SSE 4.1 rounds by way of integers: what does not fit them becomes their least, and
/// -0.25 becomes 0.0. This turns, of floats up to 2^52,
///   round(x)   ->   copysign((|x| + 2^52) - 2^52, x)
Halide::Internal::Stmt round_to_even(const Halide::Internal::Stmt& statement);

/// Sends dense vector stores of the named outputs, where they turn out to be aligned to a cache line, through the
/// marked base of memory_hints.h, and puts a fence behind them: at the end of each task of a parallel loop and of the
/// kernel.
Halide::Internal::Stmt stream_stores(const Halide::Internal::Stmt& statement,
                                     const std::vector<NonTemporalStores>& outputs);

// Of CUDA devices, in their order.

/// What becomes of extremes (markers.h): max.NaN.f32 and min.NaN.f32 of devices of compute capability 8.0 and later, or
/// the same values by comparisons and bits, on any target.
Halide::Internal::Stmt lower_device_extremes(const Halide::Internal::Stmt& statement, bool as_instructions);

/// All arrays of a device's kernel lie on the device. This takes Halide's copies to it out, makes a kernel return the
/// error of an allocation that failed, and leaves nothing of device memory to be looked at by the host.
/// Throws ScheduleError where a stage runs on the host, where a block has more threads than CUDA allows, or a number of
/// them that is not constant, and where it needs more memory than there is.
Halide::Internal::Stmt device_launches(const Halide::Internal::Stmt& statement);

/// Halide lifts what is the same for all elements, such as the sine of a scalar argument, in front of a kernel, where
/// the host would compute it; libdevice and PTX's own operations are not there. This moves such values back, to the
/// start of each block of the kernels that read them.
Halide::Internal::Stmt device_functions_in_blocks(const Halide::Internal::Stmt& statement);

/// Code generation loads and stores four aligned values at once, and takes arrays to begin at multiples of 16 bytes,
/// which views of arrays do not: nothing is claimed of alignment in loops over blocks. Devices have no masked vector
/// loads and stores, and masked ones of memory that a block shares end in an assertion of LLVM's. This turns there
///   x[ramp] if (mask), x[ramp] = v if (mask)   ->   for each element: if (mask) load or store
Halide::Internal::Stmt branch_device_predicates(const Halide::Internal::Stmt& statement);

/// Several elements that a thread computes one after the other (an unrolled loop inside of the threads)
///   if (i0 < n) { if (rare(x0)) slow else fast }  if (i1 < n) { if (rare(x1)) slow else fast }
/// become
///   if (i0 < n && i1 < n) { fast; fast; if (rare(x0) || rare(x1)) { all of it again, with its branches } } else { as
///   before }
/// Code generation moves no load over a branch, so a thread would wait for memory once for each element. All marks of
/// rare branches are gone afterwards.
Halide::Internal::Stmt whole_threads(const Halide::Internal::Stmt& statement);
/// Marks the condition of a branch to a rare path inside of a device's threads.
Halide::Expr mark_rare_branch(const Halide::Expr& condition);

/// Halide tells code generation for devices to contract a product and a sum into one operation, strict_float or not,
/// and takes some functions from a library that flushes subnormal numbers. This turns, in loops over blocks,
///   a * b, a / b   ->   mul.rn(a, b), div.rn(a, b), which are no product that a sum could be contracted with
///   abs, is_inf, is_finite, fmod   ->   the same in terms of bits, or of float64, exact for subnormal numbers, -0.0,
///   NaN
/// Sums, square roots, comparisons, min, max and conversions are exact as they are.
Halide::Internal::Stmt exact_device_arithmetic(const Halide::Internal::Stmt& statement);

} // namespace tilewright::dsl
