#include "store/redis/report.h"

namespace rondo::redis {

StoreReport report_of(const RedisStoreStats& stats, const RedisLease& lease, const std::string& where) {
  StoreReport report;
  switch (lease.state) {
    case RedisLease::State::Standby:
      report.standby_for = lease.described;
      report.notes.push_back("standby: " + lease.described + " has the lease of the tables on " + where +
                             "; this process goes on when that lease ends");
      break;
    case RedisLease::State::Refused:
      report.notes.push_back(where + " refuses the lease of the tables, so nothing keeps a second process off them: " + lease.refused);
      break;
    case RedisLease::State::Lost:
      report.must_end = {StatusCode::Unavailable,
                         lease.described + " has taken the lease of the tables on " + where +
                             " from this process, which was silent for longer than its lease, or whose key was overwritten: start it "
                             "again, to stand by"};
      break;
    case RedisLease::State::Off:
    case RedisLease::State::Asking:
    case RedisLease::State::Held: break;
  }
  const auto newest = [&where](const std::string& what) { return what.empty() ? std::string{} : where + ": " + what; };
  report.incidents = {
      {"entries and batches on Redis that could not be read and were dropped", stats.malformed - stats.bad_events,
       newest(stats.last_damage)},
      {"times that a Redis came back as another server process or without its data; rows of Staged tables that it lacks, or has "
       "with other fields, stay as they were applied, and a restart applies what it has unless their producers write them again; rows of "
       "Watched tables that it lacks are withdrawn",
       stats.failovers, newest(stats.last_failover)}};
  return report;
}

}  // namespace rondo::redis
