package main

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/rowelhq/rowel/core"
)

// sbatchMagic starts a line of options in a script.
const sbatchMagic = "#SBATCH"

// parseDirectives reads the options in a script's #SBATCH lines: those before its first
// command, several to a line, quoted as in a shell. What follows a word that starts with
// # is a comment. It never passes over what it does not understand: the Invalid error
// names the line.
func parseDirectives(script []byte) ([]setting, error) {
	options := batchOptions()
	var settings []setting
	number := 0
	for line := range bytes.Lines(script) {
		number++
		text := strings.TrimSuffix(string(line), "\n")
		if strings.HasSuffix(text, "\r") {
			return nil, core.Errorf(core.Invalid, "line %d ends in a carriage return: save the script with Unix line ends (dos2unix does it)", number)
		}
		directive, ok := strings.CutPrefix(text, sbatchMagic)
		if !ok {
			if isCommand(text) {
				break
			}
			continue
		}
		words, err := splitWords(directive)
		if err != nil {
			return nil, core.Errorf(core.Invalid, "line %d: %w", number, err)
		}
		found, err := matchOptions(options, words)
		if err != nil {
			return nil, core.Errorf(core.Invalid, "line %d: %w", number, err)
		}
		settings = append(settings, found...)
	}
	return settings, nil
}

// isCommand reports whether a line of a script is neither blank nor a comment.
func isCommand(line string) bool {
	line = strings.TrimSpace(line)
	return line != "" && line[0] != '#'
}

// splitWords splits a line at white space. Quotes and backslashes keep it together, and
// a word that starts with # begins a comment.
func splitWords(line string) ([]string, error) {
	var words []string
	var word strings.Builder
	inWord, escaped := false, false
	quote := rune(0)
	for _, r := range line {
		switch {
		case escaped:
			word.WriteRune(r)
			escaped = false
		case r == '\\' && quote != '\'':
			inWord, escaped = true, true
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(r)
		case r == '"' || r == '\'':
			inWord, quote = true, r
		case unicode.IsSpace(r):
			if inWord {
				words = append(words, word.String())
				word.Reset()
				inWord = false
			}
		case r == '#' && !inWord:
			return words, nil
		default:
			inWord = true
			word.WriteRune(r)
		}
	}
	switch {
	case quote != 0:
		return nil, fmt.Errorf("a %c is not closed", quote)
	case escaped:
		return nil, fmt.Errorf("the line ends in a backslash")
	case inWord:
		words = append(words, word.String())
	}
	return words, nil
}

// matchOptions reads words as options with their values: "--name=value",
// "--name value", "-Nvalue", "-N value".
func matchOptions(options []option, words []string) ([]setting, error) {
	var settings []setting
	for len(words) > 0 {
		word := words[0]
		words = words[1:]
		o, value, hasValue := findOption(options, word)
		switch {
		case !strings.HasPrefix(word, "-"):
			return nil, fmt.Errorf("%.80q is not an option", word)
		case o == nil:
			return nil, fmt.Errorf("option %.80q is not supported by Rowel: remove it from the script", optionName(word))
		case o.where&inScript == 0:
			return nil, fmt.Errorf("--%s can only be given on the command line", o.name)
		case o.metavar == "" && hasValue:
			return nil, fmt.Errorf("--%s takes no value", o.name)
		case o.metavar != "" && !hasValue && o.bare != "":
			value = o.bare
		case o.metavar != "" && !hasValue:
			if len(words) == 0 {
				return nil, fmt.Errorf("--%s needs a value", o.name)
			}
			value, words = words[0], words[1:]
		}
		settings = append(settings, setting{o, value})
	}
	return settings, nil
}

// findOption returns the option that a word names, nil if there is none, and the value
// that the word itself gives it.
func findOption(options []option, word string) (o *option, value string, hasValue bool) {
	long, isLong := strings.CutPrefix(word, "--")
	short, isShort := strings.CutPrefix(word, "-")
	name, longValue, longHasValue := strings.Cut(long, "=")
	for i := range options {
		o := &options[i]
		switch {
		case isLong && name == o.name:
			return o, longValue, longHasValue
		case !isLong && isShort && o.short != "" && strings.HasPrefix(short, o.short):
			rest := short[len(o.short):]
			return o, strings.TrimPrefix(rest, "="), rest != ""
		}
	}
	return nil, "", false
}

// optionName cuts the value off a word that names an option.
func optionName(word string) string {
	if strings.HasPrefix(word, "--") {
		name, _, _ := strings.Cut(word, "=")
		return name
	}
	_, size := utf8.DecodeRuneInString(word[1:])
	return word[:1+size]
}
