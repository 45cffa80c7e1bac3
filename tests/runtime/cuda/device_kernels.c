/* tests/runtime/cuda/device_kernels.c: an object as kernels for a device are: PTX as text, and host code that loads
   and launches it. The PTX is written by hand and runs on real devices. */
#include <stddef.h>
#include <stdint.h>

#include "HalideRuntime.h"

int halide_cuda_initialize_kernels(void*, void**, const char*, int);
int halide_cuda_run(void*, void*, const char*, int, int, int, int, int, int, int, size_t*, void**, int8_t*);
void halide_cuda_finalize_kernels(void*, void*);
const struct halide_device_interface_t* halide_cuda_device_interface(void);

/* Arrays are contiguous float64. */
static const char ptx[] =
    ".version 6.0\n.target sm_70\n.address_size 64\n"
    /* dev_step(A, n, t): A[i] = 2*A[i] + t */
    ".visible .entry dev_step(.param .u64 A, .param .u32 n, .param .s32 t)\n{\n"
    ".reg .pred %p; .reg .b32 %i, %a, %b, %n, %t; .reg .b64 %at, %x; .reg .f64 %v, %w;\n"
    "mov.u32 %i, %tid.x; mov.u32 %a, %ctaid.x; mov.u32 %b, %ntid.x; mad.lo.u32 %i, %a, %b, %i;\n"
    "ld.param.u32 %n, [n]; setp.ge.u32 %p, %i, %n; @%p bra DONE;\n"
    "ld.param.u64 %at, [A]; mul.wide.u32 %x, %i, 8; add.u64 %at, %at, %x;\n"
    "ld.param.s32 %t, [t]; cvt.rn.f64.s32 %w, %t;\n"
    "ld.global.f64 %v, [%at]; add.rn.f64 %v, %v, %v; add.rn.f64 %v, %v, %w; st.global.f64 [%at], %v;\n"
    "DONE: ret;\n}\n"
    /* dev_half(x, B, n): B[i] = x[i] / 2 */
    ".visible .entry dev_half(.param .u64 x, .param .u64 B, .param .u32 n)\n{\n"
    ".reg .pred %p; .reg .b32 %i, %a, %b, %n; .reg .b64 %at, %to, %x; .reg .f64 %v;\n"
    "mov.u32 %i, %tid.x; mov.u32 %a, %ctaid.x; mov.u32 %b, %ntid.x; mad.lo.u32 %i, %a, %b, %i;\n"
    "ld.param.u32 %n, [n]; setp.ge.u32 %p, %i, %n; @%p bra DONE;\n"
    "ld.param.u64 %at, [x]; ld.param.u64 %to, [B]; mul.wide.u32 %x, %i, 8;\n"
    "add.u64 %at, %at, %x; add.u64 %to, %to, %x;\n"
    "ld.global.f64 %v, [%at]; mul.rn.f64 %v, %v, 0d3FE0000000000000; st.global.f64 [%to], %v;\n"
    "DONE: ret;\n}\n"
    /* dev_large(x, c): c = x[0] > 1 */
    ".visible .entry dev_large(.param .u64 x, .param .u64 c)\n{\n"
    ".reg .pred %p; .reg .b64 %at, %to; .reg .f64 %v; .reg .b16 %h; .reg .b32 %r;\n"
    "ld.param.u64 %at, [x]; ld.param.u64 %to, [c]; ld.global.f64 %v, [%at];\n"
    "setp.gt.f64 %p, %v, 0d3FF0000000000000; selp.u32 %r, 1, 0, %p; cvt.u16.u32 %h, %r; st.global.u8 [%to], %h;\n"
    "ret;\n}\n"
    /* dev_whole(x, n): n = int(x[0]) */
    ".visible .entry dev_whole(.param .u64 x, .param .u64 n)\n{\n"
    ".reg .b64 %at, %to, %v; .reg .f64 %f;\n"
    "ld.param.u64 %at, [x]; ld.param.u64 %to, [n]; ld.global.f64 %f, [%at];\n"
    "cvt.rzi.s64.f64 %v, %f; st.global.u64 [%to], %v;\n"
    "ret;\n}\n"
    /* dev_wild(): writes where nothing is */
    ".visible .entry dev_wild()\n{\n"
    ".reg .b64 %at; .reg .b32 %r;\n"
    "mov.u64 %at, 4096; mov.u32 %r, 1; st.global.u32 [%at], %r;\n"
    "ret;\n}\n"
    /* dev_shared(): 96 KB of dynamic shared memory */
    ".extern .shared .align 16 .b8 room[];\n"
    ".visible .entry dev_shared()\n{\n"
    ".reg .b32 %r;\n"
    "mov.u32 %r, 7; st.shared.u32 [room+98300], %r;\n"
    "ret;\n}\n";

static void* state = NULL;

static int launch(const char* name, int n, int shared, size_t* sizes, void** arguments, int8_t* is_buffer) {
    int rc = halide_cuda_run(NULL, state, name, (n + 127) / 128, 1, 1, n < 128 && n > 0 ? n : 128, 1, 1, shared, sizes,
                             arguments, is_buffer);
    halide_cuda_finalize_kernels(NULL, state);
    return rc;
}
static int begin(void) {
    return halide_cuda_initialize_kernels(NULL, &state, ptx, (int)sizeof ptx);
}

int dev_step_argv(void** a) { /* (t, A) */
    halide_buffer_t* array = (halide_buffer_t*)a[1];
    int32_t n = array->dim[0].extent;
    size_t sizes[] = {8, 4, 4, 0};
    void* arguments[] = {array, &n, a[0], NULL};
    int8_t is_buffer[] = {1, 0, 0, 0};
    int rc = begin();
    return rc ? rc : launch("dev_step", n, 0, sizes, arguments, is_buffer);
}
int dev_half_argv(void** a) { /* (x, B) */
    int32_t n = ((halide_buffer_t*)a[0])->dim[0].extent;
    size_t sizes[] = {8, 8, 4, 0};
    void* arguments[] = {a[0], a[1], &n, NULL};
    int8_t is_buffer[] = {1, 1, 0, 0};
    int rc = begin();
    return rc ? rc : launch("dev_half", n, 0, sizes, arguments, is_buffer);
}
/* (x, B): B = x / 4, through a temporary */
int dev_quarter_argv(void** a) {
    const halide_buffer_t* x = (const halide_buffer_t*)a[0];
    int32_t n = x->dim[0].extent;
    halide_dimension_t dim = {0, n, 1, 0};
    halide_buffer_t between;
    size_t sizes[] = {8, 8, 4, 0};
    int8_t is_buffer[] = {1, 1, 0, 0};
    void* first[] = {a[0], &between, &n, NULL};
    void* second[] = {&between, a[1], &n, NULL};
    int rc;
    between = *x;
    between.device = 0;
    between.dim = &dim;
    rc = begin();
    if (!rc) rc = halide_device_malloc(NULL, &between, halide_cuda_device_interface());
    if (!rc) rc = launch("dev_half", n, 0, sizes, first, is_buffer);
    if (!rc) rc = launch("dev_half", n, 0, sizes, second, is_buffer);
    if (!rc) rc = halide_device_free(NULL, &between);
    return rc;
}
static int two(const char* name, void** a) {
    size_t sizes[] = {8, 8, 0};
    void* arguments[] = {a[0], a[1], NULL};
    int8_t is_buffer[] = {1, 1, 0};
    int rc = begin();
    return rc ? rc : launch(name, 1, 0, sizes, arguments, is_buffer);
}
int dev_large_argv(void** a) {
    return two("dev_large", a);
}
int dev_whole_argv(void** a) {
    return two("dev_whole", a);
}
static int none(const char* name, int shared) {
    size_t sizes[] = {0};
    void* arguments[] = {NULL};
    int8_t is_buffer[] = {0};
    int rc = begin();
    return rc ? rc : launch(name, 1, shared, sizes, arguments, is_buffer);
}
int dev_wild_argv(void** a) {
    (void)a;
    return none("dev_wild", 0);
}
int dev_shared_argv(void** a) { /* (bytes): so much shared memory */
    return none("dev_shared", *(int32_t*)a[0]);
}
