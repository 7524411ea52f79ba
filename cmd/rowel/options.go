package main

import (
	"fmt"
	"path/filepath"
	"strconv"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/rowelhq/rowel/core"
)

// request is what the options of a submission ask for: the job, and what the CLI does
// around it.
type request struct {
	spec     core.JobSpec
	chdir    string
	export   string
	parsable bool
	wait     bool
}

func newRequest() *request {
	return &request{
		spec:   core.JobSpec{Partition: core.DefaultPartition, Nodes: 1, CPUsPerTask: 1},
		export: "ALL",
	}
}

// option is one of sbatch's options. It means the same on the command line and in an
// #SBATCH line of a script.
type option struct {
	name    string // long, without dashes
	short   string // one letter, or empty
	metavar string // of its value; empty: it takes none
	bare    string // what it means without a value; empty: a value is required
	where   place  // where it may be given
	usage   string
	set     func(*request, string) error
}

// place says where an option may be given.
type place uint8

const (
	onSubmit place = 1 << iota
	onRun
	inScript
	everywhere = onSubmit | onRun | inScript
)

// batchOptions are the options of submit and run, in the order in which help lists them.
func batchOptions() []option {
	return []option{
		{"job-name", "J", "NAME", "", everywhere, "name of the job", setText(func(r *request) *string { return &r.spec.Name })},
		{"ntasks", "n", "N", "", everywhere, "number of tasks", setCount(core.MaxTasksPerJob, func(r *request) *uint32 { return &r.spec.Tasks })},
		{"cpus-per-task", "c", "N", "", everywhere, "CPUs for each task", setCount(core.MaxCPUsPerTask, func(r *request) *uint32 { return &r.spec.CPUsPerTask })},
		{"nodes", "N", "N", "", everywhere, "number of nodes", setCount(core.MaxNodesPerJob, func(r *request) *uint32 { return &r.spec.Nodes })},
		{"mem", "", "SIZE", "", everywhere, "memory on each node; K, M, G or T, M if none", setMemory},
		{"mem-per-cpu", "", "SIZE", "", everywhere, "memory for each CPU, instead of --mem", setMemoryPerCPU},
		{"time", "t", "LIMIT", "", everywhere, "time limit: minutes, M:S, H:M:S, D-H, D-H:M, D-H:M:S or UNLIMITED", setTimeLimit},
		{"partition", "p", "NAME", "", everywhere, "partition to run in", setText(func(r *request) *string { return &r.spec.Partition })},
		{"output", "o", "PATTERN", "", everywhere, "file for standard output; %j, %A, %a, %x, %u and %N are filled in", setText(func(r *request) *string { return &r.spec.Output })},
		{"error", "e", "PATTERN", "", everywhere, "file for standard error; where --output goes if not given", setText(func(r *request) *string { return &r.spec.Error })},
		{"chdir", "D", "DIR", "", everywhere, "working directory of the job", setText(func(r *request) *string { return &r.chdir })},
		{"array", "a", "INDICES", "", onSubmit | inScript, "one job for each index: 0-15, 1,3,5-7, 0-15:4 or 0-99%10", setArray},
		{"nice", "", "N", "100", everywhere, "lower the priority by N, 100 if not given", setNice},
		{"comment", "", "TEXT", "", everywhere, "a remark to keep with the job", setText(func(r *request) *string { return &r.spec.Comment })},
		{"export", "", "LIST", "", everywhere, "variables to pass on: ALL, NONE, or names and NAME=value by commas", setExport},
		{"parsable", "", "", "", onSubmit | inScript, "print the job's number alone", setSwitch(func(r *request) *bool { return &r.parsable })},
		{"wrap", "", "COMMAND", "", onSubmit, "run this line with /bin/sh instead of a script", setWrap},
		{"wait", "W", "", "", onSubmit | inScript, "wait until the job is over and exit as it did", setSwitch(func(r *request) *bool { return &r.wait })},
	}
}

// setting is one option with the value it was given.
type setting struct {
	option *option
	value  string
}

// apply sets the request's fields in order, later ones over earlier ones. --mem and
// --mem-per-cpu exclude each other within one source, and a later source's replaces
// either.
func (r *request) apply(settings []setting) error {
	given := map[string]bool{}
	for _, s := range settings {
		if err := s.option.set(r, s.value); err != nil {
			return fmt.Errorf("--%s: %w", s.option.name, err)
		}
		given[s.option.name] = true
	}
	if given["mem"] && given["mem-per-cpu"] {
		return fmt.Errorf("--mem and --mem-per-cpu exclude each other: give one of them")
	}
	return nil
}

// resolveWorkDir makes the working directory absolute, from where the user stands.
func (r *request) resolveWorkDir(current string) {
	switch {
	case r.chdir == "":
		r.spec.WorkDir = current
	case filepath.IsAbs(r.chdir):
		r.spec.WorkDir = filepath.Clean(r.chdir)
	default:
		r.spec.WorkDir = filepath.Join(current, r.chdir)
	}
}

// optionFlags makes the options that may be given at a place into the flags of its command.
func optionFlags(at place) []cli.Flag {
	var flags []cli.Flag
	for _, o := range batchOptions() {
		if o.where&at == 0 {
			continue
		}
		var aliases []string
		if o.short != "" {
			aliases = []string{o.short}
		}
		switch {
		case o.metavar == "":
			flags = append(flags, &cli.BoolFlag{Name: o.name, Aliases: aliases, Usage: o.usage})
		case o.bare != "":
			flags = append(flags, &optionalValueFlag{
				StringFlag: &cli.StringFlag{Name: o.name, Aliases: aliases, Usage: "`" + o.metavar + "`" + o.usage},
				bare:       o.bare,
			})
		default:
			flags = append(flags, &cli.StringFlag{Name: o.name, Aliases: aliases, Usage: "`" + o.metavar + "`" + o.usage})
		}
	}
	return flags
}

// optionSettings returns the options given on the command line.
func optionSettings(c *cli.Context, at place) []setting {
	var settings []setting
	options := batchOptions()
	for i := range options {
		o := &options[i]
		if o.where&at == 0 || !c.IsSet(o.name) {
			continue
		}
		value := ""
		if o.metavar != "" {
			value = c.String(o.name)
		}
		settings = append(settings, setting{o, value})
	}
	return settings
}

func setText(field func(*request) *string) func(*request, string) error {
	return func(r *request, value string) error {
		if value == "" {
			return fmt.Errorf("the value is empty")
		}
		*field(r) = value
		return nil
	}
}

func setSwitch(field func(*request) *bool) func(*request, string) error {
	return func(r *request, _ string) error {
		*field(r) = true
		return nil
	}
}

func setCount(most uint64, field func(*request) *uint32) func(*request, string) error {
	return func(r *request, value string) error {
		n, err := strconv.ParseUint(value, 10, 64)
		if err != nil || n == 0 || n > most {
			return fmt.Errorf("%.80q is not a whole number from 1 to %d", value, most)
		}
		*field(r) = uint32(n)
		return nil
	}
}

func setMemory(r *request, value string) (err error) {
	r.spec.MemPerCPU = 0
	r.spec.MemoryMiB, err = parseMemory(value)
	return err
}

func setMemoryPerCPU(r *request, value string) (err error) {
	r.spec.MemoryMiB = 0
	r.spec.MemPerCPU, err = parseMemory(value)
	return err
}

func setTimeLimit(r *request, value string) error {
	limit, err := parseTimeLimit(value)
	if err == nil {
		r.spec.TimeLimit = limit.Truncate(time.Second)
	}
	return err
}

func setArray(r *request, value string) (err error) {
	r.spec.Array, err = core.ParseArray(value)
	return err
}

func setNice(r *request, value string) error {
	n, err := strconv.ParseUint(value, 10, 64)
	if err != nil || n > core.BasePriority {
		return fmt.Errorf("%.80q is not a whole number from 0 to %d", value, core.BasePriority)
	}
	r.spec.Nice = uint32(n)
	return nil
}

// setExport checks the list; the environment is read when the job is made.
func setExport(r *request, value string) error {
	r.export = value
	_, _, err := exportEnvironment(value, nil)
	return err
}

// setWrap checks the line; it becomes a script when the job is made.
func setWrap(_ *request, value string) error {
	if value == "" {
		return fmt.Errorf("the command is empty")
	}
	return nil
}
