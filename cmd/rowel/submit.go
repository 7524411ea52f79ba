package main

import (
	"fmt"
	"io"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/urfave/cli/v2"

	"github.com/rowelhq/rowel/core"
	"github.com/rowelhq/rowel/core/api"
)

// maxScriptBytes bounds a batch script.
const maxScriptBytes = 4 << 20

// submitOutput is what submit --json prints.
type submitOutput struct {
	JobID     core.JobID `json:"job_id"`
	Duplicate bool       `json:"duplicate"`
}

func submitCommand() *cli.Command {
	return &cli.Command{
		Name:     "submit",
		Aliases:  []string{"sbatch"},
		Category: categoryJobs,
		Usage:    "queue a batch script or a command",
		UsageText: strings.Join([]string{
			"rowel submit [options] SCRIPT [arguments]",
			"rowel submit [options] -- COMMAND [arguments]",
			"rowel submit [options] --wrap 'SHELL LINE'",
			"rowel submit [options] < SCRIPT",
		}, "\n"),
		ArgsUsage: "[SCRIPT | -- COMMAND] [arguments]",
		Description: manual(`Queues a job and prints its number. A script says what it needs in #SBATCH lines before its
first command, with the options below; the command line wins over the script.
What is not supported is refused, never ignored.`,
			`rowel submit --time=10 --mem=2G train.sh fold-1
			rowel submit -n4 -- make -j4
			rowel submit --array=0-99%10 --wrap 'echo $SLURM_ARRAY_TASK_ID'`,
			"0 the job is queued, whatever happens to this machine; with --wait: it succeeded", exitRefused, exitUsage,
			"65 the script cannot be read or understood, or asks for what cannot be", exitUnavailable,
			"N with --wait: the job's own exit code, the highest of an array; 128+signal if a signal ended it"),
		Flags:  clientFlags(append(optionFlags(onSubmit), jsonFlag())...),
		Action: submit,
	}
}

func submit(c *cli.Context) error {
	job, r, err := batchSubmission(c)
	if err != nil {
		return err
	}
	client, err := newClient(c)
	if err != nil {
		return err
	}
	defer client.Close()
	submitted, err := client.Submit(c.Context, api.NewRequestKey(), []core.Submission{*job})
	if err != nil {
		return err
	}
	id := submitted.Jobs[0]
	switch {
	case c.Bool("json"):
		err = writeJSON(c.App.Writer, submitOutput{JobID: id, Duplicate: submitted.Duplicate})
	case r.parsable:
		_, err = fmt.Fprintln(c.App.Writer, id)
	default:
		_, err = fmt.Fprintf(c.App.Writer, "Submitted batch job %d\n", id)
	}
	if err != nil || !r.wait {
		return err
	}
	return waitFor(c.Context, client, core.JobRef{ID: id}, c.App.ErrWriter)
}

// batchSubmission makes the submission that a command line asks for.
func batchSubmission(c *cli.Context) (*core.Submission, *request, error) {
	payload, name, err := batchPayload(c)
	if err != nil {
		return nil, nil, err
	}
	r := newRequest()
	directives, err := r.applyScript(&payload)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", scriptLabel(c), err)
	}
	if err := r.apply(optionSettings(c, onSubmit)); err != nil {
		return nil, nil, usageErrorf("%s: %w", commandName(c), err)
	}
	if r.spec.Name == "" {
		r.spec.Name = name
	}
	if r.spec.Output == "" {
		r.spec.Output = "slurm-%j.out"
		if r.spec.Array != nil {
			r.spec.Output = "slurm-%A_%a.out"
		}
	}
	job, err := r.submission(payload, c.App.ErrWriter)
	if err != nil && directives == 0 {
		err = usageErrorf("%s: %w", commandName(c), err)
	}
	return job, r, err
}

// applyScript takes over the options in a script, if the payload has one, and returns
// how many there were.
func (r *request) applyScript(payload *core.Payload) (directives int, err error) {
	if len(payload.Script) == 0 {
		return 0, nil
	}
	if err := payload.Validate(); err != nil {
		return 0, err
	}
	settings, err := parseDirectives(payload.Script)
	if err == nil {
		err = invalid(r.apply(settings))
	}
	return len(settings), err
}

// batchPayload returns what to run and what to call it: a script from a file or from
// standard input, a command, or a line for the shell.
func batchPayload(c *cli.Context) (core.Payload, string, error) {
	args := c.Args().Slice()
	switch {
	case c.IsSet("wrap") && len(args) > 0:
		return core.Payload{}, "", usageErrorf("%s: --wrap takes the place of a script: give one of them", commandName(c))
	case c.IsSet("wrap"):
		return core.Payload{Script: []byte("#!/bin/sh\n# made by rowel submit --wrap\n\n" + c.String("wrap") + "\n")}, "wrap", nil
	case len(args) > 0 && args[0] == "--":
		payload, err := commandPayload(c, args[1:])
		if err != nil {
			return core.Payload{}, "", err
		}
		return payload, filepath.Base(payload.Argv[0]), nil
	case len(args) == 0 || args[0] == "-":
		if isTerminal(c.App.Reader) {
			return core.Payload{}, "", usageErrorf("%s: give a script, -- and a command, --wrap, or a script on standard input", commandName(c))
		}
		script, err := readScript(c.App.Reader, "standard input")
		return core.Payload{Script: script, Argv: args[min(1, len(args)):]}, "sbatch", err
	}
	if err := wantText(c, args); err != nil {
		return core.Payload{}, "", err
	}
	file, err := os.Open(args[0])
	if err != nil {
		return core.Payload{}, "", core.Errorf(core.Invalid, "read script: %w", err)
	}
	defer file.Close()
	script, err := readScript(file, args[0])
	return core.Payload{Script: script, Argv: args[1:]}, filepath.Base(args[0]), err
}

// commandPayload makes the payload of a command that no shell sees.
func commandPayload(c *cli.Context, argv []string) (core.Payload, error) {
	if len(argv) == 0 || argv[0] == "" {
		return core.Payload{}, usageErrorf("%s: the command is missing. Type \"rowel %[1]s --help\" for an example", commandName(c))
	}
	return core.Payload{Argv: argv}, wantText(c, argv)
}

// wantText refuses arguments that are not UTF-8: the wire cannot carry them.
func wantText(c *cli.Context, args []string) error {
	for _, arg := range args {
		if !utf8.ValidString(arg) {
			return usageErrorf("%s: argument %.80q is not valid UTF-8", commandName(c), arg)
		}
	}
	return nil
}

func readScript(from io.Reader, name string) ([]byte, error) {
	script, err := io.ReadAll(io.LimitReader(from, maxScriptBytes+1))
	switch {
	case err != nil:
		return nil, core.Errorf(core.Invalid, "read script: %w", err)
	case len(script) == 0:
		return nil, core.Errorf(core.Invalid, "%s: the script is empty", name)
	case len(script) > maxScriptBytes:
		return nil, core.Errorf(core.Invalid, "%s: the script is larger than %d MiB: keep data in files of its own", name, maxScriptBytes>>20)
	}
	return script, nil
}

// scriptLabel names the script in errors.
func scriptLabel(c *cli.Context) string {
	switch {
	case c.IsSet("wrap"):
		return "--wrap"
	case c.NArg() == 0 || c.Args().First() == "-":
		return "standard input"
	}
	return c.Args().First()
}

// submission completes the job with who asks, from where, and with which environment.
func (r *request) submission(payload core.Payload, stderr io.Writer) (*core.Submission, error) {
	current, err := os.Getwd()
	if err != nil {
		return nil, core.Errorf(core.Invalid, "find the current directory: %w", err)
	}
	r.resolveWorkDir(current)
	r.spec.UID, r.spec.GID = uint32(os.Getuid()), uint32(os.Getgid())
	r.spec.User = userName()
	if r.spec.Tasks == 0 {
		r.spec.Tasks = r.spec.Nodes
	}
	variables, left, err := exportEnvironment(r.export, os.Environ())
	if err != nil {
		return nil, core.Errorf(core.Invalid, "%w", err)
	}
	for _, name := range left {
		warn(stderr, fmt.Sprintf("environment variable %s is not valid UTF-8: the job runs without it", name))
	}
	payload.Environment = variables
	if err := payload.Validate(); err != nil {
		return nil, err
	}
	if err := r.spec.Validate(); err != nil {
		return nil, err
	}
	return &core.Submission{Spec: r.spec, Payload: payload}, nil
}

func userName() string {
	if u, err := user.Current(); err == nil && u.Username != "" {
		return u.Username
	}
	return strconv.Itoa(os.Getuid())
}

// invalid gives an error that has no kind the kind of bad input.
func invalid(err error) error {
	if err == nil || core.KindOf(err) != core.Internal {
		return err
	}
	return core.Errorf(core.Invalid, "%w", err)
}

// isTerminal reports whether somebody would have to type what is read.
func isTerminal(r io.Reader) bool {
	file, ok := r.(*os.File)
	if !ok {
		return false
	}
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0 && info.Name() != "null"
}
