// Limits of `rondo worker`. rondo/base/limits.h says how to read them.
#pragma once

#include <cstddef>

#include "rondo/base/time.h"

namespace rondo::limits {

// --- rondo worker

/// Bytes of the file of the configuration. A device may have no end.
/// Reached: the configuration is refused. Figure: none: the program ends with the error. Test:
/// `WorkerConfigFile.AFileWithoutEndAndADeviceAreRefused`.
inline constexpr std::size_t kWorkerConfigBytes = 16 * 1024 * 1024;

/// Bytes of a command line with its values. The kernel takes at most 128 KiB in one argument.
/// Reached: the run fails with InvalidArgument. Figure: none: the run has the reason. Test:
/// `WorkerCommandLine.AValueBeyondItsLimitIsRefused`.
inline constexpr std::size_t kCommandLineBytes = 100'000;

/// Bytes of the name of a job in an order: as many as a job's name has.
/// Reached: the worker leaves the server, which is broken, and connects again. Figure: none: the worker's log says so. Test:
/// `WorkerAndAHostileServer.NonsenseEndsTheConnection`.
inline constexpr std::size_t kOrderJobName = 200;

/// Bytes of the key of a run in an order. It is a part of the names of files.
/// Reached: the worker leaves the server, which is broken, and connects again. Figure: none: the worker's log says so. Test:
/// `WorkerAndAHostileServer.NonsenseEndsTheConnection`.
inline constexpr std::size_t kRunKey = 32;

/// Bytes of one line of output in which the worker looks for progress and results. The log has lines of any length.
/// Reached: the rest of the line is not looked at. Figure: none: the log has the line. Test: `OutputLines.ALongLineIsReadToItsLimit`.
inline constexpr std::size_t kOutputLine = 4'096;

/// Bytes of output of one run that are handled before the other runs have their turn.
/// Reached: the rest follows in the next round. Figure: none: nothing is lost. Test:
/// `WorkerOnLinux.ACommandThatPrintsGigabytesLeavesABoundedLog`.
inline constexpr std::size_t kOutputSlice = 262'144;

/// Runs that the worker names to a server before their ends are taken: as many as a server takes.
/// Reached: the others are named in later reports. Figure: none: nothing is lost. Test:
/// `WorkerAndAHostileServer.MoreEndsThanAServerTakesAtATimeAreNamedInPieces`.
inline constexpr std::size_t kNamedRuns = 256;

/// Events of one report.
/// Reached: the others follow in the next report. Figure: none: nothing is lost. Test: `WorkerEvents.AReportIsBoundedAndTheRestFollows`.
inline constexpr std::size_t kReportEvents = 200;

/// Bytes of one report, below the largest request of an admin socket.
/// Reached: the others follow in the next report. Figure: none: nothing is lost. Test: `WorkerEvents.AReportIsBoundedAndTheRestFollows`.
inline constexpr std::size_t kReportBytes = 131'072;

/// Bytes of the record of a run in the folder runs/ of the worker's state.
/// Reached: the worker does not read the file at its start, and renames it. Figure: none: the worker's log says so. Test:
/// `WorkerFiles.WhatIsNoRecordIsRenamedAndNeverBlocksTheStart`.
inline constexpr std::size_t kRunRecordBytes = 65'536;

/// Files of the log of one run: each attempt has one, also without retries left, and long output a few more.
/// Reached: the oldest are removed. Figure: none: the reader of the log hears how many bytes of which attempts are not kept. Test:
/// `WorkerFiles.ALogHasALimitOfFiles`.
inline constexpr std::size_t kLogFiles = 256;

/// Questions of a server about logs that wait for an answer.
/// Reached: the worker leaves the server, which is broken, and connects again. Figure: none: the worker's log says so. Test:
/// `WorkerAndAHostileServer.AFloodOfQuestionsEndsTheConnection`.
inline constexpr std::size_t kLogQuestions = 64;

/// Answers to checks of parameters that wait for the next report.
/// Reached: the worker leaves the server, which is broken, and connects again. Figure: none: the worker's log says so. Test:
/// `WorkerAndAHostileServer.AFloodOfChecksEndsTheConnection`.
inline constexpr std::size_t kCheckAnswers = 64;

/// Time for which a question about a log waits for more output.
/// Reached: the answer has no data. Figure: none: the reader asks again. Test: `WorkerOnLinux.ALogIsFollowedWhileItsCommandRuns`.
inline constexpr Duration kLogQuestionWait = 10s;

/// Servers of one worker.
/// Reached: the configuration is refused. Figure: none: the program ends with the error. Test: `WorkerConfig.SeveralServersAreAList`.
inline constexpr std::size_t kServers = 16;

/// The longest pause between two attempts to connect.
/// Reached: the pause stays. Figure: none: the worker's log says when it is connected. Test: `Link.PausesGrowToTheirLimit`.
inline constexpr Duration kReconnectPause = 10s;

}  // namespace rondo::limits
