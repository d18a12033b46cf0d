// Reply: an answer of Redis as a tree of small nodes in an arena that is reused for the next answer. ReplyReader feeds hiredis' parser
// (RESP2) and builds the nodes without an allocation for each. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "rondo/base/result.h"

struct redisReader;

namespace rondo::redis {

/// Views into the reader's arena; valid until the reader's next next().
class Reply {
 public:
  enum class Kind : std::uint8_t { Nil, Text, State, Error, Integer, List };

  Kind kind() const noexcept { return kind_; }
  bool is_error() const noexcept { return kind_ == Kind::Error; }
  bool is_nil() const noexcept { return kind_ == Kind::Nil; }
  /// The text of Text, State and Error; otherwise empty.
  std::string_view text() const noexcept { return text_ == nullptr ? std::string_view{} : std::string_view{text_, size_}; }
  /// The value of Integer; otherwise 0.
  std::int64_t integer() const noexcept { return number_; }
  /// The items of List; otherwise empty.
  std::span<const Reply> items() const noexcept { return {items_, kind_ == Kind::List ? size_ : 0}; }

 private:
  friend class ReplyReader;
  const char* text_ = nullptr;
  Reply* items_ = nullptr;
  std::int64_t number_ = 0;
  std::size_t size_ = 0;
  Kind kind_ = Kind::Nil;
};

/// Converts an error reply to a Status:
/// - Unavailable: READONLY, LOADING, MASTERDOWN, BUSY, CLUSTERDOWN, TRYAGAIN
/// - ResourceExhausted: OOM
/// - PermissionDenied: NOAUTH, NOPERM, WRONGPASS
/// - FailedPrecondition: WRONGTYPE
/// - Internal: all others
/// The same holds for a script that failed with such an error.
Status status_of(const Reply& error, std::string_view what);
/// True if too few replicas are in sync (min-replicas-to-write). The server then refuses writes until they are, and a reconnect does not
/// help.
bool lacks_replicas(const Status& status);

class ReplyReader {
 public:
  ReplyReader();
  ~ReplyReader();
  ReplyReader(const ReplyReader&) = delete;
  ReplyReader& operator=(const ReplyReader&) = delete;

  void feed(std::string_view bytes);
  /// The next whole reply, or nullptr if there is none yet. DataLoss when the stream is not RESP, or has a list of more than
  /// limits::kRedisListItems. In place of an item of more than limits::kRedisItemBytes, and of those beyond limits::kRedisReplyBytes of one
  /// reply, it has a text of unspecified content that is larger than a value may be.
  Result<const Reply*> next();
  /// Clears all state for a new connection.
  void reset();

 private:
  struct Arena;
  struct Functions;
  Result<const Reply*> check_room() const;
  void shorten_item();
  std::unique_ptr<Arena> arena_;
  redisReader* reader_ = nullptr;
  // Of an item that shorten_item() has made smaller.
  std::size_t passed_ = 0;   // Bytes still to pass to hiredis.
  std::size_t skipped_ = 0;  // Bytes still to skip after these.
};

}  // namespace rondo::redis
