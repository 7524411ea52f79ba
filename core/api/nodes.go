package api

import (
	"context"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/rowelhq/rowel/core"
	"github.com/rowelhq/rowel/core/wire"
)

// nodeService answers rowel.v1.NodeService; see core/wire/api.proto for the contract.
type nodeService struct{ *Server }

// List lists nodes.
func (s nodeService) List(ctx context.Context, request *connect.Request[wire.ListNodesRequest]) (*connect.Response[wire.ListNodesResponse], error) {
	return read(ctx, s.Server, request.Msg.GetStale(), request,
		func(l *stubs) func(context.Context, *connect.Request[wire.ListNodesRequest]) (*connect.Response[wire.ListNodesResponse], error) {
			return l.nodes.List
		},
		func(context.Context, *wire.ListNodesRequest) (*wire.ListNodesResponse, error) {
			answer := &wire.ListNodesResponse{}
			for node := range s.config.View().Nodes() {
				answer.Nodes = append(answer.Nodes, wire.FromNode(node))
			}
			return answer, nil
		})
}

// Get returns one node.
func (s nodeService) Get(ctx context.Context, request *connect.Request[wire.GetNodeRequest]) (*connect.Response[wire.GetNodeResponse], error) {
	return read(ctx, s.Server, request.Msg.GetStale(), request,
		func(l *stubs) func(context.Context, *connect.Request[wire.GetNodeRequest]) (*connect.Response[wire.GetNodeResponse], error) {
			return l.nodes.Get
		}, s.get)
}

func (s nodeService) get(_ context.Context, q *wire.GetNodeRequest) (*wire.GetNodeResponse, error) {
	view := s.config.View()
	node := view.Node(q.GetName())
	if node == nil {
		return nil, noSuchNode(q.GetName())
	}
	answer := &wire.GetNodeResponse{Node: wire.FromNode(node)}
	for job := range view.JobsOn(node.Name) {
		answer.Jobs = append(answer.Jobs, wire.FromJob(job))
	}
	if at, load, ok := s.config.Heard(node.Name); ok {
		answer.HeardAt, answer.LoadAverage = timestamppb.New(at), load
	}
	return answer, nil
}

// Drain takes nodes out of service.
func (s nodeService) Drain(ctx context.Context, request *connect.Request[wire.DrainRequest]) (*connect.Response[wire.DrainResponse], error) {
	return onLeader(ctx, s.Server, request,
		func(l *stubs) func(context.Context, *connect.Request[wire.DrainRequest]) (*connect.Response[wire.DrainResponse], error) {
			return l.nodes.Drain
		},
		func(ctx context.Context, id identity, q *wire.DrainRequest) (*wire.DrainResponse, error) {
			if q.GetReason() == "" {
				return nil, core.Errorf(core.Invalid, "draining a node needs a reason, for whoever finds it drained")
			}
			return &wire.DrainResponse{}, s.setDrain(ctx, id, q.GetNames(), true, q.GetReason())
		})
}

// Resume puts nodes back into service.
func (s nodeService) Resume(ctx context.Context, request *connect.Request[wire.ResumeRequest]) (*connect.Response[wire.ResumeResponse], error) {
	return onLeader(ctx, s.Server, request,
		func(l *stubs) func(context.Context, *connect.Request[wire.ResumeRequest]) (*connect.Response[wire.ResumeResponse], error) {
			return l.nodes.Resume
		},
		func(ctx context.Context, id identity, q *wire.ResumeRequest) (*wire.ResumeResponse, error) {
			return &wire.ResumeResponse{}, s.setDrain(ctx, id, q.GetNames(), false, "")
		})
}

// setDrain checks all names before it changes the first node.
func (s *Server) setDrain(ctx context.Context, id identity, names []string, drain bool, reason string) error {
	if err := s.allowWrite(id); err != nil {
		return err
	}
	if !id.operator(s.self) {
		return core.Errorf(core.Denied, "user %s may not drain or resume nodes: that takes root or the controller's own user", id.user)
	}
	if len(names) == 0 {
		return core.Errorf(core.Invalid, "no node is named")
	}
	view := s.config.View()
	for _, name := range names {
		if view.Node(name) == nil {
			return noSuchNode(name)
		}
	}
	for _, name := range names {
		command := core.DrainNode{Name: name, Drain: drain, Reason: reason, By: id.user}
		if _, err := s.config.Replica.Propose(ctx, command); err != nil {
			return err
		}
	}
	return nil
}

func noSuchNode(name string) error {
	return core.Errorf(core.NotFound, "node %q does not exist: `rowel nodes` lists those that have registered", name)
}
