// The wire format of executors: bodies that the scheduler sends to executors of xxl-job and Orth, and readers of what executors send.
//
// The format is HTTP with JSON. Three dialects are in the field: xxl-job 2.2 to 3.4, xxl-job 3.5, and Orth. Every function here writes what
// all of them read, and reads what any of them writes, with the deviations of the clients in Go, JavaScript, PHP and Python. HTTP itself is
// in http/, and connections, tokens and dispatch belong to the callers.
//
// Input is hostile. The readers accept only complete JSON of at most limits::kExecutorNesting levels, without NaN and comments. If an
// object has a name twice, its last member counts, as in Gson and Jackson. Bytes that are no UTF-8 and half surrogate pairs (JavaScript and
// Python write them when they cut a text) are accepted. A whole number may also be a text such as "42", as in Java. Further members are
// ignored. The bodies' bytes are bounded by the HTTP server and client; a reader may need twenty times these bytes of memory.
//
// Pure functions, on any thread. O(bytes). They throw nothing but std::bad_alloc.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "jobs/executors/limits.h"
#include "rondo/base/result.h"
#include "rondo/jobs/job.h"

namespace rondo::jobs::executors {

/// Codes of answers and results.
inline constexpr std::int64_t kCodeDone = 200;
inline constexpr std::int64_t kCodeFailure = 500;
inline constexpr std::int64_t kCodeTimedOut = 502;

/// The number of a shard of an attempt at executors: they send it back with the result. It is readable: run, two digits of the attempt, and
/// three digits of the shard.
std::int64_t log_id_of(std::int64_t run, std::uint32_t attempt, std::size_t shard) noexcept;

/// The parts of that number.
struct LogId {
  std::int64_t run;
  std::uint32_t attempt;  // The last two digits.
  std::size_t shard;

  static LogId parse(std::int64_t number) noexcept;
  bool is_of(std::uint32_t attempt) const noexcept;
};

/// What a POST /run carries. Durations and times are whole seconds and milliseconds since 1970, as their names say.
struct RunOrder {
  std::int64_t job = 0;  // 1 to limits::kExecutorJob.
  std::string handler = {};
  std::string parameters = {};
  Overlap overlap = Overlap::Serial;
  std::int64_t timeout_s = 0;    // 0: none.
  std::int64_t log_id = 0;       // 1 to limits::kExecutorLogId.
  std::int64_t log_time_ms = 0;  // Executors derive the day of the log file from it, so log_body() repeats it.
  std::uint32_t shard = 0;
  std::uint32_t shards = 1;
  std::uint32_t concurrency = 1;                      // Only Orth gets it.
  std::optional<std::int64_t> schedule_time_ms = {};  // Only Orth gets it; empty: null, for a manual trigger.
};

/// The body of POST /run, and of /trigger in dialect 3.5: all 12 fields in the order of the Java client, because some clients insist on
/// each of them. Orth gets two more. Only Orth knows CONCURRENT; others get SERIAL_EXECUTION in its place. 'job' and 'log_id' are in their
/// ranges (assert). Bytes of texts that are no UTF-8 are sent as visible_text().
std::string run_body(const RunOrder& order, bool is_orth);
/// The body of POST /kill and /idleBeat. 1 to limits::kExecutorJob (assert).
std::string job_body(std::int64_t job);
/// The body of POST /beat: "{}". JavaScript clients fail without a body.
std::string beat_body();
/// The body of POST /log, with the names of the time in both dialects. 'from_line' begins at 1, and at 0 for the npm client xxl-job.
std::string log_body(std::int64_t log_id, std::int64_t log_time_ms, std::int64_t from_line);
/// The body of each answer to an executor, with the names of the content in both dialects. An empty 'message' is null. Callers send it with
/// HTTP status 200 and Content-Type application/json, whatever 'code' is: several clients end their process at any other status.
std::string answer_body(std::int64_t code, std::string_view message);

/// The answer of an executor to /run, /kill, /beat and /idleBeat.
struct CallAnswer {
  std::int64_t code = 0;  // 200: success. 32 bits.
  std::string message;    // UTF-8, at most limits::kExecutorMessage bytes; HTML in some clients.
};
/// Reads an object with `code` and `msg`, with any HTTP status: some clients repeat the code there. Also reads what the Go client sends
/// when it refuses a run: a list of one callback item, whose code is read as in parse_callbacks(). InvalidArgument with the status and the
/// first 200 bytes of the body, made visible, if there is no code: the call failed, and it is unknown whether a run has begun.
Result<CallAnswer> parse_call_answer(unsigned http_status, std::string_view body);

/// A piece of a run's log.
struct LogPiece {
  std::int64_t from_line = 0;  // 0 to 2^31 - 1. Missing and negative numbers are read as 0.
  std::int64_t to_line = 0;    // The same.
  std::string text = {};       // Any bytes, as the executor sent them.
  bool is_end = false;         // False if the executor does not say.
};
/// Reads the answer to /log from `content` or `data`. FailedPrecondition with the executor's message if the code is not 200;
/// InvalidArgument as in parse_call_answer() for anything else.
Result<LogPiece> parse_log(unsigned http_status, std::string_view body);
/// The same for an answer of which 'body' is the beginning: the piece has the lines that are whole in it. InvalidArgument also if none is.
Result<LogPiece> parse_cut_log(unsigned http_status, std::string body);

/// The body of /api/registry and /api/registryRemove.
struct Registration {
  std::string group;    // At most limits::kExecutorGroup bytes that are safe to display.
  std::string address;  // The canonical form: Address::url.
};
/// InvalidArgument: "Illegal Argument." (the text that clients know) if a field is missing or empty; with the reason if the registry group
/// is not EXECUTOR, the name is too long or unsafe to display, or parse_address() refuses the address.
Result<Registration> parse_registration(std::string_view body);

/// One result of a callback.
struct CallbackItem {
  std::int64_t log_id = 0;  // 1 to limits::kExecutorLogId.
  std::int64_t code = 0;    // 200: success, 502: timeout, others: failure. 32 bits.
  std::string message;      // It has the form of CallAnswer::message.
};
/// Reads the body of /api/callback: a list of items (which may be empty), `{"callbackList": [...]}` (dialect 3.5), or one item. The code is
/// `handleCode`, without it `executeResult.code` (clients before 2.3). A message that is no text is kept as JSON. ResourceExhausted for
/// more than limits::kExecutorCallbacks items; InvalidArgument if one item is wrong, since none of such a body can be trusted.
Result<std::vector<CallbackItem>> parse_callbacks(std::string_view body);

/// The address of an executor in its canonical form.
struct Address {
  std::string url;   // "http://host:port" or "http://host:port/path", without a slash at the end. At most limits::kExecutorAddress bytes.
  std::string host;  // A lower-case name or an IP address; IPv6 in brackets.
  std::uint16_t port = 0;
};
/// Reads http and https addresses; without a scheme, http. Without a port, 80 or 443. InvalidArgument for anything with two readings: user
/// names, queries, fragments, percent signs, backslashes, blanks, control characters and bytes that are not ASCII, an empty host, port 0,
/// numbers that are no IP address, and paths with empty segments, "." or "..". Two spellings of one IP address have one canonical form.
/// parse_address(address.url) returns the same address.
Result<Address> parse_address(std::string_view text);

}  // namespace rondo::jobs::executors
