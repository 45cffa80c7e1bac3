// dsl/runtime/own_pool.cpp: worker threads with a mailbox each; they spin shortly, then sleep on a futex.
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>

#include <atomic>
#include <cerrno>
#include <new>

#include "dsl/runtime/backends.h"
#include "dsl/runtime/futex.h"
#include "dsl/runtime/helper_trust.h"
#include "dsl/runtime/thread_budget.h"

namespace tilewright::runtime {
namespace {

// How long an idle worker stays awake: waking one costs 50 us and more, and the scheduler may put it on the caller's
// CPU. libgomp spins for several milliseconds.
constexpr std::int64_t kSpinNs = 1'000'000;

/// One worker and its mailbox. `loop` goes null -> a loop (by a caller) -> null (taken by the worker, or called back).
struct alignas(64) Worker {
    std::atomic<LoopState*> loop{nullptr};
    std::atomic<bool> reserved{false};    // by a caller, until the worker is idle again
    std::atomic<std::uint32_t> asleep{0}; // futex word
    int participant = 0;                  // written before `loop`
};

struct Pool {
    Worker workers[LoopState::kMaxParticipants];
    std::atomic<int> started{0};
    std::atomic<bool> starting{false};
};

std::atomic<Pool*> g_pool{nullptr};

void* worker_main(void* argument) {
    auto* worker = static_cast<Worker*>(argument);
    inside_loop() = true;
    for (;;) {
        LoopState* loop = worker->loop.load(std::memory_order_acquire);
        if (!loop) {
            std::int64_t until = now_ns() + kSpinNs;
            for (;;) {
                for (int i = 0; i < kPausesPerLook && !loop; ++i) {
                    __builtin_ia32_pause();
                    loop = worker->loop.load(std::memory_order_acquire);
                }
                if (loop || now_ns() >= until) break;
            }
        }
        if (!loop) {
            worker->asleep.store(1, std::memory_order_seq_cst);
            while (!worker->loop.load(std::memory_order_seq_cst) && worker->asleep.load(std::memory_order_relaxed) == 1)
                futex_wait(&worker->asleep, 1);
            worker->asleep.store(0, std::memory_order_relaxed);
            continue;
        }
        // The caller may have called the loop back; then it is gone.
        if (!worker->loop.compare_exchange_strong(loop, nullptr, std::memory_order_acq_rel)) continue;
        // Read only now: the reservation keeps other callers from writing it.
        loop->participate(worker->participant);
        worker->reserved.store(false, std::memory_order_release);
        loop->finish();
    }
    return nullptr;
}

bool start_worker(Pool& pool) {
    // Signals are the business of the program's own threads.
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    // Kernels keep their small temporaries on the stack; the default can be as little as ulimit -s says.
    pthread_attr_setstacksize(&attributes, 8u << 20);
    pthread_t thread;
    int index = pool.started.load(std::memory_order_relaxed);
    bool ok = pthread_create(&thread, &attributes, worker_main, &pool.workers[index]) == 0;
    pthread_attr_destroy(&attributes);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    if (ok) pool.started.store(index + 1, std::memory_order_release);
    return ok;
}

Pool* pool_with(int workers) {
    Pool* pool = g_pool.load(std::memory_order_acquire);
    if (!pool) {
        auto* fresh = new (std::nothrow) Pool;
        if (!fresh) return nullptr;
        if (g_pool.compare_exchange_strong(pool, fresh, std::memory_order_acq_rel))
            pool = fresh;
        else
            delete fresh;
    }
    // One caller starts threads; another that comes meanwhile works with those that are there.
    if (pool->started.load(std::memory_order_acquire) < workers && !pool->starting.exchange(true)) {
        while (pool->started.load(std::memory_order_relaxed) < workers && start_worker(*pool)) {
        }
        pool->starting.store(false);
    }
    return pool;
}

thread_local HelperTrust t_trust;

/// How often the scheduler has taken the processor from this thread.
long lost_processor() {
    rusage usage{};
    return getrusage(RUSAGE_THREAD, &usage) == 0 ? usage.ru_nivcsw : 0;
}

/// The helpers of one loop. Workers are asked in their order, so that few loops keep few of them awake.
class Invitations {
  public:
    Invitations(LoopState& loop) : loop_(loop) {}

    int wanted() const { return loop_.participants() - 1 - count_; }

    void invite(Pool& pool, bool only_awake) {
        const int started = pool.started.load(std::memory_order_acquire);
        for (int i = 0; i < started && wanted() > 0; ++i) {
            Worker& worker = pool.workers[i];
            if (only_awake && worker.asleep.load(std::memory_order_relaxed)) continue;
            if (worker.reserved.load(std::memory_order_relaxed) ||
                worker.reserved.exchange(true, std::memory_order_acquire))
                continue;
            invited_[count_++] = &worker;
            worker.participant = count_;
            worker.loop.store(&loop_, std::memory_order_seq_cst);
            if (worker.asleep.load(std::memory_order_seq_cst)) {
                worker.asleep.store(0, std::memory_order_relaxed);
                futex_wake(&worker.asleep);
            }
        }
    }

    /// No iteration is left to begin. A worker that has not woken up yet is not waited for; how many are.
    std::uint32_t take_back() {
        std::uint32_t to_come = 0;
        for (int i = 0; i < count_; ++i) {
            LoopState* mine = &loop_;
            if (invited_[i]->loop.load(std::memory_order_relaxed) == mine &&
                invited_[i]->loop.compare_exchange_strong(mine, nullptr, std::memory_order_acq_rel))
                invited_[i]->reserved.store(false, std::memory_order_release);
            else
                ++to_come;
        }
        return to_come;
    }

  private:
    LoopState& loop_;
    int count_ = 0;
    Worker* invited_[LoopState::kMaxParticipants];
};

} // namespace

void OwnPool::run(LoopState& loop) {
    const std::uint64_t start = ticks();
    const auto alone_until = [&](std::uint64_t end) {
        return loop.participate_while(0, [end] { return ticks() < end; });
    };
    if (const std::uint64_t alone = t_trust.alone(start); alone != 0 && !alone_until(start + alone)) return;
    Invitations invitations(loop);
    Pool* pool = g_pool.load(std::memory_order_acquire);
    if (pool) invitations.invite(*pool, true);
    bool more = true;
    if (invitations.wanted() > 0) {
        more = alone_until(start + t_trust.alone_while_asleep(start));
        if (more) {
            pool = pool_with(loop.participants() - 1);
            if (pool) invitations.invite(*pool, false);
            t_trust.woken();
        } else {
            const std::uint64_t now = ticks();
            t_trust.missed(now, now - start);
        }
    }
    if (more) loop.participate(0);
    const std::uint32_t to_come = invitations.take_back();
    const std::uint64_t worked = ticks();
    if (to_come != 0) loop.wait_for(to_come);
    const std::uint64_t end = ticks();
    t_trust.note(end, worked - start, end - worked);
    if (t_trust.looks_at(end)) t_trust.lost_processor(end, lost_processor());
}

void OwnPool::forget() {
    g_pool.store(nullptr, std::memory_order_release);
}

} // namespace tilewright::runtime
