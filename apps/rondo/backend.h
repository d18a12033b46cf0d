// Backend: who answers a command: the daemon at its socket, or, with --store, a Redis itself or the file of a daemon. Arguments and results
// are those of the admin protocol (docs/guide/admin-protocol.md), so that what is printed does not depend on who answered. Blocking; one
// thread.
#pragma once

#include <boost/json.hpp>
#include <functional>
#include <memory>
#include <string>

#include "options.h"
#include "rondo/admin/bulk.h"
#include "rondo/admin/client.h"
#include "rondo/base/result.h"

namespace rondo::cli {

class Backend {
 public:
  using OnRow = std::function<void(const boost::json::value& row)>;
  virtual ~Backend() = default;

  /// Rows go to 'on_row' as they come; without it they are in the result's "rows", which a list without rows has, too. Text in 'arguments'
  /// is escaped (rondo/base/text.h).
  virtual Result<boost::json::object> call(const std::string& command, const boost::json::object& arguments, const OnRow& on_row) = 0;

  /// What the answers so far lack, because it could not be read; ok when nothing.
  virtual Status lacking() const { return {}; }

  /// Calls 'rows' with a sink, and waits until every row's end is known. 'on_totals' hears now and then how far it is.
  virtual Result<BulkTotals> write(const std::function<Status(BulkSink& sink)>& rows,
                                   const std::function<void(const BulkTotals&)>& on_totals) = 0;
};

/// 'on_row' for the keys that 'arguments' want: those that match "pattern", at most "count" of them. For backends that cannot ask for
/// fewer.
Backend::OnRow wanted_keys(const boost::json::object& arguments, Backend::OnRow on_row);

/// The daemon at the first place where one answers, or the store that the options name. Unavailable, naming the places, when none does.
Result<std::unique_ptr<Backend>> open_backend(const Options& options);

/// The daemon at the first place where one answers; 'options' names no store. Unavailable as above.
Result<std::unique_ptr<AdminClient>> open_daemon(const Options& options);

/// The store of options.store. Unimplemented in a program that was built without Redis.
Result<std::unique_ptr<Backend>> open_store(const Options& options);

}  // namespace rondo::cli
