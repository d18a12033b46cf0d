// See facts.h.
#include "backends/redis/facts.h"

#include <fstream>
#include <optional>
#include <sstream>
#include <string>

#include "rondo/base/text.h"
#include "store/redis/doctor.h"

namespace rondo::cli {
namespace {

namespace json = boost::json;

constexpr int kPings = 20;
/// An id that no connection has: servers count them from 1.
constexpr const char* kNobody = "9223372036854775807";

/// The text of a file of this machine, if it exists.
std::optional<std::string> machine_text(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  if (!file || !(text << file.rdbuf())) return std::nullopt;
  return text.str();
}

bool is_here(const RedisAddress& address) {
  return !address.unix_path.empty() || address.host == "localhost" || address.host == "::1" || address.host.starts_with("127.");
}

Result<RedisFacts> gather(RedisSession& session) {
  RedisFacts facts;
  facts.address = session.address();
  const Result<std::vector<RedisAnswer>> answers =
      session.ask({{"INFO"}, {"CONFIG", "GET", "*"}, {"ROLE"}, {"CLIENT", "KILL", "ID", kNobody}});
  if (!answers) return failure(answers.error());
  facts.info = (*answers)[0].text;
  if ((*answers)[1].error.ok()) {
    const std::vector<RedisAnswer>& pairs = (*answers)[1].items;
    facts.config.emplace();
    for (std::size_t i = 0; i + 1 < pairs.size(); i += 2) facts.config->emplace(pairs[i].text, pairs[i + 1].text);
  }
  if (!(*answers)[2].items.empty()) facts.role = (*answers)[2].items[0].text;
  facts.kill_refused = (*answers)[3].error.code() == StatusCode::PermissionDenied;
  for (int i = 0; i < kPings; ++i) {
    const Instant start = session.clock().now();
    if (const Result<RedisAnswer> pong = session.ask({"PING"}); !pong) return failure(pong.error());
    facts.round_trips.push_back(session.clock().now() - start);
  }
  if (is_here(facts.address)) {
    facts.overcommit_memory = machine_text("/proc/sys/vm/overcommit_memory");
    facts.transparent_hugepage = machine_text("/sys/kernel/mm/transparent_hugepage/enabled");
  }
  return facts;
}

}  // namespace

Result<json::object> examine_server(RedisSession& session, bool stock_peers, const std::function<void(const json::value&)>& on_row) {
  Result<RedisFacts> facts = gather(session);
  if (!facts) return failure(facts.error());
  facts->stock_peers = stock_peers;
  int problems = 0;
  int advice = 0;
  for (const RedisFinding& finding : examine_redis(*facts)) {
    problems += finding.level == FindingLevel::Problem ? 1 : 0;
    advice += finding.level == FindingLevel::Advice ? 1 : 0;
    on_row(json::object{{"level", json::string{to_string(finding.level)}},
                        {"setting", escape_text(finding.setting)},
                        {"value", escape_text(finding.value)},
                        {"meaning", escape_text(finding.meaning)},
                        {"remedy", escape_text(finding.remedy)}});
  }
  return json::object{{"problems", problems}, {"advice", advice}};
}

}  // namespace rondo::cli
