// The commands about rows: set, del, get, keys, tables.
#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "commands/answers.h"
#include "commands/context.h"
#include "commands/store_sink.h"
#include "commands/watchers.h"
#include "rondo/admin/key_pattern.h"
#include "rondo/base/limits.h"
#include "rondo/sched/scheduler.h"

namespace rondo::commands {

namespace {

namespace json = boost::json;

/// A row up to this size is answered whole; a larger one field by field, and a value in pieces of this size. The caller puts them together
/// and meets no bound.
constexpr std::size_t kWholeBytes = 32 * 1024;

void write_row(Context& context, const Arguments& arguments, Reply reply, Op op) {
  const std::string table = arguments.text("table");
  Store& store = context.runtime.store();
  if (Status known = check_table(store, table); !known.ok()) return reply.fail(known);
  const std::string key = arguments.text("key");
  // Done means on the disk where that is what the table promises.
  const bool waits = context.failures.waits_for_end(table);
  const WriteDone done = !waits ? context.failures.listener(table) : [reply](const Status& end) mutable {
    if (!end.ok()) return reply.fail(not_yet_written(end));
    reply.finish();
  };
  Change change = Change::remove(key);
  if (op == Op::Set) {
    const auto pairs = arguments.fields();
    std::vector<Field> fields;
    for (const auto& [name, value] : pairs) fields.push_back({name, value});
    if (Status bad = check_record(key, fields); !bad.ok()) return reply.fail(bad);
    change = Change::set(key, std::span<const Field>{fields});
  }
  const Status written = store.write(table, change, done);
  if (!written.ok()) return reply.fail(written);
  context.watchers.written(table, change);
  if (!waits) reply.finish();
}

void command_set(Context& context, const Arguments& arguments, Reply reply) { write_row(context, arguments, std::move(reply), Op::Set); }

void command_del(Context& context, const Arguments& arguments, Reply reply) { write_row(context, arguments, std::move(reply), Op::Delete); }

/// A large row: [field number, name, part of its value], the parts of a value in order.
void answer_parts(Reply reply, const Record& record) {
  reply.row(json::array{-1, text(record.key()), ""});
  reply.stream([record, field = std::size_t{0}, done = std::size_t{0}](Reply& page) mutable {
    const Fields fields = record.fields();
    while (field < fields.size() && !page.page_full()) {
      const std::string_view part = fields[field].value.substr(done, kWholeBytes);
      page.row(json::array{field, text(fields[field].name), text(part)});
      done += part.size();
      if (done < fields[field].value.size()) continue;
      ++field;
      done = 0;
    }
    return field < fields.size();
  });
}

void command_get(Context& context, const Arguments& arguments, Reply reply) {
  const std::string table = arguments.text("table");
  Store& store = context.runtime.store();
  if (Status known = check_table(store, table); !known.ok()) return reply.fail(known);
  const std::string key = arguments.text("key");
  store.get(table, key, [reply, table, key](const Result<Record>& record) mutable {
    if (!record) return reply.fail(record.error());
    if (!*record) return reply.fail(Status{Code::NotFound, "no row '" + escape_text(key) + "' in " + table});
    if (record->bytes() > kWholeBytes) return answer_parts(std::move(reply), *record);
    reply.finish(json::object{{"key", text(key)}, {"fields", fields_json(record->fields())}});
  });
}

/// The keys of a table that match, page by page: a page of the store, then, in as many turns as it takes, its keys.
class KeyLister : public std::enable_shared_from_this<KeyLister> {
 public:
  KeyLister(Store& store, std::string table, std::string pattern, std::uint64_t most)
      : store_(store), table_(std::move(table)), all_(pattern.empty()), pattern_(std::move(pattern)), left_(most) {}

  void ask(Reply reply) {
    store_.scan(table_, page_.next, limits::kAdminPageRows / 2, [self = shared_from_this(), reply](const Result<RowPage>& page) mutable {
      if (!page) return reply.fail(page.error());
      self->page_ = *page;
      self->next_ = 0;
      self->tell(std::move(reply));
    });
  }

 private:
  void tell(Reply reply) {
    while (left_ > 0 && next_ < page_.rows.size() && !reply.page_full()) {
      const std::string_view key = page_.rows[next_++].key();
      if (!all_ && !pattern_.matches(key)) continue;
      reply.row(json::object{{"key", text(key)}});
      --left_;
    }
    const bool page_done = next_ == page_.rows.size();
    if (left_ == 0 || (page_done && page_.next.empty())) return reply.finish();
    reply.next_turn([self = shared_from_this(), page_done](Reply r) {
      if (!r.wanted()) return;
      if (page_done) return self->ask(std::move(r));
      self->tell(std::move(r));
    });
  }

  Store& store_;
  const std::string table_;
  const bool all_;
  const KeyPattern pattern_;
  std::uint64_t left_;
  RowPage page_;
  std::size_t next_ = 0;
};

void command_keys(Context& context, const Arguments& arguments, Reply reply) {
  const std::string table = arguments.text("table");
  Store& store = context.runtime.store();
  if (Status known = check_table(store, table); !known.ok()) return reply.fail(known);
  std::string pattern = arguments.text("pattern");
  if (pattern.size() > limits::kPatternBytes)
    return reply.fail(Status{Code::InvalidArgument, "the pattern is longer than " + std::to_string(limits::kPatternBytes) + " bytes"});
  const std::int64_t most = arguments.integer("count", INT64_MAX);
  if (most < 1) return reply.fail(Status{Code::InvalidArgument, "'count' must be at least 1"});
  reply.expect_rows();
  std::make_shared<KeyLister>(store, table, std::move(pattern), static_cast<std::uint64_t>(most))->ask(std::move(reply));
}

void command_tables(Context& context, Reply reply) {
  Store& store = context.runtime.store();
  answer_each(std::move(reply), store.tables(), [&store](const TableSpec& spec) {
    const auto size = store.size(spec.name);
    return json::object{{"table", text(spec.name)},
                        {"kind", json::string{to_string(spec.kind)}},
                        {"rows", size && size->rows ? json::value(*size->rows) : json::value(nullptr)},
                        {"staged", size ? size->staged : 0}};
  });
}

}  // namespace

void add_row_commands(StandardAdder& commands) {
  const ArgumentSpec table = table_argument();
  const ArgumentSpec key = key_argument();
  commands.add(
      {"set", "Write a row; fields that are not named keep their value", {table, key, optional("fields", ArgumentKind::Fields, "Fields")}},
      command_set);
  commands.add({"del", "Delete a row", {table, key}}, command_del);
  commands.add({"get", "Show a row as its consumer has taken it", {table, key}, CommandEffect::Reads}, command_get);
  commands.add({"keys",
                "List the keys of a table",
                {table, optional("pattern", ArgumentKind::Text, "Only keys that match: * and ?"),
                 optional("count", ArgumentKind::Integer, "At most so many")},
                CommandEffect::Reads},
               command_keys);
  commands.add({"tables", "List the tables with their sizes", {}, CommandEffect::Reads}, command_tables);
}

}  // namespace rondo::commands
