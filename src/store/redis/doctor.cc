// See redis_doctor.h. Each check is one small function, in the order of importance.
#include "store/redis/doctor.h"

#include <algorithm>
#include <charconv>
#include <utility>

namespace rondo {

namespace {

using Values = std::map<std::string, std::string, std::less<>>;

constexpr std::uint64_t kMiB = 1024 * 1024;

/// A number at the beginning of 'text', followed by a blank, a dot or the end of the line.
std::optional<std::uint64_t> number(std::string_view text) {
  std::uint64_t value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{}) return std::nullopt;
  if (stop != text.data() + text.size() && *stop != ' ' && *stop != '.' && *stop != '\n') return std::nullopt;
  return value;
}

/// The lines "name:value" of INFO.
Values parse_info(std::string_view text) {
  Values values;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos || line.front() == '#') continue;
    values.insert_or_assign(std::string{line.substr(0, colon)}, std::string{line.substr(colon + 1)});
  }
  return values;
}

std::vector<std::string_view> words(std::string_view text) {
  std::vector<std::string_view> result;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    if (end > 0) result.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return result;
}

std::string bytes_text(std::uint64_t bytes) {
  if (bytes >= kMiB) return std::to_string(bytes / kMiB) + " MiB";
  if (bytes >= 1024) return std::to_string(bytes / 1024) + " KiB";
  return std::to_string(bytes) + " bytes";
}

/// 'text' as one word of a shell command.
std::string shell_word(std::string_view text) {
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view{"/._-:,@%+="}.find(c) != std::string_view::npos;
  };
  if (!text.empty() && std::all_of(text.begin(), text.end(), plain)) return std::string{text};
  std::string word = "'";
  for (const char c : text) {
    if (c == '\'') {
      word += "'\\''";
    } else {
      word += c;
    }
  }
  return word + "'";
}

class Doctor {
 public:
  explicit Doctor(const RedisFacts& facts) : facts_(facts), info_(parse_info(facts.info)) {
    if (facts.config) config_.insert(facts.config->begin(), facts.config->end());
  }

  std::vector<RedisFinding> examine() {
    if (!info("redis_version")) {
      problem("INFO", facts_.info.empty() ? "nothing" : "not understood",
              "without INFO nothing can be judged: the server refuses it, or is no Redis", "allow the user INFO: ACL SETUSER name +info");
      return std::move(findings_);
    }
    version();
    mode();
    role();
    state();
    eviction();
    memory();
    durability();
    failed_saves();
    if (facts_.config) {
      output_buffers();
      idle_clients();
      exposure();
    }
    keyspace_events();
    tracking();
    fence();
    clients();
    machine();
    latency();
    if (!facts_.config) {
      advice("CONFIG GET", "refused", "only what INFO tells was judged: buffer limits, saves, keyspace events and idle time are unknown",
             "allow the user to read settings: ACL SETUSER name '+config|get'");
    }
    std::stable_sort(findings_.begin(), findings_.end(), [](const RedisFinding& a, const RedisFinding& b) { return a.level > b.level; });
    return std::move(findings_);
  }

 private:
  // --- facts

  std::optional<std::string_view> info(std::string_view name) const { return find(info_, name); }
  std::optional<std::string_view> config(std::string_view name) const { return find(config_, name); }
  /// A number of INFO; 0 if absent.
  std::uint64_t count(std::string_view name) const { return info(name) ? number(*info(name)).value_or(0) : 0; }
  static std::optional<std::string_view> find(const Values& values, std::string_view name) {
    const auto found = values.find(name);
    if (found == values.end()) return std::nullopt;
    return found->second;
  }
  bool is_replica() const { return (facts_.role.empty() ? info("role").value_or("") : std::string_view{facts_.role}) == "slave"; }
  bool has_replicas() const { return count("connected_slaves") > 0; }
  /// True if nothing is written to a disk. False if unknown, without CONFIG.
  bool forgets() const { return info("aof_enabled") == "0" && config("save") == ""; }

  // --- advice

  void add(FindingLevel level, std::string_view setting, std::string_view value, std::string meaning, std::string remedy) {
    findings_.push_back({level, std::string{setting}, std::string{value}, std::move(meaning), std::move(remedy)});
  }
  void ok(std::string_view setting, std::string_view value, std::string meaning) {
    add(FindingLevel::Ok, setting, value, std::move(meaning), "");
  }
  void advice(std::string_view setting, std::string_view value, std::string meaning, std::string remedy = "") {
    add(FindingLevel::Advice, setting, value, std::move(meaning), std::move(remedy));
  }
  void problem(std::string_view setting, std::string_view value, std::string meaning, std::string remedy) {
    add(FindingLevel::Problem, setting, value, std::move(meaning), std::move(remedy));
  }

  /// The redis-cli command with the connection options; it prompts for the password, if there is one.
  std::string cli() const {
    const RedisAddress& address = facts_.address;
    std::string line = "redis-cli";
    if (!address.unix_path.empty()) {
      line += " -s " + shell_word(address.unix_path);
    } else if (address.sentinels.empty()) {
      line += " -h " + shell_word(address.host) + " -p " + std::to_string(address.port);
    } else {
      line += " -h MASTER -p PORT";
    }
    if (address.tls) line += " --tls";
    if (!address.ca_file.empty()) line += " --cacert " + shell_word(address.ca_file);
    if (!address.cert_file.empty()) line += " --cert " + shell_word(address.cert_file) + " --key " + shell_word(address.key_file);
    if (!address.server_name.empty()) line += " --sni " + shell_word(address.server_name);
    if (!address.user.empty()) line += " --user " + shell_word(address.user);
    if (!address.password.empty()) line += " --askpass";
    return line;
  }
  /// The command that sets the option now, and for the next start if there is a configuration file.
  std::string set(std::string_view name, std::string_view value) const {
    std::string line = cli() + " CONFIG SET " + std::string{name} + " " + shell_word(value);
    if (!info("config_file").value_or("").empty()) line += " && " + cli() + " CONFIG REWRITE";
    return line;
  }
  static std::string in_file(std::string_view line) { return "in redis.conf: " + std::string{line} + ", and restart it"; }

  // --- checks

  void version() {
    const std::string_view text = *info("redis_version");
    const std::uint64_t major = number(text).value_or(0);
    const std::size_t dot = text.find('.');
    const std::uint64_t minor = dot == std::string_view::npos ? 0 : number(text.substr(dot + 1)).value_or(0);
    if (major > 6 || (major == 6 && minor >= 2)) return ok("redis_version", text, "6.2 or later");
    problem("redis_version", text, "older than 6.2: commands that the tables use are missing", "install Redis 6.2 or later");
  }

  void mode() {
    if (info("redis_mode") == "sentinel") {
      problem("redis_mode", "sentinel", "a Sentinel knows where the tables are and holds none",
              "give it as redis+sentinel://HOST:PORT/MASTER instead");
    }
    if (info("cluster_enabled") != "1")
      return ok("cluster_enabled", info("cluster_enabled").value_or("0"), "one server holds all keys of a table");
    problem("cluster_enabled", "1",
            "a Cluster refuses SELECT, spreads the keys of one script over slots and tells keyspace events on each node for its own keys",
            in_file("cluster-enabled no") + "; spread tables over several instances instead");
  }

  void role() {
    if (is_replica()) return replica();
    if (info("role")) ok("role", *info("role"), has_replicas() ? "takes writes and has replicas" : "takes writes; no server has a copy");
    if (!has_replicas()) return;
    if (forgets()) {
      problem("save", "",
              "nothing is saved and there are replicas: if it restarts by itself before a fail-over, it is empty, and its replicas become "
              "so too",
              set("appendonly", "yes"));
    }
    const std::optional<std::string_view> needed = config("min-replicas-to-write");
    if (needed == "0") {
      advice("min-replicas-to-write", "0",
             "it takes writes that no replica gets, so a fail-over may lose all since the link broke; with 1 it refuses writes while no "
             "replica is in step",
             set("min-replicas-to-write", "1"));
    } else if (needed) {
      ok("min-replicas-to-write", *needed, "writes are refused while fewer replicas are in step, so a fail-over loses seconds at most");
    }
    const std::optional<std::uint64_t> backlog = number(config("repl-backlog-size").value_or(""));
    if (backlog && *backlog < 16 * kMiB) {
      advice("repl-backlog-size", *config("repl-backlog-size"),
             "a replica that was away for longer than " + bytes_text(*backlog) + " of writes must copy everything again",
             set("repl-backlog-size", "67108864"));
    }
    if (config("repl-diskless-sync") == "no") {
      advice("repl-diskless-sync", "no", "a new replica's copy is written to the master's disk first, which takes longer",
             set("repl-diskless-sync", "yes"));
    }
  }

  void replica() {
    const std::string master = std::string{info("master_host").value_or("?")} + " port " + std::string{info("master_port").value_or("?")};
    if (config("replica-read-only") == "no") {
      problem("replica-read-only", "no", "a replica that takes writes loses them with its next full copy", set("replica-read-only", "yes"));
    }
    problem("role", "slave", "a replica refuses writes, and what is read may be old; its master is " + master,
            "give the master's address, or redis+sentinel:// when Sentinels watch it");
    if (info("master_link_status") == "down") {
      problem(
          "master_link_status", "down",
          "it has lost its master, " + master + ", for " + std::string{info("master_link_down_since_seconds").value_or("?")} + " seconds",
          "look whether the master runs and lets it in (masterauth, masteruser)");
    }
  }

  void state() {
    if (info("loading") == "1") {
      problem("loading", "1",
              "it is still reading its files and answers nothing else; " + std::string{info("loading_eta_seconds").value_or("?")} +
                  " seconds to go",
              "wait until it has read them");
    }
    if (count("evicted_keys") > 0) {
      problem("evicted_keys", *info("evicted_keys"), "so many keys were thrown away for lack of memory since it started: rows are missing",
              "give it memory and " + set("maxmemory-policy", "noeviction") + ", then write the tables again");
    }
    if (count("rejected_connections") > 0) {
      advice("rejected_connections", *info("rejected_connections"), "so many clients found no room since it started",
             "raise maxclients, or find out who connects");
    }
  }

  void eviction() {
    const std::string_view policy = config("maxmemory-policy").value_or(info("maxmemory_policy").value_or(""));
    if (policy.empty()) return;
    const bool limited = limit() != 0;
    if (policy.starts_with("allkeys-")) {
      const std::string meaning = limited ? "when memory is full it throws rows away, silently"
                                          : "harmless without maxmemory, and throws rows away as soon as that is set";
      return add(limited ? FindingLevel::Problem : FindingLevel::Advice, "maxmemory-policy", policy, meaning,
                 set("maxmemory-policy", "noeviction"));
    }
    if (policy.starts_with("volatile-")) {
      return advice("maxmemory-policy", policy, "when memory is full it throws away rows that have a time to live; then it refuses writes",
                    set("maxmemory-policy", "noeviction"));
    }
    ok("maxmemory-policy", policy, "nothing is thrown away; when memory is full, writes are refused and their writers told");
  }

  std::uint64_t limit() const { return number(config("maxmemory").value_or("")).value_or(count("maxmemory")); }

  void memory() {
    const std::uint64_t used = count("used_memory");
    const std::uint64_t all = count("total_system_memory");
    if (limit() == 0) {
      if (all == 0 || used < all / 2) return ok("maxmemory", "0", "no limit; " + bytes_text(used) + " are used");
      return advice(
          "maxmemory", "0",
          bytes_text(used) + " of the machine's " + bytes_text(all) + " are used: the kernel may end it, and a save may not find room",
          set("maxmemory", std::to_string(all / 4 * 3)));
    }
    const std::string meaning = bytes_text(used) + " of " + bytes_text(limit()) + " are used";
    if (used < limit() / 5 * 4) return ok("maxmemory", std::to_string(limit()), meaning);
    advice("maxmemory", std::to_string(limit()), meaning + "; when it is full, writes are refused",
           set("maxmemory", std::to_string(limit() * 2)));
  }

  void durability() {
    const std::optional<std::string_view> save = config("save");
    if (info("aof_enabled") == "1" || config("appendonly") == "yes") {
      const std::string_view when = config("appendfsync").value_or("");
      if (when == "no") {
        return advice("appendfsync", "no", "when the machine fails, what the kernel had not yet written is lost: half a minute or more",
                      set("appendfsync", "everysec"));
      }
      if (config("no-appendfsync-on-rewrite") == "yes") {
        return advice("no-appendfsync-on-rewrite", "yes",
                      "during a rewrite or save nothing is forced to the disk: a failure then loses half a minute or more",
                      set("no-appendfsync-on-rewrite", "no"));
      }
      if (when == "always")
        return ok("appendfsync", when, "what was answered is on the disk, at the price of a disk write for each round of commands");
      return ok("appendonly", "yes", "a failure loses a second of changes at most, two when the disk is slow");
    }
    if (!save) return;  // Unknown; the check of CONFIG GET reports it.
    if (save->empty()) {
      return advice(
          "save", "",
          "nothing is saved: when it ends, all tables are gone, and all that waits in them. Right where producers write everything again",
          set("appendonly", "yes"));
    }
    std::uint64_t longest = 0;
    const std::vector<std::string_view> rules = words(*save);
    for (std::size_t i = 0; i + 1 < rules.size(); i += 2) longest = std::max(longest, number(rules[i]).value_or(0));
    advice("save", *save, "a crash loses all since the last snapshot, by these rules up to " + std::to_string(longest) + " seconds",
           set("appendonly", "yes"));
  }

  void failed_saves() {
    const bool stops = config("stop-writes-on-bgsave-error").value_or("yes") == "yes" && config("save").value_or("?") != "";
    if (info("rdb_last_bgsave_status") == "err") {
      const std::string meaning = stops ? "the last snapshot failed, so it refuses writes (MISCONF)" : "the last snapshot failed";
      add(stops ? FindingLevel::Problem : FindingLevel::Advice, "rdb_last_bgsave_status", "err", meaning,
          "see its log: disk full, no right to write into 'dir', or no memory for the fork (vm.overcommit_memory = 1)");
    }
    if (info("aof_last_write_status") == "err") {
      problem("aof_last_write_status", "err", "the last write of the append-only file failed, so it refuses writes",
              "see its log; usually the disk is full");
    }
    if (info("aof_last_bgrewrite_status") == "err") {
      advice("aof_last_bgrewrite_status", "err", "the append-only file could not be rewritten and grows",
             "see its log: disk or memory is short");
    }
    constexpr std::uint64_t kSlowFork = 20'000;
    if (count("latest_fork_usec") >= kSlowFork) {
      advice("latest_fork_usec", *info("latest_fork_usec"), "each save stops everything for so many microseconds",
             "save on a replica instead, or spread the tables over several instances");
    }
  }

  /// The setting holds "class hard soft seconds" for each class of clients.
  void output_buffers() {
    const std::vector<std::string_view> limits = words(config("client-output-buffer-limit").value_or(""));
    for (std::size_t i = 0; i + 3 < limits.size(); i += 4) {
      const std::optional<std::uint64_t> hard = number(limits[i + 1]);
      const std::optional<std::uint64_t> soft = number(limits[i + 2]);
      if (!hard || !soft) continue;
      std::string value;
      for (std::size_t part = 0; part < 4; ++part) value += (part == 0 ? "" : " ") + std::string{limits[i + part]};
      if (limits[i] == "pubsub") subscriber_buffer(value, *hard, *soft, limits[i + 3]);
      if (limits[i] == "normal" && *hard != 0 && *hard < 256 * kMiB) {
        advice("client-output-buffer-limit", value, "a client is cut while it reads a table of more than " + bytes_text(*hard),
               set("client-output-buffer-limit", "normal 0 0 0"));
      }
    }
  }

  void subscriber_buffer(const std::string& value, std::uint64_t hard, std::uint64_t soft, std::string_view seconds) {
    constexpr std::uint64_t kHard = 256 * kMiB;
    constexpr std::uint64_t kSoft = 64 * kMiB;
    const std::string remedy = set("client-output-buffer-limit", "pubsub 268435456 67108864 60");
    if (hard == 0) {
      return advice("client-output-buffer-limit", value, "a subscriber that stopped reading makes Redis grow without end", remedy);
    }
    if (hard >= kHard && (soft == 0 || soft >= kSoft)) {
      return ok("client-output-buffer-limit", value, "a slow subscriber has " + bytes_text(hard) + " before it is cut");
    }
    std::string meaning = "a subscriber that lags " + bytes_text(hard) + " behind is cut";
    if (soft != 0) meaning += ", or one that lags " + bytes_text(soft) + " for " + std::string{seconds} + " seconds";
    advice("client-output-buffer-limit", value, meaning + ": Rondo's consumers then connect and read again, stock ones never connect again",
           remedy);
  }

  void keyspace_events() {
    const std::optional<std::string_view> flags = config("notify-keyspace-events");
    if (!flags) return;
    const auto has = [&flags](char flag) { return flags->find(flag) != std::string_view::npos; };
    const bool enough = has('K') && (has('A') || (has('g') && has('h')));
    if (enough)
      return ok("notify-keyspace-events", *flags,
                "stock SubscriberStateTable consumers are notified of changes; each write costs a little for it");
    if (facts_.stock_peers) {
      return problem("notify-keyspace-events", *flags, "stock SubscriberStateTable consumers are notified of no change",
                     set("notify-keyspace-events", "AKE"));
    }
    ok("notify-keyspace-events", *flags,
       "enough for Rondo, which uses client tracking; stock SubscriberStateTable consumers would need AKE");
  }

  void tracking() {
    const std::optional<std::uint64_t> most = number(config("tracking-table-max-keys").value_or(""));
    const std::uint64_t tracked = count("tracking_total_keys");
    if (!most || *most == 0 || tracked < *most / 10 * 9) return;
    advice("tracking-table-max-keys", std::to_string(*most),
           std::to_string(tracked) + " keys are tracked: beyond the limit keys are reported as changed that are not, and read again",
           set("tracking-table-max-keys", std::to_string(*most * 4)));
  }

  void fence() {
    if (!facts_.kill_refused) return;
    advice("CLIENT KILL", "refused",
           "the server may execute late commands of an abandoned connection behind those of its successor: an older value may stay",
           "allow the user to end its own connections: ACL SETUSER name '+client|kill'");
  }

  void idle_clients() {
    if (const std::string_view timeout = config("timeout").value_or("0"); timeout != "0") {
      advice("timeout", timeout, "a connection that is idle for so many seconds is cut; Rondo connects again, and each time reads again",
             set("timeout", "0"));
    }
    const std::optional<std::string_view> keepalive = config("tcp-keepalive");
    if (keepalive == "0") {
      advice("tcp-keepalive", "0", "connections of dead clients are never closed, nor are their buffers freed",
             set("tcp-keepalive", "300"));
    } else if (keepalive) {
      ok("tcp-keepalive", *keepalive, "connections of dead clients are probed after this many seconds");
    }
    const std::optional<std::uint64_t> databases = number(config("databases").value_or(""));
    if (databases && facts_.address.database >= *databases) {
      problem("databases", *config("databases"), "database " + std::to_string(facts_.address.database) + " does not exist",
              in_file("databases 100"));
    }
  }

  void exposure() {
    const std::optional<std::string_view> bind = config("bind");
    if (!bind || number(config("port").value_or("0")).value_or(0) == 0) return;
    const std::vector<std::string_view> addresses = words(*bind);
    const bool local = !addresses.empty() && std::all_of(addresses.begin(), addresses.end(), [](std::string_view address) {
      return address.starts_with("127.") || address == "localhost" || address == "::1" || address == "-::1";
    });
    const bool guarded =
        config("protected-mode") != "no" || !config("requirepass").value_or("").empty() || !config("aclfile").value_or("").empty();
    if (local || guarded) return;
    problem("protected-mode", "no", "it listens beyond this machine and requires no password: anyone can write the tables",
            "give it a password or ACL users, or " + set("protected-mode", "yes"));
  }

  void clients() {
    const std::uint64_t most = number(config("maxclients").value_or("")).value_or(count("maxclients"));
    const std::uint64_t now = count("connected_clients");
    if (most == 0 || now < most / 5 * 4) return;
    advice("maxclients", std::to_string(most), std::to_string(now) + " clients are connected; the next ones may find no room",
           set("maxclients", std::to_string(most * 2)));
  }

  void machine() {
    if (facts_.overcommit_memory &&
        number(words(*facts_.overcommit_memory).empty() ? "" : words(*facts_.overcommit_memory).front()) == 0U) {
      advice("vm.overcommit_memory", "0", "a save may fail although there is memory enough, because its fork might need all of it again",
             "sysctl vm.overcommit_memory=1, and the same line in a file of sysctl.d");
    }
    const bool huge = facts_.transparent_hugepage && facts_.transparent_hugepage->find("[always]") != std::string::npos;
    if (config("disable-thp") == "no" || (huge && config("disable-thp") != "yes")) {
      advice("disable-thp", config("disable-thp").value_or("unknown"),
             "with transparent huge pages a save copies 2 MiB for each small change: pauses and memory",
             in_file("disable-thp yes") + "; or echo madvise > transparent_hugepage/enabled");
    }
  }

  void latency() {
    if (facts_.round_trips.empty()) return;
    std::vector<Duration> sorted = facts_.round_trips;
    std::sort(sorted.begin(), sorted.end());
    const auto micros = [](Duration time) { return std::chrono::duration_cast<std::chrono::microseconds>(time).count(); };
    const Duration middle = sorted[sorted.size() / 2];
    const Duration worst = sorted.back();
    const std::string value = "median " + std::to_string(micros(middle)) + " us, worst " + std::to_string(micros(worst)) + " us of " +
                              std::to_string(sorted.size());
    if (middle <= 1ms && worst <= 100ms) return ok("round trip", value, "a change needs two of them from producer to consumer");
    const std::string remedy =
        middle > 1ms ? "run it nearer, over a Unix socket where possible" : cli() + " SLOWLOG GET 10, and --latency-history for pauses";
    advice("round trip", value,
           middle > 1ms ? "each change needs two of them from producer to consumer" : "something stops it from time to time", remedy);
  }

  const RedisFacts& facts_;
  Values info_;
  Values config_;
  std::vector<RedisFinding> findings_;
};

}  // namespace

std::string_view to_string(FindingLevel level) noexcept {
  switch (level) {
    case FindingLevel::Ok: return "ok";
    case FindingLevel::Advice: return "advice";
    case FindingLevel::Problem: return "problem";
  }
  return "?";
}

std::vector<RedisFinding> examine_redis(const RedisFacts& facts) { return Doctor(facts).examine(); }

}  // namespace rondo
