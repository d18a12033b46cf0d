// TraceContext: the place in a distributed trace from which a caller calls, in the form of W3C Trace Context
// (https://www.w3.org/TR/trace-context/): the header fields `traceparent` and `tracestate`. An immutable value, for any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace rondo {

class TraceContext {
 public:
  static constexpr std::size_t kStateBytes = 512;   // The standard requires that so many are passed on.
  static constexpr std::size_t kStateMembers = 32;  // The most that the standard allows.

  /// Reads the values of the two fields; 'state' may be empty, and several fields of it are joined with commas. Empty for a 'parent' that
  /// the standard calls invalid. Fields of later versions are read as those of version 00. A 'state' that is malformed, or has more than
  /// kStateBytes or kStateMembers, is left out. O(bytes).
  static std::optional<TraceContext> parse(std::string_view parent, std::string_view state);

  /// 32 hexadecimal digits.
  std::string_view trace_id() const noexcept { return std::string_view{parent_}.substr(kTraceId, 32); }
  /// `traceparent` as it was read, in version 00.
  const std::string& parent() const noexcept { return parent_; }
  /// `tracestate`, unchanged; may be empty.
  const std::string& state() const noexcept { return state_; }
  /// `traceparent` for a call that is made because of this one: the same trace and flags, and a parent id of its own for each 'call'. The
  /// same in each call of this process with the same arguments, and unpredictable.
  std::string parent_of(std::uint64_t call) const;

 private:
  static constexpr std::size_t kTraceId = 3;    // Its place in 'parent_'.
  static constexpr std::size_t kParentId = 36;  // The same.

  std::string parent_;
  std::string state_;
};

}  // namespace rondo
