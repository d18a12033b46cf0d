#include "base/standard_files.h"

#include <fcntl.h>
#include <unistd.h>

#include <initializer_list>

namespace rondo {

bool keep_standard_files() noexcept {
  for (const int wanted : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(wanted, F_GETFD) >= 0) continue;
    // Without O_CLOEXEC, because child programs need it too. The kernel returns the lowest free number, and all lower ones are in use.
    if (::open("/dev/null", wanted == STDIN_FILENO ? O_WRONLY : O_RDONLY) != wanted) return false;
  }
  return true;
}

}  // namespace rondo
