// Limits of the core: turns, tables, workers, and rows that wait, with their reasons and what happens when they are reached. Every other
// room has a header of its own that is named limits.h or *_limits.h. Queues and loops take their bound from these headers (or from an
// option whose default is here); nothing grows without a bound. Users can change the options; the other limits are fixed.
// "Reached" says what happens then, "Figure" which figure shows it, "Test" which test reaches it. tools/tidy.py checks it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "rondo/base/time.h"

namespace rondo::limits {

// --- Turns

/// One 64-bit word finds the highest ready priority.
/// Reached: a program error: the process stops. Figure: none: the developer sees it. Test:
/// `PriorityDeathTest.ALevelBeyondTheLastIsAProgramError`.
inline constexpr unsigned kPriorities = 64;

/// Items a source may handle in one turn, as in SONiC's Select loop: fair among tables, and large enough to fill a netlink send.
/// Reached: the turn ends; other sources have theirs. Figure: `stats.scheduler.full_turns`. Test:
/// `Scheduler.TurnsThatUseAllItemsOfTheirBudgetAreCounted`.
inline constexpr std::uint32_t kBatchItems = 128;

/// A turn ends at the first convenient step after this time, even with items left. It is short compared with the 5 ms that a port event may
/// wait, because a step can be slow: a page fault under a hypervisor takes up to milliseconds.
/// Reached: the turn ends; other sources have theirs. Figure: `stats.scheduler.timed_out_turns`. Test:
/// `ConsumerTest.ATurnEndsWhenItsTimeIsOver`.
inline constexpr Duration kTurnTime = 1000us;

/// A longer turn is counted: sources behind it, such as one with a port event, wait for that time.
/// Reached: it is counted and logged. Figure: `stats.scheduler.long_turns`. Test:
/// `Scheduler.TurnsThatOthersWouldNoticeAreCountedAndToldByName`.
inline constexpr Duration kLongTurn = 5000us;

/// Items between two clock readings in a turn, and rows that a consumer takes from its table at a time. If items recently took longer than
/// kPollAfter on average, the clock is read after each. The check for a known, more urgent source is made between all items.
/// Reached: the clock is read. Figure: `stats.scheduler.timed_out_turns`. Test: `Threads.ATurnOfAMailboxEndsWhenItsTimeIsOver`.
inline constexpr std::uint32_t kItemsPerStep = 8;

/// The reactor is polled before the next turn when the last turn took longer than this; see kPollPeriod for short turns.
/// Reached: the reactor is polled. Figure: `stats.scheduler.due_polls`. Test:
/// `Scheduler.AHighPriorityArrivalWaitsAtMostOneLowTurnWhenTurnsAreLong`.
inline constexpr Duration kPollAfter = 2us;

/// The reactor is also polled when the last poll was this long ago. This limits how long an arrival stays unseen. A poll costs as much as
/// several short turns.
/// Reached: the reactor is polled. Figure: `stats.scheduler.due_polls`. Test:
/// `Scheduler.ShortTurnsGoOnForOnePeriodWithoutALookAtTheReactor`.
inline constexpr Duration kPollPeriod = 16us;

/// The reactor is polled after this many short turns, whatever the clock shows: a simulated clock may stand still.
/// Reached: the reactor is polled. Figure: `stats.scheduler.due_polls`. Test:
/// `Scheduler.ShortTurnsShareALookAtTheReactorAndNeverMoreThanTheLimit`.
inline constexpr std::uint32_t kTurnsWithoutPoll = 64;

/// Items that a source may handle before a poll is due, if it checks between items and none took longer than kPollAfter: at most 32 us.
/// Reached: the turn ends, if another source may go before it. Figure: `stats.scheduler.due_polls`. Test:
/// `YieldTest.ALookAtTheReactorIsDueAfterSoManyItems`.
inline constexpr std::uint32_t kItemsWithoutPoll = 16;

/// Use beyond a budget is subtracted from at most this many later budgets of the priority. A turn that the machine delayed by a minute must
/// not cost its priority an hour.
/// Reached: the rest of the debt is forgiven. Figure: `sources.rows.wait_bound_us`. Test: `BudgetedFrames.DebtBeyondAFewFramesIsForgiven`.
inline constexpr std::int64_t kDebtFrames = 16;

/// Messages in one mailbox, and functions given to Runtime::post; further ones are refused with ResourceExhausted and counted. That is half
/// a second of a fast writer.
/// Reached: `post()` of a mailbox or a runtime returns ResourceExhausted. Figure: `sources.rows.turned_away`. Test:
/// `Threads.AMailboxHoldsTheLimitOfMessagesAndNotOneMore`, `PostTest.TheQueueHoldsTheLimitOfFunctionsAndNotOneMore`.
inline constexpr std::size_t kMailboxMessages = 65536;

/// The most time that all priorities together should take in a frame of budgets, including their longest turns. No priority waits for two
/// frames, so each has a turn within a second. SONiC's Select timeout has a similar guarantee, but for an idle loop only. A larger sum
/// gives a warning. Sources of one priority share its turns. One source among n of a priority may wait n frames and one more.
/// Reached: a warning at start, and a note of `rondo health`. Figure: `health.notes`. Test: `BudgetedFrames.WhatVoidsTheBoundIsSaid`.
inline constexpr Duration kFrameTime = 500ms;

/// A budget or quota in time; a larger one is refused. For no limit use kNoBudget.
/// Reached: refused with InvalidArgument. Figure: none: the message says it. Test: `BudgetedFrames.WhatCannotBeIsRefused`.
inline constexpr Duration kBudgetMost = 3600s;

/// A quota of items or microseconds; a larger one is refused.
/// Reached: refused with InvalidArgument. Figure: none: the message says it. Test: `Description.EachOptionIsTakenInItsRangeAndNowhereElse`.
inline constexpr std::uint32_t kQuotaMost = 1'000'000'000;

/// The weight of a source among those of its priority. Shares are not measured more finely than a thousand to one.
/// Reached: a program error: the process stops. Figure: none: the developer sees it. Test:
/// `BudgetedFramesDeathTest.AWeightBeyondTheMostIsAProgramError`.
inline constexpr std::uint32_t kWeightMost = 1000;

/// Timers that one check of a wheel may fire before other sources get a turn. A scheduler has two wheels: Scheduler::bulk_timers().
/// Reached: the rest fire after other sources had a turn. Figure: `stats.scheduler.timer_bursts`. Test:
/// `Scheduler.MoreTimersThanOneLookFiresAreLeftForTheNextAndCounted`, `Scheduler.ABurstOfBulkTimersIsCutAndHoldsUpNoOther`.
inline constexpr std::uint32_t kTimersPerTurn = 256;

// --- Executors

/// Operations of an executor in flight; at this number has_room() is false and its users pause. A few batches keep a target busy.
/// Reached: `has_room()` returns false; its users hold their consumers. Figure: `ExecutorStats::full`. Test:
/// `ExecutorTest.TheRoomWithoutAnOptionIsThatOfTheLimit`, `ExecutorTest.TheRoomEndsAtItsOptionAndItsReturnIsTold`.
inline constexpr std::size_t kExecutorOperations = 8192;

/// Operations of one apply() of an executor. The next batch begins after them, so urgent operations wait for them.
/// Reached: the next batch begins. Figure: `ExecutorStats::full_batches`. Test:
/// `ExecutorTest.ABatchWithoutAnOptionIsNotLargerThanTheLimit`.
inline constexpr std::size_t kExecutorBatch = 256;

/// Lanes of an executor: a choice among more has no meaning.
/// Reached: a program error: the process stops. Figure: none: the developer sees it. Test:
/// `ExecutorDeathTest.OptionsThatCannotBeAreProgramErrors`.
inline constexpr std::size_t kExecutorLanes = 16;

/// Threads of an executor: more of them mostly wait for each other.
/// Reached: a program error: the process stops. Figure: none: the developer sees it. Test:
/// `ExecutorDeathTest.OptionsThatCannotBeAreProgramErrors`.
inline constexpr unsigned kExecutorThreads = 64;

/// Threads of Runtime::run_elsewhere: few works block at the same time, and each thread costs a stack.
/// Reached: works wait for a thread. Figure: none: works wait. Test: `ElsewhereWorker.AsManyWorksAsThreadsRunSideBySide`.
inline constexpr unsigned kElsewhereThreads = 2;

/// Works of Runtime::run_elsewhere that wait for a thread, run, or whose results wait for a turn; further ones are refused with
/// ResourceExhausted, because they would be answered too late.
/// Reached: `run_elsewhere()` returns ResourceExhausted. Figure: none: the caller gets the error. Test:
/// `ElsewhereWorker.OneWorkMoreThanTheLimitIsRefused`.
inline constexpr std::size_t kElsewhereTasks = 1024;

// --- Tables

/// Longest key, table or field name, in bytes. Longer input is refused with InvalidArgument. Lengths of names are 16 bits on the wire.
/// Reached: InvalidArgument. Figure: `stats.admin.bulk_rows_refused`, `stats.admin.failed_requests`. Test:
/// `CheckRecord.AcceptsTheLimitsAndNamesWhatIsBeyond`.
inline constexpr std::size_t kNameBytes = 64 * 1024;

/// Largest single value in bytes; SONiC's peers carry values of several MiB.
/// Reached: InvalidArgument. Figure: `stats.admin.bulk_rows_refused`, `stats.admin.failed_requests`. Test:
/// `AnyStoreContract.SizesBeyondTheLimitsAreRefusedAtOnceAndNamed`.
inline constexpr std::size_t kValueBytes = 64 * 1024 * 1024;

/// One whole record: enough for a few of the largest values. Larger ones are refused with InvalidArgument.
/// Reached: InvalidArgument. Figure: `stats.admin.bulk_rows_refused`, `stats.admin.failed_requests`. Test:
/// `CheckRecord.AcceptsTheLimitsAndNamesWhatIsBeyond`.
inline constexpr std::size_t kRecordBytes = 4 * kValueBytes;

/// Fields of one change. A row with more is a table.
/// Reached: InvalidArgument. Figure: `stats.admin.bulk_rows_refused`, `stats.admin.failed_requests`. Test:
/// `CheckRecord.AcceptsTheLimitsAndNamesWhatIsBeyond`.
inline constexpr std::size_t kFields = 65536;

/// Rows of one embedded table; a Set of a new key beyond it is refused with ResourceExhausted. Row numbers have 32 bits.
/// Reached: ResourceExhausted. Figure: `stats.admin.bulk_rows_refused`, `stats.admin.failed_requests`. Test:
/// `TableRules.ASpecMayAskForTheLimitOfRowsAndNotOneMore`, `FullTables.RowsBeyondThoseOfATableAreRefusedAndCounted`.
inline constexpr std::size_t kTableRows = 16'000'000;

/// Entries that wait in one Channel or Queue subscription. Beyond it a Channel drops the newest, counts it and reports a gap; a Queue
/// refuses the write. That is some seconds of a storm.
/// Reached: a Channel drops the newest and reports a gap; a Queue returns ResourceExhausted. Figure: `sources.rows.turned_away`,
/// `stats.admin.bulk_rows_refused`. Test: `FullTables.AQueueHoldsTheLimitOfEntriesAndNotOneMoreLarge`,
/// `ListenerTest.LostEventsAreToldAsAGapInOrder`.
inline constexpr std::size_t kQueuedEvents = 1'000'000;

/// Tables of one store; the next declare() is refused with ResourceExhausted. A program declares some dozens.
/// Reached: ResourceExhausted. Figure: none: the caller of declare() gets the error; rondod declares at start. Test:
/// `AnyStoreContract.HasALimitOnItsTables`.
inline constexpr std::size_t kTables = 4096;

/// Writes of one TableView in flight: enough to keep a remote store busy, few compared with what it accepts. Then the view waits for
/// answers.
/// Reached: the view waits for answers. Figure: `ViewTotals::full_windows`. Test: `Views.HasNoMoreWritesUnderWayThanTheLimit`.
inline constexpr std::size_t kViewWrites = 1024;

/// Attempts in a row for a change that a full store refuses, in a TableView and in the copy of a direct table. A full table may get room; a
/// change that is too large never fits. After that apply() ends with ResourceExhausted; the copy leaves the change out and counts it.
/// Reached: a view's `apply()` ends with ResourceExhausted; the copy of a direct table leaves the change out. Figure:
/// `stats.direct.left_out`; of a view: its status. Test: `Views.GivesUpOnATableThatStaysFullAndKeepsTheView`,
/// `ZmqStores.ARowThatTheStoreNeverTakesIsLeftOutCountedAndHoldsUpNothing`.
inline constexpr unsigned kFullStoreTries = 20;

// --- Workers

/// Changes of one subscription in the ring to a worker, 16 bytes each. While it is full, the rest waits in the table, where changes merge.
/// Enough for half a second of handlers of 100 us, and few enough to be handled before a worker stops.
/// Reached: the rest stays in the table, merged. Figure: `WorkerStats::full_rings`. Test:
/// `BridgeStoreTest.FullRingLeavesTheRestInTheTableWhereItMerges`.
inline constexpr std::size_t kWorkerRing = 4096;

/// Writes and questions of a worker that wait for the home store, and their pending answers; further ones are refused with
/// ResourceExhausted.
/// Reached: ResourceExhausted. Figure: `WorkerStats::refused_requests`. Test:
/// `WorkerThreads.WritesBeyondTheWayHomeAreRefusedAndTheOthersKeepTheirOrder`.
inline constexpr std::size_t kWorkerRequests = 4096;

/// How long a worker waits for a turn of the home thread when it declares or subscribes; then DeadlineExceeded. A home thread that takes
/// longer is stuck.
/// Reached: DeadlineExceeded. Figure: `WorkerStats::late_calls`. Test:
/// `BridgeStoreTest.CallForWhichHomeHasNoTurnEndsIsCountedAndIsNotMadeLater`.
inline constexpr Duration kWorkerCallWait = 5000ms;

/// How long the home thread waits for a worker's answer to an introspection call; then the answer says that the worker is busy.
/// Reached: "the worker is busy". Figure: `WorkerStats::unanswered`. Test: `WorkerThreads.HomeAsksARunningWorkerAndDoesNotWaitForABusyOne`.
inline constexpr Duration kWorkerAskWait = 3ms;

/// How long a stopping worker handles its remaining changes; then the rest is dropped and counted. A process should end within a second.
/// Reached: the rest is dropped and counted. Figure: `WorkerStats::untaken`. Test:
/// `WorkerThreads.WhatAWorkerHasNoTimeForAtItsEndIsGivenUpAndCounted`.
inline constexpr Duration kWorkerDrain = 800ms;

/// Facts of other threads that are remembered although no row waits for them. Beyond it the one idle longest is dropped, and queried again
/// if needed.
/// Reached: the fact that was idle longest is dropped, and queried again when needed. Figure: `WorkerStats::facts_forgotten`. Test:
/// `WorkerSharedFacts.FactsBeyondTheLimitAreForgottenAndAskedForAnewButNotThoseWaitedFor`.
inline constexpr std::size_t kBoardFacts = 262'144;

// --- Rows that wait

/// Rows of one consumer with an unsettled change. At this number the consumer takes no more changes until rows are settled. 32-bit indexes
/// allow more.
/// Reached: the consumer stops taking. Figure: `stats.consumers.full_turns`. Test:
/// `ConsumerTest.AtTheLimitOfItsLedgerAConsumerTakesNoMore`.
inline constexpr std::size_t kLedgerRows = 16'000'000;

/// Facts that one change may wait for at a time; more is a fault of the handler and becomes a reject.
/// Reached: a reject that names the limit. Figure: `stats.consumers.rejected`. Test:
/// `ConsumerTest.WaitingForTooManyFactsIsAFaultOfTheHandler`.
inline constexpr std::size_t kWaitsPerChange = 1024;

/// Rows that `why` follows before it reports that there are more.
/// Reached: the answer says that there are more. Figure: `why.cut_short`. Test: `WhyTest.AnEndlessChainStopsAtTheLimit`.
inline constexpr std::size_t kWhyDepth = 64;

/// Facts that `why` checks: each check calls the provider, and an answer is made in one turn.
/// Reached: the answer says that there are more. Figure: `why.cut_short`. Test: `WhyTest.ALotOfFactsAreNotAllAskedAbout`.
inline constexpr std::size_t kWhyFacts = 1024;

/// How long one `why` waits for workers in total; workers asked after that count as busy.
/// Reached: "the worker is busy". Figure: `why.cut_short`. Test: `SteppedWorker.WhyAsksWorkersForSoLongAltogether`.
inline constexpr Duration kWhyWait = 12ms;

/// Bytes of the reason of a reject or a delay, and of the text of an exception: it is logged, kept for `why`, and read by people.
/// Reached: the rest is replaced by "...". Figure: none: the text ends with "...". Test:
/// `RejectLog.ALongReasonIsCut`.
inline constexpr std::size_t kReasonBytes = 2048;

/// Rejected keys whose reason `why` remembers, for each consumer; beyond it reasons are dropped. They mostly have one cause.
/// Reached: some reasons are dropped; the rows still count as rejected. Figure: `stats.consumers.rejections_forgotten`. Test:
/// `Why.OfTooManyRejectedRowsSomeAreForgottenAndCounted`.
inline constexpr std::size_t kRejectionsKept = 1000;

/// A handler that waits for a fact that holds is called again: immediately (8 times if the fact may just have changed), then after this.
/// Reached: the row is delayed. Figure: `stats.consumers.spurious_waits`. Test:
/// `ConsumerTest.ASpuriousWaitIsAskedAgainOnceAndThenSlowedDown`.
inline constexpr Duration kSpuriousWaitDelay = 100ms;

/// A handler that throws std::bad_alloc is called again after this, because a shortage of memory ends. Reached: the row is delayed, with
/// the reason "out of memory". Figure: `stats.consumers.thrown`. Test: `HandlersTest.AHandlerThatFindsNoMemoryIsCalledAgainLater`.
inline constexpr Duration kMemoryRetry = 1s;

/// Period of the sweep over every fact that rows wait for or depend on. It finds a fact that its Orch forgot to announce or to withdraw.
/// With 60,000 facts each forgotten one is found within a second, at less than 2 % of a processor. More facts take longer in proportion.
/// Reached: the next pass begins. Figure: `ForgottenFacts::announcements`. Test:
/// `ForgottenFactsTest.ARowIsHandledWithinASecondOfAnAnnouncementThatWasForgotten`.
inline constexpr Duration kFactSweepPeriod = 300ms;

}  // namespace rondo::limits
