// The store in MariaDB on a real server: the contract of stores, the tests of each store on a server, and what is MariaDB's own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <memory>
#include <string>
#include <thread>

#include "base/testing/temporary_folder.h"
#include "jobs/mariadb/address.h"
#include "jobs/mariadb/database.h"
#include "jobs/mariadb/testing/mariadb_server.h"
#include "jobs/mariadb/text.h"
#include "jobs/store_contract.h"
#include "jobs/testing/server_store_tests.h"
#include "jobs/testing/store_model.h"
#include "rondo/jobs/mariadb.h"

namespace rondo::jobs::mariadb {
namespace {

using testing::HasSubstr;
using testing::Not;

INSTANTIATE_TEST_SUITE_P(Mariadb, JobStoreContract,
                         ::testing::Values(StoreKind{"mariadb",
                                                     [](const std::filesystem::path& folder) {
                                                       const std::string name = folder.filename().string();
                                                       return make_mariadb_job_store(mariadb_kit::server().made(name));
                                                     },
                                                     mariadb_kit::why_missing()}),
                         [](const auto& kind) { return kind.param.name; });

class MariadbStore : public ServerStoreTest {};

const auto kServer =
    ::testing::Values(TestedServer{[]() -> server_kit::DatabaseServer& { return mariadb_kit::server(); }, mariadb_kit::why_missing()});
INSTANTIATE_TEST_SUITE_P(Mariadb, ServerStoreFence, kServer);
INSTANTIATE_TEST_SUITE_P(Mariadb, ServerStoreCommit, kServer);
INSTANTIATE_TEST_SUITE_P(Mariadb, ServerStoreFaults, kServer);
INSTANTIATE_TEST_SUITE_P(Mariadb, MariadbStore, kServer);

TEST(MariadbProperty, TheStoresInMariadbAndSqliteAnswerAlike) {
  RONDO_NEEDS_MARIADB();
  store_model::compare_with_sqlite(
      [](const std::string& name) { return make_mariadb_job_store(mariadb_kit::server().made_anew(name)).value(); });
}

TEST(MariadbTls, AStoreChecksTheServerAndSendsNoPasswordToAStranger) {
  RONDO_NEEDS_MARIADB();
  auto& server = static_cast<mariadb_kit::MariadbServer&>(mariadb_kit::server());
  server.made_anew("tls");
  const TemporaryFolder folder;
  const std::string passfile = (folder / "password").string();
  std::ofstream(passfile) << "secret\n";
  ASSERT_EQ(::chmod(passfile.c_str(), 0600), 0);
  const auto claimed = [&](const std::string& options) {
    const auto store = make_mariadb_job_store(server.tls_url("tls") + "passfile=" + passfile + options);
    return store ? (*store)->claim() : store.error();
  };
  EXPECT_EQ(claimed("&ssl-ca=" + server.tls.ca_file()).to_string(), "ok");
  EXPECT_EQ(claimed("&ssl-ca=" + server.tls.ca_file() + "&ssl-verify=off").to_string(), "ok");
  // Another authority signed the certificate of the server, or the URL has no option of TLS, which this user must use.
  EXPECT_EQ(claimed("&ssl-ca=" + server.tls.stranger_cert_file()).code(), StatusCode::Unavailable);
  EXPECT_THAT(claimed("&ssl-ca=" + server.tls.stranger_cert_file()).to_string(), HasSubstr("certificate"));
  EXPECT_EQ(claimed("").code(), StatusCode::Unavailable);
}

TEST(MariadbAddress, AnAddressHasThesePartsAndTheOthersHaveDefaults) {
  const Address all = parse_address("mariadb://m%40e:p:%2f@[::1]:3307/jo%20bs?ssl-ca=/a&ssl-verify=off&passfile=/p").value();
  EXPECT_EQ(all.user, "m@e");
  EXPECT_EQ(all.password, "p:/");
  EXPECT_EQ(all.host, "::1");
  EXPECT_EQ(all.port, 3307U);
  EXPECT_EQ(all.database, "jo bs");
  EXPECT_EQ(all.ssl_ca, "/a");
  EXPECT_TRUE(all.has_tls);
  EXPECT_FALSE(all.verifies);
  EXPECT_EQ(all.passfile, "/p");
  const Address least = parse_address("mariadb:///jobs").value();
  EXPECT_EQ(least.user, "");
  EXPECT_EQ(least.host, "");
  EXPECT_EQ(least.port, 0U);
  EXPECT_FALSE(least.has_tls);
  EXPECT_TRUE(least.verifies);
  EXPECT_EQ(parse_address("mariadb://h:1/jobs?socket=/s")->host, "h");
}

TEST(MariadbAddress, AWrongAddressIsRefusedWithTheReasonAndWithoutThePassword) {
  const std::pair<const char*, const char*> cases[]{{"mysql://h/d", "begin with mariadb://"},
                                                    {"mariadb://me:secret@h", "a '/' and the name"},
                                                    {"mariadb://me:secret@h/", "the name of a database is missing"},
                                                    {"mariadb://me:secret@h:0/d", "a port from 1 to 65535"},
                                                    {"mariadb://me:secret@h:99999/d", "a port from 1 to 65535"},
                                                    {"mariadb://me:secret%@h/d", "a '%'"},
                                                    {"mariadb://me:secret/@h/d", "%2F"},
                                                    {"mariadb://[::1/d", "a ']'"},
                                                    {"mariadb://[::1]3/d", "no ':' with a port"},
                                                    {"mariadb://me:secret@h/d?no_such_setting=1", "'no_such_setting' is none of"},
                                                    {"mariadb://me:secret@h/d?socket", "'socket' has no '='"},
                                                    {"mariadb://me:secret@h/d?ssl-verify=maybe", "ssl-verify is neither"}};
  for (const auto& [url, why] : cases) {
    const Status wrong = make_mariadb_job_store(url).error();
    EXPECT_EQ(wrong.code(), StatusCode::InvalidArgument) << url;
    EXPECT_THAT(wrong.to_string(), HasSubstr(why));
    EXPECT_THAT(wrong.to_string(), Not(HasSubstr("secret")));
  }
}

TEST(MariadbAddress, APasswordIsTheFirstLineOfAFileThatNobodyElseMayRead) {
  const TemporaryFolder folder;
  const std::string file = folder.file("password");
  const Address address = parse_address("mariadb://me@h/d?passfile=" + file).value();
  EXPECT_EQ(password_of(address).error().code(), StatusCode::NotFound);
  std::ofstream(file) << "pass word\nmore\n";
  ASSERT_EQ(::chmod(file.c_str(), 0640), 0);
  EXPECT_EQ(password_of(address).error().code(), StatusCode::InvalidArgument);
  EXPECT_THAT(password_of(address).error().to_string(), HasSubstr("chmod 600"));
  ASSERT_EQ(::chmod(file.c_str(), 0600), 0);
  EXPECT_EQ(password_of(address).value(), "pass word");
  std::ofstream(file) << "";
  EXPECT_EQ(password_of(address).value(), "");
  EXPECT_EQ(password_of(parse_address("mariadb://me:p@h/d").value()).value(), "p");
}

TEST(MariadbText, ParametersBecomeLiteralsThatCannotEndEarly) {
  server::Values values;
  values.add(std::int64_t{-7}).add(std::optional<WallTime>{}).add("it's").add("a\"b").add(std::string_view{"\0\\", 2}).add("");
  EXPECT_EQ(filled("SELECT $1, $2, $3, $4, $5, $6, $1 FROM rondo.jobs", values),
            "SELECT -7, NULL, x'69742773', 'a\"b', x'005c', '', -7 FROM jobs");
  server::Values arrays;
  arrays.add(server::Numbers{1, std::nullopt}).add(server::Texts{"a", "\n"}).add(server::Numbers{});
  EXPECT_EQ(filled("FROM unnest($1, $2) WITH ORDINALITY AS l (a, b, n) WHERE x = ANY ($1)", arrays),
            "FROM (WITH l (a, b, n) AS (VALUES (1,'a',0),(NULL,x'0a',1)) SELECT * FROM l) AS l WHERE x IN (1,NULL)");
  EXPECT_EQ(filled("FROM unnest($3) AS l (a)", arrays), "FROM (WITH l (a) AS (SELECT NULL FROM DUAL WHERE FALSE) SELECT * FROM l) AS l");
}

TEST_P(MariadbStore, EachTransactionHasLimitsOfTime) {
  const auto database = MariadbDatabase::open(url, options).value();
  const auto setting = [&](const std::string& name) { return (*database->query("SELECT @@session." + name))[0].text(0); };
  const auto number = [&](const std::string& name) { return database->number("SELECT CAST(@@session." + name + " AS SIGNED)").value(); };
  ASSERT_TRUE(database
                  ->transaction([&]() -> Status {
                    EXPECT_EQ(number("idle_transaction_timeout"), 5);
                    EXPECT_EQ(number("innodb_lock_wait_timeout"), 2);
                    EXPECT_EQ(number("lock_wait_timeout"), 2);
                    EXPECT_EQ(number("max_statement_time"), 10);
                    EXPECT_EQ(setting("tx_isolation"), "READ-COMMITTED");
                    EXPECT_THAT(setting("sql_mode"), HasSubstr("STRICT_ALL_TABLES"));
                    return database->execute("SET max_statement_time = 0, idle_transaction_timeout = 0");
                  })
                  .ok());
  EXPECT_EQ(number("max_statement_time"), 10) << "another user of the connection may have changed it";
  EXPECT_EQ(number("idle_transaction_timeout"), 5);
}

TEST_P(MariadbStore, NumbersOfJobsHave31BitsAndEditsUseNone) {
  const auto store = made();
  const std::int64_t first = started(*store, "a").id;
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(store->put({.name = "a", .handler = "h"}, std::nullopt).has_value());
  EXPECT_EQ(started(*store, "b").id, first + 1);
  sql("ALTER TABLE rondo.jobs AUTO_INCREMENT = 2147483647");
  EXPECT_EQ(started(*store, "c").id, 2'147'483'647);
  EXPECT_FALSE(store->put({.name = "d", .handler = "h"}, std::nullopt).has_value());
  EXPECT_EQ(store->find("c")->job.name, "c");
  EXPECT_EQ(store->find("d").error().code(), StatusCode::NotFound);
}

TEST_P(MariadbStore, AStatementThatIsTooLargeForTheServerIsNamedAndTheConnectionRemains) {
  const auto store = made();
  const StoredJob job = started(*store, "a");
  std::vector<JobRun> runs(1'000, {.job_id = job.id, .scheduled = at(1), .due = at(1), .band = Band::Manual});
  for (JobRun& run : runs) run.parameters = std::string(20'000, 'x');
  const Status refused = store->add_runs(runs);
  EXPECT_EQ(refused.code(), StatusCode::Unavailable);
  EXPECT_THAT(refused.to_string(), HasSubstr("max_allowed_packet of the server is 16777216"));
  EXPECT_TRUE(plan(*store, job, 1).ok());
  EXPECT_EQ(store->unfinished(0, 2'000)->size(), 1U);
}

/// InnoDB chooses the transaction that has changed fewer rows.
TEST_P(MariadbStore, ADeadlockUndoesTheWholeTransaction) {
  const auto store = made();
  const StoredJob job = started(*store, "a");
  const StoredJob locked = started(*store, "b");
  const auto other = server().session(name);
  other->execute("BEGIN; INSERT INTO rondo.remembered SELECT seq, '' FROM seq_1_to_200; UPDATE rondo.jobs SET next = 7 WHERE name = 'b'");
  std::thread waits;
  const Status undone = store->atomically([&]() -> Status {
    EXPECT_TRUE(plan(*store, job, 1).ok());
    waits = std::thread([&] { other->execute("UPDATE rondo.jobs SET next = 7 WHERE name = 'a'; COMMIT"); });
    redis_kit::wait_until("the other one waits", [&] {
      return sql("SELECT variable_value FROM information_schema.global_status WHERE variable_name = 'innodb_row_lock_current_waits'") ==
             "1";
    });
    return plan(*store, locked, 1);
  });
  waits.join();
  EXPECT_EQ(undone.code(), StatusCode::Unavailable);
  EXPECT_THAT(undone.to_string(), HasSubstr("Deadlock found"));
  EXPECT_TRUE(store->unfinished(0, 10)->empty());
  EXPECT_TRUE(plan(*store, job, 1).ok());
}

TEST_P(MariadbStore, AMigrationThatWasInterruptedIsContinued) {
  made().reset();
  sql("DELETE FROM rondo_version; DELETE FROM rondo.shards WHERE shard > 30; DROP TABLE rondo.changes; DROP TABLE rondo.remembered");
  const auto store = made();
  EXPECT_TRUE(store->claim().ok());
  EXPECT_TRUE(store->remember("k", "t").ok());
  EXPECT_EQ(sql("SELECT version FROM rondo_version"), "1");
}

TEST_P(MariadbStore, ADatabaseOfALaterVersionOrOfAnotherProgramIsRefused) {
  made().reset();
  sql("UPDATE rondo_version SET version = 99");
  EXPECT_EQ(make_store(url, options).error().code(), StatusCode::FailedPrecondition);
  EXPECT_THAT(make_store(url, options).error().to_string(), HasSubstr("has the version 99"));
  url = server().made_anew(name);
  sql("CREATE TABLE theirs (a int)");
  EXPECT_EQ(make_store(url, options).error().code(), StatusCode::FailedPrecondition);
  EXPECT_EQ(sql("SELECT count(*) FROM information_schema.tables WHERE table_schema = DATABASE()"), "1");
  sql("DROP TABLE theirs");
  EXPECT_TRUE(make_store(url, options).has_value());
}

TEST_P(MariadbStore, AServerThatIsReadOnlyIsRefused) {
  const auto store = made();
  const StoredJob job = started(*store, "a");
  mariadb_kit::server().administer("SET GLOBAL read_only = 1");
  EXPECT_THAT(made()->claim().to_string(), HasSubstr("read-only"));
  EXPECT_EQ(plan(*store, job, 1).code(), StatusCode::Unavailable);
  mariadb_kit::server().administer("SET GLOBAL read_only = 0");
  EXPECT_TRUE(made()->claim().ok());
  clock.elapsed += 6s;
  EXPECT_TRUE(plan(*store, job, 1).ok());
}

TEST(MariadbServer, AServerThatIsNotThereIsNamed) {
  RONDO_NEEDS_MARIADB();
  const Status refused = make_mariadb_job_store("mariadb://rondo@/x?socket=/nonexistent").value()->claim();
  EXPECT_EQ(refused.code(), StatusCode::Unavailable);
  EXPECT_THAT(refused.to_string(), HasSubstr("/nonexistent"));
  EXPECT_THAT(make_mariadb_job_store(mariadb_kit::server().url("none")).value()->claim().to_string(), HasSubstr("database 'none'"));
}

}  // namespace
}  // namespace rondo::jobs::mariadb
