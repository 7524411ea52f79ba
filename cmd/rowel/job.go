package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/rowelhq/rowel/core"
)

// jobShowOutput is what job show --json prints.
type jobShowOutput struct {
	Jobs    []jobOutput    `json:"jobs"`
	Payload *payloadOutput `json:"payload"` // null once the job is over
}

// payloadOutput is what a job runs. Its environment is left out: it may hold secrets.
type payloadOutput struct {
	Script *string  `json:"script"` // null: argv is the command
	Argv   []string `json:"argv"`
}

func jobCommand(now clock) *cli.Command {
	return &cli.Command{
		Name:     "job",
		Category: categoryJobs,
		Usage:    "look at one job",
		Subcommands: []*cli.Command{{
			Name:      "show",
			Usage:     "print all that is known of a job",
			ArgsUsage: "JOB",
			Description: manual("Prints a job's record, as scontrol show job does; for an array, each of its records.",
				`rowel job show 7
				rowel job show 12_3 --json`, exitDone, exitRefused, exitUsage, exitUnavailable),
			Flags:  clientFlags(staleFlag(), jsonFlag()),
			Action: func(c *cli.Context) error { return jobShow(c, now()) },
		}},
	}
}

func jobShow(c *cli.Context, now time.Time) error {
	if err := wantArgs(c, 1, 1); err != nil {
		return err
	}
	ref, err := parseRef(c.Args().First())
	if err != nil {
		return err
	}
	client, err := newClient(c)
	if err != nil {
		return err
	}
	defer client.Close()
	jobs, payload, err := client.Job(c.Context, ref, c.Bool("stale"))
	if err != nil {
		return err
	}
	if c.Bool("json") {
		return writeJSON(c.App.Writer, jobShowOutput{toJobsOutput(jobs, now), toPayloadOutput(payload)})
	}
	for i, j := range jobs {
		if i > 0 {
			fmt.Fprintln(c.App.Writer)
		}
		if err := writeJob(c.App.Writer, j, payload, now); err != nil {
			return err
		}
	}
	return nil
}

func toPayloadOutput(p *core.Payload) *payloadOutput {
	if p == nil {
		return nil
	}
	out := &payloadOutput{Argv: append([]string{}, p.Argv...)}
	if len(p.Script) > 0 {
		script := string(p.Script)
		out.Script = &script
	}
	return out
}

// writeJob prints one record in scontrol's form: key=value, related ones on one line.
func writeJob(w io.Writer, j *core.Job, payload *core.Payload, now time.Time) error {
	s := j.Spec
	lines := []string{
		fmt.Sprintf("JobId=%d JobName=%s", j.ID, s.Name),
	}
	if j.ArrayID != 0 {
		lines = append(lines, fmt.Sprintf("ArrayJobId=%d ArrayTaskId=%s", j.ArrayID, arrayTask(j)))
	}
	lines = append(lines,
		fmt.Sprintf("UserId=%s(%d) GroupId=%d", s.User, s.UID, s.GID),
		fmt.Sprintf("Priority=%d Nice=%d Partition=%s", j.Priority, s.Nice, s.Partition),
		fmt.Sprintf("JobState=%s Reason=%s Attempt=%d", j.State, j.Reason, j.Attempt),
	)
	if j.Message != "" {
		lines = append(lines, "Message="+j.Message)
	}
	if j.CancelledBy != "" {
		lines = append(lines, "CancelledBy="+j.CancelledBy)
	}
	lines = append(lines,
		fmt.Sprintf("ExitCode=%d:%d", j.ExitCode, j.Signal),
		fmt.Sprintf("RunTime=%s TimeLimit=%s", longDuration(elapsed(j, now)), limitText(s.TimeLimit)),
		fmt.Sprintf("SubmitTime=%s StartTime=%s EndTime=%s", localTime(j.SubmittedAt), localTime(j.StartedAt), localTime(endOf(j))),
		fmt.Sprintf("NumNodes=%d NumTasks=%d CPUs/Task=%d %s", s.Nodes, s.Tasks, s.CPUsPerTask, memoryAsked(s)),
		fmt.Sprintf("NodeList=%s", nodeList(placementNodes(j))),
		fmt.Sprintf("Policy=%s Cycle=%d", j.Policy, j.Cycle),
	)
	if s.Comment != "" {
		lines = append(lines, "Comment="+s.Comment)
	}
	if payload != nil && len(payload.Script) == 0 {
		lines = append(lines, "Command="+strings.Join(payload.Argv, " "))
	}
	lines = append(lines, "WorkDir="+s.WorkDir, "StdOut="+s.Output, "StdErr="+errorFile(s))
	for i, line := range lines {
		lines[i] = printable(line)
	}
	_, err := fmt.Fprintln(w, strings.Join(lines, "\n   "))
	return err
}

func arrayTask(j *core.Job) string {
	if j.ArrayMaster() {
		return j.ArrayPending.String()
	}
	return fmt.Sprint(j.ArrayIndex)
}

// endOf returns when a job ended, or will at the latest.
func endOf(j *core.Job) time.Time {
	if !j.EndedAt.IsZero() {
		return j.EndedAt
	}
	end, _ := j.ExpectedEnd()
	return end
}

func memoryAsked(s *core.JobSpec) string {
	if s.MemPerCPU > 0 {
		return "MinMemoryCPU=" + memoryText(s.MemPerCPU)
	}
	return "MinMemoryNode=" + memoryText(s.MemoryMiB)
}

func errorFile(s *core.JobSpec) string {
	if s.Error == "" {
		return s.Output
	}
	return s.Error
}
