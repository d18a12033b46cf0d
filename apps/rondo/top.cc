// rondo top: frames of the daemon, once a second, on the whole terminal or as text.
#include <unistd.h>

#include <boost/json.hpp>
#include <cstdio>
#include <memory>
#include <string>

#include "actions.h"
#include "backend.h"
#include "exit_code.h"
#include "rondo/base/clock.h"
#include "terminal.h"
#include "top_view.h"

namespace rondo::cli {
namespace {

namespace json = boost::json;

/// The daemon, asked again and again; one that went away is looked for at the next frame.
class Frames {
 public:
  explicit Frames(const Options& options) : options_(options) {}

  Result<json::object> next() {
    if (backend_ == nullptr) {
      Result<std::unique_ptr<Backend>> opened = open_backend(options_);
      if (!opened) return failure(opened.error());
      backend_ = std::move(*opened);
    }
    Result<json::object> frame = backend_->call("top", {}, {});
    if (!frame) backend_.reset();
    return frame;
  }

 private:
  const Options& options_;
  std::unique_ptr<Backend> backend_;
};

/// Frames one after the other; the first is there at once.
int print_frames(const Options& options, const Top& top) {
  Frames frames(options);
  TopView view(top.order);
  const std::uint64_t wanted = top.frames == 0 ? 1 : top.frames;
  for (std::uint64_t i = 0; i < wanted; ++i) {
    if (i != 0) ::usleep(static_cast<useconds_t>(std::chrono::duration_cast<std::chrono::microseconds>(top.every).count()));
    Result<json::object> frame = frames.next();
    if (!frame) return report(options, frame.error());
    if (options.json) {
      std::printf("%s\n", json::serialize(*frame).c_str());
    } else {
      view.take(std::move(*frame));
      if (i != 0) std::puts("");
      for (const std::string& line : view.lines(SIZE_MAX / 2, false, {})) std::puts(line.c_str());
    }
    if (std::fflush(stdout) != 0) return kExitFailed;
  }
  return kExitDone;
}

/// False: leave.
bool obey(char key, TopView& view, bool& paused) {
  switch (key) {
    case 'q': return false;
    case 'p':
    case ' ': paused = !paused; break;
    case 'n': view.sort_by(SourceOrder::Name); break;
    case 't': view.sort_by(SourceOrder::Turns); break;
    case 'r': view.sort_by(SourceOrder::Share); break;
    case 'l': view.sort_by(SourceOrder::Longest); break;
    case 'd': view.sort_by(SourceOrder::Depth); break;
    case 'w': view.sort_by(SourceOrder::Waiting); break;
    case 'b': view.sort_by(SourceOrder::Busy); break;
    default: break;
  }
  return true;
}

int show_frames(const Options& options, const Top& top, Terminal& terminal) {
  const SystemClock clock;
  Frames frames(options);
  TopView view(top.order);
  bool paused = false;
  std::string trouble;
  for (Instant next = clock.now();;) {
    if (clock.now() >= next && !paused) {
      Result<json::object> frame = frames.next();
      trouble = frame ? std::string{} : std::string{frame.error().message()};
      if (frame) view.take(std::move(*frame));
      next = clock.now() + top.every;
    }
    const std::string note = !trouble.empty() ? trouble : paused ? "paused: p goes on" : "q quits, p pauses; sort by t n d r l w b";
    terminal.draw(view.lines(Terminal::size().lines, true, note));
    const Terminal::Heard heard = terminal.wait(paused ? 3600s : next - clock.now());
    if (heard.event == Terminal::Event::Leave) return kExitDone;
    if (heard.event == Terminal::Event::Key && !obey(heard.key, view, paused)) return kExitDone;
  }
}

}  // namespace

int show_top(const Options& options, const Top& top) {
  if (options.json || top.frames != 0) return print_frames(options, top);
  Frames first(options);
  if (const Result<json::object> frame = first.next(); !frame) return report(options, frame.error());
  const Result<std::unique_ptr<Terminal>> terminal = Terminal::open();
  return terminal ? show_frames(options, top, **terminal) : print_frames(options, top);
}

}  // namespace rondo::cli
