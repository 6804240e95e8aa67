// See fibers.h. Fibers switch by setjmp and longjmp once they run: swapcontext would cost two system calls a switch.
#undef _FORTIFY_SOURCE
#include "fibers.h"

#include <setjmp.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <exception>
#include <vector>

namespace reverie::emulator {
namespace {

constexpr std::size_t STACK_BYTES = 256 * 1024;
constexpr std::size_t GUARD_BYTES = 4096;
/** What shared memory holds before a kernel writes it: as floats, NaN. */
constexpr int GARBAGE = 0xff;

struct Copy {
  void* to;
  const void* from;
};

struct Fiber {
  Place place{};
  ucontext_t begin{};
  jmp_buf here{};
  bool hasBegun = false;
  bool hasEnded = false;
  const void* in = nullptr;
  void* out = nullptr;
  void (*work)(const void* const*, void* const*) = nullptr;
  std::deque<std::vector<Copy>> copyGroups;
  std::vector<Copy> openCopies;
};

/** Threads that wait for each other: those of a warp, a block or the grid. */
struct Crowd {
  std::vector<Fiber*> members;
  std::vector<Fiber*> waiting;
  std::size_t living = 0;
};

struct Stacks {
  explicit Stacks(std::size_t count) : count(count) {
    memory = static_cast<char*>(mmap(nullptr, bytes(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
    if (memory == MAP_FAILED) throw DeviceError("no memory for the stacks of the emulated threads");
    for (std::size_t i = 0; i < count; i++) mprotect(memory + i * STACK_BYTES, GUARD_BYTES, PROT_NONE);
  }
  ~Stacks() { munmap(memory, bytes()); }
  Stacks(const Stacks&) = delete;
  Stacks& operator=(const Stacks&) = delete;
  std::size_t bytes() const { return count * STACK_BYTES; }
  char* usable(std::size_t i) const { return memory + i * STACK_BYTES + GUARD_BYTES; }

  std::size_t count;
  char* memory;
};

class Scheduler {
 public:
  Scheduler(const Grid& grid, Body body, const void* args, Order order)
      : grid_(grid), body_(body), args_(args), order_(order), together_(grid.isCooperative ? grid.blocks : 1),
        stacks_(std::size_t{together_} * grid.threads), fibers_(std::size_t{together_} * grid.threads) {}

  void run() {
    for (unsigned first = 0; first < grid_.blocks; first += together_) {
      begin(order_ == Order::backward ? grid_.blocks - together_ - first : first);
      while (!ready_.empty()) {
        Fiber* next = ready_.front();
        ready_.pop_front();
        resume(*next);
        if (failure_) std::rethrow_exception(failure_);
      }
      if (whole_.living > 0) throw DeviceError("threads wait for each other for ever: a barrier is missed by some");
    }
  }

  Fiber& current() { return *current_; }

  void waitIn(Crowd& crowd) {
    crowd.waiting.push_back(current_);
    letGoIfComplete(crowd);
    giveWay();
  }

  Crowd& warp() { return warps_[indexOf(*current_) / 32]; }
  Crowd& block() { return blocks_[indexOf(*current_) / grid_.threads]; }
  Crowd& whole() { return whole_; }

  void waitTogether(const void* in, void* out, void (*work)(const void* const*, void* const*)) {
    Crowd& crowd = warp();
    if (crowd.living != 32) throw DeviceError("a warp works together without all of its 32 lanes");
    current_->in = in;
    current_->out = out;
    current_->work = work;
    crowd.waiting.push_back(current_);
    if (crowd.waiting.size() == 32) workTogether(crowd);
    giveWay();
  }

 private:
  std::size_t indexOf(const Fiber& fiber) const { return static_cast<std::size_t>(&fiber - fibers_.data()); }

  void begin(unsigned firstBlock) {
    shared_.assign(together_, std::vector<char>(grid_.sharedBytes + 128, static_cast<char>(GARBAGE)));
    warps_.assign((fibers_.size() + 31) / 32, {});
    blocks_.assign(together_, {});
    whole_ = {};
    for (std::size_t i = 0; i < fibers_.size(); i++) {
      const unsigned block = static_cast<unsigned>(i / grid_.threads);
      Fiber& fiber = fibers_[i] = Fiber{};
      fiber.place = Place{static_cast<int>(i % grid_.threads), static_cast<int>(grid_.threads),
                          static_cast<int>(firstBlock + block), static_cast<int>(grid_.blocks), aligned(shared_[block].data())};
      for (Crowd* crowd : {&warps_[i / 32], &blocks_[block], &whole_}) crowd->members.push_back(&fiber);
    }
    for (Crowd& crowd : warps_) crowd.living = crowd.members.size();
    for (Crowd& crowd : blocks_) crowd.living = crowd.members.size();
    whole_.living = fibers_.size();
    makeReady(whole_.members);
  }

  static char* aligned(char* memory) {
    return reinterpret_cast<char*>((reinterpret_cast<std::uintptr_t>(memory) + 127) & ~std::uintptr_t{127});
  }

  void makeReady(std::vector<Fiber*> fibers) {
    std::sort(fibers.begin(), fibers.end());
    if (order_ == Order::backward) std::reverse(fibers.begin(), fibers.end());
    if (order_ == Order::shuffled) {
      for (std::size_t i = fibers.size(); i > 1; i--) std::swap(fibers[i - 1], fibers[random() % i]);
    }
    ready_.insert(ready_.end(), fibers.begin(), fibers.end());
  }

  std::size_t random() {
    state_ = state_ * 6364136223846793005ull + 1442695040888963407ull;
    return static_cast<std::size_t>(state_ >> 33);
  }

  void letGoIfComplete(Crowd& crowd) {
    if (crowd.waiting.empty() || crowd.waiting.size() < crowd.living) return;
    makeReady(crowd.waiting);
    crowd.waiting.clear();
  }

  void workTogether(Crowd& crowd) {
    const void* ins[32];
    void* outs[32];
    for (Fiber* fiber : crowd.waiting) {
      if (fiber->work != current_->work) throw DeviceError("lanes of a warp work together on different things");
      const int lane = fiber->place.thread % 32;
      ins[lane] = fiber->in;
      outs[lane] = fiber->out;
    }
    current_->work(ins, outs);
    makeReady(crowd.waiting);
    crowd.waiting.clear();
  }

  static void enter(unsigned low, unsigned high) {
    reinterpret_cast<Scheduler*>((std::uintptr_t{high} << 32) | low)->live();
  }

  void live() {
    try {
      body_(args_);
    } catch (...) {
      failure_ = std::current_exception();
    }
    current_->hasEnded = true;
    for (Crowd* crowd : {&warp(), &block(), &whole_}) {
      crowd->living--;
      if (!failure_) letGoIfComplete(*crowd);
    }
    _longjmp(scheduler_, 1);
  }

  void resume(Fiber& fiber) {
    current_ = &fiber;
    if (_setjmp(scheduler_) != 0) return;
    if (fiber.hasBegun) _longjmp(fiber.here, 1);
    fiber.hasBegun = true;
    getcontext(&fiber.begin);
    fiber.begin.uc_stack.ss_sp = stacks_.usable(indexOf(fiber));
    fiber.begin.uc_stack.ss_size = STACK_BYTES - GUARD_BYTES;
    const auto self = reinterpret_cast<std::uintptr_t>(this);
    makecontext(&fiber.begin, reinterpret_cast<void (*)()>(&Scheduler::enter), 2, static_cast<unsigned>(self),
                static_cast<unsigned>(self >> 32));
    setcontext(&fiber.begin);
  }

  void giveWay() {
    if (_setjmp(current_->here) == 0) _longjmp(scheduler_, 1);
  }

  const Grid grid_;
  const Body body_;
  const void* const args_;
  const Order order_;
  /** Blocks that live at once. */
  const unsigned together_;
  Stacks stacks_;
  std::vector<Fiber> fibers_;
  std::vector<std::vector<char>> shared_;
  std::vector<Crowd> warps_, blocks_;
  Crowd whole_;
  std::deque<Fiber*> ready_;
  Fiber* current_ = nullptr;
  jmp_buf scheduler_{};
  std::exception_ptr failure_;
  std::uint64_t state_ = 0x9e3779b97f4a7c15ull;
};

thread_local Scheduler* running = nullptr;

void carryOut(const std::vector<Copy>& copies) {
  for (const Copy& copy : copies) std::memcpy(copy.to, copy.from, 16);
}

bool isAligned(const void* address) { return reinterpret_cast<std::uintptr_t>(address) % 16 == 0; }

}  // namespace

void runGrid(const Grid& grid, Body body, const void* args, Order order) {
  if (grid.blocks == 0 || grid.threads == 0) throw DeviceError("a launch of no threads");
  Scheduler scheduler(grid, body, args, order);
  running = &scheduler;
  try {
    scheduler.run();
  } catch (...) {
    running = nullptr;
    throw;
  }
  running = nullptr;
}

const Place& place() { return running->current().place; }
void waitForBlock() { running->waitIn(running->block()); }
void waitForWarp() { running->waitIn(running->warp()); }
void waitForGrid() { running->waitIn(running->whole()); }

void together(const void* in, void* out, void (*work)(const void* const*, void* const*)) {
  running->waitTogether(in, out, work);
}

void startCopy(void* shared, const void* global) {
  if (!isAligned(shared) || !isAligned(global)) throw DeviceError("an asynchronous copy from or to an address off 16 bytes");
  running->current().openCopies.push_back({shared, global});
}

void endCopyGroup() {
  Fiber& fiber = running->current();
  fiber.copyGroups.push_back(std::move(fiber.openCopies));
  fiber.openCopies.clear();
}

void finishCopies(int pending) {
  auto& groups = running->current().copyGroups;
  while (groups.size() > static_cast<std::size_t>(pending)) {
    carryOut(groups.front());
    groups.pop_front();
  }
}

}  // namespace reverie::emulator
