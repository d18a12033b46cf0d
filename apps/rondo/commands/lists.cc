#include "commands/lists.h"

#include <unistd.h>

#include <boost/json.hpp>
#include <cstdlib>
#include <utility>

#include "output/exit_code.h"
#include "output/json_text.h"
#include "output/print.h"
#include "output/render.h"
#include "output/report.h"
#include "terminal/terminal.h"

namespace rondo::cli {
namespace {

namespace json = boost::json;

/// Rows whose widths are computed together and that are written together.
constexpr std::size_t kRowsTogether = 100;

/// A row of `show`, with its fields joined in one cell: name=value ...
json::value shown_row(const json::value& row) {
  const json::object* const object = row.if_object();
  if (object == nullptr) return row;
  json::object shown;
  const bool has_plane = object->contains("plane");
  for (const std::string_view name : {"key", "state", "fields", "note"}) {
    const json::value* const value = object->if_contains(name == "state" && has_plane ? "plane" : name);
    if (name == "fields") {
      shown[name] = object->contains("large") ? std::string{"(large: rondo get shows them)"} : fields_text(*object);
    } else if (value != nullptr) {
      shown[name] = *value;
    }
  }
  return shown;
}

/// Collects rows and writes them to standard output.
class List {
 public:
  List(const Options& options, std::uint64_t most) : options_(options), most_(most), table_(wants_color(STDOUT_FILENO)) {}

  void add(json::value row) {
    if (most_ != 0 && shown_ == most_) end_early();
    ++shown_;
    table_.add(std::move(row));
    if (table_.rows() == kRowsTogether) flush();
  }
  void flush() {
    print(table_.next_lines());
    finish_output();
    end_without_reader(options_);
  }
  std::uint64_t shown() const noexcept { return shown_; }

 private:
  [[noreturn]] void end_early() {
    flush();
    if (::isatty(STDOUT_FILENO) == 1) print_error("(there are more: --count N shows N rows, --all shows all)\n");
    std::exit(end_output(options_, kExitDone));
  }

  const Options& options_;
  const std::uint64_t most_;
  std::uint64_t shown_ = 0;
  TextTable table_;
};

}  // namespace

void end_without_reader(const Options& options) {
  if (!output_trouble().ok()) std::exit(end_output(options, kExitDone));
}

std::uint64_t rows_of_screen(const Call& asked) {
  if (asked.count != 0) return asked.count;
  if (asked.all || ::isatty(STDOUT_FILENO) != 1) return 0;
  constexpr std::size_t kOtherLines = 3;  // The header, the note that there are more rows, and the shell's prompt.
  const std::size_t lines = Terminal::size(STDOUT_FILENO).lines;
  return lines > kOtherLines ? lines - kOtherLines : 1;
}

int print_list(Backend& backend, const Options& options, const std::string& command, const json::object& arguments, const ListForm& form) {
  List list(options, form.most);
  json::array sorted;
  const Result<json::object> result = backend.call(command, arguments, [&](const json::value& row) {
    if (command == "show") {
      list.add(shown_row(row));
    } else if (form.by_waiting_rows) {
      sorted.push_back(row);
    } else {
      list.add(row);
    }
  });
  if (!result) {
    list.flush();
    return report(options, result.error());
  }
  for (json::value& row : by_waiting_rows(std::move(sorted))) list.add(std::move(row));
  list.flush();
  json::object rest = *result;
  rest.erase("rows");
  const std::string others = render_result(command, rest, wants_color(STDOUT_FILENO));
  if (!others.empty()) print((list.shown() == 0 ? "" : "\n") + others);
  if (list.shown() == 0 && others.empty() && ::isatty(STDOUT_FILENO) == 1) print_error("(none)\n");
  return finish_output();
}

Result<json::object> print_json(Backend& backend, const Options& options, const std::string& command, const json::object& arguments,
                                std::uint64_t most) {
  std::uint64_t rows = 0;
  const Result<json::object> result = backend.call(command, arguments, [&](const json::value& row) {
    if (most != 0 && rows == most) {
      print("]}\n");
      std::exit(end_output(options, kExitDone));
    }
    print((rows++ == 0 ? "{\"rows\":[" : ",") + json_text(row));
    end_without_reader(options);
  });
  if (!result) return result;
  json::object rest = *result;
  if (rows == 0) {
    print(json_text(rest) + "\n");
  } else {
    rest.erase("rows");
    const std::string others = json_text(rest);
    print((rest.empty() ? "]" : "],") + others.substr(1) + "\n");
  }
  return result;
}

}  // namespace rondo::cli
