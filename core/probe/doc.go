// Package probe answers /livez and /readyz, the two questions that a kubelet, a load
// balancer or a watchdog asks of a Rowel process.
//
// Whoever knows the truth (core/consensus, core/controller) sets named checks as it
// changes; the answer is made then, kept in memory and only read when somebody asks. So
// it comes at once whatever the rest of the process is doing, and nothing here judges:
// the package does not know what a check is about.
package probe
