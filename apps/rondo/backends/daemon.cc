// The daemon as a backend, and the choice of the backend.
#include <algorithm>
#include <array>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "admin/bulk_writer.h"
#include "admin/key_pattern.h"
#include "backends/backend.h"
#include "backends/registry.h"
#include "backends/remote.h"
#include "backends/socket_path.h"
#include "commands/load.h"
#include "rondo/admin/limits.h"
#include "rondo/base/clock.h"
#include "rondo/base/text.h"

namespace rondo::cli {
namespace {

namespace json = boost::json;

/// How long an export waits for consumers, and how often it looks.
constexpr Duration kExportWait = 2s;
constexpr Duration kExportLook = 20ms;

/// Joins the parts of a large row ([number of the field, name, part of its value], docs/guide/admin-protocol.md).
Result<json::object> whole_row(Result<json::object> answer) {
  if (!answer || !answer->contains("rows")) return answer;
  std::string key;
  std::vector<std::pair<std::string, std::string>> fields;
  for (const json::value& row : answer->at("rows").as_array()) {
    const json::array* const part = row.if_array();
    const bool good = part != nullptr && part->size() == 3 && (*part)[0].is_int64() && (*part)[1].is_string() && (*part)[2].is_string();
    if (!good) return failure(StatusCode::DataLoss, "the daemon's answer makes no sense: a part of a row");
    const std::int64_t number = (*part)[0].get_int64();
    if (number < 0) {
      key = std::string{(*part)[1].get_string()};
      continue;
    }
    if (static_cast<std::size_t>(number) >= fields.size()) fields.emplace_back(std::string{(*part)[1].get_string()}, std::string{});
    fields.back().second += unescape_text(std::string{(*part)[2].get_string()});
  }
  json::array list;
  for (const auto& [name, value] : fields) list.push_back(json::array{json::string{name}, json::string{escape_text(value)}});
  return json::object{{"key", key}, {"fields", std::move(list)}};
}

class DaemonBackend final : public Backend {
 public:
  explicit DaemonBackend(std::unique_ptr<AdminClient> client) : client_(std::move(client)) {}

  Result<boost::json::object> call(const std::string& command, const boost::json::object& arguments, const OnRow& on_row) override {
    if (command == "get") return whole_row(client_->call(command, arguments));
    if (command == "export") return export_rows(arguments, on_row);
    constexpr std::array<std::string_view, 4> kStreamed{"show", "keys", "parked", "rejected"};  // Their rows are not kept.
    const bool is_kept = std::ranges::find(kStreamed, command) == kStreamed.end();
    if (!on_row) return client_->call(command, arguments);
    return client_->call(command, arguments, on_row, is_kept ? limits::kAdminAnswerBytes : SIZE_MAX);
  }

  Result<BulkTotals> write(const std::function<Status(BulkSink& sink)>& rows,
                           const std::function<void(const BulkTotals&)>& on_totals) override {
    BulkWriter writer(*client_, {}, on_totals);
    if (Status written = rows(writer); !written.ok()) return failure(std::move(written));
    return writer.finish();
  }

 private:
  /// The tables whose rows can be written again. Excludes the table that the switch agent derives from the rows of others, and the runs of
  /// jobs.
  Result<std::vector<std::string>> tables_to_export(const json::object& arguments) {
    if (const json::value* const table = arguments.if_contains("table")) return std::vector<std::string>{std::string{table->as_string()}};
    std::vector<std::string> tables;
    const Result<json::object> answer = client_->call(
        "tables", {},
        [&tables](const json::value& row) {
          const std::string_view kind = row.at("kind").as_string();
          const std::string table{row.at("table").as_string()};
          const bool is_derived = table.starts_with("JOB_RUN_");
          if ((kind == "staged" || kind == "watched") && !is_derived) tables.push_back(table);
        },
        limits::kAdminAnswerBytes);
    if (!answer) return failure(answer.error());
    return tables;
  }

  /// Exports each row in the form of `load`. A large row is requested separately, because `show` omits its fields.
  Result<json::object> export_rows(const json::object& arguments, const OnRow& on_row) {
    const Result<std::vector<std::string>> tables = tables_to_export(arguments);
    if (!tables) return failure(tables.error());
    const Result<std::string> left = await_taken(*tables);
    if (!left) return failure(left.error());
    for (const std::string& table : *tables) {
      std::vector<std::string> large;
      const auto tell = [&](const json::value& row) {
        if (row.as_object().contains("large")) {
          large.emplace_back(row.at("key").as_string());
        } else {
          on_row(entry_of(table, row.as_object()));
        }
      };
      const Result<json::object> answer = client_->call("show", {{"table", table}}, tell);
      if (!answer) return failure(answer.error());
      for (const std::string& key : large) {
        const Result<json::object> row = whole_row(client_->call("get", {{"table", table}, {"key", key}}));
        if (row) on_row(entry_of(table, *row));
        if (!row && row.error().code() != StatusCode::NotFound) return failure(row.error());  // NotFound: the row was deleted meanwhile.
      }
    }
    if (left->empty()) return json::object{};
    return failure(StatusCode::FailedPrecondition, *left + " wait for their consumer, and the export has them as they were before");
  }

  /// `show` has what consumers have taken. Waits until they have taken what was accepted before the call, for at most kExportWait. Returns
  /// the first table with changes that are not taken then, as text; empty: there is none.
  Result<std::string> await_taken(const std::vector<std::string>& tables) {
    const SystemClock clock;
    const Instant deadline = clock.now() + kExportWait;
    std::set<std::string, std::less<>> open{tables.begin(), tables.end()};
    for (;;) {
      std::string left;
      std::set<std::string, std::less<>> untaken;
      const auto look = [&](const json::value& row) {
        const json::value* const staged = row.as_object().if_contains("staged");
        const std::int64_t keys = staged == nullptr ? 0 : staged->to_number<std::int64_t>();
        const std::string table{row.at("table").as_string()};
        if (keys == 0 || !open.contains(table)) return;
        untaken.insert(table);
        if (left.empty()) left = std::to_string(keys) + " changed keys of " + table;
      };
      const Result<json::object> answer = client_->call("tables", {}, look, limits::kAdminAnswerBytes);
      if (!answer) return failure(answer.error());
      open = std::move(untaken);
      if (open.empty() || clock.now() >= deadline) return left;
      std::this_thread::sleep_for(kExportLook);
    }
  }

  static json::object entry_of(const std::string& table, const json::object& row) {
    std::vector<std::pair<std::string, std::string>> texts;
    for (const json::value& field : row.at("fields").as_array()) {
      const json::array& pair = field.as_array();
      texts.emplace_back(unescape_text(pair.at(0).as_string()), unescape_text(pair.at(1).as_string()));
    }
    std::vector<BulkField> fields;
    for (const auto& [name, value] : texts) fields.push_back({name, value});
    return load_entry(unescape_text(table), unescape_text(row.at("key").as_string()), BulkOp::Set, fields);
  }

  std::unique_ptr<AdminClient> client_;
};

}  // namespace

Backend::OnRow wanted_keys(const json::object& arguments, Backend::OnRow on_row) {
  const json::value* const pattern = arguments.if_contains("pattern");
  const json::value* const count = arguments.if_contains("count");
  return [on_row = std::move(on_row), all = pattern == nullptr,
          wanted = KeyPattern{pattern == nullptr ? std::string{} : unescape_text(std::string{pattern->as_string()})},
          left = count == nullptr ? INT64_MAX : count->as_int64()](const json::value& row) mutable {
    const std::string key = unescape_text(std::string{row.at("key").as_string()});
    if (left <= 0 || (!all && !wanted.matches(key))) return;
    --left;
    on_row(row);
  };
}

Result<std::unique_ptr<Backend>> open_backend(const Options& options) {
  if (options.store.given()) return open_store(options);
  Result<std::unique_ptr<AdminClient>> client = open_daemon(options);
  if (!client) return failure(client.error());
  return std::make_unique<DaemonBackend>(std::move(*client));
}

Result<std::unique_ptr<AdminClient>> open_daemon(const Options& options) {
  if (options.remote.given()) {
    const Result<Connect> connect = open_remote(options.remote);
    return connect ? (*connect)(options.patience) : failure(connect.error());
  }
  std::string tried;
  for (const std::string& path : socket_candidates(options.socket)) {
    Result<std::unique_ptr<AdminClient>> client = AdminClient::connect(path, options.patience);
    if (client) return client;
    if (client.error().code() == StatusCode::PermissionDenied || client.error().code() == StatusCode::InvalidArgument)
      return failure(client.error());
    tried.append(tried.empty() ? "" : "; ").append(client.error().message());
  }
  return failure(StatusCode::Unavailable, "no daemon answers: " + tried);
}

}  // namespace rondo::cli
