// JobCall: a call of a Jobs as text, for the journal: those that programs outside of the runtime cause, and what asynchronous handlers
// answer and report. See sched/recorded_calls.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
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

/// Reads the arguments of a call one after the other.
class JobCall {
 public:
  explicit JobCall(std::string_view text);
  /// Empty: the text is no call.
  std::string verb() const;
  std::string text();
  std::int64_t number();
  bool flag();
  /// Code, origin and message.
  Status status();
  /// Whether every argument was read, and had its type.
  bool is_whole() const noexcept { return ok_ && next_ == values_.size(); }

 private:
  const json::value* next();
  json::array values_;
  std::size_t next_ = 1;
  bool ok_ = true;
};

}  // namespace rondo::jobs
