// What each command of the command line does: ask the backend, print the answer on standard output, troubles on standard error, and
// return the exit code.
#pragma once

#include <string>

#include "options.h"
#include "rondo/base/status.h"

namespace rondo::cli {

int run(const Options& options);

/// What stands on standard error with --json (docs/schema/error.json), on one line without its end.
std::string error_json(const Status& why);

/// Says 'why' on standard error ({"error":{code,message}} with --json) and returns its exit code, or 'code' if that is given.
int report(const Options& options, const Status& why, int code = -1);

/// rondo feed routes; rondo load.
int feed_routes(const Options& options, const FeedRoutes& feed);
int load_file(const Options& options, const LoadFile& load);

/// rondo journal; rondo replay.
int read_journal(const Options& options, const ReadJournal& call);
int audit_journal(const Options& options, const ReadJournal& call);
int replay_run(const Options& options, const ReplayRun& call);
/// rondo top; rondo dump.
int show_top(const Options& options, const Top& top);
int dump(const Options& options, const Dump& dump);

/// Prints what may stand in place of the last word, a line each: the word, a tab, what it means. Ends within a second, and says nothing
/// about what went wrong: a shell waits for it.
int print_offers(const Complete& complete);

}  // namespace rondo::cli
