// Fact: a fact that a change waits for, such as {"nexthop-group", "102"}. The Orch that owns a kind of fact provides it: it says
// whether a fact holds. It announces a fact that begins to hold and withdraws one that ends. Other Orchs need not know how it becomes true.
// SONiC's RetryCache has constraints of this form.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

namespace rondo {

/// The name of a kind of fact. Kinds are equal when their names are equal. A kind stores no copy of its name, so it accepts only text that
/// lives as long as the program: a string literal, or a constant array. Other text does not compile.
class FactKind {
 public:
  /// No kind of fact; its name is empty.
  constexpr FactKind() noexcept = default;
  consteval explicit FactKind(const char* name) noexcept : name_(name) {}
  constexpr std::string_view name() const noexcept { return name_; }
  friend constexpr bool operator==(FactKind a, FactKind b) noexcept { return a.name_ == b.name_; }

 private:
  std::string_view name_;
};

struct Fact {
  FactKind kind;
  std::string key;
  friend bool operator==(const Fact&, const Fact&) = default;
  /// "nexthop-group:102".
  std::string to_string() const { return std::string{kind.name()} + ":" + key; }
};

}  // namespace rondo
