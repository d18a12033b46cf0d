// Backend: answers the commands. It is the daemon at its socket, or, with --store, a Redis or the file of a daemon. Arguments and results
// are those of the admin protocol (docs/guide/admin-protocol.md), so that the output does not depend on the backend. Blocking; one thread.
#pragma once

#include <boost/json.hpp>
#include <functional>
#include <memory>
#include <string>

#include "admin/bulk.h"
#include "admin/bulk_writer.h"
#include "arguments/options.h"
#include "rondo/admin/client.h"
#include "rondo/base/result.h"

namespace rondo::cli {

class Backend {
 public:
  using OnRow = std::function<void(const boost::json::value& row)>;
  virtual ~Backend() = default;

  /// Passes rows to 'on_row' as they arrive. Without it they are in the result's "rows", which exists even if there are none. Text in
  /// 'arguments' is escaped (rondo/base/text.h).
  virtual Result<boost::json::object> call(const std::string& command, const boost::json::object& arguments, const OnRow& on_row) = 0;

  /// What the answers so far lack because it could not be read; ok if nothing.
  virtual Status lacking() const { return {}; }

  /// Calls 'rows' with a sink, and waits until the end of every row is known. Calls 'on_totals' with the progress from time to time.
  virtual Result<BulkTotals> write(const std::function<Status(BulkSink& sink)>& rows,
                                   const std::function<void(const BulkTotals&)>& on_totals) = 0;
};

/// Wraps 'on_row' so that it gets only the keys selected by 'arguments': those that match "pattern", at most "count" of them. For backends
/// that cannot request fewer.
Backend::OnRow wanted_keys(const boost::json::object& arguments, Backend::OnRow on_row);

/// Opens the store that the options name (backends/registry.h), or the daemon at the first socket that answers. Unavailable, with the
/// sockets, if none does.
Result<std::unique_ptr<Backend>> open_backend(const Options& options);

/// Opens the daemon at the first socket that answers, or at the URL that the options name; 'options' must name no store. Unavailable as
/// above; errors of a URL's server are those of the first call.
Result<std::unique_ptr<AdminClient>> open_daemon(const Options& options);

}  // namespace rondo::cli
