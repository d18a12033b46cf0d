// Compares the description of the configuration with its reader. Each described option accepts values of its kind and range and no others;
// each option of the reader is described; the defaults are the printed ones.
#include "rondod/configuration/description.h"

#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <fstream>
#include <sstream>
#include <string>

#include "rondo/admin/limits.h"
#include "rondod/configuration/config.h"

namespace rondo::daemon {
namespace {

namespace json = boost::json;

/// A file with one option, and the other options that its section requires.
std::string file_with(const manual::Section& section, std::string_view option, std::string_view value) {
  std::string text;
  if (section.name == "store.group.direct") {
    text = "[[store.group]]\ntables = [\"T\"]\n[store.group.direct]\n";
    if (option != "endpoint") text += "endpoint = \"ipc:///tmp/x\"\n";
  } else if (section.name == "executors.group") {
    text = "[jobs]\nenabled = true\n[http]\nenabled = true\n[[executors.group]]\n";
    if (option != "name") text += "name = \"a\"\n";
    text += option == "allow_without_token" ? "token_file = \"t\"\n" : "allow_without_token = [\"10.0.0.0/8\"]\n";
  } else if (section.name == "http") {
    text = "[http]\n";
    if (option != "enabled") text += "enabled = true\n";
    if (option == "metrics") text += "api = true\n";
  } else if (section.name == "notify") {
    text = "[jobs]\nenabled = true\n[[notify]]\n";
    if (option != "name") text += "name = \"a\"\n";
    if (option != "target") text += "target = \"http://a\"\n";
  } else if (section.many) {
    text = "[[" + std::string{section.name} + "]]\n";
    if (option != "tables") text += "tables = [\"T\"]\n";
  } else {
    text = "[" + std::string{section.name} + "]\n";
  }
  return text + std::string{option} + " = " + std::string{value} + "\n";
}

bool is_taken(const manual::Section& section, std::string_view option, std::string_view value) {
  return parse_config(file_with(section, option, value), "f").has_value();
}

/// Parses "integer from LOW to HIGH".
bool range_of(std::string_view type, long long& low, long long& high) {
  return std::sscanf(std::string{type}.c_str(), "integer from %lld to %lld", &low, &high) == 2;
}

/// True for options that need a server or a library that a small build omits.
bool needs_a_place(std::string_view option) { return option == "url" || option.ends_with("_db") || option.starts_with("replicas"); }

TEST(Description, EachOptionIsTakenInItsRangeAndNowhereElse) {
  int ranges = 0;
  for (const manual::Section& section : configuration().sections) {
    for (const manual::Setting& setting : section.settings) {
      long long low = 0;
      long long high = 0;
      if (needs_a_place(setting.name)) continue;
      SCOPED_TRACE(std::string{section.name} + "." + std::string{setting.name});
      if (range_of(setting.type, low, high)) {
        ++ranges;
        EXPECT_TRUE(is_taken(section, setting.name, std::to_string(low)));
        EXPECT_TRUE(is_taken(section, setting.name, std::to_string(high)));
        EXPECT_FALSE(is_taken(section, setting.name, std::to_string(low - 1)));
        EXPECT_FALSE(is_taken(section, setting.name, std::to_string(high + 1)));
      } else if (setting.type == "true or false") {
        EXPECT_TRUE(is_taken(section, setting.name, "true"));
        EXPECT_FALSE(is_taken(section, setting.name, "1"));
      } else if (!setting.fallback.empty() && section.name != "store.group.direct") {
        EXPECT_TRUE(is_taken(section, setting.name, setting.fallback));
        EXPECT_FALSE(is_taken(section, setting.name, "3.5"));
      }
    }
  }
  EXPECT_GE(ranges, 10);
}

const manual::Section* section_named(std::string_view name) {
  for (const manual::Section& section : configuration().sections) {
    if (section.name == name) return &section;
  }
  return nullptr;
}

TEST(Description, IsCompleteAndNamesTheDefaultsThatHold) {
  const json::value defaults = json::parse(to_json(Config{}));
  for (const auto& part : defaults.as_object()) {
    const manual::Section* const section = section_named({part.key().data(), part.key().size()});
    ASSERT_NE(section, nullptr) << part.key();
    for (const auto& option : part.value().as_object()) {
      const auto setting = std::find_if(section->settings.begin(), section->settings.end(), [&](const manual::Setting& one) {
        return one.name == std::string_view{option.key().data(), option.key().size()};
      });
      ASSERT_NE(setting, section->settings.end()) << part.key() << "." << option.key();
      EXPECT_EQ(json::parse(setting->fallback), option.value()) << part.key() << "." << option.key();
    }
    EXPECT_EQ(section->settings.size(), part.value().as_object().size()) << part.key() << " describes what is not there";
  }
}

TEST(Description, TheFileThatIsShippedNamesEachOptionWithItsDefault) {
  std::ifstream in("packaging/rondod.toml");
  std::ostringstream text;
  text << in.rdbuf();
  ASSERT_FALSE(text.str().empty());
  for (const manual::Section& section : configuration().sections) {
    for (const manual::Setting& setting : section.settings) {
      EXPECT_NE(text.str().find(std::string{setting.name} + " = " + (section.many ? "" : std::string{setting.fallback})), std::string::npos)
          << section.name << "." << setting.name;
    }
  }
}

/// The value of a setting of packaging/rondod.service; empty if it is absent or commented out.
std::string unit_setting(const std::string& name) {
  std::ifstream in("packaging/rondod.service");
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with(name + "=")) return line.substr(name.size() + 1);
  }
  return {};
}

TEST(Unit, LimitsTheDescriptorsToWhatTheListenersMayTakeAndKeepsFilesPrivate) {
  const std::string descriptors = unit_setting("LimitNOFILE");
  ASSERT_FALSE(descriptors.empty()) << "the system's default of 1024 ends at 256 feeders";
  const std::size_t limit = std::stoul(descriptors);
  const manual::Section* const direct = section_named("store.group.direct");
  ASSERT_NE(direct, nullptr);
  std::size_t most = 0;
  for (const manual::Setting& setting : direct->settings) {
    if (setting.name == "connections") std::sscanf(std::string{setting.type}.c_str(), "1 to %zu", &most);
  }
  ASSERT_GT(most, 1024U);
  EXPECT_TRUE(is_taken(*direct, "connections", std::to_string(most)));
  // A direct server takes a quarter of the descriptors for its connections, at two each; see connections_most() of store/zmq/server.cc.
  EXPECT_GE(limit / 4, most) << "the largest setting holds";
  EXPECT_LT(limits::kAdminConnections + limits::kAdminReserved + 1024, limit / 2)
      << "callers of the admin socket, files and the data plane";
  EXPECT_EQ(unit_setting("UMask"), "0077");
}

}  // namespace
}  // namespace rondo::daemon
