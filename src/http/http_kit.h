// For tests of HTTP: a scheduler on the real reactor whose turns the test gives, and the other end of a connection on loopback.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/unique_fd.h"
#include "rondo/base/clock.h"
#include "rondo/sched/scheduler.h"
#include "sim/test_source.h"

namespace rondo::http {

/// Turns of one scheduler, given by the test's thread.
class Loop : public testing::Test {
 protected:
  /// Gives turns until 'done'. Its deadline only ends what hangs.
  void run_until(const std::function<bool()>& done) {
    const Instant deadline = clock_.now() + 100s;
    while (!done()) {
      ASSERT_LT(clock_.now(), deadline) << "nothing more happened";
      if (!scheduler_.turn()) scheduler_.wait(clock_.now() + 1ms);
    }
  }
  /// Gives the turns that are due now, and those that they cause.
  void run_now() {
    for (int i = 0; i < 3; ++i) {
      scheduler_.poll();
      scheduler_.run_until_idle();
    }
  }

  SystemClock clock_;
  std::unique_ptr<Reactor> reactor_ = std::move(make_epoll_reactor().value());
  Scheduler scheduler_{clock_, *reactor_, test::policy(BudgetedFrames{})};
};

/// A raw TCP connection that does not block.
class Peer {
 public:
  /// 'from': the last byte of its address 127.0.0.x; 0: the kernel chooses the address.
  explicit Peer(std::uint16_t port, int receive_buffer = 0, std::uint32_t from = 0)
      : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    if (receive_buffer != 0) ::setsockopt(fd_.get(), SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof receive_buffer);
    sockaddr_in to{};
    to.sin_family = AF_INET;
    if (from != 0) {
      to.sin_addr.s_addr = htonl((INADDR_LOOPBACK & ~0xffU) | from);
      EXPECT_EQ(::bind(fd_.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to), 0) << errno;
    }
    to.sin_port = htons(port);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(fd_.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to), 0) << errno;
  }
  explicit Peer(UniqueFd fd) : fd_(std::move(fd)) {}

  /// Sends as much as the kernel takes; pump() sends the rest.
  void say(std::string_view bytes) {
    unsent_ += bytes;
    send_some();
  }
  /// Sends and receives what is possible now.
  void pump() {
    send_some();
    char buffer[65536];
    for (;;) {
      const ssize_t got = ::recv(fd_.get(), buffer, sizeof buffer, MSG_DONTWAIT);
      if (got > 0) {
        heard.append(buffer, static_cast<std::size_t>(got));
        continue;
      }
      if (got == 0) is_closed = true;
      if (got < 0 && errno != EAGAIN && errno != EINTR) is_closed = was_reset = true;
      return;
    }
  }
  bool hears(std::string_view text) {
    pump();
    return heard.find(text) != std::string::npos;
  }
  bool hears_end() {
    pump();
    return is_closed;
  }
  bool has_sent_all() {
    send_some();
    return unsent_.empty();
  }
  void end_output() { ::shutdown(fd_.get(), SHUT_WR); }
  void close() { fd_.reset(); }
  /// Closes with a reset.
  void reset() {
    const linger at_once{.l_onoff = 1, .l_linger = 0};
    ::setsockopt(fd_.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    fd_.reset();
  }
  int fd() const { return fd_.get(); }
  /// How many answers of this status came.
  std::size_t answers(unsigned status) {
    pump();
    const std::string line = "HTTP/1.1 " + std::to_string(status) + " ";
    std::size_t count = 0;
    for (std::size_t at = heard.find(line); at != std::string::npos; at = heard.find(line, at + 1)) ++count;
    return count;
  }

  std::string heard;
  bool is_closed = false;
  bool was_reset = false;

 private:
  void send_some() {
    while (!unsent_.empty() && fd_) {
      const std::string_view part = std::string_view{unsent_}.substr(sent_, 65536);
      const ssize_t sent = ::send(fd_.get(), part.data(), part.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
      if (sent < 0 && errno != EAGAIN && errno != EINTR) was_reset = true;
      if (sent <= 0) return;
      sent_ += static_cast<std::size_t>(sent);
      if (sent_ < unsent_.size()) continue;
      unsent_.clear();
      sent_ = 0;
    }
  }

  UniqueFd fd_;
  std::string unsent_;
  std::size_t sent_ = 0;  // Bytes of it.
};

}  // namespace rondo::http
