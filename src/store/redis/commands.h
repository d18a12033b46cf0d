// Commands: requests in Redis' protocol (RESP2), one behind the other in one buffer.
#pragma once

#include <algorithm>
#include <charconv>
#include <concepts>
#include <cstddef>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace rondo::redis {

class Commands {
 public:
  /// Begins a command of 'words' words, the command's name among them; exactly so many word() calls must follow.
  Commands& begin(std::size_t words) {
    head('*', words);
    return *this;
  }
  Commands& word(std::string_view text) {
    head('$', text.size());
    bytes_.append(text);
    bytes_.append("\r\n");
    return *this;
  }
  Commands& word(std::string_view first, std::string_view second) {
    head('$', first.size() + second.size());
    bytes_.append(first);
    bytes_.append(second);
    bytes_.append("\r\n");
    return *this;
  }
  template <std::integral Number>
  Commands& number(Number value) {
    char digits[24];
    const auto end = std::to_chars(digits, digits + sizeof digits, value).ptr;
    return word({digits, static_cast<std::size_t>(end - digits)});
  }
  Commands& command(std::initializer_list<std::string_view> words) {
    begin(words.size());
    for (const std::string_view text : words) word(text);
    return *this;
  }

  /// What was not sent yet.
  std::string_view unsent() const noexcept { return std::string_view{bytes_}.substr(sent_); }
  /// The first 'count' bytes of it are sent.
  void sent(std::size_t count) {
    sent_ += count;
    if (sent_ == bytes_.size()) return clear();
    // While others add as fast as the server takes, all is never sent: without this the buffer would grow without end. What stays is moved
    // only when at least as much has gone.
    if (sent_ >= std::max(kSentBytes, bytes_.size() - sent_)) bytes_.erase(0, std::exchange(sent_, 0));
  }
  void clear() noexcept {
    bytes_.clear();
    sent_ = 0;
  }
  /// Memory that is held.
  std::size_t capacity() const noexcept { return bytes_.capacity(); }

 private:
  void head(char type, std::size_t count) {
    char digits[24];
    digits[0] = type;
    char* end = std::to_chars(digits + 1, digits + sizeof digits, count).ptr;
    *end++ = '\r';
    *end++ = '\n';
    bytes_.append(digits, static_cast<std::size_t>(end - digits));
  }
  static constexpr std::size_t kSentBytes = 64 * 1024;
  std::string bytes_;
  std::size_t sent_ = 0;  // Of them.
};

}  // namespace rondo::redis
