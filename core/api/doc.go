// Package api is the wire between Rowel and everyone else: the server that a controller
// runs on :6817 and on its Unix socket, and the client that the CLI, agents and other
// controllers use. Both stand here so that the wire is defined once, in core/wire's
// schema, spoken over Connect: gRPC, gRPC-Web and plain JSON over HTTP.
//
// It declares what it needs of the rest (a proposer, a view, a way to the leader) and
// does not know how things are stored, scheduled or replicated.
package api
