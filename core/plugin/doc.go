// Package plugin hosts guests: WebAssembly modules that speak the ABI of sdk/abi. It
// compiles a module, refuses what it must not run in a sentence for the module's
// author, keeps an instance of it inside limits of memory, time and output, and tells
// each way in which a guest can fail apart from the others.
//
// It knows neither the Raft log nor the API, and takes no decision: core/scheduler runs
// cycles and says what to do after a fault, core/controller loads plugins and publishes
// their Stats. A plan that comes from here is well formed; whether it is legal is the
// scheduler's and the state machine's to say.
//
// A guest has no file, network, environment, argument or clock, and equal random
// numbers in every instance: equal pictures give equal plans.
package plugin
