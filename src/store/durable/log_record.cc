#include "store/durable/log_record.h"
#include "rondo/base/limits.h"

#include <array>
#include <utility>
#include <vector>

namespace rondo::store::durable {

namespace {

/// Seven bits per byte, the lowest first.
void put_number(std::uint64_t number, std::string& out) {
  while (number >= 0x80) {
    out.push_back(static_cast<char>(number | 0x80));
    number >>= 7;
  }
  out.push_back(static_cast<char>(number));
}

void put_text(std::string_view text, std::string& out) {
  put_number(text.size(), out);
  out.append(text);
}

class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}
  bool ok() const noexcept { return ok_; }
  std::string_view rest() const noexcept { return bytes_; }

  std::uint8_t byte() {
    if (bytes_.empty()) return fail();
    const auto value = static_cast<std::uint8_t>(bytes_.front());
    bytes_.remove_prefix(1);
    return value;
  }
  std::uint64_t number() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const std::uint8_t part = byte();
      if (!ok_) return 0;
      value |= std::uint64_t{part & 0x7FU} << shift;
      if (part < 0x80) return value;
    }
    return fail();
  }
  std::string_view text() {
    const std::uint64_t size = number();
    if (!ok_ || size > bytes_.size()) {
      fail();
      return {};
    }
    const std::string_view value = bytes_.substr(0, size);
    bytes_.remove_prefix(size);
    return value;
  }

 private:
  std::uint8_t fail() noexcept {
    ok_ = false;
    return 0;
  }
  std::string_view bytes_;
  bool ok_ = true;
};

bool has_record(LogRecord::Kind kind) { return kind != LogRecord::Kind::Dropped; }
bool has_fields(LogRecord::Kind kind) {
  return kind == LogRecord::Kind::Table || kind == LogRecord::Kind::Row || kind == LogRecord::Kind::Entry;
}
bool has_number(LogRecord::Kind kind) { return kind == LogRecord::Kind::Entry || kind == LogRecord::Kind::Dropped; }

Record read_record(Reader& in, bool with_fields, ChangeOp op, bool& sane) {
  const std::string_view key = in.text();
  if (!with_fields) {
    sane = in.ok() && check_record(key, {}).ok();
    return sane ? Record::make(key, {}) : Record{};
  }
  const std::string_view verb = op == ChangeOp::Event ? in.text() : std::string_view{};
  const std::uint64_t count = in.number();
  sane = in.ok() && count <= in.rest().size();  // Each field takes at least two bytes.
  if (!sane) return {};
  std::vector<Field> fields;
  fields.reserve(count);
  for (std::uint64_t i = 0; i < count && in.ok(); ++i) {
    const std::string_view name = in.text();
    fields.push_back({name, in.text()});
  }
  sane = in.ok() && check_record(key, fields).ok();
  return sane ? Record::make(key, fields, verb) : Record{};
}

}  // namespace

void encode(const LogRecord& record, std::string& out) {
  out.push_back(static_cast<char>(record.kind));
  put_number(record.table, out);
  if (has_number(record.kind)) put_number(record.number, out);
  if (record.kind == LogRecord::Kind::Entry) out.push_back(static_cast<char>(record.op));
  if (!has_record(record.kind)) return;
  put_text(record.record.key(), out);
  if (!has_fields(record.kind)) return;
  if (record.op == ChangeOp::Event) put_text(record.record.verb(), out);
  const Fields fields = record.record.fields();
  put_number(fields.size(), out);
  for (const Field field : fields) {
    put_text(field.name, out);
    put_text(field.value, out);
  }
}

Result<LogRecord> decode(std::string_view& bytes) {
  const auto nonsense = [&bytes](std::string_view what) {
    return failure(Status{StatusCode::DataLoss, "a record of the log makes no sense (" + std::string{what} + ", " +
                                                    std::to_string(bytes.size()) + " bytes before the end of its entry)"});
  };
  Reader in{bytes};
  LogRecord record;
  const std::uint8_t kind = in.byte();
  if (kind < static_cast<std::uint8_t>(LogRecord::Kind::Table) || kind > static_cast<std::uint8_t>(LogRecord::Kind::Dropped)) {
    return nonsense("its kind is " + std::to_string(kind));
  }
  record.kind = static_cast<LogRecord::Kind>(kind);
  const std::uint64_t table = in.number();
  if (has_number(record.kind)) record.number = in.number();
  if (record.kind == LogRecord::Kind::Entry) record.op = static_cast<ChangeOp>(in.byte());
  if (!in.ok() || table >= limits::kTables || record.op > ChangeOp::Event) return nonsense("its head");
  record.table = static_cast<std::uint32_t>(table);
  if (has_record(record.kind)) {
    bool sane = false;
    record.record = read_record(in, has_fields(record.kind), record.op, sane);
    if (!sane) return nonsense("its key or fields");
  }
  bytes = in.rest();
  return record;
}

LogRecord LogRecord::of_table(std::uint32_t number, const TableSpec& spec) {
  const std::string rows_max = std::to_string(spec.rows_max);
  const std::array<Field, 2> fields{Field{"kind", to_string(spec.kind)}, Field{"rows_max", rows_max}};
  return {.kind = Kind::Table, .table = number, .record = Record::make(spec.name, fields)};
}

Result<TableSpec> LogRecord::spec() const {
  TableSpec spec{.name = std::string{record.key()}};
  const auto kind_name = record.fields().text("kind");
  const auto rows_max = record.fields().integer("rows_max", 1, limits::kTableRows);
  if (!kind_name || !rows_max) return failure(Status{StatusCode::DataLoss, "the log names a table without kind or limit"});
  for (const TableKind known : {TableKind::Staged, TableKind::Watched, TableKind::Channel, TableKind::Queue}) {
    if (to_string(known) != *kind_name) continue;
    spec.kind = known;
    spec.rows_max = static_cast<std::size_t>(*rows_max);
    return spec;
  }
  return failure(Status{StatusCode::DataLoss, "the log names table " + quoted(spec.name) + " of unknown kind " + quoted(*kind_name)});
}

}  // namespace rondo::store::durable
