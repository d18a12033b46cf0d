#include "jobs/store_rows.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <limits>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "jobs/job_json.h"
#include "rondo/base/text.h"
#include "rondo/jobs/limits.h"

namespace rondo::jobs {

namespace {

/// The columns of a row. Keeps the first one that cannot be used.
class Columns {
 public:
  explicit Columns(const StoredRow& row) : row_(row) {}

  std::int64_t integer(int at, std::string_view name, std::int64_t least = std::numeric_limits<std::int64_t>::min(),
                       std::int64_t most = std::numeric_limits<std::int64_t>::max()) {
    if (!row_.is_integer(at)) return refuse(name, quoted(at) + " is no whole number");
    const std::int64_t value = row_.integer(at);
    if (value >= least && value <= most) return value;
    return refuse(name, std::to_string(value) + " is none of " + std::to_string(least) + " to " + std::to_string(most));
  }
  WallTime time(int at, std::string_view name, WallTime earliest = kEarliestTime) {
    if (!row_.is_integer(at)) {
      refuse(name, quoted(at) + " is no time");
    } else if (const WallTime value = WallTime::from_nanoseconds(row_.integer(at)); value < earliest || value >= kTimesEnd) {
      refuse(name, std::to_string(row_.integer(at)) + " is not a time in nanoseconds before the year 2262 and from " +
                       (earliest == kEarliestTime ? "1970" : "1678") + " on");
    } else {
      return value;
    }
    return WallTime{};
  }
  std::optional<WallTime> optional_time(int at, std::string_view name) {
    return row_.is_null(at) ? std::nullopt : std::optional{time(at, name)};
  }
  std::int64_t refuse(std::string_view name, const std::string& why) {
    if (wrong.empty()) wrong = "column " + std::string{name} + ": " + why;
    return 0;
  }

  std::string wrong;

 private:
  std::string quoted(int at) const { return row_.is_null(at) ? "NULL" : "'" + row_.text(at).substr(0, kQuoted) + "'"; }

  static constexpr std::size_t kQuoted = 100;
  const StoredRow& row_;
};

/// The number of a name of an enumeration.
template <class Enumeration>
Enumeration choice(Columns& columns, int at, std::string_view name, Enumeration last) {
  return static_cast<Enumeration>(columns.integer(at, name, 0, static_cast<std::int64_t>(last)));
}

/// Ids with blanks between them.
std::vector<std::int64_t> ids_of(Columns& columns, std::string_view text) {
  std::vector<std::int64_t> ids;
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    std::int64_t id = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), id);
    if (error != std::errc{} || end != word.data() + word.size()) {
      columns.refuse("parents", "'" + std::string{word.substr(0, 100)} + "' is no number of a run");
      return {};
    }
    ids.push_back(id);
    text.remove_prefix(std::min(word.size() + 1, text.size()));
  }
  return ids;
}

/// A definition, and the note of a stop that set_running() adds.
constexpr std::size_t kSpecBytes = limits::kJobBytes + 8 * limits::kJobText;
/// The ids of the parents of a run.
constexpr std::size_t kTextBytes = 1000;
/// The name of a worker, or the addresses of a broadcast: 256 of 255 bytes, with a comma between two (executors/limits.h).
constexpr std::size_t kPlaceBytes = 256 * (255 + 1);

Status too_long(std::size_t bytes, std::size_t most) {
  return {StatusCode::InvalidArgument, "it has " + std::to_string(bytes) + " bytes, and at most " + std::to_string(most) + " are possible"};
}

/// What is wrong with a definition that can be parsed.
std::string wrong_definition(const Job& job, const std::string& name) {
  if (job.name != name) return "name: '" + job.name.substr(0, limits::kJobName) + "' is another one than in the column name";
  const Status wrong = check_values(job);
  return wrong.ok() ? std::string{} : std::string{wrong.message()};
}

}  // namespace

StoredJob read_job(const StoredRow& row) {
  Columns columns(row);
  StoredJob stored{.id = row.integer(0), .job = {}, .is_running = row.integer(2) != 0, .next = columns.optional_time(3, "next")};
  columns.integer(2, "running", 0, 1);
  if (!columns.wrong.empty()) {
    stored.set_aside = "table jobs, " + columns.wrong;
    stored.next.reset();
  }
  const std::string name = row.text(4);
  Result<Job> job = row.bytes(1) > kSpecBytes ? failure(too_long(row.bytes(1), kSpecBytes)) : job_from_json(row.text(1));
  const std::string wrong = job ? wrong_definition(*job, name) : std::string{job.error().message()};
  stored.job = wrong.empty() ? *std::move(job)
                             : Job{.name = name,
                                   .note = "the row of this job cannot be read: table jobs, column spec: " +
                                           visible_text(std::string_view{wrong}.substr(0, limits::kJobText))};
  return stored;
}

std::string read_run(const StoredRow& row, JobRun& run) {
  Columns columns(row);
  run = {.id = row.integer(0), .job_id = row.integer(1), .job = row.text(2)};
  run.scheduled = columns.time(3, "scheduled", kEarliestInstant);
  run.due = columns.time(4, "due");
  run.band = choice(columns, 5, "band", Band::Backfill);
  run.state = choice(columns, 6, "state", RunState::Skipped);
  run.attempt = static_cast<std::uint32_t>(columns.integer(7, "attempt", 0, std::numeric_limits<std::uint32_t>::max()));
  run.missed = static_cast<std::uint64_t>(columns.integer(8, "missed", 0));
  run.begun = columns.optional_time(9, "begun");
  run.ended = columns.optional_time(10, "ended");
  run.note = row.text(11).substr(0, limits::kRunNote);
  run.is_killed = columns.integer(14, "killed", 0, 1) != 0;
  run.rerun_of = columns.integer(17, "rerun_of", 0);
  for (const auto& [at, name, most] : {std::tuple{12, "parents", kTextBytes},
                                       {13, "worker", kPlaceBytes},
                                       {15, "parameters", limits::kJobParameters},
                                       {16, "address", kTextBytes}}) {
    if (row.bytes(at) > most) columns.refuse(name, std::string{too_long(row.bytes(at), most).message()});
  }
  if (columns.wrong.empty()) {
    run.parents = ids_of(columns, row.text(12));
    run.worker = row.text(13);
    if (!row.is_null(15)) run.parameters = row.text(15);
    run.address = row.text(16);
  }
  if (columns.wrong.empty()) return {};
  return "table runs, run " + std::to_string(run.id) + " of the job '" + run.job.substr(0, limits::kJobName) + "', " + columns.wrong;
}

std::string_view cut_note(std::string_view note) {
  constexpr std::size_t kFollowing = 3;  // The most bytes of a character after the first one.
  if (note.size() <= limits::kRunNote) return note;
  std::size_t bytes = limits::kRunNote;
  while (bytes > limits::kRunNote - kFollowing && (static_cast<unsigned char>(note[bytes]) & 0xc0U) == 0x80U) --bytes;
  return note.substr(0, bytes);
}

std::string parents_text(const std::vector<std::int64_t>& parents) {
  std::string text;
  for (const std::int64_t parent : parents) text += (text.empty() ? "" : " ") + std::to_string(parent);
  return text;
}

}  // namespace rondo::jobs
