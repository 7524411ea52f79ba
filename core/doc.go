// Package core holds Rowel's domain: jobs, nodes, resources, plans, the commands
// that change them and the kinds of error that everything else speaks in.
//
// It is pure values and functions. It knows no storage, no network and no clock:
// whoever needs the time gives it as an argument. Every other package may import it.
package core
