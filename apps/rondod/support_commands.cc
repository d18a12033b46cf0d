// The commands for a support bundle (rondo dump): config, limits, health, log. Nothing they answer holds a secret.
#include <sys/utsname.h>

#include <array>
#include <memory>
#include <string>
#include <utility>

#include "rondo/admin/secrets.h"
#include "rondo/base/limits.h"
#include "rondo/sched/scheduler.h"
#include "rondod/answers.h"
#include "rondod/command_adder.h"

namespace rondo::daemon {

namespace {

namespace json = boost::json;

/// Hides secrets in each text. Keys that let clients in are named, not shown.
void hide_in(json::value& value, std::string_view name) {
  if (auto* const object = value.if_object()) {
    for (auto& member : *object) hide_in(member.value(), {member.key().data(), member.key().size()});
  } else if (auto* const array = value.if_array()) {
    for (json::value& element : *array) hide_in(element, name);
  } else if (auto* const given = value.if_string()) {
    value = name == "allowed_clients" ? json::value("***") : json::value(hide_secrets({given->data(), given->size()}));
  }
}

void command_config(const CommandContext& context, Reply reply) {
  json::value config = json::parse(to_json(context.config));
  hide_in(config, {});
  reply.finish(config.get_object());
}

constexpr std::uint64_t in_microseconds(Duration limit) { return static_cast<std::uint64_t>(limit / std::chrono::microseconds{1}); }

/// The whole page of limits (include/rondo/base/limits.h), in its order; times in microseconds. The tidy check sees that none is missing.
constexpr std::array<std::pair<std::string_view, std::uint64_t>, 111> kShownLimits{{
    {"priorities", limits::kPriorities},
    {"batch_items", limits::kBatchItems},
    {"turn_time_us", in_microseconds(limits::kTurnTime)},
    {"frame_time_us", in_microseconds(limits::kFrameTime)},
    {"budget_most_us", in_microseconds(limits::kBudgetMost)},
    {"quota_most", limits::kQuotaMost},
    {"turn_time_most_us", in_microseconds(limits::kTurnTimeMost)},
    {"reserve_mib_most", limits::kReserveMibMost},
    {"stall_most_us", in_microseconds(limits::kStallMost)},
    {"weight_most", limits::kWeightMost},
    {"long_turn_us", in_microseconds(limits::kLongTurn)},
    {"items_per_step", limits::kItemsPerStep},
    {"poll_after_us", in_microseconds(limits::kPollAfter)},
    {"poll_period_us", in_microseconds(limits::kPollPeriod)},
    {"turns_without_poll", limits::kTurnsWithoutPoll},
    {"items_without_poll", limits::kItemsWithoutPoll},
    {"debt_frames", limits::kDebtFrames},
    {"spin_time_us", in_microseconds(limits::kSpinTime)},
    {"sweep_period_us", in_microseconds(limits::kSweepPeriod)},
    {"mailbox_messages", limits::kMailboxMessages},
    {"timers_per_turn", limits::kTimersPerTurn},
    {"inline_message_bytes", limits::kInlineMessageBytes},
    {"messages_of_priority", limits::kMessagesOfPriority},
    {"messages_of_type", limits::kMessagesOfType},
    {"messages_turn_us", in_microseconds(limits::kMessagesTurn)},
    {"message_places_kept", limits::kMessagePlacesKept},
    {"message_places_chunk", limits::kMessagePlacesChunk},
    {"message_retries", limits::kMessageRetries},
    {"message_retries_most", limits::kMessageRetriesMost},
    {"agents", limits::kAgents},
    {"agent_drain_us", in_microseconds(limits::kAgentDrain)},
    {"agent_queue_retry_us", in_microseconds(limits::kAgentQueueRetry)},
    {"agent_life_per_turn", limits::kAgentLifePerTurn},
    {"name_bytes", limits::kNameBytes},
    {"value_bytes", limits::kValueBytes},
    {"record_bytes", limits::kRecordBytes},
    {"fields", limits::kFields},
    {"table_rows", limits::kTableRows},
    {"queued_events", limits::kQueuedEvents},
    {"tables", limits::kTables},
    {"view_writes", limits::kViewWrites},
    {"full_store_tries", limits::kFullStoreTries},
    {"waiting_writes", limits::kWaitingWrites},
    {"waiting_write_bytes", limits::kWaitingWriteBytes},
    {"durable_interval_us", in_microseconds(limits::kDurableInterval)},
    {"redis_writes", limits::kRedisWrites},
    {"redis_write_bytes", limits::kRedisWriteBytes},
    {"redis_list_items", limits::kRedisListItems},
    {"redis_pop_keys", limits::kRedisPopKeys},
    {"redis_replicas", limits::kRedisReplicas},
    {"redis_replicas_wait_us", in_microseconds(limits::kRedisReplicasWait)},
    {"redis_config_bytes", limits::kRedisConfigBytes},
    {"redis_config_files", limits::kRedisConfigFiles},
    {"redis_password_bytes", limits::kRedisPasswordBytes},
    {"redis_database", limits::kRedisDatabase},
    {"redis_sentinels", limits::kRedisSentinels},
    {"direct_frame_bytes", limits::kDirectFrameBytes},
    {"direct_client_frame_bytes", limits::kDirectClientFrameBytes},
    {"direct_send_frames", limits::kDirectSendFrames},
    {"direct_receive_frames", limits::kDirectReceiveFrames},
    {"direct_keys", limits::kDirectKeys},
    {"worker_lane", limits::kWorkerLane},
    {"worker_requests", limits::kWorkerRequests},
    {"worker_call_wait_us", in_microseconds(limits::kWorkerCallWait)},
    {"worker_ask_wait_us", in_microseconds(limits::kWorkerAskWait)},
    {"worker_drain_us", in_microseconds(limits::kWorkerDrain)},
    {"board_facts", limits::kBoardFacts},
    {"ledger_rows", limits::kLedgerRows},
    {"waits_per_change", limits::kWaitsPerChange},
    {"why_links", limits::kWhyDepth},
    {"why_facts", limits::kWhyFacts},
    {"why_wait_us", in_microseconds(limits::kWhyWait)},
    {"rejections_kept", limits::kRejectionsKept},
    {"spurious_wait_delay_us", in_microseconds(limits::kSpuriousWaitDelay)},
    {"fact_sweep_period_us", in_microseconds(limits::kFactSweepPeriod)},
    {"fact_sweep_facts", limits::kFactSweepFacts},
    {"fact_sweep_pause_us", in_microseconds(limits::kFactSweepPause)},
    {"journal_bytes", limits::kJournalBytes},
    {"journal_record_bytes", limits::kJournalRecordBytes},
    {"journal_file_mib", limits::kJournalFileMib},
    {"journal_files", limits::kJournalFiles},
    {"replay_batches_ahead", limits::kReplayBatchesAhead},
    {"replay_bytes_ahead", limits::kReplayBytesAhead},
    {"netlink_batch", limits::kNetlinkBatch},
    {"programmer_orders", limits::kProgrammerOps},
    {"programmer_batches", limits::kProgrammerBatches},
    {"group_members", limits::kGroupMembers},
    {"link_events", limits::kLinkEvents},
    {"carrier_changes", limits::kCarrierChanges},
    {"restart_hold_s", limits::kRestartHold},
    {"admin_frame_bytes", limits::kAdminFrameBytes},
    {"admin_connections", limits::kAdminConnections},
    {"admin_page_rows", limits::kAdminPageRows},
    {"admin_page_bytes", limits::kAdminPageBytes},
    {"admin_request_bytes", limits::kAdminRequestBytes},
    {"admin_request_values", limits::kAdminRequestValues},
    {"admin_row_fields", limits::kAdminRowFields},
    {"admin_output_bytes", limits::kAdminOutputBytes},
    {"admin_stall_us", in_microseconds(limits::kAdminStall)},
    {"pattern_bytes", limits::kPatternBytes},
    {"admin_rows_per_turn", limits::kAdminRowsPerTurn},
    {"admin_bulk_frames", limits::kAdminBulkFrames},
    {"watch_events", limits::kWatchEvents},
    {"watch_bytes", limits::kWatchBytes},
    {"watch_row_bytes", limits::kWatchRowBytes},
    {"top_facts", limits::kTopFacts},
    {"top_facts_seen", limits::kTopFactsSeen},
    {"damage_shown", limits::kDamageShown},
    {"daemon_drain_us", in_microseconds(limits::kDaemonDrain)},
    {"log_lines_kept", limits::kLogLinesKept},
    {"log_line_bytes_kept", limits::kLogLineBytesKept},
    {"mishap_told_us", in_microseconds(limits::kMishapTold)},
    {"dump_rows", limits::kDumpRows},
    {"route_line_bytes", limits::kRouteLineBytes},
}};

void command_limits(const CommandContext&, Reply reply) {
  json::object all;
  for (const auto& [name, value] : kShownLimits) all[name] = value;
  reply.finish(all);
}

/// 'holds': what an earlier run left in the data plane is not cleared away yet.
void add_file_troubles(const std::string& path, const TableFileFigures& file, Instant now, bool holds, json::array& troubles) {
  if (!file.trouble.ok()) {
    const std::string seconds = std::to_string(std::chrono::duration_cast<std::chrono::seconds>(now - file.failing_since).count());
    const std::string what = file.writes_fail ? "nothing could be written for " + seconds + " s, " + std::to_string(file.waiting) +
                                                    " records wait and are lost when the daemon ends before that is mended: "
                                              : "it could not be kept small for " + seconds + " s, it grows while writes go on: ";
    troubles.push_back(text("file " + path + ": " + what + std::string{file.trouble.message()}));
  }
  if (!file.damage.empty()) {
    troubles.push_back(
        text("file " + path + " was damaged when it was opened, " + std::to_string(file.damage.size()) +
             " parts are lost (the first: " + file.damage.front() + "); kept as " + file.damaged_file + "; feed the tables again" +
             (holds ? ": until [dataplane] hold_s (an hour, if it is 0) is over, what an earlier run programmed stays" : "")));
  }
}

/// Troubles of now, each in words; none of them: "healthy". Notes are what an operator may want to know and need not mend: what was chosen,
/// and what is over, such as a mishap after a while.
void command_health(const CommandContext& context, Reply reply) {
  Runtime& runtime = context.runtime;
  json::array troubles;
  if (const Status store = runtime.store().health(); !store.ok()) troubles.push_back(text("store: " + hide_secrets(store.message())));
  const Instant now = runtime.clock().now();
  const bool holds = !context.agent.has_restarted();
  for (const std::unique_ptr<TableFile>& file : context.files) add_file_troubles(file->path(), file->figures(), now, holds, troubles);
  runtime.scheduler().for_each_source([&troubles](const Source& source) {
    if (source.quarantine().ok() || troubles.size() >= limits::kAdminPageRows) return;
    troubles.push_back(text("source " + std::string{source.name()} + " is quarantined: " + std::string{source.quarantine().message()}));
  });
  json::array notes;
  for (const std::string& why : policy_warnings(runtime.scheduler().policy().settings())) notes.push_back(text("policy: " + why));
  const auto count = [&notes](std::uint64_t number, std::string_view what) {
    if (number != 0) notes.push_back(text(std::to_string(number) + " " + std::string{what}));
  };
  const JournalStats journal = runtime.journal().stats();
  if (!journal.last_error.ok()) troubles.push_back(text("journal: " + std::string{journal.last_error.message()}));
  count(journal.write_errors, "writes of the journal failed since the start");
  count(journal.dropped, "records of the journal were dropped since the start");
  for (const ConsumerStats& table : runtime.consumers()) {
    if (table.rejected_rows == 0 || notes.size() >= limits::kAdminPageRows) continue;
    notes.push_back(text("rows of " + table.table + " that stand rejected: " + std::to_string(table.rejected_rows) +
                         "; the newest of them: " + hide_secrets(table.standing_reject)));
  }
  context.mishaps.look(runtime.scheduler().stats(), context.failures, context.agent.programmer().stats(), runtime.clock());
  context.mishaps.tell(now, troubles, notes);
  utsname system{};
  ::uname(&system);
  reply.finish(json::object{{"healthy", troubles.empty()},
                            {"troubles", std::move(troubles)},
                            {"notes", std::move(notes)},
                            {"kernel", json::object{{"system", text(system.sysname)},
                                                    {"release", text(system.release)},
                                                    {"version", text(system.version)},
                                                    {"machine", text(system.machine)}}}});
}

void command_log(const CommandContext& context, Reply reply) {
  answer_each(std::move(reply), context.log.lines(), [](const std::string& line) {
    return json::object{{"line", text(hide_secrets(line))}};
  });
}

}  // namespace

void add_support_commands(CommandAdder& commands) {
  commands.add({"config", "The configuration in force, without secrets", {}}, command_config);
  commands.add({"limits", "The bounds of the daemon", {}}, command_limits);
  commands.add({"health", "Known troubles, notes, and the kernel", {}}, command_health);
  commands.add({"log", "The newest lines of the daemon's log, without secrets", {}}, command_log);
}

}  // namespace rondo::daemon
