// rondo schema: prints the tables of the switch and their fields as text, as JSON, and as docs/guide/tables.md.
#include "commands/schema.h"

#include <boost/json.hpp>
#include <string>
#include <vector>

#include "admin/suggest.h"
#include "output/json_text.h"
#include "output/print.h"
#include "output/render.h"
#include "output/report.h"
#include "switch_agent/tables.h"

namespace rondo::cli {
namespace {

namespace json = boost::json;
using switch_agent::FieldReference;
using switch_agent::TableReference;

std::string joined(std::span<const std::string_view> words) {
  std::string text;
  for (const std::string_view word : words) text.append(text.empty() ? "" : ", ").append(word);
  return text;
}

std::string type_of(const FieldReference& field) {
  return std::string{field.type} + (field.unit.empty() ? "" : ", " + std::string{field.unit});
}

json::object to_json(const TableReference& table) {
  json::array fields;
  for (const FieldReference* const one : table.fields) {
    fields.push_back(
        json::object{{"field", one->name}, {"type", one->type}, {"unit", one->unit}, {"default", one->fallback}, {"help", one->help}});
  }
  json::array ignored;
  for (const std::string_view name : table.ignored) ignored.emplace_back(name);
  return {{"table", table.name},           {"help", table.help},          {"key", table.key},
          {"key_help", table.key_help},    {"fields", std::move(fields)}, {"rule", table.rule},
          {"ignored", std::move(ignored)}, {"example", table.example}};
}

std::string text_of(const TableReference& table, bool color) {
  TextTable fields(color);
  for (const FieldReference* const one : table.fields) {
    fields.add(json::object{{"field", one->name}, {"type", type_of(*one)}, {"default", one->fallback}, {"meaning", one->help}});
  }
  std::string text;
  text.append(color ? kBold : "").append(table.name).append(color ? kPlain : "").append(": ").append(table.help).append("\n\n");
  text.append("key      ").append(table.key).append(". ").append(table.key_help).append("\n");
  text.append("rule     ").append(table.rule).append("\n");
  text.append("ignored  ").append(joined(table.ignored)).append("\n");
  text.append("example  ").append(table.example).append("\n\n");
  return text + fields.text();
}

}  // namespace

std::string tables_page() {
  std::string page =
      "# Tables and fields\n\n"
      "The tables of rondod and their fields. `rondo schema TABLE` prints the same. This page is made by `rondo schema --markdown` from "
      "the\n"
      "declaration that the parsers of rows use; a test compares the two.\n\n"
      "All values are text. `rondo set` changes the fields that it names; other fields keep their values. A row with a wrong value is "
      "rejected:\n"
      "`rondo why` and `rondo rejected` tell the reason. A field that a table does not know has no effect. `rondo set` warns of it, and "
      "the\n"
      "reason of a rejected row names it.\n";
  for (const TableReference& table : switch_agent::tables()) {
    page.append("\n## ").append(table.name).append("\n").append(table.help).append("\n\n");
    page.append("**Key**: `").append(table.key).append("`. ").append(table.key_help).append("\n\n");
    if (!table.fields.empty()) page.append("| field | value | default | meaning |\n|---|---|---|---|\n");
    for (const FieldReference* const one : table.fields) {
      page.append("| `").append(one->name).append("` | ").append(type_of(*one)).append(" | ").append(one->fallback).append(" | ");
      page.append(one->help).append(" |\n");
    }
    if (!table.fields.empty()) page.append("\n");
    page.append(table.rule).append("\n\n");
    page.append("Accepted without effect: ").append(joined(table.ignored)).append(".\n\n");
    page.append("```\n").append(table.example).append("\n```\n");
  }
  return page;
}

int show_schema(const Options& options, const ShowSchema& asked) {
  std::vector<const TableReference*> wanted;
  std::vector<std::string_view> names;
  for (const TableReference& table : switch_agent::tables()) {
    names.push_back(table.name);
    if (asked.table.empty() || asked.table == table.name) wanted.push_back(&table);
  }
  if (wanted.empty()) {
    return report(options, Status{StatusCode::NotFound, "no table '" + asked.table + "'" + did_you_mean(asked.table, names)});
  }
  if (asked.markdown) {
    print(tables_page());
  } else if (options.json) {
    json::array tables;
    for (const TableReference* const table : wanted) tables.push_back(to_json(*table));
    print(json_text(json::object{{"tables", std::move(tables)}}) + "\n");
  } else {
    const bool color = wants_color(1);
    for (const TableReference* const table : wanted) print((table == wanted.front() ? "" : "\n") + text_of(*table, color));
  }
  return finish_output();
}

void warn_of_unknown_fields(const SetRow& row) {
  const TableReference* const table = switch_agent::find_table(row.table);
  if (table == nullptr) return;
  for (const auto& [name, value] : row.fields) {
    const std::string unknown = switch_agent::unknown_field(*table, name);
    if (!unknown.empty()) print_error("rondo: warning: " + unknown + " (a field that is not known has no effect)\n");
  }
}

}  // namespace rondo::cli
