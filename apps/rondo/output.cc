#include "output.h"

#include <cerrno>
#include <cstdio>

#include "actions.h"

namespace rondo::cli {
namespace {

/// The errno of the first write that failed, of which stdout remembers only that there was one; 0: none.
int& first_failure() {
  static int number = 0;
  return number;
}

void note(bool written) {
  if (!written && first_failure() == 0) first_failure() = errno;
}

}  // namespace

void print(const std::string& text) { note(std::fwrite(text.data(), 1, text.size(), stdout) == text.size()); }

int finish_output(int code) {
  note(std::fflush(stdout) == 0);
  return output_trouble().ok() ? code : kExitFailed;
}

int end_output(const Options& options, int code) {
  const int finished = finish_output(code);
  const Status trouble = output_trouble();
  if (trouble.ok()) return finished;
  return trouble.origin_errno() == EPIPE ? code : report(options, trouble, kExitFailed);
}

Status output_trouble() { return first_failure() == 0 ? Status{} : status_from_errno(first_failure(), "write to standard output"); }

}  // namespace rondo::cli
