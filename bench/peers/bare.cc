// The floors of dispatch: epoll_wait and read, without order, fairness or account, told of levels or of edges. (A level is put back into
// the kernel's list of ready descriptors when it is told, and looked at again; an edge is told once.)
#include <sys/epoll.h>

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

}  // namespace

Candidates bare_loops() {
  return {{"bare epoll and read", Side::Floor, kDispatch, false, [](Threads) { return std::make_unique<BareLoop>(false); }},
          {"bare, edges", Side::Floor, kDispatch, false, [](Threads) { return std::make_unique<BareLoop>(true); }}};
}

}  // namespace rondo::bench
