package test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/rowelhq/rowel/core"
	"github.com/rowelhq/rowel/core/api"
)

// cluster is some controllers and agents on this machine.
type cluster struct {
	t        testing.TB
	dir      string
	replicas []*replica
	agents   []*process
	client   *api.Client
}

// replica is one controller process with its data.
type replica struct {
	*process
	name                       string
	api, raft, probes, metrics string
	data, config               string
}

// newCluster starts controllers, waits until one leads, and connects a client that
// knows them all. extra is added to each controller's configuration. Data directories
// are on the disks, as far as there are any.
func newCluster(t testing.TB, controllers int, extra string, disks ...*disk) *cluster {
	t.Helper()
	c := &cluster{t: t, dir: t.TempDir()}
	ports := freePorts(t, 4*controllers)
	var peers []string
	for i := range controllers {
		peers = append(peers, ports[4*i+1])
	}
	for i := range controllers {
		r := &replica{
			name: fmt.Sprintf("ctl-%d", i+1),
			api:  ports[4*i], raft: ports[4*i+1], probes: ports[4*i+2], metrics: ports[4*i+3],
		}
		r.data = filepath.Join(c.dir, r.name)
		if i < len(disks) {
			r.data = filepath.Join(disks[i].path, r.name)
		}
		text := fmt.Sprintf("name = %q\ndata_dir = %q\ninsecure = true\napi { listen = %q }\nprobes { listen = %q }\nmetrics { listen = %q }\n",
			r.name, r.data, r.api, r.probes, r.metrics)
		if controllers > 1 {
			text += fmt.Sprintf("raft {\n  listen = %q\n  peers = %s\n}\n", r.raft, hclList(peers))
		} else {
			text += fmt.Sprintf("raft {\n  listen = %q\n}\n", r.raft)
		}
		r.config = writeFile(t, c.dir, r.name+".hcl", text+extra, 0o644)
		r.process = start(t, r.name, "controller", "-config", r.config)
		c.replicas = append(c.replicas, r)
	}
	client, err := api.NewClient(c.addresses(), 30*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	c.client = client
	for _, r := range c.replicas {
		eventually(t, 20*time.Second, r.name+" is ready", r.ready)
	}
	return c
}

func (c *cluster) addresses() []string {
	var all []string
	for _, r := range c.replicas {
		all = append(all, r.api)
	}
	return all
}

// addAgent starts an agent that says it has so many CPUs.
func (c *cluster) addAgent(name string, cpus int) *process {
	c.t.Helper()
	text := fmt.Sprintf("name = %q\ndata_dir = %q\ninsecure = true\nagent {\n  controllers = %s\n  cpus = %d\n  memory = \"8GiB\"\n  kill_wait = \"1s\"\n}\n",
		name, filepath.Join(c.dir, name), hclList(c.addresses()), cpus)
	config := writeFile(c.t, c.dir, name+".hcl", text, 0o644)
	agent := start(c.t, name, "agent", "-config", config)
	c.agents = append(c.agents, agent)
	eventually(c.t, 20*time.Second, "node "+name+" has registered", func() bool {
		_, err := c.client.Node(c.t.Context(), name, false)
		return err == nil
	})
	return agent
}

// leader returns the replica that leads.
func (c *cluster) leader() *replica {
	c.t.Helper()
	var found *replica
	eventually(c.t, 20*time.Second, "one controller leads", func() bool {
		for _, r := range c.replicas {
			if r.leads() {
				found = r
			}
		}
		return found != nil
	})
	return found
}

// leads reports whether the replica says that it leads.
func (r *replica) leads() bool {
	client, err := api.NewClient([]string{r.api}, time.Second)
	if err != nil {
		r.t.Fatal(err)
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(r.t.Context(), time.Second)
	defer cancel()
	status, err := client.Status(ctx)
	return err == nil && status.GetRole() == "leader"
}

// ready reports what a kubelet would see.
func (r *replica) ready() bool { return probe("http://"+r.probes+"/readyz") == http.StatusOK }

// probe returns the status code of a probe, 0 if nobody answers.
func probe(url string) int {
	client := http.Client{Timeout: time.Second}
	response, err := client.Get(url)
	if err != nil {
		return 0
	}
	response.Body.Close()
	return response.StatusCode
}

// script returns a submission of a shell script that one CPU is enough for.
func (c *cluster) script(name, body string) core.Submission {
	return core.Submission{
		Spec: core.JobSpec{
			Name: name, User: "tester", UID: uint32(os.Getuid()), GID: uint32(os.Getgid()),
			Partition: core.DefaultPartition, Nodes: 1, Tasks: 1, CPUsPerTask: 1, WorkDir: c.dir,
			Output: "/dev/null",
		},
		Payload: core.Payload{Script: []byte("#!/bin/sh\n" + body + "\n"), Environment: []string{"PATH=" + os.Getenv("PATH")}},
	}
}

// submit queues jobs in one request and returns their IDs.
func (c *cluster) submit(jobs ...core.Submission) []core.JobID {
	c.t.Helper()
	submitted, err := c.client.Submit(c.t.Context(), api.NewRequestKey(), jobs)
	if err != nil {
		c.t.Fatalf("submit: %v", err)
	}
	return submitted.Jobs
}

// finish waits for a job to be over and returns its record.
func (c *cluster) finish(id core.JobID, limit time.Duration) *core.Job {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), limit)
	defer cancel()
	jobs, err := c.client.Wait(ctx, core.JobRef{ID: id})
	if err != nil {
		c.t.Fatalf("wait for job %d: %v", id, err)
	}
	return jobs[0]
}
