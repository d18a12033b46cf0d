#include "arguments/completion.h"

#include <algorithm>
#include <string_view>

#include "arguments/commands.h"

namespace rondo::cli {
namespace {

constexpr std::string_view kBash = R"(# Completion of rondo for bash; made by `rondo completion bash`.

# What is typed in $1 as words without their quotation marks, in 'words'. Divided at blanks only: keys hold the ':' and '=' at which bash
# divides, too. 'mark' is the quotation mark that is open at the end, 'behind' what bash leaves as it is of the last word: that before the
# mark, or before the last character at which it divides.
_rondo_words() {
  local text=$1 word="" divided="" c
  local -i at begun=0
  words=() mark="" behind=""
  for ((at = 0; at < ${#text}; ++at)); do
    c=${text:at:1}
    if [[ $c == \\ && $mark != "'" ]]; then
      c=${text:$((++at)):1}
      [[ $mark == '"' && $c != [\"\\\$\`] ]] && word+=\\
      word+=$c begun=1
    elif [[ -n $mark ]]; then
      if [[ $c == "$mark" ]]; then mark=""; else word+=$c; fi
    elif [[ $c == [\'\"] ]]; then
      mark=$c behind=$word begun=1
    elif [[ $c == [[:space:]] ]]; then
      ((begun)) && words+=("$word")
      word="" divided="" begun=0
    else
      word+=$c begun=1
      [[ $COMP_WORDBREAKS == *"$c"* ]] && divided=$word
    fi
  done
  [[ -z $mark ]] && behind=$divided
  words+=("$word")
}

# $1 so that bash reads it as one word behind the quotation mark $2, or behind none. 'quoted' is the result.
_rondo_quote() {
  local word=$1 mark=$2 c
  local -i at
  quoted=""
  if [[ -z $mark ]]; then
    [[ -n $word ]] && printf -v quoted %q "$word"
    return
  fi
  for ((at = 0; at < ${#word}; ++at)); do
    c=${word:at:1}
    case $mark$c in
      "''") c="'\\''" ;;
      '"!') c='"\!"' ;;
      '""' | '"\' | '"$' | '"`') c="\\$c" ;;
    esac
    quoted+=$c
  done
  # Of two marks in a row bash takes one for its own.
  [[ $quoted == "$mark"* ]] && quoted=$mark$quoted
}

_rondo() {
  local reply mark behind quoted
  local -a words
  _rondo_words "${COMP_LINE:0:COMP_POINT}"
  COMPREPLY=()
  while IFS=$'\t' read -r reply _; do
    if [[ $reply == :files ]]; then
      compopt -o filenames 2>/dev/null  # Then bash quotes.
      while IFS= read -r reply; do COMPREPLY+=("${reply#"$behind"}"); done < <(compgen -f -- "${words[-1]}")
    else
      _rondo_quote "${reply#"$behind"}" "$mark"
      [[ $reply == *= ]] && compopt -o nospace 2>/dev/null  # A value follows.
      COMPREPLY+=("$quoted")
    fi
  done < <("${words[0]}" complete -- "${words[@]:1}" 2>/dev/null)
}
complete -F _rondo rondo
)";

constexpr std::string_view kZsh = R"(#compdef rondo
# Completion of rondo for zsh; made by `rondo completion zsh`.
_rondo() {
  local line
  local -a lines plain shown
  # Words come as they were typed; compadd quotes what it adds.
  lines=("${(@f)$("${(Q)words[1]}" complete -- "${(@Q)words[2,CURRENT-1]}" "${(Q)PREFIX}" 2>/dev/null)}")
  for line in "${lines[@]}"; do
    [[ -z $line ]] && continue
    if [[ $line == :files ]]; then
      _files
      continue
    fi
    plain+=("${line%%$'\t'*}")
    shown+=("${line/$'\t'/  -- }")
  done
  local -a after
  [[ -z "${plain:#*=}" ]] && after=(-S '')  # A value follows.
  (( ${#plain} )) && compadd "${after[@]}" -l -d shown -a plain
}
if [[ $funcstack[1] == _rondo ]]; then
  _rondo "$@"
else
  compdef _rondo rondo
fi
)";

class Completer {
 public:
  explicit Completer(const NameSource& names) : names_(names) {}

  std::vector<Offer> complete(const std::vector<std::string>& words) {
    last_ = words.empty() ? std::string{} : words.back();
    for (std::size_t i = 0; i + 1 < words.size(); ++i) pass(words[i]);
    if (awaited_ != nullptr) {
      offer_word(awaited_->word, awaited_->choices, awaited_->help);
    } else if (last_.starts_with("-") && !only_words_) {
      offer_options();
    } else if (command_ == nullptr || !command_->commands.empty()) {
      for (const manual::Command& one : command_ == nullptr ? program().commands : command_->commands) {
        if (!one.hidden) offer(one.name, one.help);
      }
    } else if (const manual::Argument* const argument = next_argument()) {
      offer_word(argument->word, argument->choices, argument->help);
    }
    return std::move(offers_);
  }

 private:
  /// Processes a word before the last one.
  void pass(const std::string& word) {
    if (awaited_ != nullptr) {
      awaited_ = nullptr;
    } else if (word == "--" && !only_words_) {
      only_words_ = true;
    } else if (word.starts_with("-") && !only_words_) {
      const manual::Option* const option = find_option(word);
      if (option != nullptr && !option->value.empty() && !option->value_optional) awaited_ = option;
    } else if (command_ == nullptr || !command_->commands.empty()) {
      path_.push_back(word);
      command_ = find_command({path_.begin(), path_.end()});
      if (command_ == nullptr) unknown_ = true;
    } else {
      given_.push_back(word);
    }
  }

  const manual::Option* find_option(std::string_view name) const {
    for (const std::vector<manual::Option>* const among : {&program().options, command_ == nullptr ? nullptr : &command_->options}) {
      if (among == nullptr) continue;
      const auto found = std::ranges::find(*among, name, &manual::Option::name);
      if (found != among->end()) return &*found;
    }
    return nullptr;
  }

  const manual::Argument* next_argument() const {
    const std::vector<manual::Argument>& all = command_->arguments;
    if (given_.size() < all.size()) return &all[given_.size()];
    return !all.empty() && all.back().many ? &all.back() : nullptr;
  }

  void offer(std::string_view word, std::string_view help) {
    if (!unknown_ && word.starts_with(last_)) offers_.push_back({std::string{word}, std::string{help}});
  }

  void offer_options() {
    if (command_ != nullptr) {
      for (const manual::Option& option : command_->options) offer(option.name, option.help);
    }
    for (const manual::Option& option : program().options) offer(option.name, option.help);
    offer("--help", "Say how it is used");
  }

  void offer_word(manual::Word word, const std::vector<std::string_view>& choices, std::string_view help) {
    for (const std::string_view choice : choices) offer(choice, help);
    if (word == manual::Word::File) offers_.push_back({":files", {}});
    if (word == manual::Word::Table && names_.tables) {
      for (const std::string& table : names_.tables()) offer(table, "table");
    }
    if (word == manual::Word::Key && names_.keys && !given_.empty()) {
      for (const std::string& key : names_.keys(given_.front(), last_)) offer(key, given_.front());
    }
    if (word == manual::Word::Command && names_.commands) {
      for (const Offer& command : names_.commands()) offer(command.word, command.help);
    }
    if (word == manual::Word::Parameter && names_.parameters && !given_.empty() && last_.find('=') == std::string::npos) {
      for (const Offer& parameter : names_.parameters(given_.front())) {
        const bool has_value = std::ranges::any_of(given_, [&](const std::string& one) { return one.starts_with(parameter.word); });
        if (!has_value) offer(parameter.word, parameter.help);
      }
    }
  }

  const NameSource& names_;
  std::string last_;
  std::vector<std::string> path_;
  const manual::Command* command_ = nullptr;
  bool unknown_ = false;
  bool only_words_ = false;
  const manual::Option* awaited_ = nullptr;  // The option whose value is the next word.
  std::vector<std::string> given_;           // Words of the command so far.
  std::vector<Offer> offers_;
};

}  // namespace

std::string completion_script(std::string_view shell) { return std::string{shell == "zsh" ? kZsh : kBash}; }

std::vector<Offer> offers(const std::vector<std::string>& words, const NameSource& names) { return Completer(names).complete(words); }

}  // namespace rondo::cli
