#include "api/openapi.h"

#include <utility>

#include "base/json.h"

namespace rondo::api {

namespace {

json::object text_schema() { return {{"type", "string"}}; }
json::object array_of(json::object items) { return {{"type", "array"}, {"items", std::move(items)}}; }

json::object schema_of(const ArgumentSpec& argument) {
  json::object schema;
  switch (argument.kind) {
    case ArgumentKind::Text: schema = text_schema(); break;
    case ArgumentKind::Integer: schema = {{"type", "integer"}, {"format", "int64"}}; break;
    case ArgumentKind::Flag: schema = {{"type", "boolean"}}; break;
    case ArgumentKind::Fields: schema = array_of(array_of(text_schema())); break;
    case ArgumentKind::Rows: schema = array_of(json::object{{"type", "array"}}); break;
  }
  if (!argument.help.empty()) schema["description"] = argument.help;
  return schema;
}

std::string_view role_for(CommandEffect effect) {
  switch (effect) {
    case CommandEffect::Reads: return "viewer";
    case CommandEffect::Works: return "worker";
    case CommandEffect::Writes: return "operator";
    case CommandEffect::Administers: return "admin";
  }
  return "admin";
}

json::object reference(std::string_view to) { return {{"$ref", "#/components/" + std::string{to}}}; }
json::object content(std::string_view type, json::object schema) {
  return {{"content", json::object{{type, json::object{{"schema", std::move(schema)}}}}}};
}

json::object path_of(const CommandSpec& spec) {
  json::object properties;
  json::array required;
  for (const ArgumentSpec& argument : spec.arguments) {
    properties[argument.name] = schema_of(argument);
    if (argument.required) required.emplace_back(argument.name);
  }
  const bool needs_body = !required.empty();
  json::object arguments{{"type", "object"}, {"properties", std::move(properties)}, {"additionalProperties", false}};
  if (needs_body) arguments["required"] = std::move(required);
  json::object body = content("application/json", std::move(arguments));
  body["required"] = needs_body;
  json::object answer = content("application/json", {{"type", "object"}});
  answer["description"] = "The result, with all rows in \"rows\"";
  answer["content"].as_object()["text/event-stream"] = json::object{{"schema", text_schema()}};
  return {{"post", json::object{{"operationId", spec.name},
                                {"summary", spec.help},
                                {"description", "The least role: " + std::string{role_for(spec.effect)}},
                                {"requestBody", std::move(body)},
                                {"responses", json::object{{"200", std::move(answer)}, {"default", reference("responses/Error")}}}}}};
}

json::object error_response_of() {
  const json::object error{{"type", "object"},
                           {"properties", json::object{{"code", text_schema()}, {"message", text_schema()}}},
                           {"required", json::array{"code", "message"}}};
  json::object response =
      content("application/json", {{"type", "object"}, {"properties", json::object{{"error", error}}}, {"required", json::array{"error"}}});
  response["description"] = "Why the call failed";
  return response;
}

}  // namespace

std::string openapi_of(const CommandRegistry& registry, const std::string& version) {
  json::object paths;
  for (const CommandSpec* const spec : registry.commands()) paths["/api/v1/" + spec->name] = path_of(*spec);
  const json::object document{
      {"openapi", "3.1.0"},
      {"info", json::object{{"title", "rondod"}, {"version", version}}},
      {"security", json::array{json::object{{"token", json::array{}}}}},
      {"paths", std::move(paths)},
      {"components", json::object{{"responses", json::object{{"Error", error_response_of()}}},
                                  {"securitySchemes", json::object{{"token", json::object{{"type", "http"}, {"scheme", "bearer"}}}}}}}};
  std::string text;
  append_json(text, document);
  return text;
}

}  // namespace rondo::api
