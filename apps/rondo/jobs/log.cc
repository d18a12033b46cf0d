#include "jobs/log.h"

#include <algorithm>
#include <boost/json.hpp>
#include <map>
#include <string>
#include <string_view>

#include "commands/command_limits.h"
#include "output/exit_code.h"
#include "output/json_text.h"
#include "output/print.h"
#include "output/report.h"
#include "rondo/base/clock.h"
#include "rondo/base/text.h"

namespace rondo::cli {
namespace {

namespace json = boost::json;

/// The output of a command as a terminal may show it: its lines and tabs, and everything else that could move the cursor as \xHH.
std::string shown(std::string_view output) {
  std::string text;
  while (!output.empty()) {
    const std::size_t end = std::min(output.find_first_of("\n\t"), output.size());
    text += escape_text(output.substr(0, end));
    if (end < output.size()) text += output[end];
    output.remove_prefix(std::min(end + 1, output.size()));
  }
  return text;
}

struct Piece {
  std::string worker = {};
  std::int64_t from = 0;
  std::int64_t next = 0;
  std::int64_t attempt = 0;  // 0: unknown.
  std::int64_t size = -1;    // Size of the worker's log at the time of the answer; negative: unknown.
  bool has_ended = false;
  std::string data = {};
  std::string activity = {};
};

Piece piece_of(const json::object& answer) {
  Piece piece{.worker = std::string{answer.at("worker").as_string()},
              .from = answer.at("from").to_number<std::int64_t>(),
              .next = answer.at("next").to_number<std::int64_t>(),
              .has_ended = answer.at("ended").as_bool(),
              .data = unescape_text(std::string_view{answer.at("data").as_string()})};
  if (const json::value* const attempt = answer.if_contains("attempt")) piece.attempt = attempt->to_number<std::int64_t>();
  if (const json::value* const size = answer.if_contains("size")) piece.size = size->to_number<std::int64_t>();
  if (const json::value* const activity = answer.if_contains("activity")) piece.activity = std::string{activity->as_string()};
  return piece;
}

/// Prints the log of one run, piece after piece.
class LogReader {
 public:
  LogReader(const Options& options, Backend& backend, std::int64_t run, bool follow, std::uint64_t bytes_max)
      : options_(options), backend_(backend), run_(run), follow_(follow), bytes_max_(bytes_max) {}

  int read() {
    for (;;) {
      const std::int64_t from = next_[worker_];
      json::object arguments{{"run", run_}, {"from", from}, {"wait", follow_}};
      if (!worker_.empty()) arguments["worker"] = worker_;
      const Instant asked = clock_.now();
      const Result<json::object> answer = backend_.call("job-log", arguments, {});
      if (!answer) return report(options_, answer.error());
      const Piece piece = piece_of(*answer);
      if (const Status wrong = check(piece, from, clock_.now() - asked); !wrong.ok()) return report(options_, wrong);
      const bool is_elsewhere = !piece.worker.empty() && piece.worker != worker_ && !worker_.empty();
      if (is_elsewhere && piece.data.empty()) {
        worker_ = piece.worker;  // The next attempt is there.
        continue;
      }
      if (is_beyond_the_end(piece)) return kExitDone;
      show(*answer, piece, from);
      if (const int code = finish_output(); code != kExitDone) return code;
      // Without --follow the end of the log is where it is now.
      if (piece.has_ended || (!follow_ && piece.data.empty())) return kExitDone;
      if (!piece.worker.empty()) worker_ = piece.worker;
      next_[worker_] = piece.next;
    }
  }

 private:
  /// Without --follow the end of a log is where it was at its first piece: a command may print faster than this reads.
  bool is_beyond_the_end(const Piece& piece) {
    if (follow_ || piece.size < 0) return false;
    const std::int64_t end = ends_.emplace(piece.worker, piece.size).first->second;
    return !piece.data.empty() && piece.from >= end;
  }

  /// DataLoss for a piece that leads nowhere: reading on would not end.
  Status check(const Piece& piece, std::int64_t from, Duration took) {
    const auto wrong = [&](std::string_view why) {
      return Status{StatusCode::DataLoss, "the log of the run " + std::to_string(run_) + " cannot be read on from byte " +
                                              std::to_string(from) + ": " + std::string{why} +
                                              (piece.worker.empty() ? "" : " (worker " + piece.worker + ")")};
    };
    if (piece.next < piece.from || static_cast<std::uint64_t>(piece.next - piece.from) != piece.data.size())
      return wrong("the answer has " + std::to_string(piece.data.size()) + " bytes, and says that it goes from byte " +
                   std::to_string(piece.from) + " to " + std::to_string(piece.next));
    if (!piece.data.empty() && piece.from < from) return wrong("the answer begins at byte " + std::to_string(piece.from));
    read_ += piece.data.size();
    if (!follow_ && read_ > bytes_max_) return wrong("it has more than " + std::to_string(bytes_max_) + " bytes");
    empty_ = piece.data.empty() && took < limits::kShortAnswer ? empty_ + 1 : 0;
    return empty_ < limits::kEmptyAnswers ? Status{} : wrong("the answers have no output, and do not wait for any");
  }

  void show(const json::object& answer, const Piece& piece, std::int64_t from) {
    if (options_.json) {
      // While nothing happens, nothing is printed.
      if (piece.data.empty() && !piece.has_ended && follow_ && piece.activity == activity_) return;
      activity_ = piece.activity;
      return print(json_text(answer) + "\n");
    }
    if (!piece.data.empty()) {
      show_attempt(piece, from);
      print(shown(piece.data));
      is_within_line_ = piece.data.back() != '\n';
    } else if (piece.from > from) {
      show_missing(piece, from);
    }
    if (follow_ && !piece.activity.empty() && piece.activity != activity_) print_error("(" + piece.activity + ")\n");
    activity_ = piece.activity;
  }

  /// A line where the output of another attempt begins, after what is missing.
  void show_attempt(const Piece& piece, std::int64_t from) {
    const std::int64_t attempt = std::max<std::int64_t>(piece.attempt, 1);
    const bool is_other = attempt != attempt_ || (attempt_ != 0 && piece.worker != shown_worker_);
    const std::int64_t first = std::min(attempt_ + 1, attempt);
    if (piece.from > from) {
      show_missing(piece, from);
    } else if (attempt > first) {
      print_error("(no output of " + attempts(first, attempt - 1) + " at worker " + piece.worker + ")\n");
    }
    if (is_other && attempt > 1)
      print((is_within_line_ ? "\n" : "") + ("--- attempt " + std::to_string(attempt) + ", worker " + piece.worker + " ---\n"));
    attempt_ = attempt;
    shown_worker_ = piece.worker;
  }

  void show_missing(const Piece& piece, std::int64_t from) const {
    const std::int64_t attempt = std::max<std::int64_t>(piece.attempt, 1);
    const std::int64_t first = std::min(attempt_ + 1, attempt);
    const std::string of = attempt == 1       ? ""
                           : first == attempt ? " of attempt " + std::to_string(attempt)
                                              : " of " + attempts(first, attempt);
    print_error("(" + std::to_string(piece.from - from) + " bytes" + of + " are not kept)\n");
  }

  static std::string attempts(std::int64_t first, std::int64_t last) {
    return first == last ? "attempt " + std::to_string(first) : "attempts " + std::to_string(first) + " to " + std::to_string(last);
  }

  const Options& options_;
  Backend& backend_;
  const std::int64_t run_;
  const bool follow_;
  const std::uint64_t bytes_max_;
  SystemClock clock_;
  std::string worker_;                        // In whose log the next piece is; empty: not known yet.
  std::map<std::string, std::int64_t> next_;  // Each worker counts the bytes of the attempts that it had.
  std::map<std::string, std::int64_t> ends_;  // Size of each worker's log when its first piece came.
  std::uint64_t read_ = 0;                    // Bytes.
  std::int64_t attempt_ = 0;                  // Attempt of the output that was printed last; 0: none was.
  std::string shown_worker_;                  // The same.
  bool is_within_line_ = false;
  std::string activity_;   // The text that was printed last.
  std::size_t empty_ = 0;  // Answers in a row without output and without a wait.
};

}  // namespace

int print_log(const Options& options, Backend& backend, std::int64_t run, bool follow, std::uint64_t bytes_max) {
  return LogReader{options, backend, run, follow, bytes_max}.read();
}

}  // namespace rondo::cli
