// sd-event, systemd's loop (libsystemd): an I/O source for each descriptor, with sd_event_source_set_priority. It polls the kernel before
// each dispatch, and a level-triggered poll reports all ready descriptors again. sd_event_add_io(3) also permits EPOLLET, which reports
// once: a separate candidate. It may be used on one thread only, so another thread sends through a user's queue and an eventfd; on its own
// thread a defer source handles each message.
#include <sys/eventfd.h>
#include <systemd/sd-event.h>

#include <memory>
#include <vector>

#include "peers/loop.h"
#include "peers/measure.h"
#include "peers/queues.h"

namespace rondo::bench {

namespace {

void must(int result, const char* what) { require(result >= 0, what); }

class SourceReference {
 public:
  SourceReference() = default;
  SourceReference(const SourceReference&) = delete;
  SourceReference& operator=(const SourceReference&) = delete;
  ~SourceReference() { sd_event_source_disable_unref(source); }
  sd_event_source* source = nullptr;
};

/// In sd-event a lower number is more urgent.
std::int64_t number(unsigned priority) { return SD_EVENT_PRIORITY_NORMAL - static_cast<std::int64_t>(priority); }

class Descriptor {
 public:
  Descriptor(sd_event* loop, Ready& ready, unsigned priority, bool edge) : ready_(ready), mask_(EPOLLIN | (edge ? EPOLLET : 0U)) {
    must(sd_event_add_io(loop, &io_.source, ready.fd, mask_, &Descriptor::on_readable, this), "sd_event_add_io failed");
    must(sd_event_source_set_priority(io_.source, number(priority)), "sd_event_source_set_priority failed");
  }

 private:
  static int on_readable(sd_event_source* source, int, std::uint32_t, void* self) {
    auto& descriptor = *static_cast<Descriptor*>(self);
    const bool more = descriptor.ready_.read_and_take();
    // Requesting the events again reports the descriptor again.
    if (more && (descriptor.mask_ & EPOLLET) != 0) return sd_event_source_set_io_events(source, descriptor.mask_);
    return 0;
  }
  Ready& ready_;
  const std::uint32_t mask_;
  SourceReference io_;
};

class QueuePort final : public Port {
 public:
  QueuePort(sd_event* loop, Receiver& receiver, unsigned priority) : receiver_(receiver), wake_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
    require(wake_ >= 0, "no eventfd");
    must(sd_event_add_io(loop, &io_.source, wake_, EPOLLIN, &QueuePort::on_wake, this), "sd_event_add_io failed");
    must(sd_event_source_set_priority(io_.source, number(priority)), "sd_event_source_set_priority failed");
    must(sd_event_add_defer(loop, &defer_.source, &QueuePort::on_defer, this), "sd_event_add_defer failed");
    must(sd_event_source_set_priority(defer_.source, number(priority)), "sd_event_source_set_priority failed");
    must(sd_event_source_set_enabled(defer_.source, SD_EVENT_OFF), "sd_event_source_set_enabled failed");
  }
  ~QueuePort() override {
    sd_event_source_disable_unref(io_.source);  // Before the descriptor is closed.
    io_.source = nullptr;
    ::close(wake_);
  }
  void send(std::int64_t message) override {
    const std::uint64_t one = 1;
    if (elsewhere_.push(message)) require(::write(wake_, &one, sizeof one) == static_cast<ssize_t>(sizeof one), "no wake");
  }
  void send_here(std::int64_t message) override {
    if (here_.push(message)) must(sd_event_source_set_enabled(defer_.source, SD_EVENT_ONESHOT), "no defer");
  }

 private:
  static int on_wake(sd_event_source*, int fd, std::uint32_t, void* self) {
    std::uint64_t value = 0;
    require(::read(fd, &value, sizeof value) == static_cast<ssize_t>(sizeof value), "no wake to read");
    auto& port = *static_cast<QueuePort*>(self);
    port.elsewhere_.hand_to(port.receiver_);
    return 0;
  }
  static int on_defer(sd_event_source* source, void* self) {
    auto& port = *static_cast<QueuePort*>(self);
    return port.here_.hand_one_to(port.receiver_) ? sd_event_source_set_enabled(source, SD_EVENT_ONESHOT) : 0;
  }
  Receiver& receiver_;
  const int wake_;
  LockedQueue elsewhere_;
  LocalQueue here_;
  SourceReference io_;
  SourceReference defer_;
};

class SdEventLoop final : public Loop {
 public:
  explicit SdEventLoop(bool edge) : edge_(edge) { must(sd_event_new(&loop_), "sd_event_new failed"); }
  ~SdEventLoop() override {
    descriptors_.clear();
    ports_.clear();
    sd_event_unref(loop_);
  }
  Port& open(Receiver& receiver, unsigned priority) override {
    return *ports_.emplace_back(std::make_unique<QueuePort>(loop_, receiver, priority));
  }
  void watch(Ready& ready, unsigned priority) override {
    descriptors_.push_back(std::make_unique<Descriptor>(loop_, ready, priority, edge_));
  }

 private:
  void run_until_done() override {
    // As sd_event_loop() does, which cannot be entered twice.
    while (!done()) must(sd_event_run(loop_, UINT64_MAX), "sd_event_run failed");
  }
  const bool edge_;
  sd_event* loop_ = nullptr;
  std::vector<std::unique_ptr<Descriptor>> descriptors_;
  std::vector<std::unique_ptr<QueuePort>> ports_;
};

}  // namespace

Candidates sd_event_loops() {
  return {
      {"sd-event", Side::Peer, kAll, true, [](Threads) { return std::make_unique<SdEventLoop>(false); }},
      {"sd-event, edges", Side::Peer, kDispatch | kFlood | kStarvation, true, [](Threads) { return std::make_unique<SdEventLoop>(true); }}};
}

}  // namespace rondo::bench
