// Fuzzes the readers of what executors send. For any input: an error has a reason, a result stays within the limits, messages are UTF-8,
// and the canonical form of an address is its own canonical form.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "jobs/executors/wire.h"
#include "rondo/base/assert.h"
#include "rondo/base/text.h"

namespace {

using namespace rondo;
using namespace rondo::jobs::executors;

bool is_int(std::int64_t number) { return number >= INT32_MIN && number <= INT32_MAX; }

void check_message(std::string_view message) { RONDO_ASSERT(message.size() <= limits::kExecutorMessage && is_utf8(message)); }

template <class T>
bool has_value(const Result<T>& result) {
  if (!result) RONDO_ASSERT(!result.error().message().empty() && is_utf8(result.error().message()));
  return result.has_value();
}

void check_address(std::string_view text) {
  const Result<Address> address = parse_address(text);
  if (!has_value(address)) return;
  RONDO_ASSERT(address->url.size() <= limits::kExecutorAddress && !address->host.empty() && address->port != 0);
  const Result<Address> again = parse_address(address->url);
  RONDO_ASSERT(again.has_value() && again->url == address->url && again->host == address->host && again->port == address->port);
}

void check_log(const LogPiece& piece, std::string_view body) {
  RONDO_ASSERT(piece.from_line >= 0 && is_int(piece.from_line) && piece.to_line >= 0 && is_int(piece.to_line));
  RONDO_ASSERT(piece.text.size() <= body.size());
}

void check_registration(const Registration& registration) {
  RONDO_ASSERT(!registration.group.empty() && registration.group.size() <= limits::kExecutorGroup);
  const Result<Address> address = parse_address(registration.address);
  RONDO_ASSERT(address.has_value() && address->url == registration.address);
}

void check_callbacks(const std::vector<CallbackItem>& items) {
  RONDO_ASSERT(items.size() <= limits::kExecutorCallbacks);
  for (const CallbackItem& item : items) {
    RONDO_ASSERT(item.log_id >= 1 && item.log_id <= limits::kExecutorLogId && is_int(item.code));
    check_message(item.message);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes{reinterpret_cast<const char*>(data), size};
  check_address(bytes);
  if (const auto answer = parse_call_answer(200, bytes); has_value(answer)) {
    RONDO_ASSERT(is_int(answer->code));
    check_message(answer->message);
  }
  if (const auto log = parse_log(200, bytes); has_value(log)) check_log(*log, bytes);
  if (const auto log = parse_cut_log(200, std::string{bytes}); has_value(log)) check_log(*log, bytes);
  if (const auto registration = parse_registration(bytes); has_value(registration)) check_registration(*registration);
  if (const auto items = parse_callbacks(bytes); has_value(items)) check_callbacks(*items);
  return 0;
}
