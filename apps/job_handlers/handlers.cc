// See handlers.h. The handlers are short, so they run in a turn of the job's priority.
#include "job_handlers/handlers.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rondo/base/text.h"
#include "switch_agent/tables.h"

namespace rondo::daemon {

namespace {

std::vector<std::string_view> words_of(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\n";
  std::vector<std::string_view> words;
  for (std::size_t at = text.find_first_not_of(kBlanks); at != std::string_view::npos;) {
    const std::size_t end = text.find_first_of(kBlanks, at);
    words.push_back(text.substr(at, end - at));
    at = text.find_first_not_of(kBlanks, end);
  }
  return words;
}

Status wrong(const std::string& what) { return {StatusCode::InvalidArgument, "parameters of the handler 'table': " + what}; }

/// What parameters of the handler 'table' say. The fields are parts of the parameters.
struct RowWrite {
  std::string table;
  std::string key;
  bool is_delete = false;
  std::vector<Field> fields = {};
};

Result<RowWrite> write_of(std::string_view parameters, Runtime& runtime) {
  std::vector<std::string_view> words = words_of(parameters);
  const bool is_delete = !words.empty() && words.front() == "del";
  if (is_delete) words.erase(words.begin());
  if (words.size() < 2) return failure(wrong("'TABLE KEY FIELD=VALUE ...' or 'del TABLE KEY' is expected"));
  RowWrite write{.table = std::string{words[0]}, .key = std::string{words[1]}, .is_delete = is_delete};
  const switch_agent::TableReference* const table = switch_agent::find_table(write.table);
  const std::vector<TableSpec> declared = runtime.store().tables();
  if (table == nullptr || std::ranges::find(declared, write.table, &TableSpec::name) == declared.end())
    return failure(StatusCode::NotFound, "the handler 'table' knows no table '" + escape_text(write.table) + "'");
  if (table->canonical_key != nullptr) write.key = table->canonical_key(write.key).value_or(write.key);
  if (is_delete && words.size() > 2) return failure(wrong("nothing follows the key of 'del'"));
  for (const std::string_view word : std::span{words}.subspan(2)) {
    const std::size_t equals = word.find('=');
    if (equals == std::string_view::npos) return failure(wrong("'" + escape_text(word) + "' has no '='"));
    const std::string_view field = word.substr(0, equals);
    if (const std::string unknown = switch_agent::unknown_field(*table, field); !unknown.empty()) return failure(wrong(unknown));
    write.fields.push_back({field, word.substr(equals + 1)});
  }
  return write;
}

}  // namespace

Status write_row_of(std::string_view parameters, Runtime& runtime) {
  const Result<RowWrite> write = write_of(parameters, runtime);
  if (!write) return write.error();
  Table table = runtime.table(write->table);
  return write->is_delete ? table.remove(write->key) : table.set(write->key, write->fields);
}

Status check_row_of(std::string_view parameters, Runtime& runtime) {
  const Result<RowWrite> write = write_of(parameters, runtime);
  return write ? Status{} : Status{StatusCode::InvalidArgument, std::string{write.error().message()}};
}

void add_handlers(jobs::Jobs& jobs, Runtime& runtime, Log& log) {
  jobs.handle_in_turn("log", [&log](const jobs::JobContext& context) {
    log.info("job", {{"job", context.job}, {"run", context.run}, {"parameters", context.parameters}});
    return Status{};
  });
  jobs.handle_in_turn("none", [](const jobs::JobContext&) { return Status{}; });
  jobs.handle_in_turn(
      "table", [&runtime](const jobs::JobContext& context) { return write_row_of(context.parameters, runtime); },
      [&runtime](const jobs::Job& job, const std::function<void(const Status&)>& checked) {
        checked(check_row_of(job.parameters, runtime));
      });
}

void offer_switch_facts(jobs::Jobs& jobs) {
  for (const FactKind kind : {FactKind{"port"}, FactKind{"admin-up"}, FactKind{"carrier"}}) jobs.offer_facts(kind);
}

}  // namespace rondo::daemon
