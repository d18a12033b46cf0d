// A Redis as a backend: the store exists in this process while the command runs. Its answers equal the daemon's.
#include <algorithm>
#include <boost/json.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <variant>
#include <vector>

#include "base/counted.h"

#include "admin/bulk_writer.h"
#include "admin/key_pattern.h"
#include "backends/redis/backend.h"
#include "backends/redis/facts.h"
#include "backends/redis/session.h"
#include "backends/redis/tables.h"
#include "output/print.h"
#include "rondo/base/text.h"
#include "rondo/store/redis_store.h"
#include "store/redis/database_config.h"

namespace rondo::cli {
namespace {

namespace json = boost::json;

/// The most unanswered rows of a bulk write.
constexpr std::size_t kUnansweredMax = 16 * 1024;
constexpr std::size_t kRowsBetweenTurns = 512;
constexpr std::size_t kPageRows = 512;

std::string text_of(const json::object& arguments, std::string_view name) {
  const json::value* const value = arguments.if_contains(name);
  return value != nullptr && value->is_string() ? unescape_text(std::string{value->get_string()}) : std::string{};
}

json::array fields_json(const Fields& fields) {
  json::array list;
  for (const Field field : fields) list.push_back(json::array{escape_text(field.name), escape_text(field.value)});
  return list;
}

/// Converts a change to the form of the table's kind: a Channel has events.
Change change_for(TableKind kind, ChangeOp op, std::string_view key, std::span<const Field> fields) {
  if (kind == TableKind::Channel) return Change::event(to_string(op), key, fields);
  return op == ChangeOp::Delete ? Change::remove(key) : Change::set(key, fields);
}

/// Writes many rows to the store, with enough unanswered that the connection is never idle, and a bound on memory.
class StoreSink final : public BulkSink {
 public:
  StoreSink(RedisSession& session, RedisStore& store, TableKind kind, const std::function<void(const BulkTotals&)>& on_totals)
      : session_(session), store_(store), kind_(kind), on_totals_(on_totals) {}

  Status begin(std::string_view table) override {
    table_ = table;
    return store_.declare({.name = table_, .kind = kind_});
  }
  Status row(BulkOp op, std::string_view key, std::span<const BulkField> fields) override {
    if (++totals_.sent % kRowsBetweenTurns == 0) session_.scheduler().run_until_idle(kRowsBetweenTurns);
    if (Status room = wait_for_room(kUnansweredMax); !room.ok()) return room;
    fields_.clear();
    for (const BulkField& field : fields) fields_.push_back({field.name, field.value});
    Status written = check_record(key, fields_);
    if (written.ok()) {
      const ChangeOp what = op == BulkOp::Delete ? ChangeOp::Delete : ChangeOp::Set;
      written = store_.write(
          table_, change_for(kind_, what, key, fields_),
          [this, name = table_ + ":" + std::string{key}, number = totals_.sent - 1](const Status& status) { ended(name, number, status); });
    }
    if (!written.ok()) ended(table_ + ":" + std::string{key}, totals_.sent - 1, written);
    return {};
  }
  Status end() override { return {}; }

  Result<BulkTotals> finish() {
    if (Status all = wait_for_room(0); !all.ok()) return failure(std::move(all));
    return totals_;
  }

 private:
  std::uint64_t unended() const noexcept { return totals_.sent - totals_.accepted - totals_.refused; }

  void ended(const std::string& row, std::uint64_t number, const Status& status) {
    if (status.ok()) {
      ++totals_.accepted;
    } else if (totals_.refused++ == 0) {
      totals_.first_error = status.with_context("row '" + row + "'");
      totals_.first_row = number;
    }
  }
  /// Waits until at most 'most' rows are unanswered; silence ends the wait.
  Status wait_for_room(std::uint64_t most) {
    while (unended() > most) {
      const std::uint64_t before = unended();
      if (!session_.run_until([&] { return unended() < before; })) {
        return {StatusCode::DeadlineExceeded,
                counted(before, "row was", "rows were") + " not answered by Redis at " + session_.address().to_string()};
      }
      on_totals_(totals_);
    }
    return {};
  }

  RedisSession& session_;
  RedisStore& store_;
  const TableKind kind_;
  const std::function<void(const BulkTotals&)>& on_totals_;
  std::string table_;
  std::vector<Field> fields_;
  BulkTotals totals_;
};

class RedisBackend final : public Backend {
 public:
  /// 'kind' is what the user asked for, and 'usual' the kind of the database's tables.
  RedisBackend(std::unique_ptr<RedisSession> session, char separator, std::optional<TableKind> kind, TableKind usual)
      : session_(std::move(session)), separator_(separator), kind_(kind), usual_(usual) {}

  Result<json::object> call(const std::string& command, const json::object& arguments, const OnRow& on_row) override {
    json::array rows;
    const OnRow take = on_row ? on_row : OnRow{[&rows](const json::value& row) { rows.push_back(row); }};
    Result<json::object> result = answer(command, arguments, take);
    const bool is_list = command == "keys" || command == "pending" || command == "doctor";
    if (result && is_list) (*result)["rows"] = std::move(rows);  // An empty list, too.
    return result;
  }

  Result<BulkTotals> write(const std::function<Status(BulkSink& sink)>& rows,
                           const std::function<void(const BulkTotals&)>& on_totals) override {
    if (Status opened = open(); !opened.ok()) return failure(std::move(opened));
    StoreSink sink(*session_, *store_, kind_.value_or(usual_), on_totals);
    if (Status written = rows(sink); !written.ok()) return failure(std::move(written));
    return sink.finish();
  }

 private:
  Result<json::object> answer(const std::string& command, const json::object& arguments, const OnRow& on_row);
  Status open();
  Status open(const std::string& table, TableKind kind);
  Status set(const json::object& arguments, ChangeOp op);
  Result<json::object> get(const json::object& arguments);
  Status keys(const std::string& table, const OnRow& on_row);
  Status watch(const json::object& arguments, const OnRow& on_row);
  redis::TableKeys keys_of(const std::string& table) const { return {table, separator_, session_->address().database}; }
  Status silent(const std::string& what) const {
    const Status health = store_->health();
    return {
        health.ok() ? StatusCode::DeadlineExceeded : StatusCode::Unavailable,
        what + ": no answer from Redis at " + session_->address().to_string() + (health.ok() ? "" : "; " + std::string{health.message()})};
  }

  const std::unique_ptr<RedisSession> session_;
  const char separator_;
  const std::optional<TableKind> kind_;
  const TableKind usual_;
  std::unique_ptr<RedisStore> store_;
};

/// Opens the store when a command needs it.
Status RedisBackend::open() {
  if (store_ != nullptr) return {};
  RedisStoreOptions options;
  options.address = session_->address();
  options.separator = separator_;
  options.name = "rondo";
  options.log_unreachable = false;  // The command's error says it.
  options.connect_timeout = options.answer_timeout = session_->patience();
  store_ = std::make_unique<RedisStore>(session_->scheduler(), std::move(options));
  if (!session_->run_until([this] { return store_->health().ok(); })) return silent("opening the store");
  return {};
}

Status RedisBackend::open(const std::string& table, TableKind kind) {
  if (Status opened = open(); !opened.ok()) return opened;
  return store_->declare({.name = table, .kind = kind});
}

Result<json::object> RedisBackend::answer(const std::string& command, const json::object& arguments, const OnRow& on_row) {
  const std::string table = text_of(arguments, "table");
  const auto done = [](Status status) { return status.ok() ? Result<json::object>{json::object{}} : failure(std::move(status)); };
  if (command == "set") return done(set(arguments, ChangeOp::Set));
  if (command == "send") return done(set(arguments, ChangeOp::Event));
  if (command == "del") return done(set(arguments, ChangeOp::Delete));
  if (command == "get") return get(arguments);
  if (command == "keys") return done(keys(table, wanted_keys(arguments, on_row)));
  if (command == "watch") return done(watch(arguments, on_row));
  if (command == "pending") return done(list_pending(*session_, keys_of(table), kind_.value_or(TableKind::Staged), on_row));
  if (command == "clear") return clear_table(*session_, keys_of(table), kind_.value_or(usual_));
  if (command == "doctor") return examine_server(*session_, arguments.contains("stock_peers"), on_row);
  return failure(StatusCode::Unimplemented, "'" + command + "' is a daemon's to answer, not a store's");
}

Status RedisBackend::set(const json::object& arguments, ChangeOp op) {
  const std::string table = text_of(arguments, "table");
  const TableKind kind = kind_.value_or(op == ChangeOp::Event ? TableKind::Channel : usual_);
  if (op == ChangeOp::Event && kind != TableKind::Channel)
    return {StatusCode::InvalidArgument, "an event is sent to a channel: --kind channel"};
  std::vector<std::pair<std::string, std::string>> pairs;
  if (const json::value* const given = arguments.if_contains("fields")) {
    for (const json::value& field : given->as_array()) {
      const json::array& pair = field.as_array();
      pairs.emplace_back(unescape_text(std::string{pair[0].as_string()}), unescape_text(std::string{pair[1].as_string()}));
    }
  }
  std::vector<Field> fields;
  for (const auto& [name, value] : pairs) fields.push_back({name, value});
  const std::string key = text_of(arguments, "key");
  if (Status bad = check_record(key, fields); !bad.ok()) return bad;
  if (Status opened = open(table, kind); !opened.ok()) return opened;
  auto end = std::make_shared<std::optional<Status>>();
  const Change change = op == ChangeOp::Event ? Change::event(text_of(arguments, "op"), key, fields) : change_for(kind, op, key, fields);
  Status written = store_->write(table, change, [end](const Status& status) { *end = status; });
  if (!written.ok()) return written;
  if (!session_->run_until([&end] { return end->has_value(); })) return silent("writing " + table);
  return **end;
}

Result<json::object> RedisBackend::get(const json::object& arguments) {
  const std::string table = text_of(arguments, "table");
  const std::string key = text_of(arguments, "key");
  if (Status opened = open(table, TableKind::Staged); !opened.ok()) return failure(std::move(opened));
  auto row = std::make_shared<std::optional<Result<Record>>>();
  store_->get(table, key, [row](const Result<Record>& record) { *row = record; });
  if (!session_->run_until([&row] { return row->has_value(); })) return failure(silent("reading " + table));
  const Result<Record>& record = **row;
  if (!record) return failure(record.error());
  if (!*record) return failure(StatusCode::NotFound, "no row '" + escape_text(key) + "' in " + table);
  return json::object{{"key", escape_text(key)}, {"fields", fields_json(record->fields())}};
}

Status RedisBackend::keys(const std::string& table, const OnRow& on_row) {
  if (Status opened = open(table, TableKind::Staged); !opened.ok()) return opened;
  std::unordered_set<std::string> seen;  // A scan may return a key twice.
  std::string cursor;
  do {
    auto page = std::make_shared<std::optional<Result<RowPage>>>();
    store_->scan(table, cursor, kPageRows, [page](const Result<RowPage>& got) { *page = got; });
    if (!session_->run_until([&page] { return page->has_value(); })) return silent("reading " + table);
    const Result<RowPage>& got = **page;
    if (!got) return got.error();
    for (const Record& row : got->rows) {
      if (seen.emplace(row.key()).second) on_row(json::object{{"key", escape_text(row.key())}});
    }
    cursor = got->next;
  } while (!cursor.empty());
  return {};
}

Status RedisBackend::watch(const json::object& arguments, const OnRow& on_row) {
  const std::string table = text_of(arguments, "table");
  const TableKind kind = kind_.value_or(TableKind::Watched);
  if (kind != TableKind::Watched && kind != TableKind::Channel) {
    return {StatusCode::InvalidArgument, "watch takes nothing from a table's consumer: --kind watched (the rows) or channel"};
  }
  const json::value* const count = arguments.if_contains("count");
  std::uint64_t left = count == nullptr ? UINT64_MAX : count->to_number<std::uint64_t>();
  const json::value* const milliseconds = arguments.if_contains("milliseconds");
  const Instant deadline = milliseconds == nullptr
                               ? Instant::never()
                               : session_->clock().now() + std::chrono::milliseconds{milliseconds->to_number<std::int64_t>()};
  const std::string pattern = text_of(arguments, "pattern");
  const KeyPattern wanted{pattern};
  if (Status opened = open(table, kind); !opened.ok()) return opened;
  const Result<std::unique_ptr<Subscription>> changes = store_->subscribe(table);
  if (!changes) return changes.error();
  std::vector<Change> taken;
  while (left > 0) {
    if (!session_->run_until([&] { return !(*changes)->empty(); }, deadline)) return {};
    if ((*changes)->take_gap()) on_row(json::object{{"op", "GAP"}, {"key", ""}, {"fields", json::array{}}});
    taken.clear();
    (*changes)->take(static_cast<std::size_t>(std::min<std::uint64_t>(left, kPageRows)), taken);
    for (const Change& change : taken) {
      if (!pattern.empty() && !wanted.matches(change.key())) continue;
      --left;
      on_row(
          json::object{{"op", escape_text(change.verb())}, {"key", escape_text(change.key())}, {"fields", fields_json(change.fields())}});
    }
  }
  return {};
}

/// The kind of table of --kind, if given.
std::optional<TableKind> kind_of(const StoreChoice& choice) {
  for (const TableKind kind : {TableKind::Staged, TableKind::Watched, TableKind::Channel, TableKind::Queue}) {
    if (choice.kind == to_string(kind)) return kind;
  }
  return std::nullopt;
}

/// False if a program that writes a table as one kind misses one that reads it as the other. Queues and channels have tables of their own.
bool may_meet(TableKind given, TableKind usual) {
  const auto has_rows = [](TableKind kind) { return kind == TableKind::Staged || kind == TableKind::Watched; };
  return given == usual || !has_rows(given);
}

bool is_write(const Options& options) {
  return std::holds_alternative<SetRow>(options.action) || std::holds_alternative<LoadFile>(options.action) ||
         std::holds_alternative<FeedRoutes>(options.action);
}

/// Finds the database of the tables, and the separator between table and key.
Result<DatabaseEntry> find_database(const StoreChoice& choice) {
  if (choice.where.find("://") != std::string::npos) {
    Result<RedisAddress> address = parse_redis_address(choice.where);
    if (!address) return failure(address.error().with_context("--store"));
    return DatabaseEntry{.address = std::move(*address), .separator = ':'};
  }
  if (choice.database_config.empty()) return default_database(choice.where);
  const Result<DatabaseConfig> config = read_database_config(choice.database_config);
  if (!config) return failure(config.error());
  return config->find(choice.where, choice.name_space, choice.container);
}

}  // namespace

Result<std::unique_ptr<Backend>> open_redis(const Options& options) {
  const Result<DatabaseEntry> database = find_database(options.store);
  if (!database) return failure(database.error());
  auto session = std::make_unique<RedisSession>(options.patience);
  if (Status connected = session->connect(database->address); !connected.ok()) return failure(std::move(connected));
  const char separator = options.store.separator.value_or(database->separator);
  const bool is_named = options.store.where.find("://") == std::string::npos;
  const TableKind usual = is_named ? usual_kind(*database) : TableKind::Staged;
  const std::optional<TableKind> kind = kind_of(options.store);
  if (is_named && is_write(options) && !may_meet(kind.value_or(usual), usual)) {
    print_error("rondo: warning: programs that use " + visible_text(options.store.where) + " expect " + std::string{to_string(usual)} +
                " tables: they do not see what is written as " + std::string{to_string(*kind)} + ", and the other way round\n");
  }
  return std::make_unique<RedisBackend>(std::move(session), separator, kind, usual);
}

}  // namespace rondo::cli
