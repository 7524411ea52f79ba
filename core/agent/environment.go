package agent

import (
	"strconv"
	"strings"

	"github.com/rowelhq/rowel/core"
)

// defaultPath serves jobs that were submitted without a PATH.
const defaultPath = "/usr/local/bin:/usr/bin:/bin"

// recordVariable marks every process of an attempt with the path of its spool record,
// which no other attempt on this machine shares. It is how an agent that was killed
// between fork and the record's second line finds the process again.
const recordVariable = "ROWEL_JOB_RECORD"

// jobEnvironment returns what the job's first process sees: defaults for what a login
// would have set, then what was submitted, then what describes the job, which wins.
func jobEnvironment(job *core.Job, submitted []string, node, record string, account account) []string {
	described := describeJob(job, node)
	described = append(described, recordVariable+"="+record)

	ours := make(map[string]bool, len(described))
	for _, variable := range described {
		name, _, _ := strings.Cut(variable, "=")
		ours[name] = true
	}
	environment := make([]string, 0, len(submitted)+len(described)+5)
	given := make(map[string]bool, len(submitted))
	for _, variable := range submitted {
		name, _, ok := strings.Cut(variable, "=")
		if ok && !ours[name] {
			given[name] = true
			environment = append(environment, variable)
		}
	}
	for _, fallback := range [][2]string{
		{"HOME", account.home},
		{"USER", account.name},
		{"LOGNAME", account.name},
		{"SHELL", "/bin/sh"},
		{"PATH", defaultPath},
	} {
		if !given[fallback[0]] {
			environment = append(environment, fallback[0]+"="+fallback[1])
		}
	}
	return append(environment, described...)
}

// describeJob returns Slurm's variables about a job and Rowel's twin of each:
// SLURM_JOB_ID and ROWEL_JOB_ID, SLURMD_NODENAME and ROWEL_NODENAME.
func describeJob(job *core.Job, node string) []string {
	spec := job.Spec
	tasks := number(uint64(spec.Tasks))
	nodes := nodeNames(job)
	here := shareOf(job, node)

	var variables []string
	set := func(name, value string) {
		variables = append(variables, "SLURM_"+name+"="+value, "ROWEL_"+name+"="+value)
	}
	set("JOB_ID", job.ID.String())
	set("JOBID", job.ID.String())
	set("JOB_NAME", spec.Name)
	set("JOB_USER", spec.User)
	set("JOB_UID", number(uint64(spec.UID)))
	set("JOB_PARTITION", spec.Partition)
	set("JOB_NODELIST", nodes)
	set("NODELIST", nodes)
	set("JOB_NUM_NODES", number(uint64(spec.Nodes)))
	set("NNODES", number(uint64(spec.Nodes)))
	set("NTASKS", tasks)
	set("NPROCS", tasks)
	set("CPUS_PER_TASK", number(uint64(spec.CPUsPerTask)))
	set("CPUS_ON_NODE", number(uint64(here.CPUs)))
	if spec.MemoryMiB > 0 {
		set("MEM_PER_NODE", number(spec.MemoryMiB))
	}
	if spec.MemPerCPU > 0 {
		set("MEM_PER_CPU", number(spec.MemPerCPU))
	}
	set("SUBMIT_DIR", spec.WorkDir)
	set("NODEID", "0") // the script runs on the first node, and is its first process
	set("PROCID", "0")
	set("LOCALID", "0")
	if job.ArrayID != 0 {
		set("ARRAY_JOB_ID", job.ArrayID.String())
		set("ARRAY_TASK_ID", number(uint64(job.ArrayIndex)))
		if spec.Array != nil && !spec.Array.Indices.Empty() {
			ranges := spec.Array.Indices.Ranges()
			set("ARRAY_TASK_COUNT", number(uint64(spec.Array.Indices.Len())))
			set("ARRAY_TASK_MIN", number(uint64(spec.Array.Indices.First())))
			set("ARRAY_TASK_MAX", number(uint64(ranges[len(ranges)-1].Last)))
		}
	}
	return append(variables, "SLURMD_NODENAME="+node, "ROWEL_NODENAME="+node)
}

func number(n uint64) string { return strconv.FormatUint(n, 10) }

// nodeNames returns the job's nodes in rank order, separated by commas: a host list as
// scontrol reads it.
func nodeNames(job *core.Job) string {
	names := make([]string, len(job.Placements))
	for i, placement := range job.Placements {
		names[i] = placement.Node
	}
	return strings.Join(names, ",")
}

// shareOf returns what the job holds on a node.
func shareOf(job *core.Job, node string) core.Resources {
	for _, placement := range job.Placements {
		if placement.Node == node {
			return placement.Resources
		}
	}
	return job.Spec.PerNode()
}
