// PageLine: the pages of jobs that callers read. A few of them are read at the same time, and the others wait in the order in which they
// asked: the store's thread does the work of the scheduler, such as storing the end of a run, between a few pages and not behind those of
// all callers, and a few pages wait for the scheduler's thread. A caller asks for its next page when it has handled the one before, so
// callers take turns. A page that was handed over has no place in the line: a caller that does not read its answer delays no other.
// Scheduler thread.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "jobs/commands/parts.h"
#include "jobs/for_caller.h"

namespace rondo::jobs {

/// The commands own it: what asks it from turns of their callers holds a reference.
class PageLine : public std::enable_shared_from_this<PageLine> {
 public:
  explicit PageLine(Jobs& jobs) : jobs_(jobs) {}

  /// Jobs::list() of kPage jobs. A caller that has gone gets no page.
  void ask(std::string after, Reply reply, Jobs::Done<std::vector<StoredJob>> done) {
    waiting_.push_back({std::move(after), std::move(reply), std::move(done)});
    read_next();
  }

 private:
  static constexpr std::size_t kAtOnce = 2;  // One is read while the one before it is handled.
  struct Asked {
    std::string after;
    Reply reply;
    Jobs::Done<std::vector<StoredJob>> done;
  };

  void read_next() {
    while (reading_ < kAtOnce && !waiting_.empty()) {
      Asked next = std::move(waiting_.front());
      waiting_.pop_front();
      if (!next.reply.wanted()) continue;
      ++reading_;
      ForCaller(jobs_)->list(std::move(next.after), kPage,
                             [self = shared_from_this(), done = std::move(next.done)](Result<std::vector<StoredJob>> page) {
                               --self->reading_;
                               self->read_next();
                               done(std::move(page));
                             });
    }
  }

  Jobs& jobs_;
  std::deque<Asked> waiting_;
  std::size_t reading_ = 0;
};

}  // namespace rondo::jobs
