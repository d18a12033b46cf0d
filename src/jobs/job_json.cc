#include "jobs/job_json.h"

#include <functional>
#include <limits>
#include <utility>

#include "base/json.h"
#include "rondo/base/limits.h"
#include "rondo/calendar/rfc3339.h"

namespace rondo::jobs {

namespace {

/// One field of the JSON form: how it is written and read.
struct JsonField {
  std::string_view name;
  std::function<json::value(const Job&)> write;
  std::function<Status(Job&, const json::value&)> read;
};

Status wrong(std::string_view field, std::string_view expected) {
  return {StatusCode::InvalidArgument, std::string{field} + ": not " + std::string{expected}};
}

/// A field that is text. 'place' returns it in a job.
template <class Place>
JsonField text(std::string_view name, Place place) {
  return {name, [place](const Job& job) { return json::value(place(job)); },
          [name, place](Job& job, const json::value& value) {
            if (!value.is_string()) return wrong(name, "a text");
            place(job) = std::string{view(value.get_string())};
            return Status{};
          }};
}

/// A whole number from 0.
template <class Place>
JsonField number(std::string_view name, Place place) {
  return {name, [place](const Job& job) { return json::value(std::uint64_t{place(job)}); },
          [name, place](Job& job, const json::value& value) {
            boost::system::error_code error;
            const auto read = value.to_number<std::uint32_t>(error);
            if (error) return wrong(name, "a whole number");
            place(job) = read;
            return Status{};
          }};
}

/// A duration, in milliseconds.
template <class Place>
JsonField milliseconds(std::string_view name, Place place) {
  return {name, [place](const Job& job) { return json::value(place(job) / 1ms); },
          [name, place](Job& job, const json::value& value) {
            boost::system::error_code error;
            const auto read = value.to_number<std::int64_t>(error);
            if (error || read > std::numeric_limits<std::int64_t>::max() / 1'000'000 || read < 0) return wrong(name, "milliseconds");
            place(job) = read * 1ms;
            return Status{};
          }};
}

/// One of the names of an enumeration.
template <class Place, class Find>
JsonField choice(std::string_view name, Place place, Find find) {
  return {name, [place](const Job& job) { return json::value(to_string(place(job))); },
          [name, place, find](Job& job, const json::value& value) {
            const auto found = value.is_string() ? find(view(value.get_string())) : std::nullopt;
            if (!found) return wrong(name, "one of its names");
            place(job) = *found;
            return Status{};
          }};
}

/// An instant that may be absent.
template <class Place>
JsonField instant(std::string_view name, Place place) {
  return {name,
          [place](const Job& job) {
            const auto& at = place(job);
            return at ? json::value(calendar::format_rfc3339(*at)) : json::value(nullptr);
          },
          [name, place](Job& job, const json::value& value) {
            if (value.is_null()) return Status{};
            if (!value.is_string()) return wrong(name, "an instant as in RFC 3339");
            const auto at = calendar::parse_rfc3339(view(value.get_string()));
            if (!at) return at.error().with_context(name);
            place(job) = *at;
            return Status{};
          }};
}

JsonField priority() {
  return {"priority", [](const Job& job) { return json::value(std::uint64_t{job.priority.level()}); },
          [](Job& job, const json::value& value) {
            boost::system::error_code error;
            const auto level = value.to_number<std::uint32_t>(error);
            if (error || level >= limits::kPriorities) return wrong("priority", "0 to 63");
            job.priority = Priority{level};
            return Status{};
          }};
}

template <class Place>
JsonField texts(std::string_view name, Place place) {
  return {name,
          [place](const Job& job) {
            json::array array;
            for (const std::string& text : place(job)) array.emplace_back(text);
            return json::value(std::move(array));
          },
          [name, place](Job& job, const json::value& value) {
            if (!value.is_array()) return wrong(name, "a list of texts");
            place(job).clear();
            for (const json::value& text : value.get_array()) {
              if (!text.is_string()) return wrong(name, "a list of texts");
              place(job).emplace_back(view(text.get_string()));
            }
            return Status{};
          }};
}

const std::vector<JsonField>& fields() {
  static const std::vector<JsonField> all{
      text(
          "name", [](auto& job) -> auto& { return job.name; }),
      text(
          "handler", [](auto& job) -> auto& { return job.handler; }),
      text(
          "parameters", [](auto& job) -> auto& { return job.parameters; }),
      text(
          "schedule", [](auto& job) -> auto& { return job.schedule.when; }),
      text(
          "dialect", [](auto& job) -> auto& { return job.schedule.dialect; }),
      text(
          "zone", [](auto& job) -> auto& { return job.schedule.zone; }),
      text(
          "dst", [](auto& job) -> auto& { return job.schedule.dst; }),
      instant(
          "from", [](auto& job) -> auto& { return job.schedule.from; }),
      instant(
          "until", [](auto& job) -> auto& { return job.schedule.until; }),
      text(
          "excluded", [](auto& job) -> auto& { return job.schedule.excluded; }),
      milliseconds(
          "jitter_ms", [](auto& job) -> auto& { return job.schedule.jitter; }),
      priority(),
      choice(
          "misfire", [](auto& job) -> auto& { return job.misfire; }, misfire_of),
      number(
          "misfire_runs", [](auto& job) -> auto& { return job.misfire_runs; }),
      choice(
          "overlap", [](auto& job) -> auto& { return job.overlap; }, overlap_of),
      choice(
          "overlap_scope", [](auto& job) -> auto& { return job.overlap_scope; }, overlap_scope_of),
      number(
          "concurrency", [](auto& job) -> auto& { return job.concurrency; }),
      choice(
          "route", [](auto& job) -> auto& { return job.route; }, route_of),
      number(
          "retries", [](auto& job) -> auto& { return job.retries; }),
      milliseconds(
          "backoff_ms", [](auto& job) -> auto& { return job.backoff; }),
      milliseconds(
          "timeout_ms", [](auto& job) -> auto& { return job.timeout; }),
      texts(
          "parents", [](auto& job) -> auto& { return job.parents; }),
      texts(
          "requires", [](auto& job) -> auto& { return job.required_facts; }),
      text(
          "owner", [](auto& job) -> auto& { return job.owner; }),
      texts(
          "tags", [](auto& job) -> auto& { return job.tags; }),
      text(
          "note", [](auto& job) -> auto& { return job.note; }),
      text(
          "stop_note", [](auto& job) -> auto& { return job.stop_note; }),
  };
  return all;
}

}  // namespace

std::string to_json(const Job& job) {
  static const Job kDefaults{};
  json::object object;
  for (const JsonField& field : fields()) {
    json::value value = field.write(job);
    if (value != field.write(kDefaults)) object[field.name] = std::move(value);
  }
  std::string out;
  append_json(out, object);
  return out;
}

Result<Job> job_from_json(std::string_view text) {
  boost::system::error_code error;
  const json::value value = json::parse(text, error);
  if (error) return failure(StatusCode::InvalidArgument, "no JSON: " + error.message());
  if (!value.is_object()) return failure(StatusCode::InvalidArgument, "no JSON object");
  Job job;
  for (const auto& [name, field_value] : value.get_object()) {
    const auto found = std::ranges::find(fields(), std::string_view{name.data(), name.size()}, &JsonField::name);
    if (found == fields().end()) return failure(StatusCode::InvalidArgument, "a job has no field '" + std::string{name} + "'");
    if (Status status = found->read(job, field_value); !status.ok()) return failure(std::move(status));
  }
  return job;
}

}  // namespace rondo::jobs
