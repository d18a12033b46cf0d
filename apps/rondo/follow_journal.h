// Following a journal that is in use, as `tail -f` follows a file; over its rotation, and a cut.
#pragma once

#include <functional>

#include "opened_journal.h"
#include "orch/journal_walk.h"

namespace rondo::cli {

/// 'walk' stands at the end of the files of 'opened'. Calls 'each' at every record that comes, until the process is told to end or nobody
/// reads standard output any more, which must be no signal (SIGPIPE) but an error. An exit code. Looks four times a second.
int follow_journal(OpenedJournal& opened, journal::JournalWalk& walk, const std::function<void(const journal::JournalWalk&)>& each);

}  // namespace rondo::cli
