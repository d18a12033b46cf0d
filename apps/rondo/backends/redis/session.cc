// See session.h.
#include "backends/redis/session.h"

#include <charconv>
#include <memory>
#include <string_view>
#include <utility>

namespace rondo::cli {
namespace {

RedisAnswer copy(const redis::Reply& reply, const std::string& command) {
  RedisAnswer answer;
  if (reply.is_error()) {
    answer.error = redis::status_of(reply, command);
    return answer;
  }
  answer.text = reply.text();
  answer.integer = reply.integer();
  answer.items.reserve(reply.items().size());
  for (const redis::Reply& item : reply.items()) answer.items.push_back(copy(item, command));
  return answer;
}

}  // namespace

/// The connection, and its reports.
struct RedisSession::User final : redis::Connection::User {
  User(Scheduler& scheduler, const RedisAddress& address, Duration patience)
      : connection(scheduler, address, {.name = "rondo", .connect_timeout = patience, .answer_timeout = patience}, *this) {
    connection.start();
  }
  void connected(redis::Connection&) override {}
  void lost(redis::Connection&, const Status& why, bool) override {
    trouble = why;
    ++failures;
  }
  /// True if each address of the host failed once.
  bool is_refused() const { return failures >= connection.addresses(); }

  Status trouble;
  std::size_t failures = 0;
  redis::Connection connection;
};

RedisSession::RedisSession(Duration patience)
    : patience_(patience), reactor_(make_epoll_reactor().value()), scheduler_(clock_, *reactor_, make_policy(StrictPriority{}).value()) {}

RedisSession::~RedisSession() = default;

Status RedisSession::connect(RedisAddress address) {
  if (!address.sentinels.empty()) {
    Result<RedisAddress> master = find_master(address);
    if (!master) return master.error();
    address = std::move(*master);
  }
  return connect_to(address);
}

Status RedisSession::connect_to(const RedisAddress& address) {
  address_ = address;
  user_.reset();
  user_ = std::make_unique<User>(scheduler_, address, patience_);
  run_until([this] { return user_->connection.is_connected() || user_->is_refused(); });
  if (user_->connection.is_connected()) return {};
  if (user_->trouble.ok())
    return {StatusCode::Unavailable, "Redis at " + address_.to_string() + ": accepts connections and does not answer"};
  const Status& why = user_->trouble;
  const bool ours = why.code() == StatusCode::PermissionDenied || why.code() == StatusCode::InvalidArgument;
  return ours ? why : Status{StatusCode::Unavailable, std::string{why.message()}};
}

Result<RedisAddress> RedisSession::find_master(const RedisAddress& address) {
  Status last;
  for (std::size_t i = 0; i < address.sentinels.size(); ++i) {
    const RedisAddress sentinel = address.sentinel(i);
    last = connect_to(sentinel);
    if (!last.ok()) continue;
    const Result<RedisAnswer> answer = ask({"SENTINEL", "GET-MASTER-ADDR-BY-NAME", address.sentinel_master});
    if (!answer || answer->items.size() != 2) {
      last = answer ? Status{StatusCode::NotFound, sentinel.to_string() + " knows no master '" + address.sentinel_master + "'"}
                    : answer.error();
      continue;
    }
    const std::string& digits = answer->items[1].text;
    std::uint16_t port = 0;
    std::from_chars(digits.data(), digits.data() + digits.size(), port);
    return address.master(answer->items[0].text, port);
  }
  return failure(last.with_context("no Sentinel names the master"));
}

Result<std::vector<RedisAnswer>> RedisSession::ask(const std::vector<RedisCommand>& commands) {
  if (!user_->connection.is_connected()) return failure(user_->connection.trouble());
  const auto answers = std::make_shared<std::vector<RedisAnswer>>();  // A late answer may outlive this call.
  for (const RedisCommand& command : commands) {
    user_->connection.out().begin(command.size());
    for (const std::string& word : command) user_->connection.out().word(word);
    user_->connection.expect(1, redis::shape::kAny, [answers, name = command.front()](const redis::Reply& reply, const Status&) {
      answers->push_back(copy(reply, name));
    });
  }
  user_->trouble = Status{};
  const bool came = run_until([&] { return answers->size() == commands.size() || !user_->trouble.ok(); });
  if (!user_->trouble.ok()) return failure(user_->trouble);
  if (!came) return failure(StatusCode::DeadlineExceeded, "Redis at " + address_.to_string() + " does not answer");
  return std::move(*answers);
}

Result<RedisAnswer> RedisSession::ask(const RedisCommand& command) {
  Result<std::vector<RedisAnswer>> answers = ask(std::vector<RedisCommand>{command});
  if (!answers) return failure(answers.error());
  if (!answers->front().error.ok()) return failure(answers->front().error);
  return std::move(answers->front());
}

}  // namespace rondo::cli
