#include "journal/read_progress.h"

#include <sys/stat.h>
#include <unistd.h>

namespace rondo::cli {
namespace {

/// The reader of a pipe, such as a pager, may use the same terminal.
bool is_shown(ReadProgress::Answer answer) {
  struct stat out {};
  const bool is_file = ::fstat(STDOUT_FILENO, &out) == 0 && S_ISREG(out.st_mode);
  return can_show_progress() && (is_file || (answer == ReadProgress::Answer::Follows && ::isatty(STDOUT_FILENO) == 1));
}

}  // namespace

ReadProgress::ReadProgress(const OpenedJournal& opened, const ReadJournal& call, Answer answer, unsigned passes)
    : line_(clock_, call.files.back(), passes * opened.records(), is_shown(answer), "records") {}

}  // namespace rondo::cli
