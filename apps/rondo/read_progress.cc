#include "read_progress.h"

#include <unistd.h>

namespace rondo::cli {
namespace {

bool is_shown(ReadProgress::Answer answer) {
  return can_show_progress() && (answer == ReadProgress::Answer::Follows || ::isatty(STDOUT_FILENO) == 0);
}

}  // namespace

ReadProgress::ReadProgress(const OpenedJournal& opened, const ReadJournal& call, Answer answer, unsigned passes)
    : line_(clock_, call.files.back(), passes * opened.records(), is_shown(answer), "records") {}

}  // namespace rondo::cli
