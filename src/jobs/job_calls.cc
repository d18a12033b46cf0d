#include "jobs/job_calls.h"

#include <algorithm>

namespace rondo::jobs {

JobCall::JobCall(std::string_view text) {
  boost::system::error_code error;
  json::value value = json::parse(text, error);
  ok_ = !error && value.is_array() && !value.get_array().empty() && value.get_array().front().is_string();
  if (ok_) values_ = std::move(value.get_array());
}

std::string JobCall::verb() const { return ok_ ? std::string{view(values_.front().get_string())} : std::string{}; }

const json::value* JobCall::next() {
  if (!ok_ || next_ >= values_.size()) ok_ = false;
  return ok_ ? &values_[next_++] : nullptr;
}

std::string JobCall::text() {
  const json::value* const value = next();
  ok_ = ok_ && value->is_string();
  return ok_ ? std::string{view(value->get_string())} : std::string{};
}

std::int64_t JobCall::number() {
  const json::value* const value = next();
  boost::system::error_code error;
  const std::int64_t number = ok_ ? value->to_number<std::int64_t>(error) : 0;
  ok_ = ok_ && !error;
  return ok_ ? number : 0;
}

bool JobCall::flag() {
  const json::value* const value = next();
  ok_ = ok_ && value->is_bool();
  return ok_ && value->get_bool();
}

Status JobCall::status() {
  const std::int64_t code = number();
  const auto origin = static_cast<int>(number());
  std::string message = text();
  ok_ = ok_ && code >= 0 && code <= static_cast<std::int64_t>(StatusCode::Internal);
  if (!ok_ || code == 0) return {};
  return {static_cast<StatusCode>(code), std::move(message), origin};
}

}  // namespace rondo::jobs
