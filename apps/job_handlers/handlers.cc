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

}  // namespace

Status write_row_of(std::string_view parameters, Runtime& runtime) {
  std::vector<std::string_view> words = words_of(parameters);
  const bool is_delete = !words.empty() && words.front() == "del";
  if (is_delete) words.erase(words.begin());
  if (words.size() < 2) return wrong("'TABLE KEY FIELD=VALUE ...' or 'del TABLE KEY' is expected");
  const std::string name{words[0]};
  const switch_agent::TableReference* const table = switch_agent::find_table(name);
  const std::vector<TableSpec> declared = runtime.store().tables();
  if (table == nullptr || std::ranges::find(declared, name, &TableSpec::name) == declared.end()) {
    return {StatusCode::NotFound, "the handler 'table' knows no table '" + escape_text(name) + "'"};
  }
  std::string key{words[1]};
  if (table->canonical_key != nullptr) key = table->canonical_key(key).value_or(key);
  if (is_delete) return words.size() > 2 ? wrong("nothing follows the key of 'del'") : runtime.table(name).remove(key);
  std::vector<Field> fields;
  for (const std::string_view word : std::span{words}.subspan(2)) {
    const std::size_t equals = word.find('=');
    if (equals == std::string_view::npos) return wrong("'" + escape_text(word) + "' has no '='");
    const std::string_view field = word.substr(0, equals);
    if (const std::string unknown = switch_agent::unknown_field(*table, field); !unknown.empty()) return wrong(unknown);
    fields.push_back({field, word.substr(equals + 1)});
  }
  return runtime.table(name).set(key, fields);
}

void add_handlers(jobs::Jobs& jobs, Runtime& runtime, Log& log) {
  jobs.handle_in_turn("log", [&log](const jobs::JobContext& context) {
    log.info("job", {{"job", context.job}, {"run", context.run}, {"parameters", context.parameters}});
    return Status{};
  });
  jobs.handle_in_turn("none", [](const jobs::JobContext&) { return Status{}; });
  jobs.handle_in_turn("table", [&runtime](const jobs::JobContext& context) { return write_row_of(context.parameters, runtime); });
}

void offer_switch_facts(jobs::Jobs& jobs) {
  for (const FactKind kind : {FactKind{"port"}, FactKind{"admin-up"}, FactKind{"carrier"}}) jobs.offer_facts(kind);
}

}  // namespace rondo::daemon
