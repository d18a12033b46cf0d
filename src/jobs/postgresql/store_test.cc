// The store in PostgreSQL on a real server: the contract of stores, the tests of each store on a server, and what is PostgreSQL's own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "jobs/postgresql/database.h"
#include "jobs/postgresql/testing/postgresql_server.h"
#include "jobs/store_contract.h"
#include "jobs/testing/server_store_tests.h"
#include "jobs/testing/store_model.h"
#include "rondo/jobs/postgresql.h"

namespace rondo::jobs::postgresql {
namespace {

using postgresql_kit::Session;
using testing::HasSubstr;
using testing::Not;

INSTANTIATE_TEST_SUITE_P(Postgresql, JobStoreContract,
                         ::testing::Values(StoreKind{"postgresql",
                                                     [](const std::filesystem::path& folder) {
                                                       const std::string name = folder.filename().string();
                                                       return make_postgresql_job_store(postgresql_kit::server().made(name));
                                                     },
                                                     postgresql_kit::why_missing()}),
                         [](const auto& kind) { return kind.param.name; });

TEST(PostgresqlSettings, LimitsOfTimeAreAddedThatTheUrlDoesNotHave) {
  const auto settings = connection_settings("postgresql://me@somewhere/jobs?connect_timeout=60").value();
  EXPECT_THAT(settings, testing::Contains(testing::Pair("connect_timeout", "60")));
  EXPECT_THAT(settings, Not(testing::Contains(testing::Pair("connect_timeout", "5"))));
  EXPECT_THAT(settings, testing::Contains(testing::Pair("tcp_user_timeout", "10000")));
  EXPECT_THAT(settings, testing::Contains(testing::Pair("host", "somewhere")));
}

TEST(PostgresqlSettings, AWrongUrlIsRefused) {
  const Status wrong = make_postgresql_job_store("postgresql://me@somewhere/jobs?no_such_setting=1").error();
  EXPECT_EQ(wrong.code(), StatusCode::InvalidArgument);
  EXPECT_THAT(wrong.to_string(), HasSubstr("no_such_setting"));
}

class PostgresqlStore : public ServerStoreTest {};

const auto kServer = ::testing::Values(
    TestedServer{[]() -> server_kit::DatabaseServer& { return postgresql_kit::server(); }, postgresql_kit::why_missing()});
INSTANTIATE_TEST_SUITE_P(Postgresql, ServerStoreFence, kServer);
INSTANTIATE_TEST_SUITE_P(Postgresql, ServerStoreCommit, kServer);
INSTANTIATE_TEST_SUITE_P(Postgresql, ServerStoreFaults, kServer);
INSTANTIATE_TEST_SUITE_P(Postgresql, PostgresqlStore, kServer);

TEST(PostgresqlProperty, TheStoresInPostgresqlAndSqliteAnswerAlike) {
  RONDO_NEEDS_POSTGRESQL();
  store_model::compare_with_sqlite(
      [](const std::string& name) { return make_postgresql_job_store(postgresql_kit::server().made_anew(name)).value(); });
}

TEST_P(PostgresqlStore, EachTransactionHasLimitsOfTimeAndTheSessionHasNone) {
  const auto database = PostgresqlDatabase::open(url, options).value();
  const auto limit = [&](const std::string& setting) {
    return database->number("SELECT setting::bigint FROM pg_settings WHERE name = '" + setting + "'").value();
  };
  ASSERT_TRUE(database
                  ->transaction([&]() -> Status {
                    EXPECT_EQ(limit("idle_in_transaction_session_timeout"), 5'000);
                    EXPECT_EQ(limit("lock_timeout"), 2'000);
                    EXPECT_EQ(limit("statement_timeout"), 10'000);
                    return {};
                  })
                  .ok());
  EXPECT_EQ(limit("statement_timeout"), 10'000) << "a statement without BEGIN has them, too";
  EXPECT_EQ(Session(url).execute("SHOW statement_timeout"), "0");
}

TEST_P(PostgresqlStore, NumbersOfJobsHave31BitsAndEditsUseNone) {
  const auto store = made();
  const std::int64_t first = started(*store, "a").id;
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(store->put({.name = "a", .handler = "h"}, std::nullopt).has_value());
  EXPECT_EQ(started(*store, "b").id, first + 1);
  sql("SELECT setval(pg_get_serial_sequence('rondo.jobs', 'id'), 2147483646)");
  EXPECT_EQ(started(*store, "c").id, 2'147'483'647);
  const auto refused = store->put({.name = "d", .handler = "h"}, std::nullopt);
  ASSERT_FALSE(refused.has_value());
  EXPECT_THAT(refused.error().to_string(), HasSubstr("2147483647"));
}

TEST_P(PostgresqlStore, ADatabaseOfALaterVersionOrOfAnotherProgramIsRefused) {
  made().reset();
  sql("UPDATE rondo.version SET version = 99");
  EXPECT_EQ(make_store(url, options).error().code(), StatusCode::FailedPrecondition);
  EXPECT_THAT(make_store(url, options).error().to_string(), HasSubstr("has the version 99"));
  sql("DROP SCHEMA rondo CASCADE; CREATE SCHEMA rondo CREATE TABLE theirs (a int)");
  EXPECT_EQ(make_store(url, options).error().code(), StatusCode::FailedPrecondition);
  EXPECT_EQ(sql("SELECT count(*) FROM pg_tables WHERE schemaname = 'rondo'"), "1");
  sql("DROP TABLE rondo.theirs");
  EXPECT_TRUE(make_store(url, options).has_value()) << "an administrator may create the schema";
}

TEST_P(PostgresqlStore, AStandbyIsRefused) {
  sql("ALTER DATABASE " + name + " SET default_transaction_read_only = on");
  const auto store = made();
  EXPECT_THAT(store->claim().to_string(), HasSubstr("read-only"));
  Session(postgresql_kit::server().url("postgres")).execute("ALTER DATABASE " + name + " RESET default_transaction_read_only");
  clock.elapsed += 6s;
  EXPECT_TRUE(store->claim().ok());
}

TEST_P(PostgresqlStore, AServerThatIsNotThereIsNamed) {
  const Status refused = make_postgresql_job_store("postgresql://rondo@/x?host=/nonexistent").value()->claim();
  EXPECT_EQ(refused.code(), StatusCode::Unavailable);
  EXPECT_THAT(refused.to_string(), HasSubstr("/nonexistent"));
  EXPECT_THAT(make_postgresql_job_store(postgresql_kit::server().url("none")).value()->claim().to_string(),
              HasSubstr("\"none\" does not exist"));
}

}  // namespace
}  // namespace rondo::jobs::postgresql
