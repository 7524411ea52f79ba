// Package health turns heartbeats into the states of nodes, with hysteresis: a node is
// down once nothing was heard from it for a while, and up again once it was heard
// several times in a row.
//
// Heartbeats stay in the leader's memory and never enter the Raft log; only the changes
// that follow from them do, as core.MarkNodes. A new leader has heard nobody yet, so
// every node starts with a whole grace period. The loop is level-triggered: it compares
// what it heard with the newest view each time, and a proposal that was lost is made
// again.
//
// The package knows nothing of Raft or of the network. core/controller runs it on the
// leader; what receives heartbeats calls Heard.
package health
