// Commands: requests in Redis' protocol (RESP2), one behind the other in one buffer.
#pragma once

#include <charconv>
#include <concepts>
#include <cstddef>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

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

  std::string_view bytes() const noexcept { return bytes_; }
  bool empty() const noexcept { return bytes_.empty(); }
  void clear() noexcept { bytes_.clear(); }

 private:
  void head(char type, std::size_t count) {
    char digits[24];
    digits[0] = type;
    char* end = std::to_chars(digits + 1, digits + sizeof digits, count).ptr;
    *end++ = '\r';
    *end++ = '\n';
    bytes_.append(digits, static_cast<std::size_t>(end - digits));
  }
  std::string bytes_;
};

/// 'text' for a pattern (SCAN's MATCH) that matches it and nothing else.
inline std::string literal(std::string_view text) {
  std::string pattern;
  for (const char c : text) {
    if (c == '*' || c == '?' || c == '[' || c == ']' || c == '\\') pattern.push_back('\\');
    pattern.push_back(c);
  }
  return pattern;
}

}  // namespace rondo::redis
