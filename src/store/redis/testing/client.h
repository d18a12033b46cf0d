// Another client of the server for tests, over hiredis, blocking. It plays the stock producers and consumers: plain commands, replies as
// text. One thread for each object.
#pragma once

#include <hiredis.h>

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rondo/store/redis_address.h"
#include "store/redis/testing/process.h"

namespace rondo::redis_kit {

/// A reply as text: a string or status unchanged, an integer in decimal, "(nil)", "(error) ...", a list as "[a, b, [c]]".
inline std::string text_of(const redisReply& reply) {
  switch (reply.type) {
    case REDIS_REPLY_STRING:
    case REDIS_REPLY_STATUS: return {reply.str, reply.len};
    case REDIS_REPLY_INTEGER: return std::to_string(reply.integer);
    case REDIS_REPLY_NIL: return "(nil)";
    case REDIS_REPLY_ERROR: return "(error) " + std::string{reply.str, reply.len};
    case REDIS_REPLY_ARRAY: {
      std::string text = "[";
      for (std::size_t i = 0; i < reply.elements; ++i) text += (i == 0 ? "" : ", ") + text_of(*reply.element[i]);
      return text + "]";
    }
    default: return "(type " + std::to_string(reply.type) + ")";
  }
}

class RedisClient {
 public:
  using Arguments = std::vector<std::string>;

  /// Connects, over the socket or plain TCP, and sends AUTH and SELECT as the address requires. Throws on failure.
  explicit RedisClient(const RedisAddress& address) : RedisClient(address, kPatience) {}
  RedisClient(const RedisAddress& address, std::chrono::milliseconds reply_timeout) {
    std::string why = connect(address, reply_timeout);
    if (!why.empty()) give_up(address.to_string() + ": " + why);
  }

  /// Like the constructor, but returns nothing if no server listens or it does not answer. 'why', if given, receives the reason.
  static std::optional<RedisClient> try_connect(const RedisAddress& address, std::string* why = nullptr) {
    RedisClient client;
    const std::string error = client.connect(address, kPatience);
    if (why != nullptr) *why = error;
    if (!error.empty()) return std::nullopt;
    return client;
  }

  /// Sends one command and returns its reply: "(lost) ..." when the connection is lost, also for every later command.
  std::string command(const Arguments& arguments) {
    append(arguments);
    return next();
  }
  /// The elements of a list reply, as texts; one element for any other reply.
  std::vector<std::string> list(const Arguments& arguments) {
    append(arguments);
    const Reply reply = read();
    if (!reply) return {lost()};
    if (reply->type != REDIS_REPLY_ARRAY) return {text_of(*reply)};
    std::vector<std::string> result;
    for (std::size_t i = 0; i < reply->elements; ++i) result.push_back(text_of(*reply->element[i]));
    return result;
  }

  /// Pipelined commands: append() each, then next() for each. They are sent by the first next(), or by flush().
  void append(const Arguments& arguments) {
    std::vector<const char*> texts;
    std::vector<std::size_t> sizes;
    for (const std::string& argument : arguments) {
      texts.push_back(argument.data());
      sizes.push_back(argument.size());
    }
    redisAppendCommandArgv(context_.get(), static_cast<int>(texts.size()), texts.data(), sizes.data());
  }
  void flush() {
    const NoPipeSignal guard;
    for (int done = 0; done == 0 && redisBufferWrite(context_.get(), &done) == REDIS_OK;) {
    }
  }
  /// Returns the next reply, or the next message of a subscription ("[message, channel, text]").
  std::string next() {
    const Reply reply = read();
    return reply ? text_of(*reply) : lost();
  }

  bool connected() const noexcept { return context_ && context_->err == 0; }

 private:
  struct Free {
    void operator()(redisContext* context) const noexcept { redisFree(context); }
    void operator()(redisReply* reply) const noexcept { freeReplyObject(reply); }
  };
  using Reply = std::unique_ptr<redisReply, Free>;

  RedisClient() = default;

  /// Returns the reason of a failure; empty when connected.
  std::string connect(const RedisAddress& address, std::chrono::milliseconds reply_timeout) {
    const timeval wait{static_cast<time_t>(reply_timeout.count() / 1000), static_cast<suseconds_t>(reply_timeout.count() % 1000 * 1000)};
    context_.reset(address.unix_path.empty() ? redisConnectWithTimeout(address.host.c_str(), address.port, wait)
                                             : redisConnectUnixWithTimeout(address.unix_path.c_str(), wait));
    if (!context_ || context_->err != 0) return context_ ? context_->errstr : "no memory";
    redisSetTimeout(context_.get(), wait);
    std::string reply = "OK";
    if (!address.password.empty()) {
      Arguments login{"AUTH", address.password};
      if (!address.user.empty()) login.insert(login.begin() + 1, address.user);
      reply = command(login);
    }
    if (reply == "OK" && address.database != 0) reply = command({"SELECT", std::to_string(address.database)});
    return reply == "OK" ? "" : reply;
  }

  Reply read() {
    const NoPipeSignal guard;
    void* reply = nullptr;
    if (redisGetReply(context_.get(), &reply) != REDIS_OK) return nullptr;
    return Reply{static_cast<redisReply*>(reply)};
  }
  std::string lost() const { return "(lost) " + std::string{context_->errstr}; }

  std::unique_ptr<redisContext, Free> context_;
};

}  // namespace rondo::redis_kit
