// Result<T>: a T, or the Status that explains why there is none. Its member names are those of std::expected, but the access is checked in
// every build: a program that uses a value that does not exist ends with the text of the error (ADR 0002).
#pragma once

#include <concepts>
#include <string>
#include <tl/expected.hpp>
#include <type_traits>
#include <utility>

#include "rondo/base/status.h"

namespace rondo {

namespace detail {
[[noreturn]] void value_of_an_error(const std::string& error) noexcept;
[[noreturn]] void error_of_a_value() noexcept;
[[noreturn]] void throw_error(const std::string& error);
}  // namespace detail

/// A T, or an error E, which has `std::string to_string() const`. Implicitly made from a value, and from failure().
/// A function without a value returns a Status.
///
/// `if (!result) return failure(result.error());` is the usual form. operator*, operator-> and error() check which of both is held: the
/// wrong one prints the error's text and ends the process. value() throws std::runtime_error with that text instead.
/// Not thread-safe, like any value.
template <class T, class E = Status>
class [[nodiscard]] Result {
  static_assert(!std::is_void_v<T>, "return a Status");
  using Held = tl::expected<T, E>;
  template <class U>
  static constexpr bool kIsValue = !std::same_as<std::remove_cvref_t<U>, Result> && std::is_constructible_v<T, U>;

 public:
  using value_type = T;
  using error_type = E;

  /// A value-initialised T.
  Result() = default;
  template <class U = T>
  requires kIsValue<U>
  explicit(!std::is_convertible_v<U, T>) Result(U&& value) : held_(std::forward<U>(value)) {}
  template <class G>
  requires std::is_constructible_v<E, G> Result(tl::unexpected<G> error)
      : held_(tl::unexpect, std::move(error.value())) {}  // NOLINT(google-explicit-constructor)
  /// From the Result of a type that converts to T, such as a pointer to a derived class.
  template <class U>
  requires(std::is_convertible_v<U, T> && !std::is_constructible_v<T, Result<U, E>>)
      Result(Result<U, E> other)  // NOLINT(google-explicit-constructor)
      : held_(other.has_value() ? Held(std::move(*other)) : Held(tl::unexpect, std::move(other.error()))) {}

  bool has_value() const noexcept { return held_.has_value(); }
  explicit operator bool() const noexcept { return held_.has_value(); }

  auto operator->() const noexcept { return &checked().value(); }
  auto operator->() noexcept { return &checked().value(); }
  decltype(auto) operator*() const& noexcept { return *checked(); }
  decltype(auto) operator*() & noexcept { return *checked(); }
  decltype(auto) operator*() && noexcept { return *std::move(checked()); }

  /// The value. Throws std::runtime_error with the error's text if there is none.
  decltype(auto) value() const& { return *or_throw(); }
  decltype(auto) value() & { return *or_throw(); }
  decltype(auto) value() && { return *std::move(or_throw()); }

  /// The value, or 'absent' if there is none.
  template <class U>
  T value_or(U&& absent) const& {
    return held_.value_or(std::forward<U>(absent));
  }
  template <class U>
  T value_or(U&& absent) && {
    return std::move(held_).value_or(std::forward<U>(absent));
  }

  /// True if there is a value that equals 'value'.
  template <class U>
  requires(!std::same_as<U, Result>) friend bool operator==(const Result& result, const U& value) {
    return result.has_value() && *result == value;
  }

  const E& error() const& noexcept { return checked_error().error(); }
  E& error() & noexcept { return checked_error().error(); }
  E&& error() && noexcept { return std::move(checked_error().error()); }

 private:
  Held& checked() noexcept {
    if (!held_.has_value()) [[unlikely]]
      detail::value_of_an_error(held_.error().to_string());
    return held_;
  }
  const Held& checked() const noexcept { return const_cast<Result*>(this)->checked(); }
  Held& checked_error() noexcept {
    if (held_.has_value()) [[unlikely]]
      detail::error_of_a_value();
    return held_;
  }
  const Held& checked_error() const noexcept { return const_cast<Result*>(this)->checked_error(); }
  Held& or_throw() {
    if (!held_.has_value()) [[unlikely]]
      detail::throw_error(held_.error().to_string());
    return held_;
  }
  const Held& or_throw() const { return const_cast<Result*>(this)->or_throw(); }

  Held held_;
};

/// Makes the failure value of a function that returns Result<T>: `return failure(StatusCode::NotFound, "no port named 'x'");`
inline tl::unexpected<Status> failure(Status status) { return tl::unexpected<Status>(std::move(status)); }
inline tl::unexpected<Status> failure(StatusCode code, std::string message) {
  return tl::unexpected<Status>(Status{code, std::move(message)});
}

}  // namespace rondo
