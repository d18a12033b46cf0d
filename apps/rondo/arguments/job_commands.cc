#include "arguments/job_commands.h"

namespace rondo::cli {
namespace {

using manual::Argument;
using manual::Command;
using manual::Daemon;
using manual::Option;
using manual::Word;

Argument name() { return {.name = "NAME", .help = "Name of the job: letters, digits, '.', '_', '-' and '/'"}; }
Option dry_run(std::string_view help = "Print what would change, and change nothing") {
  return {.name = "--dry-run", .value = {}, .help = help};
}
Option yes(std::string_view help) { return {.name = "--yes", .value = {}, .help = help}; }

std::vector<Option> schedule_options() {
  return {
      {.name = "--cron", .value = "EXPR", .help = "Due by a cron expression, in quotes"},
      {.name = "--every", .value = "DURATION", .help = "Due at a fixed rate: a whole number with ms, s, min, h or d; at least 10ms"},
      {.name = "--after", .value = "DURATION", .help = "Due this long after the previous run has ended"},
      {.name = "--at",
       .value = "INSTANT",
       .help = "Due once, at an instant as in RFC 3339; without an offset it is a local time of --zone"},
      {.name = "--manual", .value = {}, .help = "Due only when it is triggered"},
      {.name = "--dialect",
       .value = "NAME",
       .help = "Dialect of the expression; default: detected from its form",
       .word = Word::Choice,
       .choices = {"quartz", "spring", "unix", "unix6", "systemd", "robfig"}},
      {.name = "--zone", .value = "ZONE", .help = "Time zone of the expression, such as Europe/Berlin; default: UTC"},
      {.name = "--dst",
       .value = "RULE",
       .help = "What to do with local times that the zone skips or repeats; default: vixie",
       .word = Word::Choice,
       .choices = {"vixie", "quartz", "spring", "systemd"}},
      {.name = "--from", .value = "INSTANT", .help = "Not due before this instant"},
      {.name = "--until", .value = "INSTANT", .help = "Not due from this instant on"},
      {.name = "--past", .value = {}, .help = "Accept a schedule that has no future instant: the job never runs by itself"},
      {.name = "--excluded", .value = "DAYS", .help = "Not due on these days, such as 'SAT, SUN, 12-24..01-01, 2026-04-03'"},
      {.name = "--jitter", .value = "DURATION", .help = "Delay each run by a random time up to this one"},
  };
}

std::vector<Option> definition_options() {
  std::vector<Option> all{
      {.name = "--handler", .value = "HANDLER", .help = "What runs the job: log, none, table, or a handler of a worker"},
      {.name = "--parameters", .value = "TEXT", .help = "Text for the handler"},
  };
  for (Option& option : schedule_options()) all.push_back(option);
  const std::vector<Option> rest{
      {.name = "--priority", .value = "N", .help = "Jobs with a higher number run first; default: 8", .word = Word::Number, .high = 63},
      {.name = "--misfire",
       .value = "RULE",
       .help = "Which missed runs to run: the newest one, the newest few, all, or none; default: fire-once",
       .word = Word::Choice,
       .choices = {"fire-once", "fire-last", "fire-all", "do-nothing"}},
      {.name = "--misfire-runs",
       .value = "N",
       .help = "How many missed runs to run with --misfire fire-last; default: 1",
       .word = Word::Number,
       .low = 1,
       .high = 1000},
      {.name = "--overlap",
       .value = "RULE",
       .help = "If another run of the job is still running: wait, be discarded, stop that run, or run beside it; default: serial",
       .word = Word::Choice,
       .choices = {"serial", "discard", "cover", "concurrent"}},
      {.name = "--overlap-scope",
       .value = "SCOPE",
       .help = "Which runs --overlap counts, if executors run the job: those at the same executor, or all of the job; default: executor",
       .word = Word::Choice,
       .choices = {"executor", "job"}},
      {.name = "--concurrency",
       .value = "N",
       .help = "Most runs at the same time, with --overlap concurrent",
       .word = Word::Number,
       .low = 1,
       .high = 64},
      {.name = "--route",
       .value = "RULE",
       .help = "Which of several workers or executors gets a run; default: default, the one with the most free places",
       .word = Word::Choice,
       .choices = {"default", "first", "last", "round", "random", "consistent-hash", "least-frequently-used", "least-recently-used",
                   "failover", "busyover", "sharding-broadcast"}},
      {.name = "--retries", .value = "N", .help = "Number of further attempts after a failed one", .word = Word::Number, .high = 100},
      {.name = "--backoff", .value = "DURATION", .help = "Wait before the first retry, doubled for each further one; default: 1s"},
      {.name = "--attempt-timeout", .value = "DURATION", .help = "Stop an attempt after this time; 0s: never"},
      {.name = "--parents",
       .value = "JOB",
       .help = "Parent jobs, separated by commas: the job runs after all of them have succeeded",
       .list = true},
      {.name = "--requires",
       .value = "FACT",
       .help = "Facts that must hold when a run begins, separated by commas, such as job-succeeded:backup",
       .list = true},
      {.name = "--owner", .value = "TEXT", .help = "Who is responsible"},
      {.name = "--tags", .value = "TAG", .help = "Tags, separated by commas", .list = true},
      {.name = "--note", .value = "TEXT", .help = "A note for people"},
  };
  all.insert(all.end(), rest.begin(), rest.end());
  return all;
}

std::vector<Option> with(std::vector<Option> options, const std::vector<Option>& more) {
  options.insert(options.end(), more.begin(), more.end());
  return options;
}

std::vector<Command> defining_commands() {
  return {
      {.name = "add",
       .help = "Add a job and start it",
       .arguments = {name()},
       .options = with(definition_options(), {{.name = "--stopped", .value = {}, .help = "Add the job without starting it"}, dry_run()}),
       .answered_by = Daemon,
       .examples = {{"rondo job add backup --handler command/backup --cron '30 2 * * *' --zone Europe/Berlin", "Every night at 02:30:"}}},
      {.name = "edit",
       .help = "Change the named fields of a job, and print the difference",
       .arguments = {name()},
       .options = with(definition_options(), {dry_run()}),
       .answered_by = Daemon,
       .examples = {{"rondo job edit backup --every 6h --dry-run", "What would change:"}}},
      {.name = "remove",
       .help = "Remove a job and its runs",
       .arguments = {name()},
       .options = {yes("Do not ask; needed in a script")},
       .answered_by = Daemon,
       .meant_by = {"rm", "delete"}},
      {.name = "export", .help = "Print all jobs as JSON, in the form that import takes", .answered_by = Daemon},
      {.name = "import",
       .help = "Add or edit the jobs of a JSON file; other jobs stay",
       .arguments = {{.name = "FILE", .help = "Output of export; - is standard input", .word = Word::File}},
       .options = {dry_run()},
       .answered_by = Daemon},
      {.name = "import-crontab",
       .help = "Add one job for each line of a crontab",
       .details =
           "A job is named after its program with a digest of its line, PREFIX/PROGRAM-DIGEST, or by a comment '# rondo-job: NAME' above\n"
           "the line, so an import may be repeated. Its parameters are the command of the line, comments above the line become its note.\n"
           "Times are in the zone of this machine, or that of --zone; CRON_TZ sets another one for the lines below it.\n"
           "A system's crontab has a column of users, and the commands of USER get the handler HANDLER-USER. It is known by its place,\n"
           "/etc/crontab or /etc/cron.d, by a heading of the columns, or by --system.\n"
           "A line that cannot be imported is named, the others are imported, and the exit code is 78.",
       .arguments = {{.name = "FILE", .help = "A crontab; - is standard input", .word = Word::File}},
       .options = {{.name = "--handler", .value = "HANDLER", .help = "Handler that runs the commands", .fallback = "command/shell"},
                   {.name = "--system", .value = {}, .help = "The file has a user column, as /etc/crontab has"},
                   {.name = "--prefix", .value = "PREFIX", .help = "First part of the jobs' names", .fallback = "crontab"},
                   {.name = "--zone", .value = "ZONE", .help = "Time zone of the lines; default: that of this machine"},
                   {.name = "--stopped", .value = {}, .help = "Add the jobs without starting them"},
                   dry_run()},
       .answered_by = Daemon,
       .examples = {{"crontab -l | rondo job import-crontab - --dry-run", "What would become of your crontab:"}}},
  };
}

std::vector<Command> controlling_commands() {
  return {
      {.name = "list",
       .help = "List the jobs",
       .arguments = {{.name = "PATTERN", .help = "Only names that match: * and ?", .required = false}},
       .options = {{.name = "--tag", .value = "TAG", .help = "Only jobs with this tag"},
                   {.name = "--owner", .value = "OWNER", .help = "Only jobs of this owner"},
                   {.name = "--state", .value = "STATE", .help = "Only running, stopped or failing jobs: the last run failed"},
                   {.name = "--search", .value = "TEXT", .help = "Only jobs with this text in a name, note, tag or parameters"}},
       .answered_by = Daemon,
       .meant_by = {"ls"}},
      {.name = "show", .help = "Show a job with all its settings and the runs under way", .arguments = {name()}, .answered_by = Daemon},
      {.name = "start",
       .help = "Start a job: from now on it runs by its schedule",
       .arguments = {name()},
       .answered_by = Daemon,
       .meant_by = {"enable", "resume", "unpause"}},
      {.name = "stop",
       .help = "Stop a job; due runs that have not begun are skipped",
       .arguments = {name()},
       .options = {{.name = "--note", .value = "TEXT", .help = "Reason, for people"}},
       .answered_by = Daemon,
       .meant_by = {"pause", "disable", "suspend"}},
      {.name = "trigger",
       .help = "Run a job once, now, whether it is started or not",
       .arguments = {name()},
       .options = {{.name = "--parameters", .value = "TEXT", .help = "Text for the handler of this run, in place of that of the job"},
                   {.name = "--address",
                    .value = "URL",
                    .help = "Executor that gets this run: one that `rondo executors` lists for its group"}},
       .answered_by = Daemon,
       .meant_by = {"run"}},
      {.name = "rerun",
       .help = "Run a run again that has failed, timed out or was killed, for its own instant",
       .details =
           "The new run has the same scheduled instant. It has the parameters and the address of the run, if it was triggered with\n"
           "some, and otherwise those that the job has now. It begins when no other run of the job is running or waits, and the jobs\n"
           "below run after it. A broadcast is sent to the executors whose shards have failed; after a restart of the daemon to all.",
       .arguments = {{.name = "RUN", .help = "Number of the run, as in runs and failures"}},
       .answered_by = Daemon,
       .meant_by = {"retry"}},
      {.name = "backfill",
       .help = "Run a job for past instants that have no run",
       .details = "Prints the instants, and asks before it adds their runs. They begin one by one (with --overlap concurrent: as many as\n"
                  "--concurrency), and other runs of the job go before them.",
       .arguments = {name()},
       .options = {{.name = "--from", .value = "INSTANT", .help = "Begin of the range, as in RFC 3339; required"},
                   {.name = "--to", .value = "INSTANT", .help = "End of the range, not included and not in the future; required"},
                   {.name = "--limit",
                    .value = "N",
                    .help = "Refuse a range with more instants than N",
                    .word = Word::Number,
                    .low = 1,
                    .high = 1000,
                    .fallback = "100"},
                   {.name = "--dry-run", .value = {}, .help = "Print the instants, and change nothing"},
                   yes("Do not ask; needed in a script")},
       .answered_by = Daemon,
       .examples = {{"rondo job backfill backup --from 2026-11-01T00:00:00Z --to 2026-11-08T00:00:00Z --dry-run",
                     "Which nights of a week have no run:"}}},
  };
}

std::vector<Command> runs_commands() {
  return {
      {.name = "next",
       .help = "Print the next instants of a job in UTC, one a line; NEVER when none is left",
       .arguments = {name()},
       .options = {{.name = "--count", .value = "N", .help = "At most N", .word = Word::Number, .low = 1, .high = 200, .fallback = "10"},
                   {.name = "--from", .value = "INSTANT", .help = "After this instant, as in RFC 3339; default: now"}},
       .answered_by = Daemon},
      {.name = "runs",
       .help = "List the runs of a job, the newest first",
       .arguments = {name()},
       .options = {{.name = "--count", .value = "N", .help = "At most N", .word = Word::Number, .low = 1, .high = 200, .fallback = "20"},
                   {.name = "--before", .value = "RUN", .help = "Only runs with a smaller number", .word = Word::Number, .low = 1}},
       .answered_by = Daemon},
      {.name = "failures",
       .help = "List the runs of all jobs that failed or timed out, the newest first",
       .options = {{.name = "--since",
                    .value = "TIME",
                    .help = "Runs that ended at this instant or later: an instant as in RFC 3339, or a time ago, such as 12h",
                    .fallback = "24h"},
                   {.name = "--count", .value = "N", .help = "At most N", .word = Word::Number, .low = 1, .high = 200, .fallback = "20"},
                   {.name = "--before", .value = "RUN", .help = "Only runs with a smaller number", .word = Word::Number, .low = 1}},
       .answered_by = Daemon,
       .examples = {{"rondo job failures --since 12h", "What failed last night:"}}},
      {.name = "notify",
       .help = "Send a test to the targets of notifications, [[notify]] in rondod.toml",
       .details = "Prints for each whether the test has arrived, or why not; ends with 1 if one has not.",
       .arguments = {{.name = "NAME", .help = "Only to this target", .required = false}},
       .options = {{.name = "--test", .value = {}, .help = "Send a test; required"}},
       .answered_by = Daemon},
      {.name = "schedulers",
       .help = "List the schedulers of the database: which one owns the jobs, since when, and until when",
       .details =
           "The state is owner, expired (the lease has ended, and another scheduler may take the jobs over) or standby. The times are\n"
           "those of the database. A standby is listed only if it is the scheduler that answers.",
       .answered_by = Daemon,
       .meant_by = {"owner"}},
      {.name = "kill",
       .help = "Stop a run: a running handler is asked to end, a waiting run ends",
       .arguments = {{.name = "RUN", .help = "Number of the run, as in runs"}},
       .answered_by = Daemon,
       .meant_by = {"cancel"}},
      {.name = "log",
       .help = "Print the output of a run of a command, which its worker keeps",
       .arguments = {{.name = "RUN", .help = "Number of the run, as in runs"}},
       .options = {{.name = "--follow", .value = {}, .help = "Wait until the run begins, and follow all its attempts until it ends"}},
       .answered_by = Daemon},
      {.name = "forecast",
       .help = "Print what the started jobs will do, and the busiest minutes",
       .details =
           "The planner of jobs runs here, in simulated time, with the jobs, runs and settings of the daemon. Each run succeeds at its\n"
           "first attempt and takes no time. Triggers by hand and runs that wait for others are not simulated.",
       .options = {{.name = "--from", .value = "INSTANT", .help = "From this instant, as in RFC 3339; default: now"},
                   {.name = "--to", .value = "INSTANT", .help = "To this instant; default: a day later"},
                   {.name = "--outage",
                    .value = "A..B",
                    .help = "Assume that the daemon is down from A to B; several are separated by commas",
                    .list = true},
                   {.name = "--count", .value = "N", .help = "Print at most N runs", .word = Word::Number, .low = 0, .fallback = "1000"}},
       .answered_by = Daemon,
       .examples = {{"rondo job forecast --outage 2026-12-24T01:00:00Z..2026-12-24T03:00:00Z --to 2026-12-25T00:00:00Z",
                     "What happens if the daemon is away for two hours:"}}},
      {.name = "doctor",
       .help = "Check whether a database of jobs is intact, and which rows look stuck",
       .details = "No daemon is needed, and one may be using the file, which does not change. Ends with 1 if there is a problem.",
       .arguments = {{.name = "FILE", .help = "File of the section [jobs] of rondod.toml", .word = Word::File}},
       .answered_by = manual::Nobody,
       .examples = {{"rondo job doctor /var/lib/rondo/jobs.db", "After a power failure:"}}},
  };
}

}  // namespace

std::vector<Command> job_commands() {
  std::vector<Command> all = defining_commands();
  for (const std::vector<Command>& more : {controlling_commands(), runs_commands()}) all.insert(all.end(), more.begin(), more.end());
  return {{.name = "job", .help = "Jobs: what runs when, and how it ended", .answered_by = Daemon, .commands = std::move(all)}};
}

}  // namespace rondo::cli
