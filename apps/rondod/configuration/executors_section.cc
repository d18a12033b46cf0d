#include "rondod/configuration/executors_section.h"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "rondo/dataplane/ip.h"
#include "rondod/configuration/section_reader.h"

namespace rondo::daemon {

namespace {

constexpr std::array<std::pair<std::string_view, MetricsAccess>, 3> kMetrics{
    {{"off", MetricsAccess::Off}, {"token", MetricsAccess::Token}, {"open", MetricsAccess::Open}}};

constexpr std::size_t kNameBytes = 64;  // An executor may name no longer group.

void read_networks(SectionReader& s, std::string_view key, std::vector<std::string>& networks) {
  s.texts(key, networks);
  for (const std::string& network : networks) {
    if (const auto prefix = Prefix::parse(network); !prefix) s.complain(key, "names no network: " + std::string{prefix.error().message()});
  }
}

bool is_name(std::string_view name) {
  return !name.empty() && name.size() <= kNameBytes && std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
  });
}

toml::array array_of(const std::vector<std::string>& texts) {
  toml::array array;
  for (const std::string& text : texts) array.push_back(text);
  return array;
}

}  // namespace

void read_http(const toml::table* table, const std::string& file, Status& error, HttpChoice& http) {
  SectionReader s{table, "http", file, error};
  s.flag("enabled", http.enabled);
  s.text("address", http.address);
  if (const auto address = IpAddress::parse(http.address); !address)
    s.complain("address", "cannot be used: " + std::string{address.error().message()});
  s.integer("port", 1, 65535, http.port);
  s.text("certificate", http.certificate);
  s.text("key", http.key);
  if (http.certificate.empty() && !http.key.empty()) s.complain("certificate", "is missing: it belongs to the key");
  if (!http.certificate.empty() && http.key.empty()) s.complain("key", "is missing: it belongs to the certificate");
  s.flag("api", http.api);
  s.text("tokens", http.tokens);
  s.choice("metrics", kMetrics, http.metrics);
  if (http.api && !http.enabled) s.complain("api", "needs enabled = true");
  if (http.metrics != MetricsAccess::Off && !http.enabled) s.complain("metrics", "needs enabled = true");
  if (http.metrics == MetricsAccess::Token && !http.api) s.complain("metrics", "needs api = true for the tokens, or 'open'");
  if (http.tokens.empty()) s.complain("tokens", "must name a file");
}

void read_executors(const toml::table* table, const std::string& file, Status& error, bool serves_http, bool runs_jobs,
                    ExecutorsChoice& executors) {
  SectionReader s{table, "executors", file, error};
  read_networks(s, "networks", executors.networks);
  std::set<std::string> names;
  for (const toml::table* const group : s.groups("group")) {
    SectionReader g{group, "executors.group", file, error};
    ExecutorGroupChoice& read = executors.groups.emplace_back();
    g.text("name", read.name);
    g.text("token_file", read.token_file);
    read_networks(g, "allow_without_token", read.allow_without_token);
    g.texts("addresses", read.addresses);
    g.flag("orth", read.orth);
    if (!is_name(read.name)) g.complain("name", "must have 1 to 64 letters, digits and characters of ._-");
    if (!names.insert(read.name).second) g.complain("name", "is that of another group");
    if (read.token_file.empty() && read.allow_without_token.empty())
      g.complain("token_file", "is missing: without a token, allow_without_token must name the networks of the executors");
  }
  if (executors.groups.empty()) return;
  if (!serves_http) s.complain("group", "needs [http] enabled = true, where executors report");
  if (!runs_jobs) s.complain("group", "needs [jobs] enabled = true");
}

toml::table http_table(const HttpChoice& http) {
  return toml::table{{"enabled", http.enabled},
                     {"address", http.address},
                     {"port", static_cast<std::int64_t>(http.port)},
                     {"certificate", http.certificate},
                     {"key", http.key},
                     {"api", http.api},
                     {"tokens", http.tokens},
                     {"metrics", kMetrics.at(static_cast<std::size_t>(http.metrics)).first}};
}

toml::table executors_table(const ExecutorsChoice& executors) {
  toml::table table{{"networks", array_of(executors.networks)}};
  toml::array groups;
  for (const ExecutorGroupChoice& group : executors.groups) {
    groups.push_back(toml::table{{"name", group.name},
                                 {"token_file", group.token_file},
                                 {"allow_without_token", array_of(group.allow_without_token)},
                                 {"addresses", array_of(group.addresses)},
                                 {"orth", group.orth}});
  }
  if (!groups.empty()) table.insert("group", std::move(groups));
  return table;
}

}  // namespace rondo::daemon
