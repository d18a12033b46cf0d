// Commands: requests in Redis' protocol (RESP2), appended to one buffer.
#pragma once

#include <algorithm>
#include <charconv>
#include <concepts>
#include <cstddef>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <string_view>
#include <utility>

namespace rondo::redis {

class Commands {
 public:
  /// Begins a command of 'words' words, including the command's name. Exactly as many word() calls must follow.
  Commands& begin(std::size_t words) {
    char* const to = room(kHeadBytes);
    last_ = size_;
    return written(head(to, '*', words));
  }
  Commands& word(std::string_view text) { return word(text, {}); }
  /// One word made of two parts.
  Commands& word(std::string_view first, std::string_view second) {
    const std::size_t size = first.size() + second.size();
    char* to = head(room(kHeadBytes + size + 2), '$', size);
    to = std::ranges::copy(first, to).out;
    to = std::ranges::copy(second, to).out;
    *to++ = '\r';
    *to++ = '\n';
    return written(to);
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

  /// The name of the last command. Only until bytes are sent.
  std::string_view last_name() const noexcept {
    const std::string_view command{bytes_.get() + last_, size_ - last_};
    const std::size_t head = std::min(command.find("\r\n$"), command.size());
    const std::size_t name = std::min(command.find("\r\n", head + 2), command.size());
    return name == command.size() ? std::string_view{} : command.substr(name + 2, command.find('\r', name + 2) - name - 2);
  }

  /// The bytes that were not sent yet.
  std::string_view unsent() const noexcept { return {bytes_.get() + sent_, size_ - sent_}; }
  /// Marks the first 'count' unsent bytes as sent.
  void sent(std::size_t count) {
    sent_ += count;
    if (sent_ == size_) return clear();
    // Under constant load the buffer is never fully sent, and without this it would grow without bound. The rest is moved only when at
    // least as much has been sent.
    if (sent_ < std::max(kSentBytes, size_ - sent_)) return;
    std::memmove(bytes_.get(), bytes_.get() + sent_, size_ - sent_);
    size_ -= std::exchange(sent_, 0);
  }
  void clear() {
    size_ = sent_ = 0;
    if (capacity_ > kKeptBytes) bytes_ = std::make_unique_for_overwrite<char[]>(capacity_ = kSentBytes);  // Shrink after a large value.
  }
  /// The allocated memory.
  std::size_t capacity() const noexcept { return capacity_; }

 private:
  static constexpr std::size_t kSentBytes = 64 * 1024;
  static constexpr std::size_t kKeptBytes = 4 * 1024 * 1024;
  static constexpr std::size_t kHeadBytes = 24;  // A type, the longest number, and the end of the line.

  static char* head(char* to, char type, std::size_t count) {
    *to++ = type;
    to = std::to_chars(to, to + kHeadBytes, count).ptr;
    *to++ = '\r';
    *to++ = '\n';
    return to;
  }
  /// Returns where the next 'bytes' may be written.
  char* room(std::size_t bytes) {
    if (capacity_ - size_ < bytes) grow(size_ + bytes);
    return bytes_.get() + size_;
  }
  Commands& written(const char* end) {
    size_ = static_cast<std::size_t>(end - bytes_.get());
    return *this;
  }
  void grow(std::size_t wanted) {
    capacity_ = std::max({wanted, 2 * capacity_, kSentBytes});
    auto bytes = std::make_unique_for_overwrite<char[]>(capacity_);
    std::memcpy(bytes.get(), bytes_.get(), size_);
    bytes_ = std::move(bytes);
  }

  std::unique_ptr<char[]> bytes_ = std::make_unique_for_overwrite<char[]>(kSentBytes);
  std::size_t capacity_ = kSentBytes;
  std::size_t size_ = 0;
  std::size_t last_ = 0;  // Where the last command begins.
  std::size_t sent_ = 0;  // Bytes already sent.
};

/// 'text' as a pattern (for SCAN's MATCH) that matches only 'text'.
inline std::string literal(std::string_view text) {
  std::string pattern;
  for (const char c : text) {
    if (c == '*' || c == '?' || c == '[' || c == ']' || c == '\\') pattern.push_back('\\');
    pattern.push_back(c);
  }
  return pattern;
}

}  // namespace rondo::redis
