#include "output/report.h"

#include <boost/json.hpp>

#include "backends/registry.h"
#include "output/exit_code.h"
#include "output/json_text.h"
#include "output/print.h"
#include "rondo/base/text.h"

namespace rondo::cli {

namespace json = boost::json;

std::string error_json(const Status& why) {
  return json_text(json::object{{"error", json::object{{"code", to_string(why.code())}, {"message", visible_text(why.message())}}}});
}

int report(const Options& options, const Status& why, int code) {
  if (options.json) {
    print_error(error_json(why) + "\n");
  } else {
    print_error("rondo: " + visible_text(why.message()) + "\n");
  }
  if (code >= 0) return code;
  // Repeating the command cannot turn another file into a store, so it gets no "try again".
  const StoreKind* const store = find_store_kind(options.store.where);
  const bool is_file = store != nullptr && store->answerer == manual::File;
  return is_file && why.code() == StatusCode::FailedPrecondition ? kExitBadFile : exit_code(why.code());
}

}  // namespace rondo::cli
