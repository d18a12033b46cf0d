// The command restart-check, and the answers on the channel RESTARTCHECK: whether a restart now would interrupt work.
#include <string>
#include <utility>
#include <vector>

#include "commands/answers.h"
#include "rondod/commands/commands.h"
#include "rondod/jobs/job_service.h"
#include "rondod/stores/placement.h"
#include "switch_agent/tables.h"

namespace rondo::daemon {

namespace {

namespace json = boost::json;
using managers::RestartReason;

void add(std::vector<RestartReason>& reasons, std::string what, std::uint64_t count) {
  if (count != 0) reasons.push_back({std::move(what), count});
}

void add_tables(const CommandContext& context, bool skip_waiting, std::vector<RestartReason>& reasons) {
  std::uint64_t unread = 0;
  const std::vector<ConsumerStats> consumers = context.runtime.consumers();
  for (const ConsumerStats& consumer : consumers) {
    if (is_run_table(context.config, consumer.table)) continue;  // A run that has not ended runs again after the start.
    unread += consumer.caught_up ? 0 : 1;
    add(reasons, "rows of " + consumer.table + " are being handled", consumer.queued + consumer.in_flight);
    if (!skip_waiting) add(reasons, "rows of " + consumer.table + " wait", consumer.parked);
  }
  add(reasons, "tables have not been read since the start", unread);
}

void add_stores(const CommandContext& context, std::vector<RestartReason>& reasons) {
  std::uint64_t writes = 0;
  for (const auto& store : context.redis.stores()) writes += store->unanswered();
  add(reasons, "writes are not confirmed by a Redis", writes);
  std::uint64_t records = 0;
  for (const auto& file : context.files) records += file->stats().waiting;
  add(reasons,
      "times that a Redis came back as another server process or without its data: a restart removes what is programmed of rows that it "
      "lacks",
      context.redis.recent_losses(context.runtime.clock()));
  add(reasons, "records are not in their file", records);
  std::uint64_t changes = 0;
  for (const auto& feed : context.feeds) changes += feed->staged() + feed->store().behind + feed->store().under_way;
  add(reasons, "changes of direct tables are not in their store", changes);
}

void add_earlier(const std::vector<EarlierVersions::Count>& counts, std::vector<RestartReason>& reasons) {
  constexpr std::string_view kLost = " have an earlier version in the data plane, which a restart removes";
  for (const EarlierVersions::Count& count : counts) {
    add(reasons, "rows of " + count.table + " that wait" + std::string{kLost}, count.waiting);
    add(reasons, "rejected rows of " + count.table + std::string{kLost}, count.rejected);
  }
}

/// In the order in which an operator would look.
std::vector<RestartReason> reasons_against(const CommandContext& context, bool skip_waiting,
                                           const std::vector<EarlierVersions::Count>& earlier) {
  std::vector<RestartReason> reasons;
  if (context.agent != nullptr) {
    add(reasons, "what an earlier run left has not been compared yet", context.agent->has_restarted() ? 0 : 1);
    add(reasons, "orders are under way to the data plane", context.agent->programmer().in_flight());
  }
  add(reasons, "error is in the configuration as it was last read (SIGHUP): the next start fails", context.refused_config.empty() ? 0 : 1);
  add_tables(context, skip_waiting, reasons);
  add_earlier(earlier, reasons);
  if (context.fpm != nullptr) add(reasons, "routes of zebra are not written", context.fpm->figures().book.unwritten);
  add_stores(context, reasons);
  const Status jobs = context.jobs == nullptr ? Status{} : context.jobs->health();
  if (!jobs.ok()) {
    add(reasons, "trouble of the jobs (" + std::string{jobs.message()} + "): runs whose end is not stored run again after a restart", 1);
  }
  return reasons;
}

void command_restart_check(CommandContext& context, const Arguments& arguments, Reply reply) {
  const bool skip_waiting = arguments.text("skip_waiting") == "yes";
  context.earlier->count([&context, skip_waiting, reply](const std::vector<EarlierVersions::Count>& earlier) mutable {
    const std::vector<RestartReason> reasons = reasons_against(context, skip_waiting, earlier);
    json::array rows;
    for (const RestartReason& reason : reasons) {
      rows.push_back(json::object{{"count", reason.count}, {"what", commands::sentence(reason.what)}});
    }
    reply.finish(json::object{{"ready", reasons.empty()}, {"rows", std::move(rows)}});
  });
}

}  // namespace

Status add_restart_command(DaemonAdder& adder) {
  CommandContext& context = adder.target();
  context.earlier = std::make_unique<EarlierVersions>(context.runtime, context.agent);
  adder.add({"restart-check",
             "Report the work that a restart now would interrupt",
             {commands::optional("skip_waiting", ArgumentKind::Text, "yes: rows that wait for facts are no reason")},
             CommandEffect::Reads},
            command_restart_check);
  if (context.state_db == nullptr) return {};
  return context.state_db->answer_restart_checks([&context](bool skip_waiting, managers::RestartChannel::Done done) {
    context.earlier->count([&context, skip_waiting, done = std::move(done)](const std::vector<EarlierVersions::Count>& earlier) {
      done(reasons_against(context, skip_waiting, earlier));
    });
  });
}

}  // namespace rondo::daemon
