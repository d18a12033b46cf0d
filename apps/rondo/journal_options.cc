#include "journal_options.h"

#include <CLI/CLI.hpp>
#include <memory>

#include "options.h"

namespace rondo::cli {

namespace {

/// A command of `journal`, with its files. What is typed is kept by the callback.
CLI::App* add_verb(CLI::App& journal, Options& options, const std::shared_ptr<ReadJournal>& call, const char* name, const char* help,
                   ReadJournal::Verb verb) {
  CLI::App* const command = journal.add_subcommand(name, help);
  command->callback([&options, call, verb] {
    call->verb = verb;
    options.action = *call;
  });
  return command;
}

void add_files(CLI::App* command, std::vector<std::string>& files) {
  command->add_option("FILE", files, "Files of one journal, oldest first")->required();
}

}  // namespace

void add_journal_commands(CLI::App& app, Options& options) {
  const auto call = std::make_shared<ReadJournal>();
  CLI::App* const journal = app.add_subcommand("journal", "Read a journal; no daemon is needed");
  journal->require_subcommand(1);
  using Verb = ReadJournal::Verb;
  CLI::App* const tail = add_verb(*journal, options, call, "tail", "The last records", Verb::Tail);
  tail->add_option("-n,--lines", call->lines, "How many")->type_name("N")->capture_default_str()->check(CLI::PositiveNumber);
  add_files(tail, call->files);
  CLI::App* const grep = add_verb(*journal, options, call, "grep", "The records in whose words a text stands", Verb::Grep);
  grep->add_option("TEXT", call->word, "Such as 10.0.0.0/24, rejected, or nexthop-group:102")->required();
  add_files(grep, call->files);
  CLI::App* const explain = add_verb(*journal, options, call, "explain", "The story of one key, with the times between", Verb::Explain);
  explain->add_option("KEY", call->word, "Key, such as 10.0.0.0/24")->required();
  explain->add_option("--table", call->table, "Of this table only")->type_name("TABLE");
  add_files(explain, call->files);
  CLI::App* const rec = add_verb(*journal, options, call, "export", "Print it in a text form of SONiC's", Verb::Export);
  CLI::Option_group* const form = rec->add_option_group("form");
  form->add_flag_callback(
      "--swss", [call] { call->retry = false; }, "swss.rec: the changes that were taken");
  form->add_flag_callback(
      "--retry", [call] { call->retry = true; }, "retry.rec: what was parked, resolved and retried");
  form->require_option(1);
  add_files(rec, call->files);
  add_files(add_verb(*journal, options, call, "check", "Say whether a journal is whole", Verb::Check), call->files);

  const auto again = std::make_shared<ReplayRun>();
  CLI::App* const replay = app.add_subcommand("replay", "Run a recorded day again, and show the first difference");
  replay->add_option("--run", again->run, "Which run of the file; default: the last")->type_name("N")->check(CLI::PositiveNumber);
  add_files(replay, again->files);
  replay->callback([&options, again] { options.action = *again; });
}

}  // namespace rondo::cli
