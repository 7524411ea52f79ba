// Package supervisor holds a Rowel process together: it starts parts in order and stops
// them in reverse, runs the tasks that only a leader has, ends the process when its Raft
// core is dead, and, as a small parent process, turns a crash of the Go runtime into the
// same line and the same exit code.
//
// It does not know what the parts are nor when a core is dead: core/controller,
// core/agent and cmd/rowel tell it. Exit codes come in as numbers from there.
package supervisor
