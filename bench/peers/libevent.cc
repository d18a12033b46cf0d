// libevent 2.1: a persistent event for each descriptor, with event_priority_set and eight priorities. It runs all active events of the
// best priority and polls the kernel before the next ones. Further candidates: EV_ET, which reports a descriptor once; "looks", which also
// polls the kernel for more urgent events as often as Rondo does; "capped", which polls after each event (both by
// event_config_set_max_dispatch_interval, and below the highest priority); and a user's queue in front, for programs that post many
// messages. A message of another thread is an event that is made active (event_active), which evthread_use_pthreads() permits.
#include <event2/event.h>
#include <event2/event_struct.h>
#include <event2/thread.h>

#include <memory>
#include <vector>

#include "peers/loop.h"
#include "peers/measure.h"
#include "peers/queues.h"

namespace rondo::bench {

namespace {

void must(int result, const char* what) { require(result == 0, what); }

/// In libevent 0 is the most urgent.
int number(unsigned priority) { return static_cast<int>(kPriorities - 1 - priority); }

/// The interval at which Rondo polls while turns are short (kPollPeriod of the scheduler).
constexpr timeval kLooks = {.tv_sec = 0, .tv_usec = 16};

struct Ways {
  bool edge = false;
  bool looks = false;
  bool capped = false;
  bool own_queue = false;
};

/// An event that is a member of its owner.
class Event {
 public:
  Event(event_base* base, int fd, short what, event_callback_fn callback, void* argument, unsigned priority) {
    must(event_assign(&event_, base, fd, what, callback, argument), "event_assign failed");
    must(event_priority_set(&event_, number(priority)), "event_priority_set failed");
  }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  ~Event() { event_del(&event_); }
  void add() { must(event_add(&event_, nullptr), "event_add failed"); }
  void activate() { event_active(&event_, EV_READ, 0); }

 private:
  event event_;
};

class Descriptor {
 public:
  Descriptor(event_base* base, Ready& ready, unsigned priority, bool edge)
      : ready_(ready), edge_(edge), event_(base, ready.fd, what(edge), &Descriptor::on_readable, this, priority) {
    event_.add();
  }

 private:
  static short what(bool edge) { return static_cast<short>(EV_READ | EV_PERSIST | (edge ? EV_ET : 0)); }
  static void on_readable(evutil_socket_t, short, void* self) {
    auto& descriptor = *static_cast<Descriptor*>(self);
    if (descriptor.ready_.read_and_take() && descriptor.edge_) descriptor.event_.activate();
  }
  Ready& ready_;
  const bool edge_;
  Event event_;
};

/// A message of another thread.
class Letter {
 public:
  Letter(event_base* base, Receiver& receiver, std::int64_t message, unsigned priority)
      : receiver_(receiver), message_(message), event_(base, -1, 0, &Letter::on_active, this, priority) {}
  void send() { event_.activate(); }

 private:
  static void on_active(evutil_socket_t, short, void* self) {
    const std::unique_ptr<Letter> letter(static_cast<Letter*>(self));
    letter->receiver_.take(letter->message_);
  }
  Receiver& receiver_;
  const std::int64_t message_;
  Event event_;
};

class LibeventPort final : public Port {
 public:
  LibeventPort(event_base* base, Receiver& receiver, unsigned priority, bool own_queue)
      : base_(base),
        receiver_(receiver),
        priority_(priority),
        own_queue_(own_queue),
        local_(base, -1, EV_PERSIST, &LibeventPort::on_local, this, priority),
        remote_(base, -1, EV_PERSIST, &LibeventPort::on_remote, this, priority) {}
  void send(std::int64_t message) override {
    if (own_queue_) {
      if (elsewhere_.push(message)) remote_.activate();
    } else {
      // Its callback owns it. No message is lost at the end, because the works handle every message.
      std::make_unique<Letter>(base_, receiver_, message, priority_).release()->send();
    }
  }
  void send_here(std::int64_t message) override {
    if (here_.push(message)) local_.activate();
  }

 private:
  static void on_local(evutil_socket_t, short, void* self) {
    auto& port = *static_cast<LibeventPort*>(self);
    if (port.here_.hand_one_to(port.receiver_)) port.local_.activate();
  }
  static void on_remote(evutil_socket_t, short, void* self) {
    auto& port = *static_cast<LibeventPort*>(self);
    port.elsewhere_.hand_to(port.receiver_);
  }
  event_base* const base_;
  Receiver& receiver_;
  const unsigned priority_;
  const bool own_queue_;
  LocalQueue here_;
  LockedQueue elsewhere_;
  Event local_;
  Event remote_;
};

class LibeventLoop final : public Loop {
 public:
  LibeventLoop(Ways ways, Threads threads) : ways_(ways) {
    event_config* config = event_config_new();
    require(config != nullptr, "event_config_new failed");
    if (threads == Threads::Several) {
      must(evthread_use_pthreads(), "evthread_use_pthreads failed");
    } else {
      must(event_config_set_flag(config, EVENT_BASE_FLAG_NOLOCK), "event_config_set_flag failed");
    }
    const char* const failed = "event_config_set_max_dispatch_interval failed";
    if (ways.looks) {
      must(event_config_set_max_dispatch_interval(config, &kLooks, -1, 1), failed);
      // Without it, time advances by the kernel's tick of some milliseconds, and polls are less frequent.
      must(event_config_set_flag(config, EVENT_BASE_FLAG_PRECISE_TIMER), "event_config_set_flag failed");
    }
    if (ways.capped) must(event_config_set_max_dispatch_interval(config, nullptr, 1, 1), failed);
    base_ = event_base_new_with_config(config);
    event_config_free(config);
    require(base_ != nullptr, "event_base_new_with_config failed");
    must(event_base_priority_init(base_, static_cast<int>(kPriorities)), "event_base_priority_init failed");
  }
  ~LibeventLoop() override {
    descriptors_.clear();
    ports_.clear();
    event_base_free(base_);
  }
  Port& open(Receiver& receiver, unsigned priority) override {
    return *ports_.emplace_back(std::make_unique<LibeventPort>(base_, receiver, priority, ways_.own_queue));
  }
  void watch(Ready& ready, unsigned priority) override {
    descriptors_.push_back(std::make_unique<Descriptor>(base_, ready, priority, ways_.edge));
  }

 private:
  void run_until_done() override { must(event_base_loop(base_, EVLOOP_NO_EXIT_ON_EMPTY), "event_base_loop failed"); }
  void finish() override { must(event_base_loopbreak(base_), "event_base_loopbreak failed"); }
  const Ways ways_;
  event_base* base_ = nullptr;
  std::vector<std::unique_ptr<Descriptor>> descriptors_;
  std::vector<std::unique_ptr<LibeventPort>> ports_;
};

Candidate candidate(const char* name, unsigned works, Ways ways) {
  // Keeps the order only among the descriptors of one poll, at most 4,096: no promise.
  return {name, Side::Peer, works, false, [ways](Threads threads) { return std::make_unique<LibeventLoop>(ways, threads); }};
}

}  // namespace

Candidates libevent_loops() {
  return {candidate("libevent", kAll, {}), candidate("libevent, edges", kDispatch, {.edge = true}),
          candidate("libevent, edges, looks", kDispatch, {.edge = true, .looks = true}),
          candidate("libevent, capped", kFlood | kStarvation, {.capped = true}),
          candidate("libevent, own queue", kHandOver, {.own_queue = true})};
}

}  // namespace rondo::bench
