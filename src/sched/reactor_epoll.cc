// The reactor on Linux: one epoll instance, edge-triggered, and one eventfd to interrupt it. Watches are stored by descriptor number, each
// with its own number. This identifies stale reports of a descriptor that was closed and reopened meanwhile. Scheduler's thread, except
// interrupt(). One system call fills the caller's array.
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string>
#include <unordered_map>
#include <vector>

#include "rondo/base/clock.h"
#include "rondo/sched/reactor.h"
#include "rondo/sched/source.h"
#include "sched/reactor_event.h"

namespace rondo {

namespace {
std::string descriptor(std::string_view call, int fd) { return std::string{call} + " of descriptor " + std::to_string(fd); }
}  // namespace

Reactor::~Reactor() = default;

Status Reactor::check(std::string_view call, int fd, Interest interest) {
  if (fd < 0) return Status{StatusCode::InvalidArgument, descriptor(call, fd)};
  if (interest >= Interest::Read && interest <= Interest::ReadWrite) return {};
  return Status{StatusCode::InvalidArgument,
                descriptor(call, fd) + " for the interest " + std::to_string(static_cast<unsigned>(interest)) + ", which is none"};
}

void Reactor::expect_here(const Source& source) { source.expect_here("Reactor::watch"); }

namespace {

constexpr std::uint64_t kInterruptMark = UINT64_MAX;
/// Maximum reports of one system call. A poll repeats the call while there are more.
constexpr std::size_t kReports = 256;

std::uint32_t epoll_mask(Interest interest) {
  std::uint32_t mask = EPOLLET;
  if ((static_cast<unsigned>(interest) & static_cast<unsigned>(Interest::Read)) != 0) mask |= EPOLLIN;
  if ((static_cast<unsigned>(interest) & static_cast<unsigned>(Interest::Write)) != 0) mask |= EPOLLOUT;
  return mask;
}

class EpollReactor final : public Reactor {
 public:
  EpollReactor(int epoll_fd, int interrupt_fd) : epoll_fd_(epoll_fd), interrupt_fd_(interrupt_fd) {}
  EpollReactor(const EpollReactor&) = delete;
  EpollReactor& operator=(const EpollReactor&) = delete;
  ~EpollReactor() override {
    ::close(interrupt_fd_);
    ::close(epoll_fd_);
  }

  Status watch(int fd, Interest interest, Source& source) override {
    expect_here(source);
    if (Status bad = check("watch", fd, interest); !bad.ok()) return bad;
    if (is_watched(fd)) return Status{StatusCode::AlreadyExists, descriptor("watch", fd) + ": it is watched already"};
    if (static_cast<std::size_t>(fd) >= watches_.size()) watches_.resize(static_cast<std::size_t>(fd) + 1);
    Watch& watch = at(fd);
    ++watch.number;
    if (Status status = control(EPOLL_CTL_ADD, fd, interest); !status.ok()) return status;
    watch.source = &source;
    const auto [entry, is_new] = first_of_.try_emplace(&source, fd);
    watch.previous = -1;
    watch.next = is_new ? -1 : entry->second;
    if (!is_new) at(entry->second).previous = fd;
    entry->second = fd;
    return {};
  }

  Status rewatch(int fd, Interest interest) override {
    if (!is_watched(fd)) return Status{StatusCode::NotFound, descriptor("rewatch", fd) + ": it is not watched"};
    if (Status bad = check("rewatch", fd, interest); !bad.ok()) return bad;
    return control(EPOLL_CTL_MOD, fd, interest);
  }

  Result<std::size_t> poll(Instant deadline, std::span<ReactorEvent> events) override {
    std::size_t filled = 0;
    while (filled < events.size()) {
      const std::size_t room = std::min(events.size() - filled, kReports);
      const int count = wait(deadline, static_cast<int>(room));
      if (count < 0 && errno != EINTR) return failure(status_from_errno(errno, "epoll_wait"));
      const std::size_t reported = count < 0 ? 0 : static_cast<std::size_t>(count);
      for (std::size_t i = 0; i < reported; ++i) {
        if (translate(reports_[i], deadline, events[filled])) ++filled;
      }
      if (reported < room) break;
      deadline = Instant{};  // The buffer was full, but not of valid reports: poll for the rest.
    }
    return filled;
  }

  bool is_current(const ReactorEvent& event) const noexcept override {
    return is_watched(event.fd) && watches_[static_cast<std::size_t>(event.fd)].number == event.watch;
  }

  bool is_in_error(const ReactorEvent& event) const noexcept override {
    if (!is_current(event)) return false;
    pollfd question{event.fd, 0, 0};
    return ::poll(&question, 1, 0) == 1 && (question.revents & (POLLERR | POLLHUP | POLLNVAL)) != 0;
  }

  int wait_descriptor() const noexcept override { return epoll_fd_; }

  void interrupt() noexcept override {
    const int saved = errno;
    const std::uint64_t one = 1;
    // The count is never read: each write is a new edge. It overflows only after 2^64 writes.
    const ssize_t written = ::write(interrupt_fd_, &one, sizeof one);
    static_cast<void>(written);
    errno = saved;
  }

 private:
  struct Watch {
    Source* source = nullptr;
    std::uint32_t number = 0;
    int next = -1;  // The next descriptor of the same source.
    int previous = -1;
  };

  void forget(int fd) override {
    if (!is_watched(fd)) return;
    Watch& watch = at(fd);
    if (watch.next >= 0) at(watch.next).previous = watch.previous;
    if (watch.previous >= 0) {
      at(watch.previous).next = watch.next;
    } else if (watch.next >= 0) {
      first_of_[watch.source] = watch.next;
    } else {
      first_of_.erase(watch.source);
    }
    watch.source = nullptr;
    ++watch.number;
    // Fails only if the caller closed the descriptor before; the kernel has removed it then.
    ::epoll_ctl(epoll_fd_, EPOLL_CTL_DEL, fd, nullptr);
  }

  void forget_all(const Source& source) override {
    for (auto entry = first_of_.find(&source); entry != first_of_.end(); entry = first_of_.find(&source)) forget(entry->second);
  }

  Watch& at(int fd) noexcept { return watches_[static_cast<std::size_t>(fd)]; }
  bool is_watched(int fd) const noexcept {
    return fd >= 0 && static_cast<std::size_t>(fd) < watches_.size() && watches_[static_cast<std::size_t>(fd)].source != nullptr;
  }

  /// Returns false for a report without a watch: the interrupt, or a descriptor that was closed without unwatch().
  bool translate(const epoll_event& report, Instant deadline, ReactorEvent& event) noexcept {
    if (report.data.u64 == kInterruptMark) {
      interrupted_ = deadline <= Instant{};  // An interrupt found by a poll without waiting is kept for the next call that waits.
      return false;
    }
    const int fd = static_cast<int>(report.data.u64 & 0xffffffffU);
    event =
        ReactorEvent{at(fd).source, fd, static_cast<std::uint32_t>(report.data.u64 >> 32), (report.events & (EPOLLERR | EPOLLHUP)) != 0};
    return is_current(event);
  }

  Status control(int operation, int fd, Interest interest) {
    epoll_event event{};
    event.events = epoll_mask(interest);
    event.data.u64 = (static_cast<std::uint64_t>(at(fd).number) << 32) | static_cast<std::uint32_t>(fd);
    if (::epoll_ctl(epoll_fd_, operation, fd, &event) == 0) return {};
    return status_from_errno(errno, descriptor("epoll_ctl", fd));
  }

  int wait(Instant deadline, int room) {
    if (deadline <= Instant{} || interrupted_) {
      if (deadline > Instant{}) interrupted_ = false;
      return ::epoll_wait(epoll_fd_, reports_.data(), room, 0);
    }
    if (deadline == Instant::never()) return ::epoll_wait(epoll_fd_, reports_.data(), room, -1);
    const Duration left = std::max(deadline - clock_.now(), Duration{0});
    if (has_precise_wait_) {
      timespec timeout{};
      timeout.tv_sec = static_cast<time_t>(left.count() / 1'000'000'000);
      timeout.tv_nsec = static_cast<long>(left.count() % 1'000'000'000);
      const int count = ::epoll_pwait2(epoll_fd_, reports_.data(), room, &timeout, nullptr);
      if (count >= 0 || (errno != ENOSYS && errno != EPERM)) return count;
      has_precise_wait_ = false;  // Before Linux 5.11, or filtered: waits in milliseconds, rounded up so that no timer is early.
    }
    const std::int64_t milliseconds = (left.count() + 999'999) / 1'000'000;
    return ::epoll_wait(epoll_fd_, reports_.data(), room, static_cast<int>(std::min<std::int64_t>(milliseconds, 1'000'000)));
  }

  int epoll_fd_;
  int interrupt_fd_;
  SystemClock clock_;
  bool has_precise_wait_ = true;
  bool interrupted_ = false;
  std::vector<Watch> watches_;  // By descriptor.
  std::unordered_map<const Source*, int> first_of_;
  std::array<epoll_event, kReports> reports_{};  // A member, so that a poll allocates nothing.
};

}  // namespace

Result<std::unique_ptr<Reactor>> make_epoll_reactor() {
  const int epoll_fd = ::epoll_create1(EPOLL_CLOEXEC);
  if (epoll_fd < 0) return failure(status_from_errno(errno, "epoll_create1"));
  const int interrupt_fd = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (interrupt_fd < 0) {
    const int error = errno;
    ::close(epoll_fd);
    return failure(status_from_errno(error, "eventfd"));
  }
  auto reactor = std::make_unique<EpollReactor>(epoll_fd, interrupt_fd);
  epoll_event event{};
  event.events = EPOLLIN | EPOLLET;
  event.data.u64 = kInterruptMark;
  if (::epoll_ctl(epoll_fd, EPOLL_CTL_ADD, interrupt_fd, &event) != 0) return failure(status_from_errno(errno, "epoll_ctl"));
  return reactor;
}

}  // namespace rondo
