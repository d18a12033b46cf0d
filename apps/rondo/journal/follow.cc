#include "journal/follow.h"

#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <array>
#include <memory>
#include <utility>

#include "base/unique_fd.h"
#include "output/print.h"

namespace rondo::cli {
namespace {

using journal::JournalReader;

constexpr int kLookMilliseconds = 250;

/// Ends the following: on a signal, which is blocked meanwhile, or when the reader of the output is gone.
class End {
 public:
  End() {
    sigset_t wanted;
    sigemptyset(&wanted);
    for (const int signal : {SIGINT, SIGTERM}) sigaddset(&wanted, signal);
    ::sigprocmask(SIG_BLOCK, &wanted, nullptr);
    signals_ = UniqueFd{::signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK)};
  }

  /// Waits for the end for this long.
  bool has_come(int milliseconds) const {
    std::array<pollfd, 2> watched{pollfd{signals_.get(), POLLIN, 0}, pollfd{STDOUT_FILENO, 0, 0}};
    return ::poll(watched.data(), watched.size(), milliseconds) > 0;
  }
  /// Waits for the end, or until the output accepts more.
  bool comes_first() const {
    std::array<pollfd, 2> watched{pollfd{signals_.get(), POLLIN, 0}, pollfd{STDOUT_FILENO, POLLOUT, 0}};
    return ::poll(watched.data(), watched.size(), -1) > 0 && (watched[0].revents != 0 || watched[1].revents != POLLOUT);
  }

 private:
  UniqueFd signals_;
};

/// Returns the file whose records follow those of 'newest'; null if it does not exist yet. Until it exists, 'newest' may grow.
std::unique_ptr<JournalReader> file_behind(JournalReader& newest) {
  const bool is_whole = newest.check_again();
  if (is_whole && newest.is_at_its_name()) return nullptr;
  Result<std::unique_ptr<JournalReader>> next = JournalReader::open(newest.name());
  if (!next) return nullptr;  // No record is written to it yet.
  newest.check_again();       // Read it a last time: its writer uses the next file now.
  return std::move(*next);
}

}  // namespace

int follow_journal(OpenedJournal& opened, journal::JournalWalk& walk, const std::function<void(const journal::JournalWalk&)>& each) {
  const End end;
  const auto show = [&](OpenedJournal::End torn) {
    while (!end.comes_first() && walk.next()) each(walk);
    opened.report_trouble(torn);
  };
  do {
    std::unique_ptr<JournalReader> next = file_behind(*opened.readers().back());
    show(next == nullptr ? OpenedJournal::End::MayGrow : OpenedJournal::End::IsFinal);
    if (next != nullptr) {
      walk.go_on_with(*next);
      opened.replace_last(std::move(next));
      show(OpenedJournal::End::MayGrow);
    }
    if (const int code = finish_output(); code != kExitDone) return end.has_come(0) ? kExitDone : code;
  } while (!end.has_come(kLookMilliseconds));
  return kExitDone;
}

}  // namespace rondo::cli
