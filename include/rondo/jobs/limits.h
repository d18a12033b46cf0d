// Limits of jobs and of their runs. rondo/base/limits.h says how to read them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "rondo/base/time.h"

namespace rondo::limits {

// --- Jobs

/// Bytes of the name of a job, which people type.
/// Reached: `check()` returns InvalidArgument with the field. Figure: none: the caller gets the error. Test:
/// `JobCheck.AcceptsTheLimitsAndRefusesMore`.
inline constexpr std::size_t kJobName = 200;

/// Bytes of the parameters of a job, which are in each read of its row.
/// Reached: `check()` returns InvalidArgument with the field. Figure: none: the caller gets the error. Test:
/// `JobCheck.AcceptsTheLimitsAndRefusesMore`.
inline constexpr std::size_t kJobParameters = 65'536;

/// Runs of one job at the same time: by default the pools have fewer threads.
/// Reached: `check()` returns InvalidArgument with the field. Figure: none: the caller gets the error. Test:
/// `JobCheck.AcceptsTheLimitsAndRefusesMore`.
inline constexpr std::uint32_t kJobConcurrency = 64;

/// Parents of a job: `why` shows all of them.
/// Reached: `check()` returns InvalidArgument with the field. Figure: none: the caller gets the error. Test:
/// `JobCheck.AcceptsTheLimitsAndRefusesMore`.
inline constexpr std::size_t kJobParents = 16;

/// Jobs below one root, which one transaction plans together.
/// Reached: `Jobs::put()` returns InvalidArgument. Figure: none: the caller gets the error. Test:
/// `FamilyTest.ARootHasTheLimitOfJobsBelowIt`.
inline constexpr std::size_t kJobsOfFamily = 200;

/// Jobs that one call stores, in one transaction: planning waits for its end.
/// Reached: `Jobs::put_all()` returns InvalidArgument. Figure: none: the caller gets the error. Test:
/// `PutAllTest.MoreJobsThanTheLimitAreRefused`.
inline constexpr std::size_t kJobsOfPut = 500;

/// Time of the checks of parameters of one call, which checks one job after the other. A single check may end later than this.
/// Reached: no further check begins, and the other jobs are stored unchecked. Figure: none: `StoredJob::unchecked` says so. Test:
/// `ParameterChecksTest.NoCheckBeginsAfterTheTimeOfTheCall`.
inline constexpr Duration kParameterChecks = 2s;

/// Bytes of the jobs of one answer of `Jobs::list()`: many callers may wait for theirs at the same time. The last job may exceed it.
/// Reached: the answer ends with this job, and the caller asks for those behind it. Figure: none: Jobs::is_last_page() says so. Test:
/// `PutAllTest.APageOfLargeJobsEndsAtItsLimitOfBytes`.
inline constexpr std::size_t kJobsPageBytes = std::size_t{1024} * 1024;

/// Tags of a job: each list of jobs has all of them.
/// Reached: `check()` returns InvalidArgument with the field. Figure: none: the caller gets the error. Test:
/// `JobCheck.AcceptsTheLimitsAndRefusesMore`.
inline constexpr std::size_t kJobTags = 64;

/// Facts that a job requires: `why` shows all of them.
/// Reached: `check()` returns InvalidArgument with the field. Figure: none: the caller gets the error. Test:
/// `JobCheck.AcceptsTheLimitsAndRefusesMore`.
inline constexpr std::size_t kJobFacts = 16;

/// Attempts after the first one: what fails so often fails for another reason.
/// Reached: `check()` returns InvalidArgument with the field. Figure: none: the caller gets the error. Test:
/// `JobCheck.AcceptsTheLimitsAndRefusesMore`.
inline constexpr std::uint32_t kJobRetries = 100;

/// The longest wait before a retry. The wait doubles with each attempt; without a limit the later attempts would be days apart.
/// Reached: the next attempt follows after this time. Figure: none: the run has its due time. Test:
/// `JobsTest.TheWaitBeforeARetryHasALimit`.
inline constexpr Duration kJobBackoff = 3600s;

/// Bytes of the note of a run, which people read in a list.
/// Reached: the rest of the note is cut off. Figure: none: the note has this length. Test: `JobStoreContract.ALongNoteOfARunIsCut`.
inline constexpr std::size_t kRunNote = 1024;

/// Runs without a stored end: each takes some hundred bytes of memory.
/// Reached: no more are planned until some have ended, and trigger() returns ResourceExhausted; instants that are missed follow the job's
/// misfire rule. Figure: none: health() says so. Test: `JobsTest.AtTheLimitOfLiveRunsNoMoreArePlanned`.
inline constexpr std::size_t kLiveRuns = 100'000;

/// Runs that ended last, of which `rondo why` says when and how they ended.
/// Reached: the oldest is forgotten, and `rondo why` refers to `rondo job runs`. Figure: none: the store keeps the run. Test:
/// `ActivityTest.WhySaysHowARunEnded`.
inline constexpr std::size_t kEndedRuns = 256;

/// Attempts of one run of which `job-runs` has the times.
/// Reached: the oldest is forgotten. Figure: none: the row of a run has the number of its attempts. Test:
/// `JobCommands.TheAttemptsOfARunAreShown`.
inline constexpr std::size_t kAttemptsShown = 20;

/// Runs of one job without a stored end, so that a job whose worker is away does not use up kLiveRuns. Fewer when many runs wait in all: a
/// twentieth of the places that are free.
/// Reached: no more runs of this job, and of those above it, are planned until some have ended; instants that are missed follow the misfire
/// rule; trigger() and backfill() of this job return ResourceExhausted. Figure: none: health() names the job. Test:
/// `JobsTest.OfOneJobNoMoreRunsAreTriggeredThanMayWait`.
inline constexpr std::size_t kLiveRunsOfJob = 2'000;

/// Rows of runs after which a cycle of the planner ends.
/// Reached: another cycle follows immediately. Figure: none: the others are planned a moment later. Test:
/// `SqliteJobStore.ACycleEndsAfterItsLimitOfRows`.
inline constexpr std::size_t kRunsOfCycle = 10'000;

/// Due jobs that one cycle of the planner handles: its transaction stays short, and so does the turn that takes up their runs.
/// Reached: another cycle follows immediately. Figure: none: the others are planned a moment later. Test:
/// `Planner.ACycleHandlesTheLimitOfJobsAndSaysThatMoreAreDue`.
inline constexpr std::size_t kJobsOfCycle = 2'000;

/// Jobs whose next times one transaction computes again after the wall clock was set back or a time zone has changed.
/// Reached: the next transaction continues behind them. Figure: none: they follow a moment later. Test:
/// `Planner.ReplansInPagesAndOnlyWhatIsNotDueYet`.
inline constexpr std::size_t kJobsOfReplan = 1'000;

/// Runs of one job that one cycle plans, so that a frequent job does not delay the others.
/// A root has that many with the jobs below it.
/// Reached: the further instants remain for the next cycle. Figure: none: they are planned a moment later. Test:
/// `PlanTest.AnOutageOfAYearOfAFrequentJobIsBounded`.
inline constexpr std::size_t kRunsOfPlan = 1'000;

/// Missed instants of one job that run at once: after a long outage all of them would delay the other jobs. A root has fewer, by
/// kRunsOfPlan. Reached: the newest ones run, and the first run has the number of the others. `check()` refuses more of them for
/// "fire-last". Figure: none: the first run has the number. Test: `PlanTest.OfAllMissedInstantsTheNewestRunUpToTheLimit`.
inline constexpr std::uint32_t kMisfireRuns = 1'000;

/// Rows of runs that cannot be used and are remembered by their ids.
/// Reached: the further ones are left out, too, and not counted. Figure: none: health() has the number. Test:
/// `SqliteRows.AThousandBadRunsAreCounted`.
inline constexpr std::size_t kUnusableRuns = 1'000;

/// Rows of runs of which one cycle checks the state.
/// Reached: the next cycle checks those behind them, and at the end begins again. Figure: none: each row is checked at some time. Test:
/// `SqliteRows.ARunOfAnImpossibleStateIsFoundThatNobodyLists`.
inline constexpr std::size_t kRunsOfLook = 2'000;

/// Jobs, and rows of runs, that health() and the examination of a database name when they cannot be used.
/// Reached: the further ones are counted. Figure: none: the text has the number. Test: `SqliteRows.SomeBadRowsAreNamedAndAllAreCounted`.
inline constexpr std::size_t kTroublesNamed = 5;

/// Bytes of a stored definition, which is JSON. An answer of the admin socket, which escapes it again, has it in one frame.
/// Reached: `check()` returns InvalidArgument; a stored job with a larger one is shown as damaged and not planned. Figure: none: the caller
/// gets the error, and health() names the job. Test: `SqliteRows.AnOversizedRowIsDamagedAndTheOthersAreListed`.
inline constexpr std::size_t kJobBytes = 400'000;

/// Jobs above one another that the check of a new job follows upward. A family has fewer jobs, so there are more only in a database that
/// another program wrote. Each level takes some hundred bytes of the stack.
/// Reached: `Jobs::put()` returns InvalidArgument. Figure: none: the caller gets the error. Test:
/// `SqliteRows.AnEndlessChainOfParentsIsRefused`.
inline constexpr std::size_t kFamilyDepth = 1'000;

/// Jobs that the check of a new job reads to find its roots. All jobs above and below it have a place in one family, so there are more only
/// in a database that another program wrote.
/// Reached: `Jobs::put()` returns InvalidArgument. Figure: none: the caller gets the error. Test: `SqliteRows.AWideFamilyIsRefused`.
inline constexpr std::size_t kFamilyReads = 5'000;

/// Runs of one backfill, with those of the jobs below: one transaction writes them, and they are due at the same time.
/// Reached: `Jobs::backfill()` returns InvalidArgument. Figure: none: the caller gets the error. Test:
/// `BackfillTest.ARangeWithMoreInstantsThanTheLimitIsRefused`.
inline constexpr std::size_t kBackfillRuns = 1'000;

/// Instants in the range of one backfill, those that have a run included: all of them are computed.
/// Reached: `Jobs::backfill()` returns InvalidArgument. Figure: none: the caller gets the error. Test:
/// `BackfillTest.ARangeWithMoreInstantsThanTheLimitIsRefused`.
inline constexpr std::size_t kBackfillInstants = 10'000;

/// Missed instants of one job that one cycle counts: a frequent job misses billions of them in an outage of a year.
/// Reached: the further ones are skipped and not counted. Figure: none: the run for them has this number. Test:
/// `PlanTest.AnOutageOfAYearOfAFrequentJobIsBounded`.
inline constexpr std::uint64_t kMissedCounted = 10'000;

/// Executors of one group among which a job's route chooses. A consistent hash computes 100 digests for each of them in one turn when one
/// joins or leaves.
/// Reached: the further ones, in the order of their names, get no run. Figure: none: they run nothing. Test:
/// `RouterTest.CandidatesBeyondTheLimitGetNoRun`.
inline constexpr std::size_t kRouteCandidates = 256;

/// Counts and names that the routes of one group keep: a count for each job in turn, and one for each job and executor with the least-used
/// routes. One choice may exceed the limit.
/// Reached: all are cleared at the next choice, as they are every 24 h. Figure: none: the order among the executors begins anew. Test:
/// `RouterTest.AtTheLimitOfCountsAllAreCleared`.
inline constexpr std::size_t kRouteKept = 200'000;

/// The longest jitter of a job. A longer one is a mistake in the unit. That of "every DURATION" is at most its duration.
/// Reached: `check()` returns InvalidArgument with the field; a stored job with a longer one is not planned. Figure: none: the caller gets
/// the error, and health() names the job. Test: `JobCheck.AJitterHasALimit`.
inline constexpr Duration kJitter = 86'400s;

/// Instants of a cron expression within its jitter: all of them could be due at the same time.
/// Reached: as with kJitter. Figure: none: as with kJitter. Test: `JobCheck.AJitterHasALimit`.
inline constexpr std::size_t kJitterInstants = 1'500;

/// Bytes of the handler, the owner, a tag, the note and each text of the schedule of a job.
/// Reached: InvalidArgument. Figure: none: the caller gets the error. Test: `JobCheck.TextsAreUtf8AndHaveALimit`.
inline constexpr std::size_t kJobText = 1000;

/// Compiled schedules that the planner keeps: those of the jobs that were due recently.
/// Reached: all are dropped, and compiled again when their jobs are due. Figure: none: it costs microseconds for each job. Test:
/// `Planner.KeepsTheLimitOfCompiledSchedules`.
inline constexpr std::size_t kCompiledSchedules = 20'000;

/// Runs of one forecast. A job at 10 ms has three thousand million in a year.
/// Reached: the forecast ends there and says so. Figure: none: Forecast::cut_short. Test:
/// `ForecastTest.AForecastOfTooManyRunsIsCutShort`.
inline constexpr std::uint64_t kForecastRuns = 20'000'000;

/// The span of one forecast, ten years: its minutes take four bytes each.
/// Reached: forecast() returns InvalidArgument. Figure: none: the caller gets the error. Test: `ForecastTest.WrongTimesAreRefused`.
inline constexpr Duration kForecastSpan = 316'224'000s;

/// Instants that one answer of `job-load` counts: less than a second in all, a slice a turn.
/// Reached: the answer has cut_short, and does not count the rest. Figure: none: the answer says so. Test:
/// `JobCommands.TheLoadOfTooManyInstantsIsCutShort`.
inline constexpr std::uint64_t kLoadInstants = 200'000;

/// The span of one answer of `job-load`: it has a number for each minute.
/// Reached: InvalidArgument. Figure: none: the caller gets the error. Test: `JobCommands.TheLoadIsCountedByMinute`.
inline constexpr Duration kLoadSpan = 48 * 3600s;

/// Jobs that are named for a peak of a forecast.
/// Reached: the others are not named. Figure: none: the peak has its number of firings. Test: `ForecastTest.PeaksAreNamed`.
inline constexpr std::size_t kPeakJobs = 5;

}  // namespace rondo::limits
