// The commands of the command line: each calls the backend, prints the answer on standard output and errors on standard error, and returns
// the exit code.
#pragma once

#include "arguments/options.h"

namespace rondo::cli {

int run(const Options& options);

/// rondo feed routes; rondo load.
int feed_routes(const Options& options, const FeedRoutes& feed);
int load_file(const Options& options, const LoadFile& load);

/// rondo journal; rondo replay.
int read_journal(const Options& options, const ReadJournal& call);
int audit_journal(const Options& options, const ReadJournal& call);
int replay_run(const Options& options, const ReplayRun& call);
/// rondo cron.
int cron(const Options& options, const CronCall& call);
/// rondo worker.
int worker(const Options& options, const WorkerCall& call);
/// rondo job.
int job(const Options& options, const JobCall& call);
/// rondo top; rondo dump.
int show_top(const Options& options, const Top& top);
int dump(const Options& options, const Dump& dump);

/// Prints the completions of the last word, one per line: the word, a tab, its meaning. Ends within a second, because a shell waits for
/// it, and reports no errors.
int print_offers(const Complete& complete);

}  // namespace rondo::cli
