// `rondo journal`: a journal's file for people, for scripts, and in the text forms of SONiC.
#include <algorithm>
#include <boost/json.hpp>
#include <cstdio>
#include <deque>
#include <memory>
#include <string>

#include "actions.h"
#include "exit_code.h"
#include "orch/journal_reader.h"
#include "orch/journal_story.h"
#include "orch/journal_walk.h"
#include "rondo/admin/text.h"

namespace rondo::cli {
namespace {

namespace json = boost::json;
using journal::JournalReader;
using journal::JournalRecord;
using journal::JournalWalk;
using journal::StoryEvent;

void print(const std::string& text) { std::fwrite(text.data(), 1, text.size(), stdout); }

int finish_output(int code) { return std::fflush(stdout) == 0 && std::ferror(stdout) == 0 ? code : kExitFailed; }

json::string text(std::string_view bytes) { return json::string{escape_text(bytes)}; }

/// What is damaged, on standard error: the rest was read.
void report_damage(const JournalReader& reader) {
  for (const journal::Damage& damage : reader.damage()) {
    std::fprintf(stderr, "rondo: %s: at offset %llu: %s; %llu bytes left out%s\n", visible_text(reader.name()).c_str(),
                 static_cast<unsigned long long>(damage.offset), damage.reason.c_str(), static_cast<unsigned long long>(damage.bytes),
                 damage.at_end ? ", at the end" : "");
  }
}

/// Calls 'each' for every file; a file that is no journal ends it.
template <class Each>
int for_each_file(const Options& options, const ReadJournal& call, const Each& each) {
  for (const std::string& file : call.files) {
    const Result<std::unique_ptr<JournalReader>> reader = JournalReader::open(file);
    if (!reader) return report(options, reader.error(), reader.error().code() == Code::DataLoss ? kExitBadFile : -1);
    report_damage(**reader);
    each(**reader);
  }
  return kExitDone;
}

json::object to_json(const JournalWalk& walk) {
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
    line["op"] = text(record.op == Op::Event ? record.name : to_string(record.op));
    json::array fields;
    for (const Field& field : record.fields) fields.push_back(json::array{text(field.name), text(field.value)});
    line["fields"] = std::move(fields);
  }
  json::array facts;
  for (const JournalRecord::Fact& fact : record.facts) facts.push_back(text(walk.names().of(fact.kind) + ":" + std::string{fact.key}));
  if (!facts.empty()) line["facts"] = std::move(facts);
  if (!record.why.ok()) line["why"] = text(record.why.to_string());
  line["text"] = text(walk.words());
  if (walk.missing() > 0) line["missing_before"] = walk.missing();
  return line;
}

std::string render(const Options& options, const JournalWalk& walk) {
  if (options.json) return json::serialize(to_json(walk)) + "\n";
  std::string line = journal::stamp(walk.wall()) + " " + std::to_string(walk.raw().number) + " ";
  if (const std::string turn = walk.turn_of(); !turn.empty()) line.append("[").append(turn).append("] ");
  return visible_text(line + walk.words()) + "\n";
}

int tail(const Options& options, const ReadJournal& call) {
  std::deque<std::string> last;
  const int code = for_each_file(options, call, [&](JournalReader& reader) {
    // Words only for those that may be among the last: the rest is only followed.
    std::uint64_t all = 0;
    for (const journal::Block& block : reader.blocks()) all += block.head.kind == journal::BlockKind::Records ? block.head.records : 0;
    std::uint64_t seen = 0;
    for (JournalWalk walk(reader); walk.next();) {
      if (++seen + call.lines <= all) continue;
      last.push_back(render(options, walk));
      if (last.size() > call.lines) last.pop_front();
    }
  });
  for (const std::string& line : last) print(line);
  return finish_output(code);
}

int grep(const Options& options, const ReadJournal& call) {
  const std::string wanted = unescape_text(call.word);
  bool found = false;
  const int code = for_each_file(options, call, [&](JournalReader& reader) {
    for (JournalWalk walk(reader); walk.next();) {
      if (walk.words().find(wanted) == std::string::npos) continue;
      found = true;
      print(render(options, walk));
    }
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
    events.push_back(json::object{{"time", journal::stamp(event.wall)},
                                  {"monotonic_ns", event.time.nanoseconds()},
                                  {"after_ns", i == 0 ? 0 : (event.time - story[i - 1].time).count()},
                                  {"table", text(event.table)},
                                  {"what", event.what},
                                  {"detail", text(event.detail)},
                                  {"turn", text(event.turn)}});
  }
  return events;
}

std::string render_story(const std::vector<StoryEvent>& story) {
  std::string lines;
  for (std::size_t i = 0; i < story.size(); ++i) {
    const StoryEvent& event = story[i];
    const bool follows = i > 0 && event.what != "missing";
    std::string line = journal::stamp(event.wall) + " " + (follows ? "+" + duration_text(event.time - story[i - 1].time) : "");
    line.resize(std::max<std::size_t>(line.size(), 38), ' ');
    line.append(" ").append(event.table).append(" ").append(event.what);
    if (!event.detail.empty()) line.append(": ").append(event.detail);
    if (!event.turn.empty() && event.turn != event.table) line.append(" (in the turn of '").append(event.turn).append("')");
    lines += visible_text(line) + "\n";
  }
  return lines;
}

int explain(const Options& options, const ReadJournal& call) {
  std::vector<StoryEvent> story;
  const int code = for_each_file(options, call, [&](JournalReader& reader) {
    for (StoryEvent& event : story_of(reader, unescape_text(call.table), unescape_text(call.word))) story.push_back(std::move(event));
  });
  if (code != kExitDone) return code;
  const bool known = std::ranges::any_of(story, [](const StoryEvent& event) { return event.what != "missing"; });
  if (!known) return report(options, Status{Code::NotFound, "nothing is recorded about '" + call.word + "'"});
  if (options.json) {
    print(json::serialize(json::object{{"key", text(unescape_text(call.word))}, {"events", to_json(story)}}) + "\n");
  } else {
    print(render_story(story));
  }
  return finish_output(kExitDone);
}

int export_text(const Options& options, const ReadJournal& call) {
  const int code = for_each_file(options, call, [&](JournalReader& reader) {
    for (JournalWalk walk(reader); walk.next();) {
      const std::string lines = call.retry ? retry_lines(walk) : swss_lines(walk);
      if (options.json && !lines.empty()) {
        print(json::serialize(to_json(walk)) + "\n");
      } else {
        print(lines);
      }
    }
  });
  return finish_output(code);
}

int check(const Options& options, const ReadJournal& call) {
  bool damaged = false;
  const int code = for_each_file(options, call, [&](JournalReader& reader) {
    std::uint64_t records = 0;
    std::uint64_t missing = 0;
    std::uint64_t runs = 0;
    for (JournalWalk walk(reader); walk.next(); ++records) {
      missing += walk.missing() + (walk.record().kind == journal::Kind::Lost ? walk.record().count : 0);
      if (walk.record().kind == journal::Kind::Started) ++runs;
    }
    json::array wrong;
    for (const journal::Damage& damage : reader.damage()) {
      wrong.push_back(
          json::object{{"offset", damage.offset}, {"bytes", damage.bytes}, {"reason", damage.reason}, {"at_end", damage.at_end}});
    }
    damaged = damaged || !wrong.empty();
    if (options.json) {
      print(json::serialize(json::object{
                {"file", text(reader.name())}, {"runs", runs}, {"records", records}, {"missing", missing}, {"damage", std::move(wrong)}}) +
            "\n");
    } else {
      print(visible_text(reader.name()) + ": " + std::to_string(records) + " records of " + std::to_string(runs) + " runs, " +
            std::to_string(missing) + " missing, " + std::to_string(wrong.size()) + " damaged places\n");
    }
  });
  return finish_output(code == kExitDone && damaged ? kExitBadFile : code);
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
