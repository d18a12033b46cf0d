// SONiC's database_config.json, alone and with includes: what is accepted, and that errors name the file and the member. Each case writes
// its files into its own folder.
#include "store/redis/database_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace rondo {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using testing::StartsWith;

constexpr std::string_view kOneInstance = R"({
  "INSTANCES": {"redis": {"hostname": "10.0.0.1", "port": 6380, "unix_socket_path": "/run/r.sock", "persistence_for_warm_boot": "yes"}},
  "DATABASES": {
    "APPL_DB": {"id": 0, "separator": ":", "instance": "redis"},
    "CONFIG_DB": {"id": 4, "separator": "|", "instance": "redis"}
  },
  "VERSION": "1.0"
})";

class DatabaseConfigFiles : public testing::Test {
 protected:
  DatabaseConfigFiles() {
    const auto* const test = testing::UnitTest::GetInstance()->current_test_info();
    folder = std::filesystem::temp_directory_path() / ("rondo-dbconfig-" + std::to_string(::getpid()) + "-" + test->name());
    std::filesystem::create_directories(folder);
  }
  ~DatabaseConfigFiles() override { std::filesystem::remove_all(folder); }

  std::string write(const std::string& name, std::string_view text) {
    const std::filesystem::path path = folder / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << text;
    return path.string();
  }
  /// The message of the error, without the file name before it.
  std::string refused(std::string_view text, StatusCode code = StatusCode::InvalidArgument) {
    const std::string path = write("bad.json", text);
    const Result<DatabaseConfig> config = read_database_config(path);
    EXPECT_FALSE(config) << text;
    if (config) return "";
    EXPECT_EQ(config.error().code(), code);
    EXPECT_THAT(std::string{config.error().message()}, StartsWith(path + ": "));
    return std::string{config.error().message()}.substr(path.size() + 2);
  }
  /// A file with one instance 'r' and one database 'D' as given.
  static std::string with(const std::string& instance, const std::string& database) {
    return R"({"INSTANCES": {"r": )" + instance + R"(}, "DATABASES": {"D": )" + database + "}}";
  }

  std::filesystem::path folder;
};

TEST_F(DatabaseConfigFiles, EachDatabaseHasItsInstanceNumberAndSeparator) {
  const Result<DatabaseConfig> config = read_database_config(write("c.json", kOneInstance));
  ASSERT_TRUE(config) << config.error().to_string();
  const Result<DatabaseEntry> found = config->find("CONFIG_DB");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->separator, '|');
  EXPECT_EQ(found->address, (RedisAddress{.unix_path = "/run/r.sock", .host = "10.0.0.1", .port = 6380, .database = 4}));
  EXPECT_EQ(found->address.to_string(), "unix:///run/r.sock?db=4");
  EXPECT_THAT(config->names(), ElementsAre("APPL_DB", "CONFIG_DB"));
  EXPECT_THAT(config->names("asic0"), IsEmpty());
  EXPECT_THAT(config->scopes(), ElementsAre(Pair("", "")));
}

TEST_F(DatabaseConfigFiles, AnInstanceWithoutASocketIsReachedOverTcp) {
  const Result<DatabaseConfig> config = read_database_config(write(
      "c.json", with(R"({"hostname": "h", "port": 7000, "unix_socket_path": ""})", R"({"id": 6, "separator": "|", "instance": "r"})")));
  ASSERT_TRUE(config) << config.error().to_string();
  EXPECT_EQ(config->find("D")->address, (RedisAddress{.host = "h", .port = 7000, .database = 6}));
}

TEST_F(DatabaseConfigFiles, WhatIsNotThereIsRefusedWithWhatIs) {
  const Result<DatabaseConfig> config = read_database_config(write("c.json", kOneInstance));
  ASSERT_TRUE(config);
  EXPECT_EQ(config->find("STATE_DB").error().code(), StatusCode::NotFound);
  EXPECT_EQ(config->find("STATE_DB").error().message(), "no database 'STATE_DB'; there are: APPL_DB, CONFIG_DB");
  EXPECT_EQ(config->find("APPL_DB", "asic0").error().message(), "no list of databases of namespace 'asic0'; namespaces are: ''");
  const Result<DatabaseConfig> gone = read_database_config((folder / "gone.json").string());
  ASSERT_FALSE(gone);
  EXPECT_EQ(gone.error().code(), StatusCode::NotFound);
  EXPECT_THAT(std::string{gone.error().message()}, HasSubstr("gone.json"));
}

TEST_F(DatabaseConfigFiles, TheGlobalFileIncludesOneForEachNamespaceAndContainer) {
  write("redis/sonic-db/database_config.json", kOneInstance);
  const std::string asic = R"({"hostname": "127.0.0.1", "port": 6379, "unix_socket_path": "/run/redis0/r.sock"})";
  const std::string absolute = write("redis0/db.json", with(asic, R"({"id": 1, "separator": ":", "instance": "r"})"));
  write("dpu0.json", with(R"({"hostname": "169.254.200.1", "port": 6381})", R"({"id": 15, "separator": ":", "instance": "r"})"));
  const std::string global = write("redis/sonic-db/database_global.json", R"({"INCLUDES": [
      {"include": "database_config.json"},
      {"namespace": "asic0", "include": ")" + absolute + R"("},
      {"container_name": "dpu0", "include": "../../dpu0.json"}], "VERSION": "1.0"})");
  const Result<DatabaseConfig> config = read_database_config(global);
  ASSERT_TRUE(config) << config.error().to_string();
  EXPECT_EQ(config->find("APPL_DB")->address.unix_path, "/run/r.sock");
  EXPECT_EQ(config->find("D", "asic0")->address.unix_path, "/run/redis0/r.sock");
  EXPECT_EQ(config->find("D", "", "dpu0")->address.to_string(), "redis://169.254.200.1:6381/15");
  EXPECT_THAT(config->scopes(), ElementsAre(Pair("", ""), Pair("", "dpu0"), Pair("asic0", "")));
  EXPECT_THAT(std::string{config->find("D", "asic1").error().message()}, HasSubstr("'', '' container 'dpu0', 'asic0'"));
}

TEST_F(DatabaseConfigFiles, AnIncludeThatIsWrongIsNamed) {
  write("c.json", kOneInstance);
  EXPECT_EQ(refused(R"({"INCLUDES": {}})"), "INCLUDES must be a list, not an object");
  EXPECT_EQ(refused(R"({"INCLUDES": ["c.json"]})"), "INCLUDES[0] must be an object, not a text");
  EXPECT_EQ(refused(R"({"INCLUDES": [{"include": "c.json"}, {"namespace": "a"}]})"), "INCLUDES[1] has no include");
  EXPECT_EQ(refused(R"({"INCLUDES": [{"include": 7}]})"), "INCLUDES[0].include must be a text, not a number");
  EXPECT_EQ(refused(R"({"INCLUDES": [{"include": "c.json", "namespace": null}]})"), "INCLUDES[0].namespace must be a text, not null");
  const std::string twice =
      write("twice.json", R"({"INCLUDES": [{"namespace": "a", "include": "c.json"}, {"namespace": "a", "include": "c.json"}]})");
  EXPECT_EQ(read_database_config(twice).error().message(),
            twice + ": INCLUDES[1]: " + (folder / "c.json").string() + ": a second list of databases of namespace 'a'");
  const std::string missing = write("missing.json", R"({"INCLUDES": [{"namespace": "a", "include": "gone.json"}]})");
  EXPECT_EQ(read_database_config(missing).error().code(), StatusCode::NotFound);
  EXPECT_THAT(std::string{read_database_config(missing).error().message()},
              AllOf(StartsWith(missing + ": INCLUDES[0]: "), HasSubstr("gone.json")));
}

TEST_F(DatabaseConfigFiles, AFileThatIncludesItselfOnTheWayIsRefused) {
  write("a.json", R"({"INCLUDES": [{"namespace": "x", "include": "././b.json"}]})");
  write("b.json", R"({"INCLUDES": [{"namespace": "y", "include": "./a.json"}]})");
  const Result<DatabaseConfig> config = read_database_config((folder / "a.json").string());
  ASSERT_FALSE(config);
  EXPECT_EQ(config.error().code(), StatusCode::InvalidArgument);
  EXPECT_THAT(std::string{config.error().message()}, AllOf(HasSubstr("includes itself"), HasSubstr("a.json -> "), HasSubstr("b.json -> ")));
}

TEST_F(DatabaseConfigFiles, InclusionsAreBounded) {
  std::string list;
  for (int i = 0; i < 1100; ++i) list += (i == 0 ? "" : ",") + (R"({"namespace": "n)" + std::to_string(i) + R"(", "include": "c.json"})");
  write("c.json", kOneInstance);
  const Result<DatabaseConfig> config = read_database_config(write("many.json", R"({"INCLUDES": [)" + list + "]}"));
  ASSERT_FALSE(config);
  EXPECT_EQ(config.error().code(), StatusCode::ResourceExhausted);
  const Result<DatabaseConfig> big = read_database_config(write("big.json", std::string(1024 * 1024 + 1, ' ')));
  EXPECT_EQ(big.error().code(), StatusCode::ResourceExhausted);
}

TEST_F(DatabaseConfigFiles, WhatIsNoSuchFileIsRefused) {
  EXPECT_THAT(refused("{"), StartsWith("not JSON: "));
  EXPECT_THAT(refused(""), StartsWith("not JSON: "));
  EXPECT_EQ(refused("[]"), "the file must be an object, not a list");
  EXPECT_EQ(refused("{}"), "neither DATABASES nor INCLUDES");
  EXPECT_EQ(refused(R"({"DATABASES": {}})"), "DATABASES without INSTANCES");
  EXPECT_EQ(refused(R"({"INSTANCES": [], "DATABASES": {}})"), "INSTANCES must be an object, not a list");
  EXPECT_EQ(refused(R"({"INSTANCES": {}, "DATABASES": 1.5})"), "DATABASES must be an object, not a number");
}

TEST_F(DatabaseConfigFiles, AWrongMemberOfAnInstanceIsNamed) {
  const std::string database = R"({"id": 0, "separator": ":", "instance": "r"})";
  EXPECT_EQ(refused(with("true", database)), "INSTANCES.r must be an object, not a boolean");
  EXPECT_EQ(refused(with("{}", database)), "INSTANCES.r has neither unix_socket_path nor hostname and port");
  EXPECT_EQ(refused(with(R"({"hostname": "h"})", database)), "INSTANCES.r has neither unix_socket_path nor hostname and port");
  EXPECT_EQ(refused(with(R"({"hostname": 1, "port": 1})", database)), "INSTANCES.r.hostname must be a text, not a number");
  EXPECT_EQ(refused(with(R"({"hostname": "h", "port": "1"})", database)), "INSTANCES.r.port must be a number, not a text");
  for (const char* port : {"65536", "-1", "1.5", "1e30"}) {
    EXPECT_EQ(refused(with(R"({"hostname": "h", "port": )" + std::string{port} + "}", database)),
              "INSTANCES.r.port is not a whole number from 0 to 65535")
        << port;
  }
  EXPECT_EQ(refused(with(R"({"unix_socket_path": "r.sock"})", database)), "INSTANCES.r.unix_socket_path must begin with '/'");
}

TEST_F(DatabaseConfigFiles, AWrongMemberOfADatabaseIsNamed) {
  const std::string instance = R"({"unix_socket_path": "/r.sock"})";
  EXPECT_EQ(refused(with(instance, "[]")), "DATABASES.D must be an object, not a list");
  EXPECT_EQ(refused(with(instance, R"({"separator": ":", "instance": "r"})")), "DATABASES.D has no id");
  EXPECT_EQ(refused(with(instance, R"({"id": 0, "instance": "r"})")), "DATABASES.D has no separator");
  EXPECT_EQ(refused(with(instance, R"({"id": 0, "separator": ":"})")), "DATABASES.D has no instance");
  EXPECT_EQ(refused(with(instance, R"({"id": "0", "separator": ":", "instance": "r"})")), "DATABASES.D.id must be a number, not a text");
  EXPECT_EQ(refused(with(instance, R"({"id": -1, "separator": ":", "instance": "r"})")),
            "DATABASES.D.id is not a whole number from 0 to 2147483647");
  for (const char* separator : {"", "/", "::", ":|"}) {
    EXPECT_EQ(refused(with(instance, R"({"id": 0, "separator": ")" + std::string{separator} + R"(", "instance": "r"})")),
              "DATABASES.D.separator is '" + std::string{separator} + "', not ':' or '|'");
  }
  EXPECT_EQ(refused(with(instance, R"({"id": 0, "separator": ":", "instance": "s"})")),
            "DATABASES.D.instance is 's', which INSTANCES does not have");
}

TEST(DefaultDatabases, NumbersAndSeparatorsAreThoseOfSonic) {
  std::string all;
  for (const std::string_view name : default_database_names()) {
    const Result<DatabaseEntry> entry = default_database(name);
    ASSERT_TRUE(entry) << name;
    all += std::string{name} + " " + std::to_string(entry->address.database) + entry->separator + " ";
  }
  EXPECT_EQ(
      all,
      "APPL_DB 0: ASIC_DB 1: COUNTERS_DB 2: LOGLEVEL_DB 3: CONFIG_DB 4| PFC_WD_DB 5: FLEX_COUNTER_DB 5: STATE_DB 6| SNMP_OVERLAY_DB 7| "
      "RESTAPI_DB 8| GB_ASIC_DB 9: GB_COUNTERS_DB 10: GB_FLEX_COUNTER_DB 11: CHASSIS_APP_DB 12| CHASSIS_STATE_DB 13| APPL_STATE_DB 14: "
      "DPU_APPL_DB 15: DPU_APPL_STATE_DB 16| DPU_STATE_DB 17| DPU_COUNTERS_DB 18: EVENT_DB 19| BMP_STATE_DB 20| ");
  EXPECT_EQ(usual_kind(*default_database("CONFIG_DB")), TableKind::Watched);
  EXPECT_EQ(usual_kind(*default_database("STATE_DB")), TableKind::Watched);
  EXPECT_EQ(usual_kind(*default_database("APPL_DB")), TableKind::Staged);
  EXPECT_EQ(default_database("OTHER_DB").error().code(), StatusCode::NotFound);
}

}  // namespace
}  // namespace rondo
