// rondo top: shows frames of the daemon, once a second, on the whole terminal or as text.
#include <unistd.h>

#include <algorithm>
#include <boost/json.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "backends/backend.h"
#include "commands/actions.h"
#include "output/exit_code.h"
#include "output/json_text.h"
#include "output/print.h"
#include "output/report.h"
#include "rondo/base/clock.h"
#include "terminal/terminal.h"
#include "terminal/top_view.h"

namespace rondo::cli {
namespace {

namespace json = boost::json;

/// After this time without an answer the view reports that the daemon is silent. A healthy daemon answers within milliseconds.
constexpr Duration kSilence = 1s;

/// Requests frames from the daemon; reconnects at the next frame if the daemon went away.
class Frames {
 public:
  explicit Frames(const Options& options) : options_(options) {}

  /// Waits for the answer, up to the timeout of the options.
  Result<json::object> next() {
    if (Status connected = connect(); !connected.ok()) return failure(std::move(connected));
    Result<json::object> frame = client_->call("top", {});
    if (!frame) client_.reset();
    return frame;
  }

  /// The same without blocking: ask(), then answer() until asked() is false. At most one request is outstanding: if the daemon hangs, more
  /// requests would only fill its queue. The connection ends when the daemon does.
  Status ask() {
    if (Status connected = connect(); !connected.ok()) return connected;
    if (Status sent = client_->ask("top", {}); !sent.ok()) return give_up(std::move(sent));
    asked_ = true;
    return {};
  }
  bool asked() const noexcept { return asked_; }
  int fd() const noexcept { return asked_ ? client_->fd() : -1; }
  Result<std::optional<json::object>> answer() {
    Result<std::optional<json::object>> frame = client_->answer();
    if (!frame) return failure(give_up(frame.error()));
    asked_ = !frame->has_value();
    return frame;
  }

 private:
  Status connect() {
    if (client_ != nullptr) return {};
    Result<std::unique_ptr<AdminClient>> opened = open_daemon(options_);
    if (!opened) return opened.error();
    client_ = std::move(*opened);
    return {};
  }

  Status give_up(Status why) {
    client_.reset();
    asked_ = false;
    return why;
  }

  const Options& options_;
  std::unique_ptr<AdminClient> client_;
  bool asked_ = false;
};

/// Prints frames one after the other; the first immediately.
int print_frames(const Options& options, const Top& top) {
  Frames frames(options);
  TopView view(top.order);
  const std::uint64_t wanted = top.frames == 0 ? 1 : top.frames;
  for (std::uint64_t i = 0; i < wanted; ++i) {
    if (i != 0) ::usleep(static_cast<useconds_t>(std::chrono::duration_cast<std::chrono::microseconds>(top.every).count()));
    Result<json::object> frame = frames.next();
    if (!frame) return report(options, frame.error());
    if (options.json) {
      print(json_text(*frame) + "\n");
    } else {
      view.take(std::move(*frame));
      if (i != 0) print("\n");
      for (const std::string& line : view.lines({}, false, {})) print(line + "\n");
    }
    if (const int code = finish_output(); code != kExitDone) return code;
  }
  return kExitDone;
}

/// Handles a key. Returns false if the user leaves.
bool obey(std::uint16_t key, TopView& view, bool& paused, bool& helps) {
  switch (key) {
    case 'q': return false;
    case '?':
    case 'h': helps = !helps; break;
    case 'p':
    case ' ': paused = !paused; break;
    case 'n': view.sort_by(SourceOrder::Name); break;
    case 't': view.sort_by(SourceOrder::Turns); break;
    case 'r': view.sort_by(SourceOrder::Share); break;
    case 'l': view.sort_by(SourceOrder::Longest); break;
    case 'd': view.sort_by(SourceOrder::Depth); break;
    case 'w': view.sort_by(SourceOrder::Waiting); break;
    case 'b': view.sort_by(SourceOrder::Busy); break;
    case '<':
    case Terminal::kLeft: view.move(TopView::Move::Left); break;
    case '>':
    case Terminal::kRight: view.move(TopView::Move::Right); break;
    case Terminal::kUp: view.move(TopView::Move::Up); break;
    case Terminal::kDown: view.move(TopView::Move::Down); break;
    case Terminal::kPageUp: view.move(TopView::Move::PageUp); break;
    case Terminal::kPageDown: view.move(TopView::Move::PageDown); break;
    case Terminal::kHome: view.move(TopView::Move::First); break;
    case Terminal::kEnd: view.move(TopView::Move::Last); break;
    default: break;
  }
  return true;
}

/// The live view: watches terminal and daemon together, so that neither waits for the other.
class Screen {
 public:
  Screen(const Top& top, Terminal& terminal, Frames& frames, json::object first)
      : top_(top), terminal_(terminal), frames_(frames), view_(top.order) {
    view_.take(std::move(first));
  }

  int run() {
    for (;;) {
      if (!frames_.asked() && !paused_ && clock_.now() >= next_) ask();
      if (frames_.asked()) take_answer();
      const Terminal::Size size = Terminal::size();
      terminal_.draw(view_.lines({size.lines, size.columns}, true, note()));
      const Terminal::Heard heard = terminal_.wait(patience(), frames_.fd());
      if (heard.event == Terminal::Event::Leave) return kExitDone;
      if (heard.event == Terminal::Event::Key && !obey(heard.key, view_, paused_, helps_)) return kExitDone;
    }
  }

 private:
  void ask() {
    const Instant now = clock_.now();
    next_ = now + top_.every;
    if (!unanswered_) unanswered_ = now;
    if (Status asked = frames_.ask(); !asked.ok()) trouble_ = std::string{asked.message()};
  }

  void take_answer() {
    Result<std::optional<json::object>> frame = frames_.answer();
    if (!frame) {
      trouble_ = std::string{frame.error().message()};
    } else if (frame->has_value()) {
      view_.take(std::move(**frame));
      trouble_.clear();
      unanswered_.reset();
    }
  }

  Duration silence() const { return unanswered_ ? clock_.now() - *unanswered_ : Duration{0}; }

  /// The time until the next frame is due or, without an answer, until the shown age changes.
  Duration patience() const {
    const Duration next_second = 1s - silence() % 1s;
    if (frames_.asked()) return next_second;
    const Duration due = paused_ ? Duration{3600s} : next_ - clock_.now();
    return unanswered_ ? std::min(due, next_second) : due;
  }

  std::string note() const {
    if (silence() >= kSilence || !trouble_.empty()) {
      const auto seconds = std::chrono::floor<std::chrono::seconds>(silence()).count();
      return "NO ANSWER for " + std::to_string(seconds) + " s; q quits" + (trouble_.empty() ? "" : ". " + trouble_);
    }
    if (helps_) return "t turns, n name, d depth, r share, l longest, w waiting, b busy; ? back";
    return paused_ ? "paused: p goes on" : "q quits, p pauses, arrows move; sort by t n d r l w b (? says which)";
  }

  const Top& top_;
  Terminal& terminal_;
  const SystemClock clock_;
  Frames& frames_;
  TopView view_;
  bool paused_ = false;
  bool helps_ = false;                        // The line below the figures explains the sort keys.
  std::string trouble_;                       // Why the last request failed; empty after the next answer.
  Instant next_ = clock_.now() + top_.every;  // When the next request is due.
  std::optional<Instant> unanswered_;         // The time of the first request since the last answer.
};

}  // namespace

int show_top(const Options& options, const Top& top) {
  if (options.json || top.frames != 0) return print_frames(options, top);
  Frames frames(options);
  Result<json::object> first = frames.next();
  if (!first) return report(options, first.error());
  const Result<std::unique_ptr<Terminal>> terminal = Terminal::open();
  return terminal ? Screen(top, **terminal, frames, std::move(*first)).run() : print_frames(options, top);
}

}  // namespace rondo::cli
