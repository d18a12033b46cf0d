// The floors of dispatch: epoll_wait and read, without order, fairness or accounting, level-triggered or edge-triggered. (For a level, the
// kernel puts the descriptor back into its ready list and checks it again; it reports an edge once.) And the floor of loops that keep the
// order of priorities: they poll until the kernel has reported every ready descriptor, and only then read in that order.
#include <sys/epoll.h>

#include <array>
#include <vector>

#include "peers/loop.h"
#include "peers/measure.h"

namespace rondo::bench {

namespace {

class BareLoop final : public Loop {
 public:
  explicit BareLoop(bool edge) : edge_(edge), epoll_(::epoll_create1(EPOLL_CLOEXEC)) { require(epoll_ >= 0, "no epoll"); }
  ~BareLoop() override { ::close(epoll_); }

  void watch(Ready& ready, unsigned) override {
    epoll_event event{};
    event.events = EPOLLIN | (edge_ ? EPOLLET : 0U);
    event.data.ptr = &ready;
    require(::epoll_ctl(epoll_, EPOLL_CTL_ADD, ready.fd, &event) == 0, "epoll_ctl failed");
  }
  Port& open(Receiver&, unsigned) override { fail("the bare loop has no messages"); }

 private:
  void run_until_done() override {
    while (!done()) {
      const int count = ::epoll_wait(epoll_, events_, 256, -1);
      for (int i = 0; i < count; ++i) static_cast<Ready*>(events_[i].data.ptr)->read_and_take();
    }
  }
  const bool edge_;
  const int epoll_;
  epoll_event events_[256];
};

class BareLoopInOrder final : public Loop {
 public:
  BareLoopInOrder() : epoll_(::epoll_create1(EPOLL_CLOEXEC)) { require(epoll_ >= 0, "no epoll"); }
  ~BareLoopInOrder() override { ::close(epoll_); }

  void watch(Ready& ready, unsigned priority) override {
    watched_.push_back({&ready, priority});
    epoll_event event{};
    event.events = EPOLLIN | EPOLLET;
    event.data.u64 = watched_.size() - 1;
    require(::epoll_ctl(epoll_, EPOLL_CTL_ADD, ready.fd, &event) == 0, "epoll_ctl failed");
  }
  Port& open(Receiver&, unsigned) override { fail("the bare loop has no messages"); }

 private:
  struct Watched {
    Ready* ready;
    unsigned priority;
  };

  void run_until_done() override {
    while (!done()) {
      int count = 0;
      do {
        count = ::epoll_wait(epoll_, events_, 256, count == 0 ? -1 : 0);
        for (int i = 0; i < count; ++i) {
          const Watched& told = watched_[events_[i].data.u64];
          ready_[told.priority].push_back(told.ready);
        }
      } while (count == 256);
      for (unsigned priority = kPriorities; priority-- > 0;) {
        for (Ready* const ready : ready_[priority]) ready->read_and_take();
        ready_[priority].clear();
      }
    }
  }
  const int epoll_;
  std::vector<Watched> watched_;
  std::array<std::vector<Ready*>, kPriorities> ready_;
  epoll_event events_[256];
};

}  // namespace

Candidates bare_loops() {
  return {{"bare epoll and read", Side::Floor, kDispatch, false, [](Threads) { return std::make_unique<BareLoop>(false); }},
          {"bare, edges", Side::Floor, kDispatch, false, [](Threads) { return std::make_unique<BareLoop>(true); }},
          {"bare, edges, in order", Side::Floor, kDispatch, true, [](Threads) { return std::make_unique<BareLoopInOrder>(); }}};
}

}  // namespace rondo::bench
