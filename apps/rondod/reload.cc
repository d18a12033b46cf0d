// Daemon: what SIGHUP does besides what every Service does. It applies the settings that can change at run time, and logs those that need
// a restart.
#include <string>
#include <utility>

#include "rondod/daemon.h"

namespace rondo::daemon {

void Daemon::read_config_again() {
  if (config_.path.empty()) return;
  Result<Config> read = read_config(config_.path, Pipes::Refuse);  // The writer of a pipe may have gone.
  if (context_) context_->refused_config = read ? std::string{} : read.error().to_string();
  if (!read) {
    log_.error("cannot read the configuration, keeping the current one", {{"why", read.error()}});
    return;
  }
  if (config_.socket_given) read->socket = config_.socket;
  if (read->log_level != config_.log_level) {
    config_.log_level = read->log_level;
    log_.set_level(config_.log_level);
    log_.info("log level changed", {{"level", to_string(config_.log_level)}});
  }
  if (read->policy != config_.policy) change_policy(read->policy);
  read->policy = config_.policy;  // If the policy could not be applied, that was logged.
  std::string settings;
  for (const std::string& name : differences(config_, *read)) settings.append(settings.empty() ? "" : ", ").append(name);
  if (!settings.empty()) log_.warn("changed settings are taken at the next start only", {{"settings", settings}});
}

void Daemon::read_passwords_again() {
  for (const auto& store : redis_.stores()) {
    const Result<bool> changed = store->read_passwords();
    if (!changed) {
      log_.error("cannot read a password file, keeping the current password", {{"store", store->where()}, {"why", changed.error()}});
    } else if (*changed) {
      log_.info("the next connections use another password", {{"store", store->where()}});
    }
  }
}

void Daemon::change_policy(const PolicyChoice& choice) {
  auto policy = make_policy(choice.options());
  if (!policy) {
    log_.error("policy not changed", {{"why", policy.error()}});
    return;
  }
  config_.policy = choice;
  runtime_->scheduler().set_policy(std::move(*policy));
  log_.info("policy changed", {{"policy", runtime_->scheduler().policy().describe()}});
  warn_of_policy();
}

void Daemon::warn_of_policy() {
  for (const std::string& why : policy_warnings(runtime_->scheduler().policy().settings())) log_.warn("policy", {{"why", why}});
}

}  // namespace rondo::daemon
