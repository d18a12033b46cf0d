// workers_impl.h: workers come, go, and come back.
#include <sys/random.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "commands/answers.h"
#include "jobs/workers/limits.h"
#include "jobs/workers/workers_impl.h"
#include "rondo/calendar/rfc3339.h"

namespace rondo::jobs {

namespace {

namespace json = boost::json;

constexpr std::size_t kNameBytes = 100;
constexpr Duration kTick = 1s;
constexpr const char* kStandby = "another scheduler runs the jobs at present";

bool is_name(std::string_view name) {
  return !name.empty() && name.size() <= kNameBytes && std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
  });
}

template <class Number>
std::optional<Number> number_of(std::string_view text) {
  Number number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && end == text.data() + text.size() ? std::optional{number} : std::nullopt;
}

Result<std::string> new_session() {
  std::array<unsigned char, 16> bytes{};
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()))
    return failure(StatusCode::Unavailable, "the kernel gave no random bytes");
  std::string session;
  for (const unsigned char byte : bytes) {
    session.push_back("0123456789abcdef"[byte >> 4]);
    session.push_back("0123456789abcdef"[byte & 15]);
  }
  return session;
}

struct Offer {
  std::map<std::string, std::uint64_t> commands;
  std::uint64_t places = 0;
};

/// The runs that a worker says it has. One that cannot be taken does not keep the worker away.
struct Claims {
  std::map<std::int64_t, Claim> runs;
  std::map<std::int64_t, std::string> malformed;  // With the reason.
  std::uint64_t nameless = 0;                     // Without a number.
};

/// "ATTEMPT COMMAND", and behind it " ended" if the attempt has ended, and " key=KEY" if the worker knows the key of the run.
std::optional<Claim> claim_of(std::string_view text) {
  const auto word = [&text] {
    const std::string_view found = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(found.size() + 1, text.size()));
    return found;
  };
  const auto attempt = number_of<std::uint32_t>(word());
  const std::string_view command = word();
  if (!attempt || !is_name(command)) return std::nullopt;
  Claim claim{.attempt = *attempt, .command = std::string{command}};
  std::string_view more = word();
  claim.has_ended = more == "ended";
  if (claim.has_ended) more = word();
  if (constexpr std::string_view kKey = "key="; more.starts_with(kKey)) {
    claim.key = more.substr(kKey.size());
    more = word();
  }
  return more.empty() && text.empty() ? std::optional{std::move(claim)} : std::nullopt;
}

auto wrong(std::string text) { return failure(StatusCode::InvalidArgument, std::move(text)); }

Result<Offer> offer_of(const Arguments& arguments) {
  Offer offer;
  const std::int64_t places = arguments.integer("places", 0);
  if (places < 1 || places > static_cast<std::int64_t>(limits::kWorkerRuns))
    return wrong("places is 1 to " + std::to_string(limits::kWorkerRuns));
  offer.places = static_cast<std::uint64_t>(places);
  for (const auto& [command, text] : arguments.fields("offers")) {
    const auto of_command = number_of<std::uint64_t>(text);
    if (!is_name(command)) return wrong("a command has 1 to 100 letters, digits and characters of ._-");
    if (!of_command || *of_command < 1 || *of_command > limits::kWorkerRuns) return wrong("the places of '" + command + "' are no number");
    offer.commands[command] = *of_command;
  }
  if (offer.commands.size() > limits::kWorkerOffers)
    return wrong("a worker offers at most " + std::to_string(limits::kWorkerOffers) + " commands");
  return offer;
}

Result<Claims> claims_of(const Arguments& arguments) {
  Claims claims;
  for (const auto& [run, text] : arguments.fields("runs")) {
    const auto id = number_of<std::int64_t>(run);
    if (!id || *id < 1) {
      ++claims.nameless;
    } else if (auto claim = claim_of(text)) {
      claims.runs[*id] = *std::move(claim);
    } else {
      claims.malformed[*id] = "a claimed run has an attempt and a command, not '" + text.substr(0, kNameBytes) + "'";
    }
  }
  if (claims.runs.size() + claims.malformed.size() > limits::kWorkerRuns)
    return wrong("a worker names at most " + std::to_string(limits::kWorkerRuns) + " runs at a time");
  return claims;
}

/// Callers without a token, and whose user the kernel did not report, are not known to be the same.
bool is_same_caller(const Caller& one, const Caller& other) {
  if (!one.token.empty() || !other.token.empty()) return one.token == other.token;
  return one.user == other.user && one.user != UINT32_MAX;
}

}  // namespace

Workers::Impl::Impl(Runtime& of_runtime, Jobs& of_jobs, const WorkersOptions& of_options)
    : runtime(of_runtime),
      jobs(of_jobs),
      options(of_options),
      settled(runtime.scheduler().now() + options.settle),
      timer("workers", Priority{56}, [this] { tick(); }) {
  jobs.wait_for_handlers("command/", [](std::string_view handler) {
    return "no worker offers command " + std::string{handler.substr(std::string_view{"command/"}.size())};
  });
  runtime.scheduler().add(timer);
  timer.arm_every(kTick, runtime.scheduler().now() + kTick);
}

Workers::Impl::~Impl() {
  for (auto& [id, run] : runs) {
    if (run.open) run.open->leave();
  }
  std::set<std::string> offered;
  for (const auto& [name, worker] : workers) {
    for (const auto& [command, places] : worker.offers) offered.insert(command);
  }
  workers.clear();
  offered.merge(lent);
  for (const std::string& command : offered) jobs.remove_handler("command/" + command);
}

void Workers::Impl::connect(const Arguments& arguments, Reply reply) {
  const std::string name = arguments.text("worker");
  if (!is_name(name))
    return reply.fail({StatusCode::InvalidArgument, "a worker's name has 1 to 100 letters, digits and characters of ._-"});
  Result<Offer> offer = offer_of(arguments);
  if (!offer) return reply.fail(offer.error());
  if (remote.is_standby()) return reply.fail({StatusCode::FailedPrecondition, kStandby});
  if (const auto claims = claims_of(arguments); !claims) return reply.fail(claims.error());
  if (const Status may = may_connect(name, reply.caller()); !may.ok()) return reply.fail(may);
  if (!workers.contains(name) && workers.size() >= limits::kWorkers)
    return reply.fail({StatusCode::ResourceExhausted, "there are " + std::to_string(limits::kWorkers) + " workers"});
  Result<std::string> session = new_session();
  if (!session) return reply.fail(session.error());
  if (!reply.wanted()) return;

  replace(name);
  WorkerEntry& worker = workers[name];
  worker.session = *std::move(session);
  worker.offers = std::move(offer->commands);
  worker.places = offer->places;
  worker.heard = worker.in_contact = runtime.scheduler().now();
  worker.caller = reply.caller();
  worker.connected = runtime.clock().wall_now();
  worker.ignores_checks = false;
  reply.expect_rows();
  reply.on_gone([this, name, of = worker.session] { gone(name, of); });
  reply.row(json::object{{"welcome", json::object{{"session", worker.session}}}});
  reply.flush();
  worker.orders = std::move(reply);
  worker.claimed.clear();
  worker.is_claiming = true;
  static_cast<void>(take_claims(name, worker, arguments));
  show_silence(name, worker);
  const std::map<std::string, std::uint64_t> offers = worker.offers;
  for (const auto& [command, places] : offers) publish(command);
  if (!is_settled) check_again();
}

Status Workers::Impl::may_connect(const std::string& name, const Caller& caller) const {
  const auto known = workers.find(name);
  if (known == workers.end() || !known->second.orders) return {};
  const std::string connected = "a worker with the name '" + name + "' is connected";
  const Duration silent = runtime.scheduler().now() - known->second.heard;
  if (silent < options.stale) return {StatusCode::AlreadyExists, connected};
  if (is_same_caller(known->second.caller, caller)) return {};
  return {StatusCode::AlreadyExists,
          connected + " with another token or user; it has not reported for " + std::to_string(silent / 1s) + " s"};
}

void Workers::Impl::replace(const std::string& name) {
  const auto known = workers.find(name);
  if (known == workers.end() || !known->second.orders) return;
  const std::string seconds = std::to_string((runtime.scheduler().now() - known->second.heard) / 1s);
  turn_away(name, {StatusCode::DeadlineExceeded, "no report for " + seconds + " s, and the worker '" + name + "' has connected again"});
}

void Workers::Impl::turn_away(const std::string& name, Status why) {
  WorkerEntry& worker = workers.at(name);
  Reply orders = *std::exchange(worker.orders, std::nullopt);
  orders.fail(std::move(why));
  disconnect(name, worker);
}

void Workers::Impl::stand_by() {
  settled = runtime.scheduler().now() + options.settle;  // Counts from the takeover.
  came.clear();
  while (!runs.empty()) remove(runs.begin()->first);  // What workers have claimed. They claim it again.
  std::vector<std::string> connected;
  for (const auto& [name, worker] : workers) {
    if (worker.orders) connected.push_back(name);
  }
  for (const std::string& name : connected) turn_away(name, {StatusCode::FailedPrecondition, kStandby});
}

Status Workers::Impl::take_claims(const std::string& name, WorkerEntry& worker, const Arguments& arguments) {
  const Result<Claims> claims = claims_of(arguments);
  if (!claims) return claims.error();
  const auto of_worker = std::ranges::count_if(runs, [&](const auto& entry) { return entry.second.worker == name; });
  if (static_cast<std::size_t>(of_worker) >= 2 * limits::kWorkerRuns)
    return {StatusCode::ResourceExhausted, "the worker reports no ends of the runs that it has named"};
  stats.refused += claims->malformed.size() + claims->nameless;
  for (const auto& [run, why] : claims->malformed) send_refused(worker, run, why);
  std::vector<std::int64_t> taken;
  for (const auto& [run, of_run] : claims->runs) {
    if (claim(name, worker, run, of_run)) taken.push_back(run);
  }
  if (worker.is_claiming) worker.claimed.insert(taken.begin(), taken.end());
  if (!arguments.flag("more") && std::exchange(worker.is_claiming, false)) {
    settle_unclaimed(name, worker, std::exchange(worker.claimed, {}));
    if (!is_settled && came.size() < limits::kWorkers) came.insert(name);
  }
  for (const std::int64_t run : taken) ask_held(run);
  std::set<std::string> needed;
  for (const std::int64_t run : taken) {
    const auto found = runs.find(run);
    if (found != runs.end() && !found->second.open && !is_offered(found->second.command)) needed.insert(found->second.command);
  }
  for (const std::string& command : needed) {
    if (lent.insert(command).second) publish(command);
  }
  return {};
}

bool Workers::Impl::is_taken(std::int64_t run, std::uint32_t attempt) const {
  const JobRun* const known = remote.find(run);
  return known != nullptr && attempt < known->attempt;
}

bool Workers::Impl::claim(const std::string& name, WorkerEntry& worker, std::int64_t run, const Claim& claimed) {
  const auto refuse = [&](std::string_view why) {
    send_stop(name, run, why);
    return false;
  };
  if (const auto known = runs.find(run); known != runs.end()) {
    PlacedRun& placed = known->second;
    if (placed.worker != name) return refuse("another worker has the run");
    if (!placed.key.empty() && !claimed.key.empty() && placed.key != claimed.key) return refuse(kOtherRun);
    if (placed.attempt != claimed.attempt && claimed.has_ended) return false;  // An earlier attempt, whose end was taken.
    if (placed.command != claimed.command) return refuse("the run is of another command");
    // Its command must not go on beside the run.
    if (placed.attempt != claimed.attempt) return refuse("another attempt of the run is under way here");
    placed.is_confirmed = true;
    placed.has_ended = claimed.has_ended;
    worker.unconfirmed.erase(run);
    // A worker of an earlier version that gets a stop for a run that has ended there drops the end.
    if (placed.open && placed.open->is_stop_requested() && !claimed.has_ended) send_stop(name, run, "the run was stopped");
    return true;
  }
  const std::shared_ptr<const Job> job = remote.job_of(run);
  if (job == nullptr && remote.is_recovered()) return refuse(kNotUnderWay);
  if (is_other_run(run, claimed.key)) return refuse(kOtherRun);
  if (job != nullptr && job->handler != "command/" + claimed.command) return refuse("the run is of another handler");
  // The end of this attempt was taken, and the worker has not seen the answer.
  if (claimed.has_ended && is_taken(run, claimed.attempt)) return false;
  if (remote.is_recovered() && !was_given(run, name)) {
    ++stats.refused;
    worker.full_until = runtime.scheduler().now() + kPauseOfWorker;
    return refuse(kNotGiven);
  }
  runs.emplace(run, PlacedRun{.worker = name,
                              .command = claimed.command,
                              .attempt = claimed.attempt,
                              .key = claimed.key,
                              .open = {},
                              .is_confirmed = true,
                              .has_ended = claimed.has_ended,
                              .end = {}});
  worker.runs.insert(run);
  return true;
}

void Workers::Impl::settle_unclaimed(const std::string& name, WorkerEntry& worker, const std::set<std::int64_t>& claimed) {
  const std::set<std::int64_t> before = worker.runs;
  for (const std::int64_t run : before) {
    if (claimed.contains(run)) continue;
    const auto found = runs.find(run);
    if (found == runs.end()) continue;
    if (found->second.open && !found->second.is_confirmed && !found->second.open->is_stop_requested()) {
      send_start(worker, found->second);
    } else {
      ++stats.lost;
      finish(run, {{StatusCode::Unavailable, "the worker '" + name + "' has lost the run"}, {}});
    }
  }
}

void Workers::Impl::gone(const std::string& name, const std::string& session) {
  const auto found = workers.find(name);
  if (found != workers.end() && found->second.session == session) disconnect(name, found->second);
}

void Workers::Impl::disconnect(const std::string& name, WorkerEntry& worker) {
  worker.orders.reset();
  worker.session.clear();
  worker.claimed.clear();
  worker.trouble.clear();
  if (auto held = std::exchange(worker.held, std::nullopt)) answer(*std::move(held));
  worker.left = runtime.scheduler().now();
  const std::map<std::string, std::uint64_t> offers = worker.offers;
  take_back(worker);
  show_silence(name, worker);
  if (worker.runs.empty()) workers.erase(name);
  withdraw(offers);
  leave_readers(name);
  leave_checks(name);
  find_room();
}

void Workers::Impl::withdraw(const std::map<std::string, std::uint64_t>& offers) {
  std::vector<std::string> ended;
  for (const auto& [command, places] : offers) {
    if (is_offered(command)) continue;
    has_claims(command) ? static_cast<void>(lent.insert(command)) : ended.push_back(command);
  }
  for (const std::string& command : ended) jobs.remove_handler("command/" + command);
}

bool Workers::Impl::has_claims(std::string_view command) const {
  return std::ranges::any_of(runs, [command](const auto& run) { return !run.second.open && run.second.command == command; });
}

void Workers::Impl::withdraw_lent() {
  std::vector<std::string> ended;
  std::erase_if(lent, [&](const std::string& command) {
    if (is_offered(command)) return true;
    if (!has_claims(command)) ended.push_back(command);
    return !has_claims(command);
  });
  for (const std::string& command : ended) jobs.remove_handler("command/" + command);
}

Status Workers::Impl::change_offers(WorkerEntry& worker, const Arguments& arguments) {
  Result<Offer> offer = offer_of(arguments);
  if (!offer) return offer.error();
  const std::map<std::string, std::uint64_t> before = std::exchange(worker.offers, offer->commands);
  worker.places = offer->places;
  take_back(worker);
  // Behind it there is no start that the former offer allowed, and the new one does not.
  worker.orders->row(json::object{{"offers", json::object{{"commands", worker.offers.size()}}}});
  worker.orders->flush();
  withdraw(before);
  // Each may change the workers.
  for (const auto& [command, places] : offer->commands) publish(command);
  return {};
}

bool Workers::Impl::is_offered(std::string_view command) const {
  return std::ranges::any_of(workers, [command](const auto& entry) {
    return entry.second.orders.has_value() && entry.second.offers.contains(std::string{command});
  });
}

void Workers::Impl::tick() {
  const Instant now = runtime.scheduler().now();
  if (remote.is_standby()) stand_by();
  std::vector<std::string> away;
  for (auto& [name, worker] : workers) {
    const bool is_silent = !worker.orders || now - worker.heard >= options.silent;
    if (is_silent != worker.is_silent) show_silence(name, worker);
    if (now - (worker.orders ? worker.heard : worker.left) >= options.away) away.push_back(name);
  }
  for (const std::string& name : away) give_up(name);
  end_ignored_orders();
  withdraw_lent();
  const bool was_settled = std::exchange(is_settled, now >= settled);
  if (is_settled && !was_settled) {
    came.clear();
    check_again();
    remote.give_up_killed();
  }
  if (remote.is_recovered()) {
    std::vector<std::int64_t> over;
    for (const auto& [id, run] : runs) {
      // Claims from before the recovery.
      if (!run.open && ((run.has_ended && is_taken(id, run.attempt)) || remote.find(id) == nullptr)) over.push_back(id);
    }
    for (const std::int64_t run : over) {
      if (remote.find(run) == nullptr) send_stop(runs.at(run).worker, run, kNotUnderWay);
      remove(run);
    }
  }
  record_again();
  answer_late_reports(now);
  watch_readers();
  watch_checks(now);
  find_room();
}

void Workers::Impl::end_ignored_orders() {
  std::vector<std::int64_t> ignored;
  for (const auto& [id, run] : runs) {
    if (!run.open || !run.sent || run.begun) continue;
    const WorkerEntry& worker = workers.at(run.worker);
    if (worker.orders && worker.heard - std::max(*run.sent, worker.in_contact) >= options.away) ignored.push_back(id);
  }
  for (const std::int64_t run : ignored) {
    const std::string name = runs.at(run).worker;
    const std::string what = runs.at(run).has_ended ? "reported the end of the run, which it has named as ended," : "begun the run";
    ++stats.lost;
    send_stop(name, run, "the run was not begun in time");
    finish(run, {{StatusCode::Unavailable,
                  "the worker '" + name + "' reports, and has not " + what + " for " + std::to_string(options.away / 1s) + " s"},
                 {}});
  }
}

std::string Workers::Impl::silence_of(const std::string& name, const WorkerEntry& worker, const AsyncRun& run) const {
  const Duration silent = runtime.scheduler().now() - (worker.orders ? worker.heard : worker.left);
  const WallTime since = runtime.clock().wall_now() + -silent;
  const std::string then = run.is_stop_requested()             ? ", and the run ends"
                           : run.job().retries > run.attempt() ? ", and is tried again"
                                                               : ", and is not tried again";
  if (!worker.orders)
    return "worker " + name + " has been away since " + at_milliseconds(since) + ": unless it comes back, the attempt fails at " +
           at_milliseconds(since + options.away) + then;
  return "worker " + name + " has not reported since " + at_milliseconds(since) + ": unless it does, the attempt fails at " +
         at_milliseconds(since + options.away + options.away) + then;
}

void Workers::Impl::show_silence(const std::string& name, WorkerEntry& worker) {
  worker.is_silent = !worker.orders || runtime.scheduler().now() - worker.heard >= options.silent;
  for (const std::int64_t run : worker.runs) {
    const std::optional<AsyncRun>& open = runs.at(run).open;
    if (open) open->in_trouble(worker.is_silent ? silence_of(name, worker, *open) : std::string{});
  }
}

void Workers::Impl::give_up(const std::string& name) {
  WorkerEntry& worker = workers.at(name);
  const std::string seconds = std::to_string(options.away / 1s);
  if (worker.orders) {  // It is connected, and hangs.
    Reply orders = *std::exchange(worker.orders, std::nullopt);
    orders.fail({StatusCode::DeadlineExceeded, "no report for " + seconds + " s"});
    return disconnect(name, worker);
  }
  const std::set<std::int64_t> of_worker = worker.runs;
  for (const std::int64_t run : of_worker) {
    ++stats.lost;
    finish(run, {{StatusCode::Unavailable, "the worker '" + name + "' has been away for " + seconds + " s"}, {}});
  }
  workers.erase(name);
}

}  // namespace rondo::jobs
