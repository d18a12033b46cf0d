// Uses the whole terminal for a while: its alternate screen, single keys, its size. The destructor restores the terminal; so does a stop
// (Ctrl-Z) while it lasts. Uses plain ANSI sequences that all common terminals support. One thread; blocks SIGWINCH, SIGINT, SIGQUIT,
// SIGTERM, SIGHUP, SIGTSTP and SIGCONT meanwhile. In the background of a shell it does not touch the terminal.
#pragma once

#include <termios.h>

#include <csignal>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "rondo/base/result.h"
#include "rondo/base/time.h"

namespace rondo::cli {

class Terminal {
 public:
  struct Size {
    std::size_t columns = 80;
    std::size_t lines = 24;
  };

  /// FailedPrecondition if standard input and output are not a terminal that supports drawing.
  static Result<std::unique_ptr<Terminal>> open();
  ~Terminal();
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  static Size size(int fd = 1);
  /// Draws one string per line from the top, truncates long lines, and erases the previous content.
  void draw(const std::vector<std::string>& lines);

  enum class Event : unsigned char { Time, Key, Resized, Other, Leave };
  /// Keys without a character; their values are above all characters.
  enum Key : std::uint16_t { kUp = 256, kDown, kLeft, kRight, kPageUp, kPageDown, kHome, kEnd, kOtherKey };
  struct Heard {
    Event event = Event::Time;
    std::uint16_t key = 0;  // A character, or a Key.
  };
  /// Waits for the first of: a key, a change of size or the end of a stop (redraw everything), the request to leave (Ctrl-C, a signal, the
  /// end of the input), data at 'other' (not watched if negative), or the end of 'patience'. The keyboard goes before 'other'.
  Heard wait(Duration patience, int other = -1);

 private:
  Terminal() = default;
  bool enter();
  void leave();
  bool stop();
  Heard obey(std::uint32_t signal);
  Heard next_key();
  termios before_{};
  sigset_t mask_before_{};
  int signals_ = -1;
  bool entered_ = false;
  std::string typed_;  // Read, but not returned yet.
};

/// Returns 'line' truncated to 'columns' characters. Color sequences are kept and not counted.
std::string cut_to(const std::string& line, std::size_t columns);

}  // namespace rondo::cli
