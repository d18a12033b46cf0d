#include "rondo/base/trace_context.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <random>

#include "rondo/base/random.h"

namespace rondo {

namespace {

constexpr std::size_t kParentBytes = 55;
/// The flags that the standard defines: sampled, and random trace id. Others must be sent as 0.
constexpr unsigned kKnownFlags = 3;

constexpr bool is_digit(char c) noexcept { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); }

/// Digits that are not all 0.
bool is_id(std::string_view digits) noexcept {
  return std::ranges::all_of(digits, is_digit) && digits.find_first_not_of('0') != std::string_view::npos;
}

std::uint64_t number_of(std::string_view digits) noexcept {
  std::uint64_t number = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), number, 16);
  return number;
}

/// True of members "key=value", separated by commas; members may be empty.
bool is_state(std::string_view state) noexcept {
  if (state.size() > TraceContext::kStateBytes) return false;
  if (!std::ranges::all_of(state, [](char c) { return c == '\t' || (c >= ' ' && c <= '~'); })) return false;
  std::size_t members = 0;
  while (!state.empty()) {
    const std::size_t comma = std::min(state.find(','), state.size());
    const std::string_view member = state.substr(0, comma);
    state.remove_prefix(std::min(comma + 1, state.size()));
    if (member.find_first_not_of(" \t") == std::string_view::npos) continue;
    const std::size_t equals = member.find('=');
    if (equals == std::string_view::npos || equals == 0 || ++members > TraceContext::kStateMembers) return false;
  }
  return members > 0;
}

}  // namespace

std::optional<TraceContext> TraceContext::parse(std::string_view parent, std::string_view state) {
  if (parent.size() < kParentBytes || parent[2] != '-' || parent[35] != '-' || parent[52] != '-') return std::nullopt;
  const std::string_view version = parent.substr(0, 2);
  const std::string_view flags = parent.substr(53, 2);
  if (!std::ranges::all_of(version, is_digit) || version == "ff" || !std::ranges::all_of(flags, is_digit)) return std::nullopt;
  if (!is_id(parent.substr(kTraceId, 32)) || !is_id(parent.substr(kParentId, 16))) return std::nullopt;
  // Later versions may append members.
  if (parent.size() > kParentBytes && (version == "00" || parent[kParentBytes] != '-')) return std::nullopt;
  TraceContext context;
  context.parent_ = "00" + std::string{parent.substr(2, kParentBytes - 4)} + "0" + std::to_string(number_of(flags) & kKnownFlags);
  if (is_state(state)) context.state_ = state;
  return context;
}

std::string TraceContext::parent_of(std::uint64_t call) const {
  static const std::uint64_t of_process = (std::uint64_t{std::random_device{}()} << 32) | std::random_device{}();
  const std::uint64_t caller = number_of(trace_id().substr(16)) ^ number_of(std::string_view{parent_}.substr(kParentId, 16));
  // The first numbers of two generators differ if their seeds do: no two calls of a caller have one id.
  const std::uint64_t id = Random{Random{of_process ^ caller}.next() ^ call}.next();
  std::array<char, 17> digits{};
  std::snprintf(digits.data(), digits.size(), "%016llx", static_cast<unsigned long long>(std::max<std::uint64_t>(id, 1)));
  return std::string{parent_}.replace(kParentId, 16, digits.data());
}

}  // namespace rondo
