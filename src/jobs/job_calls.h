// JobCall: a call of a Jobs as text, for the journal: those that programs outside of the runtime cause, and what asynchronous handlers
// answer and report. See sched/recorded_calls.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include "base/json.h"
#include "rondo/base/status.h"

namespace rondo::jobs {

/// A JSON array: the verb and its arguments. They are texts, numbers and flags.
template <class... Arguments>
std::string call_text(std::string_view verb, const Arguments&... arguments) {
  std::string text;
  append_json(text, json::array{json::value(verb), json::value(arguments)...});
  return text;
}

/// A recorded call.
class JobCall {
 public:
  explicit JobCall(std::string_view text);
  /// Empty: the text is no call.
  std::string verb() const;
  /// Calls 'repeat' with the arguments of the call. False if they are not of these types, or if 'repeat' returns false.
  template <class... Types, class Repeat>
  bool with(const Repeat& repeat) {
    std::tuple<Types...> arguments{read<Types>()...};  // Braces: from the left to the right.
    if (!ok_ || next_ != values_.size()) return false;
    if constexpr (std::is_void_v<std::invoke_result_t<const Repeat&, Types&&...>>) {
      std::apply(repeat, std::move(arguments));
      return true;
    } else {
      return std::apply(repeat, std::move(arguments));
    }
  }

 private:
  template <class T>
  T read() {
    if constexpr (std::is_same_v<T, std::string>) return text();
    if constexpr (std::is_same_v<T, bool>) return flag();
    if constexpr (std::is_same_v<T, Status>) return status();
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
      const std::int64_t value = number();
      ok_ = ok_ && std::in_range<T>(value);
      return static_cast<T>(value);
    }
  }
  std::string text();
  std::int64_t number();
  bool flag();
  /// Code, origin and message.
  Status status();
  const json::value* next();
  json::array values_;
  std::size_t next_ = 1;
  bool ok_ = true;
};

}  // namespace rondo::jobs
