#include "rondo-demo/jobs/sample_jobs.h"

#include <boost/json.hpp>
#include <string>
#include <vector>

namespace rondo::demo {

Status add_sample_jobs(AdminClient& client, unsigned load, const std::string& handler) {
  namespace json = boost::json;
  std::vector<json::object> samples{
      {{"name", "sample/each-minute"},
       {"handler", "log"},
       {"parameters", "a sample job: rondo job show sample/each-minute"},
       {"schedule", "cron * * * * *"}},
      {{"name", "sample/every-200ms"}, {"handler", "none"}, {"schedule", "every 200ms"}},
      {{"name", "sample/child"}, {"handler", "none"}, {"parents", json::array{"sample/every-200ms"}}},
  };
  constexpr unsigned kRunsASecond = 10;
  for (unsigned i = 0; i < load / kRunsASecond; ++i) {
    samples.push_back({{"name", "load/" + std::to_string(i)}, {"handler", handler}, {"schedule", "every 100ms"}});
  }
  for (const json::object& sample : samples) {
    const auto added = client.call("job-put", {{"definition", json::serialize(sample)}, {"start", true}});
    if (!added) return added.error().with_context("adding a sample job");
  }
  return {};
}

}  // namespace rondo::demo
