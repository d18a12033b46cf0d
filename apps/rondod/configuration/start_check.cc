#include "rondod/configuration/start_check.h"

#include <fcntl.h>
#include <netdb.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <memory>
#include <string_view>

#include "base/unique_fd.h"
#include "rondo/admin/suggest.h"
#include "rondo/base/status.h"
#include "rondod/stores/registry.h"
#include "switch_agent/tables.h"

namespace rondo::daemon {

namespace {

class StartCheck {
 public:
  explicit StartCheck(const Config& config) : config_(config) {}

  std::vector<StartFinding> all() {
    check_place("admin.socket", config_.socket, S_IFSOCK, "a socket");
    if (!config_.journal_file.empty()) check_place("journal.file", config_.journal_file, S_IFREG, "a regular file");
    check_store("store", config_.store);
    for (const StoreGroup& group : config_.store_groups) check_group(group);
    check_cpus("scheduler.cpus", config_.scheduler_cpus);
    if (config_.simulated) return std::move(findings_);
    check_cpus("dataplane.cpus", config_.dataplane_cpus);
    if (!config_.network_namespace.empty()) check_readable("dataplane.network_namespace", config_.network_namespace);
    return std::move(findings_);
  }

 private:
  void complain(std::string setting, std::string what) { findings_.push_back({true, std::move(setting), std::move(what)}); }
  void complain(std::string setting, int error, const std::string& what) {
    complain(std::move(setting), std::string{status_from_errno(error, what).message()});
  }

  /// Checks that an existing file has the 'kind' and can be written; if there is none, that its folder permits a new one.
  void check_place(const std::string& setting, const std::string& file, mode_t kind, const char* kind_name) {
    const std::filesystem::path parent = std::filesystem::path{file}.parent_path();
    const std::string folder = parent.empty() ? "." : parent.string();
    struct stat about {};
    if (::stat(folder.c_str(), &about) != 0) {
      if (errno == ENOENT) {
        findings_.push_back({false, setting, "there is no folder '" + folder + "', and the start fails without it"});
      } else {
        complain(setting, errno, "folder '" + folder + "'");
      }
      return;
    }
    if (!S_ISDIR(about.st_mode)) return complain(setting, "'" + folder + "' is no folder");
    if (::stat(file.c_str(), &about) == 0 && (about.st_mode & S_IFMT) != kind)
      return complain(setting, "'" + file + "' is there and is not " + kind_name);
    const bool is_there = ::faccessat(AT_FDCWD, file.c_str(), F_OK, AT_EACCESS) == 0;
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
  void check_store(const std::string& section, const StorePlace& place) {
    const std::string setting = section + ".url";
    if (const auto file = table_file(place.url)) return check_place(setting, *file, S_IFREG, "a regular file");
    if (place.url.empty()) return;
    for (const std::string& file : read_files(place.url)) check_readable(setting, file);
  }

  void check_group(const StoreGroup& group) {
    check_store("store.group", group.place);
    std::vector<std::string_view> known{"NEXTHOP_SET"};  // The agent's own table.
    for (const switch_agent::TableReference& table : switch_agent::tables()) known.push_back(table.name);
    for (const std::string& table : group.tables) {
      if (std::ranges::find(known, table) != known.end()) continue;
      complain("store.group.tables", "no table '" + table + "'" + did_you_mean(table, known));
    }
    if (group.direct) check_endpoint(group.direct->endpoint);
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
    if (::bind(socket.get(), found->ai_addr, found->ai_addrlen) != 0) complain(setting, errno, "listening on '" + host + "'");
  }

  void check_cpus(const std::string& setting, const std::vector<unsigned>& cpus) {
    const long count = ::sysconf(_SC_NPROCESSORS_CONF);
    for (const unsigned cpu : cpus) {
      if (count <= 0 || static_cast<long>(cpu) < count) continue;
      complain(setting, "there is no CPU " + std::to_string(cpu) + ": this machine has " + std::to_string(count));
    }
  }

  const Config& config_;
  std::vector<StartFinding> findings_;
};

}  // namespace

std::vector<StartFinding> check_start(const Config& config) { return StartCheck{config}.all(); }

}  // namespace rondo::daemon
