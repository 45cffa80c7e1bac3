// dsl/runtime/glibc/start.cpp: how a program starts where glibc is older than 2.34.
//
// The C library that a program is built beside has a say in its first instructions: since 2.34 they leave it to the C
// library that is found to run the program's constructors, which older ones do not. So they are given as the function
// that older ones call; newer ones call it too.
#include <cstddef>

extern "C" {

using TwInitializer = void (*)(int, char**, char**);
extern TwInitializer tw_initializers[] __asm__("__init_array_start");
extern TwInitializer tw_initializers_end[] __asm__("__init_array_end");
void _init();

static void tw_initialize(int argc, char** argv, char** environment) {
    _init();
    const std::ptrdiff_t count = tw_initializers_end - tw_initializers;
    for (std::ptrdiff_t i = 0; i < count; ++i)
        tw_initializers[i](argc, argv, environment);
}

using TwMain = int (*)(int, char**, char**);
int __real___libc_start_main(TwMain, int, char**, TwInitializer, void (*)(), void (*)(), void*);
int __wrap___libc_start_main(TwMain, int, char**, TwInitializer, void (*)(), void (*)(), void*);
int __wrap___libc_start_main(TwMain main, int argc, char** argv, TwInitializer initialize, void (*finish)(),
                             void (*unload)(), void* stack_end) {
    return __real___libc_start_main(main, argc, argv, initialize ? initialize : tw_initialize, finish, unload,
                                    stack_end);
}
}
