// The daemon as a backend, and the choice between the two.
#include "backend.h"
#include "file_backend.h"
#include "socket_path.h"

namespace rondo::cli {
namespace {

class DaemonBackend final : public Backend {
 public:
  explicit DaemonBackend(std::unique_ptr<AdminClient> client) : client_(std::move(client)) {}

  Result<boost::json::object> call(const std::string& command, const boost::json::object& arguments, const OnRow& on_row) override {
    return on_row ? client_->call(command, arguments, on_row) : client_->call(command, arguments);
  }

  Result<BulkTotals> write(const std::function<Status(BulkSink& sink)>& rows,
                           const std::function<void(const BulkTotals&)>& on_totals) override {
    BulkWriter writer(*client_, {}, on_totals);
    if (Status written = rows(writer); !written.ok()) return failure(std::move(written));
    return writer.finish();
  }

 private:
  std::unique_ptr<AdminClient> client_;
};

}  // namespace

Result<std::unique_ptr<Backend>> open_backend(const Options& options) {
  if (options.store.is_file()) return open_file(options);
  if (options.store.given()) return open_store(options);
  std::string tried;
  for (const std::string& path : socket_candidates(options.socket)) {
    Result<std::unique_ptr<AdminClient>> client = AdminClient::connect(path, options.patience);
    if (client) return std::make_unique<DaemonBackend>(std::move(*client));
    if (client.error().code() == Code::PermissionDenied || client.error().code() == Code::InvalidArgument) return failure(client.error());
    tried.append(tried.empty() ? "" : "; ").append(client.error().message());
  }
  return failure(Code::Unavailable, "no daemon answers: " + tried);
}

}  // namespace rondo::cli
