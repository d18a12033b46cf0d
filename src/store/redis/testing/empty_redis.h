// EmptyRedis: the server's end of one connection. It parses the commands of a store and gives the answers of a Redis without content. For
// tests and fuzzers. One thread.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace rondo::redis_kit {

class EmptyRedis {
 public:
  void receive(std::string_view bytes) { in_.append(bytes); }
  /// Empty when no command is complete. The store always sends well-formed commands.
  std::vector<std::string> next_command() {
    if (in_.find("\r\n") == std::string::npos) return {};
    std::size_t at = 0;
    std::vector<std::string> words(number_at(at));
    for (std::string& word : words) {
      if (at >= in_.size() || in_.find("\r\n", at) == std::string::npos) return {};
      const std::size_t size = number_at(at);
      if (at + size + 2 > in_.size()) return {};
      word = in_.substr(at, size);
      at += size + 2;
    }
    in_.erase(0, at);
    return words;
  }
  std::string answer(const std::vector<std::string>& words) {
    const std::string& verb = words[0];
    if (verb == "EXEC") {
      std::string all = "*" + std::to_string(queued_) + "\r\n";
      for (; queued_ > 0; --queued_) all += ":0\r\n";
      in_transaction_ = false;
      return all;
    }
    if (in_transaction_) {
      ++queued_;
      return "+QUEUED\r\n";
    }
    if (verb == "MULTI") {
      in_transaction_ = true;
      return "+OK\r\n";
    }
    if (verb == "PING") return "+PONG\r\n";
    if (verb == "INFO") return bulk("# Server\r\nrun_id:abcdef\r\nredis_mode:standalone\r\n");
    if (verb == "CLIENT") return words[1] == "ID" ? ":7\r\n" : words[1] == "KILL" ? ":0\r\n" : "+OK\r\n";
    if (verb == "AUTH" || verb == "SELECT") return "+OK\r\n";
    if (verb == "SCAN" || verb == "SSCAN") return "*2\r\n$1\r\n0\r\n*0\r\n";
    if (verb == "HGETALL" || verb == "HKEYS") return "*0\r\n";
    if (verb == "SUBSCRIBE") {
      std::string all;
      for (std::size_t i = 1; i < words.size(); ++i) all += "*3\r\n" + bulk("subscribe") + bulk(words[i]) + ":1\r\n";
      return all;
    }
    return verb == "EVAL" ? answer_of_script(words) : ":0\r\n";
  }
  bool in_transaction() const noexcept { return in_transaction_; }

  static std::string bulk(std::string_view text) { return "$" + std::to_string(text.size()) + "\r\n" + std::string{text} + "\r\n"; }

 private:
  /// Each script has a command that no other script has.
  static std::string answer_of_script(const std::vector<std::string>& words) {
    const std::string& script = words[1];
    if (script.find("HINCRBY") != std::string::npos) return ":1\r\n";
    if (script.find("lease_holder") != std::string::npos) return "*2\r\n:1\r\n$0\r\n\r\n";
    if (script.find("SISMEMBER") != std::string::npos) {  // The rows do not exist.
      const std::size_t keys = words.size() - std::min<std::size_t>(words.size(), 8);
      std::string all = "*" + std::to_string(3 * keys) + "\r\n";
      for (std::size_t i = 0; i < keys; ++i) all += ":0\r\n*0\r\n*0\r\n";
      return all;
    }
    if (script.find("cmsgpack.unpack") != std::string::npos) return "*4\r\n:0\r\n*0\r\n*0\r\n:0\r\n";
    return script.find("cmsgpack") != std::string::npos ? "*2\r\n:0\r\n*0\r\n" : ":0\r\n";
  }
  /// The number after the sign at 'at'; moves 'at' behind the line.
  std::size_t number_at(std::size_t& at) const {
    std::size_t number = 0;
    const auto [end, error] = std::from_chars(in_.data() + at + 1, in_.data() + in_.size(), number);
    at = static_cast<std::size_t>(end - in_.data()) + 2;
    return error == std::errc{} ? number : 0;
  }

  std::string in_;
  bool in_transaction_ = false;
  std::size_t queued_ = 0;
};

}  // namespace rondo::redis_kit
