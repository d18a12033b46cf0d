// The sections [[notify]]: whom rondod tells when runs of jobs fail, recover or are late.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace rondo::daemon {

enum class NotifyKind : std::uint8_t { Mail, Webhook, Command };

/// [[notify]]
struct NotifyChoice {
  std::string name = {};
  NotifyKind kind = NotifyKind::Webhook;
  std::string target = {};  // The URL of the mail server or the webhook, or the name of a command of workers.
  std::vector<std::string> events = {"failure", "recovery", "late"};
  std::string jobs = "*";  // A pattern of names.
  std::int64_t late_s = 300;
  std::vector<std::string> networks = {"127.0.0.0/8", "::1/128"};
  std::string from = {};
  std::vector<std::string> to = {};
  std::string user = {};
  std::string secret_file = {};  // Its first line is the password of 'user', or the token of the webhook.
  friend bool operator==(const NotifyChoice&, const NotifyChoice&) = default;
};

}  // namespace rondo::daemon
