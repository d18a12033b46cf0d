// A whole terminal for a while: its other screen, keys as they are pressed, its size. The terminal is as it was when this is destroyed, and
// while the process is stopped (Ctrl-Z). Plain ANSI sequences: what terminals of the last decades share. One thread; blocks SIGWINCH,
// SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGTSTP and SIGCONT meanwhile. In the background of a shell it is not touched.
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

  /// FailedPrecondition if standard input and output are no terminal that can be drawn on.
  static Result<std::unique_ptr<Terminal>> open();
  ~Terminal();
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  static Size size(int fd = 1);
  /// One line each, the first at the top; what does not fit is cut off, what was there is gone.
  void draw(const std::vector<std::string>& lines);

  enum class Event : unsigned char { Time, Key, Resized, Other, Leave };
  /// Keys that are no character; beyond every character.
  enum Key : std::uint16_t { kUp = 256, kDown, kLeft, kRight, kPageUp, kPageDown, kHome, kEnd, kOtherKey };
  struct Heard {
    Event event = Event::Time;
    std::uint16_t key = 0;  // A character, or a Key.
  };
  /// What comes first: a key, another size or the end of a stop (all is to be drawn again), the wish to leave (Ctrl-C, a signal, the end of
  /// the input), something to read at 'other' (none when it is negative), or 'patience' is over. The keyboard goes before 'other'.
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
  std::string typed_;  // Read and not yet told.
};

/// 'line' cut to 'columns' characters. Sequences that colour are kept and not counted.
std::string cut_to(const std::string& line, std::size_t columns);

}  // namespace rondo::cli
