// Limits: every bound of the runtime on one page, with its reason and what happens when it is reached. Queues and loops take their bound
// from here (or from an option whose default is here); nothing grows without one. Users change what is an option; the rest is by design.
// docs/guide/limits.md says of each which figure tells that it was reached and which test reaches it; tools/tidy.py holds the two together.
#pragma once

#include <cstddef>
#include <cstdint>

#include "rondo/base/time.h"

namespace rondo::limits {

// --- sched
/// One 64-bit word finds the highest ready priority.
inline constexpr unsigned kPriorities = 64;
/// Items a source may handle in one turn (seed 000, "Batch Size Limit"): fair among tables, large enough to fill a netlink send.
inline constexpr std::uint32_t kBatchItems = 128;
/// A turn ends at the first convenient step after this, whatever is left of its items. Short against what a port event may wait (5 ms),
/// because a step can be slow: a page that the machine has to find first takes up to milliseconds.
inline constexpr Duration kTurnTime = 1000us;
/// A turn that took longer than this is counted: what waits behind it, a port event say, waits as long.
inline constexpr Duration kLongTurn = 5000us;
/// Items between two looks at the clock in a turn, and rows that a consumer takes from its table at a time. Where items took longer than
/// kPollAfter just before, on average, the clock is looked at after each. Who is more urgent and known to be is asked for between all
/// items.
inline constexpr std::uint32_t kItemsPerStep = 8;
/// The reactor is looked at before the next turn when the last one took longer than this; see kPollPeriod for short turns.
inline constexpr Duration kPollAfter = 2us;
/// And when the last look is so long ago, which bounds what an arrival can wait unseen. A look costs as much as several short turns.
inline constexpr Duration kPollPeriod = 16us;
/// And at the latest after this many short turns, whatever the clock says: a simulated one may stand still.
inline constexpr std::uint32_t kTurnsWithoutPoll = 64;
/// Items that a source which asks between them, as none took longer than kPollAfter, may handle before a look is due: at most 32 us.
inline constexpr std::uint32_t kItemsWithoutPoll = 16;
/// What a priority used beyond its budget is taken off as many of its next budgets at the most.
inline constexpr std::int64_t kDebtFrames = 16;
/// The liveness sweep (seed 000, "Select Timeout Guarantee"): a detector; it counts what it rescues and the count stays 0.
inline constexpr Duration kSweepPeriod = 1000ms;
/// Messages in one mailbox, and functions that Runtime::post was given; post() beyond it is refused with ResourceExhausted and counted.
inline constexpr std::size_t kMailboxMessages = 65536;
/// What all priorities together should take at most in a frame of budgets, their longest turns included: no priority waits for two frames,
/// so each has a turn within a second (seed 000, "Select Timeout Guarantee", which there holds for an idle loop only). More is warned of. A
/// source shares the turns of its priority with its equals.
inline constexpr Duration kFrameTime = 500ms;
/// A budget or quota in time; more is refused: who means "for ever" says kNoBudget.
inline constexpr Duration kBudgetMost = 3600s;
/// A quota of items or microseconds; more is refused, likewise.
inline constexpr std::uint32_t kQuotaMost = 1'000'000'000;
/// The longest time of a turn that may be configured, and the longest that may pass before a turn counts as stuck.
inline constexpr Duration kTurnTimeMost = 1s;
inline constexpr Duration kStallMost = 3600s;
/// Memory that a program may be told to touch at its start, in MiB.
inline constexpr unsigned kReserveMibMost = 1024 * 1024;
/// The weight of a source among its equals: a thousand to one is more than shares are measured to.
inline constexpr std::uint32_t kWeightMost = 1000;
/// Operations of an executor that were submitted and not yet answered; beyond it has_room() is false and its users pause.
inline constexpr std::size_t kExecutorOperations = 8192;
/// Operations of one apply() of an executor: the next batch begins behind them, and what is urgent waits for them.
inline constexpr std::size_t kExecutorBatch = 256;
/// Batches of a lane that lie ready for the thread of an executor: a turn's time of work. What waits behind them still shares batches, and
/// is still overtaken by what is urgent.
inline constexpr std::size_t kExecutorBatches = 4;
/// Lanes and threads that an executor may have.
inline constexpr std::size_t kExecutorLanes = 16;
inline constexpr unsigned kExecutorThreads = 64;
/// Timers one look at a wheel may fire before others get a turn. A scheduler has two: Scheduler::bulk_timers().
inline constexpr std::uint32_t kTimersPerTurn = 256;

// --- messages
/// A message up to this size travels in its queue's own place, together two cache lines; a larger one costs an allocation.
inline constexpr std::size_t kInlineMessageBytes = 64;
/// Messages that wait for all agents of one priority together, 128 bytes each: 32 MiB. One more is refused with ResourceExhausted.
inline constexpr std::size_t kMessagesOfPriority = 262'144;
/// Messages of one type that wait for one agent, where the agent limits the type without a number.
inline constexpr std::size_t kMessagesOfType = 4096;
/// A queue ends its turn after this, as the reactor is due then, too (kPollAfter, kPollPeriod): a port event waits no longer.
inline constexpr Duration kMessagesTurn = 32us;
/// Places that the receiving thread keeps for its own posts before it gives them back to the others; a queue has as many more.
inline constexpr std::size_t kMessagePlacesKept = 64;
/// Places of a queue that are made at a time: 64 KiB.
inline constexpr std::size_t kMessagePlacesChunk = 512;
/// How often a message whose handler throws is tried again, if its agent says so; then it is dropped.
inline constexpr unsigned kMessageRetries = 8;
/// And how often that may be at most: they are counted in one byte of the message's place. An agent that asks for more is not added.
inline constexpr unsigned kMessageRetriesMost = 250;
/// Agents of one Agents object, with those that have gone but for whom dropped messages wait; one more is refused.
inline constexpr std::size_t kAgents = 65'536;
/// How long a removed agent goes on with its queue; then the rest is dropped and counted.
inline constexpr Duration kAgentDrain = 5000ms;
/// A queue for whose first turn there was no memory is tried again after this, or when the next agent starts or ends.
inline constexpr Duration kAgentQueueRetry = 100ms;
/// Starts and ends of agents in one turn; the rest after others had theirs.
inline constexpr std::uint32_t kAgentLifePerTurn = 16;

// --- store
/// Longest key, table or field name, in bytes. Longer input is refused with InvalidArgument.
inline constexpr std::size_t kNameBytes = 64 * 1024;
/// Largest single value in bytes; SONiC's peers carry values of several MiB.
inline constexpr std::size_t kValueBytes = 64 * 1024 * 1024;
/// One whole record: room for a few of the largest values. Larger ones are refused with InvalidArgument.
inline constexpr std::size_t kRecordBytes = 4 * kValueBytes;
/// Fields of one change.
inline constexpr std::size_t kFields = 65536;
/// Rows of one embedded table; a Set of a new key beyond it is refused with ResourceExhausted.
inline constexpr std::size_t kTableRows = 16'000'000;
/// Entries waiting in one Channel or Queue subscription; a Channel then drops the newest, counts it and reports a gap, a Queue refuses the
/// write.
inline constexpr std::size_t kQueuedEvents = 1'000'000;
/// Tables of one store; the next declare() is refused with ResourceExhausted.
inline constexpr std::size_t kTables = 4096;
/// Writes of one TableView under way: enough to keep a remote store busy, little beside what it accepts. Then it waits for answers.
inline constexpr std::size_t kViewWrites = 1024;
/// How often in a row a full store may refuse a change that a TableView or the copy of a direct table tries again: a table may get room,
/// but for a change that is too large there never is. Then apply() ends with ResourceExhausted; the copy leaves the change out and counts
/// it.
inline constexpr unsigned kFullStoreTries = 20;
/// Writes accepted and not yet in the file of a durable store, and their bytes; with rondod, on its Redis, too. A whole table, because
/// whoever writes over the admin socket is not made to wait. The next is refused with ResourceExhausted.
inline constexpr std::size_t kWaitingWrites = 2'000'000;
inline constexpr std::size_t kWaitingWriteBytes = std::size_t{512} * 1024 * 1024;
/// The longest time between two commits of a durable store that may be asked for: what a power cut may cost.
inline constexpr Duration kDurableInterval = 60'000ms;
/// Writes accepted and not yet answered by one Redis, and their bytes; the next is refused with ResourceExhausted. A second's worth of a
/// busy server: more would only make what is written older.
inline constexpr std::size_t kRedisWrites = 100'000;
inline constexpr std::size_t kRedisWriteBytes = std::size_t{256} * 1024 * 1024;
/// Items of one list in an answer of Redis. Room for them is kept as soon as the server says how many will come, so that nobody can claim
/// all memory; the largest answer that is asked for is a row, with two items a field, and has 32 times less at kFields.
inline constexpr int kRedisListItems = 4'194'304;
/// Keys of one pop that may be asked for: it holds the server for some 8 ms.
inline constexpr std::size_t kRedisPopKeys = 1024;
/// Replicas that a write may wait for, and how long that may be asked to take: the connection stands still meanwhile.
inline constexpr unsigned kRedisReplicas = 100;
inline constexpr Duration kRedisReplicasWait = 60'000ms;
/// One database_config.json, and all that one includes; SONiC's have some KiB, and one file for each of up to a hundred namespaces.
inline constexpr std::size_t kRedisConfigBytes = 1024 * 1024;
inline constexpr std::size_t kRedisConfigFiles = 1024;
/// A file with the password of a Redis; a longer one is refused.
inline constexpr std::size_t kRedisPasswordBytes = 4096;
/// The number of a Redis database: what its SELECT can read.
inline constexpr unsigned kRedisDatabase = 2'147'483'647;
/// The Sentinels that one address may list: they are asked in turn, and more than a handful says that something else was meant.
inline constexpr std::size_t kRedisSentinels = 64;

// --- direct tables (ZeroMQ)
/// Largest frame of a direct table; that of its stock peers.
inline constexpr std::size_t kDirectFrameBytes = 16 * 1024 * 1024;
/// A client sends a frame that has reached this size: some 500 routes, so that the cost of a message is shared by many.
inline constexpr std::size_t kDirectClientFrameBytes = 64 * 1024;
/// Frames that libzmq may hold in a client; with those above 4 MiB. Beyond it entries wait where they merge.
inline constexpr int kDirectSendFrames = 64;
/// Frames that libzmq may hold in a server. Stock peers send frames of one entry, so there are more of them.
inline constexpr int kDirectReceiveFrames = 1024;
/// Keys of one direct table that wait, in a client behind its frames and in a server for its consumer. Beyond it a client refuses writes
/// with ResourceExhausted and a server stops reading.
inline constexpr std::size_t kDirectKeys = 1'000'000;

// --- workers
/// Changes of one subscription under way to a worker; a full lane leaves the rest in the table, where it merges. 16 bytes each. Enough for
/// half a second of handlers of 100 us, few enough to be handled before a worker has stopped.
inline constexpr std::size_t kWorkerLane = 4096;
/// Writes and questions of a worker on their way to the home store, and answers wanted; one more is refused with ResourceExhausted.
inline constexpr std::size_t kWorkerRequests = 4096;
/// How long a worker waits for a turn of the home thread when it declares or subscribes; then DeadlineExceeded.
inline constexpr Duration kWorkerCallWait = 5000ms;
/// How long the home thread waits for a worker when somebody asks what waits there; then the answer says that the worker is busy.
inline constexpr Duration kWorkerAskWait = 3ms;
/// How long a worker that was told to stop goes on with what it has; then the rest is given up and counted. An end should come within a
/// second.
inline constexpr Duration kWorkerDrain = 800ms;
/// Facts of other threads that are remembered though nobody waits for them; of more, the one idle longest is forgotten, and asked for anew.
inline constexpr std::size_t kBoardFacts = 262'144;

// --- orch
/// Rows one consumer may owe; beyond it the consumer stops taking from its subscription until rows are settled. 32-bit indexes allow more.
inline constexpr std::size_t kLedgerRows = 16'000'000;
/// Constraints one change may wait for at a time; more is a program error of the handler and becomes a reject.
inline constexpr std::size_t kWaitsPerChange = 1024;
/// Rows that `why` follows before it says that there are more.
inline constexpr std::size_t kWhyDepth = 64;
/// Facts it asks about: each is a call of its provider, and an answer is made in one turn.
inline constexpr std::size_t kWhyFacts = 1024;
/// How long one `why` asks workers altogether; those that it comes to later count as busy.
inline constexpr Duration kWhyWait = 12ms;
/// Rejected keys whose reason `why` remembers, for each consumer; of more, some are forgotten.
inline constexpr std::size_t kRejectionsKept = 1000;
/// A handler that says "wait for X" while X holds is asked again at once, and from the second time after this delay.
inline constexpr Duration kSpuriousWaitDelay = 100ms;
/// How often the sweep begins to look at every fact that rows wait for or depend on, how many passes in a row must see that a fact was
/// forgotten, how many facts it looks at in a turn, and how long it pauses between two turns: of 60,000 facts each that was forgotten is
/// found within a second, at less than 2 % of a processor. More facts take longer in proportion.
inline constexpr Duration kFactSweepPeriod = 300ms;
inline constexpr unsigned kFactSweepLooks = 3;
inline constexpr std::uint32_t kFactSweepFacts = 1024;
inline constexpr Duration kFactSweepPause = 5ms;
/// Bytes of journal records waiting for the writer; beyond it records are lost, counted, and the file says how many.
inline constexpr std::size_t kJournalBytes = 64 * 1024 * 1024;
/// Bytes of one journal record, which the form of its file can hold; a longer one is lost and counted.
inline constexpr std::size_t kJournalRecordBytes = 256 * 1024 * 1024 - 64;
/// MiB of one journal file, and files that are kept, that may be asked for: a TiB, and what a folder can be looked through for.
inline constexpr unsigned kJournalFileMib = 1024 * 1024;
inline constexpr unsigned kJournalFiles = 1000;
/// Batches of records that a replay reads ahead, and their bytes, but for the batch that goes beyond: what it takes of memory however long
/// the day is. The reading, which is faster, begins again when half of them are used, so that it is seldom woken.
inline constexpr std::size_t kReplayBatchesAhead = 32;
inline constexpr std::size_t kReplayBytesAhead = 8 * 1024 * 1024;
/// Records that a replay gives within each other. Of a day that a writer made they are a few; a forged one could end the stack.
inline constexpr unsigned kReplayNesting = 64;

/// Dots in a line of the configuration, and brackets within each other. Its parser calls itself for each.
inline constexpr std::size_t kConfigNesting = 64;

/// Threads of Runtime::run_elsewhere: works that block seldom block on one thing, and each costs a stack.
inline constexpr unsigned kElsewhereThreads = 2;
/// Works that wait for them, run, or whose answers wait for a turn; one more is refused with ResourceExhausted.
inline constexpr std::size_t kElsewhereTasks = 1024;

// --- dataplane
/// Operations of one netlink send (measured: 64 to 256 is enough, more gains under 10 % and risks overrunning the error queue).
inline constexpr std::size_t kNetlinkBatch = 256;
/// Operations submitted and not yet answered; beyond it consumers of the data plane pause until there is room.
inline constexpr std::size_t kProgrammerOps = 8192;
/// Members of one next-hop group: one order must fit into one netlink attribute and one page of a dump. A larger group is refused with
/// InvalidArgument.
inline constexpr std::size_t kGroupMembers = 1024;
/// Link events read from the kernel that wait for their turn; the rest stays in the socket, whose overrun is found and repaired.
inline constexpr std::size_t kLinkEvents = 4096;
/// Changes of carrier whose handling is remembered, for measuring from outside (`port-events`); of more the oldest are forgotten. A storm
/// of every port of a large switch, some times over.
inline constexpr std::size_t kCarrierChanges = 4096;
/// How long after a restart what nobody asked for may be asked to stay in the kernel, in seconds.
inline constexpr unsigned kRestartHold = 3600;

// --- admin
/// Largest frame of the admin protocol, either way. A larger one is answered with an error and the connection is closed.
inline constexpr std::size_t kAdminFrameBytes = 4 * 1024 * 1024;
/// Connections of the admin socket; the next is told so and closed.
inline constexpr std::size_t kAdminConnections = 64;
/// Rows in one page of an answer, and bytes of them: a page takes a turn to make and to send. The next page is made in a later turn.
inline constexpr std::size_t kAdminPageRows = 1000;
inline constexpr std::size_t kAdminPageBytes = 64 * 1024;
/// Largest JSON request, and JSON values in it (each costs a parser some 20 to 40 ns, a byte of a long text far less), so that parsing
/// stays far below a millisecond; a larger one is answered with InvalidArgument.
inline constexpr std::size_t kAdminRequestBytes = 256 * 1024;
inline constexpr std::size_t kAdminRequestValues = 8192;
/// Fields of one row in a request or a bulk write: each is hashed and copied, and a turn is to stay far below a millisecond. More is
/// answered with InvalidArgument. A row that is written in parts may have more, up to kFields.
inline constexpr std::size_t kAdminRowFields = 2048;
static_assert(3 * kAdminRowFields < kAdminRequestValues, "a request has room for a row: a pair and two texts for each field");
/// Output waiting for one reader. Pages wait from a quarter of it on; beyond it the reader is cut and counted.
inline constexpr std::size_t kAdminOutputBytes = 2 * kAdminFrameBytes;
/// A connection that reads none of its output, or sends none of the rest of a frame, for this long is cut and counted.
inline constexpr Duration kAdminStall = 30'000ms;
/// Places of the admin socket beyond kAdminConnections, for root and the daemon's user: whoever mends it can always come in.
inline constexpr std::size_t kAdminReserved = 4;
/// The longest time from the first byte of a frame to its last, and of a connection to its first request; then it is cut and counted.
inline constexpr Duration kAdminFrameTime = 30'000ms;
/// The longest time between an answer and the next request; then the connection is cut and counted. Long, because a feeder may wait for
/// its own source, and because a connection between requests gives way to a newcomer when all places are taken.
inline constexpr Duration kAdminIdle = 600'000ms;
/// How long a connection keeps its place after its last answer although others want it, and a frame its memory although it does not grow.
inline constexpr Duration kAdminYield = 1000ms;
/// Bytes that wait in all connections of one admin socket together, in frames that are being read and answers that are not. Beyond it one
/// frame at a time is read on, the oldest, and those that do not grow are cut; beyond half of it each reader has one page at a time.
inline constexpr std::size_t kAdminMemory = std::size_t{24} * 1024 * 1024;
/// How often the file of the admin socket is looked for; it is made anew when it has gone.
inline constexpr Duration kAdminSocketLook = 1000ms;
/// How often one kind of cut is told (AdminServerOptions::on_notice); it says how many there were since.
inline constexpr Duration kAdminNoticePeriod = 10'000ms;
/// Bytes of a pattern of keys; matching costs no more than the pattern times the key. A longer one is refused with InvalidArgument.
inline constexpr std::size_t kPatternBytes = 256;
/// Rows of one bulk write handled in one turn.
inline constexpr std::size_t kAdminRowsPerTurn = 128;
/// Bulk frames of one connection whose rows are taken and whose answers wait for a disk; the next frame is read when the first is answered.
/// Enough that a commit carries several frames, and few against what a store lets wait.
inline constexpr std::size_t kAdminBulkFrames = 8;
/// Events that wait for one reader of `watch` or `trace`; of more the newest are dropped, and the reader is told how many it missed.
inline constexpr std::size_t kWatchEvents = 4096;
/// And bytes: large rows count by their size.
inline constexpr std::size_t kWatchBytes = 1024 * 1024;
/// Bytes of a change that `watch` shows with its fields: a turn must stay short. A larger one is told by its size, and `get` tells its
/// fields.
inline constexpr std::size_t kWatchRowBytes = 32 * 1024;
/// Facts that one frame of `top` shows, those with the most rows, and the facts looked at for them: a frame is made in one turn.
inline constexpr std::size_t kTopFacts = 16;
inline constexpr std::size_t kTopFactsSeen = 1024;
/// Lost parts of a store's file that `stats` names; it counts all, and the log names all.
inline constexpr std::size_t kDamageShown = 16;
/// How long rondod goes on, when it is told to end, with what it has accepted; then it says what is left, and ends with 1 if any of that is
/// lost.
inline constexpr Duration kDaemonDrain = 5000ms;
/// Lines of the log that rondod remembers for a support bundle, and bytes of each.
inline constexpr std::size_t kLogLinesKept = 500;
inline constexpr std::size_t kLogLineBytesKept = 1024;
/// How long what happened and is over (a write that failed later, a lost wake-up, a forgotten fact) is a trouble of `rondo health`, before
/// it is a note: a monitor that asks every five minutes sees it thrice, and nobody restarts a daemon to be rid of it.
inline constexpr Duration kMishapTold = 900s;
/// Rows of one answer in a support bundle; more would be a table and not a figure. It says how many were left out.
inline constexpr std::size_t kDumpRows = 10'000;
/// Bytes of one line of a file of routes; a longer one ends the load with its line number: the file is something else.
inline constexpr std::size_t kRouteLineBytes = 1024;

static_assert(kBatchItems <= kNetlinkBatch, "a turn of a bulk handler must fit one netlink send");
static_assert(kProgrammerOps >= 4 * kNetlinkBatch, "the programmer needs a few batches to stay busy");

}  // namespace rondo::limits
