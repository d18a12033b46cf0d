#include "store/redis/reply.h"

#include <hiredis/read.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "rondo/base/assert.h"
#include "rondo/store/redis_limits.h"

namespace rondo::redis {

namespace {
constexpr std::size_t kChunkBytes = 256 * 1024;
/// Chunks kept for the next reply; after a reply of many MiB the rest is freed.
constexpr std::size_t kChunksKept = 4;
/// The least size with nine digits. See shorten_item().
constexpr std::size_t kSmallestOfNineDigits = 100'000'000;
/// The most bytes around an item.
constexpr std::size_t kHeaderBytes = 16;

/// The size of the text in place of one that is too large: larger than any row may have, so that what has it is rejected.
constexpr std::size_t kTooLarge = limits::kValueBytes + 1;

/// The number of bytes that an item has by its header, and the digits of the header, which begins at 'text'. hiredis may have taken its
/// first letter. No digits: it is no text, or the header is not complete, or has more than nine digits, which no server sends.
std::pair<std::size_t, std::string_view> announced(std::string_view text) {
  if (text.starts_with('$')) text.remove_prefix(1);
  const std::size_t end = text.substr(0, kHeaderBytes).find("\r\n");
  if (end == std::string_view::npos || end > 9) return {};
  const std::string_view digits = text.substr(0, end);
  std::size_t size = 0;
  if (std::from_chars(digits.data(), digits.data() + end, size).ptr != digits.data() + end) return {};
  return {size, digits};
}
}  // namespace

/// Memory that is allocated piece by piece and freed all together by reset().
struct ReplyReader::Arena {
  /// Null if allocation fails: an exception must not pass through hiredis, which is C.
  void* allocate(std::size_t bytes) noexcept try {
    bytes = (bytes + 7) & ~std::size_t{7};
    if (current >= chunks.size() || used + bytes > chunks[current].size) {
      if (current < chunks.size()) ++current;
      while (current < chunks.size() && chunks[current].size < bytes) ++current;
      if (current >= chunks.size()) {
        const std::size_t size = std::max(bytes, kChunkBytes);
        chunks.push_back({std::make_unique_for_overwrite<std::byte[]>(size), size});
        current = chunks.size() - 1;
      }
      used = 0;
    }
    void* const place = chunks[current].bytes.get() + used;
    used += bytes;
    return place;
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
  void reset() {
    std::erase_if(chunks, [](const Chunk& chunk) { return chunk.size > kChunkBytes; });
    if (chunks.size() > kChunksKept) chunks.resize(kChunksKept);
    too_large.reset();
    list_refused = 0;
    texts = 0;
    current = used = 0;
  }

  struct Free {
    void operator()(char* text) const noexcept { std::free(text); }
  };
  struct Chunk {
    std::unique_ptr<std::byte[]> bytes;
    std::size_t size;
  };
  std::vector<Chunk> chunks;
  std::unique_ptr<char, Free> too_large;  // The text in place of those that are too large. Its pages are never written.
  std::size_t current = 0;
  std::size_t used = 0;
  bool spent = false;     // The reply in the arena was returned to the caller.
  std::size_t texts = 0;  // The bytes of the texts of this reply.
  int list_refused = 0;   // The number of items of a refused list; 0: none.
};

/// The functions that hiredis calls while it parses; they return null if allocation fails. 'privdata' is the arena. A task's parent is the
/// list to which the new node belongs.
struct ReplyReader::Functions {
  static Reply* node(const redisReadTask* task) {
    void* const place = task->parent != nullptr ? static_cast<Reply*>(task->parent->obj)->items_ + task->idx
                                                : static_cast<Arena*>(task->privdata)->allocate(sizeof(Reply));
    return place == nullptr ? nullptr : new (place) Reply;
  }
  static void* create_text(const redisReadTask* task, char* text, std::size_t size) {
    auto& arena = *static_cast<Arena*>(task->privdata);
    Reply* const reply = node(task);
    if (reply == nullptr) return nullptr;
    if (size > limits::kRedisItemBytes || arena.texts + size > limits::kRedisReplyBytes) {
      if (arena.too_large == nullptr) arena.too_large.reset(static_cast<char*>(std::calloc(kTooLarge, 1)));
      if (arena.too_large == nullptr) return nullptr;
      reply->text_ = arena.too_large.get();
      reply->size_ = kTooLarge;
    } else {
      auto* const copy = static_cast<char*>(arena.allocate(std::max<std::size_t>(size, 1)));
      if (copy == nullptr) return nullptr;
      std::memcpy(copy, text, size);
      arena.texts += size;
      reply->text_ = copy;
      reply->size_ = size;
    }
    reply->kind_ = task->type == REDIS_REPLY_ERROR    ? Reply::Kind::Error
                   : task->type == REDIS_REPLY_STATUS ? Reply::Kind::State
                                                      : Reply::Kind::Text;
    return reply;
  }
  /// Items are allocated as they arrive, because a peer can announce any number.
  static void* create_list(const redisReadTask* task, int elements) {
    auto& arena = *static_cast<Arena*>(task->privdata);
    if (elements > limits::kRedisListItems) {
      arena.list_refused = elements;
      return nullptr;
    }
    Reply* const reply = node(task);
    if (reply == nullptr) return nullptr;
    reply->kind_ = Reply::Kind::List;
    reply->size_ = static_cast<std::size_t>(std::max(elements, 0));
    if (reply->size_ > 0) {
      reply->items_ = static_cast<Reply*>(arena.allocate(reply->size_ * sizeof(Reply)));
      if (reply->items_ == nullptr) return nullptr;
    }
    return reply;
  }
  static void* create_integer(const redisReadTask* task, long long value) {
    Reply* const reply = node(task);
    if (reply == nullptr) return nullptr;
    reply->kind_ = Reply::Kind::Integer;
    reply->number_ = value;
    return reply;
  }
  static void* create_nil(const redisReadTask* task) { return node(task); }
  static void free_object(void*) {}  // The arena owns the object.
  static redisReplyObjectFunctions* table() {
    static redisReplyObjectFunctions functions = [] {
      redisReplyObjectFunctions made{};
      made.createString = create_text;
      made.createArray = create_list;
      made.createInteger = create_integer;
      made.createNil = create_nil;
      made.freeObject = free_object;
      return made;
    }();
    return &functions;
  }
};

ReplyReader::ReplyReader() : arena_(std::make_unique<Arena>()) { reset(); }

ReplyReader::~ReplyReader() { redisReaderFree(reader_); }

void ReplyReader::reset() {
  if (reader_ != nullptr) redisReaderFree(reader_);
  reader_ = redisReaderCreateWithFunctions(Functions::table());
  if (reader_ == nullptr) throw std::bad_alloc();
  reader_->privdata = arena_.get();
  arena_->reset();
  passed_ = skipped_ = 0;
}

void ReplyReader::feed(std::string_view bytes) {
  // An error here is sticky, and next() returns it.
  const auto pass = [this](std::string_view some) { static_cast<void>(redisReaderFeed(reader_, some.data(), some.size())); };
  if (skipped_ == 0 && reader_->len - reader_->pos + bytes.size() > limits::kRedisItemBytes) shorten_item();
  if (skipped_ != 0) {
    const std::string_view passed = bytes.substr(0, passed_);
    bytes.remove_prefix(passed.size());
    passed_ -= passed.size();
    pass(passed);
    if (passed_ == 0 && !passed.empty()) pass("\r\n");
    const std::size_t skipped = passed_ == 0 ? std::min(bytes.size(), skipped_) : 0;
    bytes.remove_prefix(skipped);
    skipped_ -= skipped;
  }
  if (!bytes.empty()) pass(bytes);
}

/// hiredis keeps the bytes of an item until it is complete. So the item that it waits for gets a smaller size, with as many digits, which
/// is still over the limit; feed() skips the rest.
void ReplyReader::shorten_item() {
  const auto [size, digits] = announced({reader_->buf + reader_->pos, reader_->len - reader_->pos});
  const std::size_t smaller = size < kSmallestOfNineDigits ? limits::kRedisItemBytes + 1 : kSmallestOfNineDigits;
  if (size <= smaller) return;
  char* const begin = reader_->buf + (digits.data() - reader_->buf);
  char* const end = std::to_chars(begin, begin + digits.size(), smaller).ptr;
  const auto present = static_cast<std::size_t>(reader_->buf + reader_->len - (end + 2));
  passed_ = smaller - present;
  skipped_ = size + 2 - smaller;
}

Result<const Reply*> ReplyReader::check_room() const {
  const std::size_t kept = reader_->len - reader_->pos;
  if (kept <= kSmallestOfNineDigits + kHeaderBytes) return nullptr;
  return failure(StatusCode::DataLoss, "Redis sent an item of more than " + std::to_string(kSmallestOfNineDigits) + " bytes");
}

Result<const Reply*> ReplyReader::next() {
  if (std::exchange(arena_->spent, false)) arena_->reset();
  void* reply = nullptr;
  if (redisReaderGetReply(reader_, &reply) != 0) {
    if (arena_->list_refused != 0) {
      return failure(StatusCode::DataLoss, "Redis sent a list of " + std::to_string(arena_->list_refused) + " items, above " +
                                               std::to_string(limits::kRedisListItems));
    }
    return failure(StatusCode::DataLoss, std::string{"what Redis sent is not its protocol: "} + reader_->errstr);
  }
  if (reply == nullptr) return check_room();
  arena_->spent = true;
  return static_cast<const Reply*>(reply);
}

namespace {

constexpr std::array<std::pair<std::string_view, StatusCode>, 15> kCodes{{{"READONLY", StatusCode::Unavailable},
                                                                          {"LOADING", StatusCode::Unavailable},
                                                                          {"MASTERDOWN", StatusCode::Unavailable},
                                                                          {"BUSY", StatusCode::Unavailable},
                                                                          {"CLUSTERDOWN", StatusCode::Unavailable},
                                                                          {"TRYAGAIN", StatusCode::Unavailable},
                                                                          {"NOREPLICAS", StatusCode::Unavailable},
                                                                          {"MISCONF", StatusCode::Unavailable},
                                                                          {"OOM", StatusCode::ResourceExhausted},
                                                                          {"NOAUTH", StatusCode::PermissionDenied},
                                                                          {"NOPERM", StatusCode::PermissionDenied},
                                                                          {"WRONGPASS", StatusCode::PermissionDenied},
                                                                          {"WRONGTYPE", StatusCode::FailedPrecondition},
                                                                          {"MOVED", StatusCode::FailedPrecondition},
                                                                          {"CROSSSLOT", StatusCode::FailedPrecondition}}};

/// The code of the first known word; unless 'all', only the first word is checked.
StatusCode code_of(std::string_view text, bool all) {
  while (!text.empty()) {
    std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(word.size() + 1, text.size()));
    if (word.starts_with('-')) word.remove_prefix(1);
    const auto found = std::ranges::find(kCodes, word, &std::pair<std::string_view, StatusCode>::first);
    if (found != kCodes.end()) return found->second;
    if (!all) break;
  }
  return StatusCode::Internal;
}

}  // namespace

Status status_of(const Reply& error, std::string_view what) {
  RONDO_ASSERT(error.is_error());
  // Redis 6 puts the reason for a refused command in a script behind its position: "... (call to f_1a): @user_script: 3: -READONLY You
  // can't".
  const bool in_script = error.text().starts_with("ERR Error running script");
  return {code_of(error.text(), in_script), std::string{what} + ": " + std::string{error.text()}};
}

bool lacks_replicas(const Status& status) {
  const auto says = [&status](std::string_view text) { return status.message().find(text) != std::string_view::npos; };
  return status.code() == StatusCode::Unavailable && (says(": NOREPLICAS") || says(": -NOREPLICAS"));
}

}  // namespace rondo::redis
