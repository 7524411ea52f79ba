// Package state is the replicated state machine: core's commands in, results out, and
// between them the one truth about jobs and nodes that all replicas share.
//
// Store.Apply is a pure function of the state, the entry's index, the entry's time and
// its commands. Nothing here reads a clock, draws a random number, touches a disk or
// depends on the order of a map: two replicas that applied the same entries hold the
// same state, and write the same snapshot, byte for byte. Plans are checked here and
// only here, so there is one place that can fill a node.
//
// One window leads out: View, an immutable value of the state as of one index. Readers
// never block the log, and the log never blocks readers. Records that come out of a view
// are shared by everyone and must not be changed.
//
// The package knows nothing of Raft, of the network or of plugins. core/consensus feeds
// it; the scheduler, the health loop, the API and history read its views.
package state
