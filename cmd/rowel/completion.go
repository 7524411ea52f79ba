package main

import (
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/rowelhq/rowel/core"
)

// completeName is the hidden command that the scripts below ask. Its arguments are the
// words up to the cursor, the last one as far as it is typed.
const completeName = "__complete"

const bashCompletion = `# bash completion for rowel: eval "$(rowel completion bash)"
_rowel() {
	local current=${COMP_WORDS[COMP_CWORD]} IFS=$'\n'
	COMPREPLY=($("${COMP_WORDS[0]}" __complete -- "${COMP_WORDS[@]:1:COMP_CWORD-1}" "$current" 2>/dev/null))
}
complete -o default -F _rowel rowel
`

const zshCompletion = `#compdef rowel
# zsh completion for rowel: eval "$(rowel completion zsh)", or save it as _rowel in $fpath
_rowel() {
	local -a candidates
	candidates=("${(@f)$("${words[1]}" __complete -- "${(@)words[2,CURRENT]}" 2>/dev/null)}")
	if [[ -n "${candidates[1]}" ]]; then
		compadd -- "${candidates[@]}"
	else
		_files
	fi
}
if [[ "${funcstack[1]}" = _rowel ]]; then
	_rowel "$@"
else
	compdef _rowel rowel
fi
`

const fishCompletion = `# fish completion for rowel: rowel completion fish | source
function __rowel_complete
	set -l words (commandline -opc)
	set -l found ($words[1] __complete -- $words[2..] (commandline -ct) 2>/dev/null)
	if test (count $found) -gt 0
		printf '%s\n' $found
	else
		__fish_complete_path (commandline -ct)
	end
end
complete -c rowel -f -a '(__rowel_complete)'
`

func completionCommand() *cli.Command {
	scripts := map[string]string{"bash": bashCompletion, "zsh": zshCompletion, "fish": fishCompletion}
	return &cli.Command{
		Name:      "completion",
		Usage:     "print a script that completes rowel's commands and options in a shell",
		ArgsUsage: "bash|zsh|fish",
		Description: manual("Evaluate the script in the shell's start-up file, or save it where the shell looks for completions.",
			`eval "$(rowel completion bash)"
			eval "$(rowel completion zsh)"
			rowel completion fish | source`, exitDone, exitUsage),
		Action: func(c *cli.Context) error {
			if err := wantArgs(c, 1, 1); err != nil {
				return err
			}
			script, ok := scripts[c.Args().First()]
			if !ok {
				return usageErrorf("%s: %.80q is not one of bash, zsh and fish", commandName(c), c.Args().First())
			}
			_, err := fmt.Fprint(c.App.Writer, script)
			return err
		},
	}
}

// completeCommand answers the scripts: one candidate a line, nothing where the shell
// should complete file names.
func completeCommand() *cli.Command {
	return &cli.Command{
		Name:   completeName,
		Usage:  "print what may follow the words up to the cursor",
		Hidden: true,
		Action: func(c *cli.Context) error {
			for _, candidate := range complete(c.App, c.Args().Slice()) {
				if _, err := fmt.Fprintln(c.App.Writer, candidate); err != nil {
					return err
				}
			}
			return nil
		},
	}
}

// complete returns what the last of words, which may be empty, can become.
func complete(app *cli.App, words []string) []string {
	if len(words) == 0 {
		words = []string{""}
	}
	before, current := words[:len(words)-1], words[len(words)-1]
	commands, flags := app.Commands, app.Flags
	var command *cli.Command
	var pending cli.Flag // an option that waits for its value
	arguments := 0
	for _, word := range before {
		switch {
		case pending != nil:
			pending = nil
		case word == "--":
			return nil
		case isOption(word):
			f := findFlag(flags, strings.TrimLeft(word, "-"))
			if _, optional := f.(*optionalValueFlag); f != nil && takesValue(f) && !optional {
				pending = f
			}
		case commands == nil:
			arguments++
		default:
			if command = findCommand(commands, word); command == nil {
				return nil
			}
			commands, flags = command.Subcommands, command.Flags
		}
	}
	switch {
	case pending != nil:
		return matching(current, optionValues(pending.Names()[0]))
	case command != nil && runsCommand(command) && arguments > 0:
		return nil
	case strings.HasPrefix(current, "-"):
		return matching(current, flagNames(flags))
	case commands != nil:
		return matching(current, commandNames(commands))
	case arguments == 0:
		return matching(current, argumentValues(app, command))
	}
	return nil
}

// optionValues are the values of an option that are known beforehand.
func optionValues(option string) []string {
	switch {
	case option == "states" || option == "state":
		var names []string
		for s := core.JobPending; s <= core.JobBootFail; s++ {
			names = append(names, s.String())
		}
		return names
	case option == "stream":
		return []string{"stdout", "stderr"}
	case option == "role":
		return []string{"controller", "agent"}
	case option == "export":
		return []string{"ALL", "NONE"}
	case option == "partition":
		return []string{core.DefaultPartition}
	}
	return nil
}

// argumentValues are the first arguments of a command that are known beforehand.
func argumentValues(app *cli.App, command *cli.Command) []string {
	switch command.Name {
	case "completion":
		return []string{"bash", "zsh", "fish"}
	case "help":
		return commandNames(app.Commands)
	}
	return nil
}

func flagNames(flags []cli.Flag) []string {
	var names []string
	for _, f := range flags {
		names = append(names, "--"+f.Names()[0])
	}
	return append(names, "--help")
}

func matching(prefix string, candidates []string) []string {
	var found []string
	for _, c := range candidates {
		if strings.HasPrefix(c, prefix) {
			found = append(found, c)
		}
	}
	return found
}
