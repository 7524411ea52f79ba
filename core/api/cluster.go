package api

import (
	"context"

	"connectrpc.com/connect"

	"github.com/rowelhq/rowel/core"
	"github.com/rowelhq/rowel/core/wire"
)

// clusterService answers rowel.v1.ClusterService; see core/wire/api.proto for the
// contract.
type clusterService struct{ *Server }

// Status describes this controller and what it knows of the cluster.
func (s clusterService) Status(context.Context, *connect.Request[wire.StatusRequest]) (*connect.Response[wire.StatusResponse], error) {
	status := s.config.Status()
	view := s.config.View()
	status.Jobs = make(map[string]uint32)
	counts := view.Counts()
	for state := core.JobPending; state.Known(); state++ {
		if n := counts.Of(state); n > 0 {
			status.Jobs[state.String()] = uint32(n)
		}
	}
	status.Nodes = make(map[string]uint32)
	for node := range view.Nodes() {
		status.Nodes[string(node.State())]++
	}
	if s.config.Insecure {
		status.Warnings = append(status.Warnings, "insecure = true: clients, agents and controllers on TCP are not authenticated and nothing is encrypted")
	}
	return connect.NewResponse(status), nil
}
