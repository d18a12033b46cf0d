// See load.h. One JSON value is parsed at a time, so that the position of every entry in the file is known.
#include "commands/load.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <boost/json.hpp>
#include <cerrno>

#include "rondo/base/text.h"

namespace rondo::cli {
namespace {

namespace json = boost::json;

std::string_view view(json::string_view text) noexcept { return {text.data(), text.size()}; }

class LoadParser {
 public:
  LoadParser(std::string_view text, const std::string& name) : text_(text), name_(name) {}

  Result<std::vector<LoadRow>> parse() {
    skip_space();
    if (!take('[')) return failure(error_at(at_, "a '[' is due: the file is an array of entries"));
    skip_space();
    if (!take(']')) {
      do {
        if (Status read = entry(); !read.ok()) return failure(std::move(read));
        skip_space();
      } while (take(','));
      if (!take(']')) return failure(error_at(at_, "after entry " + std::to_string(rows_.size()) + " a ',' or ']' is due"));
    }
    skip_space();
    if (at_ != text_.size()) return failure(error_at(at_, "text after the end of the array"));
    return std::move(rows_);
  }

 private:
  Status error_at(std::size_t offset, const std::string& what) const {
    return Status{StatusCode::InvalidArgument, place_in(text_, name_, offset) + ": " + what};
  }
  std::string here() const { return "entry " + std::to_string(rows_.size() + 1) + ": "; }

  void skip_space() { at_ = std::min(text_.find_first_not_of(" \t\r\n", at_), text_.size()); }
  bool take(char c) {
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  Status entry() {
    skip_space();
    const std::size_t start = at_;
    if (start == text_.size() || text_[start] != '{') return error_at(start, here() + "an object is due");
    json::stream_parser parser;
    json::error_code error;
    at_ += parser.write_some(text_.data() + start, text_.size() - start, error);
    if (!error && !parser.done()) parser.finish(error);
    if (error) return error_at(at_, here() + error.message());
    const json::value value = parser.release();
    Status read = row(value.get_object());
    if (read.ok()) rows_.back().offset = start;
    return read.ok() ? read : error_at(start, here() + std::string{read.message()});
  }

  Status row(const json::object& object) {
    LoadRow row;
    const json::object* fields = nullptr;
    bool has_operation = false;
    for (const auto& member : object) {
      const std::string_view name = view(member.key());
      if (name == "OP") {
        if (Status read = operation(member.value(), row); !read.ok()) return read;
        has_operation = true;
        continue;
      }
      if (fields != nullptr)
        return Status{StatusCode::InvalidArgument,
                      "more than one \"TABLE:key\": '" + row.table + ":" + row.key + "' and '" + std::string{name} + "'"};
      const std::size_t colon = name.find(':');
      if (colon == std::string_view::npos || colon == 0)
        return Status{StatusCode::InvalidArgument, "'" + std::string{name} + "' is not TABLE:key"};
      row.table = unescape_text(name.substr(0, colon));
      row.key = unescape_text(name.substr(colon + 1));
      fields = member.value().if_object();
      if (fields == nullptr)
        return Status{StatusCode::InvalidArgument, "the value of '" + std::string{name} + "' must be an object of fields"};
    }
    if (fields == nullptr) return Status{StatusCode::InvalidArgument, "no \"TABLE:key\""};
    if (!has_operation) return Status{StatusCode::InvalidArgument, "no \"OP\""};
    if (Status read = take_fields(*fields, row); !read.ok()) return read;
    rows_.push_back(std::move(row));
    return {};
  }

  static Status operation(const json::value& value, LoadRow& row) {
    if (value.is_string() && view(value.get_string()) == "SET") {
      row.op = BulkOp::Set;
    } else if (value.is_string() && view(value.get_string()) == "DEL") {
      row.op = BulkOp::Delete;
    } else {
      return Status{StatusCode::InvalidArgument, "\"OP\" must be \"SET\" or \"DEL\", not " + json::serialize(value)};
    }
    return {};
  }

  static std::string unescaped(json::string_view text) { return unescape_text(view(text)); }

  static Status take_fields(const json::object& fields, LoadRow& row) {
    for (const auto& field : fields) {
      const std::string name = unescaped(field.key());
      if (!field.value().is_string()) {
        return Status{StatusCode::InvalidArgument, "field '" + name + "' of '" + row.table + ":" + row.key + "' must be a string, not " +
                                                       json::serialize(field.value()).substr(0, 50)};
      }
      if (row.op == BulkOp::Set) row.fields.emplace_back(name, unescaped(field.value().get_string()));
    }
    return {};
  }

  std::string_view text_;
  const std::string& name_;
  std::size_t at_ = 0;
  std::vector<LoadRow> rows_;
};

}  // namespace

Result<std::vector<LoadRow>> parse_load(std::string_view text, const std::string& name) { return LoadParser{text, name}.parse(); }

std::string place_in(std::string_view text, const std::string& name, std::size_t offset) {
  const std::string_view before = text.substr(0, std::min(offset, text.size()));
  const auto line = 1 + std::ranges::count(before, '\n');
  const std::size_t newline = before.rfind('\n');
  const std::size_t column = newline == std::string_view::npos ? before.size() + 1 : before.size() - newline;
  return name + ":" + std::to_string(line) + ":" + std::to_string(column);
}

Result<std::string> read_text(const std::string& path, std::size_t largest) {
  const bool standard = path == "-";
  const int fd = standard ? STDIN_FILENO : ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return failure(status_from_errno(errno, "open '" + path + "'"));
  std::string text;
  Status failed;
  char buffer[65536];
  for (;;) {
    const ssize_t got = ::read(fd, buffer, sizeof buffer);
    if (got == 0) break;
    if (got > 0) {
      text.append(buffer, static_cast<std::size_t>(got));
      if (text.size() <= largest) continue;
      failed = {StatusCode::ResourceExhausted,
                "'" + path + "' has more than " + std::to_string(largest) + " bytes, the most that is read of one file: split it"};
      break;
    } else if (errno != EINTR) {
      failed = status_from_errno(errno, "read '" + path + "'");
      break;
    }
  }
  if (!standard) ::close(fd);
  if (!failed.ok()) return failure(std::move(failed));
  return text;
}

json::object load_entry(std::string_view table, std::string_view key, BulkOp op, std::span<const BulkField> fields) {
  json::object members;
  for (const BulkField& field : fields) members[escape_text(field.name)] = escape_text(field.value);
  return {{escape_text(std::string{table} + ":" + std::string{key}), std::move(members)}, {"OP", op == BulkOp::Set ? "SET" : "DEL"}};
}

Status write_rows(std::span<const LoadRow> rows, BulkSink& sink) {
  std::vector<BulkField> fields;
  const std::string* open_table = nullptr;
  for (const LoadRow& row : rows) {
    if (open_table == nullptr || *open_table != row.table) {
      if (open_table != nullptr) {
        if (Status ended = sink.end(); !ended.ok()) return ended;
      }
      if (Status begun = sink.begin(row.table); !begun.ok()) return begun;
      open_table = &row.table;
    }
    fields.clear();
    for (const auto& [name, value] : row.fields) fields.push_back({name, value});
    if (Status written = sink.row(row.op, row.key, fields); !written.ok())
      return written.with_context("row '" + row.table + ":" + row.key + "'");
  }
  return open_table == nullptr ? Status{} : sink.end();
}

}  // namespace rondo::cli
