// Follows a journal in use, as `tail -f` follows a file, including its rotation and truncation.
#pragma once

#include <functional>

#include "journal/opened.h"
#include "journal/walk.h"

namespace rondo::cli {

/// 'walk' must be at the end of the files of 'opened'. Calls 'each' with every new record, until the process gets a terminating signal or
/// the reader of standard output is gone. The latter must be an error and not SIGPIPE. Returns an exit code. Polls four times a second.
int follow_journal(OpenedJournal& opened, journal::JournalWalk& walk, const std::function<void(const journal::JournalWalk&)>& each);

}  // namespace rondo::cli
