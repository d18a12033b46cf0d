#include "commands/answers.h"

#include <exception>
#include <utility>

#include "base/thrown.h"

namespace rondo::commands {

void get_row(Store& store, std::string_view table, std::string_view key, Reply reply, GetDone use) {
  store.get(table, key, [reply = std::move(reply), use = std::move(use)](const Result<Record>& row) mutable {
    try {
      use(row);
    } catch (...) {
      reply.fail(thrown_by("the command, while it went on,", std::current_exception()));
    }
  });
}

}  // namespace rondo::commands
