// `rondo journal`: prints the files of a journal as one, as text, as JSON, and in the text forms of SONiC.
#include <algorithm>
#include <boost/json.hpp>
#include <csignal>
#include <cstdio>
#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/counted.h"

#include "admin/suggest.h"
#include "commands/actions.h"
#include "journal/follow.h"
#include "journal/opened.h"
#include "journal/read_progress.h"
#include "journal/reader.h"
#include "journal/story.h"
#include "journal/walk.h"
#include "output/exit_code.h"
#include "output/json_text.h"
#include "output/print.h"
#include "output/report.h"
#include "rondo/base/text.h"

namespace rondo::cli {
namespace {

namespace json = boost::json;
using journal::JournalReader;
using journal::JournalRecord;
using journal::JournalWalk;
using journal::StoryEvent;

/// Calls 'each', which prints, with every record, and reports gaps and damage.
template <class Each>
int for_each_record(const Options& options, const ReadJournal& call, const Each& each) {
  OpenedJournal opened(options, call);
  if (const auto code = opened.failed()) return *code;
  opened.report_trouble();
  {
    ReadProgress progress(opened, call, ReadProgress::Answer::Meanwhile);
    progress.line().leave_nothing();
    JournalWalk walk(opened.readers());
    walk.on_progress(progress.hears());
    while (walk.next()) each(walk);
  }
  opened.report_trouble();
  return kExitDone;
}

/// 'missing': the number of records missing since the previous line.
json::object to_json(const JournalWalk& walk, std::uint64_t missing) {
  const JournalRecord& record = walk.record();
  json::object line{{"record", walk.raw().number},
                    {"time", journal::stamp(walk.wall())},
                    {"monotonic_ns", walk.time().nanoseconds()},
                    {"kind", to_string(record.kind)}};
  const auto add = [&line](std::string_view name, const std::string& value) {
    if (!value.empty()) line[name] = text(value);
  };
  add("turn", walk.turn_of());
  add("source", walk.source());
  add("table", walk.table());
  add("key", walk.key());
  if (record.has_change()) {
    line["op"] = text(record.op == ChangeOp::Event ? record.name : to_string(record.op));
    json::array fields;
    for (const Field& field : record.fields) fields.push_back(json::array{text(field.name), text(field.value)});
    line["fields"] = std::move(fields);
  }
  json::array facts;
  for (const JournalRecord::Fact& fact : record.facts) facts.push_back(text(walk.names().of(fact.kind) + ":" + std::string{fact.key}));
  if (!facts.empty()) line["facts"] = std::move(facts);
  if (!record.why.ok()) line["why"] = visible_text(record.why.to_string());
  line["text"] = text(walk.words());
  if (missing > 0) line["missing_before"] = missing;
  return line;
}

std::string render(const Options& options, const JournalWalk& walk, std::uint64_t missing) {
  if (options.json) return json_text(to_json(walk, missing)) + "\n";
  const std::string begin = journal::stamp(walk.wall()) + " " + std::to_string(walk.raw().number) + " ";
  std::string line = begin;
  if (const std::string turn = walk.turn_of(); !turn.empty()) line.append("[").append(turn).append("] ");
  line = visible_text(line + walk.words()) + "\n";
  return missing == 0 ? line : begin + counted(missing, "record is", "records are") + " missing before this one\n" + line;
}

/// For a journal with several runs: detects where another run begins, because its numbers begin again.
class RunMarks {
 public:
  /// Called with every record, shown or not.
  void check(const JournalWalk& walk) {
    if (walk.record().kind == journal::Kind::Started) ++run_;
  }
  /// Called when the latest record is shown. Returns a line to print before it, as text, if the previous shown record belongs to another
  /// run.
  std::string before(const Options& options) {
    const bool is_other = shown_ && *shown_ != run_;
    shown_ = run_;
    return is_other && !options.json ? "--- another run: its records are numbered from 1 ---\n" : "";
  }

 private:
  std::uint64_t run_ = 0;
  std::optional<std::uint64_t> shown_;
};

/// The last lines of 'all' records. Formats only records that may be among them; the others are only passed.
std::deque<std::string> last_lines(const Options& options, const ReadJournal& call, std::uint64_t all, JournalWalk& walk, RunMarks& marks) {
  std::deque<std::string> last;
  std::uint64_t seen = 0;
  while (walk.next()) {
    marks.check(walk);
    if (++seen + call.lines <= all) continue;
    last.push_back(marks.before(options) + render(options, walk, walk.missing()));
    if (last.size() > call.lines) last.pop_front();
  }
  return last;
}

int tail(const Options& options, const ReadJournal& call) {
  OpenedJournal opened(options, call);
  if (const auto code = opened.failed()) return *code;
  if (call.follow) std::signal(SIGPIPE, SIG_IGN);  // The reader of a followed journal may stop at any time.
  const auto end = call.follow ? OpenedJournal::End::MayGrow : OpenedJournal::End::IsFinal;
  opened.report_trouble(end);
  RunMarks marks;
  JournalWalk walk(opened.readers());
  std::deque<std::string> last;
  {
    ReadProgress progress(opened, call, ReadProgress::Answer::Follows);
    progress.line().leave_nothing();
    walk.on_progress(progress.hears());
    last = last_lines(options, call, opened.records(), walk, marks);
    walk.on_progress({});
  }
  opened.report_trouble(end);
  for (const std::string& line : last) print(line);
  if (!call.follow) return finish_output(kExitDone);
  return follow_journal(opened, walk, [&](const JournalWalk& at) {
    marks.check(at);
    print(marks.before(options) + render(options, at, at.missing()));
  });
}

int grep(const Options& options, const ReadJournal& call) {
  const std::string wanted = unescape_text(call.word);
  bool found = false;
  std::uint64_t missing = 0;
  RunMarks marks;
  const int code = for_each_record(options, call, [&](const JournalWalk& walk) {
    marks.check(walk);
    missing += walk.missing();
    if (walk.words().find(wanted) == std::string::npos) return;
    found = true;
    print(marks.before(options) + render(options, walk, std::exchange(missing, 0)));
  });
  return finish_output(code != kExitDone || found ? code : kExitFailed);
}

std::string duration_text(Duration span) {
  if (span >= 10s) return std::to_string(span / 1s) + " s";
  if (span >= 10ms) return std::to_string(span / 1ms) + " ms";
  return std::to_string(span / 1us) + " us";
}

json::array to_json(const std::vector<StoryEvent>& story) {
  json::array events;
  for (std::size_t i = 0; i < story.size(); ++i) {
    const StoryEvent& event = story[i];
    json::object object{{"time", journal::stamp(event.wall)},
                        {"monotonic_ns", event.time.nanoseconds()},
                        {"after_ns", i == 0 ? 0 : time_between(story[i - 1], event).count()},
                        {"table", text(event.table)},
                        {"what", event.what},
                        {"detail", text(event.detail)},
                        {"turn", text(event.turn)}};
    if (event.queued_at_most) object["queued_at_most_ns"] = event.queued_at_most->count();
    events.push_back(std::move(object));
  }
  return events;
}

std::string render_story(const std::vector<StoryEvent>& story) {
  std::string lines;
  for (std::size_t i = 0; i < story.size(); ++i) {
    const StoryEvent& event = story[i];
    // The wall clock may have been set back between runs.
    const bool follows = i > 0 && event.what != "missing" && time_between(story[i - 1], event) >= 0ns;
    std::string line = journal::stamp(event.wall) + " " + (follows ? "+" + duration_text(time_between(story[i - 1], event)) : "");
    line.resize(std::max<std::size_t>(line.size(), 38), ' ');
    if (!event.table.empty()) line.append(" ").append(event.table);
    line.append(" ").append(event.what);
    if (!event.detail.empty()) line.append(": ").append(event.detail);
    if (event.queued_at_most) line.append(" (queued for at most ").append(duration_text(*event.queued_at_most)).append(")");
    if (!event.turn.empty() && event.turn != event.table) line.append(" (in the turn of '").append(event.turn).append("')");
    lines += visible_text(line) + "\n";
  }
  return lines;
}

/// Why nothing is known about a key: no record has it, or no record has the table, and another table may have been meant.
Status nothing_about(const Options& options, const ReadJournal& call) {
  const std::string wanted = unescape_text(call.table);
  std::set<std::string, std::less<>> tables;
  const OpenedJournal opened(options, call);  // Reads again from the beginning.
  if (!wanted.empty() && !opened.failed()) {
    ReadProgress progress(opened, call, ReadProgress::Answer::Follows);
    progress.line().leave_nothing();
    JournalWalk walk(opened.readers());
    walk.on_progress(progress.hears());
    while (walk.next()) {
      if (!tables.contains(walk.table())) tables.emplace(walk.table());
    }
  }
  if (wanted.empty() || tables.contains(wanted)) return {StatusCode::NotFound, "nothing is recorded about '" + call.word + "'"};
  tables.erase("");
  const std::vector<std::string_view> names(tables.begin(), tables.end());
  return {StatusCode::NotFound, "no table '" + call.table + "' is on record" + did_you_mean(wanted, names)};
}

int explain(const Options& options, const ReadJournal& call) {
  OpenedJournal opened(options, call);
  if (const auto code = opened.failed()) return *code;
  if (!options.json) opened.report_trouble();
  const std::string key = unescape_text(call.word);
  std::vector<StoryEvent> story;
  {
    ReadProgress progress(opened, call, ReadProgress::Answer::Follows);
    progress.line().leave_nothing();
    JournalWalk walk(opened.readers());
    walk.on_progress(progress.hears());
    story = story_of(walk, unescape_text(call.table), key);
  }
  if (!options.json) opened.report_trouble();
  const bool known =
      std::ranges::any_of(story, [](const StoryEvent& event) { return event.what != "missing" && event.what != journal::kRunBegan; });
  if (!known) return report(options, nothing_about(options, call));
  if (options.json) {
    print(json_text(json::object{{"key", text(key)}, {"events", to_json(story)}, {"trouble", opened.trouble()}}) + "\n");
  } else {
    print(render_story(story));
  }
  return finish_output(kExitDone);
}

int export_text(const Options& options, const ReadJournal& call) {
  const int code = for_each_record(options, call, [&](const JournalWalk& walk) {
    const std::string lines = call.retry ? retry_lines(walk) : swss_lines(walk);
    if (options.json && !lines.empty()) {
      print(json_text(to_json(walk, walk.missing())) + "\n");
    } else {
      print(lines);
    }
  });
  return finish_output(code);
}

/// The content of one file.
struct Contents {
  std::uint64_t records = 0;
  std::uint64_t missing = 0;
  std::uint64_t runs = 0;      // Runs that begin in it.
  bool begins_in_run = false;  // Its first records belong to a run that begins in an earlier file.
};

std::string runs_text(const Contents& contents) {
  const std::string begun = counted(contents.runs, "run");
  if (!contents.begins_in_run) return begun;
  return (contents.runs == 0 ? "" : begun + " and ") + std::string{"a run that began before"};
}

void print_contents(const Options& options, const JournalReader& reader, const Contents& contents) {
  if (!options.json) {
    print(visible_text(reader.name()) + ": " + counted(contents.records, "record") + " of " + runs_text(contents) + ", " +
          std::to_string(contents.missing) + " missing, " + counted(reader.damage().size(), "damaged place") + "\n");
    return;
  }
  json::array damage;
  for (const journal::Damage& one : reader.damage()) damage.push_back(damage_json(one));
  print(json_text(json::object{{"file", text(reader.name())},
                               {"runs", contents.runs},
                               {"begins_in_run", contents.begins_in_run},
                               {"records", contents.records},
                               {"missing", contents.missing},
                               {"damage", std::move(damage)}}) +
        "\n");
}

/// Returns the content of each file. Shows progress on a terminal.
std::vector<Contents> contents_of(const OpenedJournal& opened, const ReadJournal& call) {
  ReadProgress progress(opened, call, ReadProgress::Answer::Follows);
  std::vector<Contents> all(opened.readers().size());
  std::uint64_t seen = 0;
  JournalWalk walk(opened.readers());
  walk.on_progress(progress.hears());
  for (; walk.next(); ++seen) {
    Contents& contents = all[walk.file()];
    const bool begins = walk.record().kind == journal::Kind::Started;
    if (contents.records++ == 0) contents.begins_in_run = !begins;
    contents.missing += walk.missing();
    if (begins) ++contents.runs;
  }
  progress.line().update(seen);
  return all;
}

int check(const Options& options, const ReadJournal& call) {
  OpenedJournal opened(options, call);
  if (const auto code = opened.failed()) return *code;
  const std::vector<Contents> all = contents_of(opened, call);
  opened.report_trouble();
  bool whole = opened.gaps().empty();
  for (std::size_t file = 0; file < all.size(); ++file) {
    const JournalReader& reader = *opened.readers()[file];
    print_contents(options, reader, all[file]);
    whole = whole && reader.damage().empty() && all[file].missing == 0;
  }
  return finish_output(whole ? kExitDone : kExitBadFile);
}

}  // namespace

int read_journal(const Options& options, const ReadJournal& call) {
  switch (call.verb) {
    case ReadJournal::Verb::Tail: return tail(options, call);
    case ReadJournal::Verb::Grep: return grep(options, call);
    case ReadJournal::Verb::Explain: return explain(options, call);
    case ReadJournal::Verb::Export: return export_text(options, call);
    case ReadJournal::Verb::Audit: return audit_journal(options, call);
    case ReadJournal::Verb::Check: return check(options, call);
  }
  return kExitFailed;
}

}  // namespace rondo::cli
