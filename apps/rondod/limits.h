// Limits of rondod and of its configuration. rondo/base/limits.h says how to read them.
#pragma once

#include <cstddef>

#include "rondo/base/time.h"

namespace rondo::limits {

// --- rondod

/// The longest turn time that may be configured: a longer turn delays every other source.
/// Reached: the configuration is refused. Figure: none: the program ends with the error. Test:
/// `Description.EachOptionIsTakenInItsRangeAndNowhereElse`.
inline constexpr Duration kTurnTimeMost = 1s;

/// The longest configurable time after which a turn counts as stuck: later reports help no operator.
/// Reached: the configuration is refused. Figure: none: the program ends with the error. Test:
/// `Description.EachOptionIsTakenInItsRangeAndNowhereElse`.
inline constexpr Duration kStallMost = 3600s;

/// Memory that a program may be configured to touch at its start, in MiB. More than a TiB is a mistake in the unit.
/// Reached: the configuration is refused. Figure: none: the program ends with the error. Test:
/// `Description.EachOptionIsTakenInItsRangeAndNowhereElse`.
inline constexpr unsigned kReserveMibMost = 1024 * 1024;

/// Bytes of the file of the configuration: a thousand times the example. A device may have no end.
/// Reached: the configuration is refused. Figure: none: the program ends with the error. Test:
/// `Config.AFileWithoutEndAndADeviceAreRefused`.
inline constexpr std::size_t kConfigBytes = 16 * 1024 * 1024;

/// The longest configurable time, in seconds, for which unwanted objects stay in the kernel after a restart. Routes that no row requests
/// must end some day.
/// Reached: the configuration is refused. Figure: none: the program ends with the error. Test:
/// `Description.EachOptionIsTakenInItsRangeAndNowhereElse`.
inline constexpr unsigned kRestartHold = 3600;

/// Jobs whose last run has failed, and whose failures in a row are counted for `health`. One costs its name and the words of its last
/// failure.
/// Reached: a further job is not counted until another one succeeds, is stopped or is removed. Figure: none: each failed run is in the log,
/// and `stats.jobs.failed` counts all. Test: `FailingJobs.AreBounded`.
inline constexpr std::size_t kFailingJobs = 1024;

/// Lost parts of a store's file that `stats` lists; it counts all, and the log lists all.
/// Reached: the rest is counted and not listed. Figure: `stats.store.files.damage_parts`. Test:
/// `RondodOnFile.OfManyDamagedPartsSomeAreNamedAndAllAreCounted`.
inline constexpr std::size_t kDamageShown = 16;

// --- Notifications

/// Sections [[notify]]: each run of a job is compared with all of them.
/// Reached: the configuration is refused. Figure: none: the program ends with the error. Test: `Notify.SectionsAreChecked`.
inline constexpr std::size_t kNotifyTargets = 32;

/// The longest time, in seconds, after which a run may count as late: a week.
/// Reached: the configuration is refused. Figure: none: the program ends with the error. Test:
/// `Description.EachOptionIsTakenInItsRangeAndNowhereElse`.
inline constexpr unsigned kNotifyLate = 7 * 24 * 3600;

/// Bytes of the pattern of names of jobs of a section [[notify]], so that a comparison takes a bounded time.
/// Reached: the configuration is refused. Figure: none: the program ends with the error. Test: `Notify.SectionsAreChecked`.
inline constexpr std::size_t kNotifyPattern = 200;

/// Notifications that wait for their targets; each takes some kilobytes.
/// Reached: the oldest one is dropped. Figure: `stats.notify.dropped`. Test: `Outbox.TheOldestIsDroppedAtTheLimit`.
inline constexpr std::size_t kNotices = 1'000;

/// Jobs that fail, or were told of within a minute, of one section [[notify]].
/// Reached: events of further jobs are not told. Figure: `stats.notify.dropped`. Test: `NoticeRules.JobsAreBounded`.
inline constexpr std::size_t kNotifyJobs = 10'000;

// --- Journal

/// The largest configurable size of one journal file, in MiB: a TiB.
/// Reached: the configuration is refused. Figure: none: the program ends with the error. Test:
/// `Description.EachOptionIsTakenInItsRangeAndNowhereElse`.
inline constexpr unsigned kJournalFileMib = 1024 * 1024;

/// The largest configurable number of journal files: a folder of this size is quickly searched.
/// Reached: the configuration is refused. Figure: none: the program ends with the error. Test:
/// `Description.EachOptionIsTakenInItsRangeAndNowhereElse`.
inline constexpr unsigned kJournalFiles = 1000;

}  // namespace rondo::limits
