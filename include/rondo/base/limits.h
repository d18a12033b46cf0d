// Limits: every bound of the runtime on one page, with its reason and what happens when it is reached. Queues and loops take their bound
// from here (or from an option whose default is here); nothing grows without a bound. Users can change the options; the other limits are
// fixed. docs/guide/limits.md lists for each limit the figure that shows that it was reached and the test that reaches it; tools/tidy.py
// compares both.
#pragma once

#include <cstddef>
#include <cstdint>

#include "rondo/base/time.h"

namespace rondo::limits {

// --- sched
/// One 64-bit word finds the highest ready priority.
inline constexpr unsigned kPriorities = 64;
/// Items a source may handle in one turn, as in SONiC's Select loop: fair among tables, and large enough to fill a netlink send.
inline constexpr std::uint32_t kBatchItems = 128;
/// A turn ends at the first convenient step after this time, even with items left. It is short compared with the 5 ms that a port event may
/// wait, because a step can be slow: a page fault under a hypervisor takes up to milliseconds.
inline constexpr Duration kTurnTime = 1000us;
/// A longer turn is counted: sources behind it, such as one with a port event, wait for that time.
inline constexpr Duration kLongTurn = 5000us;
/// Items between two clock readings in a turn, and rows that a consumer takes from its table at a time. If items recently took longer than
/// kPollAfter on average, the clock is read after each. The check for a known, more urgent source is made between all items.
inline constexpr std::uint32_t kItemsPerStep = 8;
/// The reactor is polled before the next turn when the last turn took longer than this; see kPollPeriod for short turns.
inline constexpr Duration kPollAfter = 2us;
/// The reactor is also polled when the last poll was this long ago. This limits how long an arrival stays unseen. A poll costs as much as
/// several short turns.
inline constexpr Duration kPollPeriod = 16us;
/// The reactor is polled after this many short turns, whatever the clock shows: a simulated clock may stand still.
inline constexpr std::uint32_t kTurnsWithoutPoll = 64;
/// Items that a source may handle before a poll is due, if it checks between items and none took longer than kPollAfter: at most 32 us.
inline constexpr std::uint32_t kItemsWithoutPoll = 16;
/// Use beyond a budget is subtracted from at most this many later budgets of the priority.
inline constexpr std::int64_t kDebtFrames = 16;
/// Period of the liveness sweep, which detects lost wake-ups. It counts each rescue; the count should stay 0.
inline constexpr Duration kSweepPeriod = 1000ms;
/// Messages in one mailbox, and functions given to Runtime::post; further ones are refused with ResourceExhausted and counted.
inline constexpr std::size_t kMailboxMessages = 65536;
/// The most time that all priorities together should take in a frame of budgets, including their longest turns. No priority waits for two
/// frames, so each has a turn within a second. SONiC's Select timeout has a similar guarantee, but for an idle loop only. A larger sum
/// gives a warning. Sources of one priority share its turns.
inline constexpr Duration kFrameTime = 500ms;
/// A budget or quota in time; a larger one is refused. For no limit use kNoBudget.
inline constexpr Duration kBudgetMost = 3600s;
/// A quota of items or microseconds; a larger one is refused.
inline constexpr std::uint32_t kQuotaMost = 1'000'000'000;
/// kTurnTimeMost: the longest turn time that may be configured. kStallMost: the longest limit after which a turn counts as stuck.
inline constexpr Duration kTurnTimeMost = 1s;
inline constexpr Duration kStallMost = 3600s;
/// Memory that a program may be configured to touch at its start, in MiB.
inline constexpr unsigned kReserveMibMost = 1024 * 1024;
/// The weight of a source among those of its priority. Shares are not measured more finely than a thousand to one.
inline constexpr std::uint32_t kWeightMost = 1000;
/// Operations of an executor in flight; at this number has_room() is false and its users pause.
inline constexpr std::size_t kExecutorOperations = 8192;
/// Operations of one apply() of an executor. The next batch begins after them, so urgent operations wait for them.
inline constexpr std::size_t kExecutorBatch = 256;
/// Batches of a lane that are ready for the thread of an executor: work for about a turn. Operations behind them can still join a batch,
/// and urgent operations can still overtake them.
inline constexpr std::size_t kExecutorBatches = 4;
/// Lanes and threads that an executor may have.
inline constexpr std::size_t kExecutorLanes = 16;
inline constexpr unsigned kExecutorThreads = 64;
/// Timers that one check of a wheel may fire before other sources get a turn. A scheduler has two wheels: Scheduler::bulk_timers().
inline constexpr std::uint32_t kTimersPerTurn = 256;

// --- messages
/// A message up to this size is stored in a place of the queue, which is two cache lines; a larger one costs an allocation.
inline constexpr std::size_t kInlineMessageBytes = 64;
/// Messages that wait for all agents of one priority together, 128 bytes each: 32 MiB. Further ones are refused with ResourceExhausted.
inline constexpr std::size_t kMessagesOfPriority = 262'144;
/// Messages of one type that wait for one agent, if the agent limits the type without a number.
inline constexpr std::size_t kMessagesOfType = 4096;
/// A queue ends its turn after this time, when a reactor poll is due, too (kPollAfter, kPollPeriod): a port event waits no longer.
inline constexpr Duration kMessagesTurn = 32us;
/// Places of handled messages that the receiving thread keeps before it returns them together; a queue has as many more.
inline constexpr std::size_t kMessagePlacesKept = 64;
/// Places of a queue that are allocated at a time: 64 KiB.
inline constexpr std::size_t kMessagePlacesChunk = 512;
/// Retries of a message whose handler throws, if its agent uses Reaction::Retry; then the message is dropped.
inline constexpr unsigned kMessageRetries = 8;
/// The most retries that an agent may request: they are counted in one byte of the message's place. An agent with more is not added.
inline constexpr unsigned kMessageRetriesMost = 250;
/// Agents of one Agents object, including removed ones with dropped messages still in a queue; further ones are refused.
inline constexpr std::size_t kAgents = 65'536;
/// How long a removed agent handles its queue; then the rest is dropped and counted.
inline constexpr Duration kAgentDrain = 5000ms;
/// Delay until the next attempt to give a queue its first turn after memory was exhausted. The start or end of another agent also retries.
inline constexpr Duration kAgentQueueRetry = 100ms;
/// Starts and ends of agents in one turn; the rest waits until other sources had their turns.
inline constexpr std::uint32_t kAgentLifePerTurn = 16;

// --- store
/// Longest key, table or field name, in bytes. Longer input is refused with InvalidArgument.
inline constexpr std::size_t kNameBytes = 64 * 1024;
/// Largest single value in bytes; SONiC's peers carry values of several MiB.
inline constexpr std::size_t kValueBytes = 64 * 1024 * 1024;
/// One whole record: enough for a few of the largest values. Larger ones are refused with InvalidArgument.
inline constexpr std::size_t kRecordBytes = 4 * kValueBytes;
/// Fields of one change.
inline constexpr std::size_t kFields = 65536;
/// Rows of one embedded table; a Set of a new key beyond it is refused with ResourceExhausted.
inline constexpr std::size_t kTableRows = 16'000'000;
/// Entries that wait in one Channel or Queue subscription. Beyond it a Channel drops the newest, counts it and reports a gap; a Queue
/// refuses the write.
inline constexpr std::size_t kQueuedEvents = 1'000'000;
/// Tables of one store; the next declare() is refused with ResourceExhausted.
inline constexpr std::size_t kTables = 4096;
/// Writes of one TableView in flight: enough to keep a remote store busy, few compared with what it accepts. Then the view waits for
/// answers.
inline constexpr std::size_t kViewWrites = 1024;
/// Attempts in a row for a change that a full store refuses, in a TableView and in the copy of a direct table. A full table may get room; a
/// change that is too large never fits. After that apply() ends with ResourceExhausted; the copy leaves the change out and counts it.
inline constexpr unsigned kFullStoreTries = 20;
/// Writes accepted and not yet in the file of a durable store, and their bytes; in rondod also for its Redis. Enough for a whole table,
/// because the admin socket does not make its writers wait. Further ones are refused with ResourceExhausted.
inline constexpr std::size_t kWaitingWrites = 2'000'000;
inline constexpr std::size_t kWaitingWriteBytes = std::size_t{512} * 1024 * 1024;
/// The longest configurable time between two commits of a durable store: the time of writes that a power failure may lose.
inline constexpr Duration kDurableInterval = 60'000ms;
/// Writes accepted and not yet answered by one Redis, and their bytes; further ones are refused with ResourceExhausted. About a second's
/// work of a busy server; a longer queue would only delay the writes.
inline constexpr std::size_t kRedisWrites = 100'000;
inline constexpr std::size_t kRedisWriteBytes = std::size_t{256} * 1024 * 1024;
/// Items of one list in a reply of Redis. Memory is reserved as soon as the server announces the number, so this prevents a reply from
/// exhausting it. The largest reply that we request is a row, with two items a field: at kFields that is 32 times less.
inline constexpr int kRedisListItems = 4'194'304;
/// The largest configurable number of keys of one pop: it occupies the server for about 8 ms.
inline constexpr std::size_t kRedisPopKeys = 1024;
/// Replicas that a write may wait for, and the longest configurable wait: the connection does nothing else meanwhile.
inline constexpr unsigned kRedisReplicas = 100;
inline constexpr Duration kRedisReplicasWait = 60'000ms;
/// Size of one database_config.json, and number of files with its includes. SONiC's have a few KiB, and one file for each of up to a
/// hundred namespaces.
inline constexpr std::size_t kRedisConfigBytes = 1024 * 1024;
inline constexpr std::size_t kRedisConfigFiles = 1024;
/// Size of a file with the password of a Redis; a larger one is refused.
inline constexpr std::size_t kRedisPasswordBytes = 4096;
/// The largest number of a Redis database: the largest that SELECT can parse.
inline constexpr unsigned kRedisDatabase = 2'147'483'647;
/// Sentinels in one address. They are asked one after the other; a much longer list is an error.
inline constexpr std::size_t kRedisSentinels = 64;

// --- direct tables (ZeroMQ)
/// Largest frame of a direct table; that of its stock peers.
inline constexpr std::size_t kZmqFrameBytes = 16 * 1024 * 1024;
/// A client sends a frame of this size: about 500 routes, so that they share the cost of a message.
inline constexpr std::size_t kZmqClientFrameBytes = 64 * 1024;
/// Frames that libzmq may hold in a client; with kZmqClientFrameBytes that is 4 MiB. Beyond it entries wait in the staging area, where
/// they merge.
inline constexpr int kZmqSendFrames = 64;
/// Frames that libzmq may hold in a server. Stock peers send frames of one entry, so there are more of them.
inline constexpr int kZmqReceiveFrames = 1024;
/// Keys of one direct table that wait: in a client behind its frames, in a server for its consumer. Beyond it a client refuses writes with
/// ResourceExhausted and a server stops reading.
inline constexpr std::size_t kZmqKeys = 1'000'000;

// --- workers
/// Changes of one subscription in the ring to a worker, 16 bytes each. While it is full, the rest waits in the table, where changes merge.
/// Enough for half a second of handlers of 100 us, and few enough to be handled before a worker stops.
inline constexpr std::size_t kWorkerLane = 4096;
/// Writes and questions of a worker that wait for the home store, and their pending answers; further ones are refused with
/// ResourceExhausted.
inline constexpr std::size_t kWorkerRequests = 4096;
/// How long a worker waits for a turn of the home thread when it declares or subscribes; then DeadlineExceeded.
inline constexpr Duration kWorkerCallWait = 5000ms;
/// How long the home thread waits for a worker's answer to an introspection call; then the answer says that the worker is busy.
inline constexpr Duration kWorkerAskWait = 3ms;
/// How long a stopping worker handles its remaining changes; then the rest is dropped and counted. A process should end within a second.
inline constexpr Duration kWorkerDrain = 800ms;
/// Facts of other threads that are remembered although no row waits for them. Beyond it the one idle longest is dropped, and queried again
/// if needed.
inline constexpr std::size_t kBoardFacts = 262'144;

// --- orch
/// Rows of one consumer with an unsettled change. At this number the consumer takes no more changes until rows are settled. 32-bit indexes
/// allow more.
inline constexpr std::size_t kLedgerRows = 16'000'000;
/// Constraints that one change may wait for at a time; more is a fault of the handler and becomes a reject.
inline constexpr std::size_t kWaitsPerChange = 1024;
/// Rows that `why` follows before it reports that there are more.
inline constexpr std::size_t kWhyDepth = 64;
/// Facts that `why` checks: each check calls the provider, and an answer is made in one turn.
inline constexpr std::size_t kWhyFacts = 1024;
/// How long one `why` waits for workers in total; workers asked after that count as busy.
inline constexpr Duration kWhyWait = 12ms;
/// Rejected keys whose reason `why` remembers, for each consumer; beyond it reasons are dropped.
inline constexpr std::size_t kRejectionsKept = 1000;
/// A handler that returns "wait for X" while X holds is called again immediately, and from the second time on after this delay.
inline constexpr Duration kSpuriousWaitDelay = 100ms;
/// kFactSweepPeriod: period of the sweep over every fact that rows wait for or depend on. kFactSweepLooks: passes in a row that must find a
/// fact forgotten. kFactSweepFacts: facts checked in a turn. kFactSweepPause: pause between two such turns. With 60,000 facts each
/// forgotten one is found within a second, at less than 2 % of a processor. More facts take longer in proportion.
inline constexpr Duration kFactSweepPeriod = 300ms;
inline constexpr unsigned kFactSweepLooks = 3;
inline constexpr std::uint32_t kFactSweepFacts = 1024;
inline constexpr Duration kFactSweepPause = 5ms;
/// Bytes of journal records that wait for the writer; beyond it records are lost and counted, and the file says how many.
inline constexpr std::size_t kJournalBytes = 64 * 1024 * 1024;
/// Bytes of one journal record, as the file format allows; a longer one is lost and counted.
inline constexpr std::size_t kJournalRecordBytes = 256 * 1024 * 1024 - 64;
/// The largest configurable size of one journal file, in MiB (a TiB), and number of kept files (a folder of this size is quickly searched).
inline constexpr unsigned kJournalFileMib = 1024 * 1024;
inline constexpr unsigned kJournalFiles = 1000;
/// Batches of records that a replay reads ahead, and their bytes, not counting the batch that exceeds them. They limit the memory, however
/// long the day is. The reading thread is faster than the replay; it resumes when half of them are used, so that it is seldom woken.
inline constexpr std::size_t kReplayBatchesAhead = 32;
inline constexpr std::size_t kReplayBytesAhead = 8 * 1024 * 1024;
/// Depth of nested records in a replay. A recorded day has a few; a forged one could overflow the stack.
inline constexpr unsigned kReplayNesting = 64;

/// Dots in a line of the configuration, and nested brackets. Its parser recurses for each.
inline constexpr std::size_t kConfigNesting = 64;

/// Threads of Runtime::run_elsewhere: few works block at the same time, and each thread costs a stack.
inline constexpr unsigned kElsewhereThreads = 2;
/// Works that wait for these threads, run, or whose results wait for a turn; further ones are refused with ResourceExhausted.
inline constexpr std::size_t kElsewhereTasks = 1024;

// --- dataplane
/// Operations of one netlink send (measured: 64 to 256 is enough; more gains under 10 % and risks overrunning the error queue).
inline constexpr std::size_t kNetlinkBatch = 256;
/// Operations in flight; at this number consumers of the data plane pause until there is room.
inline constexpr std::size_t kProgrammerOps = 8192;
/// Members of one next-hop group: one order must fit into one netlink attribute and one page of a dump. A larger group is refused with
/// InvalidArgument.
inline constexpr std::size_t kGroupMembers = 1024;
/// Link events read from the kernel that wait for their turn. The rest stays in the socket; an overrun of the socket is detected and
/// repaired.
inline constexpr std::size_t kLinkEvents = 4096;
/// Carrier changes whose handling is remembered for external measurement (`port-events`); beyond it the oldest are dropped. Enough for
/// several events of every port of a large switch.
inline constexpr std::size_t kCarrierChanges = 4096;
/// The longest configurable time, in seconds, for which unwanted objects stay in the kernel after a restart.
inline constexpr unsigned kRestartHold = 3600;

// --- admin
/// Largest frame of the admin protocol in both directions. A larger one gets an error answer and the connection is closed.
inline constexpr std::size_t kAdminFrameBytes = 4 * 1024 * 1024;
/// Connections of the admin socket; a further one gets an error answer and is closed.
inline constexpr std::size_t kAdminConnections = 64;
/// Rows in one page of an answer, and its bytes: a page is made and sent in one turn. The next page is made in a later turn.
inline constexpr std::size_t kAdminPageRows = 1000;
inline constexpr std::size_t kAdminPageBytes = 64 * 1024;
/// Largest JSON request, and number of JSON values in it. A value costs the parser about 20 to 40 ns, and a byte of a long text far less.
/// So parsing takes far less than a millisecond. A larger request gets InvalidArgument.
inline constexpr std::size_t kAdminRequestBytes = 256 * 1024;
inline constexpr std::size_t kAdminRequestValues = 8192;
/// Fields of one row in a request or a bulk write. Each is hashed and copied, and a turn must take far less than a millisecond. More fields
/// get InvalidArgument. A row that is written in parts may have more, up to kFields.
inline constexpr std::size_t kAdminRowFields = 2048;
static_assert(3 * kAdminRowFields < kAdminRequestValues, "a request has room for a row: a pair and two texts for each field");
/// Output that waits for one reader. From a quarter of it on no further page is made; beyond it the connection is closed and counted.
inline constexpr std::size_t kAdminOutputBytes = 2 * kAdminFrameBytes;
/// A connection that reads none of its output, or sends nothing of an incomplete frame, for this long is closed and counted.
inline constexpr Duration kAdminStall = 30'000ms;
/// Places of the admin socket beyond kAdminConnections, for root and the daemon's user, so that an administrator can always connect.
inline constexpr std::size_t kAdminReserved = 4;
/// The longest time from the first byte of a frame to its last, and of a connection to its first request; then it is closed and counted.
inline constexpr Duration kAdminFrameTime = 30'000ms;
/// The longest time between an answer and the next request; then the connection is closed and counted. It is long because a feeder may wait
/// for its own source. When all places are taken, a new connection replaces one that is between requests.
inline constexpr Duration kAdminIdle = 600'000ms;
/// Minimum time after its last answer for which a connection keeps its place when others need it. Also the time for which a frame that does
/// not grow keeps its memory.
inline constexpr Duration kAdminYield = 1000ms;
/// Bytes of incomplete frames and unsent answers in all connections of one admin socket together. Beyond it only the oldest frame is read
/// further, and frames that do not grow are dropped with their connections. Beyond half of it each reader gets one page at a time.
inline constexpr std::size_t kAdminMemory = std::size_t{24} * 1024 * 1024;
/// Period of the check for the file of the admin socket; a missing file is made again.
inline constexpr Duration kAdminSocketLook = 1000ms;
/// Minimum time between two notices of one kind of closed connection (AdminServerOptions::on_notice); a notice has the count since the last
/// one.
inline constexpr Duration kAdminNoticePeriod = 10'000ms;
/// Bytes of a key pattern; matching costs at most the length of the pattern times that of the key. A longer one is refused with
/// InvalidArgument.
inline constexpr std::size_t kPatternBytes = 256;
/// Rows of one bulk write handled in one turn.
inline constexpr std::size_t kAdminRowsPerTurn = 128;
/// Bulk frames of one connection whose rows are taken and whose answers wait for a disk; the next frame is read when the first is answered.
/// Enough for a commit to carry several frames, and few compared with what a store holds.
inline constexpr std::size_t kAdminBulkFrames = 8;
/// Events that wait for one reader of `watch` or `trace`; beyond it the newest are dropped, and the reader gets the number of dropped
/// events.
inline constexpr std::size_t kWatchEvents = 4096;
/// Bytes of these events: large rows count by their size.
inline constexpr std::size_t kWatchBytes = 1024 * 1024;
/// Bytes of a change that `watch` shows with its fields, because a turn must stay short. For a larger one it shows only the size; `get`
/// shows the fields.
inline constexpr std::size_t kWatchRowBytes = 32 * 1024;
/// Facts that one frame of `top` shows (those with the most rows), and facts examined to find them: a frame is made in one turn.
inline constexpr std::size_t kTopFacts = 16;
inline constexpr std::size_t kTopFactsSeen = 1024;
/// Lost parts of a store's file that `stats` lists; it counts all, and the log lists all.
inline constexpr std::size_t kDamageShown = 16;
/// How long rondod continues with its accepted work after a request to end. Then it reports what is left, and exits with 1 if any of that
/// is lost.
inline constexpr Duration kDaemonDrain = 5000ms;
/// Lines of the log that rondod keeps for a support bundle, and bytes of each.
inline constexpr std::size_t kLogLinesKept = 500;
inline constexpr std::size_t kLogLineBytesKept = 1024;
/// How long a past incident (a write that failed later, a lost wake-up, a forgotten fact) counts as a trouble in `rondo health`; afterwards
/// it is a note. A monitor with a period of five minutes sees it three times, and no restart is needed to clear it.
inline constexpr Duration kIncidentTold = 900s;
/// Rows of one answer in a support bundle; it reports how many were left out.
inline constexpr std::size_t kDumpRows = 10'000;
/// Bytes of a file of `rondo load`, which holds it in memory: a million routes are about 200 MB.
inline constexpr std::size_t kLoadBytes = 1024 * 1024 * 1024;
/// Bytes of one line of a file of routes; a longer one ends the load with its line number, because the file has another format.
inline constexpr std::size_t kRouteLineBytes = 1024;
/// Bytes of a cron or calendar expression; a longer one is refused.
inline constexpr std::size_t kCronBytes = 512;
/// The shortest period of a fixed rate and the shortest fixed delay of a schedule; a shorter one is refused.
inline constexpr Duration kSchedulePeriodLeast = 10ms;
/// Dates that the calendar of excluded days of one schedule may hold: 27 years of days. Weekdays and days of each year do not count.
inline constexpr std::size_t kExcludedDates = 10'000;
/// Bytes of the file of a time zone; the largest of the tz database has less than 4 KiB.
inline constexpr std::size_t kZoneFileBytes = 64 * 1024;
/// Bytes of the name of a time zone; the longest of the tz database has 30.
inline constexpr std::size_t kZoneNameBytes = 255;

static_assert(kBatchItems <= kNetlinkBatch, "a turn of a bulk handler must fit one netlink send");
static_assert(kProgrammerOps >= 4 * kNetlinkBatch, "the programmer needs a few batches to stay busy");

}  // namespace rondo::limits
