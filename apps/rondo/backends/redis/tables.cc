// See tables.h. Every command is bounded, so that no other client of the server waits long.
#include "backends/redis/tables.h"

#include <algorithm>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "rondo/base/text.h"

namespace rondo::cli {
namespace {

namespace json = boost::json;

constexpr const char* kPage = "512";
constexpr std::int64_t kQueuePage = 512;

/// A pattern that matches only 'text'.
std::string literal(std::string_view text) {
  std::string pattern;
  for (const char c : text) {
    if (std::string_view{"*?[]\\"}.find(c) != std::string_view::npos) pattern.push_back('\\');
    pattern.push_back(c);
  }
  return pattern;
}

json::object row_of(const std::string& key, const std::string& op) { return {{"key", escape_text(key)}, {"op", op}}; }

/// Returns the names of one page of SCAN or SSCAN. Advances 'cursor', which is "0" at the end.
Result<std::vector<std::string>> next_page(RedisSession& session, RedisCommand command, std::string& cursor) {
  Result<RedisAnswer> page = session.ask(command);
  if (!page) return failure(page.error());
  if (page->items.size() != 2) return failure(StatusCode::DataLoss, command.front() + " was answered with something else");
  cursor = page->items[0].text;
  std::vector<std::string> names;
  for (RedisAnswer& item : page->items[1].items) names.push_back(std::move(item.text));
  return names;
}

/// Reports the staged changes of each of 'names', with two queries per key in one round trip.
Status list_named(RedisSession& session, const redis::TableKeys& keys, const std::vector<std::string>& names,
                  const std::function<void(const json::value&)>& on_row) {
  std::vector<RedisCommand> commands;
  for (const std::string& name : names) {
    commands.push_back({"SISMEMBER", keys.deleted, name});
    commands.push_back({"EXISTS", keys.staging + name});
  }
  if (commands.empty()) return {};
  const Result<std::vector<RedisAnswer>> answers = session.ask(commands);
  if (!answers) return answers.error();
  for (std::size_t i = 0; i < names.size(); ++i) {
    const bool deleted = (*answers)[2 * i].integer == 1;
    const bool set = (*answers)[2 * i + 1].integer == 1;
    on_row(row_of(names[i], deleted ? (set ? "DEL,SET" : "DEL") : "SET"));
  }
  return {};
}

Status list_staged(RedisSession& session, const redis::TableKeys& keys, const std::function<void(const json::value&)>& on_row) {
  std::unordered_set<std::string> seen;  // A scan may return a member twice.
  std::string cursor = "0";
  do {
    Result<std::vector<std::string>> names = next_page(session, {"SSCAN", keys.pending, cursor, "COUNT", kPage}, cursor);
    if (!names) return names.error();
    std::erase_if(*names, [&seen](const std::string& name) { return !seen.insert(name).second; });
    if (Status listed = list_named(session, keys, *names, on_row); !listed.ok()) return listed;
  } while (cursor != "0");
  return {};
}

/// The list's right end is its oldest entry. An entry has three elements, from left to right: operation, value, key.
Status list_queue(RedisSession& session, const redis::TableKeys& keys, const std::function<void(const json::value&)>& on_row) {
  for (std::int64_t taken = 0;; taken += 3 * kQueuePage) {
    const Result<RedisAnswer> page =
        session.ask({"LRANGE", keys.queue, std::to_string(-taken - 3 * kQueuePage), std::to_string(-taken - 1)});
    if (!page) return page.error();
    const std::vector<RedisAnswer>& items = page->items;
    for (std::size_t i = items.size(); i >= 3; i -= 3) {
      const std::string& word = items[i - 3].text;  // An S or D followed by the command.
      on_row(row_of(items[i - 1].text, word.starts_with("D") ? "DEL" : word.starts_with("S") ? "SET" : visible_text(word)));
    }
    if (items.size() < static_cast<std::size_t>(3 * kQueuePage)) return {};
  }
}

/// Deletes every key that begins with 'prefix'.
Result<std::int64_t> delete_all(RedisSession& session, const std::string& prefix) {
  std::int64_t deleted = 0;
  std::string cursor = "0";
  do {
    Result<std::vector<std::string>> names = next_page(session, {"SCAN", cursor, "MATCH", literal(prefix) + "*", "COUNT", kPage}, cursor);
    if (!names) return failure(names.error());
    if (names->empty()) continue;
    RedisCommand command{"UNLINK"};
    std::ranges::move(*names, std::back_inserter(command));
    const Result<RedisAnswer> answer = session.ask(command);
    if (!answer) return failure(answer.error());
    deleted += answer->integer;
  } while (cursor != "0");
  return deleted;
}

}  // namespace

Status list_pending(RedisSession& session, const redis::TableKeys& keys, TableKind kind,
                    const std::function<void(const json::value&)>& on_row) {
  switch (kind) {
    case TableKind::Staged: return list_staged(session, keys, on_row);
    case TableKind::Queue: return list_queue(session, keys, on_row);
    case TableKind::Watched:
    case TableKind::Channel: break;
  }
  return {StatusCode::InvalidArgument, "nothing waits in a " + std::string{to_string(kind)} + " table: --kind staged or queue"};
}

Result<json::object> clear_table(RedisSession& session, const redis::TableKeys& keys, TableKind kind) {
  // Deletes the waiting changes first and in one step, so that a consumer finds none instead of some of them.
  const Result<std::vector<RedisAnswer>> waiting = session.ask({{"MULTI"},
                                                                {"SCARD", keys.pending},
                                                                {"LLEN", keys.queue},
                                                                {"UNLINK", keys.pending, keys.deleted, keys.queue, keys.inflight},
                                                                {"EXEC"}});
  if (!waiting) return failure(waiting.error());
  if (!waiting->back().error.ok()) return failure(waiting->back().error);
  const std::vector<RedisAnswer>& counts = waiting->back().items;
  if (counts.size() != 3) return failure(StatusCode::DataLoss, "EXEC was answered with something else");
  for (const RedisAnswer& count : counts) {
    if (!count.error.ok()) return failure(count.error);
  }
  const Result<std::int64_t> staged = delete_all(session, keys.staging);
  if (!staged) return failure(staged.error());
  Result<std::int64_t> rows = delete_all(session, keys.rows);
  if (!rows) return failure(rows.error());
  if (kind == TableKind::Queue) {
    const Result<RedisAnswer> of_empty_key = session.ask({"UNLINK", std::string{keys.queue_rows({})}});
    if (!of_empty_key) return failure(of_empty_key.error());
    *rows += of_empty_key->integer;
  }
  return json::object{{"deleted_pending", counts[0].integer + counts[1].integer / 3}, {"deleted_staged", *staged}, {"deleted_rows", *rows}};
}

}  // namespace rondo::cli
