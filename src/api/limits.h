// Limits of the API over HTTP. rondo/base/limits.h says how to read them.
#pragma once

#include <cstddef>

#include "rondo/base/time.h"

namespace rondo::limits {

// --- API over HTTP

/// Tokens of the API.
/// Reached: `token-add` gets ResourceExhausted. Figure: none: the list of tokens shows them. Test: `ApiTokens.NoMoreThanTheLimitAreMade`.
inline constexpr std::size_t kApiTokens = 256;

/// Bytes of an answer that a call gets as one JSON object: the daemon's frames are joined in memory.
/// Reached: 413 with the advice to ask for events, whose number has no limit. Figure: none: the caller gets the error. Test:
/// `Api.AnAnswerAboveTheLimitIsRefusedAndItsEventsAreNot`.
inline constexpr std::size_t kApiAnswerBytes = std::size_t{8} * 1024 * 1024;

/// Sessions of browsers.
/// Reached: of the token with the most, the one that was unused for the longest time ends. Figure: none: its user signs in again. Test:
/// `Sessions.TheOneUnusedForTheLongestTimeGivesWay`.
inline constexpr std::size_t kApiSessions = 256;

/// How long a session may be unused.
/// Reached: it ends. Figure: none: its user signs in again. Test: `Sessions.OneEndsWithoutCallsAndInAnyCaseAfterAWeek`.
inline constexpr Duration kApiSessionIdle = 12h;

/// How long a session may exist.
/// Reached: it ends, with its streams. Figure: none: its user signs in again. Test: `Sessions.OneEndsWithoutCallsAndInAnyCaseAfterAWeek`.
inline constexpr Duration kApiSessionTime = 7 * 24h;

/// Streams of events of one session: pages that were left open must not take all places of the daemon.
/// Reached: ResourceExhausted (429). Figure: none: the caller gets the error. Test: `Sessions.APlaceIsFreeAgainWhenItsCallHasEnded`.
inline constexpr std::size_t kApiSessionStreams = 4;

/// Other calls of one session that are under way.
/// Reached: ResourceExhausted (429). Figure: none: the caller gets the error. Test: `Sessions.APlaceIsFreeAgainWhenItsCallHasEnded`.
inline constexpr std::size_t kApiSessionCalls = 16;
/// Label sets of each metric of `/metrics`. rondod has some 80 sources and 20 tables, and a switch has up to some hundred ports.
/// Reached: further label sets are left out. Figure: none: a metric counts them, rondo_metrics_series_dropped_total. Test:
/// `Exposition.LabelSetsAboveTheLimitAreDroppedAndCounted`.
inline constexpr std::size_t kMetricLabelSets = 500;

/// Bytes of a label's value in `/metrics`.
/// Reached: the rest is replaced by "...". Values that begin alike become one series with the sum. Figure: none: the value shows it. Test:
/// `Exposition.ALongValueIsCut`.
inline constexpr std::size_t kMetricLabelBytes = 200;

/// Facts that a scrape of `/metrics` reads of those that rows wait for.
/// Reached: further facts are not in rondo_parked_rows. Figure: `stats.facts.awaited`. Test:
/// `MetricsReader.MoreFactsThanTheLimitEndTheScrape`.
inline constexpr std::size_t kMetricFacts = 10'000;

/// Scrapes of `/metrics` that are under way. Each has a place of the admin socket, and callers without a token may cause them.
/// Reached: 503. Figure: none: the caller gets the error. Test: `Metrics.MoreScrapesThanTheLimitAreRefused`.
inline constexpr int kMetricScrapes = 4;

/// How old an answer of `/metrics` may be that callers without a token share; twice as old while a scrape is under way. So callers that ask
/// all the time cost a scrape a second, and none of them keeps another from an answer.
/// Reached: a scrape. Figure: none: the process time in the answer shows it. Test: `Metrics.CallersWithoutATokenShareAnAnswer`.
inline constexpr Duration kMetricsShared = 1s;

/// How long the daemon may take to answer a scrape: the usual patience of Prometheus.
/// Reached: 504. Figure: none: the caller gets the error. Test: `Metrics.ADaemonThatDoesNotAnswerIs504`.
inline constexpr Duration kMetricsTime = 10s;

/// How long the scheduler's thread may take to answer `/healthz` and `/readyz`. A turn takes a millisecond.
/// Reached: 503. Figure: none: the caller gets the error. Test: `ProbesTest.ADaemonThatTakesNoTurnIs503`.
inline constexpr Duration kProbeTime = 5s;

/// How long a client of `--url` may take to connect: the name, TCP, TLS and the upgrade.
/// Reached: Unavailable. Figure: none: the caller gets the error. Test: `Dial.AServerThatDoesNotAnswerIsLeft`.
inline constexpr Duration kDialTime = 10s;

}  // namespace rondo::limits
