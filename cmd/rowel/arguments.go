package main

import (
	"strings"
	"unicode/utf8"

	"github.com/urfave/cli/v2"
)

// commandLine is what was typed, understood as getopt_long does: options anywhere among
// the arguments, "-n4", "-ah", "--name value", "--name=value". urfave/cli takes options
// only before the first argument, each in a word of its own; words gives it that.
type commandLine struct {
	path  []*cli.Command // what was named: {node, drain}
	flags []string       // "--name=value", canonical names
	args  []string
	help  bool
}

// optionalValueFlag is a flag that means something without its value, which can then be
// given as --name=value only.
type optionalValueFlag struct {
	*cli.StringFlag
	bare string
}

// privateAliasFlag is a flag with an alias that urfave/cli must not see: it takes -h for
// help whatever a command means by it.
type privateAliasFlag struct {
	*cli.BoolFlag
	alias string
}

// Names returns the flag's names, the alias last.
func (f *privateAliasFlag) Names() []string { return append(f.BoolFlag.Names(), f.alias) }

// words returns the command line as urfave/cli reads it.
func (l *commandLine) words(program string) []string {
	words := []string{program}
	for _, c := range l.path {
		words = append(words, c.Name)
	}
	return append(append(append(words, l.flags...), "--"), l.args...)
}

// parseCommandLine reads the words after the program's name. The error is one of usage,
// with the nearest name that exists.
func parseCommandLine(app *cli.App, words []string) (*commandLine, error) {
	line := &commandLine{}
	commands, flags := app.Commands, app.Flags
	for len(words) > 0 && commands != nil {
		word := words[0]
		if word == "--version" && len(line.path) == 0 {
			word = "version"
		}
		if isOption(word) {
			rest, err := line.takeOption(flags, words)
			if err != nil {
				return nil, err
			}
			words = rest
			continue
		}
		command := findCommand(commands, word)
		if command == nil {
			return nil, unknownCommand(line, commands, word)
		}
		line.path = append(line.path, command)
		commands, words = command.Subcommands, words[1:]
	}
	if commands != nil || len(line.path) == 0 {
		return line, line.incomplete(commands)
	}
	leaf := line.path[len(line.path)-1]
	early := line.flags // given before the command that they are for
	line.flags = nil
	for _, option := range early {
		if _, err := line.takeOption(leaf.Flags, []string{option}); err != nil {
			return nil, err
		}
	}
	return line, line.parseLeaf(leaf, words)
}

// parseLeaf reads what follows the name of a command that has no commands below it.
func (l *commandLine) parseLeaf(leaf *cli.Command, words []string) error {
	for len(words) > 0 {
		word := words[0]
		switch {
		case word == "--":
			if leaf.Name != "submit" { // which must tell a command from a script
				words = words[1:]
			}
			l.args = append(l.args, words...)
			return nil
		case isOption(word):
			rest, err := l.takeOption(leaf.Flags, words)
			if err != nil {
				return err
			}
			words = rest
		case runsCommand(leaf):
			l.args = append(l.args, words...)
			return nil
		default:
			l.args = append(l.args, word)
			words = words[1:]
		}
	}
	return nil
}

// runsCommand reports whether a command's first argument begins another command line,
// whose options are not ours.
func runsCommand(c *cli.Command) bool {
	return c.Name == "submit" || c.Name == "run" || c.Name == "dev" || c.Name == completeName
}

// takeOption reads the option at the front of words and returns the words after it.
func (l *commandLine) takeOption(flags []cli.Flag, words []string) ([]string, error) {
	word, rest := words[0], words[1:]
	name, value, hasValue := strings.Cut(strings.TrimLeft(word, "-"), "=")
	flag := findFlag(flags, name)
	single := !strings.HasPrefix(word, "--")
	var cluster string // the other letters of "-ah", or the value of "-n4"
	if single && flag == nil {
		_, size := utf8.DecodeRuneInString(word[1:])
		name, cluster = word[1:1+size], word[1+size:]
		flag, hasValue = findFlag(flags, name), false
	}
	switch {
	case flag == nil && (name == "help" || name == "h"):
		l.help = true
		return rest, nil
	case flag == nil:
		return nil, unknownOption(l, flags, word)
	}
	name = flag.Names()[0]
	if !takesValue(flag) {
		if hasValue && value != "true" && value != "false" || strings.HasPrefix(cluster, "=") {
			return nil, usageErrorf("%s--%s takes no value", l.subject(), name)
		}
		if !hasValue {
			value = "true"
		}
		l.flags = append(l.flags, "--"+name+"="+value)
		if cluster != "" {
			rest = append([]string{"-" + cluster}, rest...)
		}
		return rest, nil
	}
	if cluster != "" {
		value, hasValue = strings.TrimPrefix(cluster, "="), true
	}
	if optional, ok := flag.(*optionalValueFlag); ok && !hasValue {
		value, hasValue = optional.bare, true
	}
	if !hasValue {
		if len(rest) == 0 {
			return nil, usageErrorf("%s%s needs a value", l.subject(), word)
		}
		value, rest = rest[0], rest[1:]
	}
	l.flags = append(l.flags, "--"+name+"="+value)
	return rest, nil
}

// incomplete is the error of a command line that names no command to run, nil if all it
// asks for is help.
func (l *commandLine) incomplete(commands []*cli.Command) error {
	if l.help || len(l.path) == 0 && len(l.flags) == 0 {
		l.help = true
		return nil
	}
	return usageErrorf("%sa command is missing: %s", l.subject(), strings.Join(commandNames(commands), ", "))
}

// name returns the command as it is typed.
func (l *commandLine) name() string {
	name := "rowel"
	for _, c := range l.path {
		name += " " + c.Name
	}
	return name
}

// subject says in front of an error which command it is about, if one is named.
func (l *commandLine) subject() string {
	if len(l.path) == 0 {
		return ""
	}
	return strings.TrimPrefix(l.name(), "rowel ") + ": "
}

func isOption(word string) bool { return len(word) > 1 && word[0] == '-' }

func findCommand(commands []*cli.Command, name string) *cli.Command {
	for _, c := range commands {
		if c.HasName(name) {
			return c
		}
	}
	return nil
}

func findFlag(flags []cli.Flag, name string) cli.Flag {
	for _, f := range flags {
		for _, n := range f.Names() {
			if n == name {
				return f
			}
		}
	}
	return nil
}

func takesValue(f cli.Flag) bool {
	documented, ok := f.(cli.DocGenerationFlag)
	return ok && documented.TakesValue()
}

// commandNames returns the names of the commands that help lists.
func commandNames(commands []*cli.Command) []string {
	var names []string
	for _, c := range commands {
		if !c.Hidden {
			names = append(names, c.Name)
		}
	}
	return names
}

func unknownCommand(l *commandLine, commands []*cli.Command, word string) error {
	hint := ""
	if near := nearest(word, commandNames(commands)); near != "" {
		hint = "; did you mean \"" + near + "\"?"
	}
	return usageErrorf("%sno command %.80q%s Type \"%s --help\" for what there is", l.subject(), word, endSentence(hint), l.name())
}

func unknownOption(l *commandLine, flags []cli.Flag, word string) error {
	name, _, _ := strings.Cut(word, "=")
	var names []string
	for _, f := range flags {
		for _, n := range f.Names() {
			if len(n) > 1 {
				names = append(names, n)
			}
		}
	}
	hint := ""
	if near := nearest(strings.TrimLeft(name, "-"), names); near != "" {
		hint = "; did you mean --" + near + "?"
	}
	return usageErrorf("%sno option %.80q%s Type \"%s --help\" for what there is", l.subject(), name, endSentence(hint), l.name())
}

func endSentence(hint string) string {
	if hint == "" {
		return "."
	}
	return hint
}

// nearest returns the candidate that word is most likely a slip of, or nothing.
func nearest(word string, candidates []string) string {
	best, bestDistance := "", 1+max(1, len(word)/3)
	for _, c := range candidates {
		if d := editDistance(word, c); d < bestDistance {
			best, bestDistance = c, d
		}
	}
	return best
}

// editDistance is the number of letters to change, add, drop or swap with a neighbour.
func editDistance(a, b string) int {
	if len(a) > 40 || len(b) > 40 {
		return 40
	}
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			d := min(rows[i-1][j]+1, rows[i][j-1]+1, rows[i-1][j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				d = min(d, rows[i-2][j-2]+1)
			}
			rows[i][j] = d
		}
	}
	return rows[len(a)][len(b)]
}
