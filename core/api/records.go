package api

import (
	"github.com/rowelhq/rowel/core"
	"github.com/rowelhq/rowel/core/wire"
)

func fromJobs(jobs []*core.Job) []*wire.Job {
	messages := make([]*wire.Job, len(jobs))
	for i, job := range jobs {
		messages[i] = wire.FromJob(job)
	}
	return messages
}

func toJobs(messages []*wire.Job) ([]*core.Job, error) {
	jobs := make([]*core.Job, len(messages))
	for i, message := range messages {
		job, err := wire.ToJob(message)
		if err != nil {
			return nil, core.Errorf(core.Internal, "the controller's answer cannot be read: %w", err)
		}
		jobs[i] = job
	}
	return jobs, nil
}

func toNodes(messages []*wire.Node) ([]*core.Node, error) {
	nodes := make([]*core.Node, len(messages))
	for i, message := range messages {
		node, err := wire.ToNode(message)
		if err != nil {
			return nil, core.Errorf(core.Internal, "the controller's answer cannot be read: %w", err)
		}
		nodes[i] = node
	}
	return nodes, nil
}
