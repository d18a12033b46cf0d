#include "base/standard_files.h"

#include <fcntl.h>
#include <unistd.h>

#include <initializer_list>

namespace rondo {

bool keep_standard_files() noexcept {
  for (const int wanted : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(wanted, F_GETFD) >= 0) continue;
    // Without O_CLOEXEC: programs that are started need it, too. The lowest free number is given: those below are taken.
    if (::open("/dev/null", wanted == STDIN_FILENO ? O_WRONLY : O_RDONLY) != wanted) return false;
  }
  return true;
}

}  // namespace rondo
