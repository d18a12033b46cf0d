// Limits of tables on a Redis. rondo/base/limits.h says how to read them.
#pragma once

#include <cstddef>

#include "rondo/base/limits.h"
#include "rondo/base/time.h"

namespace rondo::limits {

// --- Tables on a Redis

/// Writes accepted and not yet answered by one Redis; further ones are refused with ResourceExhausted. About a second's work of a busy
/// server; a longer queue would only delay the writes.
/// Reached: ResourceExhausted, or Unavailable without connection. Figure: `stats.admin.bulk_rows_refused`, `stats.admin.failed_requests`.
/// Test: `RedisBounds.WritesThatWaitForTheirAnswersHaveALimitInNumberAndInBytes`.
inline constexpr std::size_t kRedisWrites = 100'000;

/// The bytes of these writes.
/// Reached: ResourceExhausted, or Unavailable without connection. Figure: `stats.admin.bulk_rows_refused`, `stats.admin.failed_requests`.
/// Test: `RedisBounds.WritesThatWaitForTheirAnswersHaveALimitInNumberAndInBytes`.
inline constexpr std::size_t kRedisWriteBytes = std::size_t{256} * 1024 * 1024;

/// Items of one list in a reply of Redis. Memory is reserved as soon as the server announces the number, so this prevents a reply from
/// exhausting it. The largest reply that we request is a row, with two items a field: at kFields that is 32 times less.
/// Reached: the connection is closed, with the reason, and opened again. Figure: none: the log and the health of the store name the reason.
/// Test: `RedisReply.AListBeyondTheLimitIsRefusedAndOneAtTheLimitTakesNoMemoryBeforeItComes`.
inline constexpr int kRedisListItems = 4'194'304;

/// Bytes of one item in a reply of Redis that are read whole: the largest value of a field. Redis permits larger values, up to
/// 512 MiB: at most 100 MB of one are kept until it is complete, and its row is rejected. An event of a channel or an entry of a queue is
/// one item as well: one whose JSON is larger is refused with InvalidArgument when it is written. Reached: the row, the event or the entry
/// is rejected. Figure: `stats.consumers.rejected`. Test: `LargeReply.InPlaceOfAnItemBeyondTheLimitIsATextBeyondIt`.
inline constexpr std::size_t kRedisItemBytes = kValueBytes + std::size_t{64} * 1024;

/// Bytes of the items of one reply: two of the largest rows. A pop of many rows as large needs a smaller number of keys (pop_batch).
/// Reached: rows with items beyond it are rejected. Figure: `stats.consumers.rejected`.
/// Test: `LargeReply.ItemsBeyondTheLimitOfAReplyAreTextsBeyondThatOfAValue`.
inline constexpr std::size_t kRedisReplyBytes = 2 * kRecordBytes;

/// The largest configurable number of keys of one pop: it occupies the server for about 8 ms.
/// Reached: a program error: the process stops. Figure: none: the developer sees it. Test:
/// `RedisBoundsDeathTest.PopOfMoreKeysThanTheLimitIsAProgramError`.
inline constexpr std::size_t kRedisPopKeys = 1024;

/// Replicas that a write may wait for: the connection does nothing else meanwhile.
/// Reached: the configuration is refused. Figure: none: the program ends with the error. Test: `Config.ReplicasAreForTablesOnARedis`.
inline constexpr unsigned kRedisReplicas = 100;

/// The longest configurable wait for replicas: the connection does nothing else meanwhile.
/// Reached: the configuration is refused. Figure: none: the program ends with the error. Test: `Config.ReplicasAreForTablesOnARedis`.
inline constexpr Duration kRedisReplicasWait = 60'000ms;

/// Size of one database_config.json. SONiC's have a few KiB.
/// Reached: ResourceExhausted. Figure: none: the program ends with the error. Test: `DatabaseConfigFiles.InclusionsAreBounded`.
inline constexpr std::size_t kRedisConfigBytes = 1024 * 1024;

/// Files of a database_config.json with its includes. SONiC has one file for each of up to a hundred namespaces.
/// Reached: ResourceExhausted. Figure: none: the program ends with the error. Test: `DatabaseConfigFiles.InclusionsAreBounded`.
inline constexpr std::size_t kRedisConfigFiles = 1024;

/// Size of a file with the password of a Redis; a larger one is refused.
/// Reached: ResourceExhausted. Figure: none: the program ends with the error. Test: `RedisAddress.APasswordStandsInAFileToo`.
inline constexpr std::size_t kRedisPasswordBytes = 4096;

/// The largest number of a Redis database: the largest that SELECT can parse.
/// Reached: InvalidArgument. Figure: none: the program ends with the error. Test: `RedisAddress.AWrongPartIsNamed`.
inline constexpr unsigned kRedisDatabase = 2'147'483'647;

/// Sentinels in one address. They are asked one after the other; a much longer list is an error.
/// Reached: InvalidArgument. Figure: none: the program ends with the error. Test: `RedisAddress.SentinelsAndTheirMaster`.
inline constexpr std::size_t kRedisSentinels = 64;

}  // namespace rondo::limits
