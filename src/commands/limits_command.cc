// The command limits: every bound of the library.
#include <array>
#include <cstdint>
#include <string_view>
#include <utility>

#include "commands/answers.h"
#include "commands/context.h"
#include "rondo/base/limits.h"

namespace rondo::commands {

namespace {

namespace json = boost::json;

constexpr std::uint64_t in_microseconds(Duration limit) { return static_cast<std::uint64_t>(limit / std::chrono::microseconds{1}); }

/// All limits (include/rondo/base/limits.h), in their order; times in microseconds. The tidy check verifies that none is missing.
constexpr auto kShownLimits = std::to_array<std::pair<std::string_view, std::uint64_t>>({
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
    {"direct_frame_bytes", limits::kZmqFrameBytes},
    {"direct_client_frame_bytes", limits::kZmqClientFrameBytes},
    {"direct_send_frames", limits::kZmqSendFrames},
    {"direct_receive_frames", limits::kZmqReceiveFrames},
    {"zmq_keys", limits::kZmqKeys},
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
    {"fact_sweep_looks", limits::kFactSweepLooks},
    {"fact_sweep_facts", limits::kFactSweepFacts},
    {"fact_sweep_pause_us", in_microseconds(limits::kFactSweepPause)},
    {"journal_bytes", limits::kJournalBytes},
    {"journal_record_bytes", limits::kJournalRecordBytes},
    {"journal_file_mib", limits::kJournalFileMib},
    {"journal_files", limits::kJournalFiles},
    {"replay_batches_ahead", limits::kReplayBatchesAhead},
    {"replay_bytes_ahead", limits::kReplayBytesAhead},
    {"replay_nesting", limits::kReplayNesting},
    {"config_nesting", limits::kConfigNesting},
    {"netlink_batch", limits::kNetlinkBatch},
    {"programmer_orders", limits::kProgrammerOps},
    {"executor_operations", limits::kExecutorOperations},
    {"executor_batch", limits::kExecutorBatch},
    {"executor_batches", limits::kExecutorBatches},
    {"executor_lanes", limits::kExecutorLanes},
    {"executor_threads", limits::kExecutorThreads},
    {"elsewhere_threads", limits::kElsewhereThreads},
    {"elsewhere_tasks", limits::kElsewhereTasks},
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
    {"admin_reserved", limits::kAdminReserved},
    {"admin_frame_time_us", in_microseconds(limits::kAdminFrameTime)},
    {"admin_idle_us", in_microseconds(limits::kAdminIdle)},
    {"admin_yield_us", in_microseconds(limits::kAdminYield)},
    {"admin_memory", limits::kAdminMemory},
    {"admin_socket_look_us", in_microseconds(limits::kAdminSocketLook)},
    {"admin_notice_period_us", in_microseconds(limits::kAdminNoticePeriod)},
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
    {"incident_told_us", in_microseconds(limits::kIncidentTold)},
    {"dump_rows", limits::kDumpRows},
    {"load_bytes", limits::kLoadBytes},
    {"route_line_bytes", limits::kRouteLineBytes},
    {"cron_bytes", limits::kCronBytes},
    {"schedule_period_least_us", in_microseconds(limits::kSchedulePeriodLeast)},
    {"excluded_dates", limits::kExcludedDates},
    {"zone_file_bytes", limits::kZoneFileBytes},
    {"zone_name_bytes", limits::kZoneNameBytes},
});

void command_limits(Context&, Reply reply) {
  json::object all;
  for (const auto& [name, value] : kShownLimits) all[name] = value;
  reply.finish(all);
}

}  // namespace

void add_limits_command(StandardAdder& commands) {
  commands.add({"limits", "The bounds of the daemon", {}, CommandEffect::Reads}, command_limits);
}

}  // namespace rondo::commands
