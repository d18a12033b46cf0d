#include "manual/man_page.h"

#include <algorithm>
#include <cctype>

namespace rondo::manual {
namespace {

/// Escapes text so that roff shows it unchanged. A '-' is written so that it can be copied into a shell.
std::string plain(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '\\': out += "\\e"; break;
      case '-': out += "\\-"; break;
      case '\'': out += "\\(aq"; break;
      case '`': out += "\\(ga"; break;
      case '^': out += "\\(ha"; break;
      case '~': out += "\\(ti"; break;
      default: out += c;
    }
  }
  if (!out.empty() && out.front() == '.') out.insert(0, "\\&");
  return out;
}

std::string bold(std::string_view text) { return "\\fB" + plain(text) + "\\fR"; }
std::string italic(std::string_view text) { return "\\fI" + plain(text) + "\\fR"; }

class Page {
 public:
  void heading(std::string_view name) { out_.append(".SH ").append(name).append("\n"); }
  void subheading(std::string_view text) { out_.append(".SS \"").append(plain(text)).append("\"\n"); }
  void line(std::string_view roff) { out_.append(roff).append("\n"); }
  void paragraph() { out_.append(".PP\n"); }
  /// An indented entry under 'tag', which must be roff already.
  void entry(std::string_view tag, std::string_view help) {
    out_.append(".TP\n").append(tag).append("\n").append(plain(help)).append("\n");
  }
  /// Paragraphs separated by empty lines. A paragraph that begins with a blank is shown unchanged, line by line.
  void text(std::string_view paragraphs) {
    bool first = true;
    while (!paragraphs.empty()) {
      const std::size_t end = std::min(paragraphs.find("\n\n"), paragraphs.size());
      if (!first) paragraph();
      first = false;
      if (paragraphs.starts_with(" ")) {
        verbatim(paragraphs.substr(0, end));
      } else {
        lines(paragraphs.substr(0, end));
      }
      paragraphs.remove_prefix(std::min(end + 2, paragraphs.size()));
    }
  }
  void example(const Example& example) {
    line(".PP");
    line(plain(example.meaning));
    line(".PP");
    line(".RS 4\n.nf");
    line(plain(example.line));
    line(".fi\n.RE");
  }
  std::string take() { return std::move(out_); }

 private:
  void lines(std::string_view text) {
    while (!text.empty()) {
      const std::size_t end = std::min(text.find('\n'), text.size());
      line(plain(text.substr(0, end)));
      text.remove_prefix(std::min(end + 1, text.size()));
    }
  }
  void verbatim(std::string_view text) {
    line(".RS 2\n.nf");
    lines(text);
    line(".fi\n.RE");
  }
  std::string out_;
};

std::string argument_text(const Argument& argument) {
  std::string shown = italic(argument.name);
  if (argument.many) shown += " ...";
  return argument.required ? shown : "[" + shown + "]";
}

void add_options(Page& page, const std::vector<Option>& options) {
  for (const Option& option : options) {
    std::string help{option.help};
    if (!option.choices.empty()) {
      help += help.ends_with('.') ? " One of " : "; one of ";
      for (const std::string_view& choice : option.choices) help.append(&choice == &option.choices.front() ? "" : ", ").append(choice);
    }
    if (!option.fallback.empty()) help.append("; default ").append(option.fallback);
    const std::string value = option.value.empty() ? std::string{} : italic(option.value);
    page.entry(bold(option.name) + (option.value_optional ? "[=" + value + "]" : option.value.empty() ? "" : " " + value), help + ".");
  }
}

void add_command(Page& page, std::string_view before, const Command& command) {
  const std::string name = before.empty() ? std::string{command.name} : std::string{before} + " " + std::string{command.name};
  if (!command.commands.empty()) {
    for (const Command& below : command.commands) add_command(page, name, below);
    return;
  }
  std::string head = bold(name);
  for (const Argument& argument : command.arguments) head += " " + argument_text(argument);
  page.line(".TP");
  page.line(head);
  page.line(plain(std::string{command.help} + "."));
  if (!command.details.empty()) {
    page.line(".IP");
    page.text(command.details);
  }
  page.line(".RS");
  for (const Argument& argument : command.arguments) {
    // The description explains once what a table and a key are.
    if (argument.word == Word::Table || (argument.word == Word::Key && argument.required) || argument.help.empty()) continue;
    page.entry(italic(argument.name), std::string{argument.help} + ".");
  }
  add_options(page, command.options);
  page.line(".RE");
}

void add_sections(Page& page, const Program& program) {
  if (program.sections.empty()) return;
  page.heading("SECTIONS");
  for (const Section& section : program.sections) {
    page.subheading(section.many ? "[[" + std::string{section.name} + "]]" : "[" + std::string{section.name} + "]");
    page.text(section.help);
    for (const Setting& setting : section.settings) {
      page.line(".TP");
      page.line(bold(setting.name) + " = " + italic(setting.type));
      page.line(plain(std::string{setting.help}));
      if (!setting.fallback.empty()) page.line(plain("Default: " + std::string{setting.fallback}));
    }
  }
}

void add_entries(Page& page, std::string_view heading, const std::vector<Entry>& entries) {
  if (entries.empty()) return;
  page.heading(heading);
  for (const Entry& entry : entries) page.entry(bold(entry.name), entry.meaning);
}

void add_examples(Page& page, const Program& program) {
  std::vector<Example> all = program.examples;
  for (const Command& command : program.commands) {
    all.insert(all.end(), command.examples.begin(), command.examples.end());
    for (const Command& below : command.commands) all.insert(all.end(), below.examples.begin(), below.examples.end());
  }
  if (all.empty()) return;
  page.heading("EXAMPLES");
  for (const Example& example : all) page.example(example);
}

void add_synopsis(Page& page, const Program& program) {
  if (!program.sections.empty()) return;
  page.heading("SYNOPSIS");
  std::string line = ".B " + plain(program.name);
  page.line(line);
  page.line(program.commands.empty() ? "[" + italic("option") + " ...]"
                                     : "[" + italic("option") + " ...] " + italic("command") + " [" + italic("word") + " ...]");
}

}  // namespace

std::string man_page(const Program& program, std::string_view version) {
  std::string title{program.name};
  std::ranges::transform(title, title.begin(), [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  Page page;
  page.line(".\\\" Made by the build from the description that the program itself uses.");
  page.line(".TH \"" + plain(title) + "\" \"" + std::to_string(program.manual_section) + "\" \"\" \"rondo " + std::string{version} +
            "\" \"Rondo\"");
  page.heading("NAME");
  page.line(plain(program.name) + " \\- " + plain(program.summary));
  add_synopsis(page, program);
  page.heading("DESCRIPTION");
  page.text(program.description);
  if (!program.options.empty()) page.heading("OPTIONS");
  add_options(page, program.options);
  if (!program.commands.empty()) page.heading("COMMANDS");
  for (const Command& command : program.commands) {
    if (!command.hidden) add_command(page, {}, command);
  }
  add_sections(page, program);
  add_entries(page, "\"EXIT STATUS\"", program.exit_codes);
  add_entries(page, "ENVIRONMENT", program.environment);
  add_entries(page, "FILES", program.files);
  add_examples(page, program);
  if (!program.see_also.empty()) page.heading("\"SEE ALSO\"");
  for (const std::string_view& other : program.see_also) {
    const std::size_t section = other.find('(');
    page.line(bold(other.substr(0, section)) + plain(other.substr(section)) + (&other == &program.see_also.back() ? "" : ","));
  }
  return page.take();
}

}  // namespace rondo::manual
