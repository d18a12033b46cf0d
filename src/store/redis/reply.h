// Reply: what Redis answered, as a tree of small nodes in an arena that is used again for the next one. ReplyReader feeds hiredis' parser
// (RESP2) and builds them without an allocation a node. One thread.
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
  /// Of Text, State and Error; else empty.
  std::string_view text() const noexcept { return text_ == nullptr ? std::string_view{} : std::string_view{text_, size_}; }
  /// Of Integer; else 0.
  std::int64_t integer() const noexcept { return number_; }
  /// Of List; else empty.
  std::span<const Reply> items() const noexcept { return {items_, kind_ == Kind::List ? size_ : 0}; }

 private:
  friend class ReplyReader;
  const char* text_ = nullptr;
  Reply* items_ = nullptr;
  std::int64_t number_ = 0;
  std::size_t size_ = 0;
  Kind kind_ = Kind::Nil;
};

/// What an error reply means for the caller: READONLY, LOADING, MASTERDOWN, BUSY, CLUSTERDOWN and TRYAGAIN are Unavailable, OOM is
/// ResourceExhausted, NOAUTH, NOPERM and WRONGPASS are PermissionDenied, WRONGTYPE is FailedPrecondition, the rest is Internal. The same
/// for a script that failed so.
Status status_of(const Reply& error, std::string_view what);
/// Too few replicas are in step (min-replicas-to-write): the server refuses writes until they are, and another connection changes nothing.
bool lacks_replicas(const Status& status);

class ReplyReader {
 public:
  ReplyReader();
  ~ReplyReader();
  ReplyReader(const ReplyReader&) = delete;
  ReplyReader& operator=(const ReplyReader&) = delete;

  void feed(std::string_view bytes);
  /// The next whole reply, nullptr if there is none yet, or DataLoss when the stream is not RESP, or has a list of more than
  /// limits::kRedisListItems.
  Result<const Reply*> next();
  /// Forgets everything: for a new connection.
  void reset();

 private:
  struct Arena;
  struct Functions;
  std::unique_ptr<Arena> arena_;
  redisReader* reader_ = nullptr;
};

}  // namespace rondo::redis
