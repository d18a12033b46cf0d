// executors_impl.h: the log of a run is kept by its executor, which counts lines. A reader counts bytes (the command job-log), and gets
// fewer of them in an answer than executors send. So the last pieces are kept with their lines: a reader that goes on needs no earlier line
// again. Without a kept piece the lines before its place are requested again. Executors do not say when a log ends: it has ended when the
// run has.
#include <algorithm>
#include <boost/json.hpp>

#include "commands/answers.h"
#include "jobs/executors/executors_impl.h"
#include "jobs/for_caller.h"
#include "jobs/log_limits.h"

namespace rondo::jobs::executors {

namespace json = boost::json;

namespace {

constexpr Duration kPlaceExpiry = 60s;  // From its last use on. A reader with --follow returns within limits::kLogWait.

/// npm's xxl-job counts lines from 0. Its addresses end so.
constexpr std::string_view kCountsFromZero = "/job";

/// The log that is read.
std::int64_t log_of(const LogRead& read) {
  const std::uint32_t attempt = is_final(read.run.state) && read.run.attempt > 0 ? read.run.attempt - 1 : read.run.attempt;
  return log_id_of(read.run.id, attempt, read.shard);
}

/// What the Java client answers for a run without a log.
bool is_absent(const LogPiece& piece) { return piece.is_end && piece.to_line == 0; }

}  // namespace

/// Executors without an own log answer for each line the same text, which they call the end.
bool Executors::Impl::repeats_end(const LogRead& read, const LogPiece& piece, const std::string& address) const {
  return piece.is_end && is_final(read.run.state) && std::ranges::any_of(log_places, [&](const LogPlace& place) {
           return place.log_id == log_of(read) && place.address == address && place.is_end && place.begin < read.begin &&
                  place.text == piece.text;
         });
}

bool Executors::Impl::read_log(const JobRun& run, std::int64_t from, bool wait, const std::string& address, const Reply& reply) {
  if (!is_at_executors(run.worker)) return false;
  const Caller& caller = reply.caller();
  std::size_t all = 0;
  for (const auto& [user, count] : readers) all += count;
  const auto own = readers.find(caller.user);
  const std::size_t most = caller.is_privileged ? limits::kLogReaders : limits::kLogReadersOfUser;
  if (all >= limits::kLogReaders || (own != readers.end() && own->second >= most)) {
    Reply{reply}.fail({StatusCode::ResourceExhausted, std::to_string(all) + " readers of logs wait for executors"});
    return true;
  }
  auto read = std::make_shared<LogRead>(LogRead{.reply = reply,
                                                .run = run,
                                                .shard = 0,
                                                .group = {},
                                                .wait = wait,
                                                .from = static_cast<std::size_t>(from),
                                                .until = runtime.scheduler().now() + limits::kLogWait});
  const std::vector<std::string> addresses = addresses_in(run.worker);
  const auto known = std::ranges::find(addresses, address);
  read->shard = known == addresses.end() ? 0 : static_cast<std::size_t>(known - addresses.begin());
  ++readers[caller.user];
  ForCaller(jobs)->find(run.job, [weak = std::weak_ptr<Impl*>(self), read](const Result<StoredJob>& job) {
    const auto parts = weak.lock();
    if (parts == nullptr) return;
    for (const auto& [name, group] : (*parts)->groups) {
      if (job && job->job.handler.starts_with(handlers_of(name))) read->group = name;
    }
    if (read->group.empty()) return (*parts)->end_read(*read, {StatusCode::NotFound, "the job of the run has no executors any more"});
    if (!(*parts)->go_on(*read)) (*parts)->fetch(read);
  });
  return true;
}

void Executors::Impl::leave(const LogRead& read) {
  const auto user = readers.find(read.reply.caller().user);
  if (--user->second == 0) readers.erase(user);
}

void Executors::Impl::end_read(LogRead& read, const Status& why) {
  leave(read);
  read.reply.fail(why);
}

bool Executors::Impl::go_on(LogRead& read) {
  const std::string address = addresses_in(read.run.worker)[read.shard];
  const std::int64_t log_id = log_of(read);
  auto best = log_places.end();
  for (auto at = log_places.begin(); at != log_places.end(); ++at) {
    const bool is_before = at->log_id == log_id && at->address == address && at->begin <= read.from;
    if (is_before && (best == log_places.end() || at->begin > best->begin)) best = at;
  }
  if (best == log_places.end()) return false;
  best->used = runtime.scheduler().now();
  std::rotate(best, best + 1, log_places.end());
  const LogPlace& place = log_places.back();
  const std::string_view text = place.text;
  if (read.from < place.begin + text.size()) {
    answer_log(read, address, text.substr(read.from - place.begin));
    return true;
  }
  read.line = place.line + std::ranges::count(text, '\n');
  read.begin = place.begin + text.rfind('\n') + 1;
  return false;
}

void Executors::Impl::keep_place(LogPlace place) {
  const Instant now = runtime.scheduler().now();
  std::erase_if(log_places, [&](const LogPlace& one) {
    const bool is_same = one.log_id == place.log_id && one.begin == place.begin && one.address == place.address;
    return is_same || now - one.used >= kPlaceExpiry;
  });
  std::size_t bytes = place.text.size();
  for (const LogPlace& one : log_places) bytes += one.text.size();
  while (!log_places.empty() && (bytes > limits::kExecutorLogKept || log_places.size() >= limits::kLogReaders)) {
    bytes -= log_places.front().text.size();
    log_places.erase(log_places.begin());
  }
  log_places.push_back(std::move(place));
}

void Executors::Impl::fetch(const std::shared_ptr<LogRead>& read) {
  const std::string address = addresses_in(read->run.worker)[read->shard];
  const std::int64_t first = address.ends_with(kCountsFromZero) ? 0 : 1;
  post(groups.find(read->group)->second, address, "/log",
       log_body(log_of(*read), read->run.due.nanoseconds() / 1'000'000, first + read->line),
       [this, read, address](const Result<http::ClientAnswer>& answer) {
         if (!answer) return end_read(*read, answer.error());
         auto piece = answer->is_cut ? parse_cut_log(answer->status, answer->body) : parse_log(answer->status, answer->body);
         if (!piece) return end_read(*read, piece.error().with_context(address));
         take_log(read, *std::move(piece), address);
       });
}

void Executors::Impl::take_log(const std::shared_ptr<LogRead>& read, LogPiece piece, const std::string& address) {
  const std::string_view text = piece.text;
  if ((is_absent(piece) && read->from > 0) || repeats_end(*read, piece, address)) return answer_log(*read, address, {});
  if (read->begin + text.size() > read->from) {
    const bool is_end = piece.is_end && is_final(read->run.state);
    answer_log(*read, address, text.substr(read->from - read->begin));
    return keep_place({.log_id = log_of(*read),
                       .address = address,
                       .line = read->line,
                       .begin = read->begin,
                       .text = std::move(piece.text),
                       .is_end = is_end,
                       .used = runtime.scheduler().now()});
  }
  const std::int64_t lines = std::ranges::count(text, '\n');
  const bool has_time = runtime.scheduler().now() < read->until;
  if (lines > 0 && !has_time)
    return end_read(*read, {StatusCode::DeadlineExceeded, address + " has sent the log from its beginning for too long"});
  if (lines > 0) {                        // All of it is before the place of the reader.
    read->begin += text.rfind('\n') + 1;  // A line without an end comes again.
    read->line += lines;
    return fetch(read);
  }
  if (!is_final(read->run.state) && read->wait && has_time) {
    waiting_reads.push_back(read);
    return;
  }
  answer_log(*read, address, {});
}

void Executors::Impl::answer_log(LogRead& read, const std::string& address, std::string_view text) {
  const std::string data{text.substr(0, limits::kLogPiece)};
  const std::vector<std::string> addresses = addresses_in(read.run.worker);
  const bool is_over = data.empty() && is_final(read.run.state);
  leave(read);
  if (is_over && read.shard + 1 < addresses.size()) {
    return read.reply.finish({{"worker", addresses[read.shard + 1]}, {"from", 0}, {"next", 0}, {"ended", false}, {"data", ""}});
  }
  read.reply.finish(
      {{"worker", address}, {"from", read.from}, {"next", read.from + data.size()}, {"ended", is_over}, {"data", commands::text(data)}});
}

void Executors::Impl::continue_reads() {
  for (const std::shared_ptr<LogRead>& read : std::exchange(waiting_reads, {})) {
    ForCaller(jobs)->find_run(read->run.id, [weak = std::weak_ptr<Impl*>(self), read](const Result<JobRun>& run) {
      const auto parts = weak.lock();
      if (parts == nullptr) return;
      if (!run) return (*parts)->end_read(*read, run.error());
      // A further attempt may be at another executor: the reader asks for it from the beginning.
      // When the run has ended, its attempt counts as one that has.
      if (run->worker == read->run.worker && (run->attempt == read->run.attempt || is_final(run->state))) read->run = *run;
      (*parts)->fetch(read);
    });
  }
}

}  // namespace rondo::jobs::executors
