#include "journal/opened.h"

#include <cstdint>
#include <cstdio>
#include <utility>

#include "output/exit_code.h"
#include "output/json_text.h"
#include "output/print.h"
#include "output/report.h"
#include "rondo/base/text.h"

namespace rondo::cli {

namespace json = boost::json;

json::string text(std::string_view bytes) { return json::string{escape_text(bytes)}; }

json::object damage_json(const journal::Damage& damage) {
  return {{"offset", damage.offset}, {"bytes", damage.bytes}, {"reason", text(damage.reason)}, {"at_end", damage.at_end}};
}

void print_trouble(const json::object& one) {
  std::string line = "rondo: ";
  const auto word = [&one](std::string_view name) { return unescape_text(std::string{one.at(name).as_string()}); };
  if (one.contains("offset")) {
    line += word("file") + ": at offset " + json_text(one.at("offset")) + ": " + word("reason") + "; " + json_text(one.at("bytes")) +
            " bytes left out" + (one.at("at_end").as_bool() ? ", at the end" : "");
  } else {
    line += word("reason");
  }
  print_error(visible_text(line) + "\n");
}

OpenedJournal::OpenedJournal(const Options& options, const ReadJournal& call)
    : options_(options), files_(journal::JournalFiles::open(call.files)) {}

std::optional<int> OpenedJournal::failed() const {
  if (files_) return std::nullopt;
  return report(options_, files_.error(), files_.error().code() == StatusCode::DataLoss ? kExitBadFile : -1);
}

std::uint64_t OpenedJournal::records() const {
  std::uint64_t all = 0;
  for (const auto& reader : readers()) {
    for (const journal::Block& block : reader->blocks()) all += block.head.kind == journal::BlockKind::Records ? block.head.records : 0;
  }
  return all;
}

void OpenedJournal::replace_last(std::unique_ptr<journal::JournalReader> reader) {
  files_->readers.back() = std::move(reader);
  damage_reported_.resize(readers().size());
  damage_reported_.back() = 0;
}

json::array OpenedJournal::trouble(End end) {
  json::array all;
  for (; gaps_reported_ < files_->gaps.size(); ++gaps_reported_) {
    const journal::FileGap& gap = files_->gaps[gaps_reported_];
    all.push_back(json::object{{"file", text(readers()[gap.file]->name())}, {"missing", gap.missing}, {"reason", text(gap.reason)}});
  }
  damage_reported_.resize(readers().size());
  for (std::size_t file = 0; file < readers().size(); ++file) {
    const std::vector<journal::Damage>& damage = readers()[file]->damage();
    for (; damage_reported_[file] < damage.size(); ++damage_reported_[file]) {
      if (damage[damage_reported_[file]].at_end && end == End::MayGrow && file + 1 == readers().size()) break;
      json::object one = damage_json(damage[damage_reported_[file]]);
      one["file"] = text(readers()[file]->name());
      all.push_back(std::move(one));
    }
  }
  return all;
}

void OpenedJournal::report_trouble(End end) {
  for (const json::value& one : trouble(end)) {
    if (options_.json) {
      print(json_text(json::object{{"trouble", one}}) + "\n");
    } else {
      print_trouble(one.get_object());
    }
  }
}

}  // namespace rondo::cli
