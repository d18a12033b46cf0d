// SectionReader: reads one section of the configuration, key by key, and checks form and range of each; keeps the first error. For
// config.cc.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <toml++/toml.h>

#include "admin/suggest.h"
#include "rondo/base/status.h"
#include "rondod/stores/placement.h"

namespace rondo::daemon {

/// One section: takes the known keys and reports the others.
class SectionReader {
 public:
  SectionReader(const toml::table* table, std::string section, const std::string& file, Status& error)
      : table_(table), section_(std::move(section)), file_(file), error_(error) {}
  ~SectionReader() { refuse_unknown(); }
  SectionReader(const SectionReader&) = delete;
  SectionReader& operator=(const SectionReader&) = delete;

  void text(std::string_view key, std::string& value) {
    if (const toml::node* node = take(key)) {
      if (const auto* given = node->as_string())
        value = given->get();
      else
        complain(key, node->source(), "must be a text");
    }
  }
  void flag(std::string_view key, bool& value) {
    if (const toml::node* node = take(key)) {
      if (const auto* given = node->as_boolean())
        value = given->get();
      else
        complain(key, node->source(), "must be true or false");
    }
  }
  void complain_if(std::string_view key, const Status& bad) {
    if (!bad.ok()) complain(key, std::string{bad.message()});
  }
  template <class Integer>
  void integer(std::string_view key, std::int64_t low, std::int64_t high, Integer& value) {
    const toml::node* node = take(key);
    if (node == nullptr) return;
    const auto* given = node->as_integer();
    if (given == nullptr || given->get() < low || given->get() > high) {
      complain(key, node->source(), "must be an integer from " + std::to_string(low) + " to " + std::to_string(high));
    } else {
      value = static_cast<Integer>(given->get());
    }
  }
  /// A number from 0 to 1.
  void share(std::string_view key, double& value) {
    const toml::node* node = take(key);
    if (node == nullptr) return;
    const std::optional<double> given = node->value<double>();
    if (!node->is_number() || !given || !(*given >= 0 && *given <= 1)) {
      complain(key, node->source(), "must be a number from 0 to 1");
    } else {
      value = *given;
    }
  }
  template <std::size_t N, class Value>
  void choice(std::string_view key, const std::array<std::pair<std::string_view, Value>, N>& choices, Value& value) {
    const toml::node* node = take(key);
    if (node == nullptr) return;
    std::string allowed;
    for (const auto& [name, meaning] : choices) {
      if (node->is_string() && node->as_string()->get() == name) {
        value = meaning;
        return;
      }
      allowed.append(allowed.empty() ? "'" : ", '").append(name).append("'");
    }
    complain(key, node->source(), "must be one of " + allowed);
  }
  bool says(std::string_view key, std::string_view text) const {
    const toml::node* node = table_ == nullptr ? nullptr : table_->get(key);
    return node != nullptr && node->is_string() && node->as_string()->get() == text;
  }
  void cpus(std::string_view key, std::vector<unsigned>& values) {
    const toml::node* node = take(key);
    if (node == nullptr) return;
    const toml::array* given = node->as_array();
    const auto is_cpu = [](const toml::node& n) { return n.is_integer() && n.as_integer()->get() >= 0 && n.as_integer()->get() < 65536; };
    if (given == nullptr || !std::all_of(given->begin(), given->end(), is_cpu)) {
      complain(key, node->source(), "must be a list of CPU numbers");
      return;
    }
    values.clear();
    for (const toml::node& element : *given) values.push_back(static_cast<unsigned>(element.as_integer()->get()));
  }
  void texts(std::string_view key, std::vector<std::string>& values) {
    const toml::node* node = take(key);
    if (node == nullptr) return;
    const toml::array* given = node->as_array();
    if (given == nullptr || !std::all_of(given->begin(), given->end(), [](const toml::node& n) { return n.is_string(); })) {
      complain(key, node->source(), "must be a list of texts");
      return;
    }
    values.clear();
    for (const toml::node& element : *given) values.push_back(element.as_string()->get());
  }
  /// The tables of [[section.key]].
  std::vector<const toml::table*> groups(std::string_view key) {
    std::vector<const toml::table*> all;
    const toml::node* node = take(key);
    if (node == nullptr) return all;
    if (!node->is_array_of_tables()) {
      complain(key, node->source(), "must be written as [[" + section_ + "." + std::string{key} + "]]");
      return all;
    }
    for (const toml::node& element : *node->as_array()) all.push_back(element.as_table());
    return all;
  }
  /// The table [section.key]; null if absent.
  const toml::table* subsection(std::string_view key) {
    const toml::node* node = take(key);
    if (node != nullptr && !node->is_table())
      complain(key, node->source(), "must be written as [" + section_ + "." + std::string{key} + "]");
    return node == nullptr ? nullptr : node->as_table();
  }
  /// The address of a store that this program can use. It must not contain a password, because the configuration is shown.
  void store_url(std::string_view key, std::string& value) {
    text(key, value);
    if (Status bad = check_store_url(value); !bad.ok()) complain(key, where(key), "cannot be used: " + std::string{bad.message()});
  }
  void complain(std::string_view key, const std::string& what) { complain(key, where(key), what); }
  void complain(std::string_view key, const toml::source_region& where, const std::string& what) {
    if (!error_.ok()) return;
    error_ = Status{StatusCode::InvalidArgument,
                    file_ + ":" + std::to_string(where.begin.line) + ": " + section_ + "." + std::string{key} + " " + what};
  }

 private:
  toml::source_region where(std::string_view key) const {
    const toml::node* node = table_ == nullptr ? nullptr : table_->get(key);
    return node != nullptr ? node->source() : table_ == nullptr ? toml::source_region{} : table_->source();
  }
  const toml::node* take(std::string_view key) {
    known_.push_back(key);
    return table_ == nullptr ? nullptr : table_->get(key);
  }
  void refuse_unknown() {
    if (table_ == nullptr) return;
    for (const auto& [key, node] : *table_) {
      if (std::ranges::find(known_, key.str()) != known_.end()) continue;
      complain(key.str(), node.source(), "is not an option" + did_you_mean(key.str(), known_));
    }
  }

  const toml::table* table_;
  std::string section_;
  const std::string& file_;
  Status& error_;
  std::vector<std::string_view> known_;
};

}  // namespace rondo::daemon
