// Package meter rewrites a WebAssembly module so that it counts what it does and stops at
// the host at regular intervals. core/plugin does so with every guest as it loads it:
// wazero has no fuel, and compiled code that never leaves the guest can neither be stopped
// nor let the host's garbage collector begin. The package rewrites, and nothing else: what
// a unit buys, when a guest is out of it and how late is too late are the host's to say.
//
// # What is counted
//
// The module gets one more global, an i64: the fuel left until the host is asked again. At
// the entry of each function and at the head of each loop stands
//
//	fuel -= cost; if fuel < 0 { fuel = tick(fuel) }
//
// where tick is a function of the host. Between two heads code only runs forward, so a head
// pays in advance for everything behind it that no other head pays for, all branches of
// it: one unit, and one more for each full [InstructionsPerUnit]. What is counted is therefore an upper bound of the
// instructions that run, and depends on nothing but the module and what it does: equal input
// costs equal fuel, on every machine. A function whose first branch or call is a loop pays at
// the loop's head alone, which is how the Go compiler writes nearly all of its functions.
//
// An instruction that works on a size it is given (memory.fill, memory.copy, memory.init,
// table.copy, table.init) becomes a call of a helper that pays for the size first and fills
// or copies memory piece by piece. A host function is called through a helper that costs
// [HostCallUnits] and asks the host every time, also where it is called through a table.
// memory.grow has a fixed price.
//
// # Why a guest cannot reach the counter
//
// The global, the helpers and tick take the indices behind the module's own (tick stands
// last of the imports, so that indices of the module's own functions move up by one), and
// none is exported. Instrument refuses a module that mentions a global or function that it
// does not have, or that imports from [ImportModule]. The host must still validate the
// original first: the rewriter understands only what a valid module means. An imported
// global in place of the function's shift would move the globals' indices instead, and an
// imported global is one load more at each head.
package meter
