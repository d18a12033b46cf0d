// Outbox: notices on their way to their targets. Each is tried a few times, with growing pauses. It keeps at most limits::kNotices, so a
// target that is away cannot fill the memory, and sends few at a time to one target, so it cannot hold up the others. Scheduler thread
// only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>

#include "rondo/base/status.h"
#include "rondo/base/time.h"
#include "rondod/notify/notice.h"

namespace rondo::daemon {

struct OutboxFigures {
  std::uint64_t sent = 0;
  std::uint64_t given_up = 0;  // After the last try.
  std::uint64_t dropped = 0;   // The oldest ones, at limits::kNotices.
  std::size_t waiting = 0;
};

class Outbox {
 public:
  using Done = std::function<void(const Status& why)>;
  /// Begins to send, and calls 'done' once, in the call or later; it may do so after the end of the Outbox.
  using Send = std::function<void(std::size_t target, const Notice& notice, Done done)>;
  using GivenUp = std::function<void(std::size_t target, const Notice& notice, const Status& why)>;

  /// 'now' reads the time of the present turn.
  Outbox(std::function<Instant()> now, Send send, GivenUp given_up);

  void add(std::size_t target, Notice notice);
  /// Sends what is due.
  void poll();
  OutboxFigures figures() const;

 private:
  struct Letter {
    std::size_t target = 0;
    Notice notice;
    std::size_t tries = 0;
    Instant next = {};
    bool is_under_way = false;
  };
  void ended(std::uint64_t number, const Status& why);

  const std::function<Instant()> now_;
  const Send send_;
  const GivenUp given_up_;
  std::map<std::uint64_t, Letter> letters_;  // The oldest first.
  std::map<std::size_t, std::size_t> under_way_;
  std::uint64_t last_ = 0;
  OutboxFigures counted_;
  /// For ends that come later: it is gone with the Outbox.
  std::shared_ptr<Outbox*> self_ = std::make_shared<Outbox*>(this);
};

}  // namespace rondo::daemon
