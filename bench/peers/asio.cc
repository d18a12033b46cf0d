// Boost.Asio: an asynchronous read on each descriptor, which the io_context performs when the descriptor is readable; it has no
// priorities. The second and third candidates add a priority queue in front: an executor stores completions instead of running them, as in
// Asio's example of prioritised handlers. It is drained before each poll of the kernel (as in the example), or runs one handler per poll.
#include <array>
#include <bit>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/execution_context.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <cstddef>
#include <deque>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

#include "peers/loop.h"
#include "peers/measure.h"

namespace rondo::bench {

namespace {

namespace asio = boost::asio;

/// A queued function, stored in place: completions are small, and an allocation for each would be an unfair cost.
class Task {
 public:
  template <class Function>
  explicit Task(Function function) : run_(&run<Function>) {
    static_assert(sizeof(Function) <= sizeof place_ && alignof(Function) <= alignof(std::max_align_t));
    new (place_) Function(std::move(function));
  }
  Task(const Task&) = delete;
  Task& operator=(const Task&) = delete;
  ~Task() {
    if (run_ != nullptr) run_(place_, false);
  }
  void operator()() { std::exchange(run_, nullptr)(place_, true); }

 private:
  template <class Function>
  static void run(void* place, bool call) {
    auto* const stored = std::launder(static_cast<Function*>(place));
    Function function(std::move(*stored));
    stored->~Function();
    if (call) function();
  }
  void (*run_)(void* place, bool call);
  alignas(std::max_align_t) std::byte place_[96];
};

/// Runs functions from the highest priority down, and in FIFO order within one.
class HandlerQueue final : public asio::execution_context {
 public:
  class Executor {
   public:
    Executor(HandlerQueue& queue, unsigned priority) : queue_(&queue), priority_(priority) {}
    HandlerQueue& context() const noexcept { return *queue_; }
    void on_work_started() const noexcept {}
    void on_work_finished() const noexcept {}
    template <class Function, class Allocator>
    void dispatch(Function&& function, const Allocator&) const {
      queue_->add(priority_, std::forward<Function>(function));
    }
    template <class Function, class Allocator>
    void post(Function&& function, const Allocator&) const {
      queue_->add(priority_, std::forward<Function>(function));
    }
    template <class Function, class Allocator>
    void defer(Function&& function, const Allocator&) const {
      queue_->add(priority_, std::forward<Function>(function));
    }
    friend bool operator==(const Executor& a, const Executor& b) noexcept { return a.queue_ == b.queue_ && a.priority_ == b.priority_; }
    friend bool operator!=(const Executor& a, const Executor& b) noexcept { return !(a == b); }

   private:
    HandlerQueue* queue_;
    unsigned priority_;
  };

  template <class Function>
  void add(unsigned priority, Function&& function) {
    waiting_[priority].emplace_back(std::forward<Function>(function));
    used_ |= 1U << priority;
  }
  bool empty() const { return used_ == 0; }
  void run_one() {
    const auto priority = static_cast<unsigned>(std::bit_width(used_)) - 1;
    std::deque<Task>& line = waiting_[priority];
    line.front()();  // References to the elements of a deque stay valid when elements are added behind them.
    line.pop_front();
    if (line.empty()) used_ &= ~(1U << priority);
  }

 private:
  std::array<std::deque<Task>, kPriorities> waiting_;
  unsigned used_ = 0;
};

enum class Order : std::uint8_t { Arrival, Drained, OneByOne };

/// Calls 'work' in the order 'order'.
template <class Work>
void post_to(asio::io_context& context, HandlerQueue& queue, Order order, unsigned priority, Work work) {
  if (order == Order::Arrival) {
    asio::post(context, work);
  } else {
    asio::post(context, asio::bind_executor(HandlerQueue::Executor(queue, priority), work));
  }
}

class Descriptor {
 public:
  Descriptor(asio::io_context& context, HandlerQueue& queue, Order order, Ready& ready, unsigned priority)
      : stream_(context, ready.fd), queue_(queue), order_(order), ready_(ready), priority_(priority) {
    read();
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() { stream_.release(); }  // The descriptor belongs to the work.

 private:
  void read() {
    const auto done = [this](const boost::system::error_code& error, std::size_t size) {
      if (error) return;  // The loop ended.
      require(size == sizeof value_, "an eventfd gave less than a number");
      ready_.take(value_);
      read();
    };
    const auto buffer = asio::buffer(&value_, sizeof value_);
    if (order_ == Order::Arrival) {
      stream_.async_read_some(buffer, done);
    } else {
      stream_.async_read_some(buffer, asio::bind_executor(HandlerQueue::Executor(queue_, priority_), done));
    }
  }
  asio::posix::stream_descriptor stream_;
  HandlerQueue& queue_;
  const Order order_;
  Ready& ready_;
  const unsigned priority_;
  std::uint64_t value_ = 0;
};

class AsioPort final : public Port {
 public:
  AsioPort(asio::io_context& context, HandlerQueue& queue, Order order, Receiver& receiver, unsigned priority)
      : context_(context), queue_(queue), order_(order), receiver_(receiver), priority_(priority) {}
  void send(std::int64_t message) override {
    post_to(context_, queue_, order_, priority_, [this, message] { receiver_.take(message); });
  }
  void send_here(std::int64_t message) override {
    const auto work = [this, message] { receiver_.take(message); };
    if (order_ == Order::Arrival) {
      asio::post(context_, work);
    } else {
      asio::post(HandlerQueue::Executor(queue_, priority_), work);  // Needs no detour through the io_context.
    }
  }

 private:
  asio::io_context& context_;
  HandlerQueue& queue_;
  const Order order_;
  Receiver& receiver_;
  const unsigned priority_;
};

class AsioLoop final : public Loop {
 public:
  AsioLoop(Order order, Threads threads)
      : order_(order), context_(threads == Threads::One ? BOOST_ASIO_CONCURRENCY_HINT_UNSAFE : 1), busy_(context_.get_executor()) {}

  Port& open(Receiver& receiver, unsigned priority) override {
    return *ports_.emplace_back(std::make_unique<AsioPort>(context_, queue_, order_, receiver, priority));
  }
  void watch(Ready& ready, unsigned priority) override {
    descriptors_.push_back(std::make_unique<Descriptor>(context_, queue_, order_, ready, priority));
  }

 private:
  void run_until_done() override {
    if (order_ == Order::Arrival) {
      context_.restart();
      context_.run();
      return;
    }
    while (!done()) {
      if (queue_.empty()) context_.run_one();
      context_.poll();
      if (order_ == Order::OneByOne) {
        if (!queue_.empty()) queue_.run_one();
      } else {
        while (!queue_.empty() && !done()) queue_.run_one();
      }
    }
  }
  void finish() override {
    if (order_ == Order::Arrival) context_.stop();
  }

  const Order order_;
  HandlerQueue queue_;
  asio::io_context context_;
  asio::executor_work_guard<asio::io_context::executor_type> busy_;
  std::vector<std::unique_ptr<Descriptor>> descriptors_;
  std::vector<std::unique_ptr<AsioPort>> ports_;
};

Candidate candidate(const char* name, unsigned works, Order order) {
  return {name, Side::Peer, works, order != Order::Arrival,
          [order](Threads threads) { return std::make_unique<AsioLoop>(order, threads); }};
}

}  // namespace

Candidates asio_loops() {
  return {candidate("Asio, no priorities", kAll, Order::Arrival), candidate("Asio, priority queue", kAll, Order::Drained),
          candidate("Asio, queue one by one", kDispatch | kFlood | kStarvation, Order::OneByOne)};
}

}  // namespace rondo::bench
