#include "rondod/configuration/start_check.h"

#include <fcntl.h>
#include <netdb.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

#include "admin/suggest.h"
#include "base/unique_fd.h"
#include "dataplane/netlink/network_namespace.h"
#include "journal/lock.h"
#include "managers/managers.h"
#include "rondo/base/status.h"
#include "rondo/base/thread_settings.h"
#include "rondod/configuration/user_names.h"
#include "rondod/http/front.h"
#include "rondod/jobs/executor_service.h"
#include "rondod/jobs/job_service.h"
#include "rondod/stores/registry.h"
#include "switch_agent/tables.h"

namespace rondo::daemon {

namespace {

/// The folders that packaging/rondod.service lets the service manager make.
constexpr std::array<std::string_view, 3> kServiceFolders{"/run/rondo", "/var/lib/rondo", "/var/log/rondo"};

class StartCheck {
 public:
  explicit StartCheck(const Config& config) : config_(config) {}

  std::vector<StartFinding> all() {
    check_own_files();
    check_place("admin.socket", config_.socket, S_IFSOCK, "a socket");
    check_journal();
    check_store("store.url", config_.store);
    for (const StoreGroup& group : config_.store_groups) check_group(group);
    check_managers();
    if (config_.fpm.enabled) check_address("fpm.address", "[" + config_.fpm.address + "]:0");
    check_cpus("scheduler.cpus", config_.scheduler_cpus);
    check_jobs();
    check_http();
    if (config_.plane != PlaneKind::Linux) return std::move(findings_);
    check_cpus("dataplane.cpus", config_.dataplane_cpus);
    check_namespace();
    return std::move(findings_);
  }

 private:
  void complain(std::string setting, std::string what) { findings_.push_back({true, std::move(setting), std::move(what)}); }
  void complain(std::string setting, const Status& why) {
    findings_.push_back({true, std::move(setting), std::string{why.message()}, why.code()});
  }
  void complain(std::string setting, int error, const std::string& what) { complain(std::move(setting), status_from_errno(error, what)); }

  /// As check_place(), and checks the content of a file whose place is right.
  template <class Check>
  void check_file(const std::string& setting, const std::string& file, Check check_content) {
    const std::size_t before = findings_.size();
    check_place(setting, file, S_IFREG, "a regular file");
    if (findings_.size() != before) return;
    if (const Status bad = check_content(); !bad.ok()) complain(setting, std::string{bad.message()});
  }

  /// The journal, the jobs and the tables of one URL each lock and rewrite their file, and those that they make beside it.
  void check_own_files() {
    std::vector<std::pair<std::string, std::string>> files;
    const auto is_new = [&](const std::string& setting, const std::string& file) {
      for (const auto& [other, same] : files) {
        if (other.substr(0, other.find('.')) == setting.substr(0, setting.find('.')) || !is_same_file(file, same)) continue;
        complain(setting, "is the file of " + other + ", '" + same + "', too: each of them needs a file of its own");
        return false;
      }
      files.emplace_back(setting, file);
      return true;
    };
    const auto add_database = [&](const std::string& setting, const std::string& file) {
      for (const char* const end : {"", "-wal", "-shm", "-journal", "-lock"}) {
        if (!is_new(setting, file + end)) return;
      }
    };
    for (unsigned number = 0; !config_.journal_file.empty() && number <= config_.journal_files; ++number)
      files.emplace_back("journal.file", config_.journal_file + (number == 0 ? "" : "." + std::to_string(number)));
    if (const auto file = table_file(config_.store.url)) add_database("store.url", *file);
    for (const StoreGroup& group : config_.store_groups) {
      if (const auto file = table_file(group.place.url)) add_database("store.group.url", *file);
    }
    if (config_.jobs.enabled && !config_.jobs.is_at_server()) add_database("jobs.store", config_.jobs.store);
  }

  /// Also of files that are not there yet, and through links.
  static bool is_same_file(const std::filesystem::path& one, const std::filesystem::path& other) {
    std::error_code error;
    if (std::filesystem::equivalent(one, other, error)) return true;
    const auto real = [&error](const std::filesystem::path& file) {
      return std::filesystem::weakly_canonical(std::filesystem::absolute(file, error), error);
    };
    return real(one) == real(other);
  }

  void check_journal() {
    const std::string& file = config_.journal_file;
    if (!file.empty())
      check_file("journal.file", file, [&] {
        const Status older = journal::check_older(file, config_.journal_files);
        return older.ok() ? journal::check_file(file) : older;
      });
  }

  void check_http() {
    if (const Status lacking = check_http_build(); !lacking.ok() && config_.http.enabled) return complain("http.enabled", lacking);
    if (const Status refused = check_front(config_); !refused.ok()) complain("http", refused);
    if (const Status refused = check_executor_groups(config_); !refused.ok()) complain("executors.group", refused);
  }

  void check_jobs() {
    if (!config_.jobs.enabled) return;
    if (const Status lacking = check_job_build(); !lacking.ok()) return complain("jobs.enabled", lacking);
    for (const NotifyChoice& one : config_.notify) {
      if (const Status lacking = check_http_build(); !lacking.ok() && one.kind != NotifyKind::Command) complain("notify.kind", lacking);
      if (!one.secret_file.empty() && ::access(one.secret_file.c_str(), R_OK) != 0)
        complain("notify.secret_file", status_from_errno(errno, "reading '" + one.secret_file + "'"));
    }
    if (config_.jobs.is_at_server()) {
      if (const Status lacking = check_job_server_build(config_.jobs.store); !lacking.ok()) complain("jobs.store", lacking);
      return;  // The server may come later.
    }
    if (const auto target = absent_target(config_.jobs.store)) {  // SQLite makes no file there.
      findings_.push_back(
          {true, "jobs.store", "'" + config_.jobs.store + "' is a link to '" + *target + "', which is not there", StatusCode::NotFound});
      return;
    }
    const std::size_t before = findings_.size();
    check_place("jobs.store", config_.jobs.store, S_IFREG, "a regular file");
    if (findings_.size() != before) return;
    if (const Status refused = check_jobs_file(config_); !refused.ok()) complain("jobs.store", refused);
  }

  /// Enters the namespace and leaves it. This user may lack the permission to enter.
  void check_namespace() {
    const auto found = netlink::NetworkNamespace::open(config_.network_namespace);
    const Status entered = found ? found->inside([] { return Status{}; }) : found.error();
    const bool is_unknown = found && entered.code() == StatusCode::PermissionDenied;
    if (!entered.ok() && !is_unknown) complain("dataplane.network_namespace", entered);
  }

  /// The target of a link that leads to nothing.
  static std::optional<std::string> absent_target(const std::filesystem::path& file) {
    std::error_code error;
    if (std::filesystem::exists(file, error) || !std::filesystem::is_symlink(file, error)) return std::nullopt;
    return (file.parent_path() / std::filesystem::read_symlink(file, error)).string();
  }

  /// Checks that an existing file has the 'kind' and can be written; if there is none, that its folder permits a new one.
  void check_place(const std::string& setting, const std::string& file, mode_t kind, const char* kind_name, int links = 0) {
    const std::filesystem::path parent = std::filesystem::path{file}.parent_path();
    const std::string folder = parent.empty() ? "." : parent.string();
    struct stat about {};
    if (::stat(folder.c_str(), &about) != 0) {
      if (errno == ENOENT) {
        const bool is_made = std::ranges::find(kServiceFolders, folder) != kServiceFolders.end();
        findings_.push_back({!is_made, setting, "there is no folder '" + folder + "' for '" + file + "', and the start fails without it",
                             StatusCode::NotFound});
      } else {
        complain(setting, errno, "folder '" + folder + "'");
      }
      return;
    }
    if (!S_ISDIR(about.st_mode)) return complain(setting, "'" + folder + "' is no folder");
    if (::stat(file.c_str(), &about) == 0 && (about.st_mode & S_IFMT) != kind)
      return complain(setting, "'" + file + "' is there and is not " + kind_name);
    const bool is_there = ::faccessat(AT_FDCWD, file.c_str(), F_OK, AT_EACCESS) == 0;
    constexpr int kLinks = 8;
    if (const auto target = absent_target(file); target && kind == S_IFREG && links < kLinks)
      return check_place(setting, *target, kind, kind_name, links + 1);  // It is made there.
    if (is_there && kind == S_IFREG && ::faccessat(AT_FDCWD, file.c_str(), R_OK | W_OK, AT_EACCESS) != 0) {
      complain(setting, errno, "writing '" + file + "'");
    } else if ((!is_there || kind == S_IFSOCK) && ::faccessat(AT_FDCWD, folder.c_str(), W_OK | X_OK, AT_EACCESS) != 0) {
      complain(setting, errno, "making files in '" + folder + "'");
    }
  }

  void check_readable(const std::string& setting, const std::string& file) {
    if (::faccessat(AT_FDCWD, file.c_str(), R_OK, AT_EACCESS) != 0) complain(setting, errno, "reading '" + file + "'");
  }

  /// Reading the configuration has checked the address, and the files of passwords and keys.
  void check_store(const std::string& setting, const StorePlace& place) {
    if (const auto file = table_file(place.url)) return check_file(setting, *file, [&place] { return check_content(place.url); });
    if (place.url.empty()) return;
    for (const std::string& file : read_files(place.url)) check_readable(setting, file);
  }

  void check_group(const StoreGroup& group) {
    check_store("store.group.url", group.place);
    std::vector<std::string_view> known;
    for (const switch_agent::TableReference& table : switch_agent::tables()) known.push_back(table.name);
    const std::vector<std::string> managed = config_.managers.enabled ? managers::config_tables() : std::vector<std::string>{};
    known.insert(known.end(), managed.begin(), managed.end());
    for (const std::string& table : group.tables) {
      if (std::ranges::find(known, table) != known.end()) continue;
      complain("store.group.tables", "no table '" + table + "'" + did_you_mean(table, known));
    }
    if (group.direct) check_endpoint(group.direct->endpoint);
  }

  void check_managers() {
    if (config_.managers.group) check_store("managers.config_db", config_.managers.group->place);
    if (config_.managers.enabled) check_store("managers.state_db", sonic_place(config_.managers.state_db));
  }

  void check_endpoint(const std::string& endpoint) {
    constexpr std::string_view kIpc = "ipc://";
    constexpr std::string_view kTcp = "tcp://";
    const std::string setting = "store.group.direct.endpoint";
    if (endpoint.starts_with(kIpc) && endpoint[kIpc.size()] != '@') {
      return check_place(setting, endpoint.substr(kIpc.size()), S_IFSOCK, "a socket");
    }
    if (endpoint.starts_with(kTcp)) check_address(setting, endpoint.substr(kTcp.size()));
  }

  /// Checks that a socket can be bound to the address, with a port that the kernel chooses. Names of interfaces are checked only at the
  /// start.
  void check_address(const std::string& setting, const std::string& address) {
    std::string host = address.substr(0, address.rfind(':'));
    if (host.size() > 2 && host.front() == '[') host = host.substr(1, host.size() - 2);
    addrinfo hints{};
    hints.ai_flags = AI_NUMERICHOST | AI_PASSIVE;
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* found = nullptr;
    if (::getaddrinfo(host.c_str(), nullptr, &hints, &found) != 0) return;
    const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owned{found, &::freeaddrinfo};
    const UniqueFd socket{::socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    if (::bind(socket.get(), found->ai_addr, found->ai_addrlen) == 0) return;
    if (errno != EADDRNOTAVAIL) return complain(setting, errno, "listening on '" + host + "'");
    complain(setting, Status{StatusCode::NotFound, "'" + host + "' is no address of this machine"});
  }

  /// Binds this thread to the CPUs, as the start does, and restores its own.
  void check_cpus(const std::string& setting, const std::vector<unsigned>& cpus) {
    cpu_set_t before;
    const bool is_known = ::pthread_getaffinity_np(::pthread_self(), sizeof before, &before) == 0;
    if (const Status bad = pin_thread(::pthread_self(), cpus); !bad.ok()) complain(setting, bad);
    if (is_known) ::pthread_setaffinity_np(::pthread_self(), sizeof before, &before);
  }

  const Config& config_;
  std::vector<StartFinding> findings_;
};

}  // namespace

std::vector<StartFinding> check_start(const Config& config) { return StartCheck{config}.all(); }

std::vector<StartFinding> warnings(const Config& config) {
  std::vector<StartFinding> found;
  const FpmChoice& fpm = config.fpm;
  if (fpm.enabled && config.plane == PlaneKind::Linux && fpm.table == config.table) {
    found.push_back({false, "fpm.table",
                     "is that of [dataplane], " + std::to_string(fpm.table) +
                         ": if zebra programs the same kernel, it installs its routes there, too, and the kernel uses "
                         "those. One of the two needs a table of its own: docs/guide/frr.md"});
  }
  for (const std::string& name : fpm.users) {
    if (!fpm.enabled || user_named(name)) continue;
    found.push_back({false, "fpm.users", "names '" + name + "', and this machine has no such user: no program can connect as that user"});
  }
  const ManagersChoice& managers = config.managers;
  for (const auto& [setting, url] :
       {std::pair{"managers.config_db", &managers.config_db}, std::pair{"managers.state_db", &managers.state_db}}) {
    if (managers.enabled || url->empty()) continue;
    found.push_back({false, setting, "has no effect, because the section [managers] does not have enabled = true"});
  }
  return found;
}

int exit_code(const std::vector<StartFinding>& findings) {
  const auto has = [&findings](auto is) { return std::ranges::any_of(findings, is, &StartFinding::code); };
  const auto is_wrong = [](StatusCode code) {
    return code != StatusCode::NotFound && code != StatusCode::PermissionDenied && code != StatusCode::AlreadyExists &&
           code != StatusCode::Unavailable;
  };
  if (has(is_wrong)) return 78;
  return has([](StatusCode code) { return code == StatusCode::PermissionDenied; }) ? 77 : 69;
}

}  // namespace rondo::daemon
