// See direct.h.
#include "rondod/stores/direct.h"

#include <cerrno>
#include <fstream>
#include <utility>

#include "rondo/store/memory_store.h"
#include "switch_agent/priorities.h"

namespace rondo::daemon {
namespace {

Result<std::string> first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  if (!file.eof() && file.fail()) return failure(status_from_errno(errno, "the secret key's file '" + path + "' cannot be read"));
  return line;
}

/// The options of the server that 'settings' describe, without its tables.
Result<ZmqServerOptions> server_options(const DirectSettings& settings) {
  ZmqServerOptions options;
  options.endpoint = settings.endpoint;
  options.open_to_network = settings.open_to_network;
  options.connections = static_cast<std::size_t>(settings.connections);
  options.connections_per_address = static_cast<std::size_t>(settings.connections_per_address);
  options.priority = switch_agent::kBulkWrites;
  if (settings.secret_key_file.empty() && settings.allowed_clients.empty()) return options;
  if (settings.secret_key_file.empty()) {
    return failure(StatusCode::InvalidArgument, "allowed_clients need a secret_key_file: without one everybody would be let in");
  }
  Result<std::string> secret = first_line(settings.secret_key_file);
  if (!secret) return failure(secret.error());
  options.curve = ZmqServerCurve{.secret_key = std::move(*secret), .allowed_clients = settings.allowed_clients};
  return options;
}

class OpenFeed final : public DirectFeed {
 public:
  OpenFeed(ZmqStore& store, DirectSettings settings, std::vector<std::string> tables)
      : store_(store), settings_(std::move(settings)), tables_(std::move(tables)) {}

  const std::string& endpoint() const override { return store_.server().endpoint(); }
  const std::vector<std::string>& tables() const override { return tables_; }
  const ZmqServerStats& server() const override { return store_.server().stats(); }
  ZmqStoreStats store() const override { return store_.stats(); }
  bool is_recovered() const override { return store_.is_recovered(); }
  std::size_t staged() const override {
    std::size_t staged = 0;
    for (const std::string& table : tables_) staged += store_.server().staged(settings_.database, table).value();
    return staged;
  }

 private:
  ZmqStore& store_;
  const DirectSettings settings_;
  const std::vector<std::string> tables_;
};

}  // namespace

Status check_direct(const DirectSettings& settings) {
  const Result<ZmqServerOptions> options = server_options(settings);
  return options ? ZmqServer::check(*options) : options.error();
}

Result<StoreMaker> make_direct(const DirectSettings& settings, std::vector<std::string> tables, StoreMaker wrapped, DirectHooks hooks) {
  Result<ZmqServerOptions> server = server_options(settings);
  if (!server) return failure(server.error());
  for (const std::string& table : tables) server->tables.push_back({.database = settings.database, .table = table});
  server->on_fault = [tell = hooks.on_trouble](ZmqFault fault, const Status& why, std::uint64_t count) {
    tell(why.with_context(to_string(fault)), count);
  };
  ZmqStoreOptions options{.server = std::move(*server)};
  options.priority = switch_agent::kBulkWrites;
  options.recover = true;
  options.on_trouble = [tell = hooks.on_trouble](std::string_view table, const Status& why) { tell(why.with_context(table), 1); };
  return StoreMaker{[settings, tables = std::move(tables), wrapped = std::move(wrapped), options = std::move(options),
                     hooks = std::move(hooks)](Scheduler& scheduler) -> Result<std::unique_ptr<Store>> {
    Result<std::unique_ptr<Store>> inner = wrapped(scheduler);
    if (!inner) return inner;
    Result<std::unique_ptr<ZmqStore>> store = ZmqStore::open(scheduler, std::move(*inner), options);
    if (!store) return failure(store.error().with_context("the direct tables at " + settings.endpoint));
    hooks.on_open(std::make_unique<OpenFeed>(**store, settings, tables));
    return std::move(*store);
  }};
}

}  // namespace rondo::daemon
