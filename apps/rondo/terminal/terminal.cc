#include "terminal/terminal.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string_view>
#include <utility>

namespace rondo::cli {
namespace {

constexpr std::string_view kEnter = "\x1b[?1049h\x1b[?25l\x1b[H\x1b[2J";  // Alternate screen, hidden cursor, cleared.
constexpr std::string_view kLeave = "\x1b[0m\x1b[?25h\x1b[?1049l";

void say(std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(STDOUT_FILENO, text.data(), text.size());
    if (written < 0 && errno != EINTR) return;
    if (written > 0) text.remove_prefix(static_cast<std::size_t>(written));
  }
}

bool can_be_drawn_on() {
  const char* const kind = std::getenv("TERM");
  return ::isatty(STDIN_FILENO) == 1 && ::isatty(STDOUT_FILENO) == 1 && kind != nullptr && std::string_view{kind} != "dumb";
}

/// Also true if the terminal does not control this session (`su -c`, `setsid`), because then the terminal does not stop background
/// processes.
bool has_foreground() {
  const pid_t group = ::tcgetpgrp(STDIN_FILENO);
  return group < 0 || group == ::getpgrp();
}

/// True if a terminating signal is pending.
bool is_to_end() {
  sigset_t waiting;
  ::sigpending(&waiting);
  return std::ranges::any_of(std::array{SIGINT, SIGQUIT, SIGTERM, SIGHUP}, [&waiting](int one) { return sigismember(&waiting, one) == 1; });
}

/// Stops the process until a SIGCONT, which stays pending. Returns false if it did not stop, because its process group is orphaned.
bool stop_by(int signal) {
  sigset_t going_on;
  sigemptyset(&going_on);
  sigaddset(&going_on, SIGCONT);
  constexpr timespec kNow{};
  while (::sigtimedwait(&going_on, nullptr, &kNow) == SIGCONT) continue;  // Discard those of an earlier stop.
  sigset_t let_in;
  sigset_t before;
  sigemptyset(&let_in);
  // Let terminating signals end the process immediately: if blocked, they would wait when the SIGCONT arrived before the stop.
  for (const int one : {signal, SIGINT, SIGQUIT, SIGTERM, SIGHUP}) sigaddset(&let_in, one);
  ::raise(signal);
  ::sigprocmask(SIG_UNBLOCK, &let_in, &before);  // The process stops here.
  ::sigprocmask(SIG_SETMASK, &before, nullptr);
  sigset_t waiting;
  ::sigpending(&waiting);
  return sigismember(&waiting, SIGCONT) == 1;
}

}  // namespace

Result<std::unique_ptr<Terminal>> Terminal::open() {
  if (!can_be_drawn_on()) return failure(StatusCode::FailedPrecondition, "standard input and output are no terminal");
  std::unique_ptr<Terminal> terminal{new Terminal};
  if (::tcgetattr(STDIN_FILENO, &terminal->before_) != 0) return failure(status_from_errno(errno, "read the terminal's settings"));
  sigset_t wanted;
  sigemptyset(&wanted);
  for (const int signal : {SIGWINCH, SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGTSTP, SIGCONT}) sigaddset(&wanted, signal);
  ::sigprocmask(SIG_BLOCK, &wanted, &terminal->mask_before_);
  terminal->signals_ = ::signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK);
  if (!terminal->enter()) return failure(StatusCode::Cancelled, "ended before it had the terminal");
  return terminal;
}

Terminal::~Terminal() {
  if (signals_ < 0) return;
  leave();
  ::close(signals_);
  ::sigprocmask(SIG_SETMASK, &mask_before_, nullptr);
}

/// Waits for the foreground; the process is stopped meanwhile, like any background process. Returns false if it must end.
bool Terminal::enter() {
  while (!has_foreground()) {
    if (is_to_end() || !stop_by(SIGTTOU)) return false;
  }
  entered_ = true;
  termios raw = before_;
  raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
  raw.c_cc[VMIN] = 0;
  raw.c_cc[VTIME] = 0;
  ::tcsetattr(STDIN_FILENO, TCSANOW, &raw);
  say(kEnter);
  return true;
}

void Terminal::leave() {
  // In the background another process uses the terminal, and writing to it would stop this one.
  if (!std::exchange(entered_, false) || !has_foreground()) return;
  say(kLeave);
  ::tcsetattr(STDIN_FILENO, TCSAFLUSH, &before_);
}

/// Stops the process and returns when another process continues it; returns immediately if its process group is orphaned. Returns false if
/// it must end: possibly a signal arrived while it was stopped (kill %1), and the shell has the terminal.
bool Terminal::stop() {
  leave();
  stop_by(SIGTSTP);
  return !is_to_end() && enter();
}

Terminal::Heard Terminal::obey(std::uint32_t signal) {
  switch (signal) {
    case SIGWINCH: return {Event::Resized, 0};
    case SIGTSTP: return {stop() ? Event::Resized : Event::Leave, 0};
    // After stop() it only redraws; after a stop by another process, that process may have used the terminal.
    case SIGCONT: return {enter() ? Event::Resized : Event::Leave, 0};
    default: return {Event::Leave, 0};
  }
}

Terminal::Size Terminal::size(int fd) {
  winsize told{};
  if (::ioctl(fd, TIOCGWINSZ, &told) != 0 || told.ws_col == 0 || told.ws_row == 0) return {};
  return {told.ws_col, told.ws_row};
}

void Terminal::draw(const std::vector<std::string>& lines) {
  const Size room = size();
  std::string text{"\x1b[H"};
  const std::size_t shown = std::min(lines.size(), room.lines);
  for (std::size_t i = 0; i < shown; ++i) {
    text.append(cut_to(lines[i], room.columns)).append("\x1b[0m\x1b[K");
    if (i + 1 < shown) text.append("\r\n");
  }
  say(text.append("\x1b[J"));
}

Terminal::Heard Terminal::next_key() {
  struct Named {
    std::string_view bytes;
    Key key;
  };
  // As xterm and its successors send them; the second form is that of a keypad in application mode, and of the Linux console.
  static constexpr std::array<Named, 14> kNamed{{{"\x1b[A", kUp},
                                                 {"\x1bOA", kUp},
                                                 {"\x1b[B", kDown},
                                                 {"\x1bOB", kDown},
                                                 {"\x1b[D", kLeft},
                                                 {"\x1bOD", kLeft},
                                                 {"\x1b[C", kRight},
                                                 {"\x1bOC", kRight},
                                                 {"\x1b[5~", kPageUp},
                                                 {"\x1b[6~", kPageDown},
                                                 {"\x1b[H", kHome},
                                                 {"\x1b[1~", kHome},
                                                 {"\x1b[F", kEnd},
                                                 {"\x1b[4~", kEnd}}};
  std::size_t length = 1;
  std::uint16_t key = static_cast<unsigned char>(typed_.front());
  if (key == '\x1b') {
    key = kOtherKey;
    if (typed_.size() > 1 && (typed_[1] == '[' || typed_[1] == 'O')) {
      const auto is_last = [](char c) { return c >= '@' && c <= '~'; };
      length = 2;
      while (length < typed_.size() && !is_last(typed_[length++])) continue;
    }
    const auto* const named = std::ranges::find(kNamed, std::string_view{typed_}.substr(0, length), &Named::bytes);
    if (named != kNamed.end()) key = named->key;
  }
  typed_.erase(0, length);
  return {Event::Key, key};
}

Terminal::Heard Terminal::wait(Duration patience, int other) {
  if (!typed_.empty()) return next_key();
  std::array<pollfd, 3> watched{{{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0},
                                 {.fd = signals_, .events = POLLIN, .revents = 0},
                                 {.fd = other, .events = POLLIN, .revents = 0}}};
  const auto milliseconds = std::chrono::ceil<std::chrono::milliseconds>(std::max(patience, Duration{0})).count();
  if (::poll(watched.data(), watched.size(), static_cast<int>(std::min<std::int64_t>(milliseconds, 1'000'000'000))) <= 0) return {};
  if ((watched[1].revents & POLLIN) != 0) {
    signalfd_siginfo told{};
    if (::read(signals_, &told, sizeof told) != static_cast<ssize_t>(sizeof told)) return {};
    return obey(told.ssi_signo);
  }
  if (watched[0].revents == 0) return {Event::Other, 0};
  std::array<char, 64> bytes;  // The bytes of one key arrive together.
  const ssize_t got = ::read(STDIN_FILENO, bytes.data(), bytes.size());
  if (got > 0) {
    typed_.assign(bytes.data(), static_cast<std::size_t>(got));
    return next_key();
  }
  return {got == 0 || (watched[0].revents & POLLHUP) != 0 ? Event::Leave : Event::Time, 0};
}

std::string cut_to(const std::string& line, std::size_t columns) {
  std::size_t seen = 0;
  std::size_t at = 0;
  while (at < line.size()) {
    if (line[at] == '\x1b') {
      const std::size_t end = line.find('m', at);
      at = end == std::string::npos ? line.size() : end + 1;
      continue;
    }
    const bool begins = (static_cast<unsigned char>(line[at]) & 0xc0U) != 0x80U;
    if (begins && seen == columns) break;
    seen += begins;
    ++at;
  }
  return line.substr(0, at);
}

}  // namespace rondo::cli
