// Package wire is the schema of everything that leaves a process: the Raft log,
// snapshots, the agent's stream and the API. Most of it is generated from the .proto
// files; by hand is only the mapping between messages and core's values.
//
// From… functions turn a core value into its message; To… functions check a message
// and turn it into a core value. A To… function takes whatever the network sent: what
// is missing becomes a zero value, what is malformed becomes an Invalid error, and
// nothing panics. Neither kind copies byte slices, string slices or maps: the result
// shares them with its source, so the source must not change afterwards.
//
// The package decides nothing about what a value means; that is core's and the state
// machine's. The API, the agent, the state machine and whoever proposes commands use it.
package wire
